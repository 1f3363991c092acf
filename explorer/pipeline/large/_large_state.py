"""The reconciled files of a log that is larger than one driver, worked out on Spark
(spec: Action Reconciliation).

Every question is a job: tasks read the row groups of the checkpoint and of its sidecars,
leave out what the commits decide, and hand back no more than the answer.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import COLUMNS, empty_table
from explorer.log.actions.fields import FileAction
from explorer.log.state.file_columns import FileColumns
from explorer.log.state.statistics_columns import StatisticsStruct, complete_statistics
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.large.large_tasks import CELL, FilesQuestion, Piece, ReadDecided, ReadPieces
from explorer.pipeline.session import parallelism
from explorer.pipeline.tasks.task_groups import pack_files, unpack_files
from explorer.protocol.actions import FieldPath
from explorer.storage.ports import ReadStore
from explorer.table.frames import rows_of, sum_of
from explorer.table.row_counts import flag_impossible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NUM_RECORDS: Final = "num_records"
_TOTALS: Final = ("size", "deletion_vector", _NUM_RECORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over live files; `unknown` is how many do not say how many rows they have, and
    `impossible` how many deletion vectors cannot hide as many as they say."""

    files: int = 0
    size: int = 0
    vectors: int = 0
    deleted: int = 0
    rows: int = 0
    unknown: int = 0
    impossible: int = 0

    def plus(self, other: Totals) -> Totals:
        """Both together."""
        mine, theirs = _numbers(self), _numbers(other)
        return Totals(**{name: mine[name] + theirs[name] for name in mine})


def _as_it_is(files: pa.Table) -> pa.Table:
    return files


