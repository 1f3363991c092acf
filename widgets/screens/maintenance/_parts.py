"""Maintenance before there is a plan: what can be done, and what a form asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from widgets.text import esc, shell_word
from widgets.ui.pieces import render_snippet

_LONGEST_ANSWERS = 200_000

Stage = Literal["choose", "form", "planning", "review", "running", "receipt"]

_WAY = ("Choose", "Plan", "Approve", "Run")
_POSITION: dict[Stage, int] = {
    "choose": 0,
    "form": 1,
    "planning": 1,
    "review": 2,
    "running": 3,
    "receipt": 3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An operation among others; all text is ours."""

    name: str
    title: str
    does: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form, with what stands in it now. `choices` are values and labels,
    `offers` are values that may be taken besides any other."""

    name: str
    label: str
    kind: str
    value: str = ""
    hint: str = ""
    placeholder: str = ""
    choices: Sequence[tuple[str, str]] = ()
    offers: Sequence[str] = ()
    is_required: bool = False


def parse_answers(text: str) -> dict[str, str]:
    """The fields of a form as a page sends them; empty for what is none."""
    if len(text) > _LONGEST_ANSWERS:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def render_head(title: str, stage: Stage, *, back: str) -> str:
    """The heading with the steps of the way; `back` says where the way back leads. Before there
    is a plan the heading is where the keyboard goes on when the stage is new."""
    position = _POSITION[stage]
    steps = "".join(
        f'<li{_stage(at, position)}><i aria-hidden="true">{at + 1}</i>{name}</li>'
        for at, name in enumerate(_WAY)
    )
    button = (
        '<button type="button" class="dx-icon dx-previous" data-do="back" data-value="" '
        f'aria-label="{esc(back)}" title="{esc(back)}"></button>'
        if stage != "choose"
        else ""
    )
    landing = f' tabindex="-1" data-land="{stage}"' if stage in {"choose", "form"} else ""
    return (
        f'<div class="dx-head dx-way" data-reveal="{esc(title)}{position}">{button}'
        f"<h3{landing}>{esc(title)}</h3>"
        f'<span class="dx-hint"></span><ol class="dx-stages" aria-label="Steps">{steps}</ol></div>'
    )


def _stage(at: int, stage: int) -> str:
    if at == stage:
        return ' aria-current="step"'
    return ' class="dx-past"' if at < stage else ""


def render_choices(groups: Sequence[tuple[str, Sequence[Choice]]]) -> str:
    """The operations by what they are about."""
    parts = []
    for title, choices in groups:
        buttons = "".join(
            f'<li><button type="button" class="dx-choice" data-do="choose" '
            f'data-value="{esc(choice.name)}"><strong>{esc(choice.title)}</strong>'
            f"<span>{esc(choice.does)}</span></button></li>"
            for choice in choices
        )
        parts.append(f'<h4>{esc(title)}</h4><ul class="dx-choices">{buttons}</ul>')
    return "".join(parts)


def render_lock(uri: str, *, is_notebook: bool) -> str:
    """What a page that may not change anything says of itself."""
    if is_notebook:
        call = f"TableExplorer({uri!r}, maintenance=True)"
        how = "To carry plans out, make the explorer with maintenance:"
    else:
        call = f"delta-explorer serve {shell_word(uri)} --maintenance"
        how = (
            "To carry plans out, start the page with maintenance and open the link that it prints:"
        )
    return (
        '<div class="dx-lock" role="note"><strong>This page is read-only.</strong> '
        "Every operation can be planned and looked at here; nothing can be changed, "
        f"for a plan holds no way to write.<p>{how}</p>"
        f"{render_snippet('dx-start-line', call, 'How to start with maintenance')}</div>"
    )


def render_form(name: str, does: str, fields: Sequence[FormField], button: str) -> str:
    """What an operation asks for; planning changes nothing, so that Enter plans."""
    drawn = "".join(_render_field(field) for field in fields)
    return (
        f'<p class="dx-lead">{esc(does)}</p>'
        # what was filled in stays as long as it is this form, however it is drawn
        f'<div class="dx-form" id="dx-form-{esc(name)}" data-form="">{drawn}'
        '<div class="dx-buttons"><button type="button" class="dx-primary" data-do="plan" '
        f'data-value="" data-submit="" data-enter="">{esc(button)}</button></div>'
        '<p class="dx-muted">Planning only looks: nothing is changed by it.</p></div>'
    )


def _render_field(field: FormField) -> str:
    name, required = esc(field.name), " required" if field.is_required else ""
    # Named by its label alone: the hint within would be read out as part of the name.
    common = (
        f'name="{name}" aria-label="{esc(field.label)}" aria-describedby="dx-hint-{name}"{required}'
    )
    if field.kind == "choice":
        options = "".join(
            f'<option value="{esc(value)}"{" selected" if value == field.value else ""}>'
            f"{esc(label)}</option>"
            for value, label in field.choices
        )
        control = f"<select {common}>{options}</select>"
    elif field.kind == "lines":
        control = (
            f'<textarea {common} rows="3" spellcheck="false" '
            f'placeholder="{esc(field.placeholder)}">{esc(field.value)}</textarea>'
        )
    else:
        offers = "".join(f'<option value="{esc(one)}"></option>' for one in field.offers)
        listed = f' list="dx-list-{name}"' if offers else ""
        example = f"such as {field.offers[0]}" if field.offers else field.placeholder
        control = (
            f'<input type="text" {common} value="{esc(field.value)}" autocomplete="off" '
            f'spellcheck="false" placeholder="{esc(example)}"{listed}>'
        )
        control += f'<datalist id="dx-list-{name}">{offers}</datalist>' if offers else ""
    # those who see no list, and those who name several, read them
    told = f" There are {', '.join(field.offers)}." if field.offers else ""
    hint = f'<small id="dx-hint-{name}">{esc((field.hint + told).strip())}</small>'
    return f"<label><span>{esc(field.label)}</span>{control}{hint}</label>"


def render_buttons(*buttons: tuple[str, str, str]) -> str:
    """Ways on, each with its action, its value and its label."""
    drawn = "".join(
        f'<button type="button" class="dx-outlined" data-do="{esc(action)}" '
        f'data-value="{esc(value)}">{esc(label)}</button>'
        for action, value, label in buttons
    )
    return f'<div class="dx-buttons">{drawn}</div>' if buttons else ""
