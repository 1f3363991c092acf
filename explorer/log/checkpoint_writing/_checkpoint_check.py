"""Whether a checkpoint reads back, before anything points to it (spec: Checkpoints)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from explorer.errors import DeltaError
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.checkpoint_writing._checked_output import (
    CheckedFile,
    check_written,
    not_read_back,
)
from explorer.log.folder.listing import CheckpointFiles
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.reconcile.tail import EMPTY_TAIL
from explorer.log.state.key_cache import KeyCache
from explorer.log.state.reconciled_files import LogState
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.commit_json import ActionLine
from explorer.storage.ports import ReadStore

_Action = TypeVar("_Action", Protocol, Metadata, Transaction, DomainMetadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a checkpoint must hold: its actions that are few, as they were written, and
    how many live files and tombstones."""

    small: tuple[ActionLine, ...]
    num_adds: int
    num_removes: int


def check_reads_back(
    store: ReadStore, files: CheckpointFiles, written: Iterable[CheckedFile], expected: Expected
) -> None:
    """Read `written`, all the files of a checkpoint, byte by byte, and the checkpoint as a
    reader does.

    Raises `CorruptLogError` where anything is not as it was written.
    """
    name = files.names[0]
    for file in written:
        check_written(store, file)
    try:
        checkpoint = read_checkpoint(store, files)
        state = LogState(store, checkpoint, EMPTY_TAIL, KeyCache(0))
        counts = state.count("add"), state.count("remove")
    except DeltaError as error:
        raise not_read_back(name, error.reason.rstrip(".")) from error
    if counts != (expected.num_adds, expected.num_removes):
        told = f"{expected.num_adds} files and {expected.num_removes} tombstones"
        raise not_read_back(name, f"of {told} it has {counts[0]} and {counts[1]}")
    known = SmallActions()
    for line in expected.small:
        known.offer(line, name)
    if _comparable(known) != _comparable(checkpoint.small):
        raise not_read_back(name, "its protocol, metadata, transactions or domains differ")


def _comparable(small: SmallActions) -> SmallActions:
    """The small actions with only the names of their unknown fields: a struct column adds nulls
    inside of these that the log does not have."""
    return SmallActions(
        protocol=None if small.protocol is None else _named(small.protocol),
        metadata=None if small.metadata is None else _named(small.metadata),
        transactions={key: _named(found) for key, found in small.transactions.items()},
        domains={key: _named(found) for key, found in small.domains.items()},
        row_id_high_water_mark=small.row_id_high_water_mark,
    )


def _named(action: _Action) -> _Action:
    return replace(action, unknown_fields=dict.fromkeys(action.unknown_fields))
