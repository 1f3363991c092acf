"""One question of a screen: how it is asked, and what is shown until it is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from explorer.errors import Problem
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import visible
from widgets.ui.exporting import Export, Exports
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Tell, Words
from widgets.ui.pieces import render_problem

Q = TypeVar("Q")
A = TypeVar("A")

Status = Literal["empty", "offered", "loading", "shown", "stopped", "failed"]
"""What a view shows: nothing, as there is no question; a button that asks; how far the answer is;
the answer; that it was stopped; what went wrong."""


@dataclass(frozen=True, slots=True)
class AtVersion:
    """The question of many views: a table at a version."""

    service: TableService
    version: int


def at_version(service: TableService, state: PageState) -> AtVersion | None:
    """The question about the selected version."""
    return None if state.version is None else AtVersion(service, state.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Generic[Q]):
    """What is shown instead of an answer until a person asks, with a button that does `action`.

    `render` gives None for a question that is asked at once.
    """

    render: Callable[[Q], Markup | None]
    action: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[Q, A]):
    """What a view asks, and what it says until there is an answer.

    `question` gives what the page asks of a table, or None where there is nothing to ask; two
    questions are equal where they have the same answer. It is called again when one of the
    parameters in `follows` changes.

    `read` is called beside the page. It reports its progress to the watch, which may also cancel
    it, and may tell a first sentence. `top` gives the HTML above the answer that stays while the
    answer is read, such as a field to type in; `failed` gives that of a problem.
    """

    question: Callable[[TableService, PageState], Q | None]
    read: Callable[[Q, Watch, Tell], A]
    words: Words | Callable[[Q], Words]
    follows: Sequence[str] = ("version",)
    top: Callable[[Q], Markup] | None = None
    offer: Offer[Q] | None = None
    failed: Callable[[Problem], Markup] = render_problem


class Pane(Generic[Q, A]):
    """A place on the screen that shows the answer, or a part of it.

    `render` gets the question, the answer and the page of its rows; a new answer begins at the
    page with the row at `start`. `head` is the HTML above it, for which the answer is None while
    there is none. `export` gives what the export buttons save of the answer that is shown.
    """

    def __init__(
        self,
        render: Callable[[Q, A, Pages], Markup],
        *,
        head: Markup | Callable[[Q, A | None], Markup] = NOTHING,
        noun: str = "rows",
        start: Callable[[Q, A], int] = lambda *_: 0,
        export: Callable[[Q, A], Export | None] | None = None,
    ) -> None:
        self.live = LiveHtml(margin=0)
        self._render = render
        self._head = head
        self._start = start
        self._export = export
        self._shown: tuple[Q, A] | None = None
        self._pages = Pages(self.live, noun, self._draw)

    def head_of(self, question: Q, answer: A | None = None) -> Markup:
        """The HTML above the answer, or above what is shown while there is none."""
        return self._head if isinstance(self._head, Markup) else self._head(question, answer)

    def turn(self, question: Q, answer: A) -> None:
        """Turn to the page where a new answer begins."""
        self._pages.reach(self._start(question, answer))

    def show(self, question: Q, answer: A) -> None:
        """Draw an answer, at the page that was turned to."""
        self._shown = (question, answer)
        self._draw()

    def rewind(self) -> None:
        """Draw the first page, as other rows of the same answer are chosen."""
        self._pages.rewind()
        self._draw()

    def leave(self) -> None:
        """Forget the answer; what is drawn stays until something else is."""
        self._shown = None

    def clear(self) -> None:
        """Show nothing."""
        self.leave()
        self.live.html = NOTHING

    def answer_exports(self, desk: Desk, state: PageState, part: LiveHtml) -> list[Exports]:
        """What lets the export buttons of `part` save the answer, where it can be saved."""
        return [] if self._export is None else [Exports(desk, state, part, self._chosen)]

    def _chosen(self) -> Export | None:
        if self._shown is None or self._export is None:
            return None
        return self._export(*self._shown)

    def _draw(self) -> None:
        if self._shown is not None:
            question, answer = self._shown
            inner = self._render(question, answer, self._pages)
            self.live.html = self.head_of(question, answer) + inner


class View(Generic[Q, A]):
    """Asks one question at a time, while its screen is in front, and shows what comes of it.

    The first pane shows how far the answer is, with a button that stops it, and a button that
    asks again once it was stopped or has failed. A new question takes the place of an older one,
    whose work is told to stop and whose answer is dropped. A view whose question depends on the
    answers of others comes `after` them.
    """

    def __init__(
        self,
        desk: Desk,
        state: PageState,
        screen: str,
        request: Request[Q, A],
        *panes: Pane[Q, A],
        after: Sequence[View[Any, Any]] = (),
    ) -> None:
        self.top = LiveHtml(margin=0)
        self._state = state
        self._screen = screen
        self._request = request
        self._main, self._others = panes[0], panes[1:]
        self._service: TableService | None = None
        self._asked: tuple[Q | None] | None = None
        self._question: Q | None = None
        self._answer: A | None = None
        self._before: tuple[Q, A] | None = None
        self._known = NOTHING
        self._status: Status = "empty"
        self._listeners: list[Callable[[], object]] = []
        self._pending = Pending(desk, self._main.live)
        self._exports = self._main.answer_exports(desk, state, self.top)
        for pane in panes:
            self._exports += pane.answer_exports(desk, state, pane.live)
        self._main.live.on("cancel", lambda _: self.stop())
        self._main.live.on("again", lambda _: self._read_again())
        if request.offer is not None and request.offer.action is not None:
            self._main.live.on(request.offer.action, lambda _: self._read_again())
        for other in after:
            other.listen(self.refresh)
        state.param.watch(lambda *_: self.refresh(), [*request.follows, "view"])

    @property
    def status(self) -> Status:
        """What is shown now."""
        return self._status

    @property
    def question(self) -> Q | None:
        """What is asked now."""
        return self._question

    @property
    def answer(self) -> A | None:
        """The answer to it, while it is shown."""
        return self._answer

    def listen(self, listener: Callable[[], object]) -> None:
        """Call `listener` whenever there is another question, another answer, or none."""
        self._listeners.append(listener)

    def show(self, service: TableService) -> None:
        """A table has been opened or refreshed: whatever was asked before is asked again."""
        self._service, self._asked = service, None
        self._pending.drop()
        self.refresh()

    def refresh(self) -> None:
        """Ask what the page asks now; where that is asked already, draw the answer again, in
        which something else may be selected."""
        service = self._service
        if service is None or self._state.view != self._screen or service.uri != self._state.table:
            return
        asked = (self._request.question(service, self._state),)
        if asked == self._asked:
            self._draw()
        else:
            self._asked, self._before = asked, None
            self._begin(*asked)

    def ask(self, question: Q, known: str = "") -> None:
        """Ask more than the page does, such as the same rows in another order.

        The answer before it stays until the work has taken a moment, and returns when the work is
        stopped. `known` is plain text that is shown until then.
        """
        if self._question is not None and self._answer is not None:
            self._before = (self._question, self._answer)
        self._known = html('<p class="dx-lead">{}</p>', visible(known)) if known else NOTHING
        self._read(question, keeps=True)

    def change(self, answer: A) -> None:
        """Show the same answer in another order, from its first row on."""
        if self._question is not None:
            self._arrive(self._question, answer)

    def stop(self) -> None:
        """Stop reading: return to the answer or the offer before it, or say that it was stopped."""
        self._pending.drop()
        if self._before is not None:
            self._question, self._answer = self._before
            self._enter("shown")
        elif self._offered() is not None:
            self._enter("offered")
        else:
            self._pending.stop()
            self._enter("stopped")

    def _begin(self, question: Q | None) -> None:
        self._pending.drop()
        self._question, self._answer, self._known = question, None, NOTHING
        self._main.leave()
        for pane in self._others:
            pane.clear()
        if question is None:
            self._main.clear()
            self._enter("empty")
            return
        if self._request.top is not None:
            self.top.html = self._request.top(question)
        if self._offered() is None:
            self._read(question)
        else:
            self._enter("offered")

    def _read_again(self) -> None:
        if self._question is not None:
            self._read(self._question)

    def _read(self, question: Q, *, keeps: bool = False) -> None:
        self._question, self._answer = question, None
        self._main.leave()
        self._enter("loading")
        words = self._request.words
        self._pending.ask(
            words if isinstance(words, Words) else words(question),
            partial(self._request.read, question),
            partial(self._arrive, question),
            head=self._main.head_of(question) + self._known,
            failed=self._fail,
            keeps=keeps,
        )

    def _arrive(self, question: Q, answer: A) -> None:
        self._answer, self._before = answer, None
        for pane in (self._main, *self._others):
            pane.turn(question, answer)
        self._enter("shown")

    def _fail(self, problem: Problem) -> Markup:
        self._answer = None
        self._main.leave()
        for pane in self._others:
            pane.clear()
        self._enter("failed")
        return self._request.failed(problem)

    def _offered(self) -> Markup | None:
        offer = self._request.offer
        if offer is None or self._question is None:
            return None
        return offer.render(self._question)

    def _draw(self) -> None:
        question, answer = self._question, self._answer
        if question is None:
            return
        if answer is not None:
            for pane in (self._main, *self._others):
                pane.show(question, answer)
        elif self._status == "offered":
            self._main.live.html = self._main.head_of(question) + (self._offered() or NOTHING)

    def _enter(self, status: Status) -> None:
        self._status = status
        self._draw()
        for listener in self._listeners:
            listener()
