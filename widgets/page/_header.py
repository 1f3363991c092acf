"""The table's name, its protocol in chips, its key figures, what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from explorer.errors import Problem
from explorer.table.counts import count as things
from widgets.markup import NOTHING, Markup, html, join
from widgets.session.page_services import PageServices
from widgets.session.tables import Figures, Identity, Overview, RowFigures
from widgets.state import Notice, PageState
from widgets.text import (
    UNKNOWN,
    cut,
    format_age,
    format_bytes,
    format_count,
    format_share,
    format_short,
    format_time,
    last_part,
)
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import (
    KeyFigure,
    render_chips,
    render_dismissible_notice,
    render_key_figures,
    render_notice,
    render_problems,
    render_waiting,
)

PENDING = "\N{HORIZONTAL ELLIPSIS}"
CHIPS = 6


class HeaderView:
    """Shows first what the listing says, then what the table is, its files, its rows."""

    def __init__(
        self, services: PageServices, state: PageState, show_newest: Callable[[], None]
    ) -> None:
        self.panel = LiveHtml(margin=0)
        self.panel.on("dismiss", self._dismiss)
        self.panel.on("newest", lambda _: show_newest())
        self.panel.on("later", lambda _: state.param.update(newer=None))
        self._services = services
        self._state = state
        self._known = _Known()
        state.param.watch(
            lambda *_: self._draw(), ["notice", "opening", "newer", "gone", "refreshing"]
        )

    def show(self, overview: Overview) -> None:
        """A table has been opened."""
        self._known = _Known(overview=overview)
        self._draw()

    def clear(self) -> None:
        """No table is open any more."""
        self._known = _Known()
        self._draw()

    def show_identity(self, identity: Identity) -> None:
        """Its protocol and metadata are known."""
        self._known = replace(self._known, identity=identity)
        self._draw()

    def show_figures(self, figures: Figures) -> None:
        """Its files are known."""
        self._known = replace(self._known, figures=figures)
        self._draw()

    def show_rows(self, rows: RowFigures) -> None:
        """Its rows are counted."""
        self._known = replace(self._known, rows=rows)
        self._draw()

    def show_readable(self, version: int) -> None:
        """The latest version cannot be read; what follows is of this one."""
        known = self._known
        failure = known.failure
        if known.identity is not None and known.identity.failure is not None:
            failure = known.identity.failure
        self._known = _Known(overview=known.overview, failure=failure, readable=version)
        self._draw()

    def fail(self, problem: Problem) -> None:
        """What follows cannot be read; the log is shown all the same."""
        self._known = replace(self._known, failure=problem)
        self._draw()

    def _dismiss(self, _: str) -> None:
        self._state.notice = None

    def _draw(self) -> None:
        parts = []
        if self._state.gone is not None:
            parts.append(render_notice(self._state.gone))
        if self._state.notice is not None:
            parts.append(render_dismissible_notice(self._state.notice))
        if self._state.refreshing:
            parts.append(render_waiting("Looking at the table anew"))
        elif self._state.newer is not None:
            parts.append(_render_newer(self._state.newer))
        if self._state.opening:
            parts.append(render_waiting(f"Opening {cut(self._state.opening, 200)}"))
        elif self._known.overview is not None:
            parts.append(_render_table(self._known, self._known.overview))
        self.panel.html = join(parts)


def _render_newer(version: int) -> Markup:
    return html(
        '<div class="dx-notice dx-newer" role="status"><div><strong>Version '
        "{} is there.</strong></div><div>"
        '<button type="button" data-do="newest" data-value="">Show it</button>'
        '<button type="button" class="dx-icon dx-close" data-do="later" data-value="" '
        'aria-label="Not now" title="Not now"></button></div></div>',
        format_count(version),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What has been read so far; None while it is not. With `readable` it is of that version,
    and `failure` says why it is not of the latest."""

    overview: Overview | None = None
    identity: Identity | None = None
    figures: Figures | None = None
    rows: RowFigures | None = None
    failure: Problem | None = None
    readable: int | None = None

    @property
    def ended(self) -> bool:
        """Whether what is missing will not come any more."""
        if self.readable is not None:
            return False
        identity = self.identity
        broken = identity is not None and (identity.refusal or identity.failure) is not None
        return broken or self.failure is not None


