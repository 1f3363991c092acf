"""Statistics of files as the columns of a checkpoint (spec: Checkpoints, Per-file Statistics).

`stats_parsed` has a struct for the least values, one for the greatest and one for the
counts of nulls, with a field for each column by its physical name. What an older
checkpoint has as columns is taken as it is; what is JSON is parsed, many files at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import int64_scalar
from explorer.log.plain_arrays import ZERO, in_one_piece
from explorer.log.state._statistics_rendering import render_statistics
from explorer.log.state.file_columns import FileColumns
from explorer.log.statistics.statistics_text import parse_statistics_texts
from explorer.log.statistics.statistics_values import drop_overflow, fit_values, parse_times
from explorer.protocol.actions import FieldPath, Metadata, Protocol
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_path
from explorer.protocol.schema import VOID, DataType, DecimalType, PrimitiveType, parse_schema
from explorer.protocol.schema_walk import FieldPlace, leaf_fields
from explorer.protocol.table_properties.known_properties import (
    INDEXED_COLUMNS,
    STATS_COLUMNS,
    MappingMode,
)

PARSED: Final = "stats_parsed"
_NUM_RECORDS: Final = ("numRecords",)
_TIGHT: Final = ("tightBounds",)
_LEAST, _MOST = "minValues", "maxValues"
_NULL_COUNT, _OLD_NULL_COUNT = "nullCount", "nullCounts"

# those that have an order, as every writer of statistics has it
_BOUNDED: Final = frozenset(
    {
        "byte",
        "short",
        "integer",
        "long",
        "float",
        "double",
        "string",
        "boolean",
        "date",
        "timestamp",
        "timestamp_ntz",
    }
)
_NO_COUNT = int64_scalar(None)

_QUOTED: Final = re.compile(r"`((?:[^`]|``)*)`")
_LISTED: Final = re.compile(r"(?:`(?:[^`]|``)*`|[^,`]|`)+")
"""A name in such a list: commas in backticks are its own."""


class StatisticsStruct:
    """The type of `stats_parsed` for some columns, and how its values are made."""

    def __init__(self, places: Iterable[FieldPlace], mode: MappingMode) -> None:
        self._kinds: dict[FieldPath, pa.DataType] = {_NUM_RECORDS: pa.int64()}
        bounds: dict[FieldPath, pa.DataType] = {}
        counts: list[FieldPath] = []
        for place in places:
            path, kind = physical_path(place, mode), place.field.data_type
            counts.append(path)
            if _has_bounds(kind):
                bounds[path] = arrow_type(kind)
        for side in (_LEAST, _MOST):
            self._kinds |= {(side, *path): kind for path, kind in bounds.items()}
        self._kinds |= {(_NULL_COUNT, *path): pa.int64() for path in counts}
        self._kinds[_TIGHT] = pa.bool_()
        self.type: pa.StructType = _nested(self._kinds)

    @property
    def leaves(self) -> tuple[FieldPath, ...]:
        """What to read of an older checkpoint, as ways into an `add` action."""
        old = [(_OLD_NULL_COUNT, *path[1:]) for path in self._kinds if path[0] == _NULL_COUNT]
        return tuple((PARSED, *path) for path in (*self._kinds, *old))

    def build(self, files: FileColumns) -> pa.StructArray:
        """The statistics of `files`, which were read with `stats` and `leaves`: null for
        those that have none, or none that can be read."""
        held = {
            path[1:]: in_one_piece(values)
            for path, values in files.leaves.items()
            if path[0] == PARSED
        }
        texts = self._texts(files, held)
        wanted = {path: _as_written(kind) for path, kind in self._kinds.items()}
        wanted |= {
            (_OLD_NULL_COUNT, *path[1:]): pa.int64()
            for path in self._kinds
            if path[0] == _NULL_COUNT
        }
        parsed = parse_statistics_texts(texts, wanted)
        columns = {
            path: self._column(path, kind, held, parsed.columns)
            for path, kind in self._kinds.items()
        }
        said = texts.is_valid()
        if parsed.bad:
            said = pc.and_(said, pc.invert(_mask(parsed.bad, len(texts))))
        for values in held.values():
            said = pc.or_(said, values.is_valid())
        return _assemble(self.type, (), columns, pc.invert(said))

    def _texts(self, files: FileColumns, held: Mapping[FieldPath, pa.Array]) -> pa.Array:
        """The JSON of the files whose columns do not say everything."""
        counts = held.get(_NUM_RECORDS)
        if counts is None or any(path not in held for path in self._kinds if path != _TIGHT):
            return in_one_piece(files.column("stats"))
        if counts.null_count == 0:
            return pa.nulls(len(counts), pa.string())
        texts = in_one_piece(files.column("stats"))
        return pc.if_else(counts.is_null(), texts, pa.nulls(len(texts), texts.type))

    def _column(
        self,
        path: FieldPath,
        kind: pa.DataType,
        held: Mapping[FieldPath, pa.Array],
        parsed: Mapping[FieldPath, pa.Array],
    ) -> pa.Array:
        names = [path]
        if path[0] == _NULL_COUNT:
            names.append((_OLD_NULL_COUNT, *path[1:]))
        found: list[pa.Array] = []
        for name in names:
            if name in held and (fitted := fit_values(held[name], kind)) is not None:
                found.append(fitted)
            found.append(_from_json(parsed[name], kind))
        values = pc.coalesce(*found) if len(found) > 1 else found[0]
        if path[0] in {_NUM_RECORDS[0], _NULL_COUNT}:
            return pc.if_else(pc.less(values, ZERO), _NO_COUNT, values)
        return values


def indexed_statistics(protocol: Protocol, metadata: Metadata) -> StatisticsStruct:
    """For the columns, and fields reached through structs, that statistics are kept for
    (`delta.dataSkippingStatsColumns`, else `delta.dataSkippingNumIndexedCols`)."""
    mode = column_mapping_mode(protocol, metadata.configuration)
    return StatisticsStruct(indexed_places(metadata), mode)


def indexed_places(metadata: Metadata) -> list[FieldPlace]:
    """The columns and fields that `indexed_statistics` is about, in the order of the schema."""
    places = _places(metadata)
    if (named := STATS_COLUMNS.value_of(metadata.configuration)) is not None:
        chosen = set(_named_columns(named))
        return [place for place in places if chosen & _ways_to(place)]
    count = INDEXED_COLUMNS.value_of(metadata.configuration)
    return places if count < 0 else places[:count]


def _unknown_columns(metadata: Metadata, named: str) -> list[str]:
    """Those columns of a `delta.dataSkippingStatsColumns` that no statistics can be kept for,
    as they are written there: the table has none of that name, or is partitioned by it."""
    ways = {way for place in _places(metadata) for way in _ways_to(place)}
    return [text for name, text in _named_columns(named).items() if name and name not in ways]


def check_statistics_columns(metadata: Metadata, named: str) -> None:
    """Raise `InvalidArgumentError` where a `delta.dataSkippingStatsColumns` names a column that
    no statistics can be kept for: there would be none, and nobody would be told."""
    unknown = _unknown_columns(metadata, named)
    if unknown:
        raise InvalidArgumentError(
            f"{STATS_COLUMNS.name} names {', '.join(unknown)[:200]}, and no statistics can be kept "
            "for it.",
            reason="The table has no such column, or is partitioned by it.",
            remedy="Name columns as the schema has them, separated by commas.",
            spec="Table Properties",
        )


def all_statistics(protocol: Protocol, metadata: Metadata) -> StatisticsStruct:
    """For every column that can have statistics."""
    mode = column_mapping_mode(protocol, metadata.configuration)
    return StatisticsStruct(_places(metadata), mode)


def complete_statistics(files: FileColumns, held: StatisticsStruct) -> FileColumns:
    """The same files, which were read with `stats` and the leaves of `held`, with the JSON
    of all statistics: as it stands, and rendered where a checkpoint has columns alone."""
    texts = in_one_piece(files.column("stats"))
    if not texts.null_count or not files.leaves:
        return files
    texts = pc.coalesce(texts, render_statistics(held.build(files)))
    at = files.table.schema.get_field_index("stats")
    return replace(files, table=files.table.set_column(at, "stats", pa.chunked_array([texts])))


def _places(metadata: Metadata) -> list[FieldPlace]:
    partitions = set(metadata.partition_columns)
    return [
        place
        for place in leaf_fields(parse_schema(metadata.schema_string))
        if (place.depth or place.field.name not in partitions) and place.field.data_type != VOID
    ]


def _named_columns(named: str) -> dict[str, str]:
    """The columns of such a list, in small letters, each with how it is written there."""
    return {_QUOTED.sub(_unquoted, text).lower(): text for text in listed_columns(named)}


def listed_columns(named: str) -> list[str]:
    """The names that `delta.dataSkippingStatsColumns` lists, as they stand there."""
    return [name for text in _LISTED.findall(named) if (name := text.strip())]


def _unquoted(found: re.Match[str]) -> str:
    return found[1].replace("``", "`")


def _ways_to(place: FieldPlace) -> set[str]:
    """The names of a column and of the structs that it is in, in small letters."""
    return {".".join(place.names[: depth + 1]).lower() for depth in range(len(place.names))}


def _has_bounds(kind: DataType) -> bool:
    if isinstance(kind, PrimitiveType):
        return kind.name in _BOUNDED
    return isinstance(kind, DecimalType)


def _as_written(kind: pa.DataType) -> pa.DataType:
    """The type in which a value stands in JSON."""
    if pa.types.is_temporal(kind):
        return pa.string()
    return pa.int64() if pa.types.is_integer(kind) else kind


def _from_json(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(kind):
        return parse_times(values, kind)[0]
    if pa.types.is_floating(kind):
        return drop_overflow(values)[0]
    if values.type == kind:
        return values
    # a number that the type does not hold bounds nothing
    narrow = pc.cast(values, kind, safe=False)
    return pc.if_else(pc.equal(pc.cast(narrow, values.type), values), narrow, pa.nulls(1, kind)[0])


def _mask(places: Iterable[int], count: int) -> pa.Array:
    hit = set(places)
    return pa.array([at in hit for at in range(count)], pa.bool_())


def _nested(kinds: Mapping[FieldPath, pa.DataType]) -> pa.StructType:
    tree: dict[str, Any] = {}
    for path, kind in kinds.items():
        inner = tree
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = kind
    return _struct_of(tree)


def _struct_of(tree: Mapping[str, Any]) -> pa.StructType:
    return pa.struct(
        [
            (name, _struct_of(kind) if isinstance(kind, dict) else kind)
            for name, kind in tree.items()
        ]
    )


def _assemble(
    kind: pa.StructType,
    path: FieldPath,
    columns: Mapping[FieldPath, pa.Array],
    missing: pa.Array | None,
) -> pa.StructArray:
    children = [
        columns[(*path, field.name)]
        if (*path, field.name) in columns
        else _assemble(field.type, (*path, field.name), columns, None)
        for field in kind
    ]
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=missing)
