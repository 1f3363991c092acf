"""Statistics of chosen columns, a column of Arrow for each fact (spec: Per-file Statistics).

`stats_parsed` of a checkpoint speaks first; where a file has none, its JSON is read.
Both `nullCount` and the `nullCounts` of the specification's appendix are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import int64_column
from explorer.log.file_columns import FileColumns
from explorer.log.single_text import FieldPath, Leaves
from explorer.log.statistics_text import parse_statistics_texts
from explorer.log.statistics_values import fit_values, parse_times
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_path
from explorer.protocol.features.type_widening import type_changes
from explorer.protocol.schema import DataType, DecimalType, PrimitiveType
from explorer.protocol.schema_walk import leaf_fields
from explorer.table.snapshot import Snapshot

_PARSED: Final = "stats_parsed"
_NUM_RECORDS: Final = "numRecords"
PARSED_NUM_RECORDS: Final = (_PARSED, _NUM_RECORDS)
"""Where a checkpoint has the number of rows of a file."""
_LEAST, _MOST = "minValues", "maxValues"
_NULL_COUNTS: Final = ("nullCount", "nullCounts")

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

_ZERO = int64_column([0])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsColumn:
    """A column, or a field reached through structs, that statistics may speak of.

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

    `bad` are the positions of files whose statistics cannot be read.
    """

    num_records: pa.Array
    columns: Mapping[tuple[str, ...], ColumnFacts]
    bad: tuple[int, ...]


def statistics_columns(snapshot: Snapshot) -> tuple[StatisticsColumn, ...]:
    """Every column that statistics may speak of, in the order of the schema; those
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
    wanted = _leaves(columns)
    parsed = {
        path: _combined(files.leaves[_PARSED, *path])
        for path in wanted
        if (_PARSED, *path) in files.leaves
    }
    found = parse_statistics_texts(_texts(files, parsed, columns), wanted)
    bad = set(found.bad)
    facts: dict[tuple[str, ...], ColumnFacts] = {}
    for column in columns:
        bounds = []
        for side in (_LEAST, _MOST):
            path = (side, *column.physical)
            bound, unreadable = _bound(parsed.get(path), found.columns.get(path), column)
            bounds.append(bound if bound is not None else pa.nulls(files.table.num_rows))
            bad.update(unreadable)
        counts = [_count(parsed, found.columns, (name, *column.physical)) for name in _NULL_COUNTS]
        facts[column.path] = ColumnFacts(
            minimum=bounds[0], maximum=bounds[1], null_count=_first(*counts)
        )
    num_records = _count(parsed, found.columns, (_NUM_RECORDS,))
    return FileFacts(num_records=num_records, columns=facts, bad=tuple(sorted(bad)))


def _leaves(columns: Iterable[StatisticsColumn]) -> Leaves:
    leaves: dict[FieldPath, pa.DataType] = {(_NUM_RECORDS,): pa.int64()}
    for column in columns:
        if (kind := column.bound_type) is not None:
            written = pa.string() if pa.types.is_temporal(kind) else kind
            leaves |= {(side, *column.physical): written for side in (_LEAST, _MOST)}
        leaves |= {(name, *column.physical): pa.int64() for name in _NULL_COUNTS}
    return leaves


def _combined(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def _texts(
    files: FileColumns, parsed: Mapping[FieldPath, pa.Array], columns: Sequence[StatisticsColumn]
) -> pa.Array:
    """The JSON of the files that have no struct, null for the others."""
    counts = parsed.get((_NUM_RECORDS,))
    said = {path[1:] for path in parsed if len(path) > 1}
    if counts is None or any(column.physical not in said for column in columns):
        return _combined(files.column("stats"))
    if counts.null_count == 0:
        return pa.nulls(len(counts), pa.string())
    texts = _combined(files.column("stats"))
    return pc.if_else(counts.is_null(), texts, pa.nulls(len(texts), texts.type))


def _count(
    parsed: Mapping[FieldPath, pa.Array], texts: Mapping[FieldPath, pa.Array], path: FieldPath
) -> pa.Array:
    found = texts[path]
    struct = parsed.get(path)
    if struct is not None and pa.types.is_integer(struct.type):
        found = _first(pc.cast(struct, pa.int64(), safe=False), found)
    if found.null_count == len(found):
        return found
    return _without(found, pc.less(found, _ZERO))  # fewer than none is no count


def _first(first: pa.Array, second: pa.Array) -> pa.Array:
    """The first value that is there, of two of one type."""
    settled = first.null_count == 0 or second.null_count == len(second)
    return first if settled else pc.coalesce(first, second)


def _without(values: pa.Array, wrong: pa.Array) -> pa.Array:
    """The values, null where they are wrong, which is rare."""
    if not pc.any(wrong).as_py():
        return values
    return pc.if_else(wrong, pa.nulls(1, values.type)[0], values)


def _bound(
    struct: pa.Array | None, text: pa.Array | None, column: StatisticsColumn
) -> tuple[pa.Array | None, list[int]]:
    """One bound of one column, and the positions of those that are no such value."""
    kind = column.bound_type
    if kind is None or text is None:
        return None, []
    bad: list[int] = []
    if pa.types.is_temporal(kind):
        text, bad = parse_times(text, kind)
    if struct is not None and (fitted := fit_values(struct, kind)) is not None:
        text = _first(fitted, text)
    if pa.types.is_floating(kind):
        # NaN bounds nothing: some writers leave it out of a maximum, others do not
        text = _without(text, pc.is_nan(text))
    return text, bad
