"""The reconciled files of one version (spec: Action Reconciliation).

A checkpoint's rows are masked by what the commits after it decide; only masks
are kept. Every question reads just the columns it needs, row group by row
group, two at a time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.action_fields import FileAction
from explorer.log.checkpoint import Checkpoint
from explorer.log.columns import COLUMNS
from explorer.log.key_cache import KeyCache
from explorer.log.key_columns import GroupKeys, decided_keys, keys_of, keys_of_arrays
from explorer.log.parquet_part import ParquetPart, open_part
from explorer.log.record_counts import record_counts
from explorer.log.tail import EMPTY_TAIL, Tail
from explorer.storage.ports import ReadStore

_TYPES = {
    action: {name: rule[2] for name, rule in rules.items()} for action, rules in COLUMNS.items()
}
_NUM_RECORDS = "num_records"
_STATS_PARSED_COUNT = "stats_parsed.numRecords"

# decoding releases Python's lock; more than two fight over memory instead
_READERS = 2


Job = TypeVar("Job")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _LiveGroup:
    """The rows of one row group that are in force; `mask` is None where all are."""

    part: ParquetPart
    group: int
    mask: pa.ChunkedArray | None
    count: int


class LogState:
    """The live files and the tombstones of one version; safe to share between threads."""

    def __init__(
        self, store: ReadStore, checkpoint: Checkpoint | None, tail: Tail, cache: KeyCache
    ) -> None:
        self._store = store
        self._checkpoint = checkpoint
        self._tail = tail
        self._cache = cache
        self._decided = decided_keys(tail) if checkpoint and tail.decides_files else None
        self._lock = threading.RLock()
        self._live: dict[FileAction, list[_LiveGroup]] = {}
        self._opened: list[ParquetPart] | None = None

    def count(self, action: FileAction) -> int:
        """How many files are live ("add") or how many tombstones there are ("remove")."""
        inline, tail = self._rows(action)
        stored = sum(group.count for group in self._groups(action))
        return int(stored + inline.num_rows + tail.num_rows)

    def tables(self, action: FileAction, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The files in force, a table per row group, then those of the commits.

        `columns` are names of `ADD_COLUMNS` or `REMOVE_COLUMNS`, or `num_records`.
        """
        groups = [group for group in self._groups(action) if group.count]
        yield from _ahead(lambda group: self._read(group, action, columns), groups)
        for rows in self._rows(action):
            if rows.num_rows:
                yield _select(rows, columns)

    def schema(self, action: FileAction, columns: Sequence[str]) -> pa.Schema:
        """The schema of `tables`."""
        types = _TYPES[action] | {_NUM_RECORDS: pa.int64()}
        return pa.schema([(name, types[name]) for name in columns])

    def _rows(self, action: FileAction) -> tuple[pa.Table, pa.Table]:
        inline = self._checkpoint.inline if self._checkpoint else EMPTY_TAIL
        held, newer = (
            (inline.adds, self._tail.adds)
            if action == "add"
            else (inline.removes, self._tail.removes)
        )
        if held.num_rows and self._decided is not None:
            held = held.filter(pc.invert(pc.is_in(keys_of(held), value_set=self._decided)))
        return held, newer

    def _parts(self) -> list[ParquetPart]:
        if self._checkpoint is None:
            return []
        if self._opened is None:
            sidecars = [
                open_part(self._store, sidecar.path, sidecar.size)
                for sidecar in self._checkpoint.sidecars
            ]
            self._opened = [*self._checkpoint.parts, *sidecars]
        return self._opened

    def _groups(self, action: FileAction) -> list[_LiveGroup]:
        with self._lock:
            if (found := self._live.get(action)) is None:
                jobs = [
                    (part, group)
                    for part in self._parts()
                    if part.has(action)
                    for group in range(part.num_row_groups)
                ]
                found = list(_ahead(lambda job: self._mask(*job, action), jobs))
                self._live[action] = found
            return found

    def _mask(self, part: ParquetPart, group: int, action: FileAction) -> _LiveGroup:
        held = self._group_keys(part, group, action)
        mask: pa.ChunkedArray | None = None
        if held.paths.null_count:
            mask = pc.is_valid(held.paths)
        if self._decided is not None:
            open_still = pc.invert(pc.is_in(held.keys, value_set=self._decided))
            mask = open_still if mask is None else pc.and_(mask, open_still)
        count = len(held.paths) if mask is None else int(pc.sum(mask).as_py() or 0)
        if count == len(held.paths):
            mask = None
        return _LiveGroup(part=part, group=group, mask=mask, count=count)

    def _group_keys(self, part: ParquetPart, group: int, action: FileAction) -> GroupKeys:
        if (held := self._cache.get(part, group, action)) is not None:
            return held
        vectors = part.has_vectors(group, action)
        table = part.read_group(group, action, ["path", "deletion_vector"] if vectors else ["path"])
        paths = table.column("path")
        if vectors:
            # parts of one struct share their chunks
            pairs = zip(paths.chunks, table.column("deletion_vector").chunks, strict=True)
            keys = pa.chunked_array([keys_of_arrays(*pair) for pair in pairs], pa.string())
        else:
            chunks = [keys_of_arrays(chunk, None) for chunk in paths.chunks]
            same = all(new is old for new, old in zip(chunks, paths.chunks, strict=True))
            keys = paths if same else pa.chunked_array(chunks, pa.string())
        held = GroupKeys(paths=paths, keys=keys)
        self._cache.put(part, group, action, held)
        return held

    def _read(self, live: _LiveGroup, action: FileAction, columns: Sequence[str]) -> pa.Table:
        part, group = live.part, live.group
        stored = [name for name in columns if name not in {"path", _NUM_RECORDS}]
        arrays: dict[str, pa.ChunkedArray] = {}
        if stored:
            table = part.read_group(group, action, stored)
            arrays = dict(zip(table.column_names, table.columns, strict=True))
        if "path" in columns:
            arrays["path"] = self._group_keys(part, group, action).paths
        if _NUM_RECORDS in columns:
            arrays[_NUM_RECORDS] = _read_counts(part, group, action)
        found = pa.Table.from_arrays([arrays[name] for name in columns], names=list(columns))
        return found if live.mask is None else found.filter(live.mask)


def _read_counts(part: ParquetPart, group: int, action: FileAction) -> pa.ChunkedArray:
    """The counts of a whole row group: masking numbers is cheaper than masking statistics."""
    parsed = _STATS_PARSED_COUNT
    extra = [parsed] if _has_leaf(part, f"{action}.{parsed}") else []
    table = part.read_group(group, action, ["stats"], extra)
    return record_counts(table.column("stats"), table.column(parsed) if extra else None)


def _has_leaf(part: ParquetPart, leaf: str) -> bool:
    kind: pa.DataType = pa.struct(list(part.schema))
    for name in leaf.split("."):
        if not pa.types.is_struct(kind) or (at := kind.get_field_index(name)) < 0:
            return False
        kind = kind.field(at).type
    return True


def _select(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    arrays = [
        record_counts(rows.column("stats"), None) if name == _NUM_RECORDS else rows.column(name)
        for name in columns
    ]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _ahead(work: Callable[[Job], Answer], jobs: Sequence[Job]) -> Iterator[Answer]:
    if len(jobs) < 2:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(_READERS, thread_name_prefix="delta-explorer-state") as pool:
        waiting: deque[Future[Answer]] = deque()
        try:
            for job in jobs:
                waiting.append(pool.submit(work, job))
                if len(waiting) > _READERS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()
