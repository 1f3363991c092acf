"""Maintenance: choose, plan, review, approve, run, receipt; one thing at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

from explorer.errors import DeltaError, Problem
from explorer.maintenance.documents.receipt import Receipt
from explorer.maintenance.plan.plan import Plan
from explorer.progress import Progress, Watch
from widgets.markup import NOTHING, Markup
from widgets.screens.maintenance._documents_view import DocumentsView
from widgets.screens.maintenance._files_view import PlanFilesView
from widgets.screens.maintenance._offers import Offers, read_offers
from widgets.screens.maintenance._parts import Stage, render_buttons, render_head
from widgets.screens.maintenance._plan_parts import render_consequence, render_guards
from widgets.screens.maintenance._receipt_parts import render_made, render_receipt, undo_version
from widgets.screens.maintenance._review_view import (
    FILLED_IN,
    PLANNING,
    build_unknown,
    render_decision,
    render_form_of,
    render_run_of,
    render_start,
    render_ways_on,
)
from widgets.screens.maintenance._run_parts import render_planning
from widgets.screens.maintenance._run_view import RunWatcher
from widgets.session.asking import Question
from widgets.session.maintenance import Consent
from widgets.session.operations import (
    Operation,
    find_operation,
    needs_name,
    parse_answers_of,
    render_answers,
)
from widgets.session.page_services import PageServices
from widgets.session.planners import Answers
from widgets.session.runs import Run
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.ui.boxes import build_card, build_stack
from widgets.ui.live_html import LiveHtml, parse_fields
from widgets.ui.pieces import render_problem
from widgets.ui.place_links import PlaceLinks


class MaintenanceView:
    """One operation at a time, from its choice to its receipt. What is shown here is what
    may be approved here; the service decides."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._services = services
        self._state = state
        self._service: TableService | None = None
        self._stage: Stage = "choose"
        self._operation: Operation | None = None
        self._answers: Answers = {}
        self._left: tuple[str, Answers] = ("", {})
        self._said = ""
        self._is_filled_in = False
        self._wrong = ""
        self._asked: str | None = None
        self._plan: Plan | None = None
        self._receipt: Receipt | None = None
        self._planning = Question(services.runner, is_planning=True)
        self._opening = Question(services.runner)
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        self._watcher = RunWatcher(services, self._draw_run, self._end)
        self._top = LiveHtml(margin=0)
        self._bottom = LiveHtml(margin=0)
        self._files = PlanFilesView(services, state)
        self._documents = DocumentsView(
            services,
            self._watcher,
            on_plan=self._open_plan,
            on_receipt=self._open_receipt,
            on_run=self._open_run,
        )
        # what is approved stands above its files, which may be many
        self.panel = build_stack(
            build_card(self._top, self._bottom, self._files.panel), self._documents.panel
        )
        self._listen()

    def _listen(self) -> None:
        for part in (self._top, self._bottom):
            part.on("back", lambda _: self._go_back())
            part.on("choose", self._choose)
            part.on("plan", self._make_plan)
            part.on("again", lambda _: self._plan_again())
            part.on("stop", lambda _: self._stop())
            part.on("approve", self._approve)
            part.on("undo", lambda _: self._undo())
            part.on("open", self._open_plan)
            part.on("run", self._open_run)
            part.on("receipt", self._open_receipt)
            part.on("commit", self._open_commit)
        self._state.param.watch(self._follow, ["view", "operation", "answers"])

    def _open_commit(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            self._state.param.update(version=version, view="commit")

    def show(self, service: TableService) -> None:
        """A table has been opened, or refreshed: then what is shown here stays."""
        before, self._service = self._service, service
        if before is None or before.uri != service.uri:
            self._begin_anew()
            self._left = ("", {})  # of another table
            self._arrive(self._state.operation, self._state.answers)
        self._look()

    def _follow(self, *events: Any) -> None:
        """The page has come here, or its address names another operation, or other answers."""
        if self._service is None:
            return
        asked = self._state.operation, self._state.answers
        if asked != (_name_of(self._operation), self._said):
            self._begin_anew()
            self._open_form(*asked)
        elif self._stage == "choose" and any(event.name == "view" for event in events):
            self._arrive("", "")
        self._look()

    def _arrive(self, name: str, answers: str) -> None:
        """Where whoever comes here is led: to what is being done to the table, be it begun by
        another page or by this one before it was reloaded; else to what was asked for."""
        uri = "" if self._service is None else self._service.uri
        running = self._services.maintenance.running(uri)
        if running and self._state.plan_request is None:
            self._watch(running[-1])
        elif name:
            self._open_form(name, answers)
        elif answers:
            self._state.answers = ""  # to no form

    def _watch(self, run: Run) -> None:
        self._name(find_operation(run.plan.operation))
        self._go("running")
        self._watcher.watch(run)

    def _name(self, operation: Operation | None, answers: Answers | None = None) -> None:
        """What the view is about now, and what was answered; the address says it too."""
        self._operation = operation
        self._said = "" if operation is None else render_answers(operation, answers or {})
        self._state.param.update(operation=_name_of(operation), answers=self._said)

    def _look(self) -> None:
        if self._service is not None and self._state.view == "maintenance":
            self._documents.show(self._service)
            self._fill_in()

    def _fill_in(self) -> None:
        """Another view led here: its operation is chosen, and planned where that was asked for."""
        request, self._state.plan_request = self._state.plan_request, None
        operation = None if request is None else find_operation(request[0])
        if request is not None and operation is not None and self._stage in {"choose", "form"}:
            self._answers = dict(request[1])
            self._name(operation, self._answers)
            self._is_filled_in = False  # by a button of this page
            self._draw_form(None)
            if self._state.plans_at_once:
                self._start_planning()

    def _go_back(self) -> None:
        """From a plan to the form that asked for it, with the answers; else to the choice. A
        run goes on without being watched."""
        if self._has_form:
            self._keep_answers()
            self._draw_form(None)
            return
        self._begin_anew()
        self._name(None)
        self._look()

    @property
    def _has_form(self) -> bool:
        """Whether what is shown comes of answers to a form of this page."""
        plan = self._plan
        return self._stage == "planning" or (plan is not None and plan.digest == self._asked)

    def _keep_answers(self) -> None:
        """For whoever chooses the same operation again."""
        self._left = (_name_of(self._operation), self._answers)

    def _begin_anew(self) -> None:
        """Only the choice is shown; what was answered and not carried out is kept for it, also
        where a reload has filled the form in, and Back leads to the address without answers."""
        is_filled_in = self._stage == "form" and self._is_filled_in
        if self._operation is not None and (is_filled_in or self._stage in {"planning", "review"}):
            self._keep_answers()
        self._watcher.leave()
        self._plan, self._receipt, self._operation, self._answers = None, None, None, {}
        self._said, self._is_filled_in = "", False
        self._asked = None  # whoever opens that plan again has its document, and no answers
        self._go("choose")
        uri = "" if self._service is None else self._service.uri
        self._top.html = self._head() + render_start(self._services, uri)

    def _go(self, stage: Stage) -> None:
        """The next stage; outside of a review there is nothing to approve, and what was
        planned or opened before is no longer wanted."""
        self._stage = stage
        self._opening.drop()
        self._planning.drop()
        if stage != "review":
            self._plan = None
            self._services.maintenance.show(None)
            self._files.clear()
            self._bottom.html = NOTHING

    def _head(self) -> Markup:
        title = "Maintenance" if self._operation is None else self._operation.title
        back = "Back to the form" if self._has_form else "All operations"
        is_locked = not self._services.maintenance.is_unlocked
        return render_head(title, self._stage, back=back, is_locked=is_locked)

    def _choose(self, name: str) -> None:
        if self._stage == "choose" and find_operation(name) is not None:
            self._open_form(name)

    def _open_form(self, name: str, answers: str = "") -> None:
        """The form of an operation that a person has chosen, or that an address names and fills
        in. Nothing is planned by an address."""
        operation = find_operation(name)
        given = {} if operation is None else parse_answers_of(operation, answers)
        self._name(operation, given)
        self._is_filled_in = bool(given)
        if operation is not None:
            self._answers = given or self._prefilled(operation)
            self._draw_form(None)
        elif name:
            self._state.notice = build_unknown(name)

    def _prefilled(self, operation: Operation) -> Answers:
        name, left = self._left
        if operation.name == name and left:
            return left
        version, latest = self._state.version, self._state.latest
        if operation.name == "restore" and version is not None and version != latest:
            return {"version": str(version)}
        return {}

    def _draw_form(self, problem: Problem | None) -> None:
        operation = self._operation
        if operation is None:
            return
        self._go("form")
        self._wrong = NOTHING if problem is None else render_problem(problem)
        self._offer(operation, {})
        if self._service is not None:
            work = partial(read_offers, self._service, operation)
            done = partial(self._offer, operation)
            # where it cannot be read nothing is offered, and planning says why
            self._services.runner.run(work, done, lambda _: None)

    def _offer(self, operation: Operation, offers: Offers) -> None:
        if self._stage == "form" and operation is self._operation:
            form = render_form_of(operation, self._answers, offers)
            note = FILLED_IN if self._is_filled_in else NOTHING
            self._top.html = self._head() + self._wrong + note + form

    def _make_plan(self, text: str) -> None:
        if self._stage == "form":
            self._answers = parse_fields(text)
            self._start_planning()

    def _plan_again(self) -> None:
        if self._stage in {"review", "receipt"} and self._asked is not None:
            self._start_planning()

    def _undo(self) -> None:
        receipt = self._receipt
        if self._stage != "receipt" or receipt is None:
            return
        version = undo_version(receipt)
        if version is not None:
            self._plan_undo("restore", {"version": str(version)})
        elif receipt.operation == "set-properties":
            undo = partial(self._services.maintenance.undo_properties, receipt)
            done = partial(self._plan_undo, "set-properties")
            self._opening.ask(lambda _: undo(), done, self._fail)

    def _plan_undo(self, name: str, answers: Answers) -> None:
        self._name(find_operation(name))
        self._answers = answers
        self._start_planning()

    def _start_planning(self) -> None:
        service, operation, answers = self._service, self._operation, self._answers
        if service is None or operation is None:
            return
        self._asked = None
        self._is_filled_in = False
        self._name(operation, answers)
        self._go("planning")
        self._draw_planning(None)

        def work(watch: Watch) -> tuple[Plan, str]:
            plan = self._services.maintenance.plan(service, operation, answers, watch)
            return plan, plan.digest  # for a million files a second that must not pass here

        def done(found: tuple[Plan, str]) -> None:
            plan, self._asked = found
            self._review(plan, None)

        self._planning.ask(work, done, self._draw_form, self._draw_planning)

    def _draw_planning(self, progress: Progress | None) -> None:
        can_stop = self._services.runner.is_background
        self._top.html = self._head() + render_planning(progress, can_stop=can_stop)

    def _stop(self) -> None:
        if self._stage == "planning":
            self._draw_form(None)
        else:
            self._watcher.stop()

    def _review(self, plan: Plan, carried_out: Receipt | None) -> None:
        """Show a plan; only this one can be approved now."""
        self._go("review")
        self._plan = plan
        self._services.maintenance.show(plan if carried_out is None else None)
        consequence = render_consequence(plan, is_grave=needs_name(plan))
        self._top.html = self._head() + consequence + render_guards(plan)
        self._files.show(plan)
        self._bottom.html = self._render_decision(plan, carried_out)
        self._look()

    def _render_decision(self, plan: Plan, carried_out: Receipt | None) -> Markup:
        can_repeat = self._asked == plan.digest
        return render_decision(self._services, plan, carried_out, can_repeat=can_repeat)

    def _approve(self, text: str) -> None:
        service, plan = self._service, self._plan
        if self._stage != "review" or service is None or plan is None:
            return  # a second click, or one on a page that has moved on
        given, maintenance = parse_fields(text), self._services.maintenance
        consent = Consent(
            digest=given.get("digest", ""),
            table_name=given.get("table_name", ""),
            reason=given.get("reason", ""),
        )
        try:
            run = maintenance.approve(service, consent)
        except DeltaError as error:
            problem = render_problem(Problem.of(error))
            self._bottom.html = problem + self._render_decision(plan, None)
            return
        self._go("running")
        self._watcher.watch(run)
        try:
            maintenance.begin(run, in_background=self._services.runner.is_background)
        except DeltaError as error:
            self._watcher.leave()
            self._fail(Problem.of(error))

    def _draw_run(self, run: Run) -> None:
        self._top.html = self._head() + render_run_of(self._services, run)

    def _end(self, outcome: Receipt | Problem) -> None:
        if isinstance(outcome, Problem):
            self._fail(outcome)
            self._look()
            return
        self._left = ("", {})
        self._show_receipt(outcome)
        if any(step.done or step.status == "done" for step in outcome.steps):
            self._state.changes += 1
        self._look()

    def _fail(self, problem: Problem) -> None:
        self._receipt = None
        self._go("receipt")
        self._top.html = self._head() + render_problem(problem)
        self._bottom.html = render_buttons(("back", "", "All operations"))

    def _show_receipt(self, receipt: Receipt) -> None:
        self._go("receipt")
        self._receipt = receipt
        self._name(find_operation(receipt.operation))
        self._top.html = self._head() + render_receipt(receipt, render_made(receipt, self._links))
        can_repeat = self._asked == receipt.digest
        self._bottom.html = render_ways_on(self._services, receipt, can_repeat=can_repeat)

    def _open_plan(self, digest: str) -> None:
        service = self._service
        if service is not None and self._may_open():
            load = partial(self._services.maintenance.load_plan, service, digest)
            self._opening.ask(lambda _: load(), self._opened, self._open_failed)

    def _opened(self, found: tuple[Plan, Receipt | None]) -> None:
        self._watcher.leave()
        self._name(find_operation(found[0].operation))
        self._review(*found)

    def _open_receipt(self, identifier: str) -> None:
        service = self._service
        if service is not None and self._may_open():
            load = partial(self._services.maintenance.load_receipt, service, identifier)
            self._opening.ask(lambda _: load(), self._receipt_opened, self._open_failed)

    def _receipt_opened(self, receipt: Receipt) -> None:
        self._watcher.leave()
        self._show_receipt(receipt)

    def _open_failed(self, problem: Problem) -> None:
        self._watcher.leave()
        self._fail(problem)

    def _may_open(self) -> bool:
        """Whether something else can be looked at: a run goes on without being watched, a plan
        that is being made would be lost."""
        if self._stage == "planning":
            self._state.notice = PLANNING
        return self._stage != "planning"

    def _open_run(self, digest: str) -> None:
        if self._service is None or not self._may_open():
            return
        for run in self._services.maintenance.running(self._service.uri):
            if run.plan.digest == digest:
                self._watch(run)
        self._look()


def _name_of(operation: Operation | None) -> str:
    return "" if operation is None else operation.name
