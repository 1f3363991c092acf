"""Which files of a snapshot a predicate leaves (spec: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError, Problem
from explorer.log.actions.columns import (
    ADD_COLUMNS,
    empty_table,
    int32_column,
    string_column,
)
from explorer.log.actions.record_counts import record_counts
from explorer.log.plain_arrays import ZERO, Numbers, read_numbers, take_rows
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.scan._asked_partitions import ask_partitions
from explorer.scan.facts import Question, answer, question_of
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.predicate.predicate import Predicate
from explorer.scan.reasons import (
    KEPT,
    evidence_of,
    kept_by_imprecision,
    render_reasons,
    render_verdict,
)
from explorer.scan.sql.conditions import parse_scan_predicate
from explorer.scan.statistics.partition_answers import Evaluate
from explorer.scan.unreadable import UnreadableFiles, unreadable_files, unreadable_problems
from explorer.table.frames import sum_of, with_logical_names
from explorer.table.row_counts import PARSED_NUM_RECORDS
from explorer.table.snapshot import Snapshot

_KEPT: Final = (
    "path",
    "size",
    "partition_values",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "num_records",
)
SCANNED: Final = _KEPT[:-1]
"""What is read of files to plan a scan of them."""
_FILES: Final = ("path", "size")
_MAX_PROBLEMS: Final = 20
"""Of partition values that cannot be read; a hostile table may have any number."""

Which = Literal["all", "kept", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonGroup:
    """The files that one condition decided: `reason` says what it is. `files` are the first of
    them, with path, size, kept and the reason of each, which also has what the file holds."""

    kept: bool
    reason: str
    num_files: int
    size_in_bytes: int
    files: pa.Table


@dataclass(frozen=True, kw_only=True)
class ScanPlan:
    """The files that may hold a matching row, and those that cannot.

    `kept` has path, size, partition_values, deletion_vector, base_row_id,
    default_row_commit_version and num_records (physical), in the order of the
    log. `problems` tell whose statistics or partition values cannot be read:
    such files are kept.
    """

    version: int
    predicate: Predicate | None
    kept: pa.Table
    problems: tuple[Problem, ...]
    files: pa.Table
    """Path and size of every file, kept or not."""
    question: Question = field(repr=False)
    evidence: pa.Table = field(repr=False)
    """For every file, what `reasons` are made of."""

    @property
    def num_files(self) -> int:
        """How many files there are, kept or not."""
        return int(self.files.num_rows)

    @property
    def num_kept(self) -> int:
        """How many files have to be read."""
        return int(self.kept.num_rows)

    @property
    def num_skipped(self) -> int:
        """How many files cannot hold a matching row."""
        return self.num_files - self.num_kept

    @cached_property
    def bytes_kept(self) -> int:
        """The size of the files that have to be read."""
        return sum_of(self.kept.column("size"))

    @cached_property
    def bytes_skipped(self) -> int:
        """The size of the files that cannot hold a matching row."""
        return sum_of(self.files.column("size")) - self.bytes_kept

    @cached_property
    def num_reference_skips(self) -> int:
        """How many of the kept files the reference skips, because it takes bounds as they are,
        although a row may be NaN or a text be cut."""
        stays = pc.equal(self.evidence.column("code"), int32_column([KEPT])[0])
        why = kept_by_imprecision(self.predicate, self.question, self.evidence.filter(stays))
        return 0 if why is None else why.reference_skips.true_count

    @cached_property
    def skipped(self) -> pa.Table:
        """Path, size and reason of the files that cannot hold a matching row."""
        return self.reasons("skipped").drop_columns(["kept"])

    def reasons(self, which: Which = "all", offset: int = 0, limit: int | None = None) -> pa.Table:
        """Path, size, kept and reason of some files, in the order of the log."""
        first, end = max(offset, 0), None if limit is None else max(offset, 0) + max(limit, 0)
        if which == "all":
            return self._reasons_at(np.arange(self.num_files, dtype=np.int64)[first:end])
        stays = pc.equal(self.evidence.column("code"), int32_column([KEPT])[0])
        wanted = pc.indices_nonzero(stays if which == "kept" else pc.invert(stays))
        return self._reasons_at(read_numbers(wanted)[first:end])

    def by_reason(self, limit: int | None = None) -> tuple[ReasonGroup, ...]:
        """The files by what decided, those that have to be read first, each group with its
        first `limit` files, all of them where None."""
        codes = self.evidence.column("code")
        sizes = self.files.column("size")
        return tuple(
            ReasonGroup(
                kept=code == KEPT,
                reason=render_verdict(self.predicate, self.question, code),
                num_files=len(positions),
                size_in_bytes=sum_of(sizes.take(positions)),
                files=self._reasons_at(read_numbers(positions)[:limit]),
            )
            for code in sorted(pc.unique(codes).to_pylist())
            for positions in [pc.indices_nonzero(pc.equal(codes, int32_column([code])[0]))]
        )

    def explain(self, path: str) -> pa.Table:
        """Path, size, kept and reason of the files with one path, as in the log: one,
        or, under different deletion vectors, more; none raises `InvalidArgumentError`."""
        found = pc.is_in(self.files.column("path"), value_set=string_column([path]))
        positions = pc.indices_nonzero(found)
        if not len(positions):
            raise InvalidArgumentError(
                f"There is no live file {path[:200]!r}.",
                reason=f"Version {self.version} does not have it under this path.",
                remedy="Give the path as `files` shows it.",
            )
        return self._reasons_at(read_numbers(positions))

    def _reasons_at(self, positions: Numbers) -> pa.Table:
        files, known = _rows_at(self.files, positions), _rows_at(self.evidence, positions)
        kept, reasons = render_reasons(self.predicate, self.question, known)
        return files.append_column("kept", kept).append_column("reason", reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPiece:
    """What planning makes of one row group, or of the files of the commits; `kept` by the
    names of the log."""

    kept: pa.Table
    files: pa.Table
    evidence: pa.Table
    unreadable: UnreadableFiles
    problems: tuple[Problem, ...]


def plan_scan(
    snapshot: Snapshot,
    where: str | Predicate | None = None,
    *,
    evaluate: Evaluate | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> ScanPlan:
    """Decide for every live file whether a row of it may match.

    A file goes only where its partition values, the bounds of its columns or
    their counts of nulls rule out that the predicate is true for any row.
    Whatever is unknown, broken or imprecise speaks for keeping it. Conditions beyond the closed
    list of `parse_predicate` are asked of `evaluate` for each of the partition values that there
    are (`explorer.pipeline.evaluate_on_partitions` asks Spark); what is not evaluated rules out
    no file, and a problem of the plan says so. Raises
    `InvalidArgumentError` for a predicate that cannot be understood.
    """
    if isinstance(where, Predicate | None):
        predicate = where
    else:
        predicate = parse_scan_predicate(where, snapshot.schema)
    watch = Watch(progress=progress, cancel=cancel)
    question = Question() if predicate is None else question_of(predicate, snapshot)
    unanswered: tuple[Problem, ...] = ()
    if predicate is not None and predicate.sql_conditions:
        asked = ask_partitions(snapshot, predicate, question.partitions, evaluate, watch)
        question, unanswered = replace(question, answers=asked.answers), asked.problems

    def plan(files: FileColumns) -> PlannedPiece:
        return plan_piece(predicate, question, files)

    pieces = reduce_live_files(snapshot, SCANNED, question.leaves, plan, watch, "Asking each file")
    return ScanPlan(
        version=snapshot.version,
        predicate=predicate,
        kept=_logical(snapshot, _joined([piece.kept for piece in pieces], _KEPT)),
        problems=(*unanswered, *problems_of(pieces)),
        files=_joined([piece.files for piece in pieces], _FILES),
        question=question,
        evidence=pa.concat_tables([piece.evidence for piece in pieces])
        if pieces
        else empty_table(pa.schema([("code", pa.int32())])),
    )


def kept_by_partitions(
    snapshot: Snapshot,
    predicate: Predicate,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> int | None:
    """How many files partition values alone leave, which is known before any statistics are
    read; None where the predicate speaks of no column that partitions the table."""
    asked = Question(partitions=question_of(predicate, snapshot).partitions)
    if not asked.partitions:
        return None

    def count(files: FileColumns) -> int:
        evidence = evidence_of(predicate, answer(asked, files), files.table.num_rows)
        stays = pc.equal(evidence.column("code"), int32_column([KEPT])[0])
        return pc.sum(stays).as_py() or 0

    watch = Watch(progress=progress, cancel=cancel)
    return sum(
        reduce_live_files(snapshot, ["partition_values"], (), count, watch, "Asking partitions")
    )


def plan_piece(predicate: Predicate | None, question: Question, files: FileColumns) -> PlannedPiece:
    """Decide for some files, read with `SCANNED` and the leaves of the question."""
    found = answer(question, files)
    evidence = evidence_of(predicate, found, files.table.num_rows)
    stays = pc.equal(evidence.column("code"), int32_column([KEPT])[0])
    wanted = None if pc.all(stays).as_py() else stays
    kept = files.table if wanted is None else files.table.filter(wanted)
    return PlannedPiece(
        kept=kept.append_column("num_records", _counts(found.num_records, files, wanted)),
        files=files.table.select(list(_FILES)),
        evidence=evidence,
        unreadable=unreadable_files(files.table.column("path"), found.bad),
        problems=found.problems,
    )


def _counts(
    known: pa.Array | None, files: FileColumns, wanted: pa.ChunkedArray | None
) -> pa.ChunkedArray:
    """The physical rows of the wanted files, which statistics have told if all are `known`."""
    if known is None or known.null_count:
        return physical_counts(files, wanted)
    counts = pa.chunked_array([known])
    return counts if wanted is None else counts.filter(wanted)


def physical_counts(files: FileColumns, wanted: pa.ChunkedArray | None) -> pa.ChunkedArray:
    """The physical rows of the wanted files, of all where that is None; `files` were read with
    `PARSED_NUM_RECORDS`. Texts are read only where the log file does not say everything in a
    column of numbers."""
    parsed = files.leaves.get(PARSED_NUM_RECORDS)
    if parsed is not None and wanted is not None:
        parsed = parsed.filter(wanted)
    if parsed is not None and pa.types.is_integer(parsed.type) and not parsed.null_count:
        counts = pc.cast(parsed, pa.int64(), safe=False)  # beyond 63 bits: less than none
        if not pc.any(pc.less(counts, ZERO)).as_py():
            return counts
    texts = files.column("stats")
    return record_counts(texts if wanted is None else texts.filter(wanted), parsed)


def problems_of(pieces: Sequence[PlannedPiece]) -> tuple[Problem, ...]:
    """What is wrong with the values by which files were planned, told once."""
    others = dict.fromkeys(problem for piece in pieces for problem in piece.problems)
    unreadable = unreadable_problems(piece.unreadable for piece in pieces)
    return (*unreadable, *list(others)[:_MAX_PROBLEMS])


def _joined(tables: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    if tables:
        return pa.concat_tables(tables)
    types = {name: rule[2] for name, rule in ADD_COLUMNS.items()} | {"num_records": pa.int64()}
    return empty_table(pa.schema([(name, types[name]) for name in names]))


def _logical(snapshot: Snapshot, files: pa.Table) -> pa.Table:
    """The keys of partition values by the names of the schema, as `Snapshot.files` has them."""
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    if mode == "none" or not snapshot.metadata.partition_columns:
        return files
    names = {physical_name(item, mode): item.name for item in snapshot.schema.fields}
    return with_logical_names(files, names)


def _rows_at(table: pa.Table, positions: Numbers) -> pa.Table:
    """The rows at ascending positions; only chunks between the first and the last of them are
    copied, and none where they follow one another."""
    if not len(positions):
        return table.slice(0, 0)
    first, last = int(positions[0]), int(positions[-1])
    near = table.slice(first, last - first + 1)
    if near.num_rows == len(positions):
        return near
    columns = [take_rows(column, positions - first) for column in near.columns]
    return pa.Table.from_arrays(columns, names=near.column_names)
