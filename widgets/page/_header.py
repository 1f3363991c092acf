"""The line above every view: name, version, health, place. Below it what is wrong, where
something is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from explorer.errors import Problem
from widgets.markup import NOTHING, Markup, html, join
from widgets.session.tables import Figures, Identity, Overview
from widgets.state import ADDRESSED, HEALTH_WORDS, VIEWS, Notice, PageState, name_table
from widgets.text import cut, format_count
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import (
    SEVERITY_TONES,
    render_dismissible_notice,
    render_notice,
    render_problems,
    render_snippet,
    render_waiting,
)
from widgets.ui.place_links import PlaceLinks

NEWEST_OFFERED = 12
"""Versions in the list of the picker; its field takes any."""

PENDING = "\N{HORIZONTAL ELLIPSIS}"


class HeaderView:
    """`panel` is the line; `notices` stand above the view in front."""

    def __init__(
        self, state: PageState, show_newest: Callable[[], None], *, has_address: bool
    ) -> None:
        self.panel = LiveHtml(margin=0, css_classes=["dx-header"])
        self.notices = LiveHtml(margin=0)
        self._state = state
        self._links = PlaceLinks(state, has_address=has_address)
        self._known = _Known()
        self.panel.on("version", self._choose)
        self.panel.on("step", self._step)
        self.panel.on("view", self._go)
        self.notices.on("dismiss", lambda _: state.param.update(notice=None))
        self.notices.on("newest", lambda _: show_newest())
        self.notices.on("later", lambda _: state.param.update(newer=None))
        state.param.watch(
            lambda *_: self._draw_notices(), ["notice", "opening", "newer", "gone", "refreshing"]
        )
        # its links hold the whole address
        state.param.watch(lambda *_: self._draw_line(), [*ADDRESSED, "latest", "health", "called"])
        self._draw()

    def show(self, overview: Overview) -> None:
        """A table has been opened."""
        self._know(_Known(overview=overview))

    def clear(self) -> None:
        """No table is open any more."""
        self._know(_Known())

    def show_identity(self, identity: Identity) -> None:
        """Its protocol and metadata are known."""
        if identity.metadata is not None:
            self._state.called = identity.metadata.name or ""
        self._know(replace(self._known, identity=identity))

    def show_figures(self, figures: Figures) -> None:
        """Its files are known."""
        self._know(replace(self._known, problems=tuple(figures.problems)))

    def show_readable(self, version: int) -> None:
        """The latest version cannot be read; what follows is of this one."""
        known = self._known
        failure = known.failure
        if known.identity is not None and known.identity.failure is not None:
            failure = known.identity.failure
        self._know(_Known(overview=known.overview, failure=failure, readable=version))

    def fail(self, problem: Problem) -> None:
        """What follows cannot be read; the log is shown all the same."""
        self._know(replace(self._known, failure=problem))

    def _know(self, known: _Known) -> None:
        self._known = known
        self._draw()

    def _choose(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            self._state.version = version
        elif text.strip() and self._state.latest is not None:
            self._state.notice = Notice(
                level="warning",
                problem=f"There is no version {cut(text.strip(), 40)}.",
                reason=f"The versions are 0 to {format_count(self._state.latest)}.",
            )

    def _step(self, by: str) -> None:
        if by in {"-1", "1"}:
            self._state.step(int(by))

    def _go(self, view: str) -> None:
        if view in VIEWS:
            self._state.view = view

    def _draw(self) -> None:
        self._draw_line()
        self._draw_notices()

    def _draw_line(self) -> None:
        overview = self._known.overview
        if overview is None:
            self.panel.html = _NO_TABLE
            return
        name = name_table(overview.uri, self._state.called)
        self.panel.html = html(
            '<div class="dx-line-of-table"><h1 title="{}">{}</h1>{}{}{}</div>',
            cut(name, 400),
            cut(name, 200),
            self._render_versions(overview.uri),
            self._render_health(),
            _render_place(overview.uri),
        )

    def _render_versions(self, uri: str) -> Markup:
        """The picker; where the line has no room for the place, its menu has it."""
        version, latest = self._state.version, self._state.latest
        if version is None or latest is None:
            return NOTHING
        is_latest = version == latest
        mark = html(' <small class="dx-latest">latest</small>')
        if not is_latest:  # on a phone, in the place of the link back
            mark = html(' <small class="dx-latest dx-of">of {}</small>', format_count(latest))
        return html(
            '<div class="dx-versions{}" role="group" aria-label="Version">{}'
            '<details class="dx-menu" data-menu><summary aria-label="Version {}{}, choose another"'
            '><span class="dx-short">Version </span>{}{}</summary>'
            '<div class="dx-menu-box"><input type="text" inputmode="numeric" data-do="version" '
            'data-when="enter" data-as="picker" value="" placeholder="0 to {}, then Enter" '
            'aria-label="Go to version" autocomplete="off"><ul>{}</ul>'
            '<div class="dx-place-below">{}</div></div></details>{}</div>{}',
            "" if is_latest else " dx-old",
            _render_step("-1", "Older version", "dx-previous", is_last=version == 0),
            format_count(version),
            ", the latest" if is_latest else f", the latest is {format_count(latest)}",
            format_count(version),
            mark,
            format_count(latest),
            join(self._render_choice(number) for number in _offered(version, latest)),
            render_snippet("dx-place-below", cut(uri, 2000), "Where the table lies"),
            _render_step("1", "Newer version", "dx-next", is_last=is_latest),
            NOTHING if is_latest else self._render_way_back(latest),
        )

    def _render_way_back(self, latest: int) -> Markup:
        """Most of what follows is of the older version that is chosen."""
        number = format_count(latest)
        said = html(' class="dx-newest" title="Back to the latest version, {}"', number)
        inner = html("Latest ({})", number)
        to = {"version": latest}
        return self._links.render("version", str(latest), inner, to=to, attributes=said)

    def _render_choice(self, number: int) -> Markup:
        latest = html(" <small>latest</small>") if number == self._state.latest else NOTHING
        current = html(' aria-current="true"') if number == self._state.version else NOTHING
        inner = html("{}{}", format_count(number), latest)
        to = {"version": number}
        link = self._links.render("version", str(number), inner, to=to, attributes=current)
        return html("<li>{}</li>", link)

    def _render_health(self) -> Markup:
        health = self._state.health
        word = HEALTH_WORDS.get(health, PENDING)
        inner = html(
            '<i class="dx-dot dx-tone-{}"></i>{}{}',
            SEVERITY_TONES.get(health, "none"),
            # notes could be anybody's
            _OF_HEALTH if health in {"note", "warning", "error"} else NOTHING,
            word,
        )
        said = html(
            ' class="dx-health" aria-label="Health: {}" title="Health of the log: {}"',
            word.lower() if health else "not known yet",
            word.lower() if health else "not known yet",
        )
        return self._links.view("health", inner, said)

    def _draw_notices(self) -> None:
        parts = []
        if self._state.gone is not None:
            parts.append(render_notice(self._state.gone))
        if self._state.notice is not None:
            parts.append(render_dismissible_notice(self._state.notice))
        if self._state.refreshing:
            parts.append(render_waiting("Refreshing"))
        elif self._state.newer is not None:
            parts.append(_render_newer(self._state.newer))
        if self._state.opening:
            parts.append(render_waiting(f"Opening {cut(self._state.opening, 200)}"))
        elif self._known.overview is not None:
            parts += [_render_banner(self._known), render_problems(self._known.problems)]
        self.notices.html = join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What has been read so far; None while it is not. With `readable` it is of that version,
    and `failure` says why it is not of the latest."""

    overview: Overview | None = None
    identity: Identity | None = None
    problems: tuple[Problem, ...] = ()
    failure: Problem | None = None
    readable: int | None = None


