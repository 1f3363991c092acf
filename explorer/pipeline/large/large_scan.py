"""Which files of a large log a predicate leaves, planned on Spark: a list of many stays
there, and is read from there."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer.errors import Problem, UnsupportedError
from explorer.log.actions.columns import ADD_COLUMNS, empty_table
from explorer.log.state.file_columns import FileColumns
from explorer.pipeline.large.large_tasks import FilesQuestion
from explorer.pipeline.session import parallelism
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, Batches, ReadGroup
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.pipeline.tasks.task_groups import group_files, pack_files, unpack_files
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.scan.facts import Question as Asked
from explorer.scan.facts import question_of
from explorer.scan.plan import SCANNED, plan_piece
from explorer.scan.predicate.predicate import Predicate
from explorer.scan.unreadable import UnreadableFiles, unreadable_problems
from explorer.table import counts
from explorer.table.frames import sum_of, with_logical_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from explorer.pipeline.large.large_table import LargeSnapshot

MOST_COLLECTED: Final = 100_000
"""Kept files up to which their list comes to the driver, as that of a small log does."""

_READ: Final = (*FILE_COLUMNS, NUM_RECORDS)
_BYTES_OF_A_TASK: Final = 128 * 2**20
_MOST_TASKS: Final = 10_000
_FILES_OF_A_GROUP: Final = 2**14
_NONE: Final = UnreadableFiles()
_MOST_PROBLEMS: Final = 20
"""A hostile table may have any number."""


@dataclass(frozen=True, kw_only=True)
class LargeScan:
    """What `ScanPlan` says, in numbers; `problems` as there."""

    version: int
    predicate: Predicate | None
    num_files: int
    num_kept: int
    bytes_kept: int
    bytes_skipped: int
    problems: tuple[Problem, ...]
    listed: pa.Table | None
    """The kept files with the columns of `ScanPlan.kept`, None where they are many."""

    @property
    def num_skipped(self) -> int:
        """How many files cannot hold a matching row."""
        return self.num_files - self.num_kept

    @property
    def kept(self) -> pa.Table:
        """As `ScanPlan.kept`; raises `UnsupportedError` (`limit_exceeded`) for many files."""
        if self.listed is None:
            raise UnsupportedError(
                f"The list of {counts.count(self.num_kept, 'file')} is too long.",
                reason="The log is read on Spark, and a long list of files stays there.",
                remedy="Ask for the rows, or use a condition that keeps fewer files.",
                kind="limit_exceeded",
            )
        return self.listed


def scan_on_spark(snapshot: LargeSnapshot, predicate: Predicate | None) -> LargeScan:
    """Decide for every live file whether a row of it may match, by one job.

    Decided as by `plan_scan`, by the same rule.
    """
    state = snapshot.file_state
    # so many of each task, that all together are not more
    most = max(1, MOST_COLLECTED // (len(state.pieces) + 1))
    plan = _plan_of(snapshot, predicate)
    work = _Work(plan=plan, most=most)
    found = [pickle.loads(cell) for cell in state.answers(plan.question(work.count))]
    kept = [unpack_files(some.kept) for some in found if some.kept is not None]
    num_kept = sum(some.num_kept for some in found)
    size, size_kept = sum(some.size for some in found), sum(some.size_kept for some in found)
    others = dict.fromkeys(problem for some in found for problem in some.problems)
    return LargeScan(
        version=snapshot.version,
        predicate=predicate,
        num_files=sum(some.num_files for some in found),
        num_kept=num_kept,
        bytes_kept=size_kept,
        bytes_skipped=size - size_kept,
        problems=(
            *unreadable_problems(some.unreadable for some in found),
            *list(others)[:_MOST_PROBLEMS],
        ),
        listed=pa.concat_tables([_nothing(), *kept])
        if sum(table.num_rows for table in kept) == num_kept
        else None,
    )


def read_on_spark(
    snapshot: LargeSnapshot, scan: LargeScan | None, read: ReadGroup, schema: StructType
) -> DataFrame:
    """What `read` makes of the files that a scan leaves, of all files without one, in groups
    that are made, and spread over tasks, on Spark; with exactly `schema`."""
    state, plan = snapshot.file_state, _plan_of(snapshot, scan.predicate if scan else None)
    listed = state.asked(plan.question(_Work(plan=plan, most=0).group))
    wanted = -(-(state.totals.size if scan is None else scan.bytes_kept) // _BYTES_OF_A_TASK)
    tasks = max(parallelism(state.spark), min(wanted, _MOST_TASKS))
    mark = ErrorMark()

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for cell in batch.column(0).to_pylist():
                with mark.marked():
                    yield from (rows for rows in read(unpack_files(cell)) if rows.num_rows)

    return listed.repartition(tasks).mapInArrow(run, schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What planning needs to know; `names` are the logical names of partition columns."""

    predicate: Predicate | None
    asked: Asked
    names: Mapping[str, str]

    def question(self, work: Any) -> FilesQuestion:
        return FilesQuestion(
            action="add", columns=SCANNED, leaves=tuple(self.asked.leaves), work=work
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What one task says: numbers, and its kept files where they are few."""

    num_files: int = 0
    size: int = 0
    num_kept: int = 0
    size_kept: int = 0
    kept: bytes | None = None
    unreadable: UnreadableFiles = _NONE
    problems: tuple[Problem, ...] = ()

    def plus(self, files: pa.Table, kept: pa.Table, bad: UnreadableFiles, told: Any) -> _Found:
        paths = (*self.unreadable.paths, *bad.paths)[:_MOST_PROBLEMS]
        count = self.unreadable.count + bad.count
        return _Found(
            num_files=self.num_files + files.num_rows,
            size=self.size + sum_of(files.column("size")),
            num_kept=self.num_kept + kept.num_rows,
            size_kept=self.size_kept + sum_of(kept.column("size")),
            unreadable=UnreadableFiles(paths=paths, count=count),
            problems=tuple(dict.fromkeys((*self.problems, *told)))[:_MOST_PROBLEMS],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """Plans the files of a task; a list of more than `most` is not handed back."""

    plan: _Plan
    most: int

    def count(self, files: Iterator[FileColumns]) -> Iterator[bytes]:
        """One cell that says what was found."""
        found, kept = _Found(), list[pa.Table]()
        for some in files:
            piece = plan_piece(self.plan.predicate, self.plan.asked, some)
            found = found.plus(piece.files, piece.kept, piece.unreadable, piece.problems)
            if found.num_kept <= self.most:
                kept.append(piece.kept)
        if found.num_kept <= self.most and kept:
            found = replace(found, kept=pack_files(self._named(kept)))
        yield pickle.dumps(found)

    def group(self, files: Iterator[FileColumns]) -> Iterator[bytes]:
        """The kept files in groups."""
        kept, held = list[pa.Table](), 0
        for some in files:
            kept.append(plan_piece(self.plan.predicate, self.plan.asked, some).kept)
            held += kept[-1].num_rows
            if held >= _FILES_OF_A_GROUP:
                yield from group_files(self._named(kept), 1)
                kept, held = [], 0
        if held:
            yield from group_files(self._named(kept), 1)

    def _named(self, kept: list[pa.Table]) -> pa.Table:
        return with_logical_names(pa.concat_tables(kept).select(_READ), self.plan.names)


def _plan_of(snapshot: LargeSnapshot, predicate: Predicate | None) -> _Plan:
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    return _Plan(
        predicate=predicate,
        asked=Asked() if predicate is None else question_of(predicate, snapshot),
        names={physical_name(item, mode): item.name for item in snapshot.schema.fields},
    )


def _nothing() -> pa.Table:
    types = {name: rule[2] for name, rule in ADD_COLUMNS.items()} | {NUM_RECORDS: pa.int64()}
    return empty_table(pa.schema([(name, types[name]) for name in _READ]))
