"""Conditions beyond the closed list, asked once for each partition of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from explorer.errors import DeltaError, Problem, UnsupportedError
from explorer.log.actions.columns import string_column
from explorer.log.partition_arrays import partition_array
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Watch
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import render_type
from explorer.protocol.schema_walk import render_path
from explorer.protocol.values.partition_values import PartitionValue, parse_partition_value
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.predicate.predicate import Predicate, SqlCondition
from explorer.scan.statistics.partition_answers import (
    Evaluate,
    PartitionAnswers,
    Texts,
    distinct_rows,
)
from explorer.scan.statistics.partitions import PartitionColumn, read_partition
from explorer.table.snapshot import Snapshot

MOST_PARTITIONS: Final = 100_000
"""A table with more partitions is not asked: they would all be sent to Spark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPartitions:
    """The answers, and why there are none to other conditions."""

    answers: Mapping[SqlCondition, PartitionAnswers]
    problems: tuple[Problem, ...]


def ask_partitions(
    snapshot: Snapshot,
    predicate: Predicate,
    partitions: Sequence[PartitionColumn],
    evaluate: Evaluate | None,
    watch: Watch,
) -> AskedPartitions:
    """Evaluate the `sql_conditions` of a predicate on the partition values that there are;
    `partitions` are the columns that it speaks of. Raises what `evaluate` raises, but
    `UnsupportedError`."""
    known = {column.path: column for column in partitions}
    answers: dict[SqlCondition, PartitionAnswers] = {}
    problems: list[Problem] = []
    for condition in predicate.sql_conditions:
        others = [item for item in condition.columns if item.path not in known]
        if others or not condition.columns:
            problems.append(_no_partition(condition, [render_path(item.path) for item in others]))
        elif evaluate is None:
            problems.append(_not_evaluated(condition, "It is left to Spark, which was not asked."))
        else:
            columns = [known[item.path] for item in condition.columns]
            try:
                answers[condition] = _ask(snapshot, condition, columns, evaluate, watch)
            except UnsupportedError as error:
                problems.append(_not_evaluated(condition, f"{error.problem} {error.reason}"))
    return AskedPartitions(answers=answers, problems=tuple(problems))


def _ask(
    snapshot: Snapshot,
    condition: SqlCondition,
    columns: Sequence[PartitionColumn],
    evaluate: Evaluate,
    watch: Watch,
) -> PartitionAnswers:
    def values_of(files: FileColumns) -> set[Texts]:
        maps = files.table.column("partition_values").combine_chunks()
        return set(distinct_rows([read_partition(maps, column).texts for column in columns]).rows)

    pieces = reduce_live_files(
        snapshot, ["partition_values"], (), values_of, watch, "Looking for partitions"
    )
    found: set[Texts] = set().union(*pieces)
    if len(found) > MOST_PARTITIONS:
        raise UnsupportedError(
            f"The table has {len(found):,} partitions.",
            reason=f"A condition is asked of up to {MOST_PARTITIONS:,}.",
            remedy="Write it with columns, literals and comparisons.",
        )
    readable = {row: values for row in sorted(found, key=repr) if (values := _read(row, columns))}
    rows = _table(list(readable.values()), columns)
    truths = evaluate(condition, rows, watch) if readable else ()
    return PartitionAnswers(
        truths={row: truth is True for row, truth in zip(readable, truths, strict=True)}
    )


def _read(row: Texts, columns: Sequence[PartitionColumn]) -> tuple[PartitionValue, ...] | None:
    """The values, None where one cannot be read, of which the plan tells."""
    pairs = zip(row, columns, strict=True)
    try:
        return tuple(
            parse_partition_value(text, render_type(column.data_type)) for text, column in pairs
        )
    except DeltaError:
        return None


def _table(
    rows: Sequence[tuple[PartitionValue, ...]], columns: Sequence[PartitionColumn]
) -> pa.Table:
    names = [column.path[0] for column in columns]
    arrays = [
        partition_array([row[at] for row in rows], arrow_type(column.data_type))
        if rows
        else string_column([])
        for at, column in enumerate(columns)
    ]
    return pa.Table.from_arrays(arrays, names=names)


def _not_evaluated(condition: SqlCondition, reason: str) -> Problem:
    return Problem(
        kind="unsupported_feature",
        problem=f"The condition {condition.text[:120]} was not evaluated: every file may match it.",
        reason=reason,
        remedy="Let Spark be there, or write it with columns, literals, comparisons, AND, OR, NOT, "
        "IN, BETWEEN, LIKE and IS NULL.",
    )


def _no_partition(condition: SqlCondition, others: Sequence[str]) -> Problem:
    reason = "It speaks of no column of the table."
    if others:
        reason = (
            f"The table is not partitioned by {', '.join(others[:4])}, and statistics do not "
            "answer such a condition."
        )
    return _not_evaluated(condition, reason)
