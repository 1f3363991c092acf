"""An attempt: the content of a staged commit as one version.

What depends on the version is filled in here, again for each attempt: the time, row ids
and commit versions, and since when in-commit timestamps count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from explorer.protocol.actions import DomainMetadata, Metadata
from explorer.protocol.commit_json import Action, render_action, render_lines
from explorer.protocol.features.registry import is_supported
from explorer.protocol.features.row_id_high_water_mark import ROW_TRACKING_DOMAIN
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_PROTECTION_VERSION,
    IN_COMMIT_TIMESTAMP_TIME,
    IN_COMMIT_TIMESTAMP_VERSION,
    ROW_TRACKING_SUSPENDED,
)
from explorer.table.times import has_in_commit_timestamps
from explorer.transaction.read_version import NO_TABLE

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.storage.ports import Content
    from explorer.transaction.staged import StagedCommit

_NO_MARK: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The content of one commit file; it may be gone through again."""

    version: int
    timestamp: int
    head: bytes
    """The lines of all actions but those in batches; `commitInfo` comes first."""
    adds: tuple[pa.RecordBatch, ...]
    removes: tuple[pa.RecordBatch, ...]

    def __iter__(self) -> Iterator[bytes]:
        """The bytes of the file, a piece at a time."""
        yield self.head
        if self.adds or self.removes:
            from explorer.transaction.staged_files import render_batch  # noqa: PLC0415  # Arrow

            for batch in self.adds:
                yield from render_batch("add", batch)
            for batch in self.removes:
                yield from render_batch("remove", batch)

    @property
    def content(self) -> Content:
        """What a store is given: bytes where they are few."""
        return self if self.adds or self.removes else self.head

    @property
    def first_line(self) -> bytes:
        """The line with the transaction's id, which no other commit has."""
        return self.head[: self.head.find(b"\n") + 1]

    def is_content_of(self, data: bytes) -> bool:
        """Whether `data` is this file, byte by byte."""
        view, at = memoryview(data), 0
        for piece in self:
            if view[at : at + len(piece)] != piece:
                return False
            at += len(piece)
        return at == len(data)


def build_attempt(staged: StagedCommit, now: int) -> Attempt:
    """The commit that follows `staged.base`, at `now` in milliseconds or, with in-commit
    timestamps, right after the version before it if that is later. What it removes goes at
    that time, for others count its age by the clock of the log."""
    version = staged.base.version + 1
    timestamp = now
    if has_in_commit_timestamps(staged.protocol, staged.metadata):
        timestamp = max(now, (staged.base.timestamp or 0) + 1)
    actions = _with_version(staged, timestamp)
    removes = _complete("remove", staged.removes)
    if timestamp > now:
        actions, removes = _removed_no_sooner(actions, removes, timestamp)
    adds = staged.adds
    if gives_row_ids(staged):
        actions, adds = _with_row_ids(staged, actions)
    elif _row_tracking(staged) == "suspended":
        actions, adds = _without_row_ids(staged, actions)
    lines = [{"commitInfo": _render_provenance(staged, timestamp)}, *map(render_action, actions)]
    return Attempt(
        version=version,
        timestamp=timestamp,
        head=render_lines(lines),
        adds=_complete("add", adds),
        removes=removes,
    )


def _removed_no_sooner(
    actions: tuple[Action, ...], removes: tuple[pa.RecordBatch, ...], timestamp: int
) -> tuple[tuple[Action, ...], tuple[pa.RecordBatch, ...]]:
    few = tuple(
        replace(item, deletion_timestamp=max(item.deletion_timestamp or 0, timestamp))
        if isinstance(item, RemoveFile)
        else item
        for item in actions
    )
    if not removes:
        return few, ()
    from explorer.transaction.staged_files import removed_no_sooner  # noqa: PLC0415  # Arrow

    return few, tuple(removed_no_sooner(batch, timestamp) for batch in removes)


def gives_row_ids(staged: StagedCommit) -> bool:
    """Whether new files get row ids and commit versions (spec: Row Tracking)."""
    return _row_tracking(staged) == "on"


def _row_tracking(staged: StagedCommit) -> Literal["on", "suspended"] | None:
    """Whether files have row ids, or are to have none any more; None where nobody asks."""
    protocol, metadata = staged.protocol, staged.metadata
    if protocol is None or metadata is None or not is_supported(protocol, "rowTracking"):
        return None
    return "suspended" if ROW_TRACKING_SUSPENDED.value_of(metadata.configuration) else "on"


def enables_in_commit_timestamps(staged: StagedCommit) -> bool:
    """Whether a table that did without in-commit timestamps has them from this commit on."""
    if staged.base.version == NO_TABLE.version:
        return False  # then they count from the first version, which nobody need say
    before = has_in_commit_timestamps(staged.base.protocol, staged.base.metadata)
    return not before and has_in_commit_timestamps(staged.protocol, staged.metadata)


