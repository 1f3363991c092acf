"""The reconciled files of one version (spec: Action Reconciliation).

A checkpoint's rows are masked by what the commits after it decide; only masks
are kept. Every question reads just the columns it needs, row group by row
group, two at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import COLUMNS
from explorer.log.actions.fields import FileAction
from explorer.log.actions.record_counts import record_counts
from explorer.log.checkpoint.parquet_part import ParquetPart, open_part
from explorer.log.checkpoint.read import Checkpoint
from explorer.log.reconcile.key_columns import (
    GroupKeys,
    decided_keys,
    keys_of,
    keys_of_paths,
    keys_of_rows,
)
from explorer.log.reconcile.tail import EMPTY_TAIL, Tail
from explorer.log.state._live_groups import (
    NUM_RECORDS,
    STATS_PARSED_COUNT,
    LaterColumns,
    LiveGroup,
    WantedColumns,
    assemble,
    find_live,
    only_live,
    select,
)
from explorer.log.state.file_columns import FileColumns
from explorer.log.state.key_cache import KeyCache
from explorer.protocol.actions import FieldPath
from explorer.storage.concurrent_reads import Answer, Job, map_concurrently, run_concurrently
from explorer.storage.ports import RangeStore, ReadStore, offers

_TYPES = {
    action: {name: rule[2] for name, rule in rules.items()} for action, rules in COLUMNS.items()
}
_VECTOR = "deletion_vector"

_NEWER_AT_ONCE = 32_768
"""Files of commits, which whoever looks on hears of piece by piece."""

# keys of commits: each lookup sorts them in again, however few it looks at
_FEW_DECIDED = 4_096

# decoding releases Python's lock; more than two fight over memory instead
_READERS = 2

# where most of the time is waiting for the store
_REMOTE_READERS = 8


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
        self._live: dict[FileAction, list[LiveGroup]] = {}
        self._opened: list[ParquetPart] | None = None
        self._readers = _REMOTE_READERS if offers(store, RangeStore) else _READERS

    def count(self, action: FileAction) -> int:
        """How many files are live ("add") or how many tombstones there are ("remove")."""
        inline, tail = self._rows(action)
        stored = sum(group.count for group in self._groups(action))
        return int(stored + inline.num_rows + tail.num_rows)

    def tables(self, action: FileAction, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The files in force, a table per row group, then those of the commits.

        `columns` are names of `ADD_COLUMNS` or `REMOVE_COLUMNS`, or `num_records`.
        """
        with self._lock:
            found = self._live.get(action)
        if found is None:
            yield from self._first_tables(action, columns)
        else:
            groups = [group for group in found if group.count]
            yield from self._ahead(lambda group: self._read(group, action, columns).table, groups)
        for rows in self._rows(action):
            if rows.num_rows:
                yield select(rows, columns)

    def _first_tables(self, action: FileAction, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Those of a checkpoint whose keys nobody has asked for yet: what is read for the keys
        is not read once more for the answer."""

        def look(at: tuple[ParquetPart, int]) -> tuple[LiveGroup, pa.Table | None]:
            keys, vectors = self._keys_and_vectors(*at, action, whole=_VECTOR in columns)
            live = self._mask(*at, action, keys)
            if not live.count:
                return live, None
            return live, self._read(live, action, columns, keys=keys, vectors=vectors).table

        looked: list[LiveGroup] = []
        for live, rows in self._ahead(look, self._row_groups(action)):
            looked.append(live)
            if rows is not None:
                yield rows
        with self._lock:
            self._live.setdefault(action, looked)

    def reduce_files(
        self,
        columns: Sequence[str],
        leaves: Sequence[FieldPath],
        reduce: Callable[[FileColumns], Answer],
    ) -> Iterator[Answer]:
        """What `reduce` makes of the live files, in the order of `tables`.

        It gets some thousand files of a row group, or the files of the commits, at a
        time, and runs in the threads that read, so that nothing needs to hold every file.
        `columns` are as in `tables`, `leaves` are ways into an `add` action.
        """
        with self._lock:
            found = self._live.get("add")
        if found is None and {"path", _VECTOR} & set(columns):
            # they are the keys, which are held for whoever asks next
            found = self._groups("add")

        jobs = [group for group in found or () if group.count]
        unlooked = self._row_groups("add") if found is None else []
        # several row groups are shared out between threads; of one it must be its pieces
        over = _reduce_beside if len(jobs) + len(unlooked) == 1 else map

        def read(live: LiveGroup) -> tuple[LiveGroup, list[Answer]]:
            return live, [*over(reduce, self._pieces(live, columns, leaves))]

        def look(job: tuple[ParquetPart, int]) -> tuple[LiveGroup, list[Answer]]:
            if not self._has_plain_keys(*job):
                live = self._mask(*job, "add")
                return read(live) if live.count else (live, [])
            masks: list[pa.Array] = []
            every = LiveGroup.of("add", *job, None)
            answers = [*over(reduce, self._new_pieces(every, columns, leaves, masks))]
            return LiveGroup.of("add", *job, pa.chunked_array(masks, pa.bool_())), answers

        if found is None:
            looked: list[LiveGroup] = []
            for live, answers in self._ahead(look, unlooked):
                looked.append(live)
                yield from answers
            with self._lock:
                self._live.setdefault("add", looked)
        else:
            for _, answers in self._ahead(read, jobs):
                yield from answers
        yield from map(reduce, self._newer("add", columns))

    def stream(
        self, action: FileAction, columns: Sequence[str], leaves: Sequence[FieldPath]
    ) -> Iterator[FileColumns]:
        """The files in force as `reduce_files` hands them on, read as they are asked for."""
        with self._lock:
            found = self._live.get(action)
        groups = (self._mask(*job, action) for job in self._row_groups(action))
        for live in groups if found is None else found:
            if live.count:
                yield from self._pieces(live, columns, leaves)
        yield from self._newer(action, columns)

    def _newer(self, action: FileAction, columns: Sequence[str]) -> Iterator[FileColumns]:
        for rows in self._rows(action):
            for start in range(0, rows.num_rows, _NEWER_AT_ONCE):
                some = rows.slice(start, _NEWER_AT_ONCE)
                yield FileColumns(table=select(some, columns), leaves={}, further=some.column)

    def among(
        self,
        action: FileAction,
        keys: pa.ChunkedArray,
        columns: Sequence[str],
        later: LogState | None = None,
    ) -> Iterator[pa.Table]:
        """Those files of `tables` whose key (see `key_columns`) is one of `keys`; of a
        checkpoint, only row groups that hold one are read further than their keys.

        The commits of `later`, where it is given, speak of every key. If it rests on the
        same checkpoint, what it has masked there is all that must be looked at.
        """
        open_still = keys
        if self._decided is not None:
            open_still = pc.filter(keys, pc.invert(pc.is_in(keys, value_set=self._decided)))
        if len(open_still):
            shared = later is not None and later._checkpoint is self._checkpoint
            groups = self._row_groups(action)
            masked = later._groups(action) if later is not None and shared else [None] * len(groups)
            jobs = [
                (group, live)
                for group, live in zip(groups, masked, strict=True)
                if live is None or live.mask is not None
            ]

            def read(job: tuple[tuple[ParquetPart, int], LiveGroup | None]) -> pa.Table | None:
                return self._read_among(*job, action, open_still, columns)

            at_hand = self._holds(action, jobs, columns)
            found = map(read, jobs) if at_hand else self._ahead(read, jobs)
            yield from (rows for rows in found if rows is not None)
        for rows in self._rows(action):
            if not rows.num_rows:
                continue
            kept = pc.filter(rows, pc.is_in(keys_of(rows), value_set=keys))
            if kept.num_rows:
                yield select(kept, columns)

    def _holds(
        self,
        action: FileAction,
        jobs: Sequence[tuple[tuple[ParquetPart, int], LiveGroup | None]],
        columns: Sequence[str],
    ) -> bool:
        """Whether these columns need no reading, so that threads would take longer to begin
        than all the work does."""
        held = [self._cache.get(*group, action) for group, _ in jobs]
        return set(columns) <= {"path", _VECTOR} and all(
            keys is not None and not keys.has_vectors for keys in held
        )

    def records(self, action: FileAction, name: str) -> bool:
        """Whether the checkpoint, as far as it holds such actions, has the field that
        answers `name`; without one a null says nothing."""
        field = COLUMNS[action][name][0]
        return all(part.has(action, field) for part in self._parts() if part.has(action))

    def schema(self, action: FileAction, columns: Sequence[str]) -> pa.Schema:
        """The schema of `tables`."""
        types = _TYPES[action] | {NUM_RECORDS: pa.int64()}
        return pa.schema([(name, types[name]) for name in columns])

    def _ahead(self, work: Callable[[Job], Answer], jobs: Sequence[Job]) -> Iterator[Answer]:
        return run_concurrently(work, jobs, self._readers) if len(jobs) > 1 else map(work, jobs)

    def _rows(self, action: FileAction) -> tuple[pa.Table, pa.Table]:
        inline = self._checkpoint.inline if self._checkpoint else EMPTY_TAIL
        held, newer = (
            (inline.adds, self._tail.adds)
            if action == "add"
            else (inline.removes, self._tail.removes)
        )
        if held.num_rows and self._decided is not None:
            held = pc.filter(held, pc.invert(pc.is_in(keys_of(held), value_set=self._decided)))
        return held, newer

    def _parts(self) -> list[ParquetPart]:
        if self._checkpoint is None:
            return []
        if self._opened is None:
            sidecars = map_concurrently(
                self._store,
                lambda sidecar: open_part(self._store, sidecar.path, sidecar.size),
                self._checkpoint.sidecars,
            )
            self._opened = [*self._checkpoint.parts, *sidecars]
        return self._opened

    def _groups(self, action: FileAction) -> list[LiveGroup]:
        with self._lock:
            if (found := self._live.get(action)) is None:
                jobs = self._row_groups(action)
                found = list(self._ahead(lambda job: self._mask(*job, action), jobs))
                self._live[action] = found
            return found

    def _row_groups(self, action: FileAction) -> list[tuple[ParquetPart, int]]:
        with self._lock:
            return [
                (part, group)
                for part in self._parts()
                if part.has(action)
                for group in range(part.num_groups)
            ]

    def _mask(
        self, part: ParquetPart, group: int, action: FileAction, keys: GroupKeys | None = None
    ) -> LiveGroup:
        keys = self._group_keys(part, group, action) if keys is None else keys
        mask = find_live(keys, self._decided)
        return LiveGroup.of(action, part, group, mask)

    def _has_plain_keys(self, part: ParquetPart, group: int) -> bool:
        """Whether the keys of a row group must be read, are made of its paths alone, and can
        be looked for some thousand at a time."""
        if self._decided is not None and len(self._decided) > _FEW_DECIDED:
            return False
        held = self._cache.get(part, group, "add")
        return held is None and not part.has_vectors(group, "add")

    def _group_keys(self, part: ParquetPart, group: int, action: FileAction) -> GroupKeys:
        return self._keys_and_vectors(part, group, action)[0]

    def _keys_and_vectors(
        self, part: ParquetPart, group: int, action: FileAction, *, whole: bool = False
    ) -> tuple[GroupKeys, pa.Table | None]:
        """The keys of a row group and, if they had to be read and it has any, its vectors."""
        if (held := self._cache.get(part, group, action)) is not None:
            return held, None
        paths, vectors = part.read_keys(group, action, whole=whole)
        held = keys_of_rows(paths, vectors)
        self._cache.put(part, group, action, held)
        return held, vectors

    def _read_among(
        self,
        at: tuple[ParquetPart, int],
        masked: LiveGroup | None,
        action: FileAction,
        keys: pa.ChunkedArray,
        columns: Sequence[str],
    ) -> pa.Table | None:
        part, group = at
        held = self._group_keys(part, group, action)
        mask = None if masked is None else masked.mask
        hits = held.among(keys) if mask is None else held.among_others(keys, mask)
        if not (count := int(pc.sum(hits).as_py() or 0)):
            return None
        live = LiveGroup(action=action, part=part, group=group, mask=hits, count=count)
        stored = [name for name in columns if name != NUM_RECORDS]
        if len(stored) == len(columns):
            return self._read(live, action, columns).table
        # counts of the few that are wanted, where `_read` counts the whole group
        names = [*dict.fromkeys([*stored, "stats"])]
        found = self._read(live, action, names, [STATS_PARSED_COUNT])
        stats, parsed = found.table.column("stats"), found.leaves.get(STATS_PARSED_COUNT)
        rows = found.table.append_column(NUM_RECORDS, record_counts(stats, parsed))
        return rows.select(list(columns))

    def _read(
        self,
        live: LiveGroup,
        action: FileAction,
        columns: Sequence[str],
        leaves: Sequence[FieldPath] = (),
        *,
        keys: GroupKeys | None = None,
        vectors: pa.Table | None = None,
    ) -> FileColumns:
        """The live files of a row group, of which `keys` and whole `vectors` may be at hand."""
        wanted = self._wanted(live, action, columns, leaves, keys)
        table, inner = vectors, dict[FieldPath, pa.ChunkedArray]()
        stored = [name for name in wanted.stored if vectors is None or name != _VECTOR]
        if stored or wanted.further:
            table, inner = live.part.read_group(live.group, action, stored, wanted.further)
            if vectors is not None:
                table = table.append_column(_VECTOR, vectors.column(_VECTOR))
        found = assemble(wanted, slice(0, live.part.num_rows(live.group)), table, inner)
        return found if live.mask is None else found.only(live.mask)

    def _pieces(
        self, live: LiveGroup, columns: Sequence[str], leaves: Sequence[FieldPath]
    ) -> Iterator[FileColumns]:
        """The live files of a row group, some thousand at a time; each piece is to be done
        with before the next one."""
        later = self._later(live)
        for rows, found in self._stream(live, columns, leaves):
            mask = (
                None if live.mask is None else live.mask.slice(rows.start, rows.stop - rows.start)
            )
            yield from only_live(found, rows, mask, later)

    def _new_pieces(
        self,
        live: LiveGroup,
        columns: Sequence[str],
        leaves: Sequence[FieldPath],
        masks: list[pa.Array],
    ) -> Iterator[FileColumns]:
        """As `_pieces`, of a row group whose paths, which alone are its keys, are read along
        with the columns; `masks` takes which of its rows are live."""
        later = self._later(live)
        wanted = self._wanted(live, "add", columns, leaves)
        names = ["path", *wanted.stored]
        for rows, table, inner in live.part.stream_group(live.group, "add", names, wanted.further):
            paths = table.column("path")
            keys = GroupKeys(paths=paths, plain=keys_of_paths(paths))
            mask = find_live(keys, self._decided)
            masks += (pc.is_valid(paths) if mask is None else mask).chunks
            yield from only_live(assemble(wanted, rows, table, inner), rows, mask, later)

    def _later(self, live: LiveGroup) -> LaterColumns:
        return LaterColumns(
            lambda name: (found.table.column(0) for _, found in self._stream(live, [name], ()))
        )

    def _stream(
        self, live: LiveGroup, columns: Sequence[str], leaves: Sequence[FieldPath]
    ) -> Iterator[tuple[slice, FileColumns]]:
        """All rows of a row group, whether they are live or not, some thousand at a time."""
        wanted = self._wanted(live, live.action, columns, leaves)
        pieces = live.part.stream_group(live.group, live.action, wanted.stored, wanted.further)
        for rows, table, inner in pieces:
            yield rows, assemble(wanted, rows, table, inner)

    def _wanted(
        self,
        live: LiveGroup,
        action: FileAction,
        columns: Sequence[str],
        leaves: Sequence[FieldPath],
        keys: GroupKeys | None = None,
    ) -> WantedColumns:
        stored = [name for name in columns if name not in {"path", NUM_RECORDS}]
        further = [*leaves]
        if "path" in columns or _VECTOR in columns:
            if keys is None:
                keys = self._group_keys(live.part, live.group, action)
            if _VECTOR in stored and not keys.has_vectors:
                # reading nulls of five leaves takes as long as reading a column with values
                stored.remove(_VECTOR)
        if NUM_RECORDS in columns:
            stored = [*dict.fromkeys([*stored, "stats"])]
            further = [*dict.fromkeys([*leaves, STATS_PARSED_COUNT])]
        return WantedColumns(
            columns=columns, leaves=leaves, stored=stored, further=further, keys=keys
        )


def _reduce_beside(
    reduce: Callable[[FileColumns], Answer], pieces: Iterator[FileColumns]
) -> Iterator[Answer]:
    """What `reduce` makes of pieces that this thread decodes, in their order: of the first here,
    of the others in threads. A further column that it has asked of one is decoded here too."""
    asked: set[str] = set()

    def note(piece: FileColumns, name: str) -> pa.ChunkedArray:
        asked.add(name)
        return piece.column(name)

    def decoded() -> Iterator[FileColumns]:
        for piece in pieces:
            for name in [*asked]:
                piece.column(name)
            yield replace(piece, further=partial(note, piece))

    others = decoded()
    yield from map(reduce, islice(others, 1))
    if (second := next(others, None)) is not None:
        yield from run_concurrently(reduce, chain([second], others), _READERS)
