"""Whether a commit may still follow a concurrent commit that was made first.

The rules are values, each with its reason, and are those of the reference's conflict
checker. They err on the side of refusing: what cannot be told from the two commits
counts as a conflict. Stricter than the reference are the first two: of changed metadata
only the numbers that identity columns have given out may be followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from explorer.errors import ConflictError
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.features.row_id_high_water_mark import ROW_TRACKING_DOMAIN
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.transaction.concurrent_commit import (
    SHOWN,
    CommitProvenance,
    ConcurrentCommit,
    FirstPaths,
)
from explorer.transaction.identity_marks import differ_in_identity_alone
from explorer.transaction.staged import IsolationLevel, StagedCommit

if TYPE_CHECKING:
    import pyarrow as pa

ConflictRule = Literal[
    "protocol changed",
    "metadata changed",
    "domain metadata",
    "concurrent transaction",
    "concurrent append",
    "concurrent delete-read",
    "concurrent delete-delete",
    "same file",
    "vacuum began",
    "commit gone",
]
"""The closed list of rules, by the names that the reference gives its exceptions where it has
them."""

OverlapKind = Literal["paths", "application ids", "domains", "settings", "versions"]

_NAMED: Final = 3
_SHOWN_TEXT: Final = 120
"""Of an overlap in a message, and the characters of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """What both commits touch: the first few, and how many there are. `predicate` is the
    condition by which it was found, where there was one."""

    kind: OverlapKind
    values: tuple[str, ...]
    total: int
    predicate: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Why a staged commit cannot follow the commit of `version`, which `commit` describes.

    `spec` names the section that the rule rests on, where it is one of the specification
    and not of an isolation level.
    """

    version: int
    rule: ConflictRule
    reason: str
    overlap: Overlap
    isolation_level: IsolationLevel
    commit: CommitProvenance = field(default_factory=CommitProvenance)
    spec: str | None = None

    def as_error(self) -> ConflictError:
        """The conflict for a caller who cannot go on."""
        parts = (self.commit.operation, self.commit.user_name, self.commit.engine_info)
        who = ", ".join(part[:_SHOWN_TEXT] for part in parts if part)
        named = ", ".join(value[:_SHOWN_TEXT] for value in self.overlap.values[:_NAMED])
        more = self.overlap.total - min(len(self.overlap.values), _NAMED)
        problem = f"Version {self.version} was committed by another writer first"
        if self.rule == "commit gone":
            problem = f"Version {self.version} is no longer what it was in the log"
        return ConflictError(
            f"{problem}{f' ({who})' if who else ''}.",
            reason=f"{self.reason} Both touch these {self.overlap.kind}: {named}"
            f"{f' and {more:,} more' if more else ''} ({self.rule}).",
            remedy="Read the table again and repeat the operation on its newest version.",
            spec=self.spec,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """`overlap` finds what both touch, None where they do not meet."""

    name: ConflictRule
    reason: str
    overlap: Callable[[StagedCommit, ConcurrentCommit], Overlap | None]
    spec: str | None = None


def find_conflicts(staged: StagedCommit, concurrent: ConcurrentCommit) -> Iterator[Conflict]:
    """Every rule that forbids `staged` to follow `concurrent`, in the order of Delta Spark."""
    for rule in _RULES:
        if (overlap := rule.overlap(staged, concurrent)) is not None:
            yield Conflict(
                version=concurrent.version,
                rule=rule.name,
                reason=rule.reason,
                overlap=overlap,
                isolation_level=staged.provenance.isolation_level,
                commit=concurrent.summary,
                spec=rule.spec,
            )


def find_conflict(staged: StagedCommit, concurrent: ConcurrentCommit) -> Conflict | None:
    """The first of them, or None."""
    return next(find_conflicts(staged, concurrent), None)


def commit_gone(staged: StagedCommit, version: int) -> Conflict:
    """The conflict with a commit that a cleanup removed before it could be looked at."""
    return Conflict(
        version=version,
        rule="commit gone",
        reason="Its commit was removed by a log cleanup, so what it did is unknown.",
        overlap=Overlap(kind="versions", values=(str(version),), total=1),
        isolation_level=staged.provenance.isolation_level,
        spec="Metadata Cleanup",
    )


def version_replaced(staged: StagedCommit) -> Conflict:
    """The conflict where the log was removed, replaced by an older one, or created again."""
    version = staged.base.version
    return Conflict(
        version=version,
        rule="commit gone",
        reason="It was read, but is gone or another commit now: the table was dropped, replaced "
        "or created again.",
        overlap=Overlap(kind="versions", values=(str(version),), total=1),
        isolation_level=staged.provenance.isolation_level,
        spec="Delta Log Entries",
    )


def _protocol_changed(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    if not concurrent.changes_protocol:
        return None
    same = concurrent.protocol is not None and concurrent.protocol == staged.base.protocol
    if same or not (staged.reads.metadata or staged.of(Protocol)):
        return None
    return _settings("protocol")


def _metadata_changed(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    if not concurrent.changes_metadata:
        return None
    changes = bool(staged.of(Metadata))
    if not (staged.reads.metadata or changes):
        return None
    before, after = staged.base.metadata, concurrent.metadata
    if before is None or after is None or changes:
        return _settings("metaData")
    if before == after or differ_in_identity_alone(before, after):
        return None
    parts = [name for name in _PARTS if getattr(before, name) != getattr(after, name)]
    return _settings(*(_PARTS[name] for name in parts))


def _same_application(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    mine = {action.app_id for action in staged.of(Transaction)} | staged.reads.application_ids
    return _names("application ids", mine & concurrent.application_ids)


def _same_domain(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    mine = {action.domain for action in staged.of(DomainMetadata)}
    if "domainMetadata" in staged.promises.dropped_features:
        mine |= concurrent.domains  # it would have no feature to live by
    # row ids are assigned again above the concurrent commit's mark
    return _names("domains", (mine & concurrent.domains) - {ROW_TRACKING_DOMAIN})


def _rows_added(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    if staged.promises.removes_every_live_file:
        return _files_that_would_stay(staged, concurrent)
    level, reads = staged.provenance.isolation_level, staged.reads
    if level == "SnapshotIsolation" or not (reads.whole_table or reads.predicates):
        return None
    if level == "WriteSerializable" and concurrent.is_blind_append and not staged.of(Metadata):
        return None
    if reads.whole_table:
        return _first(concurrent.added_paths)
    from explorer.transaction._matched_files import matching, new_rows  # noqa: PLC0415  # Arrow

    return _found_by_predicates(staged, matching(reads, new_rows(concurrent.adds)))


def _files_that_would_stay(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    """Whatever they hold: of files of another schema, or laid out otherwise, none may stay. One
    that it removes anyway may have been added again, as whoever completes statistics does."""
    if not concurrent.add_rows.num_rows:
        return None
    import pyarrow.compute as pc  # noqa: PLC0415  # brings Arrow

    from explorer.log.reconcile.key_columns import keys_of  # noqa: PLC0415  # as above

    goes = pc.is_in(keys_of(concurrent.adds), value_set=keys_of(staged.files("remove")))
    return _paths(concurrent.adds.filter(pc.invert(goes)))


def _rows_removed(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    reads = staged.reads
    if not reads.reads_rows or not concurrent.num_removes:
        return None
    if reads.whole_table:
        return _first(concurrent.removed_paths)
    from explorer.transaction._matched_files import matching  # noqa: PLC0415  # brings Arrow
    from explorer.transaction.read_set import among  # noqa: PLC0415  # as above

    if staged.read_keys is not None:
        return _paths(among(concurrent.removes, staged.read_keys, staged.base.root))
    return _found_by_predicates(staged, matching(reads, concurrent.removes))


def _removed_twice(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    if not (concurrent.num_removes and (staged.removes or staged.of(RemoveFile))):
        return None
    from explorer.transaction.read_set import among  # noqa: PLC0415  # brings Arrow

    return _paths(among(concurrent.removes, staged.removed_keys, staged.base.root))


def _same_file(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    if not (staged.adds or staged.of(AddFile)):
        return None
    from explorer.transaction.read_set import among  # noqa: PLC0415  # brings Arrow

    mine = staged.added_keys
    root = staged.base.root
    return _paths(among(concurrent.adds, mine, root)) or _paths(
        among(concurrent.removes, mine, root)
    )


def _settings(*names: str) -> Overlap:
    return Overlap(kind="settings", values=names, total=len(names))


def _names(kind: OverlapKind, names: set[str]) -> Overlap | None:
    if not names:
        return None
    return Overlap(kind=kind, values=tuple(sorted(names)[:SHOWN]), total=len(names))


def _first(files: FirstPaths) -> Overlap | None:
    return Overlap(kind="paths", values=files.paths, total=files.total) if files.total else None


def _paths(files: pa.Table) -> Overlap | None:
    if not files.num_rows:
        return None
    shown = files.column("path").slice(0, SHOWN).to_pylist()
    return Overlap(kind="paths", values=tuple(shown), total=files.num_rows)


def _found_by_predicates(staged: StagedCommit, files: pa.Table) -> Overlap | None:
    if (found := _paths(files)) is None:
        return None
    texts = [read.predicate.text for read in staged.reads.predicates]
    return replace(found, predicate=" OR ".join(texts))


def _files_going(staged: StagedCommit, concurrent: ConcurrentCommit) -> Overlap | None:
    """What a restore brings back lies where only tombstones keep it, if anything does."""
    if not staged.promises.recommits or concurrent.summary.operation != VACUUM_START:
        return None
    return _paths(staged.files("add"))


VACUUM_START: Final = "VACUUM START"

_PARTS: Final = {
    "id": "id",
    "name": "name",
    "description": "description",
    "format_provider": "format",
    "format_options": "format",
    "schema_string": "schema",
    "partition_columns": "partition columns",
    "configuration": "properties",
    "unknown_fields": "metaData",
}

_RULES: Final = (
    _Rule(
        name="protocol changed",
        reason="It changed the protocol.",
        overlap=_protocol_changed,
        spec="Protocol Evolution",
    ),
    _Rule(
        name="metadata changed",
        reason="It changed the schema or the properties.",
        overlap=_metadata_changed,
        spec="Change Metadata",
    ),
    _Rule(
        name="domain metadata",
        reason="It changed the same metadata domain.",
        overlap=_same_domain,
        spec="Domain Metadata",
    ),
    _Rule(
        name="concurrent transaction",
        reason="It recorded progress of the same application.",
        overlap=_same_application,
        spec="Transaction Identifiers",
    ),
    _Rule(
        name="concurrent append",
        reason="It added files, or other deletion vectors, that this operation did not see.",
        overlap=_rows_added,
    ),
    _Rule(
        name="concurrent delete-read",
        reason="It removed or changed files that this operation read.",
        overlap=_rows_removed,
    ),
    _Rule(
        name="concurrent delete-delete",
        reason="It removed or changed a file that this commit removes, too.",
        overlap=_removed_twice,
        spec="Add File and Remove File",
    ),
    _Rule(
        name="same file",
        reason="It added, removed or changed a file that this commit adds again.",
        overlap=_same_file,
        spec="Action Reconciliation",
    ),
    _Rule(
        name="vacuum began",
        reason="It says that a vacuum began, which may delete what this commit brings back.",
        overlap=_files_going,
    ),
)
