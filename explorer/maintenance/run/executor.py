"""The one place where a plan is carried out.

Only here is a store opened that can change anything. An execution verifies the approval
against the digest that it computes itself, lists the log again, carries out the steps in
their order with a journal beside the plan, looks at the result, and leaves a receipt that
is true however it ended. One that was killed is taken up again by executing the same plan.
"""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from explorer.errors import (
    CancelledError,
    ConflictError,
    DeltaError,
    InvalidArgumentError,
    NotFoundError,
    Problem,
)
from explorer.maintenance.documents.receipt import Check, Receipt, Status, StepReceipt
from explorer.maintenance.documents.state_folder import StateDir, StateFolder
from explorer.maintenance.plan.newer_commits import LogWatch, find_own_commit
from explorer.maintenance.plan.newest_times import check_clock
from explorer.maintenance.plan.plan import FORMAT, Approval, Plan
from explorer.maintenance.plan.step_types import (
    VALIDATING_KINDS,
    CommittingStep,
    Step,
    Validation,
)
from explorer.maintenance.run._step_kinds import carry_out
from explorer.maintenance.run._verify_promise import check_promise, open_versions
from explorer.maintenance.steps.context import Run, Tally
from explorer.maintenance.steps.journal import (
    Journal,
    completed_in,
    done_in,
    noted_in,
    render_tally,
)
from explorer.progress import Cancel, Progress, ProgressCallback, Watch
from explorer.storage.open import open_write_store
from explorer.storage.ports import ReadStore, WriteStore, offers
from explorer.table.counts import count
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock

_GOES_ON: Final = "Carry out the same plan again to continue."
"""What there is to do where a person stopped a change."""


def execute(  # noqa: PLR0913  # who is asked, who looks on, and where documents lie
    plan: Plan,
    approval: Approval,
    *,
    table: Table | None = None,
    spark: Any = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    state_dir: StateDir = None,
    storage_options: Mapping[str, Any] | None = None,
    clock: Clock = system_clock,
) -> Receipt:
    """Carry out a plan that was approved by its digest, in the caller's thread; `start` is
    the same in a thread of its own.

    A plan that was loaded needs `table`. A table in an object store needs the
    `storage_options` that it was opened with once more, because a plan never holds them
    and a table that was opened for reading cannot be written to. What is done with rows is
    done on `spark`, or on the active or a local session where there is none.

    What a guard forbids, an approval that does not fit and a stale plan are told by the
    receipt (`refused`), as is every error of the table or its store. Raises
    `InvalidArgumentError` where the table is missing or another one.
    """
    found = _table_of(plan, table)
    state = StateFolder(state_dir)
    state.check_outside(found)
    started_at = clock()
    with state.running(plan.digest) as is_ours:
        if not is_ours:
            busy = _refusal("It is being carried out by another process right now.")
            return _receipt(plan, approval, "refused", started_at, clock(), problem=busy)
        journal = state.read_journal(plan.digest)
        if (earlier := completed_in(journal)) is not None:
            # without its receipt, or with one that was altered, the same steps are gone through
            # again, and found done
            with contextlib.suppress(NotFoundError, InvalidArgumentError):
                return state.load_receipt(earlier)
        if (problem := _obstacle(plan, approval)) is not None:
            receipt = _receipt(plan, approval, "refused", started_at, clock(), problem=problem)
            state.save_receipt(receipt)
            return receipt
        store = _writable(found.store, storage_options)
        run = Run(
            plan=plan,
            table=found,
            store=store,
            state=state,
            clock=clock,
            watch=Watch(progress=progress, cancel=cancel),
            log=LogWatch(plan=plan, store=store, own=_own_transactions(plan)),
            spark=spark,
            by=approval.by,
        )
        return _Execution(run, approval, journal, started_at).carry_out()


