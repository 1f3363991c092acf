"""Tables saved from a view: written beside the page, with progress, and cancelled by a click."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from explorer.errors import Problem
from explorer.progress import Progress, Watch
from widgets.session.asking import Question
from widgets.session.page_services import PageServices
from widgets.state import Notice, PageState
from widgets.text import format_count
from widgets.ui.exports import Kind, write_export
from widgets.ui.live_html import LiveHtml

QUIET_SECONDS = 0.5
"""What takes less is there before anyone could read that it is under way."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """A table to save: the stem of the file's name, and what reads its rows.

    `read` is called beside the page and gives one frame, or many of one schema.
    """

    stem: str
    read: Callable[[Watch], pa.Table | Iterable[pa.Table]]

    @classmethod
    def of(cls, stem: str, frame: pa.Table) -> Export:
        """A frame that is there already."""
        return cls(stem=stem, read=lambda _: frame)


class Exports:
    """Answers the export buttons of one part of a view.

    `choose` says on the page's thread what to save now, or None where there is nothing yet.
    While a long one is written a notice stands above the view; to dismiss it cancels.
    """

    def __init__(
        self,
        services: PageServices,
        state: PageState,
        part: LiveHtml,
        choose: Callable[[], Export | None],
    ) -> None:
        self._state = state
        self._part = part
        self._choose = choose
        self._question = Question(services.runner)
        self._notice: Notice | None = None
        part.on("export", self._start)
        state.param.watch(lambda *_: self._dismissed(), "notice")

    def _start(self, asked: str) -> None:
        kind: Kind = "parquet" if asked == "parquet" else "csv"
        wanted = self._choose()
        if wanted is None:
            return
        name = f"{wanted.stem}.{kind}"
        began = time.monotonic()

        def work(watch: Watch) -> BinaryIO:
            return write_export(wanted.read(watch), kind, watch)

        def done(content: BinaryIO) -> None:
            self._say(None)
            self._part.download(name, content)

        def failed(problem: Problem) -> None:
            self._say(Notice.of(problem))

        def report(progress: Progress) -> None:
            if time.monotonic() - began >= QUIET_SECONDS:
                rows = f"{format_count(progress.done)} rows so far. " if progress.done else ""
                self._say(
                    Notice(
                        level="info",
                        problem=f"{name} is being written.",
                        reason=f"{rows}Dismiss this to cancel.",
                    )
                )

        self._question.ask(work, done, failed, report)

    def _say(self, notice: Notice | None) -> None:
        if notice is None and self._state.notice is not self._notice:
            return  # what stands there is somebody else's
        before, self._notice = self._notice, notice
        if notice is not None or before is not None:
            self._state.notice = notice

    def _dismissed(self) -> None:
        if self._notice is not None and self._state.notice is None:
            self._notice = None
            self._question.drop()
