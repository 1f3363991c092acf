"""Statistics of chosen columns, a column of Arrow for each fact (spec: Per-file Statistics).

`stats_parsed` of a checkpoint speaks first; where a file has none, its JSON is read.
Both `nullCount` and the `nullCounts` of the specification's appendix are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int64_column
from explorer.log.plain_arrays import FALSE, TRUE, ZERO, in_one_piece
from explorer.log.state.file_columns import FileColumns
from explorer.log.statistics.single_text import Leaves
from explorer.log.statistics.statistics_text import parse_statistics_texts
from explorer.log.statistics.statistics_values import drop_overflow, fit_values, parse_times
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_path
from explorer.protocol.features.type_widening import type_changes
from explorer.protocol.schema import DataType, DecimalType, PrimitiveType
from explorer.protocol.schema_walk import leaf_fields
from explorer.table.snapshot import Snapshot

_PARSED: Final = "stats_parsed"
_NUM_RECORDS: Final = "numRecords"
_LEAST, _MOST = "minValues", "maxValues"
_NULL_COUNTS: Final = ("nullCount", "nullCounts")
_TIGHT: Final = "tightBounds"

_TIMESTAMPS: Final = {
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_BOUND_TYPES: Final = {
    **dict.fromkeys(("byte", "short", "integer", "long"), pa.int64()),
    **_TIMESTAMPS,
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}
_WHOLE_NUMBERS: Final[Mapping[DataType, tuple[pa.Scalar, pa.Scalar]]] = {
    PrimitiveType(name=name): (limits[0], limits[1])
    for name, bits in (("byte", 8), ("short", 16), ("integer", 32))
    for limits in [int64_column([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1])]
}
"""What values of types that are smaller than their bounds here may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsColumn:
    """A column, or a field reached through structs, that can have statistics.

    `physical` are its names in the statistics; `was_float` says that some files
    may hold it as a narrower float (spec: Type Widening).
    """

    path: tuple[str, ...]
    physical: tuple[str, ...]
    data_type: DataType
    was_float: bool = False

    @property
    def bound_type(self) -> pa.DataType | None:
        """The Arrow type of its bounds; None where it has no order that they could use."""
        if isinstance(self.data_type, DecimalType):
            return pa.decimal128(self.data_type.precision, self.data_type.scale)
        if isinstance(self.data_type, PrimitiveType):
            return _BOUND_TYPES.get(self.data_type.name)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """What the statistics of some files say of one column, as stored; null where they
    do not. `minimum` and `maximum` have its bound type, `null_count` is int64."""

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """The statistics of some files: physical rows, and facts by logical path.

    `is_wide` says which have wide bounds: the values that they name, and the nulls that they
    count, need not be among the live rows. `bad` are the positions of files whose statistics
    cannot be read, or have a value that there cannot be, which is null.
    """

    num_records: pa.Array
    columns: Mapping[tuple[str, ...], ColumnFacts]
    is_wide: pa.Array
    bad: tuple[int, ...]


def statistics_columns(snapshot: Snapshot) -> tuple[StatisticsColumn, ...]:
    """Every column that can have statistics, in the order of the schema; those
    that partition the table are not among them."""
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    partitions = set(snapshot.metadata.partition_columns)
    floats = {
        change.path
        for change in type_changes(snapshot.schema)
        if change.from_type in {None, PrimitiveType(name="float")}
    }
    return tuple(
        StatisticsColumn(
            path=place.names,
            physical=physical_path(place, mode),
            data_type=place.field.data_type,
            was_float=place.names in floats,
        )
        for place in leaf_fields(snapshot.schema)
        if place.depth or place.field.name not in partitions
    )


def parsed_leaves(columns: Iterable[StatisticsColumn]) -> list[FieldPath]:
    """The leaves of an `add` action that hold these columns' statistics in a checkpoint."""
    return [(_PARSED, *path) for path in _leaves(columns)]


def read_facts(files: FileColumns, columns: Sequence[StatisticsColumn]) -> FileFacts:
    """The statistics of `files`, which were read with `parsed_leaves`; their `stats`
    only where those do not say everything."""
    said = _read(files, columns)
    num_records = said.count((_NUM_RECORDS,))
    facts: dict[tuple[str, ...], ColumnFacts] = {}
    for column in columns:
        minimum, maximum = said.bounds(column, files.table.num_rows)
        facts[column.path] = ColumnFacts(
            minimum=minimum, maximum=maximum, null_count=said.null_count(column, num_records)
        )
    return FileFacts(
        num_records=num_records,
        columns=facts,
        is_wide=said.is_wide(),
        bad=tuple(sorted(said.bad)),
    )


def bound_leaves(columns: Iterable[StatisticsColumn]) -> list[FieldPath]:
    """Those of `parsed_leaves` that the bounds need."""
    wanted = (_NUM_RECORDS, _LEAST, _MOST)
    return [leaf for leaf in parsed_leaves(columns) if leaf[1] in wanted]


def read_counted_bounds(
    files: FileColumns, columns: Sequence[StatisticsColumn]
) -> tuple[pa.Array, list[tuple[pa.Array, pa.Array]]]:
    """The physical rows, and the `minimum` and `maximum` of `read_facts` for each column, of
    files that were read with `bound_leaves`."""
    said = _read(files, columns)
    bounds = [said.bounds(column, files.table.num_rows) for column in columns]
    return said.count((_NUM_RECORDS,)), bounds


