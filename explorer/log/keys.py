"""The key by which adds and removes are reconciled (spec: Action Reconciliation).

A logical file is a path together with the unique id of its deletion vector:
`storageType + pathOrInlineDv`, then `@offset` where there is one. As one string,
path and id are parted by NUL, which no path has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import string_column
from explorer.protocol.paths import normalise_path

# `/a` and `file:/a`; checked first because nearly every path is relative
_MAY_BE_ABSOLUTE = frozenset({"/", "f", "F"})

# scalars by way of an array: a plain string would make pyarrow import pandas
_AT, _NUL, _NOTHING = (string_column(["@", "\0", ""])[at] for at in range(3))


def file_key(path: str, vector: Mapping[str, Any] | None) -> str:
    """The key of one action body, its vector as in the log."""
    if path[:1] in _MAY_BE_ABSOLUTE:
        path = normalise_path(path)
    if vector is None:
        return path
    offset = vector.get("offset")
    unique = f"{path}\0{vector.get('storageType')}{vector.get('pathOrInlineDv')}"
    return unique if offset is None else f"{unique}@{offset}"


def keys_of(files: pa.Table) -> pa.ChunkedArray:
    """The keys of a table with the columns `path` and `deletion_vector`; the same
    rule as `file_key`, without a Python object per file."""
    chunks = [
        keys_of_arrays(batch.column("path"), batch.column("deletion_vector"))
        for batch in files.select(["path", "deletion_vector"]).to_batches()
    ]
    return pa.chunked_array(chunks, pa.string())


def keys_of_arrays(paths: pa.Array, vectors: pa.Array | None) -> pa.Array:
    """The keys of paths and, where there are any, vectors (struct as in `columns`)."""
    paths = _normalised(paths)
    if vectors is None or vectors.null_count == len(vectors):
        return paths
    kind, inline, offset = (
        pc.struct_field(vectors, name) for name in ("storage_type", "path_or_inline_dv", "offset")
    )
    suffix = pc.coalesce(
        pc.binary_join_element_wise(_AT, pc.cast(offset, pa.string()), _NOTHING), _NOTHING
    )
    unique = pc.binary_join_element_wise(
        pc.binary_join_element_wise(paths, kind, _NUL), inline, suffix, _NOTHING
    )
    return pc.if_else(pc.is_valid(vectors), unique, paths)


def _normalised(paths: pa.Array) -> pa.Array:
    local = pc.or_(pc.starts_with(paths, "/"), pc.starts_with(paths, "file:", ignore_case=True))
    if not pc.any(local).as_py():
        return paths
    plain = pc.replace_substring_regex(paths, r"^(?i:file:)?/*", "file:/")
    return pc.if_else(local, plain, paths)
