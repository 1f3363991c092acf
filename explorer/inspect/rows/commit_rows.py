"""The rows that one commit changed, for a look (spec: Add CDC File, Deletion Vectors).

Where the commit recorded change data, they stand there. Otherwise they are the rows of files that
were added or removed, and those that a deletion vector newly hides or shows. A commit that removed
files and added others copied the rows that stayed: then both sides are read and compared row by
row, and the rows that are the same on both are no change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import pyarrow as pa

from explorer.errors import DeltaError, Problem
from explorer.inspect.commits.commit_lines import read_commit
from explorer.inspect.rows.row_choice import fair_shares, take_shares
from explorer.inspect.rows.row_differences import pair_by_key
from explorer.log.commits.commit_file import may_name
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.rows.changes.change_actions import Change, RecordedChanges, WholeFile
from explorer.rows.changes.change_counts import count_change
from explorer.rows.changes.change_range import (
    CHANGE_COLUMNS,
    ChangeRange,
    TableState,
    breaking_changes,
    check_feed_names,
    render_changes,
)
from explorer.rows.changes.feed import (
    ChangeFeed,
    CommitChanges,
    label_problems,
    read_change,
)
from explorer.rows.data_file.unrelated_file import unrelated_problem
from explorer.rows.layout import layout_of
from explorer.rows.python_values import plain_values
from explorer.rows.request import build_request, first_rows
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

SHOWN: Final = 50
MOST_COMPARED: Final = 100_000
"""Rows of both sides together that are compared; that takes some seconds."""

Route = Literal["none", "change data", "files", "comparison", "too many"]

MOST_PAIRED: Final = 10_000
"""Rows of one file of change data that are put into pairs."""

MOST_COUNTED: Final = 500
"""Files and vectors whose rows are counted: each is opened for it."""

_TYPE: Final = CHANGE_COLUMNS[0]
_BEFORE, _AFTER = "update_preimage", "update_postimage"
_LABEL: Final = "Reading the rows that changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRows:
    """The first rows that the commit of `version` changed, as `read_changes` gives them.

    `route` says how they were found: there are `none`; from `change data`; from `files` and
    deletion vectors; by `comparison` of the files that were removed and added; or not at all,
    because those hold `too many` rows. `is_cut` says that there are more, and then there are some
    of each kind; `num_files` is how many files or vectors the commit changed. `counts` are all
    the rows that it changed by their `_change_type`, None where nobody counted them. With
    `is_paired` each row before an update is followed by the same row after it. `problems` are told
    with the rows.
    """

    version: int
    route: Route
    rows: pa.Table
    num_files: int
    is_cut: bool = False
    is_paired: bool = False
    counts: Mapping[str, int] | None = None
    problems: tuple[Problem, ...] = ()


def commit_rows(  # of what, how much, and who looks on
    table: Table,
    version: int,
    limit: int = SHOWN,
    *,
    most_compared: int = MOST_COMPARED,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> CommitRows:
    """The first `limit` rows that the commit of a version inserted, updated or deleted.

    The change data feed need not be enabled. Rows are read by the schema of this version. Raises
    `NotFoundError` where the commit is not in the log, `UnsupportedError` where a column is
    called like one of the feed, and what `read_rows` raises for files that are gone or broken.
    """
    watch = Watch(progress=progress, cancel=cancel)
    _, data = read_commit(table, version)
    end = table.snapshot(version=version, progress=progress, cancel=cancel)
    check_feed_names(end.schema)
    feed = _feed_of(table, end, data)
    watch.step(0, None, _LABEL)
    changes = feed.commit(version)
    problems: list[Problem] = []
    wanted = _readable(changes.changes, table, end, data, problems)
    reader = _Reader(feed=feed, commit=changes, watch=watch)
    found = _find(reader, wanted, limit + 1, most_compared)
    rows = pa.Table.from_batches(found.batches, feed.schema)
    is_cut = rows.num_rows > limit
    shown = rows.slice(0, limit)
    labels = shown.column(_TYPE).to_pylist()
    if is_cut and found.is_paired and labels[-1:] == [_BEFORE]:
        shown = shown.slice(0, limit - 1)  # and not one side of an update alone
    return CommitRows(
        version=version,
        route=found.route if changes.changes else "none",
        rows=shown,
        num_files=len(changes.changes),
        is_cut=is_cut,
        is_paired=found.is_paired,
        counts=found.counts,
        problems=(*label_problems(labels), *problems, *reader.problems),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Rows that are shown, how they were found, and how many there are of each type."""

    route: Route
    batches: Sequence[pa.RecordBatch] = ()
    counts: Counter[str] | None = None
    is_paired: bool = False


