"""File actions on their way from lines of JSON into columns of Arrow."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from explorer.errors import CorruptLogError, brief
from explorer.log.actions.fields import KNOWN_NAMES, FileAction, misfit, restore_remedy

if TYPE_CHECKING:
    import pyarrow as pa

# a batch is closed at either: enough rows to be worth an Arrow batch, few
# enough bytes that 32-bit offsets never overflow
_BATCH_ROWS = 8192
_BATCH_BYTES = 64 * 2**20

# rows that come as columns are copied into one batch with others only where they are fewer
_ENOUGH_ROWS = 512

# up to so many rows wait for the first question: importing Arrow costs more
# than everything else that opening such a table does
_KEPT_ROWS = 512


class ActionRows:
    """The adds or removes that are in force, oldest first; all their values fit.

    A few may still be as they were in the log; they become columns when
    `table` is first asked for. Safe to share between threads.
    """

    def __init__(
        self,
        action: FileAction,
        batches: Sequence[pa.RecordBatch] = (),
        waiting: Sequence[Mapping[str, Any]] = (),
        *,
        holds_unknown: bool = False,
    ) -> None:
        self._action = action
        self._holds_unknown = holds_unknown
        self._batches = list(batches)
        self._waiting = list(waiting)
        self._table: pa.Table | None = None
        self._lock = threading.Lock()
        self.num_rows: int = len(self._waiting) + sum(batch.num_rows for batch in self._batches)

    @property
    def table(self) -> pa.Table:
        """All of them, with the columns of `ADD_COLUMNS` or `REMOVE_COLUMNS`."""
        from explorer.log.actions.columns import table_of  # noqa: PLC0415  # see `_KEPT_ROWS`

        with self._lock:
            if self._table is None:
                self._holds_unknown |= _has_unknown(self._action, self._waiting)
                self._table = table_of(self._action, self._batches, self._waiting)
                self._batches, self._waiting = [], []
            return self._table

    @property
    def bodies(self) -> Sequence[Mapping[str, Any]] | None:
        """All of them as they were in the log, while they are few; None once they are
        columns."""
        with self._lock:
            return None if self._batches or self._table is not None else tuple(self._waiting)

    @property
    def holds_unknown(self) -> bool:
        """Whether the log has fields in these actions that no column has."""
        with self._lock:
            return self._holds_unknown or _has_unknown(self._action, self._waiting)

    @property
    def nbytes(self) -> int:
        """What keeping them costs, roughly where they are not columns yet."""
        if self._table is not None:
            return int(self._table.nbytes)
        held = sum(int(batch.nbytes) for batch in self._batches)
        return held + 1024 * len(self._waiting)


class ActionCollector:
    """Takes bodies of one kind of action newest first and gives them back oldest first."""

    def __init__(self, action: FileAction) -> None:
        self._action = action
        self._bodies: list[Mapping[str, Any]] = []
        self._places: list[tuple[str, int]] = []
        self._bytes = 0
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[pa.RecordBatch] = []
        self._num_rows = 0
        self._holds_unknown = False

    def add(self, body: Mapping[str, Any], file: str, line: int, size: int) -> None:
        """Take the body on one line, of `size` bytes, of a log file."""
        if self._rows:
            self._join()
        self._bodies.append(body)
        self._places.append((file, line))
        self._bytes += size
        if len(self._bodies) >= _BATCH_ROWS or self._bytes >= _BATCH_BYTES:
            self._flush()

    def add_rows(self, rows: pa.RecordBatch) -> None:
        """Take rows that fit, with the columns of the action, oldest first in themselves."""
        self._flush()
        self._rows.append(rows)
        self._num_rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._num_rows >= _ENOUGH_ROWS or self._bytes >= _BATCH_BYTES:
            self._join()

    def settle(self) -> None:
        """Raise `CorruptLogError` now where a value that was taken does not fit."""
        if self._batches or self._rows or len(self._bodies) > _KEPT_ROWS:
            self._flush()
        else:
            self._check()

    def rows(self) -> ActionRows:
        """All that was taken; raises `CorruptLogError` where a value does not fit."""
        self.settle()
        self._join()
        return ActionRows(
            self._action,
            self._batches[::-1],
            self._bodies[::-1],
            holds_unknown=self._holds_unknown,
        )

    def _flush(self) -> None:
        if not self._bodies:
            return
        from explorer.log.actions.columns import batch_of  # noqa: PLC0415  # see `_KEPT_ROWS`

        try:
            batch = batch_of(self._action, self._bodies[::-1])
        except (TypeError, OverflowError):
            self._check()
            raise
        self._batches.append(batch)
        # a look at the numbers first: at every name it would take far longer
        known = sum(batch.num_rows - column.null_count for column in batch.columns)
        if known != sum(map(len, self._bodies)):
            self._holds_unknown |= _has_unknown(self._action, self._bodies)
        self._bodies, self._places, self._bytes = [], [], 0

    def _join(self) -> None:
        """One batch of those that came as rows."""
        if not self._rows:
            return
        from pyarrow import concat_batches  # noqa: PLC0415  # see `_KEPT_ROWS`

        self._batches.append(
            concat_batches(self._rows[::-1]) if len(self._rows) > 1 else self._rows[0]
        )
        self._rows, self._num_rows, self._bytes = [], 0, 0

    def _check(self) -> None:
        """Find the value that does not fit, newest first, and say where it stands."""
        for body, (file, line) in zip(self._bodies, self._places, strict=True):
            if (found := misfit(self._action, body)) is not None:
                name, wanted = found
                raise wrong_field(name, wanted, body.get(name.partition(".")[2]), file, line)


def wrong_field(name: str, wanted: str, found: Any, file: str, line: int) -> CorruptLogError:
    """The error for a value of the wrong type at `file:line`."""
    return CorruptLogError(
        f"The log is not readable at {file}:{line}.",
        reason=f"`{name}` must be {wanted}, but is {brief(found)}.",
        remedy=restore_remedy(file),
        spec="Add File and Remove File",
    )


def _has_unknown(action: FileAction, bodies: Sequence[Mapping[str, Any]]) -> bool:
    known = KNOWN_NAMES[action]
    return any(
        value is not None and name not in known for body in bodies for name, value in body.items()
    )
