"""Which commit last set each value of a row (spec: Row Tracking, Add CDC File, Deletion Vectors).

The versions are searched backwards, in spans that double: most rows are asked for soon after
somebody changed them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.inspect.answer import COLUMN_NAMES, LIMIT, VERSION, Answer, Document, Parameter
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.reach.wording import versions_in_words
from explorer.inspect.rows.row_search import (
    MOST_FILES,
    UNREAD,
    RowSearch,
    base_of,
    commit_provenance,
)
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.log.commits.commit_info import text_in
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.rows.changes.change_range import CHANGE_COLUMNS
from explorer.rows.layout import layout_of
from explorer.rows.python_values import plain_values
from explorer.rows.read import plan_rows
from explorer.rows.request import ROW_TRACKING_COLUMNS
from explorer.rows.row_values import plain_objects, row_objects
from explorer.scan.predicate.parse import parse_predicate
from explorer.table.counts import count
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

CELLS: dict[str, Column] = {
    "column": (string_column, pa.string()),
    "value": (string_column, pa.string()),
    "kind": (string_column, pa.string()),
    "version": (int64_column, pa.int64()),
    "timestamp": (time_column, TIME),
    "operation": (string_column, pa.string()),
    "user_name": (string_column, pa.string()),
    "engine_info": (string_column, pa.string()),
    "log_file": (string_column, pa.string()),
    "reason": (string_column, pa.string()),
}

_FIRST_SPAN: Final = 32
"""Versions that are searched first; each span before it is twice as long."""
_NAMED: Final = 3
_TYPE, _VERSION, _TIME = CHANGE_COLUMNS
_ROW_ID, _ROW_VERSION = "_row_id", "_row_commit_version"
_AFTER: Final = ("insert", "update_postimage")


@dataclass(frozen=True, kw_only=True)
class RowBlame:
    """Which commit last set each value of a row of `version`.

    - `texts`: by column, the value as people read it, None where it is null
    - `cells`, a row per column: its `value` as text or JSON, null where it is null; `kind`:
      inserted with the row, changed later, column added (after the row, which has had null there
      since), or unknown; then version, timestamp, operation, user_name, engine_info and log_file
      of the commit. `reason` says why it is not known, what could make a known one doubtful, or
      that the column was added
    - `row_id` and `row_commit_version` where the table tracks rows, null elsewhere; the row was
      then followed by its id, elsewhere by the condition alone
    - versions `first` to `version` were searched; `is_cut` says that the limit of files ended it.
      `files_read` and `bytes_read` count what was read; `unread`: version, path and reason of
      what could not be
    """

    where: str
    version: int
    cells: pa.Table
    texts: Mapping[str, str | None]
    row_id: int | None
    row_commit_version: int | None
    first: int
    files_read: int
    bytes_read: int
    unread: pa.Table
    is_cut: bool

    @property
    def sentence(self) -> str:
        """Who changed the row last, and what was searched."""
        return blame_sentence(self)


def blame_row(  # noqa: PLR0913  # which row, which columns, how far, and who looks on
    table: Table,
    where: str,
    version: int | None = None,
    columns: Sequence[str] | None = None,
    *,
    most_files: int = MOST_FILES,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> RowBlame:
    """The commit that last set each of `columns`, all of them where that is None, in the one row
    of `version` (the newest one) that matches `where`.

    A value that was written again as it was is not set by that. The condition has to match the
    row in older versions too, as one on a key does; where the table tracks rows, only those with
    the row's id are looked at. Files that cannot hold the row are not read, and at most
    `most_files` of the others.

    Raises `InvalidArgumentError` where no row matches or several do, for a condition that cannot
    be understood and for columns that are not there, and what `Table.snapshot` raises.
    """
    watch = Watch(progress=progress, cancel=cancel)
    end = table.snapshot(version=version, progress=progress, cancel=cancel)
    row = _the_row(end, where, columns, watch)
    walk = _Walk(row=row, operation=lambda at: text_in(commit_provenance(table, at), "operation"))
    search = _Backwards(table=table, end=end, where=where, most_files=most_files)
    for changes in search.spans(watch):
        unread = {version for version, _, _ in search.unread}
        walk.take(changes, unread, search.recorded)
        if walk.is_over:
            break
    return RowBlame(
        where=where,
        version=end.version,
        cells=build_frame(CELLS, list(_cells(table, row, walk, search))),
        texts=row.texts,
        row_id=row.row_id,
        row_commit_version=row.commit_version,
        first=search.first,
        files_read=search.files_read,
        bytes_read=search.bytes_read,
        unread=build_frame(UNREAD, sorted(search.unread)),
        is_cut=search.is_cut,
    )


@dataclass(frozen=True, kw_only=True)
class _Row:
    """The row that is asked for: what each wanted column holds, to be shown and to be compared."""

    shown: Mapping[str, Any]
    texts: Mapping[str, str | None]
    values: Mapping[str, str]
    row_id: int | None
    commit_version: int | None


def _the_row(end: Snapshot, where: str, columns: Sequence[str] | None, watch: Watch) -> _Row:
    names = end.schema.names
    tracked = sorted(ROW_TRACKING_COLUMNS - set(names)) if layout_of(end).tracks_rows else []
    wanted = list(names if columns is None else columns)
    scan = plan_rows(end, wanted, where, tracked)
    rows = pa.Table.from_batches(list(scan.batches(limit=2, watch=watch)), scan.schema)
    if rows.num_rows != 1:
        found = "No row" if not rows.num_rows else "More than one row"
        raise InvalidArgumentError(
            f"{found} of version {end.version} matches {where[:200]}.",
            reason="The commits are told that set the values of one row.",
            remedy="Give a condition that one row meets, such as one on its key.",
        )
    shown, plain = next(row_objects(rows)), next(plain_objects(rows))
    known = {name: rows.column(name)[0].as_py() for name in tracked}
    return _Row(
        shown={name: shown[name] for name in wanted},
        texts={name: None if plain[name] is None else _text(plain[name]) for name in wanted},
        values=_images(rows.select(wanted), wanted)[0],
        row_id=known.get(_ROW_ID),
        commit_version=known.get(_ROW_VERSION),
    )


def _images(rows: pa.Table, names: Sequence[str]) -> list[dict[str, str]]:
    """Each row by column, so that the same values are the same text."""
    columns = [[repr(value) for value in plain_values(rows.column(name))] for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass(slots=True, kw_only=True)
class _Backwards:
    """The changes of matching rows, newest span of versions first."""

    table: Table
    end: Snapshot
    where: str
    most_files: int
    first: int = 0
    files_read: int = 0
    bytes_read: int = 0
    is_cut: bool = False
    unread: list[tuple[int, str, str]] = field(default_factory=list)
    recorded: set[int] = field(default_factory=set)
    columns: dict[int, frozenset[str] | None] = field(default_factory=dict)
    """Of the newest version's columns those that there were, by the version since when."""
    times: dict[int, int | None] = field(default_factory=dict)
    """When the commits were made that added a column."""

    def added_after(self, name: str, version: int) -> int | None:
        """The version that added a column, if it is a later one; None where it is not, or nobody
        knows."""
        added = None
        for start in sorted(self.columns, reverse=True):
            there = self.columns[start]
            if there is None or name not in there:
                return added if there is not None else None
            if start <= version:
                return None
            added = start
        return None

    def spans(self, watch: Watch) -> Iterator[pa.Table]:
        """The changes of each span, until the oldest version or the limit of files."""
        predicate = parse_predicate(self.where, self.end.schema)
        oldest = base_of(self.table, self.end, None, watch)
        lowest = 0 if oldest is None else oldest.version + 1
        high, size = self.end.version, _FIRST_SPAN
        self.first = high + 1
        while high >= lowest:
            low = max(lowest, high - size + 1)
            if low - lowest < size:  # little is left, which one span less reads too
                low = lowest
            base = oldest if low == lowest else self._opened(low - 1, watch)
            left = max(self.most_files - self.files_read, 0)
            search = RowSearch(self.table, self.end, predicate, range(low, high + 1), left)
            if base is not None:
                search.prepare(base)  # rows of the base are no changes
            search.run(watch)
            self.files_read += search.files_read
            self.bytes_read += search.bytes_read
            self.unread += [*search.unread, *search.broken]
            self.recorded |= search.recorded
            self._learn_columns(search)
            if search.is_cut:
                self.is_cut = True
                return
            self.first = low
            yield pa.Table.from_batches(search.found, search.schema)
            high, size = low - 1, size * 2

    def _learn_columns(self, search: RowSearch) -> None:
        there = search.layouts.columns
        self.columns |= dict(there)
        found = search.feed.range
        for (_, before), (start, after) in pairwise(there):
            if before is not None and after is not None and after - before:
                data = found.commit(start)
                self.times[start] = found.time_of(start, data)

    def _opened(self, version: int, watch: Watch) -> Snapshot:
        return self.table.snapshot(version=version, progress=watch.progress, cancel=watch.cancel)


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The row on its way back; `found` has the version, time and kind of each value's commit,
    `doubts` what could make that of a version wrong. `operation` says what a version was."""

    row: _Row
    operation: Callable[[int], str | None]
    found: dict[str, tuple[int, int | None, str]] = field(default_factory=dict)
    values: dict[str, str] = field(init=False)
    reason: str | None = None
    """Why it does not lead on, if it does not."""
    last: int | None = None
    """The last version that it looked at."""
    doubts: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = dict(self.row.values)

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be found out."""
        return self.reason is not None or len(self.found) == len(self.row.values)

    def take(self, changes: pa.Table, unread: Set[int], recorded: Set[int]) -> None:
        """Go back through the changes of a span; of the versions `unread` some are missing, and
        of those `recorded` the writer says what happened to each row."""
        by_version: defaultdict[int, list[tuple[str, dict[str, str]]]] = defaultdict(list)
        times: dict[int, int | None] = {}
        ids = changes.column(_ROW_ID).to_pylist() if _ROW_ID in changes.column_names else None
        rows = zip(
            changes.column(_VERSION).to_pylist(),
            changes.column(_TIME).cast(pa.int64()).to_pylist(),
            changes.column(_TYPE).to_pylist(),
            _images(changes, list(self.row.values)),
            [None] * changes.num_rows if ids is None else ids,
            strict=True,
        )
        for version, time, kind, image, row_id in rows:
            # recorded changes need not say the id
            if self.row.row_id is None or row_id is None or row_id == self.row.row_id:
                by_version[version].append((kind, image))
                times[version] = time
        for version in sorted(by_version, reverse=True):
            if self.is_over:
                return
            self.last = version
            if version in unread and len(by_version[version]) == 1:
                self.reason = f"a file of version {version} could not be read"
                return
            is_recorded = version in recorded
            self._step(version, times[version], by_version[version], is_recorded=is_recorded)

    def _step(
        self,
        version: int,
        time: int | None,
        changes: Sequence[tuple[str, dict[str, str]]],
        *,
        is_recorded: bool,
    ) -> None:
        operation = ""
        if not is_recorded and [kind for kind, _ in changes] == ["insert"]:
            # a rewritten row whose old side does not match stands there like an inserted one
            operation = (self.operation(version) or "").strip().upper()
        after = [(kind, image) for kind, image in changes if kind in _AFTER]
        before = [image for kind, image in changes if kind not in _AFTER]
        if len(after) > 1 or len(before) > 1:
            self.reason = f"several rows match the condition in version {version}"
        elif not after:
            self.reason = f"version {version} deleted such a row, and no commit wrote it again"
        elif before:
            changed = [name for name, value in self.values.items() if before[0][name] != value]
            self._set(changed, version, time, "changed")
            self.values.update(before[0])
        elif after[0][0] == "update_postimage" or operation == "UPDATE":
            # what it was before does not match the condition
            self.reason = (
                f"version {version} changed the row so that it matches the condition since; what "
                "it was before is not known"
            )
        else:
            if operation == "MERGE":
                self.doubts[version] = (
                    f"version {version} was a MERGE: it may have changed a row so that it matches "
                    "the condition since"
                )
            self._set(list(self.values), version, time, "inserted")

    def _set(self, names: Sequence[str], version: int, time: int | None, kind: str) -> None:
        for name in names:
            self.found.setdefault(name, (version, time, kind))


