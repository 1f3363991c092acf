"""What the log says of a column, summed over all files: here, or on Spark where the state
of the log is there."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import reduce
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.state.file_columns import FileColumns
from explorer.pipeline.large.large_table import LargeSnapshot
from explorer.pipeline.large.large_tasks import FilesQuestion
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.schema import PrimitiveType, StructField
from explorer.protocol.schema_walk import render_path
from explorer.protocol.values.calendar_days import Day, days_of
from explorer.rows.data_file.partition_columns import constant_column
from explorer.rows.python_values import ordinal_of, python_values
from explorer.scan.statistics.column_statistics import parsed_leaves
from explorer.scan.statistics.live_files import (
    choose_columns,
    flatten_statistics,
    parsed_statistics,
)
from explorer.table.row_counts import flag_impossible
from explorer.table.snapshot import Snapshot

_COUNTED: Final = ("partition_values", NUM_RECORDS, "deletion_vector")

# of other types some writers cut bounds, or round them
_EXACT_TYPES: Final = frozenset(
    PrimitiveType(name=name) for name in ("byte", "short", "integer", "long", "date")
)
_ORDERED_SINCE: Final = days_of(1600, 1, 1)
"""Days before it stand in some statistics by another calendar."""

Texts: TypeAlias = Counter[str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsFacts:
    """What statistics say of a column in some files: `nulls` is None where one does not say,
    and `are_bounds_known` false where a file has values and no bounds that can be believed."""

    nulls: int | None = 0
    low: Any = None
    high: Any = None
    are_bounds_known: bool = True

    def plus(self, other: StatisticsFacts) -> StatisticsFacts:
        """Both together."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        unknown = self.nulls is None or other.nulls is None
        return StatisticsFacts(
            nulls=None if unknown else (self.nulls or 0) + (other.nulls or 0),
            low=min(lows, key=ordinal_of, default=None),
            high=max(highs, key=ordinal_of, default=None),
            are_bounds_known=self.are_bounds_known and other.are_bounds_known,
        )


def partition_texts(snapshot: Snapshot, item: StructField) -> Texts | None:
    """How many live rows there are by the text of a partition column's value; None where a
    file does not say how many it has."""
    if not isinstance(snapshot, LargeSnapshot):
        return _texts(snapshot.files(_COUNTED), item.name)
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    physical = physical_name(item, mode)

    def work(files: Iterator[FileColumns]) -> Iterator[bytes]:
        yield pickle.dumps(_added(_texts(some.table, physical) for some in files))

    cells = snapshot.file_state.answers(FilesQuestion(action="add", columns=_COUNTED, work=work))
    return _added(pickle.loads(cell) for cell in cells)


def statistics_facts(snapshot: Snapshot, item: StructField, *, extremes: bool) -> StatisticsFacts:
    """What the statistics of all files say of a column that does not partition the table;
    `extremes` are wanted."""
    path = render_path((item.name,))
    look = _Look(path=path, extremes=extremes, is_exact=item.data_type in _EXACT_TYPES)
    if not isinstance(snapshot, LargeSnapshot):
        return look.at(parsed_statistics(snapshot, [path]))
    columns = choose_columns(snapshot, [path])

    def work(files: Iterator[FileColumns]) -> Iterator[bytes]:
        found = (look.at(flatten_statistics(some, columns)) for some in files)
        yield pickle.dumps(reduce(StatisticsFacts.plus, found, StatisticsFacts()))

    cells = snapshot.file_state.answers(
        FilesQuestion(
            action="add", columns=("path",), leaves=tuple(parsed_leaves(columns)), work=work
        )
    )
    return reduce(StatisticsFacts.plus, map(pickle.loads, cells), StatisticsFacts())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    path: str
    extremes: bool
    is_exact: bool

    def at(self, facts: pa.Table) -> StatisticsFacts:
        if pc.any(pc.invert(facts.column("tight_bounds"))).as_py():
            return StatisticsFacts(nulls=None, are_bounds_known=False)
        nulls = facts.column(f"null_count.{self.path}")
        count = None if nulls.null_count else int(pc.sum(nulls).as_py() or 0)
        if not self.extremes or not facts.num_rows:
            return StatisticsFacts(nulls=count)
        if not self.is_exact:
            return StatisticsFacts(nulls=count, are_bounds_known=False)
        low, high = facts.column(f"min.{self.path}"), facts.column(f"max.{self.path}")
        valued = pc.greater(facts.column("num_records"), nulls)
        known = pc.and_(low.is_valid(), high.is_valid())
        least, most = _extreme(low, "min"), _extreme(high, "max")
        is_old = isinstance(least, date | Day) and ordinal_of(least) < _ORDERED_SINCE
        missing = pc.any(pc.and_not(valued, known)).as_py()
        return StatisticsFacts(
            nulls=count, low=least, high=most, are_bounds_known=not (missing or is_old)
        )


def _extreme(values: pa.ChunkedArray, side: Literal["min", "max"]) -> Any:
    (found,) = python_values(constant_column(pc.min_max(values)[side], 1))
    return found


def _texts(files: pa.Table, name: str) -> Texts | None:
    vectors, records = files.column("deletion_vector"), files.column(NUM_RECORDS)
    hidden = pc.struct_field(vectors, "cardinality")
    live = pc.subtract(records, pc.fill_null(hidden, 0))
    if live.null_count or pc.any(flag_impossible(vectors, records)).as_py():
        return None
    found: Texts = Counter()
    values = files.column("partition_values").to_pylist()
    for pairs, count in zip(values, live.to_pylist(), strict=True):
        found[dict(pairs or ()).get(name)] += count
    return found


def _added(every: Iterator[Texts | None]) -> Texts | None:
    found: Texts = Counter()
    for some in every:
        if some is None:
            return None
        found.update(some)
    return found
