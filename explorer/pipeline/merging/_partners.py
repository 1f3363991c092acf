"""Partners by equal columns, in this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.writing.merging.keys import MOST_VALUES, KeyFacts, KeyPair

_Key = tuple[Any, ...]

_WORTH: Final = 4
"""Values of the source for a row that is looked up in them, at most."""


@dataclass(frozen=True, kw_only=True)
class Partners:
    """The rows of a source by what they hold in the columns of pairs; a null equals nothing."""

    pairs: Sequence[KeyPair]
    by_key: dict[_Key, list[int]] = field(repr=False)
    known: Mapping[KeyPair, pa.Array] = field(repr=False)

    def of(self, rows: pa.RecordBatch) -> tuple[Any, Any]:
        """The pairs of some rows of the table: their numbers in the batch, and beside them those of
        the source, both as arrays of numpy."""
        own: list[int] = []
        theirs: list[int] = []
        places = self._places(rows)
        some = rows
        if places is not None:
            names = list(dict.fromkeys(pair.target.path[0] for pair in self.pairs))
            some = rows.select(names).take(pa.array(places))
        for at, key in enumerate(_keys(some, [pair.target.path for pair in self.pairs])):
            for number in self.by_key.get(key, ()):
                own.append(at)
                theirs.append(number)
        found = np.array(own, dtype=np.int64)
        return found if places is None else places[found], np.array(theirs, dtype=np.int64)

    def _places(self, rows: pa.RecordBatch) -> Any:
        """The rows that may have a partner: Arrow looks up a value in a tenth of the time that it
        takes to make an object of it. None for all."""
        may: pa.Array | None = None
        for pair, values in self.known.items():
            column = _column(rows, pair.target.path)
            # Arrow builds a table of the values for each batch
            if column.type == values.type and len(values) <= _WORTH * len(column):
                found = pc.is_in(column, value_set=values)
                may = found if may is None else pc.and_(may, found)
        return None if may is None else np.flatnonzero(may.to_numpy(zero_copy_only=False))


def find_partners(source: pa.RecordBatch, pairs: Sequence[KeyPair]) -> Partners:
    """Sort the rows of a source by their keys."""
    by_key: dict[_Key, list[int]] = defaultdict(list)
    for at, key in enumerate(_keys(source, [pair.source.path for pair in pairs])):
        if None not in key:
            by_key[key].append(at)
    known = {pair: _column(source, pair.source.path) for pair in pairs}
    return Partners(
        pairs=pairs,
        by_key=dict(by_key),
        known={pair: pc.unique(values) for pair, values in known.items() if _is_exact(values.type)},
    )


def _is_exact(kind: pa.DataType) -> bool:
    """Whether Arrow finds equal what is equal to Python and to Spark: two zeros of floating point
    numbers, and what is not a number, are left to these."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_string(kind)
        or types.is_date32(kind)
        or types.is_timestamp(kind)
    )


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
