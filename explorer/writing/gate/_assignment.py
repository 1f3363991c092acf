"""Which values may be stored in a column of another type (spec: Schema Serialization Format).

Store assignment as Spark has it with `spark.sql.storeAssignmentPolicy=ANSI`: numbers among
themselves, dates and times among themselves, everything plain into text; and, as Delta Spark does
when it inserts, text into plain types by the rules of ANSI casts.

A value is stored only if it can be read back as the same value, but for what the type itself
rounds: the digits behind the point of a decimal (half up), and the precision of float and double.
So these are refused, row by row, where Spark would store something else without a word: 1.5 as a
whole number, a time of day as a date, a finite double as an infinite float, nanoseconds as
microseconds. Nested values go field by field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from explorer.protocol.character_types import CharacterType, Way
from explorer.protocol.schema import (
    BINARY,
    BOOLEAN,
    STRING,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import render_path
from explorer.rows.row_checks import RowChecks, ValueCheck
from explorer.writing.gate.plan import FieldCast, ValueCast
from explorer.writing.gate.refusals import mismatch

Lengths = Mapping[Way, CharacterType]

_INTEGERS: Final = frozenset({"byte", "short", "integer", "long"})
_NUMBERS: Final = frozenset({*_INTEGERS, "float", "double", "decimal"})
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_INTERVALS: Final = frozenset({"interval year to month", "interval day to second"})
_TO_TEXT: Final = frozenset({*_NUMBERS, *_TIMES, *_INTERVALS, "boolean", "binary"})
_FROM_TEXT: Final = frozenset({*_NUMBERS, *_TIMES, "boolean", "binary"})
_NANOS: Final = {"timestamp_nanos": "timestamp", "timestamp_nanos_ntz": "timestamp_ntz"}

_VARIANT_FIELDS: Final = {"metadata": BINARY, "value": BINARY}


def is_assignable(source: DataType, target: DataType) -> bool:
    """Whether values of a plain type may be stored in a column of another one."""
    if source in {target, VOID}:
        return True
    if target == VARIANT:
        return is_stored_variant(source)
    first, second = _family(source), _family(target)
    if second == "string":
        return first in _TO_TEXT
    if first == "string":
        return second in _FROM_TEXT
    if _NANOS.get(second) == first or _NANOS.get(first) == second:
        return True
    return {first, second} <= _NUMBERS or {first, second} <= _TIMES


def is_stored_variant(data_type: DataType) -> bool:
    """Whether it is the struct that Arrow has for a variant (spec: Variant Data Type)."""
    if not isinstance(data_type, StructType):
        return False
    return {item.name: item.data_type for item in data_type.fields} == _VARIANT_FIELDS


def spark_alone_casts(source: DataType, target: DataType) -> bool:
    """Whether only Spark knows what becomes of values: times in text in all their forms, numbers
    in the text that Java has for them, intervals."""
    first, second = _family(source), _family(target)
    if source == target:
        return False
    if first == "string":
        return second in {"timestamp", "timestamp_ntz"}
    return second == "string" and first in {"float", "double", *_INTERVALS}


def _family(data_type: DataType) -> str:
    if isinstance(data_type, DecimalType):
        return "decimal"
    return data_type.name if isinstance(data_type, PrimitiveType) else ""


def plan_cast(path: Way, source: DataType, target: DataType, lengths: Lengths) -> ValueCast:
    """How values become those of a column or of a value inside one; void fields of its type, which
    no file holds, may be given and are left out.

    Raises `InvalidArgumentError` of kind `schema_mismatch` where a type cannot be stored in the
    other, where the caller has a field that the table does not have, and where a field is missing
    that may not be null.
    """
    characters = lengths.get(path)
    if source == VOID:
        target = _stored_type(target)
        return ValueCast(path=path, source=source, target=target, characters=characters)
    match source, target:
        case StructType(), StructType():
            fields = tuple(_plan_fields(path, source, target, lengths))
            target = StructType(fields=tuple(item.field for item in fields))
            return ValueCast(path=path, source=source, target=target, fields=fields)
        case ArrayType(), ArrayType():
            element = plan_cast(
                (*path, "element"), source.element_type, target.element_type, lengths
            )
            return ValueCast(path=path, source=source, target=target, element=element)
        case MapType(), MapType():
            key = plan_cast((*path, "key"), source.key_type, target.key_type, lengths)
            value = plan_cast((*path, "value"), source.value_type, target.value_type, lengths)
            return ValueCast(path=path, source=source, target=target, key=key, value=value)
    if not is_assignable(source, target):
        raise _not_assignable(path, source, target)
    return ValueCast(path=path, source=source, target=target, characters=characters)


def only_stored(field: StructField) -> StructField:
    """The field without the void ones inside it, which no file holds (spec: Void Type)."""
    return replace(field, data_type=_stored_type(field.data_type))


def _stored_type(data_type: DataType) -> DataType:
    if not isinstance(data_type, StructType):
        return data_type
    inner = tuple(only_stored(item) for item in data_type.fields if item.data_type != VOID)
    return StructType(fields=inner)


def is_never_null(field: StructField) -> bool:
    """Whether every row needs a value, by the field itself or by one inside it."""
    kind = field.data_type
    inner = kind.fields if isinstance(kind, StructType) else ()
    return not field.nullable or any(map(is_never_null, inner))


def with_whole_structs(checks: RowChecks) -> RowChecks:
    """The checks, and that no struct is null with a field that never is.

    The specification lets such a struct be null. Delta Spark refuses it, and every later change of
    it that copies the row, so that the table would be stuck.
    """
    columns = tuple((name, _whole(check)) for name, check in checks.columns)
    return RowChecks(columns=columns, partitions=checks.partitions)


def _whole(check: ValueCheck) -> ValueCheck:
    fields = tuple((name, _whole(inner)) for name, inner in check.fields)
    required = next((inner.path for _, inner in fields if inner.not_null), None)
    if required is None or check.not_null:
        return replace(check, fields=fields)
    # a null struct breaks the rule of its field
    return replace(check, fields=fields, not_null=True, path=required)


def lengths_of(checks: RowChecks) -> dict[Way, CharacterType]:
    """The lengths of texts by the paths to them."""
    found = (check for _, check in (*checks.columns, *checks.partitions))
    return {
        check.path: check.characters
        for root in found
        for check in walk_checks(root)
        if check.characters is not None
    }


def walk_checks(check: ValueCheck) -> Iterator[ValueCheck]:
    """A check and those inside it."""
    yield check
    for inner in check.inner:
        yield from walk_checks(inner)


def walk_casts(cast: ValueCast) -> Iterator[ValueCast]:
    """A cast and those inside it."""
    yield cast
    for inner in cast.inner:
        yield from walk_casts(inner)


def match_fields(
    place: Way, given: StructType, fields: tuple[StructField, ...]
) -> dict[str, StructField]:
    """For each field of the table that the caller has, by its name in the table, the given one.

    Names are the same, or else the same but for upper and lower case where only one is. Raises
    `InvalidArgumentError` of kind `schema_mismatch` for given fields that the table does not
    have, or has twice.
    """
    found: dict[str, StructField] = {}
    by_lower: dict[str, list[StructField]] = {}
    for item in fields:
        by_lower.setdefault(item.name.lower(), []).append(item)
    for item in given.fields:
        same = by_lower.get(item.name.lower(), [])
        exact = [field for field in same if field.name == item.name]
        chosen = exact or same
        if not chosen:
            raise _unknown((*place, item.name), item, fields)
        if len(chosen) > 1 or chosen[0].name in found:
            raise mismatch(
                f"The given column {_shown((*place, item.name))} is ambiguous.",
                "Its name differs from that of another one in upper and lower case alone.",
                "Name each column as the table does, once.",
            )
        found[chosen[0].name] = item
    return found


def missing(path: Way, data_type: DataType) -> Exception:
    """The error for a column that is not given, and may not be null."""
    return mismatch(
        f"The column {_shown(path)} is not among the given ones.",
        f"It is {render_type(data_type)[:120]}, NOT NULL itself or in a field, and has no default, "
        "so that every row needs a value.",
        "Give the column.",
    )


def _plan_fields(
    path: Way, source: StructType, target: StructType, lengths: Lengths
) -> Iterator[FieldCast]:
    given = match_fields(path, source, target.fields)
    for item in target.fields:
        found = given.get(item.name)
        way = (*path, item.name)
        if found is not None:
            cast = plan_cast(way, found.data_type, item.data_type, lengths)
            if item.data_type != VOID:
                field = replace(item, data_type=cast.target)
                yield FieldCast(field=field, given=found.name, cast=cast)
        elif item.data_type == VOID:
            continue  # no file holds it
        elif is_never_null(item):
            raise missing(way, item.data_type)
        else:
            yield FieldCast(field=only_stored(item))


def _not_assignable(path: Way, source: DataType, target: DataType) -> Exception:
    truth = BOOLEAN in {source, target}
    return mismatch(
        f"The column {_shown(path)} cannot be written.",
        f"The given values are {render_type(source)[:120]}, and the table has "
        f"{render_type(target)[:120]}, which does not hold them.",
        "Say what they mean, as a comparison or a CASE does."
        if truth and STRING not in {source, target}
        else "Cast the column first, or write it under a name of its own with merge_schema=True.",
    )


def _unknown(path: Way, item: StructField, fields: tuple[StructField, ...]) -> Exception:
    known = ", ".join(render_path((field.name[:60],)) for field in fields[:12])
    return mismatch(
        f"The table has no column {_shown(path)}.",
        f"The given one is {render_type(item.data_type)[:120]}; there are "
        f"{known or 'no columns'}{', ...' if len(fields) > 12 else ''}.",
        "Leave the column out, or add it to the table with merge_schema=True.",
    )


def _shown(path: Way) -> str:
    return render_path(tuple(name[:60] for name in path[-8:]))
