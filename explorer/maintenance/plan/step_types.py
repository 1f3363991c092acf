"""The steps of plans: a closed union of plain values.

A step that builds upon an earlier one holds that very step, and never its position: `of` the
commit that made a version, `upon` the validation that a commit rests on. `id` names a step
within its plan, for documents and journals. `explorer.maintenance.plan._step_documents` is the
way to JSON and back; a match over `Step` has to be exhaustive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args
from uuid import UUID

from explorer.log.folder.listing import CheckpointFiles
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.transaction.staged import ValidatedRule

StepKind = Literal[
    "write_checkpoint",
    "copy_checkpoint",
    "write_compaction",
    "write_hint",
    "delete_files",
    "commit",
    "write_checksum",
    "rewrite_files",
    "repair_statistics",
    "validate_rows",
    "validate_traces",
]

Reads = Literal["nothing", "metadata", "every row"]
"""What a commit depends on; `every row` also where it changes no file itself: no row may be
added or removed unseen."""

ParameterValue = str | int | bool | None
CommitParameters: TypeAlias = Mapping[str, ParameterValue]
"""`operationParameters` of `commitInfo`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFields:
    """What every step has: its name within the plan, why it is done, and the files and bytes
    that it is about; `num_bytes` is None where it is not known."""

    kind: ClassVar[StepKind]
    id: str
    reason: str
    num_files: int = 0
    num_bytes: int | None = None

    @property
    def title(self) -> str:
        """What it does, in a word or two."""
        return self.kind.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """What `commitInfo` says of a commit. By `transaction_id`, which the plan gives, a commit
    that was made before the process was killed is found again."""

    operation: str
    transaction_id: str
    parameters: CommitParameters = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitBasis:
    """What a commit rests on: what it `reads`, and with `upon` what was validated for the
    version that it builds upon: that all rows keep to the rules of `validated`, or that nothing
    of `dropped_feature` is left. Of `unused_features`, which the protocol no longer has, no
    version ever made use."""

    reads: Reads = "nothing"
    upon: Validation | None = None
    validated: tuple[ValidatedRule, ...] = ()
    dropped_feature: str | None = None
    unused_features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredFiles:
    """Adds and removes that make the files those of `version` again."""

    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRowIds:
    """Adds of the live files without row ids, which get some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRowIds:
    """Adds of the live files with row ids, which lose them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTombstones:
    """Removes that name the files of the deletion vectors of tombstones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFiles:
    """Removes of the live files of these paths, which are gone from the store."""

    paths: tuple[str, ...]


FileChanges = RestoredFiles | GivenRowIds | TakenRowIds | VectorTombstones | MissingFiles
"""The file actions of a commit, described: they are worked out again from the plan's version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(StepFields):
    """Commit `actions` and the file actions that `files` describes, as many as `num_files`.

    With `counts` the metric of deleted files is that of an earlier step. With
    `protects_history` its metadata say that the checkpoints before it are protected.
    """

    kind: ClassVar[StepKind] = "commit"
    record: CommitRecord
    basis: CommitBasis = CommitBasis()
    actions: tuple[Protocol | Metadata | DomainMetadata, ...] = ()
    files: FileChanges | None = None
    counts: DeleteFiles | None = None
    protects_history: bool = False

    @property
    def title(self) -> str:
        """The operation, as the history has it."""
        return self.record.operation

    @property
    def transaction_id(self) -> str:
        """By which the commit is found again."""
        return self.record.transaction_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What an optimize is asked for, with everything that the table says about it.

    `columns` are physical field paths, empty where rows keep their order; `is_clustering`
    says that the table names them, and not the caller.
    """

    where: str | None
    target_size: int
    purge: bool
    columns: tuple[tuple[str, ...], ...] = ()
    names: tuple[str, ...] = ()
    is_clustering: bool = False
    batch_size: int

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields as JSON, for the plan's parameters and its document."""
        return {
            "where": self.where,
            "target_size": self.target_size,
            "purge": self.purge,
            "columns": [list(path) for path in self.columns],
            "names": list(self.names),
            "is_clustering": self.is_clustering,
            "batch_size": self.batch_size,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteFiles(StepFields):
    """Write the files of one batch again and commit them. `aim` is what chooses them;
    `groups_sha256` is the digest of the files and their groups, `seed` names the new files."""

    kind: ClassVar[StepKind] = "rewrite_files"
    transaction_id: str
    parameters: CommitParameters
    aim: Aim
    batch: int
    num_groups: int
    groups_sha256: str
    seed: UUID

    @property
    def title(self) -> str:
        """The operation, as the history has it."""
        return OPTIMIZE


OPTIMIZE = "OPTIMIZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairStatistics(StepFields):
    """Read `num_files` of the plan's files from the row `first` on, and commit them with
    their statistics."""

    kind: ClassVar[StepKind] = "repair_statistics"
    transaction_id: str
    first: int


CommittingStep = Commit | RewriteFiles | RepairStatistics
"""Steps that make a version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCheckpoint(StepFields):
    """Write a checkpoint of a version, or `of` the version that an earlier step makes: with
    `every` only where that divides it. `seed` names new files."""

    kind: ClassVar[StepKind] = "write_checkpoint"
    of: int | CommittingStep
    seed: UUID
    every: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyCheckpoint(StepFields):
    """Write the V2 checkpoint of a version under the classic name too."""

    kind: ClassVar[StepKind] = "copy_checkpoint"
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCompaction(StepFields):
    """Write the log compaction file of the versions `first` to `last`."""

    kind: ClassVar[StepKind] = "write_compaction"
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteHint(StepFields):
    """Let `_last_checkpoint` name the checkpoint of a version, with its `size` in actions and
    the `parts` of a multi-part one."""

    kind: ClassVar[StepKind] = "write_hint"
    version: int
    size: int
    parts: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteChecksum(StepFields):
    """Write the checksum `of` the version that an earlier step makes."""

    kind: ClassVar[StepKind] = "write_checksum"
    of: CommittingStep


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededFile:
    """A file that makes others needless, with its size in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFiles(StepFields):
    """Delete what the plan's file list has under `delete`.

    The files of `needs` have to be there still, and the checkpoints of `broken` have to be so
    still. With `announced_by`, the start of a vacuum, deleting ends before nobody heeds that
    start any more.
    """

    kind: ClassVar[StepKind] = "delete_files"
    needs: tuple[NeededFile, ...] = ()
    broken: tuple[CheckpointFiles, ...] = ()
    announced_by: Commit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateRows(StepFields):
    """Look whether every row of the newest version keeps to the conditions of `expressions`,
    by their names."""

    kind: ClassVar[StepKind] = "validate_rows"
    expressions: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateTraces(StepFields):
    """Look whether the newest version still uses `feature`."""

    kind: ClassVar[StepKind] = "validate_traces"
    feature: str


Validation = ValidateRows | ValidateTraces
"""Steps that change nothing. What they found holds for the version that they read, so a
resumed execution repeats them."""

Step = (
    Commit
    | CopyCheckpoint
    | DeleteFiles
    | RepairStatistics
    | RewriteFiles
    | ValidateRows
    | ValidateTraces
    | WriteCheckpoint
    | WriteChecksum
    | WriteCompaction
    | WriteHint
)

COMMITTING_KINDS: frozenset[str] = frozenset(step.kind for step in get_args(CommittingStep))
"""Steps that make a version."""

VALIDATING_KINDS: frozenset[str] = frozenset({ValidateRows.kind, ValidateTraces.kind})


def references_of(step: Step) -> Iterator[Step]:
    """The earlier steps that a step holds."""
    match step:
        case Commit():
            yield from (held for held in (step.basis.upon, step.counts) if held is not None)
        case DeleteFiles() if step.announced_by is not None:
            yield step.announced_by
        case WriteChecksum():
            yield step.of
        case WriteCheckpoint() if not isinstance(step.of, int):
            yield step.of
        case _:
            pass


def check_steps(steps: Sequence[Step]) -> None:
    """Raise `ValueError` where two steps have one name, or one holds a step that is none of
    those before it."""
    earlier: dict[str, Step] = {}
    for step in steps:
        if step.id in earlier:
            raise ValueError(f"two steps are called {step.id!r}")
        for held in references_of(step):
            if earlier.get(held.id) is not held:
                raise ValueError(f"{step.id!r} builds upon {held.id!r}, which is not before it")
        earlier[step.id] = step