_OF_HEALTH = html('<span class="dx-short">Health: </span>')
_NO_TABLE = html('<div class="dx-line-of-table"><h1>Delta Explorer</h1></div>')


def _offered(version: int, latest: int) -> list[int]:
    """The newest versions, and those around the chosen one; newest first."""
    newest = range(max(0, latest - NEWEST_OFFERED + 1), latest + 1)
    around = range(max(0, version - 2), min(latest, version + 2) + 1)
    return sorted({*newest, *around}, reverse=True)


def _render_step(by: str, label: str, shape: str, *, is_last: bool) -> Markup:
    return html(
        '<button type="button" class="dx-icon {}" data-do="step" data-value="{}" '
        'aria-label="{}" title="{}"{}></button>',
        shape,
        by,
        label,
        label,
        html(" disabled") if is_last else NOTHING,
    )


def _render_place(uri: str) -> Markup:
    return html(
        '<details class="dx-menu dx-place" data-menu><summary title="Where the table lies">Place'
        '</summary><div class="dx-menu-box">{}</div></details>',
        render_snippet("dx-place", cut(uri, 2000), "Where the table lies"),
    )


def _render_newer(version: int) -> Markup:
    return html(
        '<div class="dx-notice dx-newer" role="status"><div><strong>Version '
        "{} is available.</strong></div><div>"
        '<button type="button" data-do="newest" data-value="">Show it</button>'
        '<button type="button" class="dx-icon dx-close" data-do="later" data-value="" '
        'aria-label="Not now" title="Not now"></button></div></div>',
        format_count(version),
    )


def _render_banner(known: _Known) -> Markup:
    identity = known.identity
    if identity is not None and identity.refusal is not None:
        refusal = identity.refusal
        return render_notice(
            Notice(
                level="warning",
                problem=refusal.problem,
                reason=f"{refusal.reason} {refusal.remedy}",
                remedy="Its protocol, metadata, history, features and log are shown; "
                "its files are not.",
            )
        )
    failure = identity.failure if identity is not None and identity.failure else known.failure
    if failure is None:
        return NOTHING
    notice = Notice.of(failure)
    if known.readable is not None:
        shown = format_count(known.readable)
        remedy = f"Version {shown} is the newest that can be read, and is shown. {notice.remedy}"
        notice = replace(notice, remedy=remedy)
    return render_notice(notice)
