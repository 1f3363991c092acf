"""Keys of files as columns: the rule of `keys.file_key` without a Python object per file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import string_column
from explorer.log.actions.keys import MAY_BE_ABSOLUTE
from explorer.log.plain_arrays import EMPTY, in_one_piece
from explorer.log.reconcile.tail import Tail
from explorer.log.text_bytes import may_begin_with
from explorer.records import record
from explorer.storage.parquet.decoding_memory import decoding_pool

# scalars by way of an array: a plain string would make pyarrow import pandas
_AT, _NUL = (string_column(["@", "\0"])[at] for at in range(2))


_VECTOR = "deletion_vector"
_UNIQUE = ("storage_type", "path_or_inline_dv", "offset")
"""What the unique id of a vector is made of."""

_ID = r"(?s)\x00.*"
"""The NUL in a key, and the unique id behind it."""

_FEW_KEYS = 10_000
"""To look through more of them for each row group would take longer than it saves."""

KEY_COLUMNS = ("path", _VECTOR)
"""The columns of an action that its key is made of."""


@record
class GroupKeys:
    """The paths and keys of some rows of a checkpoint.

    The key of a file without a vector is its path, so that keys of their own are held only of
    those with one: `vectored` marks these rows, None where there are none, and `vectors` are
    what their unique ids are made of. `plain` are the keys of all others, and the same object
    as `paths` where none has another form.

    Keys with a vector are made where they are looked for: texts of all of them would take as
    long as reading the paths, and be as large.
    """

    paths: pa.ChunkedArray
    plain: pa.ChunkedArray
    vectored: pa.BooleanArray | None = None
    vectors: pa.StructArray | None = None

    @property
    def has_vectors(self) -> bool:
        """Whether any of the files has a deletion vector."""
        return self.vectored is not None

    @property
    def nbytes(self) -> int:
        """What holding them costs."""
        held = [self.paths, *([] if self.plain is self.paths else [self.plain])]
        if self.vectored is not None and self.vectors is not None:
            held += [self.vectored, self.vectors]
        return sum(int(column.nbytes) for column in held)

    @property
    def column(self) -> pa.ChunkedArray:
        """The key of every row, null where there is no path."""
        if self.vectored is None:
            return self.plain
        unique = keys_of_arrays(self._vectored_paths, self.vectors)
        plain = in_one_piece(self.plain)
        return pa.chunked_array([pc.replace_with_mask(plain, self.vectored, unique)])

    def among(self, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        """Which rows have one of these keys."""
        if self.vectored is None or self.vectors is None or len(keys) > _FEW_KEYS:
            return self._exactly_among(keys)
        # one look at every path rules nearly all rows out, with a vector or without
        wanted = pa.chunked_array([*keys.chunks, *_paths_of_unique(keys).chunks], pa.string())
        maybe = in_one_piece(pc.is_in(self.plain, value_set=wanted))
        if not maybe.true_count:
            return pa.chunked_array([maybe])
        paths = pc.filter(self.plain, maybe)
        vectors = pc.filter(self.vectors, pc.filter(maybe, self.vectored))
        few = GroupKeys(
            paths=paths, plain=paths, vectored=pc.filter(self.vectored, maybe), vectors=vectors
        )
        hits = in_one_piece(few._exactly_among(keys))
        return pa.chunked_array([pc.replace_with_mask(maybe, maybe, hits)])

    def _exactly_among(self, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        hits = pc.is_in(self.plain, value_set=keys)
        if self.vectored is None:
            return hits
        return self._with_unique(hits, _among_vectored(self._vectored_paths, self.vectors, keys))

    def among_others(self, keys: pa.ChunkedArray, without: pa.ChunkedArray) -> pa.ChunkedArray:
        """Which rows have one of these keys, of those that `without` does not keep."""
        chunks: list[pa.Array] = []
        # nearly all of them are kept: chunks of which all are need no look
        for some, kept in parts_of(self.plain, without):
            hits = pc.invert(kept)
            if hits.true_count:
                found_there = pc.is_in(pc.filter(some, hits), value_set=keys)
                hits = pc.replace_with_mask(hits, hits, found_there)
            chunks.append(hits)
        found = pa.chunked_array(chunks, pa.bool_())
        if self.vectored is None or self.vectors is None:
            return found
        hits = pc.invert(pc.filter(in_one_piece(without), self.vectored))
        if hits.true_count:
            paths, vectors = pc.filter(self._vectored_paths, hits), pc.filter(self.vectors, hits)
            hits = pc.replace_with_mask(hits, hits, _among_vectored(paths, vectors, keys))
        return self._with_unique(found, hits)

    @property
    def _vectored_paths(self) -> pa.Array:
        """The keys, without their unique ids, of the rows with a vector."""
        return in_one_piece(pc.filter(self.plain, self.vectored))

    def _with_unique(self, plain: pa.ChunkedArray, unique: pa.BooleanArray) -> pa.ChunkedArray:
        """One answer of those for the rows without a vector and those with one."""
        flags = pc.replace_with_mask(in_one_piece(plain), self.vectored, unique)
        return pa.chunked_array([flags])


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
    """The keys of files without a vector: their paths in one form, and the same object where
    none has another."""
    # each look at `chunks` makes other objects of them
    stored = paths.chunks
    chunks = [_normalised(chunk) for chunk in stored]
    same = all(new is old for new, old in zip(chunks, stored, strict=True))
    return paths if same else pa.chunked_array(chunks, pa.string())


def keys_of_arrays(paths: pa.Array, vectors: pa.Array | None) -> pa.Array:
    """The keys of paths and, where there are any, vectors (struct as in `columns`)."""
    paths = _normalised(paths)
    if vectors is None or vectors.null_count == len(vectors):
        return paths
    kind, inline, offset = (pc.struct_field(vectors, name) for name in _UNIQUE)
    suffix = pc.coalesce(
        pc.binary_join_element_wise(_AT, pc.cast(offset, pa.string()), EMPTY), EMPTY
    )
    unique = pc.binary_join_element_wise(
        pc.binary_join_element_wise(paths, kind, _NUL), inline, suffix, EMPTY
    )
    return pc.if_else(pc.is_valid(vectors), unique, paths)


def keys_of_rows(rows: pa.Table, vectors: pa.Table | None) -> GroupKeys:
    """The keys of a row group of a checkpoint, of whose rows some may be other actions; where
    there are no `vectors`, none of its files has one."""
    stored = rows.column("path")
    keys = GroupKeys(paths=stored, plain=keys_of_paths(stored))
    if vectors is None:
        return keys
    found = in_one_piece(vectors.column(_VECTOR))
    vectored = pc.is_valid(found)
    # what is held goes where decoded columns are held: beside what is let go at once, it would
    # keep twice its size of memory from being used again
    pool = decoding_pool()
    parts = [
        pc.filter(pc.struct_field(found, name), vectored, memory_pool=pool) for name in _UNIQUE
    ]
    return replace(
        keys, vectored=vectored, vectors=pa.StructArray.from_arrays(parts, names=_UNIQUE)
    )


def _among_vectored(
    paths: pa.Array, vectors: pa.StructArray | None, keys: pa.ChunkedArray
) -> pa.BooleanArray:
    """Which of these paths have, together with their vectors, one of the keys."""
    maybe = pc.is_valid(paths)
    if len(keys) <= _FEW_KEYS:
        # most paths are in no key with a vector, and need no text of their own
        maybe = pc.is_in(paths, value_set=_paths_of_unique(keys))
    if not maybe.true_count or vectors is None:
        return maybe
    found = keys_of_arrays(pc.filter(paths, maybe), pc.filter(vectors, maybe))
    return pc.replace_with_mask(maybe, maybe, pc.is_in(found, value_set=keys))


def _paths_of_unique(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """The paths in those keys that have a unique id."""
    unique = pc.filter(keys, pc.match_substring_regex(keys, _ID))
    return pc.replace_substring_regex(unique, _ID, "")


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
