"""Maintenance as one page has it: plans, one approval each, runs, and what became of them.

A page may always plan, because planning changes nothing. It may approve only where it was
unlocked when it was started, and only the plan that it shows; each plan once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from explorer import maintenance
from explorer.errors import ConflictError, DeltaError, NotFoundError
from explorer.maintenance.documents.receipt import Receipt
from explorer.maintenance.documents.state_folder import StateFolder
from explorer.maintenance.plan.plan import Plan
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from widgets.session.operations import Operation, needs_name
from widgets.session.planners import Answers, Request
from widgets.session.runs import Run, Runs
from widgets.session.tables import TableService


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What a page sends when its button is pressed: text of whoever sits at the browser."""

    digest: str
    table_name: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Plans (their documents, with `digest`) and receipts of one table, newest first."""

    plans: tuple[Mapping[str, Any], ...]
    receipts: tuple[Receipt, ...]


UNLOCKS: Mapping[str, str] = {
    "": "Start it with maintenance: delta-explorer serve URI --maintenance.",
    "link": "Open in this browser the link that was printed when the page was started.",
    "role": "Sign in as someone with the maintenance role.",
}
"""What lets a page change tables, by what it lacks."""


class Maintenance:
    """One page's right to look and, where `is_unlocked` says so each time, to change.

    `state` is where plans and receipts are kept; None shows and keeps none. `person` is who
    has signed in, or was named where the page was started: receipts and commits carry the
    name, and none where it is None. `unlocked_by` says what this page lacks where others of its
    server may change tables: the link that was printed, or the role of the person.
    """

    def __init__(  # what a page may, by whom, and where it is kept
        self,
        *,
        is_unlocked: Callable[[], bool] = lambda: False,
        unlocked_by: Literal["", "link", "role"] = "",
        runs: Runs | None = None,
        state: StateFolder | None = None,
        storage_options: Mapping[str, Any] | None = None,
        person: str | None = None,
    ) -> None:
        self._person = person
        self._is_unlocked = is_unlocked
        self.unlocked_by = unlocked_by
        self._runs = Runs() if runs is None else runs
        self._state = state
        self._options = dict(storage_options or {})
        self._shown: Plan | None = None
        self._lock = threading.Lock()

    @property
    def is_unlocked(self) -> bool:
        """Whether plans can be carried out from this page."""
        return self._is_unlocked()

    @property
    def keeps_documents(self) -> bool:
        """Whether this page shows plans and receipts that were kept."""
        return self._state is not None

    def plan(
        self,
        service: TableService,
        operation: Operation,
        answers: Answers,
        watch: Watch = UNWATCHED,
    ) -> Plan:
        """Make a plan; an unlocked page keeps it. Raises `DeltaError`."""
        place = None if self._state is None else self._state.place
        request = Request(table=service.table, answers=answers, watch=watch, state_dir=place)
        plan = operation.plan(request)
        if self._state is not None and self.is_unlocked:
            self._state.check_outside(service.table)
            self._state.save_plan(plan)
        return plan

    def show(self, plan: Plan | None) -> None:
        """The page shows this plan now; no other can be approved."""
        with self._lock:
            self._shown = plan

    def approve(self, service: TableService, consent: Consent) -> Run:
        """The run of the plan that is shown, which is then shown no more; not begun yet.

        Raises `ConflictError` (plan_refused) where the page may not, shows another plan, or
        the person has not typed what is asked for, and `InvalidArgumentError` where what was
        typed is not text; in the last two cases the plan stays.
        """
        if not self.is_unlocked:
            raise _refusal(
                "This page may not change tables.",
                UNLOCKS[self.unlocked_by],
            )
        with self._lock:
            plan = self._shown
            if plan is None or plan.digest != consent.digest:
                raise _refusal(
                    "It is not the plan that this page shows, or it was approved already.",
                    "Make the plan again, look at it, and approve the new one.",
                )
            _check_typed(plan, consent)
            work = self._work(plan, service, consent)
            self._shown = None
        return Run(plan, work)

    def begin(self, run: Run, *, in_background: bool) -> None:
        """Carry out an approved run: beside the page, or at once where nothing is beside."""
        if in_background:
            self._runs.begin(run)
        else:
            run.carry_out()

    def cancel(self, run: Run) -> None:
        """Ask a run to stop; a locked page may not."""
        if self.is_unlocked:
            run.cancel()

    def running(self, uri: str) -> list[Run]:
        """What is being done to a table now, whoever began it."""
        return self._runs.of(uri)

    def read_documents(self, service: TableService) -> Documents:
        """What was kept of this table."""
        if self._state is None:
            return Documents(plans=(), receipts=())
        uri = service.uri
        return Documents(
            plans=tuple(plan for plan in self._state.list_plans() if _uri_of(plan) == uri),
            receipts=tuple(one for one in self._state.list_receipts() if one.uri == uri),
        )

    def load_plan(self, service: TableService, digest: str) -> tuple[Plan, Receipt | None]:
        """A plan that was kept, and the receipt where it was carried out already."""
        if _uri_of(self._kept().load_document(digest)) != service.uri:
            raise _unknown()
        plan = self._kept().load_plan(digest, service.table)
        done = (
            receipt
            for receipt in self._kept().list_receipts()
            if receipt.digest == plan.digest and receipt.status == "completed"
        )
        return plan, next(done, None)

    def load_receipt(self, service: TableService, identifier: str) -> Receipt:
        """A receipt that was kept."""
        receipt = self._kept().load_receipt(identifier)
        if receipt.uri != service.uri:
            raise _unknown()
        return receipt

    def undo_properties(self, receipt: Receipt) -> Answers:
        """What sets the properties back that a plan has changed. Raises `DeltaError` where
        the plan was not kept, or a value cannot be written in one line."""
        changed = self._kept().load_document(receipt.digest)["effect"]["changed"]
        before = {name: values["before"] for name, values in changed.items()}
        kept = [f"{name}={value}" for name, value in before.items() if value is not None]
        gone = [name for name, value in before.items() if value is None]
        if any(len(line.splitlines()) != 1 for line in (*kept, *gone)):
            raise _unknown()
        return {"set": "\n".join(kept), "unset": "\n".join(gone)}

    def _kept(self) -> StateFolder:
        if self._state is None:
            raise _unknown()
        return self._state

    def _work(
        self, plan: Plan, service: TableService, consent: Consent
    ) -> Callable[[ProgressCallback, Cancel], Receipt]:
        approval = maintenance.Approval(
            plan.digest,
            by=self._person or None,
            table_name=consent.table_name or None,
            reason=consent.reason.strip() or None,
        )
        place = None if self._state is None else self._state.place

        def work(progress: ProgressCallback, cancel: Cancel) -> Receipt:
            return maintenance.execute(
                plan,
                approval,
                table=service.table,
                progress=progress,
                cancel=cancel,
                state_dir=place,
                storage_options={**self._options, **service.storage_options} or None,
            )

        return work


def _check_typed(plan: Plan, consent: Consent) -> None:
    if needs_name(plan) and consent.table_name != plan.subject.name:
        raise _refusal(
            "What is lost by it is lost, and the table's name was not typed as it is.",
            "Type the table's name, letter by letter.",
        )
    if plan.asks_for_reason and not consent.reason.strip():
        raise _refusal("A guard asks for a reason, which the receipt keeps.", "Give the reason.")


def _refusal(reason: str, remedy: str) -> ConflictError:
    return ConflictError(
        "The plan was not carried out; nothing was changed.",
        reason=reason,
        remedy=remedy,
        kind="plan_refused",
    )


def _unknown() -> DeltaError:
    return NotFoundError(
        "There is no such document of this table.",
        reason="It was not kept, or belongs to another table.",
        remedy="Choose one from the list.",
        kind="plan_not_found",
    )


def _uri_of(document: Mapping[str, Any]) -> str | None:
    subject = document.get("subject")
    return subject.get("uri") if isinstance(subject, Mapping) else None
