"""What the steps of a plan work with while it is carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.maintenance.documents.receipt import (
    COUNTS,
    MAX_EXCEPTIONS,
    FileException,
    FileOutcome,
    StepReceipt,
    StepStatus,
)
from explorer.maintenance.documents.state_folder import StateFolder
from explorer.maintenance.plan.newer_commits import LogWatch, stale
from explorer.maintenance.plan.plan import Plan
from explorer.maintenance.plan.step_types import DeleteFiles, Step
from explorer.progress import Watch
from explorer.storage.ports import WriteStore
from explorer.table.table import Table
from explorer.table.times import Clock


@dataclass(slots=True)
class Tally:
    """What has become of the files of one step so far."""

    planned: int = 0
    done: int = 0
    already_gone: int = 0
    refused: int = 0
    failed: int = 0
    num_bytes: int = 0
    result: dict[str, Any] | None = None
    exceptions: list[FileException] = field(default_factory=list)
    _noted: int = field(default=0, init=False, repr=False)

    def note(self, path: str, outcome: FileOutcome, reason: str) -> None:
        """Count a file that was not changed."""
        if outcome == "already gone":
            self.already_gone += 1
        elif outcome == "refused":
            self.refused += 1
        else:
            self.failed += 1
        if len(self.exceptions) < MAX_EXCEPTIONS:
            self.exceptions.append(FileException(path=path, outcome=outcome, reason=reason))

    @property
    def is_begun(self) -> bool:
        """Whether anything has become of a file."""
        return bool(self.done or self.already_gone or self.refused or self.failed)

    def take_up(self, exceptions: Iterable[FileException]) -> None:
        """Go on with what the journal has already."""
        self.exceptions = list(exceptions)
        self._noted = len(self.exceptions)

    def take_new(self) -> list[FileException]:
        """The exceptions since the last call, which the journal has from now on."""
        new = self.exceptions[self._noted :]
        self._noted = len(self.exceptions)
        return new

    def counts(self) -> dict[str, int]:
        """The numbers, as a journal keeps them."""
        return {name: getattr(self, name) for name in COUNTS}

    def receipt(self, step: Step, status: StepStatus) -> StepReceipt:
        """What became of a step, for the receipt."""
        return StepReceipt(
            id=step.id,
            kind=step.kind,
            status=status,
            **self.counts(),
            result=self.result,
            exceptions=tuple(self.exceptions),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of one plan. `results` are what earlier steps made known, by the ids of
    these; `spark` is the session for bulk work, None for the active or a local one; `by` is who
    approved it, whose name its commits carry, None where nobody was named."""

    plan: Plan
    table: Table
    store: WriteStore
    state: StateFolder
    clock: Clock
    watch: Watch
    log: LogWatch
    spark: Any = None
    by: str | None = None
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def note(self, line: Mapping[str, Any]) -> None:
        """Write a line of the journal."""
        self.state.append_journal(self.plan.digest, line)

    def version_of(self, step: Step) -> int:
        """The version that an earlier step made or looked at; raises `ConflictError` where the
        journal, from which it is known, was changed and no longer says so."""
        version = self.results.get(step.id, {}).get("version")
        if type(version) is not int:
            raise stale(f"Its journal does not say which version came of {step.title}.")
        return version

    def num_deleted(self, step: DeleteFiles) -> int:
        """How many files an earlier step deleted."""
        number = self.results.get(step.id, {}).get("num_deleted")
        return number if type(number) is int else 0
