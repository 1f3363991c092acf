"""The files that a plan speaks of: an Arrow table, however many there are.

Its digest does not depend on how Arrow cuts or encodes columns: of each column the
validity, the lengths and the bytes of its values count, in the order of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import TIME, int64_column, string_column, string_scalar
from explorer.log.plain_arrays import ZERO
from explorer.protocol.filenames import LOG_FOLDER
from explorer.storage.ports import ReadStore

WORDS = pa.dictionary(pa.int32(), pa.string())

FILES_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("bytes", pa.int64()),
        ("reason", WORDS),
        ("deletable_from", TIME),
        ("action", WORDS),
        ("modified", TIME),
    ]
)
"""`path` is decoded and below the table's root; `action` is what happens to the file:
`delete`, `write`, `add`, `remove`, or `leave` for one that is listed and not touched;
`deletable_from` is when it may go, null where never or where that is no question;
`modified` is its modification time where the plan rests on it."""

_HASHED_ROWS = 65_536


def words(choices: Sequence[str], indices: pa.Array) -> pa.Array:
    """A column of few different strings, by their positions (32-bit) in `choices`."""
    return pa.DictionaryArray.from_arrays(indices, string_column(choices))


def same_word(word: str, count: int) -> pa.Array:
    """A column with one string in all rows."""
    zeros = pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(bytes(4 * count))])
    return words([word], zeros)


def build_files(
    paths: pa.Array | pa.ChunkedArray,
    *,
    action: str,
    reason: str | pa.Array,
    **columns: pa.Array | pa.ChunkedArray,
) -> pa.Table:
    """A list of files with one action; a column that is not given is null."""
    count = len(paths)
    given: dict[str, Any] = {
        "path": paths,
        "reason": same_word(reason, count) if isinstance(reason, str) else reason,
        "action": same_word(action, count),
        **columns,
    }
    arrays = [given.get(field.name) for field in FILES_SCHEMA]
    filled = [
        pa.nulls(count, field.type) if array is None else array
        for field, array in zip(FILES_SCHEMA, arrays, strict=True)
    ]
    return pa.Table.from_arrays(filled, schema=FILES_SCHEMA)


def log_file(store: ReadStore, name: str, reason: str) -> pa.Table:
    """One file of the log that is deleted, as it is now."""
    path = f"{LOG_FOLDER}/{name}"
    info = store.stat(path)
    return build_files(
        string_column([path]),
        action="delete",
        reason=reason,
        bytes=int64_column([info.size]),
        modified=int64_column([info.modified_ms]).cast(TIME),
    )


def join_files(parts: Sequence[pa.Table]) -> pa.Table:
    """Several lists as one, sorted by path, as plans hold them."""
    filled = [part for part in parts if part.num_rows]
    if not filled:
        return pa.Table.from_batches([], FILES_SCHEMA)
    joined = pa.concat_tables(filled).unify_dictionaries()
    return joined.take(pc.sort_indices(joined, sort_keys=[("path", "ascending")])).combine_chunks()


def of_action(files: pa.Table, action: str) -> pa.Table:
    """Those files that something happens to."""
    return files.filter(
        pc.equal(pc.cast(files.column("action"), pa.string()), string_scalar(action))
    )


def without_action(files: pa.Table, action: str) -> pa.Table:
    """The others."""
    return files.filter(
        pc.not_equal(pc.cast(files.column("action"), pa.string()), string_scalar(action))
    )


def digest_files(files: pa.Table) -> str:
    """The SHA-256 of a list of files, in hexadecimal."""
    total = sha256()
    for field in FILES_SCHEMA:
        # each column by itself, so that the borders between rows and columns are certain
        total.update(f"{field.name}:{field.type}:{files.num_rows};".encode())
        total.update(_digest_column(files.column(field.name)))
    return total.hexdigest()


def _digest_column(column: pa.ChunkedArray) -> bytes:
    validity, lengths, values = sha256(), sha256(), sha256()
    for chunk in column.chunks:
        for start in range(0, len(chunk), _HASHED_ROWS):
            part = chunk.slice(start, _HASHED_ROWS)
            if pa.types.is_dictionary(part.type):
                part = pc.cast(part, pa.string())
            validity.update(_as_bytes(pc.cast(part.is_valid(), pa.uint8())))
            if pa.types.is_string(part.type):
                lengths.update(_as_bytes(pc.fill_null(pc.binary_length(part), _ZERO)))
                values.update(_text(part))
            else:
                values.update(_as_bytes(pc.fill_null(pc.cast(part, pa.int64()), ZERO)))
    return validity.digest() + lengths.digest() + values.digest()


def _as_bytes(numbers: pa.Array) -> bytes:
    # by way of the buffer: an array of numpy would make pyarrow import pandas
    width, data = numbers.type.bit_width // 8, numbers.buffers()[1]
    if not len(numbers) or data is None:
        return b""
    return bytes(data.slice(numbers.offset * width, len(numbers) * width))


def _text(part: pa.Array) -> bytes:
    """The values of strings, one behind the other, without what nulls may cover."""
    plain = part.drop_null()
    if not len(plain):
        return b""
    offsets = np.frombuffer(plain.buffers()[1], np.int32)
    start, end = offsets[plain.offset], offsets[plain.offset + len(plain)]
    return bytes(memoryview(plain.buffers()[2])[start:end]) if end > start else b""


_ZERO = pa.Array.from_buffers(pa.int32(), 1, [None, pa.py_buffer(bytes(4))])[0]
