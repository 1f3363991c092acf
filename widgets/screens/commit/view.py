"""The selected commit: beside the timeline, or alone at an address of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from explorer.errors import Problem
from widgets.figures.commits import Commits
from widgets.markup import NOTHING, Markup, html
from widgets.screens.commit._actions_view import ActionsView
from widgets.screens.commit._ask import CommitFacts, OneCommit, read_access, read_commit_facts
from widgets.screens.commit._parts import (
    CommitFigures,
    render_access,
    render_commit_buttons,
    render_commit_figures,
    render_commit_head,
    render_commit_title,
    render_effect,
    render_message,
    render_record,
)
from widgets.screens.commit._rows_view import AFTER, BEFORE, ChangedRowsView
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.session.work import DRAWN_SECONDS
from widgets.state import BESIDE, HistoryState, PageState
from widgets.text import format_count
from widgets.theme import lane_of
from widgets.ui.boxes import build_card
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_problem, render_waiting
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.plan_navigation import open_plan
from widgets.ui.records import read_records


class CommitView:
    """What one commit did: the sentence, the rows, the files, the way back, the actions."""

    def __init__(self, services: PageServices, state: PageState, history: HistoryState) -> None:
        self._services = services
        self._state = state
        self._history = history
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        self._service: TableService | None = None
        self._facts: CommitFacts | None = None
        self._access = ""
        self._failure: Problem | None = None
        self._asked: tuple[str, int] | None = None
        self._head = LiveHtml(margin=0)
        self._record = LiveHtml(margin=0)
        self._rows = ChangedRowsView(services, state, self._question)
        self._actions = ActionsView(services, state, self._question)
        self.panel = build_card(
            self._head,
            self._rows.panel,
            self._actions.files,
            self._record,
            self._actions.actions,
            place="dx-third dx-beside",
        )
        self._listen()

    def _listen(self) -> None:
        self._head.on("step", self._step)
        self._head.on("place", self._place)
        self._head.on("files", lambda _: self._state.param.update(view="files"))
        self._head.on("plan-now", partial(open_plan, self._state))
        for part in (self._head, self._rows.panel):
            part.on("compare", self._compare)
            part.on("feed", lambda _: self._open_feed())
        self._rows.listen(self._draw)  # a commit need not say how many it removed
        self._state.param.watch(lambda *_: self._select(), [*LINKED, "view"])
        self._history.param.watch(lambda *_: self._select(), ["commits", "live", "reading"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._asked, self._facts = service, None, None
        for part in (self._rows, self._actions):
            part.show(service)
        self._select()

    def _question(self, service: TableService, state: PageState) -> OneCommit | None:
        facts = self._facts
        if facts is None or service is not self._service or facts.version != state.version:
            return None
        return OneCommit(service, facts.version, facts.is_free)

    def _place(self, view: str) -> None:
        if view in {"timeline", "commit"}:
            self._state.view = view

    def _compare(self, other: str) -> None:
        if other == "latest":
            self._state.compare(self._state.latest, older=self._state.version)
        elif other == "previous":
            self._state.compare(self._state.version)

    def _open_feed(self) -> None:
        version = self._state.version
        self._state.param.update(view="feed", older=version, version=version, other="")

    def _step(self, by: str) -> None:
        if by in {"-1", "1"}:
            self._state.step(int(by))

    def _select(self) -> None:
        """Read the selected commit, once somebody looks at it."""
        service, version = self._service, self._state.version
        looked_at = self._state.view in {*BESIDE, *BESIDE.values()}
        if service is None or version is None or not looked_at or self._state.entering:
            return
        if self._asked == (service.uri, version):
            self._draw()
            return
        if self._state.view != "commit" and self._history.commits is None and self._history.reading:
            self._draw()
            return  # the timeline is drawn first: it tells what is told here, too
        is_first = self._asked is None or self._asked[0] != service.uri
        self._asked = (service.uri, version)
        self._facts, self._failure, self._access = None, None, ""
        self._draw()
        # what the timeline knows of it is there; the timeline need not wait for the rest of what
        # nobody has chosen yet
        runner, read = self._services.runner, partial(self._read, service, version)
        if not is_first:
            runner.when_drawn(read)
        elif runner.has_drawn and self._state.view != "commit":
            runner.post_later(DRAWN_SECONDS, partial(runner.when_idle, read))
        else:
            runner.when_idle(read)

    def _read(self, service: TableService, version: int) -> None:
        if not self._is_current(service, version):
            return
        self._rows.refresh()
        self._actions.refresh()
        entry = self._entry(version)

        def done(facts: CommitFacts) -> None:
            if self._is_current(service, version):
                self._facts = facts
                self._draw()
                self._rows.refresh()
                self._actions.refresh()
                self._read_access(service, facts)

        def failed(problem: Problem) -> None:
            if self._is_current(service, version):
                self._failure = problem
                self._draw()

        self._services.runner.run(lambda: read_commit_facts(service, version, entry), done, failed)

    def _read_access(self, service: TableService, facts: CommitFacts) -> None:
        """What is said last: an old version of a long log is longer looked for."""

        def done(access: str) -> None:
            if self._facts is facts and self._is_current(service, facts.version):
                self._access = access
                self._draw()

        self._services.runner.run(lambda: read_access(service, facts), done, lambda _: None)

    def _is_current(self, service: TableService, version: int) -> bool:
        return service is self._service and version == self._state.version

    def _draw(self) -> None:
        version = self._state.version
        if self._service is None or version is None:
            return
        head = render_commit_head(
            version,
            self._state.latest or 0,
            self._links,
            is_alone=self._state.view == "commit",
        )
        if self._failure is not None:
            title = html('<h3 class="dx-version">Version {}</h3>', format_count(version))
            self._head.html = head + title + render_problem(self._failure)
            self._record.html = NOTHING
        elif self._facts is None:
            self._head.html = head + self._render_early(version)
            self._record.html = NOTHING
        else:
            self._head.html = head + self._render_facts(self._facts)
            self._record.html = self._render_record(self._facts, self._service.uri)

    def _render_early(self, version: int) -> Markup:
        """What the timeline knows already, while the commit itself is read."""
        waiting = render_waiting(f"Reading version {format_count(version)}")
        entry = self._entry(version)
        if entry is None:
            return waiting
        return (
            render_commit_title(version, entry, "")
            + render_commit_figures(self._figures(version, entry))
            + waiting
        )

    def _render_facts(self, facts: CommitFacts) -> Markup:
        version = facts.version
        figures = self._figures(version, facts.entry)
        return (
            render_commit_title(version, facts.info, facts.sentence.text)
            + render_message(facts.entry.get("message"))
            + render_commit_buttons(version, self._state.latest or version, self._links)
            + render_commit_figures(figures)
            + render_effect(figures)
            + render_access(self._access)
        )

    def _render_record(self, facts: CommitFacts, uri: str) -> Markup:
        place, line = str(facts.info.get("log_file") or ""), facts.info.get("line")
        evidence = f"{place}:{line}" if isinstance(line, int) else place
        return render_record(facts.info, evidence, uri, facts.version)

    def _entry(self, version: int) -> Mapping[str, Any] | None:
        """The commit's row of the timeline, with the names that a commit's record has."""
        commits: Commits | None = self._history.commits
        at = None if commits is None else commits.position(version)
        if commits is None or at is None:
            return None
        entry = read_records(commits.frame.slice(at, 1))[0]
        return {**entry, "user": entry["user_name"]}

    def _figures(self, version: int, entry: Mapping[str, Any]) -> CommitFigures | None:
        if not entry:
            return None
        names = ("files_added", "files_removed", "rows_added", "rows_removed",
                 "bytes_added", "bytes_removed", "deletion_vectors_added")  # fmt: skip
        known = {name: entry.get(name) for name in names}
        counts = self._rows.counts if self._facts and self._facts.version == version else None
        if counts is not None and None in (known["rows_added"], known["rows_removed"]):
            known["rows_added"] = counts.get("insert", 0) + counts.get(AFTER, 0)
            known["rows_removed"] = counts.get("delete", 0) + counts.get(BEFORE, 0)
        return CommitFigures(
            size_after=self._live(version, "bytes"),
            files_after=self._live(version, "files"),
            changes_rows=lane_of(entry.get("operation")) in {"UPDATE", "MERGE"},
            **known,
        )

    def _live(self, version: int, measure: str) -> int | None:
        """What is live after the commit, where the timeline could tell."""
        commits: Commits | None = self._history.commits
        at = None if commits is None else commits.position(version)
        amounts = self._history.live.get(measure)
        if at is None or amounts is None or np.isnan(amounts[at]):
            return None
        return int(amounts[at])
