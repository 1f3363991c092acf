"""The number of live rows by the log, and what prevents counting them
(spec: Per-file Statistics, Deletion Vectors)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.errors import Problem
from explorer.log.actions.record_counts import record_counts
from explorer.log.plain_arrays import FALSE, TRUE, ZERO
from explorer.log.state.file_columns import FileColumns, ReducibleFiles
from explorer.table.counts import count
from explorer.table.frames import sum_of

_NUM_RECORDS: Final = ("numRecords",)
PARSED_NUM_RECORDS: Final = ("stats_parsed", *_NUM_RECORDS)
"""Where a checkpoint has the number of rows of a file."""

# scalars by way of an array: plain values would make pyarrow import pandas
_UNKNOWN = pa.nulls(1, pa.int64())[0]


def flag_impossible(vectors: pa.ChunkedArray, records: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which deletion vectors do not hide a number of rows that there can be: none is said,
    or fewer than 0, or more than the file has, where `records` say how many."""
    hidden = pc.struct_field(vectors, "cardinality")
    fits = pc.coalesce(pc.less_equal(hidden, records), TRUE)
    fits = pc.coalesce(pc.and_(pc.greater_equal(hidden, ZERO), fits), FALSE)
    return pc.and_(pc.is_valid(vectors), pc.invert(fits))


def count_deleted(files: pa.Table) -> tuple[int | None, Problem | None]:
    """How many rows the vectors of files with `path`, `deletion_vector` and `num_records`
    hide; None, and why, where one of them cannot hide so many."""
    vectors = files.column("deletion_vector")
    wrong = flag_impossible(vectors, files.column("num_records"))
    if not (number := pc.sum(wrong).as_py()):
        return sum_of(pc.struct_field(vectors, "cardinality")), None
    (first,) = pc.filter(files, wrong).slice(0, 1).to_pylist()
    said = render_cardinality(first["deletion_vector"]["cardinality"], first["num_records"])
    return None, impossible_problem(number, f" That of {first['path'][:200]!r}: {said}.")


def live_counts(files: pa.Table) -> pa.ChunkedArray:
    """How many rows each file with `deletion_vector` and `num_records` shows: those that its
    vector hides do not count. Null where the log does not say, or says what cannot be."""
    vectors, records = files.column("deletion_vector"), files.column("num_records")
    hidden = pc.if_else(pc.is_null(vectors), ZERO, pc.struct_field(vectors, "cardinality"))
    possible = pc.invert(flag_impossible(vectors, records))
    return pc.if_else(possible, pc.subtract(records, hidden), _UNKNOWN)


def hidden_counts(files: pa.Table) -> pa.ChunkedArray:
    """How many rows of each such file its vector hides, 0 without one; null where the log does
    not say, or says what cannot be."""
    vectors = files.column("deletion_vector")
    hidden = pc.if_else(pc.is_null(vectors), ZERO, pc.struct_field(vectors, "cardinality"))
    possible = pc.invert(flag_impossible(vectors, files.column("num_records")))
    return pc.if_else(possible, hidden, _UNKNOWN)


def count_live(files: pa.Table) -> int | None:
    """The sum of `live_counts`; None where one of them is not known."""
    counts = live_counts(files)
    return None if counts.null_count else sum_of(counts)


def render_cardinality(cardinality: int | None, num_records: int | None) -> str:
    """What the log says of a vector with such a cardinality."""
    if cardinality is None:
        return "the log does not say how many rows it deletes"
    of = "" if num_records is None else f" of {num_records:,}"
    return f"by the log it deletes {cardinality:,}{of} rows"


def impossible_problem(number: int, example: str = "") -> Problem:
    """What to say of so many vectors."""
    whose = count(number, "deletion vector")
    return Problem(
        kind="log_corrupt",
        problem=f"The number of deleted rows of {whose} is impossible.",
        reason=f"It is missing, below 0, or more than the file has.{example}",
        remedy="The number of live rows is unknown, and rows of such files are refused. Restore "
        "the table to an earlier version.",
        spec="Deletion Vectors",
    )


def find_unreadable(state: ReducibleFiles) -> Problem | None:
    """What to say of the live files that tell how many rows they have, but not so that it can
    be read; None where there is none, as where they just do not tell."""
    columns = ("path", "stats")
    found = list(state.reduce_files(columns, [PARSED_NUM_RECORDS], _count_unreadable))
    number = sum(some for some, _ in found)
    if not number:
        return None
    return unreadable_problem(number, next(path for some, path in found if some))


def _count_unreadable(files: FileColumns) -> tuple[int, str]:
    """How many of some files they are, and the path of the first."""
    table, parsed = files.table, files.leaves.get(PARSED_NUM_RECORDS)
    lost = pc.is_null(record_counts(table.column("stats"), parsed))
    if not pc.any(lost).as_py():
        return 0, ""
    texts = pc.filter(table.column("stats"), lost).combine_chunks()
    if parsed is None and texts.null_count == len(texts):
        return 0, ""
    # takes longer to import than most logs to read, and nearly all have statistics or have none
    from explorer.log.statistics.statistics_text import parse_statistics_texts  # noqa: PLC0415

    found = parse_statistics_texts(texts, {_NUM_RECORDS: pa.int64()})
    said = pc.is_valid(found.columns[_NUM_RECORDS])  # below 0
    if parsed is not None:
        said = pc.or_(said, pc.is_valid(pc.filter(parsed, lost).combine_chunks()))
    wrong = sorted({*found.bad, *pc.indices_nonzero(said).to_pylist()})
    if not wrong:
        return 0, ""
    return len(wrong), pc.filter(table.column("path"), lost)[wrong[0]].as_py()


def unreadable_problem(number: int, first: str) -> Problem:
    """What to say of so many files, and the path of the first."""
    whose = count(number, "file")
    return Problem(
        kind="log_corrupt",
        problem=f"The number of rows of {whose} cannot be read.",
        reason="It is not a whole number from 0 on, or the statistics are not a JSON object. "
        f"The first is {first[:200]!r}.",
        remedy="The number of rows is unknown until the statistics are computed again.",
        spec="Per-file Statistics",
    )
