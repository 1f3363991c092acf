"""The overview: what the table is, what to do first, what happened last.

What the log says comes by itself; what needs the folder to be listed is asked for by a button.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from explorer.inspect import Advice
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html
from widgets.screens.overview._ask import (
    TableFacts,
    ToldCommit,
    read_advice,
    read_facts,
    read_last_commits,
)
from widgets.screens.overview._parts import render_advice, render_commits, render_facts
from widgets.session.health_word import health_word
from widgets.session.page_services import PageServices
from widgets.session.tables import RowFigures, TableService
from widgets.state import VIEW_OF_A_VERSION, VIEWS, PageState, parse_filter, render_filter
from widgets.text import format_count
from widgets.ui.boxes import build_box, build_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.plan_navigation import open_plan, open_plan_form
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version


@dataclass(frozen=True, slots=True)
class _Asked:
    """What to do about a table at its latest version: by the log, or by its files too."""

    service: TableService
    latest: int | None
    has_files: bool = False


class OverviewView:
    """What a table is at the selected version, and what to do about the latest."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        facts = Pane(self._render_facts)
        commits = Pane(self._render_commits, head=_COMMITS_HEAD)
        advice = Pane(self._render_advice, head=self._render_advice_head)
        self._facts = View(services, state, "overview", _FACTS, facts)
        self._rows = View(services, state, "overview", _ROWS, Pane(lambda *_: NOTHING))
        self._commits = View(services, state, "overview", _COMMITS, commits)
        self._advice = View(services, state, "overview", _ADVICE, advice)
        self._rows.listen(self._facts.refresh)
        self._advice.listen(self._tell_health)
        self._views = (self._facts, self._commits, self._rows, self._advice)
        self.panel = build_stack(
            facts.live, build_box("dx-pair", build_card(advice.live), build_card(commits.live))
        )
        facts.live.on("view", self._go)
        commits.live.on("commit", self._open_commit)
        commits.live.on("removed", self._open_removed)
        advice.live.on("files", lambda _: self._ask_files())
        advice.live.on("view", self._go)
        advice.live.on("plan-request", partial(open_plan_form, state))
        advice.live.on("plan-now", partial(open_plan, state))

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        for view in self._views:
            view.show(service)

    def _tell_health(self) -> None:
        """What the line above says of the log."""
        found = self._advice.answer
        if found is not None:
            self._state.health = health_word(found.health)
        elif self._advice.status in {"failed", "stopped"}:
            self._state.health = "unknown"

    def _open_commit(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            self._state.param.update(version=version, view=VIEW_OF_A_VERSION)

    def _open_removed(self, only: str) -> None:
        self._state.param.update(view=VIEW_OF_A_VERSION, only=render_filter(parse_filter(only)))

    def _go(self, view: str) -> None:
        if view in VIEWS:
            self._state.view = view

    def _ask_files(self) -> None:
        asked, found = self._advice.question, self._advice.answer
        if asked is not None and found is not None:
            self._advice.ask(replace(asked, has_files=True), known=found.sentence)

    def _render_facts(self, asked: AtVersion, facts: TableFacts, _: object) -> Markup:
        is_same = self._rows.question == asked
        has_failed = is_same and self._rows.status in {"failed", "stopped"}
        rows = self._rows.answer if is_same else None
        return render_facts(facts, asked.version, _NO_ROWS if has_failed else rows, self._links)

    def _render_commits(self, asked: AtVersion, commits: list[ToldCommit], _: object) -> Markup:
        del asked
        return render_commits(commits, self._links, datetime.now(UTC))

    def _render_advice_head(self, asked: _Asked, _: Advice | None) -> Markup:
        """The figures above may be of an older version, what to do never is."""
        if asked.latest is None or self._state.version in {None, asked.latest}:
            return _ADVICE_HEAD
        return html(
            "<h3>What to do first, for the latest version {}</h3>", format_count(asked.latest)
        )

    def _render_advice(self, asked: _Asked, found: Advice, _: object) -> Markup:
        uri, call = asked.service.uri, "files" if found.has_listed else "log"
        commands = {
            "CLI": command_line("advice", uri, ["--files"] if found.has_listed else []),
            "Python": python_line(
                uri, f"import explorer.inspect as look\nlook.advice_by_{call}(table).first"
            ),
        }
        return render_advice(found, self._links) + render_copy_as("advice", commands)


def _read_advice(asked: _Asked, watch: Watch, _: object) -> Advice:
    return read_advice(asked.service, watch, has_files=asked.has_files)


_NO_ROWS = RowFigures(num_rows=None, num_deleted=None, num_vectors=None)
_COMMITS_HEAD = html("<h3>Last commits</h3>")
_ADVICE_HEAD = html("<h3>What to do first</h3>")

_FACTS: Request[AtVersion, TableFacts] = Request(
    question=at_version,
    read=lambda asked, _, __: read_facts(asked.service, asked.version),
    words=Words(
        label="Reading the table",
        stopped="Stopped before the table was read.",
        again="Read the table",
    ),
    follows=LINKED,
)
_ROWS: Request[AtVersion, RowFigures] = Request(
    question=at_version,
    read=lambda asked, _, __: asked.service.read_rows(asked.version),
    words=Words(
        label="Counting the rows",
        stopped="Stopped before all rows were counted.",
        again="Count the rows",
    ),
)
_COMMITS: Request[AtVersion, list[ToldCommit]] = Request(
    question=at_version,
    read=lambda asked, watch, _: read_last_commits(asked.service, asked.version, watch),
    words=Words(
        label="Reading the last commits",
        stopped="Stopped before the last commits were read.",
        again="Read the last commits",
    ),
    follows=LINKED,
)
_ADVICE_WORDS = Words(
    label="Looking at the log",
    stopped="Stopped before the whole log was looked at.",
    again="Look at the log",
)
_FILES_WORDS = Words(
    label="Reading every commit and listing the folder",
    stopped="Stopped before every file was looked for.",
    again="Look at the files",
)
_ADVICE: Request[_Asked, Advice] = Request(
    question=lambda service, state: _Asked(service, state.latest),
    read=_read_advice,
    words=lambda asked: _FILES_WORDS if asked.has_files else _ADVICE_WORDS,
    follows=("latest", *LINKED),
)
