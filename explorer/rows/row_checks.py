"""Which rows break what the schema asks of every value: NOT NULL, and the lengths of `char(n)`
and `varchar(n)` (spec: Schema Serialization Format, Column Metadata).

A pure look at batches of Arrow: nothing is read, nothing is raised. A value inside a null is
none: only what is there is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.protocol.character_types import CharacterType, Way, character_types
from explorer.protocol.features.column_mapping import physical_name
from explorer.protocol.schema import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)
from explorer.protocol.table_properties.known_properties import MappingMode

_Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCheck:
    """What is asked of one value, and of those inside it. `path` is its logical field path,
    with `element`, `key` and `value` where it leads into those; `fields` go by the names that
    the batch has for them."""

    path: Way
    not_null: bool
    characters: CharacterType | None
    fields: tuple[tuple[str, ValueCheck], ...] = ()
    element: ValueCheck | None = None
    key: ValueCheck | None = None
    value: ValueCheck | None = None

    @property
    def inner(self) -> tuple[ValueCheck, ...]:
        """The checks of values inside."""
        every = (*(check for _, check in self.fields), self.element, self.key, self.value)
        return tuple(check for check in every if check is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChecks:
    """What is asked of the rows of a table: of columns that data files hold, and of those that
    partition it, each by its name in the batch or in the file's partition values."""

    columns: tuple[tuple[str, ValueCheck], ...] = ()
    partitions: tuple[tuple[str, ValueCheck], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRule:
    """A rule that rows break: `rule` is `NOT NULL`, or a type such as `varchar(5)`.
    `first_row` is a position in the batch, from 0."""

    path: Way
    rule: str
    first_row: int
    num_rows: int


def build_checks(
    schema: StructType, partition_columns: Iterable[str] = (), mode: MappingMode = "none"
) -> RowChecks:
    """The checks for rows whose columns are named as `mode` says; metadata that cannot be read
    sets no length."""
    partitions = frozenset(partition_columns)
    found: dict[bool, list[tuple[str, ValueCheck]]] = {True: [], False: []}
    for item in schema.fields:
        if (check := _of_field(item, (), {}, mode)) is not None:
            found[item.name in partitions].append((physical_name(item, mode), check))
    return RowChecks(columns=tuple(found[False]), partitions=tuple(found[True]))


def find_broken(rows: pa.RecordBatch, checks: RowChecks) -> list[BrokenRule]:
    """The rules that rows break, each with the first row; columns that the batch does not have
    are not asked."""
    found: list[BrokenRule] = []
    for name, check in checks.columns:
        at = rows.schema.get_field_index(name)
        if at >= 0 and rows.num_rows:
            found += _broken(rows.column(at), check, np.arange(rows.num_rows, dtype=np.int64))
    return found


def find_broken_partition(
    values: Mapping[str, str | None], checks: RowChecks, num_rows: int
) -> list[BrokenRule]:
    """The rules that all `num_rows` rows of a file break by its partition values; text that is
    empty is null (spec: Partition Value Serialization)."""
    found = []
    for name, check in checks.partitions if num_rows else ():
        text = values.get(name) or None
        if text is None and check.not_null:
            rule = "NOT NULL"
        elif text and check.characters is not None and len(text) > check.characters.length:
            rule = check.characters.text
        else:
            continue
        found.append(BrokenRule(path=check.path, rule=rule, first_row=0, num_rows=num_rows))
    return found


def _of_field(
    item: StructField, above: Way, lengths: Mapping[Way, CharacterType], mode: MappingMode
) -> ValueCheck | None:
    """The check of a field, None where nothing is asked; `lengths` are those that a field
    around it sets, by the way from this one."""
    own = {**lengths, **(character_types(item) or {})}
    if item.data_type == VOID:
        return None  # no data file holds it
    path = (*above, item.name)
    return _of_value(item.data_type, path, own, mode, not_null=not item.nullable)


def _of_value(
    data_type: DataType,
    path: Way,
    lengths: Mapping[Way, CharacterType],
    mode: MappingMode,
    *,
    not_null: bool,
) -> ValueCheck | None:
    inner: dict[str, Any] = {}
    match data_type:
        case StructType(fields=fields):
            checks = (
                (physical_name(item, mode), _of_field(item, path, _below(lengths, item.name), mode))
                for item in fields
            )
            inner["fields"] = tuple((name, check) for name, check in checks if check is not None)
        case ArrayType(element_type=element, contains_null=contains_null):
            below = _below(lengths, "element")
            inner["element"] = _of_value(
                element, (*path, "element"), below, mode, not_null=not contains_null
            )
        case MapType(key_type=key, value_type=value, value_contains_null=contains_null):
            # keys are never null: Arrow has no map with one
            inner["key"] = _of_value(
                key, (*path, "key"), _below(lengths, "key"), mode, not_null=False
            )
            inner["value"] = _of_value(
                value,
                (*path, "value"),
                _below(lengths, "value"),
                mode,
                not_null=not contains_null,
            )
    check = ValueCheck(path=path, not_null=not_null, characters=lengths.get(()), **inner)
    return check if check.not_null or check.characters or check.inner else None


def _below(lengths: Mapping[Way, CharacterType], step: str) -> dict[Way, CharacterType]:
    return {way[1:]: found for way, found in lengths.items() if way[:1] == (step,)}


def _broken(values: pa.Array, check: ValueCheck, rows: _Rows) -> Iterator[BrokenRule]:
    """What values break; `rows` are the positions of the rows that they belong to."""
    if check.not_null and values.null_count:
        yield _told(check, "NOT NULL", values.is_null(), rows)
    if check.characters is not None:
        limit = pa.scalar(check.characters.length, pa.int32())
        too_long = pc.fill_null(pc.greater(pc.utf8_length(values), limit), False)  # noqa: FBT003  # the value that fills
        if pc.any(too_long).as_py():
            yield _told(check, check.characters.text, too_long, rows)
    if not check.inner:
        return
    if values.null_count:
        valid = values.is_valid()
        values, rows = values.filter(valid), rows[valid.to_numpy(zero_copy_only=False)]
    if not len(values):
        return
    for name, inner in check.fields:
        yield from _broken(values.field(name), inner, rows)
    if check.element or check.key or check.value:
        yield from _broken_inside(values, check, rows)


def _broken_inside(values: pa.Array, check: ValueCheck, rows: _Rows) -> Iterator[BrokenRule]:
    """The rules that elements, keys and values break; none of the arrays or maps is null."""
    offsets = values.offsets.to_numpy()
    start, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    inside = np.repeat(rows, np.diff(offsets))
    if check.element is not None:
        yield from _broken(values.values.slice(start, count), check.element, inside)
    if check.key is not None:
        yield from _broken(values.keys.slice(start, count), check.key, inside)
    if check.value is not None:
        yield from _broken(values.items.slice(start, count), check.value, inside)


def _told(check: ValueCheck, rule: str, broken: pa.Array, rows: _Rows) -> BrokenRule:
    found = np.unique(rows[broken.to_numpy(zero_copy_only=False)])
    return BrokenRule(path=check.path, rule=rule, first_row=int(found[0]), num_rows=len(found))
