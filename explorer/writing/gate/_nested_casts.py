"""Arrays of any type as those of a column of the table, field by field."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import Flags, build_array, read_flags, read_numbers
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.character_types import CharacterType
from explorer.protocol.schema import (
    VARIANT,
    VOID,
    ArrayType,
    MapType,
    StructType,
)
from explorer.writing.gate._plain_casts import cast_plain
from explorer.writing.gate.plan import ValueCast
from explorer.writing.gate.refusals import Refusal, not_stored

Rows: TypeAlias = npt.NDArray[np.int64]


class RefusedRowError(Exception):
    """A row that the table does not take; `row` is its position in the batch, from 0."""

    def __init__(self, refusal: Refusal, row: int) -> None:
        super().__init__(refusal.column)
        self.refusal = refusal
        self.row = row


def cast_values(values: pa.Array, cast: ValueCast, rows: Rows) -> pa.Array:
    """Values as those of the table; `rows` are the positions of the rows that they belong to.

    Raises `RefusedRowError` for the first value that the type of the column does not hold.
    """
    if isinstance(values.type, pa.BaseExtensionType):
        values = values.storage
    if cast.source == VOID:
        return pa.nulls(len(values), arrow_type(cast.target))
    match cast.target:
        case StructType():
            return _cast_struct(values, cast, rows)
        case ArrayType():
            return _cast_list(values, cast, rows)
        case MapType():
            return _cast_map(values, cast, rows)
    if cast.target == VARIANT:
        return _cast_variant(values, cast, rows)
    found = cast_plain(values, cast.source, cast.target)
    if found.lost is not None and found.lost.any():
        raise _refused(cast, found.why, rows[found.lost][0])
    if cast.characters is None:
        return found.values
    return fit_text(found.values, cast.characters)


def fit_text(values: pa.Array, kind: CharacterType) -> pa.Array:
    """Text of `char(n)` padded with spaces to its length. What is longer breaks the rule of its
    length, spaces at its end or not, as in Delta Spark."""
    return pc.utf8_rpad(values, kind.length, " ") if kind.name == "char" else values


def _cast_struct(values: pa.Array, cast: ValueCast, rows: Rows) -> pa.Array:
    valid = values.is_valid()
    # under a null struct nothing is told of its fields
    given = dict(zip(_names(values.type), values.flatten(), strict=True))
    children = []
    for item in cast.fields:
        kind = arrow_type(item.field.data_type)
        if item.given is None or item.cast is None:
            children.append(pa.nulls(len(values), kind))
        else:
            children.append(cast_values(given[item.given], item.cast, rows))
    return _assembled(arrow_type(cast.target), valid, [], children)


def _cast_list(values: pa.Array, cast: ValueCast, rows: Rows) -> pa.Array:
    # not a cast to a plain list: of list views pyarrow makes other lists than they were
    lengths = read_numbers(pc.list_value_length(values))
    inside = pc.list_flatten(values)
    assert cast.element is not None
    found = cast_values(inside, cast.element, np.repeat(rows, lengths))
    offsets = _offsets(lengths)
    return _assembled(arrow_type(cast.target), values.is_valid(), [offsets], [found])


def _cast_map(values: pa.Array, cast: ValueCast, rows: Rows) -> pa.Array:
    lengths, places = _entries(values)
    below = np.repeat(rows, lengths)
    assert cast.key is not None
    assert cast.value is not None
    keys = cast_values(_taken(values.keys, places), cast.key, below)
    items = cast_values(_taken(values.items, places), cast.value, below)
    if (twice := _key_twice(keys, lengths)) is not None:
        raise _refused(cast, "has a key twice, of which readers know one", below[twice])
    kind = arrow_type(cast.target)
    entries = pa.struct([kind.key_field, kind.item_field])
    inner = _assembled(entries, build_array(np.ones(len(keys), np.bool_)), [], [keys, items])
    return _assembled(kind, values.is_valid(), [_offsets(lengths)], [inner])


def _key_twice(keys: pa.Array, lengths: npt.NDArray[np.int64]) -> int | None:
    """The position of an entry whose key its map has already; None where there is none. Of keys
    that are nested themselves nothing is said."""
    if not (lengths > 1).any() or pa.types.is_nested(keys.type):
        return None
    packed = keys.dictionary_encode()
    maps = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    pairs = maps * len(packed.dictionary) + read_numbers(packed.indices)
    _, first = np.unique(pairs, return_index=True)
    if len(first) == len(pairs):
        return None
    return int(np.setdiff1d(np.arange(len(pairs)), first)[0])


def _cast_variant(values: pa.Array, cast: ValueCast, rows: Rows) -> pa.Array:
    valid = read_flags(values.is_valid())
    given = dict(zip(_names(values.type), values.flatten(), strict=True))
    parts = [given[name].cast(pa.binary()) for name in ("metadata", "value")]
    broken = valid & ~(read_flags(parts[0].is_valid()) & read_flags(parts[1].is_valid()))
    if broken.any():
        raise _refused(cast, "has no bytes, and is not a variant", rows[broken][0])
    return _assembled(arrow_type(cast.target), build_array(valid), [], parts)


def _entries(values: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | slice]:
    """How many entries each array or map has, none where it is null, and where they lie."""
    offsets = read_numbers(values.offsets)
    lengths = np.diff(offsets)
    hidden = ~read_flags(values.is_valid()) & (lengths > 0)
    if not hidden.any():
        return lengths, slice(int(offsets[0]), int(offsets[-1]))
    everything = np.arange(offsets[0], offsets[-1], dtype=np.int64)
    places = everything[~np.repeat(hidden, lengths)]
    return np.where(hidden, 0, lengths), places


def _taken(values: pa.Array, places: npt.NDArray[np.int64] | slice) -> pa.Array:
    if isinstance(places, slice):
        return values.slice(places.start, places.stop - places.start)
    return values.take(build_array(places))


def _offsets(lengths: npt.NDArray[np.int64]) -> pa.Buffer:
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return pa.py_buffer(ends.astype(np.int32))


def _assembled(
    kind: pa.DataType, valid: pa.Array, buffers: list[pa.Buffer], children: list[pa.Array]
) -> pa.Array:
    bits = None
    flags: Flags = read_flags(valid)
    if not flags.all():
        bits = pa.py_buffer(np.packbits(flags, bitorder="little"))
    return pa.Array.from_buffers(kind, len(flags), [bits, *buffers], children=children)


def _names(kind: pa.DataType) -> list[str]:
    return [item.name for item in kind]


def _refused(cast: ValueCast, why: str, row: Any) -> RefusedRowError:
    return RefusedRowError(not_stored(cast.path, cast.source, cast.target, why), int(row))
