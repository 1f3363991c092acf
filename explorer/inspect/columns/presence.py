"""Which files hold which columns, by what name: why values are NULL, or columns are called
`col-…` (spec: Column Mapping, Per-file Statistics)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError
from explorer.inspect.answer import LIMIT, VERSION, Answer, Document
from explorer.inspect.columns._file_columns import LOGICAL_NAME, NO_IDS, FooterFields, match_file
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import bool_column, int64_column, string_column
from explorer.log.state.file_columns import FileColumns as LogColumns
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.features.column_mapping import column_mapping_mode, field_id, physical_path
from explorer.protocol.schema import StructField, StructType, render_type
from explorer.protocol.schema_walk import render_path, walk_fields
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.data_file.parquet_file import open_data_file, reading
from explorer.rows.data_file.unrelated_file import is_unrelated
from explorer.rows.layout import RowLayout, layout_of
from explorer.scan.statistics.column_statistics import parsed_leaves, read_facts, statistics_columns
from explorer.storage.ports import RangeStore, offers
from explorer.table.counts import count as counted
from explorer.table.counts import have
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

MOST_FILES: Final = 1_000
"""Footers that are read unless the caller allows more."""
MOST_ABSENT: Final = 10_000
"""Files without a column that are told one by one; the counts are of all."""
_AT_ONCE: Final = 64
_THREADS: Final = 16

COLUMNS: dict[str, Column] = {
    "path": (string_column, pa.string()),
    "type": (string_column, pa.string()),
    "name_in_files": (string_column, pa.string()),
    "field_id": (int64_column, pa.int64()),
    "is_partition": (bool_column, pa.bool_()),
    "files_counted": (int64_column, pa.int64()),
    "files_all_null": (int64_column, pa.int64()),
    "files_with": (int64_column, pa.int64()),
    "files_without": (int64_column, pa.int64()),
}
ABSENT: dict[str, Column] = {
    "column": (string_column, pa.string()),
    "file": (string_column, pa.string()),
    "reason": (string_column, pa.string()),
}
UNUSED: dict[str, Column] = {
    "name_in_files": (string_column, pa.string()),
    "field_id": (int64_column, pa.int64()),
    "num_files": (int64_column, pa.int64()),
}
UNRELATED: dict[str, Column] = {"file": (string_column, pa.string())}
UNREAD: dict[str, Column] = {
    "file": (string_column, pa.string()),
    "reason": (string_column, pa.string()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPresence:
    """What the files of a version hold of its columns.

    - `columns`, a row per field, each before those inside it: `path`, `type`; `name_in_files`
      (its physical path), `field_id`; `is_partition`: its values stand in the log. By
      statistics: `files_counted` count its nulls, in `files_all_null` of them no value is
      anything else; null for fields of which statistics do not speak. By footers:
      `files_with` and `files_without`, null where none was read
    - `absent`, a row per field and file without it, with the `reason`; `MOST_ABSENT` at most
    - `unused`: columns of files that no field of the table reads, such as dropped ones
    - `unrelated`: files with rows that have no column in common with the table at all, nor had
      one that was dropped: their rows show nothing but NULL; `MOST_ABSENT` at most
    - `files_read` of `num_files` footers were read; `unread` are those that could not be
    - `mode` is `none`, `name` or `id` (spec: Column Mapping)
    """

    version: int
    mode: str
    num_files: int
    files_read: int
    columns: pa.Table
    absent: pa.Table
    unused: pa.Table
    unrelated: pa.Table
    unread: pa.Table

    @property
    def sentence(self) -> str:
        """Why values are NULL or columns have other names, as far as it is known."""
        return presence_sentence(self)


def columns_by_statistics(
    snapshot: Snapshot,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> ColumnPresence:
    """What the log alone can say: names, and in how many files every value is null.

    Raises what `Snapshot.files` raises.
    """
    watch = Watch(progress=progress, cancel=cancel)
    return _answer(snapshot, _by_statistics(snapshot, watch), _Footers())


def columns_by_files(
    snapshot: Snapshot,
    *,
    most_files: int = MOST_FILES,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> ColumnPresence:
    """Which columns the data files have, by the footers of at most `most_files` of them.

    A file that is gone or is not a Parquet file is among the unread. Raises as
    `columns_by_statistics`.
    """
    watch = Watch(progress=progress, cancel=cancel)
    counted = _by_statistics(snapshot, watch)
    layout = layout_of(snapshot)
    wanted = layout.stored
    files = snapshot.files(["path", "size"]).slice(0, max(most_files, 0))
    found = _Footers(wanted=_below(wanted))
    done = 0
    for read in _read_footers(snapshot, files, layout):
        for name, held in read:
            found.take(name, held)
        done += len(read)
        watch.step(done, files.num_rows, "Reading the footers of the files")
    return _answer(snapshot, counted, found)


def _below(fields: Sequence[StructField]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Every field inside `fields`, and the nearest one above it that is a field too."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    names: set[tuple[str, ...]] = set()
    for place in walk_fields(StructType(fields=tuple(fields))):
        above = place.names[:-1]
        while above and above not in names:
            above = above[:-1]
        names.add(place.names)
        found[place.names] = above
    return found


@dataclass(slots=True)
class _Footers:
    """What was found while footers are read."""

    wanted: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    read: int = 0
    without: Counter[tuple[str, ...]] = field(default_factory=Counter)
    absent: list[tuple[str, str, str]] = field(default_factory=list)
    unused: Counter[tuple[str, int | None]] = field(default_factory=Counter)
    unrelated: list[tuple[str]] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)

    def take(self, path: str, held: FooterFields | DeltaError) -> None:
        """One more file."""
        if isinstance(held, DeltaError):
            self.unread.append((path, f"{held.problem} {held.reason}"))
            return
        self.read += 1
        if held.is_unrelated and len(self.unrelated) < MOST_ABSENT:
            self.unrelated.append((path,))
        self.unused.update(held.unused)
        gone: set[tuple[str, ...]] = set()
        for name, above in self.wanted.items() if held.absent else ():
            if name in held.absent or above in gone:
                gone.add(name)
                self.without[name] += 1
        for name, reason in held.absent.items():
            if len(self.absent) < MOST_ABSENT:
                self.absent.append((render_path(name), path, reason))


def _read_footers(
    snapshot: Snapshot, files: pa.Table, layout: RowLayout
) -> Iterator[list[tuple[str, FooterFields | DeltaError]]]:
    """The files some at a time, each with what it holds or why that is not known."""
    wanted = layout.stored

    def read(row: dict[str, Any]) -> tuple[str, FooterFields | DeltaError]:
        file = DataFile(path=row["path"], size=row["size"])
        try:
            with (
                open_data_file(snapshot.store, file, snapshot.version) as opened,
                reading(file, snapshot.version),
            ):
                held = match_file(opened.schema, wanted, layout.mapping)
                if opened.num_rows and is_unrelated(opened.schema, layout):
                    held = replace(held, is_unrelated=True)
                return file.path, held
        except DeltaError as error:
            if error.kind == "cancelled":
                raise
            return file.path, error

    batches = (batch.to_pylist() for batch in files.to_batches(max_chunksize=_AT_ONCE))
    if not offers(snapshot.store, RangeStore):
        yield from (list(map(read, batch)) for batch in batches)
        return
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="delta-explorer-footers") as pool:
        for batch in batches:
            yield list(pool.map(read, batch))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """By field, the files that count its nulls, and those in which nothing else is."""

    num_files: int
    by_field: dict[tuple[str, ...], tuple[int, int]]


def _by_statistics(snapshot: Snapshot, watch: Watch) -> _Counted:
    chosen = statistics_columns(snapshot)
    watch.step(0, None, "Reading the statistics of the files")

    def reduce(files: LogColumns) -> list[tuple[int, int]]:
        watch.step(0, None, "Reading the statistics of the files")
        facts = read_facts(files, chosen)
        pairs = []
        for column in chosen:
            counts = facts.columns[column.path].null_count
            nulls = pc.sum(pc.equal(counts, facts.num_records)).as_py() or 0
            pairs.append((len(counts) - counts.null_count, nulls))
        return pairs

    leaves = parsed_leaves(chosen)
    pieces = snapshot.over_files(lambda state: list(state.reduce_files(["path"], leaves, reduce)))
    return _Counted(
        num_files=snapshot.num_files,
        by_field={
            column.path: (sum(piece[at][0] for piece in pieces), sum(p[at][1] for p in pieces))
            for at, column in enumerate(chosen)
        },
    )


def _answer(snapshot: Snapshot, counted: _Counted, footers: _Footers) -> ColumnPresence:
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    partitions = set(snapshot.metadata.partition_columns)
    rows = []
    for place in walk_fields(snapshot.schema):
        names = place.names
        in_log = names[0] in partitions
        was_read = bool(footers.read) and not in_log
        without = footers.without[names] if was_read else None
        rows.append(
            (
                place.path,
                render_type(place.field.data_type),
                render_path(physical_path(place, mode)),
                field_id(place.field),
                in_log,
                *counted.by_field.get(names, (None, None)),
                None if without is None else footers.read - without,
                without,
            )
        )
    unused = [(name, number, count) for (name, number), count in footers.unused.most_common()]
    return ColumnPresence(
        version=snapshot.version,
        mode=mode,
        num_files=counted.num_files,
        files_read=footers.read,
        columns=build_frame(COLUMNS, rows),
        absent=build_frame(ABSENT, footers.absent),
        unused=build_frame(UNUSED, unused),
        unrelated=build_frame(UNRELATED, footers.unrelated),
        unread=build_frame(UNREAD, footers.unread),
    )


_SHOWN = 3
_NAME = 60


def presence_sentence(found: ColumnPresence) -> str:
    """Why columns have other names in files, and why values are NULL."""
    rows = found.columns.to_pylist()
    parts = [_names(found.mode, rows)]
    if not found.num_files:
        parts.append("There is no file in this version.")
    elif found.files_read:
        parts += [_unrelated(found), _by_footers(found, rows)]
    else:
        parts.append(_as_recorded(rows))
    if found.files_read < found.num_files and (found.files_read or found.unread.num_rows):
        parts.append(_left(found))
    return " ".join(part for part in parts if part)


def _names(mode: str, rows: list[dict[str, Any]]) -> str:
    other = [row for row in rows if row["name_in_files"] != row["path"] and not row["is_partition"]]
    if mode == "none":
        return "Columns have the same names in files and in the table."
    by = "names" if mode == "name" else "ids"
    if not other:
        return f"Columns are mapped by {by}, with the same names in files and in the table."
    example = other[0]
    return (
        f"Columns are mapped by {by}: {_cut(example['path'])} is named "
        f"{_cut(example['name_in_files'])} in files"
        + _others(len(other) - 1)
        + "; a reader without column mapping shows those names."
    )


def _others(number: int) -> str:
    if not number:
        return ""
    what = "1 other likewise" if number == 1 else f"{number:,} others likewise"
    return f", and {what}"


def _unrelated(found: ColumnPresence) -> str:
    if not (number := found.unrelated.num_rows):
        return ""
    whose = "its rows are" if number == 1 else "their rows are"
    return (
        f"{have(number, 'file')} no column in common with the table, so {whose} all NULL: "
        "such a file belongs to another table, or names its columns by a mapping that the table "
        "does not declare."
    )


def _by_footers(found: ColumnPresence, rows: list[dict[str, Any]]) -> str:
    lacking = [row for row in rows if row["files_without"]]
    number = f"{counted(found.files_read, 'file')} that "
    number += "were read" if found.files_read > 1 else "was read"
    if not lacking:
        text = f"Every column is in each of the {number}: what is NULL there was stored as NULL."
        if found.files_read == 1:
            text = f"Every column is in the {number}: what is NULL there was stored as NULL."
        return text
    named = "; ".join(
        f"{_cut(row['path'])} is missing in {row['files_without']:,}" for row in lacking[:_SHOWN]
    )
    more = len(lacking) - _SHOWN
    text = f"In the {number}, {named}{_and_more(more)}: "
    text += "their rows show NULL there."
    reasons = set(found.absent.column("reason").to_pylist())
    if LOGICAL_NAME in reasons:
        text += (
            " Some of these files have the column under its logical name: they were written "
            "without column mapping, and their values are not read."
        )
    if NO_IDS in reasons:
        text += " Some of these files have no field ids: they were written without column mapping."
    return text


def _and_more(columns: int) -> str:
    return f"; and {counted(columns, 'more column')}" if columns > 0 else ""


def _as_recorded(rows: list[dict[str, Any]]) -> str:
    empty = [row for row in rows if row["files_all_null"]]
    if not empty:
        return (
            "By the statistics no file has only NULL in a column. Only the footers say whether a "
            "file lacks a column."
        )
    named = "; ".join(
        f"{_cut(row['path'])} is all NULL in {row['files_all_null']:,} of "
        f"{counted(row['files_counted'], 'file')}"
        for row in empty[:_SHOWN]
    )
    more = len(empty) - _SHOWN
    return (
        f"By the statistics {named}{_and_more(more)}. Only the footers say whether "
        "those files lack the column or store NULL."
    )


def _left(found: ColumnPresence) -> str:
    left = found.num_files - found.files_read
    broken = found.unread.num_rows
    was = "was" if left == 1 else "were"
    text = f"{left:,} of {counted(found.num_files, 'file')} {was} not read"
    return f"{text}; {broken:,} of them cannot be read." if broken else f"{text}."


def _cut(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}\N{HORIZONTAL ELLIPSIS}"


def _ask(
    table: Table,
    progress: ProgressCallback | None,
    *,
    version: int | None = None,
    limit: int = MOST_FILES,
) -> ColumnPresence:
    snapshot = table.snapshot(version=version, progress=progress)
    return columns_by_files(snapshot, most_files=limit, progress=progress)


def _documents(found: ColumnPresence, _: int | None) -> Iterator[Document]:
    yield {
        "version": found.version,
        "sentence": found.sentence,
        "mode": found.mode,
        "num_files": found.num_files,
        "files_read": found.files_read,
        "columns": list(plain_rows(found.columns)),
        "absent": list(plain_rows(found.absent)),
        "unused": list(plain_rows(found.unused)),
        "unrelated": found.unrelated.column("file").to_pylist(),
        "unread": list(plain_rows(found.unread)),
    }


COLUMNS_BY_FILES: Final = Answer(
    name="columns_by_files",
    parameters=(VERSION, LIMIT),
    ask=_ask,
    documents=_documents,
    asks_limit=True,
    reads="files",
)
