"""Between numpy and Arrow by way of buffers: pyarrow's own ways, `pyarrow.array`, `to_numpy`
and `combine_chunks` of nothing, import pandas, which takes longer than a million rows do."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Flags: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.int64]

_TYPES = {
    np.dtype(np.int8): pa.int8(),
    np.dtype(np.int16): pa.int16(),
    np.dtype(np.int32): pa.int32(),
    np.dtype(np.int64): pa.int64(),
    np.dtype(np.float32): pa.float32(),
    np.dtype(np.float64): pa.float64(),
}


def build_array(values: npt.NDArray[Any], mask: Flags | None = None) -> pa.Array:
    """An Arrow array of truth values, whole numbers of 8 to 64 bits, or floats, null where
    `mask` is set; numbers are not copied where they lie in a row, whatever their shape."""
    flat = np.ascontiguousarray(values).reshape(-1)
    validity = None if mask is None else _bits(~mask)
    if flat.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(flat), [validity, _bits(flat)])
    return pa.Array.from_buffers(_TYPES[flat.dtype], len(flat), [validity, pa.py_buffer(flat)])


def read_values(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """The values of truth values or numbers without nulls; those of a column in several pieces
    are copied."""
    if isinstance(column, pa.Array):
        return _values(column)
    if column.num_chunks == 1:
        return _values(column.chunk(0))
    empty = np.zeros(0, _dtype(column.type))
    return np.concatenate([empty, *map(_values, column.chunks)])


def read_flags(column: pa.Array | pa.ChunkedArray) -> Flags:
    """Truth values; False where there is none."""
    found: Flags = read_values(column.fill_null(FALSE) if column.null_count else column)
    return found


def read_numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    """Whole numbers, or times in their unit, as 64-bit numbers; 0 where there is none."""
    numbers = column.cast(pa.int64())
    found: Numbers = read_values(numbers.fill_null(ZERO) if numbers.null_count else numbers)
    return found


def in_one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The whole column, without a copy where it is in one piece already."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def take_rows(column: pa.ChunkedArray, places: Numbers) -> pa.Array:
    """The values at some places, in their order. Only they are copied: `take` of a column of texts
    or maps puts all of its chunks together first."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    parts: list[pa.Array] = []
    for chunk, end in zip(column.chunks, ends, strict=True):
        first, last = np.searchsorted(ordered, (end - len(chunk), end))
        if last > first:
            parts.append(chunk.take(build_array(ordered[first:last] - (end - len(chunk)))))
    if not parts:
        return pa.nulls(0, column.type)
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(build_array(back))


def _values(array: pa.Array) -> npt.NDArray[Any]:
    if array.null_count:
        raise ValueError("a null has no value")
    data = array.buffers()[1]
    if not len(array) or data is None:
        return np.zeros(len(array), _dtype(array.type))
    if not pa.types.is_boolean(array.type):
        dtype = _dtype(array.type)
        return np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)
    start, skipped = divmod(array.offset, 8)
    bits = np.frombuffer(data, np.uint8)[start:]
    found = np.unpackbits(bits, count=skipped + len(array), bitorder="little")
    return found[skipped:].view(np.bool_)


def _dtype(kind: pa.DataType) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return found


def _bits(flags: Flags) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


FALSE, TRUE = build_array(np.array([False]))[0], build_array(np.array([True]))[0]
ZERO = build_array(np.zeros(1, np.int64))[0]
EMPTY = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(bytes(8)), pa.py_buffer(b"")])[0]
"""No text, which is not null."""
