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

from explorer.log.columns import bool_column, int64_column, string_column
from explorer.log.state import FileColumns
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_path
from explorer.protocol.features.type_widening import type_changes
from explorer.protocol.schema import DataType, DecimalType, PrimitiveType
from explorer.protocol.schema_walk import leaf_fields
from explorer.scan.single_text import FieldPath, Leaves
from explorer.scan.statistics_text import parse_statistics_texts
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
_NO_COUNT = int64_column([None])[0]
_FALSE = bool_column([False])[0]

_DAY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
_ZONED: Final = _DAY + _CLOCK + r"([zZ]|[+-][0-9]{2}(:?[0-9]{2})?)$"
_UNZONED: Final = _DAY + _CLOCK + "$"


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
            minimum=bounds[0], maximum=bounds[1], null_count=pc.coalesce(*counts)
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
        found = pc.coalesce(pc.cast(struct, pa.int64(), safe=False), found)
    return pc.if_else(pc.less(found, _ZERO), _NO_COUNT, found)  # fewer than none is no count


def _bound(
    struct: pa.Array | None, text: pa.Array | None, column: StatisticsColumn
) -> tuple[pa.Array | None, list[int]]:
    """One bound of one column, and the positions of those that are no such value."""
    kind = column.bound_type
    if kind is None or text is None:
        return None, []
    bad: list[int] = []
    if pa.types.is_temporal(kind):
        text, bad = _parse_times(text, kind)
    if struct is not None and (fitted := _fitted(struct, kind)) is not None:
        text = pc.coalesce(fitted, text)
    if pa.types.is_floating(kind):
        # NaN bounds nothing: some writers leave it out of a maximum, others do not
        text = pc.if_else(pc.is_nan(text), pa.nulls(1, kind)[0], text)
    return text, bad


def _fitted(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Values of a checkpoint's struct, written when the column may have had a narrower
    type; None where they are of another kind."""
    if not _is_narrower(values.type, kind):
        return None
    try:
        if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
            values = pc.floor_temporal(values, unit="microsecond")
        if pa.types.is_timestamp(values.type) and values.type.tz != kind.tz:
            values = pc.cast(pc.cast(values, pa.timestamp("us")), pa.int64())
        if pa.types.is_integer(values.type) and pa.types.is_decimal(kind):
            values = pc.cast(pc.cast(values, pa.int64()), pa.decimal128(19, 0))
        return pc.cast(values, kind)
    except pa.ArrowInvalid:
        return None


def _is_narrower(found: pa.DataType, kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_string(kind):
        return bool(types.is_string(found) or types.is_large_string(found))
    if types.is_timestamp(kind):
        return bool(types.is_timestamp(found) or (types.is_date(found) and kind.tz is None))
    if types.is_floating(kind):
        narrow = types.is_floating(found) and found.bit_width <= kind.bit_width
        return bool(narrow or (types.is_integer(found) and types.is_float64(kind)))
    if types.is_decimal(kind):
        return bool(types.is_decimal(found) or types.is_integer(found))
    if types.is_integer(kind):
        return bool(types.is_integer(found))
    return bool(found == kind)


def _parse_times(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Dates or times as text, and the positions of those that are none."""
    pattern = _DAY + "$"
    if pa.types.is_timestamp(kind):
        pattern = _UNZONED
        texts = _with_zone(texts) if kind.tz is not None else _without_zone(texts)
        if kind.tz is not None:
            pattern = _ZONED
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    fits = pc.coalesce(pc.match_substring_regex(texts, pattern), _FALSE)
    plain = pc.if_else(fits, texts, pa.nulls(len(texts), pa.string()))
    try:
        found = pc.cast(plain, kind)
    except pa.ArrowInvalid:  # such as 30 February
        found = pa.array([_one_time(text, kind) for text in plain.to_pylist()], kind)
    lost = pc.and_(texts.is_valid(), found.is_null())
    return found, pc.indices_nonzero(lost).to_pylist()


def _with_zone(texts: pa.Array) -> pa.Array:
    missing = pc.match_substring_regex(texts, _UNZONED)
    if not pc.any(missing).as_py():
        return texts
    zone, nothing = (string_column(["Z", ""])[at] for at in range(2))
    return pc.if_else(missing, pc.binary_join_element_wise(texts, zone, nothing), texts)


def _without_zone(texts: pa.Array) -> pa.Array:
    # some writers put a Z behind the time on the wall
    return pc.replace_substring_regex(texts, "[zZ]$", "")


def _one_time(text: str | None, kind: pa.DataType) -> pa.Scalar | None:
    if text is None:
        return None
    try:
        return pc.cast(string_column([text]), kind)[0]
    except pa.ArrowInvalid:
        return None