def count_wide(facts: ColumnFacts, is_wide: pa.Array) -> int:
    """How many of some files say something of a column, and have wide bounds."""
    if not is_wide.true_count:
        return 0
    values = (facts.minimum, facts.maximum, facts.null_count)
    said = reduce(pc.or_, (found.is_valid() for found in values))
    return int(pc.and_(said, is_wide).true_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What structs and texts say of some files; `bad` takes the positions of those that say
    something that cannot be."""

    parsed: Mapping[FieldPath, pa.Array]
    texts: Mapping[FieldPath, pa.Array]
    bad: set[int]

    def count(self, path: FieldPath) -> pa.Array:
        """Rows or nulls; fewer than none is not a count."""
        found, struct = self.texts[path], self.parsed.get(path)
        if struct is not None and pa.types.is_integer(struct.type):
            found = _first(pc.cast(struct, pa.int64(), safe=False), found)
        return found if _is_empty(found) else self._without(found, pc.less(found, ZERO))

    def null_count(self, column: StatisticsColumn, num_records: pa.Array) -> pa.Array:
        """Nulls of one column, under either name; there are no more of them than rows."""
        found = _first(*(self.count((name, *column.physical)) for name in _NULL_COUNTS))
        return found if _is_empty(found) else self._without(found, pc.greater(found, num_records))

    def bounds(self, column: StatisticsColumn, num_files: int) -> tuple[pa.Array, pa.Array]:
        """The least and the greatest value of one column, in order."""
        kind = column.bound_type
        if kind is None:
            return pa.nulls(num_files), pa.nulls(num_files)
        low, high = (self._bound((side, *column.physical), column) for side in (_LEAST, _MOST))
        if _is_empty(low) or _is_empty(high):
            return low, high
        wrong = pc.greater(low, high)
        if not pc.any(wrong).as_py():
            return low, high
        wrong = pc.coalesce(wrong, FALSE)
        return self._without(low, wrong), self._without(high, wrong)

    def is_wide(self) -> pa.Array:
        """Which files say that their bounds are not tight; those that do not say have tight
        ones."""
        tight, struct = self.texts[(_TIGHT,)], self.parsed.get((_TIGHT,))
        if struct is not None and pa.types.is_boolean(struct.type):
            tight = _first(struct, tight)
        return pc.invert(pc.coalesce(tight, TRUE))

    def _bound(self, path: FieldPath, column: StatisticsColumn) -> pa.Array:
        kind, found, struct = column.bound_type, self.texts[path], self.parsed.get(path)
        lost: list[int] = []
        if pa.types.is_temporal(kind):
            found, lost = parse_times(found, kind)
        elif pa.types.is_floating(kind):
            found, lost = drop_overflow(found)
        self.bad.update(lost)
        if struct is not None and (fitted := fit_values(struct, kind)) is not None:
            found = _first(fitted, found)
        if pa.types.is_floating(kind):
            # NaN bounds nothing: some writers leave it out of a maximum, others do not
            return _emptied(found, pc.is_nan(found))
        if (limits := _WHOLE_NUMBERS.get(column.data_type)) is not None and not _is_empty(found):
            least, most = limits
            return self._without(found, pc.or_(pc.less(found, least), pc.greater(found, most)))
        return found

    def _without(self, values: pa.Array, wrong: pa.Array) -> pa.Array:
        """The values, null where they are wrong, which is rare; null is not wrong."""
        if not pc.any(wrong).as_py():
            return values
        self.bad.update(pc.indices_nonzero(pc.coalesce(wrong, FALSE)).to_pylist())
        return _emptied(values, pc.coalesce(wrong, FALSE))


def _read(files: FileColumns, columns: Sequence[StatisticsColumn]) -> _Said:
    wanted = _leaves(columns)
    parsed = {
        path: in_one_piece(files.leaves[_PARSED, *path])
        for path in wanted
        if (_PARSED, *path) in files.leaves
    }
    found = parse_statistics_texts(_texts(files, parsed, columns), wanted)
    return _Said(parsed=parsed, texts=found.columns, bad=set(found.bad))


def _leaves(columns: Iterable[StatisticsColumn]) -> Leaves:
    leaves: dict[FieldPath, pa.DataType] = {(_NUM_RECORDS,): pa.int64(), (_TIGHT,): pa.bool_()}
    for column in columns:
        if (kind := column.bound_type) is not None:
            written = pa.string() if pa.types.is_temporal(kind) else kind
            leaves |= {(side, *column.physical): written for side in (_LEAST, _MOST)}
        leaves |= {(name, *column.physical): pa.int64() for name in _NULL_COUNTS}
    return leaves


def _texts(
    files: FileColumns, parsed: Mapping[FieldPath, pa.Array], columns: Sequence[StatisticsColumn]
) -> pa.Array:
    """The JSON of the files that have no struct, null for the others."""
    counts = parsed.get((_NUM_RECORDS,))
    said = {path[1:] for path in parsed if len(path) > 1}
    if counts is None or any(column.physical not in said for column in columns):
        return in_one_piece(files.column("stats"))
    if counts.null_count == 0:
        return pa.nulls(len(counts), pa.string())
    texts = in_one_piece(files.column("stats"))
    return pc.if_else(counts.is_null(), texts, pa.nulls(len(texts), texts.type))


def _first(first: pa.Array, second: pa.Array) -> pa.Array:
    """The first value that is there, of two of one type."""
    settled = first.null_count == 0 or _is_empty(second)
    return first if settled else pc.coalesce(first, second)


def _is_empty(values: pa.Array) -> bool:
    return bool(values.null_count == len(values))


def _emptied(values: pa.Array, wrong: pa.Array) -> pa.Array:
    """The values, null where they are wrong."""
    if not pc.any(wrong).as_py():
        return values
    return pc.if_else(wrong, pa.nulls(1, values.type)[0], values)
