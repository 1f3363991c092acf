"""The change data feed: which rows were inserted, deleted and updated, by version
(spec: Add CDC File)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from explorer.errors import CorruptDataError, CorruptLogError, DeltaError, Problem
from explorer.log.actions.columns import (
    TIME,
    int64_scalar,
    string_column,
    string_scalar,
    time_column,
)
from explorer.log.actions.keys import file_key
from explorer.log.commits.commit_file import may_name
from explorer.log.load import LoadedVersion
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.protocol.features.column_mapping import physical_name
from explorer.protocol.schema import STRING, parse_schema
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    deletion_mask,
    render_descriptor,
)
from explorer.rows.changes.change_actions import (
    Change,
    ChangedVector,
    ChangeType,
    PartitionValues,
    RecordedChanges,
    WholeFile,
    parse_changes,
)
from explorer.rows.changes.change_range import CHANGE_COLUMNS, SPEC, ChangeRange, plan_changes
from explorer.rows.conversion.columns import ColumnPlace, build_converter
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.data_file.deletion_vectors import read_deletion_vectors
from explorer.rows.data_file.parquet_file import open_data_file, reading
from explorer.rows.data_file.partition_columns import constant_column
from explorer.rows.data_file.read_file import FileRows, open_rows
from explorer.rows.data_file.unrelated_file import is_unrelated, unrelated_problem, untold_error
from explorer.rows.layout import RowLayout, build_layout, layout_of
from explorer.rows.read import check_limit
from explorer.rows.request import RowRequest, build_request, first_rows
from explorer.storage.ports import ReadStore
from explorer.table.counts import count as counted
from explorer.table.counts import have
from explorer.table.table import Table

CHANGE_TYPES = ("insert", "update_preimage", "update_postimage", "delete")
"""What `_change_type` may say; an update leaves two rows, before and after it. Of a table that
says something else, `label_problems` tells it."""

Tell = Callable[[Problem], None]
"""Who hears of a problem that is found while rows are read."""

_SHOWN_LABELS = 4
_LABEL = "Reading changes"
_CHANGE_TYPE = CHANGE_COLUMNS[0]
_FILE_ACTIONS = ("add", "remove", "cdc")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChanges:
    """What one commit did to rows; partition values go by logical names. `time_ms` is when
    it was made, None where that is not known or there are no changes."""

    version: int
    time_ms: int | None
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ChangeFeed:
    """The changes of a range of versions; `request` is for the schema of its last one."""

    range: ChangeRange
    request: RowRequest

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns as `read_rows` gives them, then `CHANGE_COLUMNS`."""
        return feed_schema(self.request)

    def batches(
        self, *, limit: int | None = None, watch: Watch = UNWATCHED, tell: Tell | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The changed rows, at most `limit`, oldest version first. `tell` as in
        `read_changes`."""
        return first_rows(self._every_batch(watch, tell), limit)

    def _every_batch(self, watch: Watch, tell: Tell | None) -> Iterator[pa.RecordBatch]:
        versions = self.range.versions
        for done, version in enumerate(versions):
            watch.step(len(versions) + done, 2 * len(versions), _LABEL)
            for batch in self._version(version, tell):
                if watch.cancel is not None:
                    watch.cancel.check()
                yield batch
        watch.step(2 * len(versions), 2 * len(versions), _LABEL)

    def commit(self, version: int) -> CommitChanges:
        """What one version of the range did to rows; no data file is opened."""
        data = self.range.commit(version)
        changes: list[Change] = []
        if may_name(data, *_FILE_ACTIONS):
            found = parse_changes(
                data, version, lambda path, vector: self._added_with(path, vector, version)
            )
            changes = [self._named(change) for change in found]
        time_ms = self.range.time_of(version, data) if changes else None
        return CommitChanges(version=version, time_ms=time_ms, changes=tuple(changes))

    def _version(self, version: int, tell: Tell | None) -> Iterator[pa.RecordBatch]:
        commit, store = self.commit(version), self.range.table.store
        found = Counter[str]()
        unrelated = None if tell is None else lambda file: found.update([file.path])
        try:
            for change in commit.changes:
                yield from read_change(
                    store,
                    change,
                    commit,
                    self.request,
                    former=lambda: self.former_layouts,
                    unrelated=unrelated,
                )
        finally:
            if tell is not None and found:
                tell(unrelated_problem(version, next(iter(found)), len(found)))

    @cached_property
    def former_layouts(self) -> tuple[RowLayout, ...]:
        """That of the version before the range, whose files the first commit may have removed when
        it replaced all columns; none where it cannot be known any more. (Within the range no
        column goes: `plan_changes` refuses that.)"""
        table, before = self.range.table, self.range.versions.start - 1
        if before < 0:
            return ()
        try:
            metadata = table.metadata(before)
            layout = build_layout(
                schema=parse_schema(metadata.schema_string),
                protocol=table.protocol(before),
                metadata=metadata,
                uri=table.uri,
                version=before,
            )
        except DeltaError:
            return ()
        return (layout,)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """Logical names of columns by their physical ones."""
        layout = self.request.layout
        return {physical_name(item, layout.mapping): item.name for item in layout.schema.fields}

    def _named(self, change: Change) -> Change:
        """The change with partition values by logical names."""
        values = {
            self._names.get(name, name): text for name, text in change.file.partition_values.items()
        }
        return replace(change, file=replace(change.file, partition_values=values))

    def _added_with(
        self, path: str, vector: DeletionVectorDescriptor | None, version: int
    ) -> PartitionValues:
        if not self.request.layout.partition_columns:
            return {}
        key = file_key(path, None if vector is None else render_descriptor(vector))
        keys = pa.chunked_array([string_column([key])])

        def find(loaded: LoadedVersion) -> list[PartitionValues]:
            found = loaded.state.among("add", keys, ["partition_values"])
            return [dict(row or ()) for rows in found for row in rows.column(0).to_pylist()]

        values = self.range.table.snapshot(version=version - 1).consult(find) if version else []
        if not values:
            raise CorruptLogError(
                f"The rows that version {version} removed cannot be read.",
                reason=f"It removes {path[:200]} without its partition values, and version "
                f"{version - 1} does not have that file.",
                remedy="Read the changes before and after this version.",
                spec=SPEC,
            )
        return values[0]


def feed_schema(request: RowRequest) -> pa.Schema:
    """The columns of a request, then `CHANGE_COLUMNS`."""
    kinds = zip(CHANGE_COLUMNS, (pa.string(), pa.int64(), TIME), strict=True)
    return pa.schema([*request.schema, *(pa.field(*item) for item in kinds)])


def read_change(  # noqa: PLR0913  # what is read, as what, and who is told
    store: ReadStore,
    change: Change,
    commit: CommitChanges,
    request: RowRequest,
    only: ChangeType | None = None,
    *,
    former: Callable[[], Sequence[RowLayout]] = tuple,
    unrelated: Callable[[DataFile], None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of one change of a commit, with `feed_schema`; of the commit only its version
    and time are asked for. With `only` those of a file that was added, removed or got another
    vector are rows of that type alone. `unrelated` hears of a file with rows that has no column
    in common with the table, nor with one of its `former` layouts, and is all NULL; without it
    such a file is an error. Raises what `read_file` raises."""
    number = int64_scalar(commit.version)
    time = time_column([commit.time_ms])[0]
    schema = feed_schema(request)
    request = replace(request, layout=replace(request.layout, version=commit.version))
    read = _ReadFile(store=store, request=request, former=former, unrelated=unrelated)
    for rows, types in _rows(read, change, only):
        count = rows.num_rows
        extra = [types, constant_column(number, count), constant_column(time, count)]
        yield pa.RecordBatch.from_arrays([*rows.columns, *extra], schema=schema)


def plan_feed(
    table: Table, from_version: int, to_version: int | None = None, watch: Watch = UNWATCHED
) -> ChangeFeed:
    """Check what is asked for, as `read_changes` does; no data file is opened."""
    found = plan_changes(table, from_version, to_version, watch)
    return ChangeFeed(range=found, request=build_request(layout_of(found.end)))


def read_changes(  # noqa: PLR0913  # what is asked for, who hears of it, and who looks on
    table: Table,
    from_version: int,
    to_version: int | None = None,
    limit: int | None = None,
    *,
    tell: Tell | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """The rows that changed between two versions, both inclusive, oldest version first, at
    most `limit`; None for `to_version` means up to the latest.

    Columns are those of the last version of the range, with the types of `read_rows`,
    then `_change_type` (one of `CHANGE_TYPES`, or another label that a file of change data
    has, of which `label_problems` tells), `_commit_version`, and
    `_commit_timestamp` (`timestamp[ms, UTC]`). What files of change data record is told
    as it stands there; in versions without any, rows of added files are inserts, of
    removed files deletes. Rows that were only rearranged are no changes.

    Raises `InvalidArgumentError` and `NotFoundError` for versions that cannot be meant or
    are not there; `UnsupportedError` of kind `change_feed_unavailable` where the feed is
    not enabled at one of them, commits are gone, or the schema changed by more than new
    columns and wider types; and what `read_rows` raises for files. `tell` hears of each version
    with files that have rows and no column in common with the table: their rows are then all
    NULL, and without `tell` such a file raises `CorruptDataError`.
    """
    check_limit(limit)
    watch = Watch(progress=progress, cancel=cancel)
    feed = plan_feed(table, from_version, to_version, watch)
    return pa.Table.from_batches(
        list(feed.batches(limit=limit, watch=watch, tell=tell)), feed.schema
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadFile:
    """Reads one file after the other as the request wants its rows; see `read_change`."""

    store: ReadStore
    request: RowRequest
    former: Callable[[], Sequence[RowLayout]]
    unrelated: Callable[[DataFile], None] | None

    def __call__(self, file: DataFile) -> Iterator[pa.RecordBatch]:
        """The rows of a file."""
        with open_rows(self.store, file, self.request) as rows:
            if rows.is_unrelated and self._was_never_related(rows):
                if self.unrelated is None:
                    raise untold_error(file, self.request.layout.version)
                self.unrelated(file)
            yield from rows.batches()

    def _was_never_related(self, rows: FileRows) -> bool:
        return all(is_unrelated(rows.opened.schema, layout) for layout in self.former())


Labelled = Iterator[tuple[pa.RecordBatch, pa.Array]]
"""Rows, and the type of change of each."""


def _rows(read: _ReadFile, change: Change, only: ChangeType | None) -> Labelled:
    match change:
        case RecordedChanges(file=file):
            return _recorded(read, file)
        case WholeFile(file=file, change_type=change_type):
            if only not in (None, change_type):
                return iter(())
            return _labelled(read(file), change_type)
        case ChangedVector():
            return _between_vectors(read, change, only)


def _labelled(batches: Iterator[pa.RecordBatch], change_type: str) -> Labelled:
    label = string_scalar(change_type)
    for batch in batches:
        yield batch, constant_column(label, batch.num_rows)


def _recorded(read: _ReadFile, file: DataFile) -> Labelled:
    types, start = recorded_types(read.store, file, read.request.layout.version), 0
    for batch in read(file):
        yield batch, types.slice(start, batch.num_rows)
        start += batch.num_rows


def recorded_types(store: ReadStore, file: DataFile, version: int) -> pa.Array:
    """The type of each row; the column goes by its name whatever the mapping mode."""
    with open_data_file(store, file, version) as opened, reading(file, version):
        places = [at for at, item in enumerate(opened.schema) if item.name == _CHANGE_TYPE]
        if len(places) != 1:
            raise _no_types(file, f"it has {len(places)} columns {_CHANGE_TYPE}")
        place = ColumnPlace(mode="none", names=(_CHANGE_TYPE,), file=file.shown)
        found = opened.schema.field(places[0]).type
        convert = build_converter(found, STRING, pa.string(), place)
        pieces = [convert(columns[0]) for _, _, columns in opened.batches(places)]
    types = pa.concat_arrays([pa.nulls(0, pa.string()), *pieces])
    if types.null_count:
        raise _no_types(file, f"{have(types.null_count, 'row')} no type")
    return types


def label_problems(labels: Iterable[str]) -> tuple[Problem, ...]:
    """What is wrong with values of `_change_type`: those that the specification does not name."""
    others = sorted(set(labels).difference(CHANGE_TYPES))
    if not others:
        return ()
    shown = ", ".join(repr(label[:60]) for label in others[:_SHOWN_LABELS])
    return (
        Problem(
            kind="data_corrupt",
            problem=f"Change data has rows with the type {shown}.",
            reason=f"The specification has only {', '.join(CHANGE_TYPES)}. The rows are shown with "
            "the type that their writer gave them, and counted under none of these.",
            remedy="Report it to the writer; a program that reads the feed must know its types.",
            spec=SPEC,
        ),
    )


def check_labels(labels: pa.Array) -> None:
    """Raise `CorruptDataError` where values of `_change_type` are none of `CHANGE_TYPES`, for
    whoever has to know on which side of a change a row stands."""
    for problem in label_problems(pc.unique(labels).to_pylist()):
        raise CorruptDataError(
            problem.problem,
            reason="It is unknown whether such a row was there before the change or after it.",
            remedy=problem.remedy,
            spec=problem.spec,
        )


def _no_types(file: DataFile, what: str) -> CorruptDataError:
    return CorruptDataError(
        f"The file of changes {file.shown} does not say what happened to its rows.",
        reason=f"As change data it cannot be read: {what}.",
        remedy="Read the changes before and after this version.",
        spec="Change Data Files",
    )


def _between_vectors(read: _ReadFile, change: ChangedVector, only: ChangeType | None) -> Labelled:
    stored = [vector for vector in (change.before, change.after) if vector is not None]
    vectors = iter(read_deletion_vectors(read.store, stored))
    before = BitMap64() if change.before is None else next(vectors)
    after = BitMap64() if change.after is None else next(vectors)
    both: list[tuple[ChangeType, BitMap64]]
    both = [("delete", after - before), ("insert", before - after)]
    sides = [side for side in both if only in (None, side[0])]
    if not any(positions for _, positions in sides):
        return
    start = 0
    for batch in read(change.file):
        for change_type, positions in sides:
            if positions:
                rows = batch.filter(deletion_mask(positions, start, batch.num_rows))
                yield from _labelled(iter([rows]), change_type)
        start += batch.num_rows
    last = max(positions.max() for _, positions in sides if positions)
    if last >= start:
        raise CorruptDataError(
            f"The deletion vectors of {change.file.shown} do not fit their file.",
            reason=f"They name the row at position {last:,}, and the file has "
            f"{counted(start, 'row')}.",
            remedy="Read the changes before and after this version.",
            spec="Deletion Vectors",
        )
