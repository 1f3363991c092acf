"""Reading all live files with progress, and stopping on request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic

import pyarrow as pa

from explorer.log.actions.columns import ADD_COLUMNS, empty_table
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Watch
from explorer.protocol.actions import FieldPath
from explorer.storage.concurrent_reads import Answer
from explorer.table.snapshot import Snapshot


def reduce_live_files(
    snapshot: Snapshot,
    columns: Sequence[str],
    leaves: Sequence[FieldPath],
    reduce: Callable[[FileColumns], Answer],
    watch: Watch,
    label: str,
) -> list[Answer]:
    """The results of `reduce` for the live files, some thousand at a time, in the order of the
    log.

    `columns`, `leaves` and `reduce` are those of `LogState.reduce_files`. `watch` gets the
    number of files read so far, and of all, after each piece.
    """
    if watch.progress is None and watch.cancel is None:
        return snapshot.over_files(lambda state: list(state.reduce_files(columns, leaves, reduce)))
    watch.step(0, None, label)
    total = snapshot.num_files

    def ask(state: Any) -> list[Answer]:
        # a state that turns out to be broken is asked again, from the first file on
        return list(state.reduce_files(columns, leaves, _Counted(reduce, watch, total, label)))

    return snapshot.over_files(ask)


def read_live_files(
    snapshot: Snapshot, columns: Sequence[str], watch: Watch, label: str
) -> pa.Table:
    """`Snapshot.files` for columns that the log stores, with progress to `watch`."""
    pieces = reduce_live_files(snapshot, columns, (), _table_of, watch, label)
    if not pieces:
        return empty_table(pa.schema([(name, ADD_COLUMNS[name][2]) for name in columns]))
    return snapshot.with_logical_names(pa.concat_tables(pieces))


def _table_of(files: FileColumns) -> pa.Table:
    return files.table


class _Counted(Generic[Answer]):
    """A `reduce` that reports how many files it has read; several threads call it at once."""

    def __init__(
        self, reduce: Callable[[FileColumns], Answer], watch: Watch, total: int, label: str
    ) -> None:
        self._reduce = reduce
        self._watch = watch
        self._total = total
        self._label = label
        self._seen = 0
        self._lock = threading.Lock()

    def __call__(self, files: FileColumns) -> Answer:
        answer = self._reduce(files)
        with self._lock:
            self._seen += files.table.num_rows
            self._watch.step(self._seen, self._total, self._label)
        return answer

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process there is no progress to report: there it is the bare function."""
        return _itself, (self._reduce,)


def _itself(reduce: Callable[[FileColumns], Answer]) -> Callable[[FileColumns], Answer]:
    return reduce