@dataclass(frozen=True, kw_only=True)
class SparkState:
    """A `FileState`: the live files of one version, and its tombstones, on Spark.

    `keys` are those that the commits after the checkpoint speak of, and `newer` the files
    that they leave; where these are too many for the driver they are `decided`, a frame with
    the columns `action` and `cell`, and pieces know their dead rows. `statistics` says how
    JSON is made where the checkpoint has statistics as columns alone.
    """

    spark: SparkSession
    store: ReadStore
    pieces: tuple[Piece, ...]
    keys: bytes | None = None
    newer: Mapping[FileAction, bytes] = field(default_factory=dict)
    decided: DataFrame | None = None
    statistics: StatisticsStruct | None = None
    shown: Callable[[pa.Table], pa.Table] = _as_it_is
    """From partition values by physical names to those by logical ones."""

    @property
    def count(self) -> int:
        """How many live files there are."""
        return self.totals.files

    @cached_property
    def totals(self) -> Totals:
        """Sums over the live files, by one job."""
        found = self.answers(FilesQuestion(action="add", columns=_TOTALS, work=_total))
        return _summed(pickle.loads(cell) for cell in found)  # of our own tasks

    @cached_property
    def num_tombstones(self) -> int:
        """How many tombstones there are, by one job."""
        found = self.answers(FilesQuestion(action="remove", columns=("path",), work=_count))
        return sum(map(int, found))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The live files, with just these columns, of a few tasks at a time."""
        for table in self.tables("add", columns):
            yield from self.shown(table).to_batches()

    def find(self, path: str, columns: Sequence[str]) -> pa.Table:
        """The live files of one path, as it stands in the log."""
        wanted = tuple(dict.fromkeys(["path", *columns]))

        def pick(files: Iterator[FileColumns]) -> Iterator[bytes]:
            for some in files:
                found = rows_of(some.table, path, columns)
                if found.num_rows:
                    yield pack_files(found)

        found = [unpack_files(cell) for cell in self.answers(self.question("add", wanted, pick))]
        return self.shown(pa.concat_tables([self.nothing("add", columns), *found]))

    def tables(self, action: FileAction, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Live files or tombstones, partition values by physical names, of a few tasks at a
        time: no more than that is held."""
        question = self.question(action, tuple(columns), _packed)
        yield from map(unpack_files, self._in_turn(question))

    def reduced(
        self,
        columns: Sequence[str],
        leaves: Sequence[FieldPath],
        reduce: Callable[[FileColumns], Any],
    ) -> Iterator[bytes]:
        """What `LogState.reduce_files` answers, pickled, of a few tasks at a time."""

        def work(files: Iterator[FileColumns]) -> Iterator[bytes]:
            yield from (pickle.dumps(reduce(some)) for some in files)

        yield from self._in_turn(self.question("add", tuple(columns), work, leaves))

    def _in_turn(self, question: FilesQuestion) -> Iterator[bytes]:
        window = parallelism(self.spark)
        for start in range(0, len(self.pieces) + 1, window):
            numbers = range(start, min(start + window, len(self.pieces) + 1))
            yield from self._cells(self._asked(question, numbers))
        if self.decided is not None:
            yield from self._cells(self._asked_of_decided(question))

    def question(
        self,
        action: FileAction,
        columns: tuple[str, ...],
        work: Any,
        leaves: Sequence[FieldPath] = (),
    ) -> FilesQuestion:
        """A question whose answer has `stats` as JSON, however they are stored."""
        held = self.statistics
        if "stats" not in columns or held is None or action == "remove":
            return FilesQuestion(action=action, columns=columns, leaves=tuple(leaves), work=work)

        def completed(files: Iterator[FileColumns]) -> Iterator[bytes]:
            yield from work(complete_statistics(some, held) for some in files)

        wanted = tuple(dict.fromkeys((*leaves, *held.leaves)))
        return FilesQuestion(action=action, columns=columns, leaves=wanted, work=completed)

    def asked(self, question: FilesQuestion) -> DataFrame:
        """The cells of an answer, in a column `CELL`; worked out when an action asks."""
        frame = self._asked(question, range(len(self.pieces) + 1))
        if self.decided is None:
            return frame
        return frame.union(self._asked_of_decided(question))

    def answers(self, question: FilesQuestion) -> Iterator[bytes]:
        """The cells of an answer, all of them here."""
        return self._cells(self.asked(question))

    def _asked(self, question: FilesQuestion, numbers: range) -> DataFrame:
        read = ReadPieces(
            store=self.store,
            pieces=self.pieces,
            keys=self.keys,
            newer=self.newer,
            question=question,
        )
        frame = self.spark.range(numbers.start, numbers.stop, 1, max(1, len(numbers)))
        return frame.mapInArrow(read.__call__, f"{CELL} binary")

    def _asked_of_decided(self, question: FilesQuestion) -> DataFrame:
        assert self.decided is not None
        read = ReadDecided(store=self.store, question=question)
        return self.decided.select("action", CELL).mapInArrow(read.__call__, f"{CELL} binary")

    def _cells(self, frame: DataFrame) -> Iterator[bytes]:
        with clear_errors(f"Reading the log of {self.store.uri}"):
            found = frame.toArrow()
        yield from found.column(CELL).to_pylist()

    def nothing(self, action: FileAction, columns: Sequence[str]) -> pa.Table:
        """No files, with these columns."""
        types = {name: rule[2] for name, rule in COLUMNS[action].items()}
        types[_NUM_RECORDS] = pa.int64()
        return empty_table(pa.schema([(name, types[name]) for name in columns]))


def _numbers(totals: Totals) -> dict[str, int]:
    return {name: getattr(totals, name) for name in Totals.__dataclass_fields__}


def _summed(every: Iterator[Totals]) -> Totals:
    found = Totals()
    for some in every:
        found = found.plus(some)
    return found


def _total(files: Iterator[FileColumns]) -> Iterator[bytes]:
    yield pickle.dumps(_summed(_total_of(some.table) for some in files))


def _total_of(files: pa.Table) -> Totals:
    vectors, records = files.column("deletion_vector"), files.column(_NUM_RECORDS)
    return Totals(
        files=files.num_rows,
        size=sum_of(files.column("size")),
        vectors=len(vectors) - vectors.null_count,
        deleted=sum_of(pc.struct_field(vectors, "cardinality")),
        rows=sum_of(records),
        unknown=records.null_count,
        impossible=pc.sum(flag_impossible(vectors, records)).as_py() or 0,
    )


def _count(files: Iterator[FileColumns]) -> Iterator[bytes]:
    yield str(sum(some.table.num_rows for some in files)).encode()


def _packed(files: Iterator[FileColumns]) -> Iterator[bytes]:
    tables = [some.table for some in files]
    if tables:
        yield pack_files(pa.concat_tables(tables))
