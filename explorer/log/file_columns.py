"""Columns of some files of a log, and what can be asked of all of them piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from explorer.log.parquet_part import FieldPath
from explorer.storage.at_once import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumns:
    """Columns of some files, and those leaves of their actions that their log file has."""

    table: pa.Table
    leaves: Mapping[FieldPath, pa.ChunkedArray]
    further: Callable[[str], pa.ChunkedArray] | None = None

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of the same files; one that `table` lacks is read now, and once."""
        if self.further is None or name in self.table.column_names:
            return self.table.column(name)
        return self.further(name)


class ReducibleFiles(Protocol):
    """Live files that are looked at some thousand at a time, wherever they are."""

    def reduce_files(
        self,
        columns: Sequence[str],
        leaves: Sequence[FieldPath],
        reduce: Callable[[FileColumns], Answer],
    ) -> Iterator[Answer]:
        """As `LogState.reduce_files`; `reduce` may run in another process, so that what it
        holds and answers can be pickled."""
        ...
