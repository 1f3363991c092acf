"""Rows that the commits on one page of the list removed, where the commits do not say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from widgets.session.asking import Question
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import HistoryState


class RemovedRows:
    """Counts them beside the page, once the history has been read, and puts them into the
    `HistoryState`: plot, list and detail tell them from there. Whoever turns the page of the list
    meanwhile asks for the new page alone."""

    def __init__(self, services: PageServices, history: HistoryState) -> None:
        self._runner = services.runner
        self._history = history
        self._question = Question(services.runner)
        self._service: TableService | None = None
        self._asked: tuple[int, ...] = ()
        self._answered: set[int] = set()
        self._is_telling = False

    def show(self, service: TableService) -> None:
        """A table has been opened, or is looked at again."""
        self._question.drop()
        self._service, self._asked, self._answered = service, (), set()

    def count(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Count those of the commits that are shown, as `timeline` has them. What is drawn again
        because of an answer asks nothing: one answer would lead to the next."""
        if self._is_telling:
            return
        versions = tuple(
            int(entry["version"])
            for entry in entries
            if entry["rows_removed"] is None and entry["files_removed"]
        )
        asked = tuple(version for version in versions if version not in self._answered)
        if self._service is None or self._history.reading or asked == self._asked:
            return
        self._asked = asked
        self._question.drop()
        if asked:
            self._runner.when_idle(partial(self._ask, self._service, asked))

    def _ask(self, service: TableService, versions: tuple[int, ...]) -> None:
        if service is not self._service or versions != self._asked:
            return
        self._question.ask(
            lambda watch: service.count_removed_rows(versions, watch),
            partial(self._tell, versions),
            lambda _: self._tell(versions, {}),  # the list says of them how to learn it
        )

    def _tell(self, versions: Sequence[int], found: Mapping[int, int]) -> None:
        self._asked = ()
        self._answered |= {*versions}
        if not found:
            return
        self._is_telling = True
        try:
            self._history.removed = {**self._history.removed, **found}
        finally:
            self._is_telling = False
