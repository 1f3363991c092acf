"""How one data file answers a request: which of its columns are read, and what makes
the table's columns of them (spec: Column Mapping, Partition Value Serialization)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from explorer.errors import CorruptDataError
from explorer.protocol.schema import LONG
from explorer.rows.conversion.calendars import former_calendar
from explorer.rows.conversion.columns import ColumnPlace, build_converter
from explorer.rows.conversion.field_matching import has_ids, match_fields
from explorer.rows.conversion.leaf_values import Converter
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.data_file.partition_columns import constant_column, partition_scalar
from explorer.rows.data_file.row_tracking import hidden_column
from explorer.rows.data_file.unrelated_file import is_unrelated
from explorer.rows.request import RowRequest

Build = Callable[[Sequence[pa.Array], int], pa.Array]
"""From the columns read, in the order of `FilePlan.reads`, and the number of rows to
one column of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """`reads` are positions in the file's schema; `columns` build what the request
    needs, with `schema`; `hidden` build the file's own values of metadata columns.
    `is_unrelated` says that columns are needed, and the file has none of the table's."""

    reads: tuple[int, ...]
    schema: pa.Schema
    columns: tuple[Build, ...]
    hidden: Mapping[str, Build]
    is_unrelated: bool = False


def plan_file(found: pa.Schema, file: DataFile, request: RowRequest) -> FilePlan:
    """The plan for a file with the schema `found`.

    Raises `CorruptDataError` where its columns do not fit the table's,
    `CorruptLogError` where a partition value does not.
    """
    layout = request.layout
    reads: dict[int, int] = {}
    target = request.needed_schema
    places = _places(list(found), file, request)
    calendar = former_calendar(found, file.shown)
    columns = []
    for item, field in zip(request.needed.fields, target, strict=True):
        if item.name in layout.partition_columns:
            text = file.partition_values.get(item.name)
            columns.append(_build_constant(partition_scalar(text, item, field.type)))
        elif (at := places[item.name]) is None:
            columns.append(_build_nulls(field.type))
        else:
            place = ColumnPlace(
                mode=layout.mapping, names=(item.name,), file=file.shown, calendar=calendar
            )
            convert = build_converter(found.field(at).type, item.data_type, field.type, place)
            columns.append(_build_stored(reads.setdefault(at, len(reads)), convert))
    hidden = {
        name: _build_stored(reads.setdefault(at, len(reads)), convert)
        for name, at, convert in _hidden(found, file, request)
    }
    return FilePlan(
        reads=tuple(reads),
        schema=target,
        columns=tuple(columns),
        hidden=hidden,
        is_unrelated=_is_unrelated(found, places, request),
    )


def find_column(found: pa.Schema, file: DataFile, request: RowRequest, name: str) -> int | None:
    """The position in a file of one of the table's stored columns, None where it lacks it.

    Raises `CorruptDataError` where its columns cannot be told apart.
    """
    alone = replace(request, columns=(name,), metadata_columns=(), predicate=None)
    return _places(list(found), file, alone)[name]


def _is_unrelated(found: pa.Schema, places: Mapping[str, int | None], request: RowRequest) -> bool:
    """A column that is there, and is not a struct, settles it without a look at the others."""
    held = [at for at in places.values() if at is not None]
    if not places or any(not pa.types.is_nested(found.field(at).type) for at in held):
        return False
    return is_unrelated(found, request.layout)


def _places(
    found: Sequence[pa.Field], file: DataFile, request: RowRequest
) -> dict[str, int | None]:
    layout = request.layout
    stored = [item for item in request.needed.fields if item.name not in layout.partition_columns]
    if layout.mapping == "id" and stored and found and not has_ids(found):
        raise CorruptDataError(
            f"The columns of {file.shown} cannot be told apart.",
            reason="The table finds columns by the field ids of its files, and this one has none.",
            remedy="Rewrite the file with the engine that wrote it, or set the mapping mode to "
            "name if its columns have the physical names.",
            spec="Column Mapping",
        )
    at = match_fields(found, stored, layout.mapping, siblings=layout.stored)
    return dict(zip((item.name for item in stored), at, strict=True))


def _hidden(
    found: Sequence[pa.Field], file: DataFile, request: RowRequest
) -> Iterator[tuple[str, int, Converter]]:
    """The metadata columns that the file may hold values of, and where."""
    for name in request.metadata_columns:
        stored_name = hidden_column(name, request.layout)
        places = [at for at, item in enumerate(found) if item.name == stored_name]
        if stored_name is None or not places:
            continue
        place = ColumnPlace(mode="none", names=(stored_name,), file=file.shown)
        if len(places) > 1:
            raise CorruptDataError(
                f"The values of {name} in {file.shown} cannot be told apart.",
                reason=f"{len(places)} of its columns are called `{stored_name[:120]}`.",
                remedy="Rewrite the file with the engine that wrote it.",
                spec="Row Tracking",
            )
        yield name, places[0], build_converter(found[places[0]].type, LONG, pa.int64(), place)


def _build_stored(at: int, convert: Converter) -> Build:
    return lambda columns, _: convert(columns[at])


def _build_constant(value: pa.Scalar) -> Build:
    return lambda _, count: constant_column(value, count)


def _build_nulls(kind: pa.DataType) -> Build:
    return lambda _, count: pa.nulls(count, kind)