def _find(reader: _Reader, changes: Sequence[Change], limit: int, most_compared: int) -> _Found:
    if _copies(changes):
        compared = _compare(reader.batches(changes), limit, most_compared)
        if compared is None:
            return _Found(route="too many")
        return _Found(route="comparison", batches=compared[0], counts=compared[1])
    is_recorded = any(isinstance(change, RecordedChanges) for change in changes)
    few = _few(reader, changes, limit) if is_recorded else None
    if few is not None:
        return few
    by_change = _count(reader, changes)
    counts = None if by_change is None else sum(by_change, Counter())
    route: Route = "change data" if is_recorded else "files"
    if by_change is None:
        batches = list(first_rows(reader.batches(changes), limit))
        return _Found(route=route, batches=batches)
    batches, is_paired = _some_of_each(reader, changes, limit, by_change)
    return _Found(route=route, batches=batches, counts=counts, is_paired=is_recorded and is_paired)


def _feed_of(table: Table, end: Snapshot, data: bytes) -> ChangeFeed:
    """A feed of one version, whether or not the table has one."""
    state = TableState(protocol=end.protocol, metadata=end.metadata)
    found = ChangeRange(
        table=table,
        listing=table.listing(),
        versions=range(end.version, end.version + 1),
        end=end,
        states={end.version: state},
        kept={end.version: data},
    )
    return ChangeFeed(range=found, request=build_request(layout_of(end)))


def _readable(
    changes: Sequence[Change], table: Table, end: Snapshot, data: bytes, problems: list[Problem]
) -> list[Change]:
    """The changes whose rows the schema of this version can hold: files that were removed when
    the columns were replaced have others."""
    before = end.version - 1
    if before < 0 or not may_name(data, "metaData"):
        return list(changes)
    try:
        state = TableState(protocol=table.protocol(before), metadata=table.metadata(before))
        broken = breaking_changes(state, end)
    except DeltaError:
        return list(changes)
    kept = [
        change
        for change in changes
        if not (isinstance(change, WholeFile) and change.change_type == "delete")
    ]
    if not broken or len(kept) == len(changes):
        return list(changes)
    problems.append(
        Problem(
            kind="schema_mismatch",
            problem="The rows that this commit removed are not shown.",
            reason=f"It changed columns as well: {render_changes(broken)}.",
            remedy=f"Look at the rows of version {before}.",
            spec="Change Metadata",
        )
    )
    return kept


def _copies(changes: Sequence[Change]) -> bool:
    """Whether rows may have been copied from files that were removed into files that were added."""
    kinds = {change.change_type for change in changes if isinstance(change, WholeFile)}
    return len(kinds) == 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads changes one after the other; `unrelated` are the paths of files among them that
    have no column in common with the table."""

    feed: ChangeFeed
    commit: CommitChanges
    watch: Watch
    unrelated: list[str] = field(default_factory=list)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found while they were read."""
        paths = list(dict.fromkeys(self.unrelated))
        version = self.commit.version
        return (unrelated_problem(version, paths[0], len(paths)),) if paths else ()

    def batches(self, changes: Sequence[Change]) -> Iterator[pa.RecordBatch]:
        """Their rows, with the schema of the feed."""
        for done, change in enumerate(changes):
            self.watch.step(done, len(changes), _LABEL)
            yield from read_change(
                self.feed.range.table.store,
                change,
                self.commit,
                self.feed.request,
                former=lambda: self.feed.former_layouts,
                unrelated=lambda file: self.unrelated.append(file.path),
            )


def _count(reader: _Reader, changes: Sequence[Change]) -> list[Counter[str]] | None:
    """The rows of each change by their type; None where they are too many, or cannot be told."""
    if len(changes) > MOST_COUNTED:
        return None
    try:
        store, version = reader.feed.range.table.store, reader.commit.version
        return [count_change(store, change, version) for change in changes]
    except DeltaError:
        return None  # the rows that are read say what is wrong


def _some_of_each(
    reader: _Reader, changes: Sequence[Change], limit: int, by_change: Sequence[Counter[str]]
) -> tuple[list[pa.RecordBatch], bool]:
    """Rows of changes whose rows are counted, some of each type, and whether both sides of each
    update stand together; nothing more is read once they are there."""
    left = fair_shares(sum(by_change, Counter()), limit)
    found: list[pa.RecordBatch] = []
    is_paired = True
    for change, counts in zip(changes, by_change, strict=True):
        if not any(min(counts[kind], left[kind]) for kind in counts):
            continue
        batches = reader.batches([change])
        if isinstance(change, RecordedChanges):
            batches, is_pair = _ordered(reader, batches, counts.total())
            is_paired = is_paired and is_pair
        for batch in batches:
            found += _taken(batch, left)
            if not any(min(counts[kind], left[kind]) for kind in counts):
                break
    return found, is_paired


def _ordered(
    reader: _Reader, batches: Iterator[pa.RecordBatch], number: int
) -> tuple[Iterator[pa.RecordBatch], bool]:
    """Rows of change data in pairs, and whether that can be told; as they are where they are too
    many for it."""
    if number > MOST_PAIRED:
        return batches, False
    rows = pa.Table.from_batches(batches, reader.feed.schema).combine_chunks()
    order = _pairs(rows)
    if order is not None:
        rows = rows.take(pa.array(order, pa.int64())).combine_chunks()
    return iter(rows.to_batches()), order is not None


