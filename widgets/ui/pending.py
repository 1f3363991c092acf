"""A part of a view whose answer may take a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from explorer.errors import ErrorKind, Problem
from explorer.progress import Progress, Watch
from widgets.markup import NOTHING, Markup, html
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.text import visible
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_problem
from widgets.ui.progress import render_progress

QUIET_SECONDS = 0.4
"""What takes less replaces what was shown before without a sign in between."""

_FINAL: frozenset[ErrorKind] = frozenset(
    {
        "catalog_managed",
        "change_feed_unavailable",
        "invalid_argument",
        "missing_dependency",
        "store_unsupported",
        "timestamp_out_of_range",
        "unsupported_feature",
        "version_not_found",
    }
)
"""The same question to the same table has the same answer again."""

_RETRY = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="again" '
    'data-value="">Retry</button></div>'
)

T = TypeVar("T")
Tell = Callable[[str], None]
"""Takes what is known already: a sentence, as plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is being done, what is said once it was stopped, and the button that asks again."""

    label: str
    stopped: str
    again: str


class Pending:
    """Shows what is known first, how far the rest is, and a button that stops it.

    Then the caller draws the answer; an error is shown instead where one was raised, with a
    button that asks again where that may help, and one that asks again where it was stopped.
    """

    def __init__(self, desk: Desk, part: LiveHtml) -> None:
        self._part = part
        self._runner = desk.runner
        self._question = Question(desk.runner)
        self._head = self._known = NOTHING
        self._progress: Progress | None = None
        self._is_quiet = False
        self._waiting: Callable[[], None] | None = None
        self._words = Words(label="", stopped="", again="")
        self._again: Callable[[], None] = lambda: None
        part.on("cancel", lambda _: self.stop())
        part.on("again", lambda _: self._again())

    def ask(
        self,
        words: Words,
        work: Callable[[Watch, Tell], T],
        done: Callable[[T], None],
        *,
        head: Markup = NOTHING,
        failed: Callable[[Problem], Markup] = render_problem,
        keeps: bool = False,
    ) -> None:
        """Run `work` beside the page, below `head`, which is HTML.

        What `work` tells is shown as the answer so far; `failed` gives the HTML of a problem. With
        `keeps`, what is shown stays until the work takes long enough to be noticed.
        """
        self._again = partial(self.ask, words, work, done, head=head, failed=failed)
        self._head, self._known, self._words = head, NOTHING, words
        self._is_quiet = keeps and bool(self._part.html) and self._runner.is_background
        self._report(Progress(done=0, total=None, label=words.label))
        if self._is_quiet:
            self._speak_up_later()

        def finish(answer: T) -> None:
            self._waiting = None
            done(answer)

        self._question.ask_in_steps(
            work, self._tell, finish, partial(self._fail, failed), self._report
        )

    def _speak_up_later(self) -> None:
        def speak_up() -> None:
            if self._waiting is speak_up:
                self._is_quiet = False
                self._draw()

        self._waiting = speak_up
        timer = threading.Timer(QUIET_SECONDS, lambda: self._runner.post(speak_up))
        timer.daemon = True
        timer.start()

    def drop(self) -> None:
        """Nobody waits for the answer any more; what is shown stays."""
        self._waiting = None
        self._question.drop()

    def stop(self) -> None:
        """Give up, and say so."""
        self.drop()
        words = self._words
        self._part.html = html(
            '{}{}<p class="dx-muted" role="status">{}</p>'
            '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="again" '
            'data-value="">{}</button></div>',
            self._head,
            self._known,
            words.stopped,
            words.again,
        )

    def _tell(self, sentence: str) -> None:
        self._known = html('<p class="dx-lead">{}</p>', visible(sentence))
        self._draw()

    def _report(self, progress: Progress) -> None:
        self._progress = progress
        self._draw()

    def _draw(self) -> None:
        if self._progress is not None and not self._is_quiet:
            self._part.html = self._head + self._known + render_progress(self._progress)

    def _fail(self, failed: Callable[[Problem], Markup], problem: Problem) -> None:
        self._waiting = None
        again = NOTHING if problem.kind in _FINAL else _RETRY
        self._part.html = self._head + failed(problem) + again


def untold(work: Callable[[Watch], T]) -> Callable[[Watch, Any], T]:
    """Work that has nothing to tell before it is done."""
    return lambda watch, _: work(watch)
