"""Files of a log that is larger than one driver, as tasks of Spark see them.

A task has some row groups of a checkpoint's file, or files that commits decided. It masks
and reads them by the rules of `explorer.log.state.reconciled_files`, so that both states are the
same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from explorer.log.actions.columns import COLUMNS, empty_table, schema_of
from explorer.log.actions.fields import FileAction
from explorer.log.checkpoint.parquet_part import ParquetPart, open_part
from explorer.log.reconcile.key_columns import GroupKeys
from explorer.log.reconcile.tail import EMPTY_TAIL
from explorer.log.state.file_columns import FileColumns
from explorer.log.state.key_cache import KeyCache
from explorer.log.state.reconciled_files import LogState
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.pipeline.tasks.task_groups import unpack_files
from explorer.protocol.actions import FieldPath
from explorer.storage.ports import ReadStore

CELL: Final = "cell"
"""The one column of what tasks hand back: bytes that only this package reads."""

Work: TypeAlias = Callable[[Iterator[FileColumns]], Iterator[bytes]]
"""From the live files of a task, some thousand at a time, to the cells of its answer."""

Batches: TypeAlias = Iterator[pa.RecordBatch]
Dead: TypeAlias = Mapping[FileAction, Mapping[int, bytes]]
"""By row group, the serialized positions of rows that commits overrule."""

_KEY_BYTES: Final = 64 * 2**20
_ROWS_OF_A_TASK: Final = 2**17


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Row groups of one file of a checkpoint; `size` in bytes."""

    path: str
    size: int
    groups: tuple[int, ...]
    dead: Dead = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesQuestion:
    """What is asked of files, and what must be read for it."""

    action: FileAction
    columns: tuple[str, ...]
    leaves: tuple[FieldPath, ...] = ()
    work: Work
    mark: ErrorMark = field(default_factory=ErrorMark)


class PieceState(LogState):
    """Of a log only some row groups of a part, or only files that commits decided; `keys`
    are those that commits speak of."""

    def __init__(
        self,
        store: ReadStore,
        *,
        part: ParquetPart | None = None,
        groups: Sequence[int] = (),
        keys: pa.ChunkedArray | None = None,
        dead: Dead | None = None,
        newer: Mapping[FileAction, pa.Table] | None = None,
    ) -> None:
        super().__init__(store, None, EMPTY_TAIL, KeyCache(_KEY_BYTES))
        self._part, self._numbers = part, groups
        self._decided = keys
        self._dead = dead or {}
        self._given = newer or {}

    def keys(self, action: FileAction) -> Iterator[tuple[int, pa.ChunkedArray]]:
        """The keys of each row group, null where a row is no such action."""
        for part, group in self._row_groups(action):
            yield group, self._group_keys(part, group, action).column

    def _row_groups(self, action: FileAction) -> list[tuple[ParquetPart, int]]:
        part = self._part
        return [(part, group) for group in self._numbers] if part and part.has(action) else []

    def _rows(self, action: FileAction) -> tuple[pa.Table, pa.Table]:
        nothing = empty_table(schema_of(COLUMNS[action]))
        return nothing, self._given.get(action, nothing)

    def _mask(
        self, part: ParquetPart, group: int, action: FileAction, keys: GroupKeys | None = None
    ) -> Any:
        live = super()._mask(part, group, action, keys)
        positions = self._dead.get(action, {}).get(group)
        if positions is None:
            return live
        stays = np.ones(part.num_rows(group), np.bool_)
        stays[BitMap.deserialize(positions).to_array()] = False
        mask = pa.chunked_array([pa.array(stays)])
        mask = mask if live.mask is None else pc.and_(mask, live.mask)
        return replace(live, mask=mask, count=int(pc.sum(mask).as_py() or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPieces:
    """Asks a question of pieces by their numbers; the one after the last means the files
    that the commits decided, in `newer` as Arrow streams. `keys` is such a stream too."""

    store: ReadStore
    pieces: tuple[Piece, ...]
    keys: bytes | None
    newer: Mapping[FileAction, bytes]
    question: FilesQuestion

    def __call__(self, batches: Batches) -> Batches:
        """Cells, for batches with one column of numbers."""
        for batch in batches:
            for at in batch.column(0).to_pylist():
                yield from _answers(partial(self._state, at), self.question)

    def _state(self, at: int) -> PieceState:
        if at == len(self.pieces):
            tables = {action: unpack_files(packed) for action, packed in self.newer.items()}
            return PieceState(self.store, newer=tables)
        piece = self.pieces[at]
        return PieceState(
            self.store,
            part=open_part(self.store, piece.path, piece.size),
            groups=piece.groups,
            keys=None if self.keys is None else unpack_files(self.keys).column("key"),
            dead=piece.dead,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDecided:
    """Asks a question of files that result from the reconciliation of commits on Spark:
    batches with the columns `action` and `cell`."""

    store: ReadStore
    question: FilesQuestion

    def __call__(self, batches: Batches) -> Batches:
        """Cells."""
        for batch in batches:
            for action, cell in zip(*(item.to_pylist() for item in batch.columns), strict=True):
                if action == self.question.action:
                    yield from _answers(partial(self._state, action, cell), self.question)

    def _state(self, action: FileAction, cell: bytes) -> PieceState:
        return PieceState(self.store, newer={action: unpack_files(cell)})


def build_pieces(parts: Sequence[ParquetPart]) -> tuple[Piece, ...]:
    """The row groups of a checkpoint's files, neighbours together as long as they are few
    rows."""
    pieces: list[Piece] = []
    for part in parts:
        groups: list[int] = []
        rows = 0
        for group in range(part.num_groups):
            groups.append(group)
            rows += part.num_rows(group)
            if rows >= _ROWS_OF_A_TASK or group == part.num_groups - 1:
                pieces.append(Piece(path=part.path, size=part.size, groups=tuple(groups)))
                groups, rows = [], 0
    return tuple(pieces)


def cells(found: Sequence[bytes]) -> pa.RecordBatch:
    """Some cells as tasks hand them back."""
    return pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], names=[CELL])


def _answers(build: Callable[[], PieceState], question: FilesQuestion) -> Batches:
    with question.mark.marked():
        files = build().stream(question.action, question.columns, question.leaves)
        for cell in question.work(files):
            yield cells([cell])
