"""Adds and removes of a commit as columns, and these as the lines of a commit file.

No file becomes a Python object: the text of a column's values is put together by Arrow,
a few thousand lines at a time (spec: Add File and Remove File).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import (
    COLUMNS,
    VECTOR_FIELDS,
    int64_scalar,
    string_column,
    string_scalar,
)
from explorer.log.actions.columns import table_of as table_of_bodies
from explorer.log.actions.fields import FileAction
from explorer.log.plain_arrays import TRUE

_ROWS: Final = 4096
_BYTES: Final = 2**26
"""Of one piece of text: far below the 2 GiB that its offsets can tell."""

# scalars by way of arrays: plain values would make pyarrow import pandas
_QUOTE, _NOTHING, _COLON, _TRUE, _FALSE, _NULL, _OPEN, _CLOSE, _NO_VALUES = (
    string_column(['"', "", ":", "true", "false", "null", "{", "}", "{}"])[at] for at in range(9)
)

_VECTOR_BITS: Final = {"offset": 32, "sizeInBytes": 32}

_ORDER: Final[Mapping[FileAction, Sequence[str]]] = {
    "add": (
        "path",
        "partition_values",
        "size",
        "modification_time",
        "data_change",
        "stats",
        "tags",
        "deletion_vector",
        "base_row_id",
        "default_row_commit_version",
        "clustering_provider",
    ),
    "remove": (
        "path",
        "deletion_timestamp",
        "data_change",
        "extended_file_metadata",
        "partition_values",
        "size",
        "stats",
        "tags",
        "deletion_vector",
        "base_row_id",
        "default_row_commit_version",
    ),
}


def complete(action: FileAction, batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with every column of its action, in order: what it lacks is null, but
    `data_change` is true, and a remove that says values and size is extended.

    Raises `InvalidArgumentError` for a column that there is not, or of another type.
    """
    rules = COLUMNS[action]
    for name in batch.schema.names:
        if name not in rules or batch.schema.field(name).type != rules[name][2]:
            raise InvalidArgumentError(
                f"A staged batch has a column {name[:60]!r} that an {action} action has not.",
                reason="Its name or its type is another one.",
                remedy="Use the columns of explorer.log.actions.columns.",
            )
    held = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = {
        name: held[name] if name in held else pa.nulls(batch.num_rows, rule[2])
        for name, rule in rules.items()
    }
    arrays["data_change"] = pc.coalesce(arrays["data_change"], TRUE)
    if action == "remove":
        says = pc.and_(arrays["partition_values"].is_valid(), arrays["size"].is_valid())
        arrays["extended_file_metadata"] = pc.coalesce(arrays["extended_file_metadata"], says)
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def removed_no_sooner(batch: pa.RecordBatch, timestamp: int) -> pa.RecordBatch:
    """Removes of `complete`, none of them at a time before `timestamp`, in milliseconds."""
    at = batch.schema.get_field_index("deletion_timestamp")
    times = pc.cast(batch.column(at), pa.int64())
    later = pc.max_element_wise(times, int64_scalar(timestamp))  # also where none is said
    return batch.set_column(at, "deletion_timestamp", later.cast(batch.schema.field(at).type))


def table_of_staged(
    action: FileAction, batches: Sequence[pa.RecordBatch], bodies: Sequence[Mapping[str, Any]]
) -> pa.Table:
    """Batches of `complete`, and bodies as in the log, as one table. A number that its column
    cannot hold is the nearest one that it can: the rules refuse a commit with such a number."""
    return table_of_bodies(action, batches, [_held(body) for body in bodies])


def _held(body: Mapping[str, Any]) -> Mapping[str, Any]:
    if not numbers_beyond(body):
        return body
    vector = body.get("deletionVector")
    held = {name: _nearest(value, 64) for name, value in body.items()}
    if vector is not None:
        held["deletionVector"] = {
            name: _nearest(value, _VECTOR_BITS.get(name, 64)) for name, value in vector.items()
        }
    return held


def numbers_beyond(body: Mapping[str, Any]) -> list[str]:
    """The fields of an action whose whole numbers are beyond what the log's types hold, as in
    the log: 64 bits, and 32 of a vector's offset and size (spec: the schemas of the actions)."""
    vector = body.get("deletionVector") or {}
    return [
        *(name for name, value in body.items() if value != _nearest(value, 64)),
        *(
            f"deletionVector.{name}"
            for name, value in vector.items()
            if value != _nearest(value, _VECTOR_BITS.get(name, 64))
        ),
    ]


