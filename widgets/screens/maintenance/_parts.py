"""Maintenance before there is a plan: what can be done, and what a form asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from widgets.markup import NOTHING, Markup, esc, html, join
from widgets.text import shell_word
from widgets.ui.pieces import render_name_offers, render_snippet

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
    `offers` are values that may be taken besides any other, or names that SQL completes, `only`
    the values of the field `action` for which it is shown, all where there are none."""

    name: str
    label: str
    kind: str
    value: str = ""
    hint: str = ""
    placeholder: str = ""
    choices: Sequence[tuple[str, str]] = ()
    offers: Sequence[str] = ()
    is_required: bool = False
    only: Sequence[str] = ()


def render_head(title: str, stage: Stage, *, back: str, is_locked: bool) -> Markup:
    """The heading with the steps of the way; `back` says where the way back leads. A page that
    `is_locked` goes no further than to plans, and its steps say so. Before there is a plan the
    heading is where the keyboard goes on when the stage is new."""
    position = _POSITION[stage]
    if is_locked:  # a plan that is shown is as far as it goes
        position = min(position, _POSITION["form"])
    steps = join(
        html(
            '<li{}><i aria-hidden="true">{}</i>{}{}</li>',
            _stage(at, position, is_closed=is_locked and at > _POSITION["form"]),
            at + 1,
            name,
            _CLOSED if is_locked and at > _POSITION["form"] else NOTHING,
        )
        for at, name in enumerate(_WAY)
    )
    why = html('<span class="dx-hint">{}</span>', _WHY_CLOSED if is_locked else "")
    button = (
        html(
            '<button type="button" class="dx-icon dx-previous" data-do="back" data-value="" '
            'aria-label="{}" title="{}"></button>',
            back,
            back,
        )
        if stage != "choose"
        else NOTHING
    )
    landing = (
        html(' tabindex="-1" data-land="{}"', stage) if stage in {"choose", "form"} else NOTHING
    )
    return html(
        '<div class="dx-head dx-way" data-reveal="{}{}">{}'
        "<h3{}>{}</h3>"
        '{}<ol class="dx-stages" aria-label="Steps">{}</ol></div>',
        title,
        _POSITION[stage],
        button,
        landing,
        title,
        why,
        steps,
    )


_WHY_CLOSED = "Approve and Run are not here: read-only."
_CLOSED = html('<span class="dx-unseen"> (not on a page that is read-only)</span>')


def _stage(at: int, stage: int, *, is_closed: bool) -> Markup:
    if at == stage:
        return html(' aria-current="step"')
    if is_closed:
        return html(' class="dx-closed" title="This page is read-only."')
    return html(' class="dx-past"') if at < stage else NOTHING


def render_choices(groups: Sequence[tuple[str, Sequence[Choice]]]) -> Markup:
    """The operations by what they are about."""
    parts = []
    for title, choices in groups:
        buttons = join(
            html(
                '<li><button type="button" class="dx-choice" data-do="choose" '
                'data-value="{}"><strong>{}</strong>'
                "<span>{}</span></button></li>",
                choice.name,
                choice.title,
                choice.does,
            )
            for choice in choices
        )
        parts.append(html('<h4>{}</h4><ul class="dx-choices">{}</ul>', title, buttons))
    return join(parts)


_NOT_KEPT = "A plan made here is not kept in the list of plans."


def render_lock(uri: str, *, is_notebook: bool, unlocks: str = "") -> Markup:
    """What a page that may not change anything says of itself; `unlocks` is what lets it where
    other pages of the same server may."""
    call = ""
    if unlocks:
        how = f"Other pages of this server may carry plans out. {unlocks}"
    elif is_notebook:
        call = f"TableExplorer({uri!r}, maintenance=True)"
        how = "To carry plans out, make the explorer with maintenance:"
    else:
        call = f"delta-explorer serve {shell_word(uri)} --maintenance"
        how = (
            "To carry plans out, start the page with maintenance and open the link that it prints:"
        )
    return html(
        '<div class="dx-lock" role="note"><strong>This page is read-only.</strong> '
        "Every operation can be planned and looked at here; nothing can be changed, "
        "for a plan holds no way to write. {}<p>{}</p>"
        "{}</div>",
        _NOT_KEPT if is_notebook else f"{_NOT_KEPT} The address fills its form in again.",
        how,
        render_snippet("dx-start-line", call, "How to start with maintenance") if call else NOTHING,
    )


def render_form(name: str, does: str, fields: Sequence[FormField], button: str) -> Markup:
    """What an operation asks for; planning changes nothing, so that Enter plans."""
    drawn = join(_render_field(field) for field in fields)
    return html(
        '<p class="dx-lead">{}</p>'
        # what was filled in stays as long as it is this form, however it is drawn
        '<div class="dx-form" id="dx-form-{}" data-form="">{}'
        '<div class="dx-buttons"><button type="button" class="dx-primary" data-do="plan" '
        'data-value="" data-submit="" data-enter="">{}</button></div>'
        '<p class="dx-muted">Planning only looks: nothing is changed by it.</p></div>',
        does,
        name,
        drawn,
        button,
    )


def _render_field(field: FormField) -> Markup:
    name, required = esc(field.name), " required" if field.is_required else ""
    # Named by its label alone: the hint within would be read out as part of the name.
    common = html(
        'name="{}" aria-label="{}" aria-describedby="dx-hint-{}"{}',
        name,
        field.label,
        name,
        required,
    )
    if field.kind == "choice":
        options = join(
            html(
                '<option value="{}"{}>{}</option>',
                value,
                " selected" if value == field.value else "",
                label,
            )
            for value, label in field.choices
        )
        control = html("<select {}>{}</select>", common, options)
    elif field.kind == "lines":
        control = html(
            '<textarea {} rows="3" spellcheck="false" placeholder="{}">{}</textarea>',
            common,
            field.placeholder,
            field.value,
        )
    elif field.kind == "sql":
        control = html(
            '<input type="text" class="dx-code" {} value="{}" spellcheck="false" '
            'placeholder="{}"{}>',
            common,
            field.value,
            field.placeholder,
            render_name_offers(field.offers),
        )
    else:
        offers = join(html('<option value="{}"></option>', one) for one in field.offers)
        listed = html(' list="dx-list-{}"', name) if offers else NOTHING
        example = f"such as {field.offers[0]}" if field.offers else field.placeholder
        control = html(
            '<input type="text" {} value="{}" autocomplete="off" '
            'spellcheck="false" placeholder="{}"{}>',
            common,
            field.value,
            example,
            listed,
        )
        control += (
            html('<datalist id="dx-list-{}">{}</datalist>', name, offers) if offers else NOTHING
        )
    # those who see no list, and those who name several, read them
    is_listed = bool(field.offers) and field.kind == "text"
    told = f" There are {', '.join(field.offers)}." if is_listed else ""
    hint = html('<small id="dx-hint-{}">{}</small>', name, (field.hint + told).strip())
    of = html(' data-of="{}"', " ".join(field.only)) if field.only else NOTHING
    return html("<label{}><span>{}</span>{}{}</label>", of, field.label, control, hint)


def render_buttons(*buttons: tuple[str, str, str]) -> Markup:
    """Ways on, each with its action, its value and its label."""
    drawn = join(
        html(
            '<button type="button" class="dx-outlined" data-do="{}" data-value="{}">{}</button>',
            action,
            value,
            label,
        )
        for action, value, label in buttons
    )
    return html('<div class="dx-buttons">{}</div>', drawn) if buttons else NOTHING