def _with_version(staged: StagedCommit, timestamp: int) -> tuple[Action, ...]:
    """The actions, whose metadata say what only the version tells: since when the time of
    a commit is its own, and up to where checkpoints are protected."""
    metadata = staged.metadata
    told = _properties_of_version(staged, timestamp)
    if not told or metadata is None:
        return staged.actions
    metadata = replace(metadata, configuration={**metadata.configuration, **told})
    if not staged.of(Metadata):  # a property that was set before its feature was listed
        return (metadata, *staged.actions)
    return tuple(metadata if isinstance(item, Metadata) else item for item in staged.actions)


def _properties_of_version(staged: StagedCommit, timestamp: int) -> dict[str, str]:
    version = str(staged.base.version + 1)
    told: dict[str, str] = {}
    if enables_in_commit_timestamps(staged):
        told[IN_COMMIT_TIMESTAMP_VERSION.name] = version
        told[IN_COMMIT_TIMESTAMP_TIME.name] = str(timestamp)
    for metadata in staged.of(Metadata) if staged.promises.dropped_features else ():
        protected = CHECKPOINT_PROTECTION_VERSION.value_of(metadata.configuration)
        if protected == staged.read_version + 1:  # which it was to be
            told[CHECKPOINT_PROTECTION_VERSION.name] = version
    return told


def _with_row_ids(
    staged: StagedCommit, actions: tuple[Action, ...]
) -> tuple[tuple[Action, ...], tuple[pa.RecordBatch, ...]]:
    few = len(staged.of(AddFile))
    if not (few or staged.adds):
        return actions, ()
    from explorer.transaction.row_ids import ID_COLUMNS, give_row_ids  # noqa: PLC0415  # Arrow

    known = staged.base.row_id_high_water_mark
    before = _NO_MARK if known is None else known
    version = staged.base.version + 1
    adds, mark = give_row_ids(staged.files("add"), staged.files("remove"), before, version)
    # those of `actions` come first
    ids = iter(adds.slice(0, few).select(ID_COLUMNS).to_pylist())
    given = [replace(item, **next(ids)) if isinstance(item, AddFile) else item for item in actions]
    if mark > before:
        given.insert(0, _mark_domain(mark))
    return tuple(given), tuple(adds.slice(few).to_batches())


def _without_row_ids(
    staged: StagedCommit, actions: tuple[Action, ...]
) -> tuple[tuple[Action, ...], tuple[pa.RecordBatch, ...]]:
    """While row tracking is suspended, a file comes back without the ids that it had, as with
    the reference: it is on the way out, and ends where no file has any."""
    from explorer.transaction.row_ids import ID_COLUMNS  # noqa: PLC0415  # brings Arrow

    none: dict[str, Any] = dict.fromkeys(ID_COLUMNS)
    few = [replace(item, **none) if isinstance(item, AddFile) else item for item in actions]
    names = ([name for name in each.schema.names if name not in none] for each in staged.adds)
    batches = zip(staged.adds, names, strict=True)
    return tuple(few), tuple(each.select(kept) for each, kept in batches)


def _mark_domain(mark: int) -> DomainMetadata:
    """The mark as the reference writes it; the text of the specification calls it
    `highWaterMark`, and no table does."""
    body = {"rowIdHighWaterMark": mark}
    return DomainMetadata(
        domain=ROW_TRACKING_DOMAIN, configuration=orjson.dumps(body).decode(), removed=False
    )


def _complete(action: Any, batches: tuple[pa.RecordBatch, ...]) -> tuple[pa.RecordBatch, ...]:
    if not batches:
        return ()
    from explorer.transaction.staged_files import complete  # noqa: PLC0415  # brings Arrow

    return tuple(complete(action, batch) for batch in batches)


def _render_provenance(staged: StagedCommit, timestamp: int) -> dict[str, Any]:
    who = staged.provenance
    body: dict[str, Any] = {}
    if has_in_commit_timestamps(staged.protocol, staged.metadata):
        body["inCommitTimestamp"] = timestamp
    body["timestamp"] = timestamp
    if who.user_name is not None:
        body["userName"] = who.user_name
    body |= {"operation": who.operation, "operationParameters": dict(who.parameters)}
    if staged.read_version != NO_TABLE.version:
        body["readVersion"] = staged.read_version
    body |= {
        "isolationLevel": who.isolation_level,
        "isBlindAppend": staged.is_blind_append,
        "operationMetrics": dict(who.metrics),
    }
    if who.user_metadata is not None:
        body["userMetadata"] = who.user_metadata
    if who.tags:
        body["tags"] = dict(who.tags)
    return body | {"engineInfo": who.engine_info, "txnId": who.transaction_id}
