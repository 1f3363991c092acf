"""Which files are written again together: the rule of bins, and that of an order.

Everything follows from the version and the aim, so that the executor finds the same groups
as the planner, without the plan holding one object for each file.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int64_scalar, string_scalar
from explorer.log.plain_arrays import (
    EMPTY,
    FALSE,
    Flags,
    Numbers,
    build_array,
    read_flags,
    read_numbers,
)
from explorer.log.reconcile.key_columns import keys_of
from explorer.log.state.file_columns import FileColumns
from explorer.maintenance.optimize._aim import mark_of
from explorer.maintenance.plan.step_types import Aim
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.scan.facts import Question, question_of
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.plan import plan_piece
from explorer.scan.predicate.parse import parse_predicate
from explorer.table.frames import believed_sizes
from explorer.table.snapshot import Snapshot

PROVIDER: Final = "delta-explorer"
"""Our name as a clustering implementation, which may cluster again what it has clustered, and
what nobody has."""

MARK: Final = "delta-explorer.order"
"""The tag by which a file says how its rows are ordered."""

MOST_DELETED: Final = 0.05
"""The share of hidden rows above which a file is worth writing again, as the reference has."""

_PARTLY_FULL: Final = 0.5
"""A share of the target size: a smaller file that is ordered already is ordered again together
with new files."""

_LARGEST_GROUP: Final = 100
"""Files of the target's size that are ordered together."""

_MOST_TARGETS: Final = 1_000
"""New files of a group."""

_MOST_GROUPS: Final = 10_000
_MOST_FILES: Final = 100_000
"""Of one commit: what describes them travels to every task."""

COLUMNS: Final = (
    "path",
    "size",
    "partition_values",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "num_records",
    "tags",
    "clustering_provider",
)
_STORED: Final = tuple(name for name in COLUMNS if name != "num_records")
SMALL, DELETED, HIDDEN, UNORDERED, PARTLY = range(5)
"""Why a file is written again, as `why` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The files that are written again, sorted by group: `files` has `COLUMNS`, and `group`,
    `batch` and `why` (int64). `num_looked_at` are the files that the condition left, and
    `num_foreign` those of them that another implementation has clustered."""

    files: pa.Table
    num_looked_at: int
    num_foreign: int

    @property
    def num_batches(self) -> int:
        """How many commits they make."""
        return int(pc.max(self.files.column("batch")).as_py()) + 1 if self.files.num_rows else 0

    def of_batch(self, batch: int) -> pa.Table:
        """The files of one commit."""
        return self.files.filter(pc.equal(self.files.column("batch"), int64_scalar(batch)))


def choose_groups(snapshot: Snapshot, aim: Aim, watch: Watch = UNWATCHED) -> Groups:
    """The files that are worth writing again, and which go together."""
    seen = _look_at(snapshot, aim, watch)
    chosen, why = seen.files, seen.why
    partitions = _partition_numbers(chosen, snapshot)
    order = _sorted_by(partitions, chosen)
    chosen, why, partitions = chosen.take(build_array(order)), why[order], partitions[order]
    sizes = believed_sizes(chosen)
    limit = aim.target_size * (_LARGEST_GROUP if aim.columns else 1)
    groups = _bins(partitions, sizes, limit)
    pays = _pays(groups, sizes, why, aim)
    kept = np.flatnonzero(pays[groups]) if len(groups) else groups
    groups = _renumbered(groups[kept])
    columns = {
        "group": groups,
        "batch": _batches(groups, sizes[kept], aim.batch_size),
        "why": why[kept],
    }
    found = chosen.take(build_array(kept))
    for name, numbers in columns.items():
        found = found.append_column(name, build_array(numbers))
    return Groups(
        files=found.combine_chunks(), num_looked_at=seen.num_files, num_foreign=seen.num_foreign
    )


