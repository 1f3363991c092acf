"""What the statistics of a version's files cover, column by column
(spec: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.inspect.answer import COLUMN_NAMES, MOMENT, Answer
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import int64_column, string_column
from explorer.log.calendar_texts import render_values
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.schema import render_type
from explorer.protocol.schema_walk import render_path
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.statistics.column_statistics import (
    ColumnFacts,
    StatisticsColumn,
    count_wide,
    parsed_leaves,
    read_facts,
)
from explorer.scan.statistics.live_files import READING, choose_columns
from explorer.scan.unreadable import UnreadableFiles, unreadable_files, unreadable_problems
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

COLUMNS: dict[str, Column] = {
    "path": (string_column, pa.string()),
    "type": (string_column, pa.string()),
    "num_files": (int64_column, pa.int64()),
    "files_with_bounds": (int64_column, pa.int64()),
    "files_with_null_count": (int64_column, pa.int64()),
    "files_with_wide_bounds": (int64_column, pa.int64()),
    "min": (string_column, pa.string()),
    "max": (string_column, pa.string()),
    "null_count": (int64_column, pa.int64()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsReport:
    """`columns` has a row per column, see `column_statistics`; `files_without_count`
    is how many files do not say how many rows they have, `files_with_wide_bounds` how many
    say that their bounds are wide. `partition_columns` have none: each file has its values."""

    columns: pa.Table
    partition_columns: tuple[str, ...]
    num_files: int
    files_without_count: int
    files_with_wide_bounds: int
    problems: tuple[Problem, ...]


def column_statistics(
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> StatisticsReport:
    """One row per column that can have statistics (partition columns have none).

    - `path`: the way to the field, as in ``address.`zip code` ``; `type`
    - `num_files`; `files_with_bounds`: those with a least or greatest value;
      `files_with_null_count`
    - `files_with_wide_bounds`: those of either kind whose bounds and nulls may be those of
      hidden rows alone, because the file says that its bounds are not tight
    - `min` and `max`: the least and the greatest bound of any file, as text, null
      where none has one; strings may be cut, times are cut to milliseconds
    - `null_count`: nulls of the files that count them, hidden rows included; null
      where none does

    `columns` names field paths; raises `InvalidArgumentError` for unknown ones.
    """
    chosen = choose_columns(snapshot, columns)

    def reduce(files: FileColumns) -> _Piece:
        facts = read_facts(files, chosen)
        return _Piece(
            num_files=files.table.num_rows,
            without_count=facts.num_records.null_count,
            wide=facts.is_wide.true_count,
            columns=[_summarise(facts.columns[column.path], facts.is_wide) for column in chosen],
            unreadable=unreadable_files(files.table.column("path"), facts.bad),
        )

    watch = Watch(progress=progress, cancel=cancel)
    pieces = reduce_live_files(snapshot, ["path"], parsed_leaves(chosen), reduce, watch, READING)
    num_files = sum(piece.num_files for piece in pieces)
    rows = [
        _row(column, num_files, [piece.columns[at] for piece in pieces])
        for at, column in enumerate(chosen)
    ]
    return StatisticsReport(
        columns=build_frame(COLUMNS, rows),
        partition_columns=tuple(snapshot.metadata.partition_columns),
        num_files=num_files,
        files_without_count=sum(piece.without_count for piece in pieces),
        files_with_wide_bounds=sum(piece.wide for piece in pieces),
        problems=unreadable_problems(piece.unreadable for piece in pieces),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summary:
    """One column in some files; the bounds are arrays of one value."""

    bounded: int
    counted: int
    wide: int
    least: pa.Array
    greatest: pa.Array
    nulls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    num_files: int
    without_count: int
    wide: int
    columns: list[_Summary]
    unreadable: UnreadableFiles


def _summarise(facts: ColumnFacts, is_wide: pa.Array) -> _Summary:
    bounded = pc.or_(facts.minimum.is_valid(), facts.maximum.is_valid())
    counts = facts.null_count
    return _Summary(
        bounded=pc.sum(bounded).as_py() or 0,
        counted=len(counts) - counts.null_count,
        wide=count_wide(facts, is_wide),
        least=_extreme(facts.minimum, "ascending"),
        greatest=_extreme(facts.maximum, "descending"),
        nulls=sum_of(pa.chunked_array([counts])),
    )


def _extreme(values: pa.Array, order: str) -> pa.Array:
    """The first value in an order, as an array of one; of none where there is none."""
    if values.null_count == len(values):
        return pa.nulls(0, values.type)
    if pa.types.is_boolean(values.type):
        values = values.drop_null().cast(pa.uint8())
        return values.take(pc.array_sort_indices(values, order=order).slice(0, 1)).cast(pa.bool_())
    found = pc.min_max(values)["min" if order == "ascending" else "max"]
    # a copy: as a part of the column it would keep all of it
    return values.take(int64_column([pc.index(values, found).as_py()]))


def null_count_in_words(nulls: int | None, counted: int, num_files: int) -> str | None:
    """The nulls of a column as `counted` of its `num_files` files tell them: `7`, or `≥ 7` where
    some do not say; None where none does."""
    if nulls is None:
        return None
    return f"{nulls:,}" if counted == num_files else f"\N{GREATER-THAN OR EQUAL TO} {nulls:,}"


def _row(column: StatisticsColumn, num_files: int, pieces: list[_Summary]) -> tuple[Any, ...]:
    counted = sum(piece.counted for piece in pieces)
    return (
        render_path(column.path),
        render_type(column.data_type),
        num_files,
        sum(piece.bounded for piece in pieces),
        counted,
        sum(piece.wide for piece in pieces),
        _text([piece.least for piece in pieces], "ascending"),
        _text([piece.greatest for piece in pieces], "descending"),
        sum(piece.nulls for piece in pieces) if counted else None,
    )


def _text(found: list[pa.Array], order: str) -> str | None:
    known = [values for values in found if len(values)]
    if not known:
        return None
    value = _extreme(pa.concat_arrays(known), order)
    (text,) = render_values(value).to_pylist()
    return str(text)


def _ask(
    table: Table,
    progress: ProgressCallback | None,
    *,
    version: int | None = None,
    timestamp: str | None = None,
    column: Sequence[str] | None = None,
) -> StatisticsReport:
    snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
    return column_statistics(snapshot, column, progress=progress)


STATISTICS: Final = Answer(
    name="stats",
    parameters=(*MOMENT, COLUMN_NAMES),
    ask=_ask,
    documents=lambda report, limit: plain_rows(report.columns, limit),
    problems=lambda report: report.problems,
    is_list=True,
)
