"""Small pieces: notices, key figures, chips, definition lists, snippets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.errors import Problem
from widgets.markup import NOTHING, Markup, esc, html, join
from widgets.state import Notice
from widgets.text import UNKNOWN, cut, format_count, visible

SEVERITY_TONES = {"sound": "good", "note": "none", "warning": "risk", "error": "gone"}
"""The colour of a log without a finding, and of findings by how grave they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """One figure with its name above and a remark below; plain text, but for a remark that is
    `Markup`."""

    name: str
    value: str
    remark: str = ""
    exact: str = ""


def render_key_figures(figures: Sequence[KeyFigure]) -> Markup:
    """The row of cards under the table's name."""
    cards = join(_render_key_figure(figure) for figure in figures)
    return html('<section class="dx-figures" aria-label="Key figures">{}</section>', cards)


def _render_key_figure(figure: KeyFigure) -> Markup:
    title = html(' title="{}"', figure.exact) if figure.exact else NOTHING
    quiet = " dx-unknown" if figure.value in {UNKNOWN, "\N{HORIZONTAL ELLIPSIS}"} else ""
    return html(
        '<div class="dx-figure"><span>{}</span>'
        '<strong class="{}"{}>{}</strong>'
        "<small>{}&nbsp;</small></div>",
        figure.name,
        quiet.strip(),
        title,
        figure.value,
        figure.remark,
    )


def render_chips(texts: Sequence[str]) -> Markup:
    """Words in a row, such as the table's features."""
    chips = join(html('<li class="dx-chip">{}</li>', text) for text in texts)
    return html('<ul class="dx-chips" aria-label="Protocol">{}</ul>', chips)


def render_badge(text: str, lane: str) -> Markup:
    """An operation's name in its colour."""
    return html('<span class="dx-badge dx-{}">{}</span>', lane.lower(), text)


def render_notice(notice: Notice) -> Markup:
    """A sentence with its reason and remedy."""
    return _render_notice(notice, NOTHING)


def render_dismissible_notice(notice: Notice) -> Markup:
    """A sentence with its reason and remedy, and a button that does `dismiss`."""
    return _render_notice(
        notice,
        html(
            '<button type="button" class="dx-icon dx-close" data-do="dismiss" '
            'aria-label="Dismiss" title="Dismiss"></button>'
        ),
    )


def _render_notice(notice: Notice, button: Markup) -> Markup:
    role = "alert" if notice.level == "error" else "status"
    told = (notice.reason, notice.remedy)
    more = join(html("<p>{}</p>", visible(text)) for text in told if text)
    return html(
        '<div class="dx-notice dx-{}" role="{}"><div><strong>{}</strong>{}</div>{}</div>',
        notice.level,
        role,
        visible(notice.problem),
        more,
        button,
    )


def render_detail_head(key: str, heading: Markup, hint: Markup = NOTHING) -> Markup:
    """The head of what is shown of the row `key` of a list, with a button that closes it."""
    return html(
        '<div class="dx-head" data-detail="{}">{}<span class="dx-hint">{}</span>{}'
        '<button type="button" class="dx-icon dx-close" data-do="close" data-value="" '
        'aria-label="Close" title="Close"></button></div>',
        key,
        heading,
        hint,
        BACK_TO_LIST,
    )


BACK_TO_LIST: Final = html(
    '<button type="button" class="dx-back" data-back aria-label="Back to the list" '
    'title="Back to the list">List</button>'
)
"""Leads from a detail to its row, where the page is too narrow for both beside each other."""


def render_problem(problem: Problem) -> Markup:
    """What keeps a view from being shown."""
    return render_notice(Notice.of(problem))


def render_problem_below(problem: Problem) -> Markup:
    """The same where it stands below another part of its card."""
    return html('<div class="dx-below">{}</div>', render_problem(problem))


def render_asked_problem(problem: Problem) -> Markup:
    """What went wrong with what was typed: said below that place where it cannot be understood,
    and as any other problem else."""
    if problem.kind != "invalid_argument":
        return render_problem_below(problem)
    return html(
        '<div class="dx-wrong" role="alert"><strong>{}</strong> {} {}</div>',
        visible(problem.problem),
        visible(problem.reason),
        visible(problem.remedy),
    )