def _render_table(known: _Known, overview: Overview) -> Markup:
    metadata = known.identity.metadata if known.identity else None
    name = (metadata.name if metadata else None) or last_part(overview.uri)
    about = metadata.description if metadata else None
    described = html('<p class="dx-about">{}</p>', cut(about, 400)) if about else NOTHING
    problems = known.figures.problems if known.figures else ()
    path = html('<p class="dx-path" title="{}">{}</p>', overview.uri, cut(overview.uri, 400))
    figures = [
        _latest_figure(overview, known),
        *_file_figures(known),
        _row_figure(known),
        _log_figure(overview, known.figures),
    ]
    return html(
        '{}{}<div class="dx-title"><div><h2>{}</h2>{}{}</div>{}</div>{}',
        _render_banner(known),
        render_problems(problems),
        cut(name, 200),
        path,
        described,
        render_chips(_chips(known.identity)),
        render_key_figures(figures),
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


def _chips(identity: Identity | None) -> list[str]:
    if identity is None:
        return []
    protocol = identity.protocol
    if protocol is None:
        return ["protocol unknown"]
    chips = [
        f"reader {protocol.min_reader_version} \N{MIDDLE DOT} writer {protocol.min_writer_version}"
    ]
    names = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    chips += [cut(name, 48) for name in names[:CHIPS]]
    if len(names) > CHIPS:
        chips.append(f"{len(names) - CHIPS} more")
    return chips


def _latest_figure(overview: Overview, known: _Known) -> KeyFigure:
    when = known.figures.timestamp if known.figures else None
    age = "" if known.ended else PENDING
    if known.readable is not None:
        age = f"cannot be read; {format_count(known.readable)} is shown"
    elif known.figures is not None:
        age = format_age(when, datetime.now(UTC))
    return KeyFigure(
        name="Latest version",
        value=format_count(overview.latest),
        remark=age,
        exact=format_time(when) if when else "",
    )


def _file_figures(known: _Known) -> list[KeyFigure]:
    if known.figures is None:
        value, remark = (UNKNOWN, "files not readable") if known.ended else (PENDING, "reading")
        return [
            KeyFigure(name="Table size", value=value, remark=remark),
            KeyFigure(name="Active files", value=value, remark=remark),
        ]
    files, size = known.figures.num_files, known.figures.size_in_bytes
    average = f"{format_bytes(size // files)} on average" if files else "the table is empty"
    return [
        KeyFigure(
            name="Table size",
            value=format_bytes(size),
            remark="live files, by the log",
            exact=f"{format_count(size)} bytes",
        ),
        KeyFigure(name="Active files", value=format_count(files), remark=average),
    ]


def _row_figure(known: _Known) -> KeyFigure:
    name, rows = "Rows", known.rows
    if rows is None:
        return KeyFigure(
            name=name,
            value=UNKNOWN if known.ended else PENDING,
            remark="files not readable" if known.ended else "counting\N{HORIZONTAL ELLIPSIS}",
        )
    if rows.num_rows is None:
        return KeyFigure(name=name, value=UNKNOWN, remark="statistics do not say")
    deleted = rows.num_deleted
    if deleted is None:
        remark = "soft-deleted rows unknown"
    elif deleted:
        share = format_share(deleted, rows.num_rows + deleted)
        remark = f"{format_short(deleted)} soft-deleted ({share})"
    else:
        remark = "none soft-deleted"
    return KeyFigure(
        name=name,
        value=format_short(rows.num_rows),
        remark=remark,
        exact=f"{format_count(rows.num_rows)} rows, by statistics",
    )


def _log_figure(overview: Overview, figures: Figures | None) -> KeyFigure:
    """By the listing, and, once the version is read, by what it was read from."""
    known = overview if figures is None else figures
    count = known.commits_since_checkpoint
    if known.checkpoint is None:
        remark = "no checkpoint yet" if overview.checkpoint is None else "no checkpoint is usable"
    else:
        remark = f"since checkpoint {format_count(known.checkpoint)}"
    unit = "commit" if count == 1 else "commits"
    if figures is not None and figures.compactions_read:
        read = things(figures.compactions_read, "log compaction")
        remark += f"; {format_count(figures.commits_read)} and {read} read"
    return KeyFigure(name="Log health", value=f"{format_count(count)} {unit}", remark=remark)
