"""One question of a screen: how it is asked, and what is shown until it is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from explorer.errors import ErrorKind, Problem
from explorer.progress import Progress, Watch
from widgets.markup import NOTHING, Markup, esc, html
from widgets.session.asking import Question
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import cut, format_count, visible
from widgets.ui.exporting import Export, Exports
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem
from widgets.ui.table import PAGE_ROWS

QUIET_SECONDS = 0.4
"""What takes less replaces the answer before it without a sign in between."""

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

Q = TypeVar("Q")
A = TypeVar("A")
Tell = Callable[[str], None]
"""Takes what is known already: a sentence, as plain text."""

Status = Literal["empty", "offered", "loading", "shown", "stopped", "failed"]
"""What a view shows: nothing, as there is no question; a button that asks; how far the answer is;
the answer; that it was stopped; what went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is being done, what is said once it was stopped, and the button that asks again."""

    label: str
    stopped: str
    again: str


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
    answer is read, such as a field to type in; `failed` gives that of a problem; nothing
    is shown where that is empty.
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
        limit: int = PAGE_ROWS,
        start: Callable[[Q, A], int] = lambda *_: 0,
        export: Callable[[Q, A], Export | None] | None = None,
    ) -> None:
        self.live = LiveHtml(margin=0)
        self._render = render
        self._head = head
        self._start = start
        self._export = export
        self._shown: tuple[Q, A] | None = None
        self._pages = Pages(self.live, noun, self._draw, limit)

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

    def redraw(self) -> None:
        """Draw the same page again, as something else in it is selected."""
        self._draw()

    def leave(self) -> None:
        """Forget the answer; what is drawn stays until something else is."""
        self._shown = None

    def clear(self) -> None:
        """Show nothing."""
        self.leave()
        self.live.html = NOTHING

    def answer_exports(
        self, services: PageServices, state: PageState, part: LiveHtml
    ) -> list[Exports]:
        """What lets the export buttons of `part` save the answer, where it can be saved."""
        return [] if self._export is None else [Exports(services, state, part, self._chosen)]

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
        services: PageServices,
        state: PageState,
        screen: str | tuple[str, ...],
        request: Request[Q, A],
        *panes: Pane[Q, A],
        after: Sequence[View[Any, Any]] = (),
    ) -> None:
        self.top = LiveHtml(margin=0)
        self._state = state
        self._screens = (screen,) if isinstance(screen, str) else screen
        self._request = request
        self._runner = services.runner
        self._panes = panes
        self._live = panes[0].live
        self._work = Question(services.runner)
        self._service: TableService | None = None
        self._asked: tuple[Q | None] | None = None
        self._status: Status = "empty"
        self._question: Q | None = None
        self._answer: A | None = None
        self._before: tuple[Q, A] | None = None
        self._problem: Problem | None = None
        self._progress: Progress | None = None
        self._known = self._told = NOTHING
        self._is_quiet = False
        self._waiting: Callable[[], None] | None = None
        self._listeners: list[Callable[[], object]] = []
        self._exports = panes[0].answer_exports(services, state, self.top)
        for pane in panes:
            self._exports += pane.answer_exports(services, state, pane.live)
        self._live.on("cancel", lambda _: self.stop())
        self._live.on("again", lambda _: self._read_again())
        if request.offer is not None and request.offer.action is not None:
            self._live.on(request.offer.action, lambda _: self._read_again())
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

    @property
    def problem(self) -> Problem | None:
        """What went wrong, while that is shown."""
        return self._problem if self._status == "failed" else None

    def listen(self, listener: Callable[[], object]) -> None:
        """Call `listener` whenever there is another question, another answer, or none."""
        self._listeners.append(listener)

    def show(self, service: TableService) -> None:
        """A table has been opened or refreshed: whatever was asked before is asked again."""
        self._service, self._asked = service, None
        self._drop()
        self.refresh()

    def refresh(self) -> None:
        """Ask what the page asks now; where that is asked already, draw the answer again, in
        which something else may be selected."""
        service = self._service
        if (
            service is None
            or self._state.entering
            or self._state.view not in self._screens
            or service.uri != self._state.table
        ):
            return
        asked = (self._request.question(service, self._state),)
        if asked == self._asked:
            self._draw()
        elif self._asked is not None and asked == (self._question,) and self._is_under_way:
            self._asked = asked  # the page has come to ask what was asked of the view
            self._draw()
        else:
            self._asked = asked
            self._begin(*asked)

    def ask(self, question: Q, known: str = "") -> None:
        """Ask more than the page does, such as the same rows in another order.

        The answer before it stays until the work has taken a moment, and returns when the work is
        stopped. `known` is plain text that is shown until then.
        """
        if self._question is not None and self._answer is not None:
            self._before = (self._question, self._answer)
        self._known = _render_lead(known)
        self._read(question, keeps=True)

    def change(self, answer: A) -> None:
        """Show the same answer in another order, from its first row on."""
        if self._question is not None:
            self._arrive(self._question, answer)

    def stop(self) -> None:
        """Stop reading: return to the answer or the offer before it, or say that it was stopped."""
        if self._status != "loading":
            return
        self._drop()
        if self._before is not None:
            self._question, self._answer = self._before
            self._enter("shown")
        else:
            self._enter("stopped" if self._offered() is None else "offered")

    @property
    def _is_under_way(self) -> bool:
        return self._status in {"loading", "shown"}

    def _drop(self) -> None:
        self._waiting = None
        self._work.drop()

    def _begin(self, question: Q | None) -> None:
        self._drop()
        self._question, self._answer, self._before, self._known = question, None, None, NOTHING
        self._panes[0].leave()
        for pane in self._panes[1:]:
            pane.clear()
        if question is None:
            self._enter("empty")
            return
        if self._request.top is not None:
            self.top.html = self._request.top(question)
        if self._offered() is None:
            self._read(question)
        else:
            self._enter("offered")

    def _read_again(self) -> None:
        if self._question is not None and self._status in {"offered", "stopped", "failed"}:
            self._read(self._question)

    def _read(self, question: Q, *, keeps: bool = False) -> None:
        self._question, self._answer, self._told = question, None, NOTHING
        self._panes[0].leave()
        self._progress = Progress(done=0, total=None, label=self._words(question).label)
        self._is_quiet = keeps and bool(self._live.html) and self._runner.is_background
        self._waiting = None
        self._enter("loading")
        if self._is_quiet:
            self._speak_up_later()
        self._work.ask_in_steps(
            partial(self._request.read, question),
            self._tell,
            partial(self._arrive, question),
            self._fail,
            self._report,
        )

    def _speak_up_later(self) -> None:
        def speak_up() -> None:
            if self._waiting is speak_up:
                self._is_quiet = False
                self._draw()

        self._waiting = speak_up
        self._runner.post_later(QUIET_SECONDS, speak_up)

    def _tell(self, sentence: str) -> None:
        self._told = _render_lead(sentence)
        self._draw()

    def _report(self, progress: Progress) -> None:
        self._progress = progress
        self._draw()

    def _arrive(self, question: Q, answer: A) -> None:
        self._waiting = self._before = None
        self._answer = answer
        for pane in self._panes:
            pane.turn(question, answer)
        self._enter("shown")

    def _fail(self, problem: Problem) -> None:
        self._waiting = self._answer = None
        self._problem = problem
        self._panes[0].leave()
        for pane in self._panes[1:]:
            pane.clear()
        self._enter("failed")

    def _enter(self, status: Status) -> None:
        self._status = status
        self._draw()
        for listener in self._listeners:
            listener()

    def _words(self, question: Q) -> Words:
        words = self._request.words
        return words if isinstance(words, Words) else words(question)

    def _offered(self) -> Markup | None:
        offer = self._request.offer
        if offer is None or self._question is None:
            return None
        return offer.render(self._question)

    def _draw(self) -> None:
        question, answer = self._question, self._answer
        if question is None:
            self._panes[0].clear()
        elif answer is not None:
            for pane in self._panes:
                pane.show(question, answer)
        elif not (self._status == "loading" and self._is_quiet):
            shown = self._render_status(question)
            self._live.html = self._panes[0].head_of(question) + shown if shown else NOTHING

    def _render_status(self, question: Q) -> Markup:
        """What is shown below the head while there is no answer."""
        if self._status == "offered":
            return self._offered() or NOTHING
        if self._status == "stopped":
            return self._known + self._told + _render_stopped(self._words(question))
        if self._problem is not None and self._status == "failed":
            said = self._request.failed(self._problem)
            again = NOTHING if self._problem.kind in _FINAL else _RETRY
            return self._known + said + (self._offered() or again) if said else NOTHING
        bar = NOTHING if self._progress is None else _render_progress(self._progress)
        return self._known + self._told + bar


def _render_lead(sentence: str) -> Markup:
    return html('<p class="dx-lead">{}</p>', visible(sentence)) if sentence else NOTHING


def _render_stopped(words: Words) -> Markup:
    return html(
        '<p class="dx-muted" role="status">{}</p>'
        '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="again" '
        'data-value="">{}</button></div>',
        words.stopped,
        words.again,
    )


def _render_progress(progress: Progress) -> Markup:
    """A bar where the total is known, and a button that does `cancel`."""
    label = esc(cut(progress.label, 200))
    bar = NOTHING
    if progress.total:
        done = min(progress.done, progress.total)
        bar = html(
            '<span>{} of {}</span><progress max="{}" value="{}" aria-label="{}"></progress>',
            format_count(done),
            format_count(progress.total),
            progress.total,
            done,
            label,
        )
    return html(
        '<div class="dx-foot" role="status"><span class="dx-waiting">{}</span>{}'
        '<button type="button" data-do="cancel" data-value="">Cancel</button></div>',
        label,
        bar,
    )
