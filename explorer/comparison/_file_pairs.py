"""Which file of one version is which of the other, and what differs in it.

A logical file is a path with its deletion vector (spec: Action Reconciliation), so
the rule is: files of one key belong together, and of what is left those of one path,
where the vector is what changed. The rest was added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison._fingerprints import text_maps_differ
from explorer.comparison._numbers import Positions, null_mask
from explorer.log.plain_arrays import Flags, build_array, read_flags, read_numbers
from explorer.log.reconcile.key_columns import keys_of, keys_of_paths

COMPARED_FIELDS = (
    "size",
    "modification_time",
    "partition_values",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "stats",
    "tags",
    "clustering_provider",
)
"""What may differ between two adds of one file. `data_change` is not among them: it
belongs to a commit, and checkpoints do not keep it."""


_NO_ROWS: Positions = np.empty(0, np.int64)

_FEW_TIMES = 2
"""A side that is so many times longer than the other is cut to what both have first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePairs:
    """Rows of `before` and `after`: the n-th of `same_before` is the n-th of
    `same_after`; those of `gone` and `came` have no counterpart."""

    same_before: Positions
    same_after: Positions
    gone: Positions
    came: Positions


def pair_files(before: pa.Table, after: pa.Table) -> FilePairs:
    """Pair rows with the columns `path` and `deletion_vector`.

    Where a broken log holds several files of one path, they are paired in the order
    of their keys, so that the answer does not depend on where they were read.
    """
    keys = keys_of(before), keys_of(after)
    by_key = _match_texts(*keys)
    gone, came = _others(by_key[0], len(keys[0])), _others(by_key[1], len(keys[1]))
    by_path = _match_paths(
        _Leftover(positions=gone, keys=keys[0], paths=before.column("path")),
        _Leftover(positions=came, keys=keys[1], paths=after.column("path")),
    )
    return FilePairs(
        same_before=np.concatenate([by_key[0], by_path[0]]),
        same_after=np.concatenate([by_key[1], by_path[1]]),
        gone=np.setdiff1d(gone, by_path[0], assume_unique=True),
        came=np.setdiff1d(came, by_path[1], assume_unique=True),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leftover:
    """Those rows of one side whose key the other side has not; `keys` and `paths` are of all
    its rows."""

    positions: Positions
    keys: pa.ChunkedArray
    paths: pa.ChunkedArray


def _match_paths(gone: _Leftover, came: _Leftover) -> tuple[Positions, Positions]:
    """The rows of both that have one path, in the order of their keys."""
    if not (len(gone.positions) and len(came.positions)):
        return _NO_ROWS, _NO_ROWS
    sides = [keys_of_paths(side.paths.take(build_array(side.positions))) for side in (gone, came)]
    shared = _shared(*sides)
    if not len(shared[0]):
        return _NO_ROWS, _NO_ROWS
    # few files change their vector, and to order all that were added and removed would take long
    left = _by_key(gone.positions[shared[0]], gone.keys)
    right = _by_key(came.positions[shared[1]], came.keys)
    pairs = _match(
        *_codes(
            keys_of_paths(gone.paths.take(build_array(left))),
            keys_of_paths(came.paths.take(build_array(right))),
        )
    )
    return left[pairs[0]], right[pairs[1]]


def differing_fields(before: pa.Table, after: pa.Table, fields: tuple[str, ...]) -> Flags:
    """Of two tables whose rows belong together, which of `fields` differ: a row per
    file, a column per field."""
    found = np.zeros((before.num_rows, len(fields)), np.bool_)
    for at, name in enumerate(fields):
        found[:, at] = _differ(before.column(name), after.column(name))
    return found


def _differ(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Flags:
    kind = before.type
    if before.null_count == len(before) and after.null_count == len(after):
        return np.zeros(len(before), np.bool_)
    if pa.types.is_map(kind):
        return text_maps_differ(before, after)
    differs: Flags = null_mask(before) != null_mask(after)
    if pa.types.is_struct(kind):
        for field in kind:
            inner = pc.struct_field(before, field.name), pc.struct_field(after, field.name)
            differs |= _differ(*inner)
    elif pa.types.is_string(kind):
        differs |= read_flags(pc.not_equal(before, after))
    else:
        differs |= read_numbers(before) != read_numbers(after)
    return differs


def _codes(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[Positions, Positions]:
    """Strings as numbers, equal where the strings are; the second of one string within
    one side counts as another one, as the second does in the other."""
    both = pa.chunked_array([*before.chunks, *after.chunks], pa.string())
    if not len(both):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    codes = read_numbers(pc.index_in(both, value_set=pc.unique(both)))
    left, right = codes[: len(before)], codes[len(before) :]
    ranks = _ranks(left), _ranks(right)
    width = 1 + max((int(rank.max()) for rank in ranks if len(rank)), default=0)
    return left * width + ranks[0], right * width + ranks[1]


def _ranks(codes: Positions) -> Positions:
    """How many equal codes stand before each."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(codes)]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(codes)), 0))
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes)) - starts
    return ranks


def _match_texts(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[Positions, Positions]:
    """The rows of both that have one string, in the order of `before`."""
    lengths = sorted((len(before), len(after)))
    if lengths[1] <= _FEW_TIMES * lengths[0]:
        return _match(*_codes(before, after))
    left, right = _shared(before, after)
    pairs = _match(*_codes(before.take(build_array(left)), after.take(build_array(right))))
    return left[pairs[0]], right[pairs[1]]


def _shared(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[Positions, Positions]:
    """The rows of each whose string the other has too."""
    if not (len(before) and len(after)):
        return _NO_ROWS, _NO_ROWS
    # a table is made of the shorter side alone
    if len(before) <= len(after):
        right = _rows_among(after, before)
        return _rows_among(before, after.take(build_array(right))), right
    left = _rows_among(before, after)
    return left, _rows_among(after, before.take(build_array(left)))


def _rows_among(texts: pa.ChunkedArray, others: pa.ChunkedArray) -> Positions:
    return np.flatnonzero(read_flags(pc.is_in(texts, value_set=others)))


def _match(before: Positions, after: Positions) -> tuple[Positions, Positions]:
    _, left, right = np.intersect1d(before, after, assume_unique=True, return_indices=True)
    return left.astype(np.int64), right.astype(np.int64)


def _others(positions: Positions, count: int) -> Positions:
    left = np.ones(count, np.bool_)
    left[positions] = False
    return np.flatnonzero(left)


def _by_key(positions: Positions, keys: pa.ChunkedArray) -> Positions:
    named = pa.Table.from_arrays([keys.take(build_array(positions))], ["key"])
    order = pc.sort_indices(named, sort_keys=[("key", "ascending")])
    return positions[read_numbers(order)]
