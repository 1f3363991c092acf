"""When a row was written, changed or deleted: a search through all versions that reads only
the files that may hold it (spec: Add CDC File, Deletion Vectors, Per-file Statistics)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.commits.commit_lines import read_commits
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.reach.reachability import openable_versions
from explorer.inspect.reach.wording import versions_in_words
from explorer.inspect.rows._candidates import Candidates
from explorer.inspect.rows._own_layouts import OwnLayout, OwnLayouts
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.log.commits.commit_info import read_commit_info, text_in
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.rows.changes.change_actions import Change, RecordedChanges, WholeFile
from explorer.rows.changes.change_range import CHANGE_COLUMNS, ChangeRange, TableState
from explorer.rows.changes.feed import ChangeFeed, CommitChanges, read_change
from explorer.rows.layout import layout_of
from explorer.rows.python_values import plain_values
from explorer.rows.read import RowScan
from explorer.rows.request import RowRequest, build_request
from explorer.rows.row_values import row_objects
from explorer.scan.plan import plan_scan
from explorer.scan.predicate.evaluation import evaluate
from explorer.scan.predicate.parse import parse_predicate
from explorer.scan.predicate.predicate import Predicate
from explorer.table.counts import count
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table, contiguous_run

MOST_FILES: Final = 1_000
"""Files that are read unless the caller allows more."""
MOST_ROWS: Final = 10_000
"""Changes that are told: a condition that matches more is not a search for a row."""

VERSIONS: dict[str, Column] = {
    "version": (int64_column, pa.int64()),
    "timestamp": (time_column, TIME),
    "inserted": (int64_column, pa.int64()),
    "updated": (int64_column, pa.int64()),
    "deleted": (int64_column, pa.int64()),
    "operation": (string_column, pa.string()),
    "user_name": (string_column, pa.string()),
    "engine_info": (string_column, pa.string()),
    "log_file": (string_column, pa.string()),
}
UNREAD: dict[str, Column] = {
    "version": (int64_column, pa.int64()),
    "path": (string_column, pa.string()),
    "reason": (string_column, pa.string()),
}
_AT_A_TIME: Final = 512
"""Commits whose files are judged together."""
_TYPE, _ROW_ID = CHANGE_COLUMNS[0], "_row_id"


@dataclass(frozen=True, kw_only=True)
class RowHistory:
    """What became of the rows that match a condition.

    - `versions`, a row per version that changed one: version, timestamp; inserted, updated and
      deleted rows; operation, user_name, engine_info; log_file
    - `rows`: the rows, as `read_changes` gives them, with `_file_path`, `_row_index` and, where
      the table tracks rows, `_row_id`. A row that a version only rewrote is none of them
    - `at_start`: matching rows of version `first - 1`, with which the search began; None where
      it began with the table
    - `first` to `last` were searched, `latest` is the newest version; `is_cut` says that a limit
      ended it early. `num_files` counts the files that the first version has, and the actions by
      which commits add, remove or record one; `files_read` how often one was read, `bytes_read`
      their sizes as far as the log says them
    - `unread`: version, path and reason of what could not be read; what it holds is not known
    """

    where: str
    first: int
    last: int
    latest: int
    versions: pa.Table
    rows: pa.Table
    at_start: pa.Table | None
    num_files: int
    files_read: int
    bytes_read: int
    unread: pa.Table
    is_cut: bool

    @property
    def sentence(self) -> str:
        """When it happened, and what was searched."""
        return row_sentence(self)


def search_rows(  # what is searched for, where, how far, and who looks on
    table: Table,
    where: str,
    *,
    from_version: int | None = None,
    most_files: int = MOST_FILES,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> RowHistory:
    """The versions in which rows that match `where` were inserted, deleted or updated.

    The condition is over the latest schema. Each file is read by the layout and schema of its
    own version: a column that it does not have is null in its rows, and where a column had a
    type that the latest schema cannot hold, its files stand in `unread`. The search begins
    with the oldest version that the log still has, or with `from_version`. Raises what
    `Table.snapshot` raises, `InvalidArgumentError` for a condition that cannot be understood.
    """
    watch = Watch(progress=progress, cancel=cancel)
    end = table.snapshot(progress=progress, cancel=cancel)
    predicate = parse_predicate(where, end.schema)
    base = base_of(table, end, from_version, watch)
    first = 0 if base is None else base.version + 1
    search = RowSearch(table, end, predicate, range(first, end.version + 1), most_files)
    at_start = None if base is None else search.begin(base, watch)
    search.run(watch)
    rows = pa.Table.from_batches(search.found, search.schema)
    return RowHistory(
        where=where,
        first=first,
        last=search.last,
        latest=end.version,
        versions=_versions(table, rows),
        rows=rows,
        at_start=at_start,
        num_files=search.num_files,
        files_read=search.files_read,
        bytes_read=search.bytes_read,
        unread=build_frame(UNREAD, sorted([*search.unread, *search.broken])),
        is_cut=search.is_cut,
    )


def base_of(table: Table, end: Snapshot, from_version: int | None, watch: Watch) -> Snapshot | None:
    """The version with which the search begins; None where it begins with the first commit."""
    if from_version is not None:
        if isinstance(from_version, bool) or not 0 <= from_version <= end.version:
            raise InvalidArgumentError(
                f"The search cannot begin with version {str(from_version)[:40]}.",
                reason=f"The versions of this table are 0 to {end.version}.",
                remedy="Begin with one of them.",
            )
        return None if from_version == 0 else _opened(table, from_version - 1, watch)
    listing = table.listing()
    # commits after a gap are no part of what an older version was built from
    run = contiguous_run(tuple(at for at in listing.commits if at <= end.version))
    if not run or run[-1] < end.version:
        return end
    if run[0] == 0:
        return None
    lowest = run[0] - 1
    opens = openable_versions(listing)
    return _opened(table, next(version for version in opens if version >= lowest), watch)


def _opened(table: Table, version: int, watch: Watch) -> Snapshot:
    return table.snapshot(version=version, progress=watch.progress, cancel=watch.cancel)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """The version with which a search begins: its layout, itself as the newest version names
    its columns (None where that is not possible), and the files that may hold a matching row."""

    layout: OwnLayout
    seen: Snapshot | None
    kept: pa.Table


class RowSearch:
    """A search through some versions on its way; lives for one call. `end` says how rows are
    shown, and must not be older than the versions."""

    def __init__(
        self, table: Table, end: Snapshot, predicate: Predicate, versions: range, most_files: int
    ) -> None:
        layout = layout_of(end)
        extra = ["_file_path", "_row_index", *([_ROW_ID] if layout.tracks_rows else [])]
        names = end.schema.names
        self.request: RowRequest = build_request(
            layout, None, [name for name in extra if name not in names]
        )
        self.data: dict[int, bytes] = {}
        state = TableState(protocol=end.protocol, metadata=end.metadata)
        self.feed = ChangeFeed(
            range=ChangeRange(
                table=table,
                listing=table.listing(),
                versions=versions,
                end=end,
                states={versions.start: state},
                kept=self.data,
            ),
            request=self.request,
        )
        self.schema = self.feed.schema
        self.predicate = predicate
        self.layouts = OwnLayouts(end, self.request)
        self.candidates = Candidates(predicate, end, self.layouts)
        self.most_files = most_files
        self.last = versions.stop - 1
        self.found: list[pa.RecordBatch] = []
        self.num_rows = self.num_base = self.files_read = self.bytes_read = 0
        self.unread: list[tuple[int, str, str]] = []
        self.recorded: set[int] = set()
        """Versions whose changes the writer recorded itself."""
        self.is_cut = False

    @property
    def num_files(self) -> int:
        """The files that were named, in the first version and by the commits after it."""
        return self.num_base + self.candidates.num_actions

    def prepare(self, base: Snapshot) -> _Base:
        """Learn the layout of the version with which it begins and which of its files may hold
        a matching row; no file is read."""
        state = TableState(protocol=base.protocol, metadata=base.metadata)
        layout = self.layouts.begin_with(base.version, state)
        self.num_base = base.num_files
        seen = None
        if layout.seen is None:
            kept = base.files(["path", "size"])
        else:
            seen = base.described_by(layout.seen.protocol, layout.seen.metadata)
            kept = plan_scan(seen, self.predicate).kept
        self.candidates.begin_with(kept.column("path").to_pylist())
        return _Base(layout=layout, seen=seen, kept=kept)

    def begin(self, base: Snapshot, watch: Watch) -> pa.Table:
        """The matching rows of the version with which it begins."""
        found = self.prepare(base)
        layout, seen, kept = found.layout, found.seen, found.kept
        schema = replace(self.request, predicate=self.predicate).schema
        if seen is None or layout.request is None:
            paths = kept.column("path").to_pylist()
            self.unread += [(base.version, path, layout.reason) for path in paths]
            return pa.Table.from_batches([], schema)
        if kept.num_rows > self.most_files:
            self.is_cut, self.last, self.num_base = True, base.version, 0
            return pa.Table.from_batches([], schema)
        request = replace(layout.request, predicate=self.predicate)
        batches = []
        for file in range(kept.num_rows):
            watch.step(file, kept.num_rows, "Reading the version to begin with")
            scan = RowScan(snapshot=seen, request=request, files=kept.slice(file, 1))
            path, size = (kept.column(name)[file].as_py() for name in ("path", "size"))
            self._count(size)
            try:
                batches += list(scan.batches(limit=MOST_ROWS))
            except DeltaError as error:
                self._missed(base.version, path, error)
        return pa.Table.from_batches(batches, schema)

    def run(self, watch: Watch) -> None:
        """Search commit by commit, until the end or a limit."""
        versions = self.feed.range.versions
        commits = zip(versions, read_commits(self.feed.range.table.store, versions), strict=True)
        done = 0
        while not self.is_cut and (some := list(islice(commits, _AT_A_TIME))):
            watch.step(done, len(versions), "Searching versions")
            done += len(some)
            self._search_block(some, watch)

    def _search_block(self, some: list[tuple[int, bytes | DeltaError]], watch: Watch) -> None:
        self.data.clear()
        for version, data in some:
            if isinstance(data, DeltaError):
                self._missed(version, render_commit_name(version), data)
            else:
                self.data[version] = data
        self.layouts.take(list(self.data.items()))
        for version in self.candidates.take(list(self.data.items())):
            try:
                every, time_ms = self._changes(version)
            except DeltaError as error:
                self._missed(version, render_commit_name(version), error)
                continue
            wanted = [(change, request) for change, request in every
                      if change.file.path in self.candidates]  # fmt: skip
            if self.files_read + len(wanted) > self.most_files:
                self.is_cut, self.last = True, version - 1
                return
            rows = self._changed(CommitChanges(version=version, time_ms=time_ms), wanted, watch)
            if self.num_rows + rows.num_rows > MOST_ROWS:
                self.is_cut, self.last = True, version - 1
                return
            self.num_rows += rows.num_rows
            self.found += rows.to_batches()

    def _changes(self, version: int) -> tuple[list[tuple[Change, RowRequest | None]], int | None]:
        """What a commit did to rows, with the request that reads each, and when it was made.
        What it removed is stored as the version before has it, what it added as its own; a
        request is None where the file cannot be read so."""
        own, before = self.layouts.at(version), self.layouts.at(version - 1)
        commit = self._commit(version, own)
        if own is before:
            return [(change, own.request) for change in commit.changes], commit.time_ms
        found: list[tuple[Change, RowRequest | None]] = []
        for layout in (before, own):
            for change in self._commit(version, layout).changes:
                is_removal = isinstance(change, WholeFile) and change.change_type == "delete"
                if is_removal == (layout is before):
                    found.append((change, layout.request))
        return found, commit.time_ms

    def _commit(self, version: int, layout: OwnLayout) -> CommitChanges:
        """A commit whose partition values go by the names of one layout."""
        return replace(self.feed, request=layout.request or self.request).commit(version)

    def _changed(
        self,
        commit: CommitChanges,
        changes: Sequence[tuple[Change, RowRequest | None]],
        watch: Watch,
    ) -> pa.Table:
        batches: list[pa.RecordBatch] = []
        is_recorded = False
        for change, request in changes:
            is_recorded |= isinstance(change, RecordedChanges)
            if request is None:
                self.unread.append((commit.version, change.file.path, self._reason(commit.version)))
                continue
            self._count(change.file.size)
            try:
                for batch in read_change(self.feed.range.table.store, change, commit, request):
                    watch.step(self.files_read, None, "Reading files")
                    batches.append(batch.filter(evaluate(self.predicate.condition, batch)))
            except DeltaError as error:
                self._missed(commit.version, change.file.path, error)
        rows = pa.Table.from_batches(batches, self.schema)
        if is_recorded:
            self.recorded.add(commit.version)
        return rows if is_recorded or not rows.num_rows else _net(rows, self.feed.range.end)

    def _reason(self, version: int) -> str:
        return self.layouts.at(version).reason or self.layouts.at(version - 1).reason

    @property
    def broken(self) -> list[tuple[int, str, str]]:
        """Commits that cannot be parsed, as they stand among what was not read."""
        found = self.candidates.broken
        return [(version, render_commit_name(version), problem) for version, problem in found]

    def _count(self, size: int | None) -> None:
        self.files_read += 1
        self.bytes_read += max(size or 0, 0)

    def _missed(self, version: int, path: str, error: DeltaError) -> None:
        if error.kind == "cancelled":
            raise error
        self.unread.append((version, path, error.problem))


def _net(rows: pa.Table, end: Snapshot) -> pa.Table:
    """The changes of one version without rows that it only rewrote, and with both sides of
    a row that kept its id as an update."""
    types = rows.column(_TYPE).to_pylist()
    if len(set(types)) < 2:
        return rows
    columns = [plain_values(rows.column(name)) for name in end.schema.names]
    keys = [repr(row) for row in zip(*columns, strict=True)] if columns else [""] * len(types)
    ids = rows.column(_ROW_ID).to_pylist() if _ROW_ID in rows.column_names else None
    if ids is not None:
        keys = [f"{number}:{key}" for number, key in zip(ids, keys, strict=True)]
    same = in_both(list(zip(types, keys, strict=True)))
    kept = [at for at, is_same in enumerate(same) if not is_same]
    if ids is not None:
        moved = _updated([(types[at], ids[at]) for at in kept])
        for at, is_update in zip(kept, moved, strict=True):
            if is_update:
                types[at] = "update_preimage" if types[at] == "delete" else "update_postimage"
    named = rows.set_column(
        rows.schema.get_field_index(_TYPE), rows.schema.field(_TYPE), string_column(types)
    )
    return named.take(int64_column(kept))


def in_both(keyed: list[tuple[str, str]]) -> list[bool]:
    """Which of the (type, key) stand on both sides, one for one."""
    counts = Counter(keyed)
    pairs = {key: min(counts["insert", key], counts["delete", key]) for _, key in counts}
    left: defaultdict[tuple[str, str], int] = defaultdict(int)
    found = []
    for kind, key in keyed:
        left[kind, key] += 1
        found.append(left[kind, key] <= pairs[key])
    return found


def _updated(keyed: list[tuple[str, int | None]]) -> Iterator[bool]:
    """Which rows, by type and id, stand on both sides."""
    sides: defaultdict[int | None, set[str]] = defaultdict(set)
    for kind, number in keyed:
        sides[number].add(kind)
    return (number is not None and len(sides[number]) == 2 for _, number in keyed)


def _versions(table: Table, rows: pa.Table) -> pa.Table:
    counts: dict[int, Counter[str]] = {}
    every = zip(
        rows.column(CHANGE_COLUMNS[1]).to_pylist(), rows.column(_TYPE).to_pylist(), strict=True
    )
    for version, kind in every:
        counts.setdefault(version, Counter())[kind] += 1
    times = dict(
        zip(
            rows.column(CHANGE_COLUMNS[1]).to_pylist(),
            rows.column(CHANGE_COLUMNS[2]).cast(pa.int64()).to_pylist(),
            strict=True,
        )
    )
    found = []
    for version, kinds in counts.items():
        told = commit_provenance(table, version)
        found.append(
            (
                version,
                times[version],
                kinds["insert"],
                max(kinds["update_preimage"], kinds["update_postimage"]),
                kinds["delete"],
                text_in(told, "operation"),
                text_in(told, "userName"),
                text_in(told, "engineInfo"),
                render_commit_name(version),
            )
        )
    return build_frame(VERSIONS, found)


def commit_provenance(table: Table, version: int) -> dict[str, Any]:
    """The `commitInfo` of a version; empty where it has none, or is gone."""
    try:
        return dict(read_commit_info(table.store, version).body)
    except DeltaError:
        return {}


_SHOWN = 3


def row_sentence(found: RowHistory) -> str:
    """When the rows changed, and what was searched."""
    # no times: one may lie where no calendar reaches
    rows = found.versions.drop_columns(["timestamp"]).to_pylist()
    if not rows:
        text = "No searched version changed a matching row."
        if found.at_start is not None and found.at_start.num_rows:
            number = found.at_start.num_rows
            text += f" {_rows(number)} already matched in version {found.first - 1}."
    else:
        shown = rows if len(rows) <= _SHOWN else [rows[0], *rows[-(_SHOWN - 1) :]]
        text = "; ".join(_event(row) for row in shown)
        text = f"{text[:1].upper()}{text[1:]}."
        if len(rows) > _SHOWN:
            number = f"{len(rows):,}"
            text = f"Matching rows changed in {number} versions. The first and the last two: {text}"
        if found.at_start is not None and found.at_start.num_rows:
            text += f" {_rows(found.at_start.num_rows)} matched before, in version "
            text += f"{found.first - 1}."
    return f"{text} {_searched(found)}"


def _event(row: dict[str, Any]) -> str:
    parts = [
        f"{name} {_rows(row[name])}" for name in ("inserted", "updated", "deleted") if row[name]
    ]
    by = "" if row["operation"] is None else f" ({row['operation'][:60]})"
    return f"version {row['version']}{by} {' and '.join(parts)}"


def _searched(found: RowHistory) -> str:
    span = "nothing"
    if found.last >= found.first:
        span = versions_in_words([(found.first, found.last)])
    # a file that is added and removed again counts twice, and may be read twice
    text = f"Searched {span}: files were read for {found.files_read:,} of "
    text += f"{count(found.num_files, 'action')} ({render_byte_size(found.bytes_read)})."
    if found.is_cut:
        text += f" A limit ended the search: changes after version {found.last} are unknown."
    if found.unread.num_rows:
        number = found.unread.num_rows
        text += f" {count(number, 'file')} could not be read: what "
        text += f"{'they hold' if number > 1 else 'it holds'} is unknown."
    return text


def _rows(number: int) -> str:
    return count(number, "row")


def _ask(
    table: Table,
    progress: ProgressCallback | None,
    *,
    where: str,
    first: int | None = None,
    files: int = MOST_FILES,
) -> RowHistory:
    return search_rows(table, where, from_version=first, most_files=files, progress=progress)


def _documents(found: RowHistory, limit: int | None) -> Iterator[Document]:
    shown = found.rows if limit is None else found.rows.slice(0, limit)
    before = found.at_start
    yield {
        "where": found.where,
        "sentence": found.sentence,
        "first": found.first,
        "last": found.last,
        "latest": found.latest,
        "is_cut": found.is_cut,
        "num_files": found.num_files,
        "files_read": found.files_read,
        "bytes_read": found.bytes_read,
        "versions": list(plain_rows(found.versions)),
        "num_rows": found.rows.num_rows,
        "rows": list(row_objects(shown)),
        "at_start": None if before is None else list(row_objects(before)),
        "unread": list(plain_rows(found.unread)),
    }


ROWS: Final = Answer(
    name="rows",
    parameters=(
        Parameter(name="where", kind="text", is_required=True),
        Parameter(name="first", kind="whole"),
        Parameter(name="files", kind="count"),
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
    reads="files",
)