def render_problems(problems: Sequence[Problem]) -> Markup:
    """What is wrong with a table that is shown all the same, folded."""
    if not problems:
        return NOTHING
    items = join(
        html(
            "<li><strong>{}</strong> {} {}",
            visible(problem.problem),
            visible(problem.reason),
            visible(problem.remedy),
        )
        + (html(" <code>{}</code>", visible(problem.place)) if problem.place else NOTHING)
        + html("</li>")
        for problem in problems
    )
    count = len(problems)
    title = "1 problem was found" if count == 1 else f"{count:,} problems were found"
    return html(
        '<details class="dx-notice dx-warning"><summary><strong>{}</strong> in this table; '
        "it is shown all the same</summary><ul>{}</ul></details>",
        title,
        items,
    )


def render_waiting(text: str) -> Markup:
    """What is being done, where the answer will stand."""
    return html('<p class="dx-waiting" role="status">{}</p>', text)


LONG_VALUE = 250
"""Characters from which on a value is scrolled, and can be reached by keyboard for that."""


def render_definition(name: str, value: str, shown: Markup | None = None) -> Markup:
    """One name and value; `shown` is how the value looks where that is not plain text."""
    inner = esc(value) if shown is None else shown
    if len(value) <= LONG_VALUE:
        return html("<dt>{}</dt><dd>{}</dd>", name, inner)
    label = esc(cut(name, 80))
    return html(
        '<dt>{}</dt><dd class="dx-long" tabindex="0" aria-label="{}">{}</dd>', name, label, inner
    )


def render_definitions(pairs: Sequence[tuple[str, str]], *, code: Sequence[str] = ()) -> Markup:
    """Names and values; the values of names in `code` are set in monospace."""
    items = NOTHING
    for name, value in pairs:
        shown = html("<code>{}</code>", value) if name in code else esc(value)
        items += render_definition(name, value, shown)
    return html("<dl>{}</dl>", items)


def render_snippet(identity: str, text: str, label: str) -> Markup:
    """Code to take away, with a button that copies what is shown."""
    return html(
        '<div class="dx-snippet"><pre id="{}" tabindex="0" aria-label="{}">'
        "{}</pre>"
        '<button type="button" data-copy="{}">Copy</button></div>',
        identity,
        label,
        visible(text),
        identity,
    )


def render_segments(
    action: str, current: str, options: Sequence[tuple[str, str, int | None]], label: str
) -> Markup:
    """A choice of one of few: the value, the name and, where it is known, the number of each."""
    buttons = join(
        html(
            '<button type="button" data-do="{}" data-value="{}" aria-pressed="{}">{}{}</button>',
            action,
            value,
            "true" if value == current else "false",
            name,
            "" if count is None else f" {format_count(count)}",
        )
        for value, name, count in options
    )
    return html(
        '<span class="dx-segments dx-many" role="group" aria-label="{}">{}</span>', label, buttons
    )


def render_section(title: str, inner: Markup) -> Markup:
    """A small heading over what belongs to it."""
    return html("<h4>{}</h4>{}", title, inner)


def render_folded(title: str, inner: Markup) -> Markup:
    """What stands behind its title until somebody opens it."""
    return html("<details><summary>{}</summary><div>{}</div></details>", title, inner)


def render_name_offers(names: Sequence[str]) -> Markup:
    """Attributes of a field for a condition, which complete the names of columns as they are
    written there."""
    return html(
        ' autocomplete="off" role="combobox" aria-expanded="false" data-names="{}"',
        json.dumps(list(names[:NAMES_OFFERED])),
    )


NAMES_OFFERED = 2_000


def example_condition(names: Sequence[str]) -> str:
    """What a field for a condition shows while it is empty: one that the table has, whatever the
    type of the column."""
    short = next((name for name in names if len(name) <= LONGEST_EXAMPLE), None)
    return (
        "A condition, then Enter"
        if short is None
        else f"for example {short} IS NOT NULL, then Enter"
    )


LONGEST_EXAMPLE = 40
