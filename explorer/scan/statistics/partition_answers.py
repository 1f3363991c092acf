"""What a condition says of partition values, each combination of them once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import bool_column
from explorer.log.plain_arrays import build_array
from explorer.progress import Watch
from explorer.scan.predicate.predicate import SqlCondition

Evaluate: TypeAlias = Callable[[SqlCondition, pa.Table, Watch], Sequence[bool | None]]
"""From a condition and rows with its columns to its truth for each row, None for unknown.

Raises `UnsupportedError` where nothing is there that could evaluate it, and
`InvalidArgumentError` where it cannot be meant."""

Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAnswers:
    """For which partition values, as the log has them, a condition is true; of those that are
    not here nothing is known."""

    truths: Mapping[Texts, bool]

    def look_up(self, columns: Sequence[pa.Array]) -> pa.BooleanArray:
        """Where it may be true for files with these values, a column of the condition each."""
        found = distinct_rows(columns)
        truths = np.array([self.truths.get(row, True) for row in found.rows], np.bool_)
        return bool_column(truths[found.places].tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctRows:
    """Each combination of values once, and which of them each row has."""

    rows: Sequence[Texts]
    places: npt.NDArray[np.intp]


def distinct_rows(columns: Sequence[pa.Array]) -> DistinctRows:
    """The combinations of some columns of texts of one length."""
    encoded = [pc.dictionary_encode(column, null_encoding="encode") for column in columns]
    codes = np.zeros(len(columns[0]), np.int64)
    for column in encoded:
        # numbered again each time, so that no product of sizes is too large
        codes = np.unique(codes, return_inverse=True)[1] * max(len(column.dictionary), 1)
        codes += np.frombuffer(column.indices.buffers()[1], np.int32, len(column.indices))
    _, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
    at = build_array(firsts.astype(np.int32))
    rows = zip(*(column.take(at).to_pylist() for column in columns), strict=True)
    return DistinctRows(rows=list(rows), places=places)