class _Execution:
    """One run through the steps of a plan."""

    def __init__(self, run: Run, approval: Approval, journal: Journal, started_at: int) -> None:
        self._run = run
        self._approval = approval
        self._journal = journal
        self._started_at = started_at
        self._steps: list[StepReceipt] = []
        self._problem: Problem | None = None
        self._status: Status = "completed"

    def carry_out(self) -> Receipt:
        """All steps; the receipt, which is kept before this returns or raises."""
        run = self._run
        ended = False
        try:
            self._steps_in_order()
            ended = True
            self._look_for_what_stayed()
        finally:
            if not ended:  # a _bug, or an interrupt: not told by any of our errors
                self._stop(_bug())
                self._keep(())
        checks: tuple[Check, ...] = ()
        if self._has_changed:
            checks = check_promise(run)
            broken = next((check for check in checks if not check.holds), None)
            if broken is not None and self._problem is None:
                self._problem = _broken_promise(broken.detail)
                self._status = "failed"
        return self._keep(checks)

    @property
    def _has_changed(self) -> bool:
        changing = (step for step in self._steps if step.kind not in VALIDATING_KINDS)
        return any(
            step.done or step.status == "done" or "version" in (step.result or {})
            for step in changing
        )

    def _was_committed(self, step: Step, tally: Tally, error: BaseException) -> bool:
        """Whether the commit of a step that failed is there all the same, its answer lost."""
        if not isinstance(step, CommittingStep) or isinstance(error, ConflictError):
            # a conflict was found before anything was written: what is there is another's,
            # who carries out the same plan
            return False
        made: int | None = None
        with contextlib.suppress(DeltaError):
            anchor = self._run.plan.anchor.version
            made = find_own_commit(self._run.store, anchor, step.transaction_id)
        if made is not None:
            tally.result = {**(tally.result or {}), "version": made}
        return made is not None

    def _steps_in_order(self) -> None:
        run = self._run
        try:
            check_clock(run.plan, run.clock())
            run.watch.step(0, len(run.plan.steps), "Listing the log again")
            run.log.check_listed(run.table)
            promised = open_versions(run.plan, run.table.listing())
            line = {"event": "begun", "format": FORMAT, "at": self._started_at}
            run.note({**line, "promised": promised})
        except DeltaError as error:
            self._stop(error)
            return
        for index, step in enumerate(run.plan.steps):
            done = done_in(self._journal, step.id)
            if done is not None and self._is_settled(step, run.plan.steps[index + 1 :]):
                run.results[step.id] = done.result or {}
                self._steps.append(done.receipt(step, "done"))
                continue
            tally = Tally(planned=step.num_files)
            try:
                run.watch.step(index, len(run.plan.steps), step.reason)
                carry_out(run, step, tally, noted_in(self._journal, step.id))
                run.results[step.id] = tally.result or {}
                line = {"event": "done", "step": step.id, **render_tally(tally)}
                run.note({**line, "result": tally.result})
                self._steps.append(tally.receipt(step, "done"))
            except BaseException as error:  # told, and raised again if not ours
                begun = self._was_committed(step, tally, error) or tally.is_begun
                self._steps.append(tally.receipt(step, "partly" if begun else "not begun"))
                if not isinstance(error, DeltaError):
                    raise
                self._stop(error)
                return

    def _is_settled(self, step: Step, behind: Sequence[Step]) -> bool:
        """Whether a step that was done need not be done again: what was looked at may have
        changed until a step behind it is done."""
        if not isinstance(step, Validation):
            return True
        return any(done_in(self._journal, later.id) is not None for later in behind)

    def _stop(self, error: DeltaError) -> None:
        self._problem = Problem.of(error)
        if isinstance(error, CancelledError):
            self._problem = replace(self._problem, remedy=_GOES_ON)
            self._status = "cancelled"
        elif self._has_changed:
            self._status = "partly"
        elif isinstance(error, ConflictError) or error.kind == "plan_refused":
            self._status = "refused"
        else:
            self._status = "failed"

    def _look_for_what_stayed(self) -> None:
        stayed = files_that_stayed(self._steps)
        if stayed is None or self._problem is not None:
            return
        self._problem = stayed
        made = any(step.done or "version" in (step.result or {}) for step in self._steps)
        self._status = "partly" if made else "refused"

    def _keep(self, checks: tuple[Any, ...]) -> Receipt:
        run, plan = self._run, self._run.plan
        for step in plan.steps[len(self._steps) :]:
            self._steps.append(Tally(planned=step.num_files).receipt(step, "not begun"))
        undo = plan.effect.get("undo") if self._has_changed else None
        receipt = replace(
            _receipt(plan, self._approval, self._status, self._started_at, run.clock()),
            steps=tuple(self._steps),
            checks=checks,
            problem=self._problem,
            undo=undo,
        )
        run.state.save_receipt(receipt)
        run.note({"event": "ended", "status": receipt.status, "receipt": receipt.id})
        return receipt


