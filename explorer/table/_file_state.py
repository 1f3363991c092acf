"""The port through which scans, profiles and planners see the files of a version.

They take it instead of a table in memory, so that a state computed elsewhere
(on Spark, for a log beyond one machine) fits in the same place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class FileState(Protocol):
    """The live files of one version; column names as in `Snapshot.files`."""

    @property
    def count(self) -> int:
        """How many live files there are."""
        ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The live files, as many at a time as fit, with just these columns."""
        ...

    def find(self, path: str, columns: Sequence[str]) -> pa.Table:
        """The live files of one path, as it stands in the log: none, one, or, under
        different deletion vectors, more."""
        ...