def count_targets(files: pa.Table, aim: Aim) -> Numbers:
    """How many new files each group is to have, in the order of the groups' numbers: one, or
    where rows are ordered as many as they fill."""
    groups = read_numbers(files.column("group"))
    places = np.unique(groups, return_inverse=True)[1]
    count = int(places.max(initial=-1)) + 1
    if not aim.columns:
        return np.ones(count, np.int64)
    sizes = np.bincount(places, believed_sizes(files), count)
    return np.clip(np.ceil(sizes / aim.target_size), 1, _MOST_TARGETS).astype(np.int64)


def digest_groups(files: pa.Table) -> str:
    """The SHA-256 of which file goes into which group, in hexadecimal."""
    total = sha256(np.ascontiguousarray(read_numbers(files.column("group"))).tobytes())
    keys = keys_of(files)
    for chunk in keys.chunks:
        lengths = pc.binary_length(chunk).to_numpy(zero_copy_only=False)
        total.update(np.ascontiguousarray(lengths).tobytes())
    for chunk in keys.chunks:
        total.update("".join(chunk.to_pylist()).encode())
    return total.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Files that may be written again, with `COLUMNS`, and why; how many the condition left
    altogether, and how many of them another implementation has clustered."""

    files: pa.Table
    why: Numbers
    num_files: int
    num_foreign: int


def _look_at(snapshot: Snapshot, aim: Aim, watch: Watch) -> _Seen:
    """Some thousand files at a time, so that only those that may be written again are held."""
    predicate = None if aim.where is None else parse_predicate(aim.where, snapshot.schema)
    question = Question() if predicate is None else question_of(predicate, snapshot)

    def context(files: FileColumns) -> _Seen:
        return _seen(plan_piece(predicate, question, files).kept.select(list(COLUMNS)), aim)

    pieces = reduce_live_files(snapshot, _STORED, question.leaves, context, watch, "Choosing files")
    if not pieces:
        return _seen(snapshot.physical_files("add", list(COLUMNS)), aim)
    return _Seen(
        files=pa.concat_tables([piece.files for piece in pieces]),
        why=np.concatenate([piece.why for piece in pieces]),
        num_files=sum(piece.num_files for piece in pieces),
        num_foreign=sum(piece.num_foreign for piece in pieces),
    )


def _seen(files: pa.Table, aim: Aim) -> _Seen:
    why = _reasons(files, aim)
    foreign = 0
    if aim.is_clustering:
        provider = files.column("clustering_provider")
        other = pc.and_(provider.is_valid(), pc.not_equal(provider, string_scalar(PROVIDER)))
        foreign = int(pc.sum(pc.fill_null(other, FALSE)).as_py() or 0)
    picked = np.flatnonzero(why >= 0)
    return _Seen(
        files=files.take(build_array(picked)),
        why=why[picked],
        num_files=files.num_rows,
        num_foreign=foreign,
    )


def _reasons(files: pa.Table, aim: Aim) -> Numbers:
    """Why each file may be written again, -1 where it stays as it is."""
    has_vector = read_flags(files.column("deletion_vector").is_valid())
    if aim.purge:
        return np.where(has_vector, HIDDEN, -1)
    sizes = read_numbers(files.column("size"))
    deleted = _deleted_share(files) > MOST_DELETED
    if not aim.columns:
        small = np.where(sizes < aim.target_size, SMALL, -1)
        return np.where(deleted, DELETED, small)
    marks = pc.map_lookup(files.column("tags"), string_scalar(MARK), "first")
    in_order = read_flags(pc.fill_null(pc.equal(marks, string_scalar(mark_of(aim))), FALSE))
    partly = np.where(sizes < aim.target_size * _PARTLY_FULL, PARTLY, -1)
    why = np.where(in_order, np.where(deleted, DELETED, partly), UNORDERED)
    if aim.is_clustering:
        provider = pc.coalesce(files.column("clustering_provider"), string_scalar(PROVIDER))
        ours = read_flags(pc.equal(provider, string_scalar(PROVIDER)))
        why = np.where(ours, why, -1)
    return why


def _pays(groups: Numbers, sizes: Numbers, why: Numbers, aim: Aim) -> Flags:
    """Which bins are worth it: several files become fewer, rows disappear, or rows that are
    in no order get one and then lie in several files."""
    if not len(groups):
        return np.zeros(0, np.bool_)
    count = int(groups.max()) + 1
    several = np.bincount(groups, minlength=count) > 1
    cleaned = np.bincount(groups, (why == DELETED) | (why == HIDDEN), count) > 0
    if not aim.columns:
        return several | cleaned
    fresh = np.bincount(groups, why == UNORDERED, count) > 0
    large = np.bincount(groups, sizes, count) > aim.target_size
    return cleaned | (fresh & (several | large))


def _deleted_share(files: pa.Table) -> npt.NDArray[np.float64]:
    """The share of each file's rows that its vector hides; 0 where that is unknown."""
    counts = (
        pc.struct_field(files.column("deletion_vector"), "cardinality"),
        files.column("num_records"),
    )
    # a log may claim more than a float holds to the last digit
    share = pc.divide(*(pc.cast(count, pa.float64(), safe=False) for count in counts))
    known: npt.NDArray[np.float64] = pc.fill_null(share, 0.0).to_numpy()
    return np.nan_to_num(known, nan=0.0, posinf=1.0)


