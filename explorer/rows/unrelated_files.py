"""The data files of a version that have no column in common with it, by their footers
(spec: Data Files, Per-file Statistics).

To read every footer takes long. A file whose statistics show a value of one of the table's
columns was written as the table's own, so that the others are looked at first, or alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError
from explorer.log.actions.columns import string_column
from explorer.log.plain_arrays import FALSE
from explorer.log.state.file_columns import FileColumns
from explorer.progress import UNWATCHED, Watch, while_working
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.data_file.parquet_file import open_data_file, reading
from explorer.rows.data_file.unrelated_file import is_unrelated, unrelated_problem
from explorer.rows.layout import RowLayout, layout_of
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.statistics.column_statistics import (
    StatisticsColumn,
    parsed_leaves,
    read_facts,
    statistics_columns,
)
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import ReadStore
from explorer.table.snapshot import Snapshot

MOST_FOOTERS: Final = 1_000
"""Footers that are read."""

_COLUMNS_ASKED: Final = 8
"""Columns whose statistics are looked at: where all are null, the footer is."""

_LOOKING: Final = "Looking for files without statistics of the table's columns"
_READING: Final = "Reading the footers of the files"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrelatedFiles:
    """`paths` of files with rows that have no column of the table, as in the log; `num_read`
    footers were read, and `num_left` were to be read and are beyond the limit."""

    paths: tuple[str, ...] = ()
    num_read: int = 0
    num_left: int = 0


def shown_by_statistics(snapshot: Snapshot, watch: Watch = UNWATCHED) -> pa.Array:
    """The paths of live files whose statistics show a value of a column of the table. Raises
    what `Snapshot.files` raises."""
    asked = statistics_columns(snapshot)[:_COLUMNS_ASKED]
    if not asked:
        return string_column([])
    ask = partial(_shown, asked=asked)
    found = reduce_live_files(snapshot, ["path"], parsed_leaves(asked), ask, watch, _LOOKING)
    return pa.concat_arrays([string_column([]), *found])


def find_unrelated(
    store: ReadStore,
    layout: RowLayout,
    files: pa.Table,
    most: int = MOST_FOOTERS,
    watch: Watch = UNWATCHED,
) -> UnrelatedFiles:
    """Read the footers of `files`, with the columns `path` and `size`, the first `most` of
    them. One that cannot be read is passed over: whoever reads its rows is told."""
    read = files.slice(0, max(most, 0))
    found = _paths(store, layout, read.select(["path", "size"]).to_pylist(), watch)
    return UnrelatedFiles(
        paths=tuple(found), num_read=read.num_rows, num_left=files.num_rows - read.num_rows
    )


def not_shown(snapshot: Snapshot, files: pa.Table) -> pa.Table:
    """Those of some live files, with a column `path`, whose statistics show no value of a
    column of the table. Raises what `Snapshot.files` raises."""
    is_shown = pc.is_in(files.column("path"), value_set=shown_by_statistics(snapshot))
    return files.filter(pc.invert(is_shown))


def tell_unrelated(snapshot: Snapshot, files: pa.Table, watch: Watch = UNWATCHED) -> UnrelatedFiles:
    """What `find_unrelated` finds among files of a version, which its `problems` tell from then
    on. Cancelled, it does not wait for a file that takes long to open."""
    layout = layout_of(snapshot)
    look = partial(find_unrelated, snapshot.store, layout, files)
    found = while_working(look, watch, _READING)
    if found.paths:
        snapshot.tell(unrelated_problem(snapshot.version, found.paths[0], len(found.paths)))
    return found


def find_unrelated_of(
    snapshot: Snapshot, watch: Watch = UNWATCHED, most: int = MOST_FOOTERS
) -> UnrelatedFiles:
    """The same of the live files of a version, first of those whose statistics show no value of
    a column of the table. Raises what `Snapshot.files` raises."""
    files = snapshot.files(["path", "size"])
    if files.num_rows > most:
        is_shown = pc.is_in(files.column("path"), value_set=shown_by_statistics(snapshot, watch))
        files = pa.concat_tables([files.filter(pc.invert(is_shown)), files.filter(is_shown)])
    return find_unrelated(snapshot.store, layout_of(snapshot), files, most, watch)


def _shown(files: FileColumns, asked: tuple[StatisticsColumn, ...]) -> pa.Array:
    facts = read_facts(files, asked)
    paths = files.table.column("path").combine_chunks()
    shown = pa.repeat(FALSE, len(paths))
    for column in asked:
        said = facts.columns[column.path]
        counted = pc.coalesce(pc.less(said.null_count, facts.num_records), FALSE)
        shown = pc.or_(shown, pc.or_(counted, said.minimum.is_valid()))
    return paths.filter(shown)


def _paths(
    store: ReadStore, layout: RowLayout, rows: Iterable[dict[str, Any]], watch: Watch
) -> Iterator[str]:
    jobs = list(rows)
    for done, path in enumerate(map_concurrently(store, partial(_look_at, store, layout), jobs)):
        watch.step(done, len(jobs), _READING)
        if path is not None:
            yield path
    watch.step(len(jobs), len(jobs), _READING)


def _look_at(store: ReadStore, layout: RowLayout, row: dict[str, Any]) -> str | None:
    file = DataFile(path=row["path"], size=row["size"])
    try:
        with (
            open_data_file(store, file, layout.version) as opened,
            reading(file, layout.version),
        ):
            return file.path if opened.num_rows and is_unrelated(opened.schema, layout) else None
    except DeltaError as error:
        if error.kind == "cancelled":
            raise
        return None
