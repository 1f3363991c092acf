"""Everything known about some files that a predicate may ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from explorer.errors import Problem
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.scan.predicate.predicate import Predicate, SqlCondition
from explorer.scan.statistics.bounds import ColumnRange, range_of_statistics
from explorer.scan.statistics.column_statistics import (
    ColumnFacts,
    StatisticsColumn,
    parsed_leaves,
    read_facts,
    statistics_columns,
)
from explorer.scan.statistics.partition_answers import PartitionAnswers
from explorer.scan.statistics.partitions import PartitionColumn, read_partition
from explorer.table.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which columns a predicate asks about: those with a value in the log for each
    file, and those that can have statistics."""

    partitions: tuple[PartitionColumn, ...] = ()
    statistics: tuple[StatisticsColumn, ...] = ()
    answers: Mapping[SqlCondition, PartitionAnswers] = field(default_factory=dict)

    @property
    def leaves(self) -> Sequence[FieldPath]:
        """What it needs of `stats_parsed`."""
        return parsed_leaves(self.statistics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What is known about the columns of a question, one row a file.

    `texts` are partition values, `answers` where a condition that was asked of them may be
    true, `statistics` facts as stored; `ranges` hold both
    as bounds. `bad` are the positions of files whose statistics cannot be read.
    """

    ranges: Mapping[FieldPath, ColumnRange]
    texts: Mapping[FieldPath, pa.Array] = field(default_factory=dict)
    statistics: Mapping[FieldPath, ColumnFacts] = field(default_factory=dict)
    num_records: pa.Array | None = None
    answers: Mapping[SqlCondition, pa.BooleanArray] = field(default_factory=dict)
    bad: tuple[int, ...] = ()
    problems: tuple[Problem, ...] = ()


def question_of(predicate: Predicate, snapshot: Snapshot) -> Question:
    """The columns that a predicate uses, by their names in the log."""
    asked = {reference.path for reference in predicate.references}
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    names = set(snapshot.metadata.partition_columns)
    partitions = [
        PartitionColumn(
            path=(item.name,), physical=physical_name(item, mode), data_type=item.data_type
        )
        for item in snapshot.schema.fields
        if item.name in names and (item.name,) in asked
    ]
    statistics = [column for column in statistics_columns(snapshot) if column.path in asked]
    return Question(partitions=tuple(partitions), statistics=tuple(statistics))


def answer(question: Question, files: FileColumns) -> Answers:
    """What `files` (with `partition_values` and `stats` where it is asked for them) say."""
    ranges: dict[FieldPath, ColumnRange] = {}
    texts: dict[FieldPath, pa.Array] = {}
    problems: list[Problem] = []
    for column in question.partitions:
        values = files.table.column("partition_values").combine_chunks()
        found = read_partition(values, column)
        ranges[column.path], texts[column.path] = found.range, found.texts
        problems.extend(found.problems)
    answers = {
        condition: known.look_up([texts[column.path] for column in condition.columns])
        for condition, known in question.answers.items()
    }
    if not question.statistics:
        return Answers(ranges=ranges, texts=texts, answers=answers, problems=tuple(problems))
    facts = read_facts(files, question.statistics)
    ranges |= ranges_of_statistics(question, facts.columns, facts.num_records)
    return Answers(
        ranges=ranges,
        texts=texts,
        answers=answers,
        statistics=facts.columns,
        num_records=facts.num_records,
        bad=facts.bad,
        problems=tuple(problems),
    )


def ranges_of_statistics(
    question: Question, facts: Mapping[FieldPath, ColumnFacts], num_records: pa.Array
) -> dict[FieldPath, ColumnRange]:
    """What statistics promise, by the columns of a question."""
    return {
        stated.path: range_of_statistics(stated, facts[stated.path], num_records)
        for stated in question.statistics
    }
