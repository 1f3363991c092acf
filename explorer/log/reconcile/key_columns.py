"""Keys of files as columns: the rule of `keys.file_key` without a Python object per file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import string_column
from explorer.log.actions.keys import MAY_BE_ABSOLUTE
from explorer.log.plain_arrays import EMPTY, in_one_piece
from explorer.log.reconcile.tail import Tail
from explorer.log.text_bytes import may_begin_with

# scalars by way of an array: a plain string would make pyarrow import pandas
_AT, _NUL = (string_column(["@", "\0"])[at] for at in range(2))


KEY_COLUMNS = ("path", "deletion_vector")
"""The columns of an action that its key is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKeys:
    """One row group's paths, and its keys: the same object where no file has a vector,
    and no path another form."""

    paths: pa.ChunkedArray
    keys: pa.ChunkedArray
    has_vectors: bool

    @property
    def nbytes(self) -> int:
        """What holding them costs."""
        shared = self.keys is self.paths
        return int(self.paths.nbytes + (0 if shared else self.keys.nbytes))


def decided_keys(tail: Tail) -> pa.ChunkedArray:
    """The key of every file that a run of commits mentions."""
    chunks = [*keys_of(tail.adds).chunks, *keys_of(tail.removes).chunks]
    return pa.chunked_array(chunks, pa.string())


def keys_of(files: pa.Table) -> pa.ChunkedArray:
    """The keys of a table with the columns `path` and `deletion_vector`; the same
    rule as `file_key`, without a Python object per file."""
    chunks = [
        keys_of_arrays(batch.column("path"), batch.column("deletion_vector"))
        for batch in files.select(list(KEY_COLUMNS)).to_batches()
    ]
    return pa.chunked_array(chunks, pa.string())


def keys_of_paths(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """The keys of files without a vector: their paths in one form."""
    return pa.chunked_array([_normalised(chunk) for chunk in paths.chunks], pa.string())


def keys_of_arrays(paths: pa.Array, vectors: pa.Array | None) -> pa.Array:
    """The keys of paths and, where there are any, vectors (struct as in `columns`)."""
    paths = _normalised(paths)
    if vectors is None or vectors.null_count == len(vectors):
        return paths
    kind, inline, offset = (
        pc.struct_field(vectors, name) for name in ("storage_type", "path_or_inline_dv", "offset")
    )
    suffix = pc.coalesce(
        pc.binary_join_element_wise(_AT, pc.cast(offset, pa.string()), EMPTY), EMPTY
    )
    unique = pc.binary_join_element_wise(
        pc.binary_join_element_wise(paths, kind, _NUL), inline, suffix, EMPTY
    )
    return pc.if_else(pc.is_valid(vectors), unique, paths)


def keys_of_rows(rows: pa.Table) -> GroupKeys:
    """The keys of a row group of a checkpoint, of whose rows some may be other actions; without
    a column of vectors none of its files has one."""
    paths, has_vectors = rows.column("path"), "deletion_vector" in rows.column_names
    # each look at `chunks` makes other objects of them
    stored = paths.chunks
    if has_vectors:
        # parts of one struct share their chunks
        pairs = zip(stored, rows.column("deletion_vector").chunks, strict=True)
        chunks = [keys_of_arrays(*pair) for pair in pairs]
    else:
        chunks = [keys_of_arrays(chunk, None) for chunk in stored]
    same = not has_vectors and all(new is old for new, old in zip(chunks, stored, strict=True))
    keys = paths if same else pa.chunked_array(chunks, pa.string())
    return GroupKeys(paths=paths, keys=keys, has_vectors=has_vectors)


def find_keys(
    held: pa.ChunkedArray, keys: pa.ChunkedArray, without: pa.ChunkedArray | None
) -> pa.ChunkedArray:
    """Which of `held` are among `keys`, where those that `without` keeps are not."""
    if without is None:
        return pc.is_in(held, value_set=keys)
    chunks: list[pa.Array] = []
    # nearly all of them are kept: chunks of which all are need no look
    for some, kept in parts_of(held, without):
        hits = pc.invert(kept)
        if hits.true_count:
            hits = pc.replace_with_mask(hits, hits, pc.is_in(some.filter(hits), value_set=keys))
        chunks.append(hits)
    return pa.chunked_array(chunks, pa.bool_())


def parts_of(
    values: pa.ChunkedArray, mask: pa.ChunkedArray
) -> Iterator[tuple[pa.Array, pa.BooleanArray]]:
    """The chunks of `values`, each with its part of a mask that is as long as they are."""
    flags = in_one_piece(mask)
    start = 0
    for chunk in values.chunks:
        yield chunk, flags.slice(start, len(chunk))
        start += len(chunk)


def _normalised(paths: pa.Array) -> pa.Array:
    # to look at letters takes half as long as to compare beginnings, and nearly all are relative
    if not may_begin_with(paths, MAY_BE_ABSOLUTE):
        return paths
    local = pc.or_(pc.starts_with(paths, "/"), pc.starts_with(paths, "file:", ignore_case=True))
    if not pc.any(local).as_py():
        return paths
    plain = pc.replace_substring_regex(paths, r"^(?i:file:)?/*", "file:/")
    return pc.if_else(local, plain, paths)
