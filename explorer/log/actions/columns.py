"""Columns of Arrow for the actions that are many: adds and removes.

Built from Python values by way of buffers: `pyarrow.array(list)` would import
pandas, which takes longer than opening a small table.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence, Sized
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from explorer.log.actions.fields import (
    ADD_FIELDS,
    REMOVE_FIELDS,
    FieldKind,
    Fields,
    FileAction,
)
from explorer.log.plain_arrays import Flags, build_array

Values = Sequence[Any]

DELETION_VECTOR = pa.struct(
    [
        pa.field("storage_type", pa.string()),
        pa.field("path_or_inline_dv", pa.string()),
        pa.field("offset", pa.int32()),
        pa.field("size_in_bytes", pa.int32()),
        pa.field("cardinality", pa.int64()),
    ]
)
# the same fields under their names in the log
VECTOR_FIELDS = {
    "storageType": pa.string(),
    "pathOrInlineDv": pa.string(),
    "offset": pa.int32(),
    "sizeInBytes": pa.int32(),
    "cardinality": pa.int64(),
}
STRING_MAP = pa.map_(pa.string(), pa.string())
TIME = pa.timestamp("ms", "UTC")


def string_column(values: Values) -> pa.Array:
    """Strings or None; raises TypeError for anything else."""
    validity = _validity(values)
    plain = values if validity is None else ["" if value is None else value for value in values]
    text = "".join(plain)
    parts: Sequence[Sized] = plain if text.isascii() else list(map(str.encode, plain))
    buffers = [validity, _offsets(parts), pa.py_buffer(text.encode())]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def string_scalar(text: str | None) -> pa.Scalar:
    """A text to compare with; `pyarrow.scalar` would import pandas."""
    return string_column([text])[0]


def int64_scalar(number: int | None) -> pa.Scalar:
    """A number to compare with, likewise."""
    return int64_column([number])[0]


def int64_column(values: Values) -> pa.Array:
    """Integers of 64 bits or None; raises TypeError or OverflowError for anything else."""
    return _fixed("q", values, pa.int64())


def int32_column(values: Values) -> pa.Array:
    """Integers of 32 bits or None; raises TypeError or OverflowError for anything else."""
    return _fixed("i", values, pa.int32())


def float64_column(values: Values) -> pa.Array:
    """Numbers of double precision or None; raises TypeError for anything else."""
    return _fixed("d", values, pa.float64())


def time_column(values: Values) -> pa.Array:
    """Milliseconds since the epoch, or None, as UTC timestamps."""
    return _fixed("q", values, TIME)


def bool_column(values: Values) -> pa.Array:
    """True, False or None; raises TypeError for anything else."""
    if not set(map(type, values)) <= {bool, NoneType}:
        raise TypeError("neither true nor false")
    bits = np.packbits(np.fromiter(values, np.bool_, len(values)), bitorder="little")
    return pa.Array.from_buffers(
        pa.bool_(), len(values), [_validity(values), pa.py_buffer(bits.tobytes())]
    )


def string_map_column(values: Values) -> pa.Array:
    """Mappings of strings to strings or None, or None instead of a mapping."""
    if not all(kind is NoneType or issubclass(kind, Mapping) for kind in set(map(type, values))):
        raise TypeError("not an object")
    objects = [value or {} for value in values]
    keys = list(chain.from_iterable(objects))
    items = list(chain.from_iterable([value.values() for value in objects]))
    offsets, validity = _offsets(objects), _validity(values)
    return build_maps(string_column(keys), string_column(items), offsets, validity)


def build_maps(
    keys: pa.Array, items: pa.Array, offsets: pa.Buffer, validity: pa.Buffer | None = None
) -> pa.Array:
    """Mappings of strings, whose entries stand one behind the other: `offsets` are where
    those of each begin and the last one ends, in 32 bits, and `validity` which are there."""
    entries = pa.StructArray.from_arrays(
        [keys, items],
        fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())],
    )
    size = offsets.size // 4 - 1
    return pa.Array.from_buffers(STRING_MAP, size, [validity, offsets], children=[entries])


def build_even_maps(names: Sequence[str], parts: Sequence[pa.Array], size: int) -> pa.Array:
    """Mappings with the same names, in this order, in `size` rows: of each name the column
    of its strings."""
    width = len(names)
    which = np.tile(np.arange(width, dtype=np.int32), size)
    keys = string_column(names).take(build_array(which))
    items = parts[0] if width == 1 else string_column([])
    if width > 1:
        places = np.arange(size, dtype=np.int32)[:, np.newaxis] + size * np.arange(width)
        items = pa.concat_arrays(parts).take(build_array(places.astype(np.int32)))
    offsets = np.arange(size + 1, dtype=np.int32) * np.int32(width)
    return build_maps(keys, items, pa.py_buffer(offsets))


def build_uneven_maps(
    names: Sequence[str], parts: Sequence[pa.Array], there: Flags, valid: Flags
) -> pa.Array:
    """Mappings with some of the names: `there` has a row for each and says which, a column for
    each name, and `valid` which mappings are not null; of each name `parts` has its strings."""
    size = len(valid)
    rows, which = np.nonzero(there)
    keys = string_column(names).take(build_array(which))
    items = pa.concat_arrays([*parts, string_column([])]).take(build_array(which * size + rows))
    offsets = np.zeros(size + 1, np.int32)
    np.cumsum(there.sum(axis=1), out=offsets[1:])
    validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return build_maps(keys, items, pa.py_buffer(offsets), validity)


def deletion_vector_column(values: Values) -> pa.Array:
    """Deletion vector descriptors as in the log, or None (spec: Deletion Vectors)."""
    bodies: list[Mapping[str, Any]] = []
    for value in values:
        if value is not None and not isinstance(value, Mapping):
            raise TypeError("not an object")
        bodies.append(value or {})
    children = [
        string_column([body.get("storageType") for body in bodies]),
        string_column([body.get("pathOrInlineDv") for body in bodies]),
        int32_column([body.get("offset") for body in bodies]),
        int32_column([body.get("sizeInBytes") for body in bodies]),
        int64_column([body.get("cardinality") for body in bodies]),
    ]
    return pa.Array.from_buffers(
        DELETION_VECTOR, len(values), [_validity(values)], children=children
    )


# public name -> (name in the log, how its column is built, type)
ColumnRule = tuple[str, Callable[[Values], pa.Array], pa.DataType]

_BY_KIND: dict[FieldKind, tuple[Callable[[Values], pa.Array], pa.DataType]] = {
    "string": (string_column, pa.string()),
    "int64": (int64_column, pa.int64()),
    "time": (time_column, TIME),
    "bool": (bool_column, pa.bool_()),
    "string_map": (string_map_column, STRING_MAP),
    "deletion_vector": (deletion_vector_column, DELETION_VECTOR),
}


def _rules(fields: Fields) -> dict[str, ColumnRule]:
    return {name: (log_name, *_BY_KIND[kind]) for name, (log_name, kind) in fields.items()}


ADD_COLUMNS = _rules(ADD_FIELDS)
REMOVE_COLUMNS = _rules(REMOVE_FIELDS)
COLUMNS: Mapping[FileAction, Mapping[str, ColumnRule]] = {
    "add": ADD_COLUMNS,
    "remove": REMOVE_COLUMNS,
}


def batch_of(action: FileAction, bodies: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """A batch of action bodies, decoded from JSON; raises TypeError or OverflowError
    for a value that does not fit (`fields.misfit` says which)."""
    rules = COLUMNS[action]
    # most tables use few of the optional fields
    used = set().union(*bodies)
    arrays = [
        _column(rule, bodies) if rule[0] in used else pa.nulls(len(bodies), rule[2])
        for rule in rules.values()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(rules))


def table_of(
    action: FileAction,
    batches: Sequence[pa.RecordBatch],
    older: Sequence[Mapping[str, Any]],
) -> pa.Table:
    """One table of `older` bodies and the batches after them."""
    first = [batch_of(action, older)] if older else []
    return pa.Table.from_batches([*first, *batches], schema_of(COLUMNS[action]))


def _column(rule: ColumnRule, bodies: Sequence[Mapping[str, Any]]) -> pa.Array:
    log_name, build, data_type = rule
    values = [body.get(log_name) for body in bodies]
    return pa.nulls(len(values), data_type) if _all_none(values) else build(values)


def schema_of(rules: Mapping[str, ColumnRule]) -> pa.Schema:
    """The schema that the rules make."""
    return pa.schema([(name, data_type) for name, (_, _, data_type) in rules.items()])


def empty_table(schema: pa.Schema) -> pa.Table:
    """No rows of a schema; `Schema.empty_table` would import pandas."""
    return pa.Table.from_batches([], schema)


def _all_none(values: Values) -> bool:
    return values.count(None) == len(values)


def _validity(values: Values) -> pa.Buffer | None:
    if None not in values:
        return None
    mask = np.fromiter((value is not None for value in values), np.bool_, len(values))
    return pa.py_buffer(np.packbits(mask, bitorder="little").tobytes())


def _offsets(parts: Sequence[Sized]) -> pa.Buffer:
    """Where each of `parts` begins and the last one ends, if they stand in one row."""
    ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    if len(parts) and ends[-1] >= 2**31:
        raise OverflowError("2 GiB, which the callers' batches never reach")
    return pa.py_buffer(np.concatenate([[0], ends], dtype=np.int32, casting="unsafe"))


def _fixed(code: str, values: Values, kind: pa.DataType) -> pa.Array:
    validity = _validity(values)
    plain = values if validity is None else [0 if value is None else value for value in values]
    if bool in set(map(type, plain)):
        raise TypeError("true or false where a number belongs")
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(array(code, plain))])