def _nearest(value: Any, bits: int) -> Any:
    if type(value) is not int:
        return value
    limit = 1 << (bits - 1)
    return min(max(value, -limit), limit - 1)


def render_batch(action: FileAction, batch: pa.RecordBatch) -> Iterator[bytes]:
    """The lines of a batch of `complete`, each with its line break, some at a time."""
    rows = min(_ROWS, max(1, _BYTES * batch.num_rows // max(batch.nbytes, 1)))
    for start in range(0, batch.num_rows, rows):
        yield _render(action, batch.slice(start, rows))


def _render(action: FileAction, batch: pa.RecordBatch) -> bytes:
    parts: list[Any] = [string_scalar(f'{{"{action}":{{')]
    for number, name in enumerate(_ORDER[action]):
        log_name = COLUMNS[action][name][0]
        label = string_scalar(f'{"," if number else ""}"{log_name}":')
        values = batch.column(name)
        if values.null_count == len(values) and name != "path":
            continue
        text = _text(values)
        labelled = pc.binary_join_element_wise(label, text, _NOTHING)
        parts.append(pc.coalesce(labelled, _NOTHING))
    parts.append(string_scalar("}}\n"))
    return _joined(pc.binary_join_element_wise(*parts, _NOTHING))


def _joined(lines: pa.Array) -> bytes:
    offsets = memoryview(lines.buffers()[1]).cast("i")
    start, end = offsets[lines.offset], offsets[lines.offset + len(lines)]
    return bytes(lines.buffers()[2].slice(start, end - start))


def _text(values: pa.Array) -> pa.Array:
    """The JSON of each value, null for null."""
    kind = values.type
    if pa.types.is_string(kind):
        return _quoted(values)
    if pa.types.is_map(kind):
        return _objects(values)
    if pa.types.is_struct(kind):
        return _vectors(values)
    if pa.types.is_boolean(kind):
        text = pc.if_else(pc.coalesce(values, TRUE), _TRUE, _FALSE)
        return pc.if_else(values.is_valid(), text, pa.nulls(len(values), pa.string()))
    if pa.types.is_timestamp(kind):
        values = pc.cast(values, pa.int64())
    return pc.cast(values, pa.string())


def _quoted(values: pa.Array) -> pa.Array:
    special = pc.match_substring_regex(values, '["\\\\\\x00-\\x1f]')
    if pc.any(special).as_py():
        values = pc.replace_substring(values, "\\", "\\\\")
        values = pc.replace_substring(values, '"', '\\"')
        if pc.any(pc.match_substring_regex(values, "[\\x00-\\x1f]")).as_py():
            for code in range(0x20):
                values = pc.replace_substring(values, chr(code), f"\\u{code:04x}")
    return pc.binary_join_element_wise(_QUOTE, values, _QUOTE, _NOTHING)


def _objects(maps: pa.MapArray) -> pa.Array:
    items = pc.coalesce(_quoted(maps.items), _NULL)
    pairs = pc.binary_join_element_wise(_quoted(maps.keys), items, _COLON)
    # the offsets of the maps are those of the lists of pairs
    lists = pa.Array.from_buffers(
        pa.list_(pa.string()),
        len(maps),
        [None, maps.buffers()[1]],
        children=[pairs],
        offset=maps.offset,
    )
    inside = pc.binary_join(lists, ",")
    text = pc.binary_join_element_wise(_OPEN, inside, _CLOSE, _NOTHING)
    return pc.if_else(maps.is_valid(), text, pa.nulls(len(maps), pa.string()))


def _vectors(vectors: pa.Array) -> pa.Array:
    parts: list[Any] = [_OPEN]
    for number, (log_name, name) in enumerate(zip(VECTOR_FIELDS, _VECTOR_COLUMNS, strict=True)):
        label = string_scalar(f'{"," if number else ""}"{log_name}":')
        values = pc.struct_field(vectors, name)
        text = pc.binary_join_element_wise(label, _text(values), _NOTHING)
        parts.append(pc.coalesce(text, _NOTHING))
    text = pc.binary_join_element_wise(*parts, _CLOSE, _NOTHING)
    return pc.if_else(vectors.is_valid(), text, pa.nulls(len(vectors), pa.string()))


_VECTOR_COLUMNS: Final = (
    "storage_type",
    "path_or_inline_dv",
    "offset",
    "size_in_bytes",
    "cardinality",
)
