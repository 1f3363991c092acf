"""The explorer of one table: what the page and the notebook both show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import param

from explorer.errors import DeltaError, Problem
from explorer.storage.location import parse_location
from widgets.page._header import HeaderView
from widgets.page._palette import Palette
from widgets.page._reading import StateReader
from widgets.page._watching import GONE, Follower
from widgets.screens.commit.view import CommitView
from widgets.screens.commits.view import CommitsView
from widgets.screens.compare.view import CompareView
from widgets.screens.conflicts.view import ConflictsView
from widgets.screens.engines.view import EnginesView
from widgets.screens.feed.view import FeedView
from widgets.screens.files.view import FilesView
from widgets.screens.health.view import HealthView
from widgets.screens.layout.view import LayoutView
from widgets.screens.log.view import LogView
from widgets.screens.maintenance.view import MaintenanceView
from widgets.screens.overview.view import OverviewView
from widgets.screens.protocol.view import ProtocolView
from widgets.screens.reach.view import ReachView
from widgets.screens.rows.view import RowsView
from widgets.screens.schema.view import SchemaView
from widgets.screens.statistics.view import StatisticsView
from widgets.screens.timeline.view import READ_AHEAD, UNASKED, UNASKED_BYTES, TimelineView
from widgets.screens.vectors.view import VectorsView
from widgets.session.asking import drop_all
from widgets.session.page_services import PageServices
from widgets.session.tables import Overview, TableService
from widgets.state import (
    ADDRESSED,
    BESIDE,
    VIEW_OF_A_VERSION,
    Address,
    HistoryState,
    Notice,
    PageState,
)
from widgets.text import cut, format_count
from widgets.theme import DARK, LIGHT, read_box_style, render_tokens
from widgets.ui.boxes import Box, build_open_stack, build_slot, build_split


class _Screen(Protocol):
    """A screen that is built when it is first looked at."""

    panel: Any

    def show(self, service: TableService) -> None:
        """A table has been opened."""


_BUILDERS: dict[str, Callable[[PageServices, PageState], _Screen]] = {
    "overview": OverviewView,
    "compare": CompareView,
    "files": FilesView,
    "feed": FeedView,
    "layout": LayoutView,
    "rows": RowsView,
    "statistics": StatisticsView,
    "vectors": VectorsView,
    "schema": SchemaView,
    "protocol": ProtocolView,
    "engines": EnginesView,
    "reach": ReachView,
    "health": HealthView,
    "conflicts": ConflictsView,
    "log": LogView,
    "maintenance": MaintenanceView,
}
"""Every view but the timeline, which stands in the explorer itself."""

_LINK_ERRORS = {"table_not_found", "invalid_argument", "log_empty", "storage_refused"}
"""What a link got wrong for good; a store that fails may answer the next time."""


class Explorer:
    """One view at a time below its notices, `panel`, and the line above, `header`; opens tables
    and keeps the state right.

    `start` is shown while no table is open. Where the page has an address its links have one too,
    and the document around it has the colours.
    """

    def __init__(
        self,
        services: PageServices,
        state: PageState,
        start: Any = None,
        *,
        has_address: bool = False,
    ) -> None:
        self._services = services
        self._state = state
        self._service: TableService | None = None
        self._asked = 0
        history = HistoryState()
        self._header = HeaderView(state, self._show_newest, has_address=has_address)
        self.header = self._header.panel
        self._palette = Palette(services, state, self._open_beside, self.reload)
        self.tools = self._palette.tools
        self._follower = Follower(services.runner, self._offer_newer, self._lose)
        self.tools.on("alive", lambda sign: self._follower.alive(is_idle=sign == "idle"))
        self.tools.on("hidden", lambda _: self._follower.stop())
        self._timeline = TimelineView(services, state, history)
        self._commits = CommitsView(services, state, history)
        self._commit = CommitView(services, state, history)
        self._main, self._front = self._build_front()
        self._views: dict[str, _Screen] = {}
        self._start = start
        self._body = build_slot()
        self._unread: tuple[TableService, Overview] | None = None
        self._amounts: tuple[int, dict[str, int | None]] | None = None
        self.panel = _build_page(
            self._header.notices, self._body, tokens="" if has_address else _TOKENS
        )
        state.param.watch(lambda *_: self._show_view(), ["view", "table", "opening"])
        state.param.watch(lambda *_: self._read_timeline(), ["view", "table"])
        state.param.watch(lambda *_: self._read_ahead(), "ahead")
        state.param.watch(lambda *_: self._check_there(), "view")
        state.param.watch(lambda *_: self._paint(), "dark")
        state.param.watch(lambda *_: self._follow_change(), "changes")
        self._paint()
        self._show_view()

    def _build_front(self) -> tuple[Any, Any]:
        """The timeline and its list, and both with the selected commit beside them."""
        self._timeline.panel.append(self._commits.copy_as)
        main = build_open_stack(self._timeline.panel, self._commits.panel)
        return main, build_split(main, self._commit.panel)

    def open(self, address: Address, complaints: list[str] | None = None) -> None:
        """Open the table that an address names and go there.

        `complaints` are what the address got wrong already; they become a notice.
        """
        self._asked += 1
        asked = self._asked
        # the table that is in front stays there while it is refreshed
        is_open = address.table == self._state.table
        before = self._state.address
        self._state.param.update(
            opening="" if is_open else _shown(address.table),
            refreshing=is_open,
            notice=_complain(complaints or []),
        )

        was_lost = is_open and self._state.gone is not None

        def work() -> tuple[TableService, Overview]:
            service = self._services.open(address.table)
            if was_lost:
                service.release()  # what is kept may be of another table
            return service, service.read_overview()

        def done(found: tuple[TableService, Overview]) -> None:
            if asked != self._asked:
                return
            # what was chosen while an open table was looked at stays in front
            chosen = self._state.address.differing(before) if is_open else {}
            self._enter(*found, replace(address, **chosen), complaints or [])

        def failed(problem: Problem) -> None:
            if asked == self._asked and is_open and problem.kind in GONE:
                self._state.param.update(opening="", refreshing=False)
                self._lose(problem)
            elif asked == self._asked:
                self._refuse(problem)

        self._services.runner.run(work, done, failed)

    def show(self, service: TableService, version: int | None = None) -> None:
        """Show a table that is open already, in a notebook."""
        self._asked += 1
        address = Address(table=service.uri, version=version)
        self._services.runner.run(
            service.read_overview,
            lambda overview: self._enter(service, overview, address, []),
            self._refuse,
        )

    def go(self, address: Address, complaints: list[str]) -> None:
        """Follow an address: another table, another place in this one, or back to the start."""
        if not address.table:
            self._leave(address)
            return
        if address.table != self._state.table:
            self.open(address, complaints)
            return
        self._asked += 1  # a table that is still being opened is no longer wanted
        self._go(address, complaints)

    def reload(self) -> None:
        """Refresh the open table; the selection stays."""
        if self._state.table:
            self.open(self._state.address)

    def _leave(self, address: Address) -> None:
        """No table is open any more; `address` may choose of the list of tables."""
        self._asked += 1
        self._service = self._unread = None
        self._follower.follow_none()
        self._timeline.reader.stop()
        self._header.clear()
        with param.parameterized.batch_call_watchers(self._state):
            self._state.param.update(
                latest=None, newer=None, gone=None, refreshing=False, called=""
            )
            self._go(Address(tables=address.tables), [])

    def _show_newest(self) -> None:
        self.open(replace(self._state.address, version=None))

    def _offer_newer(self, version: int) -> None:
        """Someone else has written: say so, and leave the rest where it is."""
        if self._state.latest is not None and version > self._state.latest:
            self._state.newer = version

    def _check_there(self) -> None:
        """Whoever goes to another view is told there that the table is gone."""
        service = self._service
        if service is None or self._state.opening or self._state.gone is not None:
            return

        def failed(problem: Problem) -> None:
            if service is self._service and problem.kind in GONE:
                self._lose(problem)

        self._services.runner.run(service.table.check_there, lambda _: None, failed)

    def _lose(self, problem: Problem) -> None:
        """The open table was deleted or replaced: say so above every view, which go on showing
        what was read."""
        remedy = f"What is shown below was read before. {problem.remedy}"
        self._state.gone = replace(Notice.of(problem), remedy=remedy)

    def _open_beside(self, uri: str) -> None:
        self.open(Address(table=uri, view=self._state.view))

    def _follow_change(self) -> None:
        """The table was changed from here: who looked at the newest version sees the new one."""
        if not self._state.table:
            return  # it was left meanwhile
        at = None if self._state.version == self._state.latest else self._state.version
        self.open(replace(self._state.address, version=at))

    def close(self) -> None:
        """The page is gone: what reads or plans for it is told to stop, what it carries out goes
        on."""
        self._asked += 1
        self._follower.stop()
        self._timeline.reader.stop()
        drop_all(self._services.runner)

    def _enter(
        self, service: TableService, overview: Overview, address: Address, complaints: list[str]
    ) -> None:
        self._service = service
        self._state.param.update(
            latest=overview.latest, newer=None, gone=None, refreshing=False, health=""
        )
        if overview.uri != self._state.table:
            self._state.called = ""
        self._follower.follow(service, overview.latest)
        self._services.recents.add(overview.uri)
        self._header.show(overview)
        self._unread, self._amounts = (service, overview), None
        self._palette.show(service)
        self._state.entering = True
        try:
            self._go(replace(address, table=overview.uri), complaints)
        finally:
            self._state.entering = False
        for view in self._views.values():
            view.show(service)
        self._read_timeline()
        self._commit.show(service)  # the timeline comes first
        StateReader(
            service=service,
            runner=self._services.runner,
            header=self._header,
            anchor=self._anchor,
            state=self._state,
            is_current=lambda asked: asked is self._service,
        ).read(overview.latest)
        self._services.runner.when_idle(self._read_unasked)

    def _read_timeline(self) -> None:
        """Read the history of the open table once somebody looks at the timeline."""
        view = BESIDE.get(self._state.view, self._state.view)
        if self._unread is not None and view == VIEW_OF_A_VERSION and not self._state.opening:
            self._begin_timeline(*self._unread)

    def _read_ahead(self) -> None:
        """Somebody points at the timeline: a short one is there when they click."""
        # without a background they would wait for it where they only pass by
        if self._state.opening or not self._services.runner.is_background:
            return
        if self._unread is None:
            self._timeline.build_ahead()
        elif self._unread[1].latest < READ_AHEAD:
            self._begin_timeline(*self._unread, is_ahead=True)

    def _read_unasked(self) -> None:
        """Read a history that takes next to no time before somebody asks for it: whoever comes to
        the timeline waits for its plot alone."""
        unread = self._unread
        if unread is None or not self._services.runner.is_background:
            return
        if unread[1].latest >= UNASKED:
            return

        def done(size: int | None) -> None:
            is_quick = size is not None and size <= UNASKED_BYTES
            if is_quick and self._unread is unread and not self._state.opening:
                self._begin_timeline(*unread)

        self._services.runner.run(unread[0].local_log_bytes, done, lambda _: None)

    def _begin_timeline(
        self, service: TableService, overview: Overview, *, is_ahead: bool = False
    ) -> None:
        self._unread = None
        # also one that was left and comes back
        stays = self._timeline.reader.has(service)
        self._timeline.show(overview, stays=stays, is_ahead=is_ahead)
        self._commits.show(service)
        self._timeline.reader.start(service)
        if self._amounts is not None:
            self._timeline.reader.anchor(*self._amounts)

    def _anchor(self, version: int, amounts: dict[str, int | None]) -> None:
        """What is live at a version is known."""
        if self._amounts is not None and self._amounts[0] == version:
            amounts = self._amounts[1] | amounts
        self._amounts = (version, amounts)
        if self._unread is None:
            self._timeline.reader.anchor(version, amounts)

    def _refuse(self, problem: Problem) -> None:
        # The table that was open stays; a page without one goes to its start.
        self._state.param.update(opening="", refreshing=False, notice=Notice.of(problem))
        if problem.kind in _LINK_ERRORS:
            self._state.param.trigger("table")  # the address is rewritten

    def _go(self, address: Address, complaints: list[str]) -> None:
        version, wrong = self._checked(address.version)
        other, unknown = self._remember(address.other)
        older = address.older
        if older is not None and not address.other:  # else it is a version of the other table
            older, unknown = self._checked(older)
        elif not other:
            older = None
        place = replace(address, version=version, older=older, other=other)
        self._state.param.update(
            **{name: getattr(place, name) for name in ADDRESSED},
            opening="",
            notice=_complain([*complaints, *wrong, *unknown]),
        )

    def _remember(self, other: str) -> tuple[str, list[str]]:
        """The table to compare with as it may be shown."""
        try:
            return self._services.remember(other) if other else "", []
        except DeltaError as error:
            return "", [f"{error.problem} There is no such table to compare with."]

    def _checked(self, version: int | None) -> tuple[int | None, list[str]]:
        latest = self._state.latest
        if version is None or latest is None:
            return latest, []
        if version > latest:
            wrong = f"Version {format_count(version)} does not exist"
            return latest, [f"{wrong}; the latest, {format_count(latest)}, is shown."]
        return version, []

    def _paint(self) -> None:
        kept = [name for name in self.panel.css_classes if name != "dx-dark"]
        self.panel.css_classes = [*kept, "dx-dark"] if self._state.dark else kept

    def _show_view(self) -> None:
        if self._state.opening:
            self._body[:] = []
        elif self._state.table:
            self._body[:] = [self._panel(self._state.view)]
        else:
            self._body[:] = [] if self._start is None else [self._start]

    def _panel(self, name: str) -> Any:
        build = _BUILDERS.get(name)
        if build is None:
            self._fit_front(is_alone=name in BESIDE)
            return self._front
        if name not in self._views:
            self._views[name] = build(self._services, self._state)
            if self._service is not None:
                self._views[name].show(self._service)
        return self._views[name].panel

    def _fit_front(self, *, is_alone: bool) -> None:
        """The selected commit beside the timeline, or alone."""
        self._main.visible = not is_alone
        # an open stack gives way where the page is narrow, and its cards would be seen all the same
        self._main.css_classes = ["dx-stack", *([] if is_alone else ["dx-open"])]
        self._front.css_classes = ["dx-split", "dx-front", *(["dx-alone"] if is_alone else [])]


def _shown(place: str) -> str:
    """A place without credentials; opening one that is none says what is wrong with it."""
    try:
        return parse_location(place).shown
    except DeltaError:
        return place


def _complain(complaints: list[str]) -> Notice | None:
    if not complaints:
        return None
    return Notice(
        level="warning",
        problem="The address named something that is not there.",
        reason=cut(" ".join(complaints), 600),
    )


def build_plain(*children: Any) -> Box:
    """A page without a table, in a document that has the colours."""
    return _build_page(*children, tokens="")


_TOKENS = render_tokens(LIGHT, ":host") + render_tokens(DARK, ":host(.dx-dark)")


def _build_page(*children: Any, tokens: str) -> Box:
    return Box(
        *children,
        css_classes=["dx-page"],
        stylesheets=[tokens, read_box_style()],
        sizing_mode="stretch_width",
        margin=0,
    )
