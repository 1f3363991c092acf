"""Partners by equal columns, in this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.writing.merging.keys import MOST_VALUES, KeyFacts, KeyPair

_Key = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Partners:
    """The rows of a source by what they hold in the columns of pairs; a null equals nothing."""

    pairs: Sequence[KeyPair]
    by_key: dict[_Key, list[int]] = field(repr=False)

    def of(self, rows: pa.RecordBatch) -> tuple[Any, Any]:
        """The pairs of some rows of the table: their numbers in the batch, and beside them those of
        the source, both as arrays of numpy."""
        own: list[int] = []
        theirs: list[int] = []
        for at, key in enumerate(_keys(rows, [pair.target.path for pair in self.pairs])):
            for number in self.by_key.get(key, ()):
                own.append(at)
                theirs.append(number)
        return np.array(own, dtype=np.int64), np.array(theirs, dtype=np.int64)


def find_partners(source: pa.RecordBatch, pairs: Sequence[KeyPair]) -> Partners:
    """Sort the rows of a source by their keys."""
    by_key: dict[_Key, list[int]] = defaultdict(list)
    for at, key in enumerate(_keys(source, [pair.source.path for pair in pairs])):
        if None not in key:
            by_key[key].append(at)
    return Partners(pairs=pairs, by_key=dict(by_key))


def facts_of(
    source: pa.RecordBatch, pairs: Iterable[KeyPair], listed: frozenset[str]
) -> dict[KeyPair, KeyFacts]:
    """What a source holds in the columns of pairs; `listed` are columns of the table of which
    single values are worth knowing, where they are few."""
    found = {}
    for pair in pairs:
        values = _column(source, pair.source.path)
        ends = pc.min_max(values)
        try:
            least, greatest = ends["min"].as_py(), ends["max"].as_py()
            some = pc.unique(values).drop_null() if pair.target.path[0] in listed else None
            single = (
                tuple(some.to_pylist()) if some is not None and len(some) <= MOST_VALUES else None
            )
        except (ValueError, OverflowError):  # a day that Python has no name for
            continue
        found[pair] = KeyFacts(least=least, greatest=greatest, values=single)
    return found


def _keys(rows: pa.RecordBatch, paths: Iterable[tuple[str, ...]]) -> Iterable[_Key]:
    return zip(*(_plain(_column(rows, path)) for path in paths), strict=True)


def _column(rows: pa.RecordBatch, path: tuple[str, ...]) -> pa.Array:
    values = rows.column(path[0])
    for name in path[1:]:
        values = pc.struct_field(values, [values.type.get_field_index(name)])
    return values


def _plain(values: pa.Array) -> list[Any]:
    """Values that are equal where Spark says so: times as numbers, for Python has not all."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    elif pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    found: list[Any] = values.to_pylist()
    return found
