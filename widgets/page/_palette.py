"""The command palette: every view, version, column and file, and what can be done."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial

from explorer.errors import Problem
from widgets.page._finding import Finds, find
from widgets.page._page_tools import Entry, PageTools
from widgets.session.asking import Question
from widgets.session.operations import OPERATIONS, find_operation
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import GROUPS, VIEW_TITLES, VIEWS, PageState
from widgets.text import cut_middle, format_count
from widgets.ui.copy_as import view_commands
from widgets.ui.plan_navigation import open_plan_form

SHORTEST = 2
"""Letters from which on columns and files are looked for: one letter names nearly all."""

LONGEST = 200

_FILE_VIEWS = ("files", "reach", "vectors")
_ALWAYS = (
    Entry(kind="Do", label="Refresh", action="reload", hint="look at the table again"),
    Entry(kind="Do", label="Light or dark theme", action="theme", hint="colours"),
    Entry(kind="Do", label="Save a picture of this view", action="picture", hint="PNG"),
    Entry(kind="Do", label="Show local time, or UTC again", action="zone"),
    Entry(kind="Do", label="Older version", action="step", value="-1", hint="Left"),
    Entry(kind="Do", label="Newer version", action="step", value="1", hint="Right"),
    Entry(kind="Do", label="Latest version", action="latest", hint="newest"),
)
_QUESTIONS = (
    ("What is this table, what to do first, why is it slow?", "overview"),
    ("Who deleted or changed my rows, and when?", "rows"),
    ("Who last set this value (blame)?", "rows"),
    ("What changed between two versions?", "compare"),
    ("Which rows does a deletion vector hide?", "vectors"),
    ("Why is this file still here, why did vacuum delete nothing?", "reach"),
    ("How far back does time travel go?", "reach"),
    ("Which engines can read the table, and why not?", "engines"),
    ("Why did my commit conflict?", "conflicts"),
    ("Are there too many small files?", "layout"),
)
"""What people come with, and the view that answers it."""

_PLANS = (
    *(
        Entry(kind="Plan", label=one.title, action="plan", value=one.name, hint=one.does)
        for one in OPERATIONS
    ),
    Entry(kind="Plan", label="Undo a commit", action="plan", value="restore", hint="restore"),
)
_VERSION = re.compile("^(?:version|v)(?=[0-9])")
_AROUND_A_VERSION = ("version", "to", "with", "at", "v")
_WITH_A_VERSION = {
    "restore": ("Plan", "Restore {}", "restore", 0),
    "compare": ("View", "Compare {} with the one before", "compare", 1),
    "open": ("Version", "Open {}", "version", 0),
}
"""Words that stand before a version: kind, label, what is done, and the least version for it."""
_LINK = Entry(kind="Do", label="Copy the link to this place", action="link", hint="URL")


class Palette:
    """Keeps the entries of a page's tools right, and does what is chosen.

    `open_table` opens another table, `reload` refreshes this one.
    """

    def __init__(
        self,
        services: PageServices,
        state: PageState,
        open_table: Callable[[str], None],
        reload: Callable[[], None],
    ) -> None:
        self.tools = PageTools()
        self._services = services
        self._state = state
        self._service: TableService | None = None
        self._question = Question(services.runner)
        on = self.tools.on
        on("view", self._view)
        on("version", self._version)
        on("latest", lambda _: self._version(str(state.latest)))
        on("step", self._step)
        on("plan", self._plan)
        on("restore", self._restore)
        on("compare", self._compare)
        on("column", self._column)
        on("file", self._file)
        on("theme", lambda _: state.param.update(dark=not state.dark))
        on("reload", lambda _: reload())
        on("open", open_table)
        on("find", self._find)
        state.param.watch(lambda *_: self._offer(), ["table", "view", "version"])
        self._offer()

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service = service
        self._offer()

    def _offer(self) -> None:
        state = self._state
        entries: list[Entry] = []
        if state.table and state.version is not None:
            commands = view_commands(state.view, state.table, state.version)
            # who opens it and types nothing has a question, and the menu beside it
            entries = [
                *(Entry(kind="Question", label=question, action="view", value=view,
                        hint=VIEW_TITLES[view]) for question, view in _QUESTIONS),
                *(Entry(kind="View", label=title, action="view", value=view, hint=group)
                  for group, views in GROUPS for view, title in views),
                *_ALWAYS,
                *([_LINK] if self._services.runner.is_background else []),
                *(Entry(kind="Copy", label=f"Copy as {name}", action="copy", value=text,
                        hint=VIEW_TITLES[state.view]) for name, text in commands.items()),
                *_PLANS,
            ]  # fmt: skip
        entries += [
            Entry(kind="Table", label=cut_middle(uri, 90), action="open", value=uri)
            for uri in self._services.choices()
            if uri != state.table
        ]
        self.tools.offer(entries)
        self.tools.picture = f"{state.view}-{state.version}" if state.table else "start"

    def _find(self, text: str) -> None:
        text = text[:LONGEST]
        found = self._find_version(text)
        self.tools.tell_found(text, found)
        service, at = self._service, self._state.version
        if service is None or at is None or len(text) < SHORTEST:
            self._question.drop()
            return

        def done(finds: Finds) -> None:
            self.tools.tell_found(text, [*found, *_entries(finds)])

        def failed(_: Problem) -> None:
            """What cannot be read has no names; the view says why."""

        self._question.ask(lambda _: find(service, at, text), done, failed)

    def _find_version(self, text: str) -> list[Entry]:
        """What can be done with the version that `62`, `version 62` or `restore to 62` names."""
        *words, number = text.lower().split() or [""]
        version = self._state.find_version(_VERSION.sub("", number))
        asked = [word for word in words if word not in _AROUND_A_VERSION]
        if version is None or len(asked) > 1:
            return []
        named = f"version {format_count(version)}"
        offered = [("Version", named.capitalize(), "version")] if not asked else []
        for word, (kind, label, action, least) in _WITH_A_VERSION.items():
            if asked and word.startswith(asked[0]) and version >= least:
                offered.append((kind, label.format(named), action))
        return [
            Entry(kind=kind, label=label, action=action, value=str(version), first=True)
            for kind, label, action in offered
        ]

    def _view(self, view: str) -> None:
        if view in VIEWS:
            self._state.view = view

    def _plan(self, operation: str) -> None:
        if find_operation(operation) is not None:
            self._state.param.update(operation=operation, view="maintenance")

    def _restore(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            open_plan_form(self._state, json.dumps(["restore", {"version": str(version)}]))

    def _compare(self, text: str) -> None:
        version = self._state.find_version(text)
        if version:
            self._state.compare(version)

    def _version(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            self._state.version = version

    def _step(self, by: str) -> None:
        if by in {"-1", "1"}:
            self._state.step(int(by))

    def _column(self, column: str) -> None:
        self._state.param.update(column=column, view="statistics")

    def _file(self, path: str) -> None:
        view = self._state.view if self._state.view in _FILE_VIEWS else "files"
        self._state.param.update(file=path, view=view)


def _entries(finds: Finds) -> list[Entry]:
    columns = partial(Entry, kind="Column", action="column", hint="statistics")
    files = partial(Entry, kind="File", action="file")
    return [
        *(columns(label=cut_middle(name, 90), value=name) for name in finds.columns),
        *(files(label=cut_middle(path, 90), value=path) for path in finds.files),
    ]