def _partition_numbers(files: pa.Table, snapshot: Snapshot) -> Numbers:
    """A number for each partition that occurs, in the order in which they come; null and the
    empty string are the same value (spec: Partition Value Serialization)."""
    numbers = np.zeros(files.num_rows, np.int64)
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    physical = {item.name: physical_name(item, mode) for item in snapshot.schema.fields}
    maps = files.column("partition_values").combine_chunks()
    for name in snapshot.metadata.partition_columns:
        key = string_scalar(physical.get(name, name))
        values = pc.coalesce(pc.map_lookup(maps, key, "first"), EMPTY)
        codes = read_numbers(pc.dictionary_encode(values).indices)
        both = numbers * (int(codes.max(initial=0)) + 1) + codes
        numbers = np.unique(both, return_inverse=True)[1].astype(np.int64)
    return numbers


def _sorted_by(partitions: Numbers, files: pa.Table) -> Numbers:
    """By partition, then from the smallest file on, as the reference fills its bins."""
    keys = pa.table(
        {
            "partition": build_array(partitions),
            "size": files.column("size"),
            "path": files.column("path"),
        }
    )
    sort_keys = [(name, "ascending") for name in keys.column_names]
    return read_numbers(pc.sort_indices(keys, sort_keys=sort_keys))


def _bins(partitions: Numbers, sizes: Numbers, limit: int) -> Numbers:
    """The number of each file's bin: files that follow each other, of one partition, up to
    `limit` bytes together."""
    found = np.empty(len(sizes), np.int64)
    number, held, partition = -1, 0, -1
    for at, (own, size) in enumerate(zip(partitions.tolist(), sizes.tolist(), strict=True)):
        if own != partition or held + size > limit or number < 0:
            number, held, partition = number + 1, 0, own
        found[at] = number
        held += size
    return found


def _batches(groups: Numbers, sizes: Numbers, limit: int) -> Numbers:
    """The number of each file's commit: whole groups, up to `limit` bytes and not too many."""
    if not len(groups):
        return groups
    totals = np.bincount(groups, sizes).astype(np.int64).tolist()
    counts = np.bincount(groups).tolist()
    found = np.empty(len(totals), np.int64)
    number, held, count, files = 0, 0, 0, 0
    for at, (size, own) in enumerate(zip(totals, counts, strict=True)):
        full = held + size > limit or count == _MOST_GROUPS or files + own > _MOST_FILES
        if count and full:
            number, held, count, files = number + 1, 0, 0, 0
        found[at] = number
        held, count, files = held + size, count + 1, files + own
    return found[groups]


def _renumbered(groups: Numbers) -> Numbers:
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