def _cells(table: Table, row: _Row, walk: _Walk, search: _Backwards) -> Iterator[tuple[Any, ...]]:
    told: dict[int, Mapping[str, Any]] = {}
    for name, value in row.shown.items():
        shown = None if value is None else _text(value)
        known = walk.found.get(name)
        if value is None:
            seen = search.first - 1 if walk.reason is None or walk.last is None else walk.last
            added = search.added_after(name, seen if known is None else known[0])
            if added is not None:
                known = added, search.times.get(added), "column added"
        if known is None:
            why = walk.reason or _unknown_reason(search)
            yield (name, shown, "unknown", *(None,) * 6, why)
            continue
        version, time, kind = known
        if version not in told:
            told[version] = commit_provenance(table, version)
        info = [text_in(told[version], key) for key in ("operation", "userName", "engineInfo")]
        later = sum(number >= version for number, _, _ in search.unread)
        doubts = [walk.doubts[version]] if version in walk.doubts else []
        if kind == "column added":
            doubts = [f"version {version} added the column; it has been null in this row since"]
        if later:
            doubts.append(f"a later change may be in {count(later, 'file')} that could not be read")
        place = render_commit_name(version)
        yield (name, shown, kind, version, time, *info, place, "; ".join(doubts) or None)


def _unknown_reason(search: _Backwards) -> str:
    if search.is_cut:
        return f"the limit of files ended the search before version {search.first}"
    if search.unread:
        return f"{count(len(search.unread), 'file')} could not be read"
    return f"no commit since version {search.first} set it, and the log before that is gone"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def blame_sentence(found: RowBlame) -> str:
    """Who changed the row last, in how many versions its values were set, and what was read."""
    cells: list[dict[str, Any]] = found.cells.drop_columns(["timestamp"]).to_pylist()
    added = [cell["column"][:60] for cell in cells if cell["kind"] == "column added"]
    known = [cell for cell in cells if cell["kind"] in ("inserted", "changed")]
    unknown = len(cells) - len(known) - len(added)
    text = "No commit is known that set a value of this row"
    if known:
        newest = max(known, key=lambda cell: int(cell["version"]))
        last = int(newest["version"])
        names = [cell["column"][:60] for cell in known if cell["version"] == last]
        told = [newest[key] for key in ("operation", "user_name") if newest[key] is not None]
        by = f" ({', '.join(text[:60] for text in told)})" if told else ""
        what = f"changed {_named(names)}"
        if newest["kind"] == "inserted":
            what = "inserted the row"
        text = f"Version {last}{by} {what}"
        older = len({cell["version"] for cell in known}) - 1
        if older:
            text += f"; the other values are from {count(older, 'older version')}"
    if added:
        was = "was added later, and has" if len(added) == 1 else "were added later, and have"
        text += f". {_named(added)} {was} been null since"
    if unknown:
        reason = next(cell["reason"] for cell in cells if cell["kind"] == "unknown")
        text += f". {count(unknown, 'value')} {'is' if unknown == 1 else 'are'} not known: {reason}"
    span = "nothing"
    if found.first <= found.version:
        span = versions_in_words([(found.first, found.version)])
    return f"{text}. Searched {span}: {_files(found)}."


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def _files(found: RowBlame) -> str:
    return f"{count(found.files_read, 'file')} read ({render_byte_size(found.bytes_read)})"


def _ask(  # the parameters of an answer
    table: Table,
    progress: ProgressCallback | None,
    *,
    where: str,
    version: int | None = None,
    column: Sequence[str] | None = None,
    files: int = MOST_FILES,
) -> RowBlame:
    return blame_row(table, where, version, column, most_files=files, progress=progress)


def _documents(found: RowBlame, limit: int | None) -> Iterator[Document]:
    yield {
        "where": found.where,
        "version": found.version,
        "sentence": found.sentence,
        "num_cells": found.cells.num_rows,
        "cells": list(plain_rows(found.cells, limit)),
        "row_id": found.row_id,
        "row_commit_version": found.row_commit_version,
        "first": found.first,
        "is_cut": found.is_cut,
        "files_read": found.files_read,
        "bytes_read": found.bytes_read,
        "unread": list(plain_rows(found.unread, limit)),
    }


ROW_BLAME: Final = Answer(
    name="row_blame",
    parameters=(
        Parameter(name="where", kind="text", is_required=True),
        VERSION,
        COLUMN_NAMES,
        Parameter(name="files", kind="count"),
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
    reads="files",
)
