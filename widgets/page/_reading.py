"""Reading what the header says of a table: what it is, then its files, then its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from explorer.errors import Problem
from explorer.table.readable import is_of_the_log
from widgets.page._header import HeaderView
from widgets.session.health_word import read_health_word
from widgets.session.tables import Figures, Identity, RowFigures, TableService
from widgets.session.work import Runner
from widgets.state import VIEWS, PageState

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateReader:
    """Tells the header each fact when it is known, and `anchor` what is live at a version: the
    timeline counts from it.

    Where the latest version cannot be read, they are told of the newest that can be, below the
    reason, and it is the one that the views show.
    """

    service: TableService
    runner: Runner
    header: HeaderView
    anchor: Callable[[int, dict[str, int | None]], None]
    state: PageState
    is_current: Callable[[TableService], bool]

    def read(self, version: int) -> None:
        """Begin with what the table is."""

        def done(identity: Identity) -> None:
            self.header.show_identity(identity)
            if identity.failure is not None:
                self._seek(version, identity.failure)
            elif identity.refusal is None:
                self._read_figures(version)

        self._run(lambda: self.service.read_identity(version), done, version)
        if version == self.state.latest:
            self._read_health()

    def _read_figures(self, version: int) -> None:
        def done(figures: Figures) -> None:
            self.header.show_figures(figures)
            self.anchor(version, {"bytes": figures.size_in_bytes, "files": figures.num_files})
            self._read_rows(version)

        self._run(lambda: self.service.read_figures(version), done, version)

    def _read_rows(self, version: int) -> None:
        def done(rows: RowFigures) -> None:
            self.anchor(version, {"rows": rows.num_rows})

        self._run(lambda: self.service.read_rows(version), done, version)

    def _read_health(self) -> None:
        """Whether the log is sound, for the header; the overview asks it itself."""
        if self.state.view == VIEWS[0]:
            return

        def done(word: str) -> None:
            if self.is_current(self.service):
                self.state.health = word

        def failed(_: Problem) -> None:
            done("unknown")

        self.runner.when_idle(
            lambda: self.runner.run(lambda: read_health_word(self.service), done, failed)
        )

    def _seek(self, version: int, problem: Problem) -> None:
        """Find the newest version that can be read, where the latest cannot be."""
        if version != self.state.latest or not is_of_the_log(problem.kind):
            return

        def done(readable: int | None) -> None:
            if readable is None or readable == version:
                return
            self.header.show_readable(readable)
            if self.state.version == version:
                self.state.version = readable
            self.read(readable)

        self._run(self.service.find_readable, done, None)

    def _run(self, work: Callable[[], T], done: Callable[[T], None], version: int | None) -> None:
        """Work beside the page. `version` is the one that is read; another may be shown where
        that fails."""

        def finished(answer: T) -> None:
            if self.is_current(self.service):
                done(answer)

        def failed(problem: Problem) -> None:
            if self.is_current(self.service):
                self.header.fail(problem)
                if version is not None:
                    self._seek(version, problem)

        self.runner.run(work, finished, failed)