class Running:
    """An execution in a thread of its own."""

    def __init__(self, plan: Plan, approval: Approval, **options: Any) -> None:
        self._cancel: Cancel = options.pop("cancel", None) or Cancel()
        self._callback: ProgressCallback | None = options.pop("progress", None)
        self._latest: Progress | None = None
        self._receipt: Receipt | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._work, args=(plan, approval, options), name="delta-explorer-maintenance"
        )
        self._thread.start()

    @property
    def progress(self) -> Progress | None:
        """The latest report."""
        return self._latest

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Ask it to stop after the change that it is making."""
        self._cancel.cancel()

    def result(self, timeout: float | None = None) -> Receipt | None:
        """The receipt, or None where it has not ended after `timeout` seconds (None waits
        without a limit). Raises what `execute` raised."""
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        return self._receipt

    def _work(self, plan: Plan, approval: Approval, options: Mapping[str, Any]) -> None:
        try:
            self._receipt = execute(
                plan, approval, progress=self._report, cancel=self._cancel, **options
            )
        except BaseException as error:  # noqa: BLE001  # raised again where it is waited for
            self._error = error

    def _report(self, progress: Progress) -> None:
        self._latest = progress
        if self._callback is not None:
            self._callback(progress)


def start(plan: Plan, approval: Approval, **options: Any) -> Running:
    """`execute` with the same options, in a thread of its own."""
    return Running(plan, approval, **options)


def _table_of(plan: Plan, table: Table | None) -> Table:
    found = plan.table if table is None else table
    if found is None:
        raise InvalidArgumentError(
            "The plan does not know its table.",
            reason="It was loaded from its document, which does not open the table.",
            remedy="Open the table and give it: execute(plan, approval, table=table).",
        )
    if found.uri != plan.subject.uri:
        raise InvalidArgumentError(
            "The plan belongs to another table.",
            reason=f"It was made for {plan.subject.uri}, but this table is at {found.uri}.",
            remedy="Give the table that the plan was made for, or make a plan for this one.",
        )
    return found


def _writable(store: ReadStore, storage_options: Mapping[str, Any] | None) -> WriteStore:
    if offers(store, WriteStore):
        return store
    return open_write_store(store.uri, storage_options)


def _obstacle(plan: Plan, approval: Approval) -> Problem | None:
    """Why the plan may not be carried out by this approval, or None."""
    if approval.digest != plan.digest:
        return _refusal("The approval was given to another plan: its digest is not this one's.")
    if refused := plan.refusals:
        return _refusal(" ".join(verdict.message for verdict in refused), refused[0].remedy)
    name, why = plan.subject.name, plan.asks_for_reason
    option, field = (" --reason TEXT", " and reason") if why else ("", "")
    remedy = (
        f"Add `--confirm {shlex.quote(name)}{option}` on the command line, or table_name{field} to "
        "the Approval."
    )
    if plan.asks_for_name and approval.table_name != name:
        more = ", and a reason" if why else ""
        text = f"A guard asks a person to type the table's name, {name}{more}."
        return _refusal(text, remedy)
    if why and not (approval.reason or "").strip():
        return _refusal("A guard asks for a reason, which the receipt will keep.", remedy)
    return None


def _receipt(  # the fields that every receipt has
    plan: Plan,
    approval: Approval,
    status: Status,
    started_at: int,
    ended_at: int,
    *,
    problem: Problem | None = None,
) -> Receipt:
    return Receipt(
        digest=plan.digest,
        operation=plan.operation,
        uri=plan.subject.uri,
        table_id=plan.subject.id,
        summary=plan.summary,
        status=status,
        started_at=started_at,
        ended_at=ended_at,
        approved_by=approval.by,
        reason=approval.reason,
        problem=problem,
    )


def _own_transactions(plan: Plan) -> frozenset[str]:
    return frozenset(step.transaction_id for step in plan.steps if isinstance(step, CommittingStep))


def completed_run(state: StateFolder, digest: str) -> str | None:
    """The id of the receipt of a run of that plan which came to its end: executing it once
    more does nothing, and answers this receipt."""
    return completed_in(state.read_journal(digest))


def _refusal(reason: str, remedy: str = "") -> Problem:
    """Nothing may be done."""
    return Problem(
        kind="plan_refused",
        problem="The plan was not carried out.",
        reason=reason,
        remedy=remedy or "Review the plan again, and approve it as it asks.",
    )


def _broken_promise(detail: str) -> Problem:
    """Every step was carried out, but the table is not as the plan promised."""
    return Problem(
        kind="data_missing",
        problem="The table is not as the plan promised.",
        reason=detail,
        remedy="Look at the table before you change it again; see the receipt's checks.",
    )


def _bug() -> DeltaError:
    """An execution that no error of ours ended."""
    return DeltaError(
        "The execution was interrupted.",
        reason="An interrupt, or a bug in delta-explorer, ended it before the plan was done.",
        remedy="Execute the same plan again: it continues where it ended.",
        kind="internal_error",
    )


def files_that_stayed(steps: Sequence[StepReceipt]) -> Problem | None:
    """Files that were not deleted because they changed since they were planned; None where
    there are none."""
    deletions = [step for step in steps if step.kind == "delete_files"]
    stayed = sum(step.refused for step in deletions)
    if not stayed:
        return None
    planned = sum(step.planned for step in deletions)
    was = "was" if stayed == 1 else "were"
    return Problem(
        kind="plan_stale",
        problem=f"{stayed:,} of {count(planned, 'planned file')} {was} not deleted.",
        reason="They changed since the plan was made; the receipt has the result for each file.",
        remedy="Plan again: the new plan says what to do with them now.",
    )
