"""Small pieces: notices, key figures, chips, definition lists, snippets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.errors import Problem
from widgets.state import Notice
from widgets.text import UNKNOWN, cut, esc, visible


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """One figure with its name above and a remark below; plain text."""

    name: str
    value: str
    remark: str = ""
    exact: str = ""


def render_key_figures(figures: Sequence[KeyFigure]) -> str:
    """The row of cards under the table's name."""
    cards = "".join(_render_key_figure(figure) for figure in figures)
    return f'<section class="dx-figures" aria-label="Key figures">{cards}</section>'


def _render_key_figure(figure: KeyFigure) -> str:
    title = f' title="{esc(figure.exact)}"' if figure.exact else ""
    quiet = " dx-unknown" if figure.value in {UNKNOWN, "\N{HORIZONTAL ELLIPSIS}"} else ""
    return (
        f'<div class="dx-figure"><span>{esc(figure.name)}</span>'
        f'<strong class="{quiet.strip()}"{title}>{esc(figure.value)}</strong>'
        f"<small>{esc(figure.remark)}&nbsp;</small></div>"
    )


def render_chips(texts: Sequence[str]) -> str:
    """Words in a row, such as the table's features."""
    chips = "".join(f'<li class="dx-chip">{esc(text)}</li>' for text in texts)
    return f'<ul class="dx-chips" aria-label="Protocol">{chips}</ul>'


def render_badge(text: str, lane: str) -> str:
    """An operation's name in its colour."""
    return f'<span class="dx-badge dx-{esc(lane.lower())}">{esc(text)}</span>'


def render_notice(notice: Notice) -> str:
    """A sentence with its reason and remedy."""
    return _render_notice(notice, "")


def render_dismissible_notice(notice: Notice) -> str:
    """The same with a button that does `dismiss`."""
    return _render_notice(
        notice,
        '<button type="button" class="dx-icon dx-close" data-do="dismiss" '
        'aria-label="Dismiss" title="Dismiss"></button>',
    )


def _render_notice(notice: Notice, button: str) -> str:
    role = "alert" if notice.level == "error" else "status"
    told = (notice.reason, notice.remedy)
    more = "".join(f"<p>{esc(visible(text))}</p>" for text in told if text)
    return (
        f'<div class="dx-notice dx-{notice.level}" role="{role}"><div>'
        f"<strong>{esc(visible(notice.problem))}</strong>{more}</div>{button}</div>"
    )


def render_problem(problem: Problem) -> str:
    """What keeps a view from being shown."""
    return render_notice(Notice.of(problem))


def render_asked_problem(problem: Problem) -> str:
    """What went wrong with what was typed: said below that place where it cannot be understood,
    and as any other problem else."""
    if problem.kind != "invalid_argument":
        return render_problem(problem)
    return (
        f'<div class="dx-wrong" role="alert"><strong>{esc(visible(problem.problem))}</strong> '
        f"{esc(visible(problem.reason))} {esc(visible(problem.remedy))}</div>"
    )


def render_problems(problems: Sequence[Problem]) -> str:
    """What is wrong with a table that is shown all the same, folded."""
    if not problems:
        return ""
    items = "".join(
        f"<li><strong>{esc(visible(problem.problem))}</strong> {esc(visible(problem.reason))} "
        f"{esc(visible(problem.remedy))}"
        + (f" <code>{esc(visible(problem.place))}</code>" if problem.place else "")
        + "</li>"
        for problem in problems
    )
    count = len(problems)
    title = "1 problem was found" if count == 1 else f"{count:,} problems were found"
    return (
        f'<details class="dx-notice dx-warning"><summary><strong>{title}</strong> in this table; '
        f"it is shown all the same</summary><ul>{items}</ul></details>"
    )


def render_waiting(text: str) -> str:
    """What is being done, where the answer will stand."""
    return f'<p class="dx-waiting" role="status">{esc(text)}</p>'


LONG_VALUE = 250
"""Characters from which on a value is scrolled, and can be reached by keyboard for that."""


def render_definition(name: str, value: str, shown: str | None = None) -> str:
    """One name and value; `shown` is the value as HTML that is escaped already."""
    inner = esc(value) if shown is None else shown
    if len(value) <= LONG_VALUE:
        return f"<dt>{esc(name)}</dt><dd>{inner}</dd>"
    label = esc(cut(name, 80))
    return f'<dt>{esc(name)}</dt><dd class="dx-long" tabindex="0" aria-label="{label}">{inner}</dd>'


def render_definitions(pairs: Sequence[tuple[str, str]], *, code: Sequence[str] = ()) -> str:
    """Names and values; the values of names in `code` are set in monospace."""
    items = ""
    for name, value in pairs:
        shown = f"<code>{esc(value)}</code>" if name in code else esc(value)
        items += render_definition(name, value, shown)
    return f"<dl>{items}</dl>"


def render_snippet(identity: str, text: str, label: str) -> str:
    """Code to take away, with a button that copies what is shown."""
    return (
        f'<div class="dx-snippet"><pre id="{esc(identity)}" tabindex="0" aria-label="{esc(label)}">'
        f"{esc(visible(text))}</pre>"
        f'<button type="button" data-copy="{esc(identity)}">Copy</button></div>'
    )


def render_section(title: str, inner: str) -> str:
    """A small heading over HTML that is escaped already."""
    return f"<h4>{esc(title)}</h4>{inner}"