def _taken(batch: pa.RecordBatch, left: Counter[str]) -> list[pa.RecordBatch]:
    places = take_shares(batch.column(_TYPE).to_pylist(), left)
    return [batch.take(pa.array(places, pa.int64()))] if places else []


def _few(reader: _Reader, changes: Sequence[Change], limit: int) -> _Found | None:
    """Rows of change data, some of each type; both sides of each update stand together, also where
    it moves rows to other partitions, and so into other files. None where they are too many for
    that."""
    batches = list(first_rows(reader.batches(changes), MOST_PAIRED + 1))
    number = sum(batch.num_rows for batch in batches)
    if number > MOST_PAIRED:
        return None
    ordered, is_paired = _ordered(reader, iter(batches), number)
    held = list(ordered)
    counts = Counter(kind for batch in held for kind in batch.column(_TYPE).to_pylist())
    left = fair_shares(counts, limit)
    shown = [part for batch in held for part in _taken(batch, left)]
    return _Found(route="change data", batches=shown, counts=counts, is_paired=is_paired)


def _pairs(rows: pa.Table) -> list[int] | None:
    """The order of the rows in which each row before an update is followed by the same row after
    it; None where that cannot be told. A column that is named like a key tells it. Else writers
    keep the order of rows on both sides: one is taken for the same row where half of the columns
    at least are the same in all of them."""
    types = rows.column(_TYPE).to_pylist()
    before = [at for at, kind in enumerate(types) if kind == _BEFORE]
    after = [at for at, kind in enumerate(types) if kind == _AFTER]
    if len(before) != len(after):
        return None
    names = [name for name in rows.column_names if name not in CHANGE_COLUMNS]
    sides = [rows.take(pa.array(places, pa.int64())) for places in (before, after)]
    by_key = pair_by_key(sides[0], sides[1], names) if before else None
    if by_key is not None:
        return _in_pairs(types, dict(zip(before, (after[at] for at in by_key), strict=True)))
    values = [plain_values(rows.column(name)) for name in names]
    for one, other in zip(before, after, strict=True):
        same = sum(repr(column[one]) == repr(column[other]) for column in values)
        if 2 * same < len(values):
            return None
    return _in_pairs(types, dict(zip(before, after, strict=True)))


def _in_pairs(types: Sequence[str], partner: Mapping[int, int]) -> list[int]:
    order = []
    for at, kind in enumerate(types):
        if kind != _AFTER:
            order += [at, partner[at]] if at in partner else [at]
    return order


def _compare(
    batches: Iterator[pa.RecordBatch], limit: int, most: int
) -> tuple[list[pa.RecordBatch], Counter[str]] | None:
    """The rows that are on one side only, at most `limit`: deleted ones first, and half of each
    where both are many; and how many each side has; None where there are more than `most` rows to
    compare. A row that stands twice counts twice."""
    held: list[tuple[pa.RecordBatch, list[str], list[str]]] = []
    balance: Counter[str] = Counter()
    read = 0
    for batch in batches:
        read += batch.num_rows
        if read > most:
            return None
        types = batch.column(_TYPE).to_pylist()
        keys = _row_keys(batch)
        for kind, key in zip(types, keys, strict=True):
            balance[key] += 1 if kind == "insert" else -1
        held.append((batch, types, keys))
    sides = [_surplus(held, balance, kind) for kind in ("delete", "insert")]
    deleted, inserted = (sum(batch.num_rows for batch in side) for side in sides)
    fewer = min(deleted, max(limit - inserted, limit // 2))
    shown = [*first_rows(sides[0], fewer), *first_rows(sides[1], limit - fewer)]
    return shown, +Counter(delete=deleted, insert=inserted)


def _surplus(
    held: Sequence[tuple[pa.RecordBatch, list[str], list[str]]],
    balance: Counter[str],
    kind: str,
) -> list[pa.RecordBatch]:
    """The rows of one kind that the other side has not; they leave the balance."""
    sign = 1 if kind == "insert" else -1
    found = []
    for batch, types, keys in held:
        places = []
        for at, (own, key) in enumerate(zip(types, keys, strict=True)):
            if own == kind and balance[key] * sign > 0:
                balance[key] -= sign
                places.append(at)
        if places:
            found.append(batch.take(pa.array(places)))
    return found


def _row_keys(batch: pa.RecordBatch) -> list[str]:
    """A text for each row that two rows share where all their values are the same."""
    values = [
        plain_values(column)
        for column, name in zip(batch.columns, batch.schema.names, strict=True)
        if name not in CHANGE_COLUMNS
    ]
    # as text: NaN is the same as itself then, and lists and dicts need no hash
    return [repr(row) for row in zip(*values, strict=True)]
