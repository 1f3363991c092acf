"""Looking for the rows that a condition is true for, in files that may hold some."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.reading.reading import plan_read
from explorer.pipeline.removing._find_tasks import (
    FOUND_PARTS,
    INDEX,
    PATH,
    FindRows,
    pack_found,
)
from explorer.pipeline.removing.workplace import Workplace
from explorer.pipeline.tasks.mapped_batches import map_batches
from explorer.rows.data_file.data_file import data_files
from explorer.rows.data_file.parquet_file import open_data_file
from explorer.rows.layout import layout_of
from explorer.rows.request import build_request
from explorer.scan.predicate.predicate import Predicate
from explorer.scan.sql.conditions import parse_scan_predicate
from explorer.scan.sql.expressions import check_expression
from explorer.table.snapshot import Snapshot
from explorer.writing.changes.candidates import NUM_RECORDS, Candidates
from explorer.writing.changes.found_rows import FOUND, join_found

_LABEL: Final = "Looking for rows"


def parse_where(snapshot: Snapshot, where: str | None) -> Predicate | None:
    """A condition of a statement; raises `InvalidArgumentError` for one that is not let through."""
    return None if where is None else parse_scan_predicate(where, snapshot.schema)


def only_spark_evaluates(predicate: Predicate | None) -> str | None:
    """Why the rows that a condition is true for can be found by Spark alone; None where not."""
    beyond = () if predicate is None else predicate.sql_conditions
    return f"The condition has `{beyond[0].text[:120]}`." if beyond else None


def find_rows(place: Workplace, candidates: Candidates, where: str | None) -> pa.Table:
    """The rows with the schema `FOUND` that `where`, the condition of the candidates, is true for.

    Files that go as a whole are not looked into. Raises what reading rows raises.
    """
    asked = candidates.asked
    if where is None or not asked.num_rows:
        return pa.Table.from_batches([], FOUND)
    snapshot, predicate = candidates.snapshot, candidates.predicate
    assert predicate is not None
    if predicate.sql_conditions:
        return _find_on_spark(place, candidates, where)
    request = build_request(layout_of(snapshot), (), (INDEX,), predicate)
    task = FindRows(store=place.store, request=request)
    return place.work(asked, task, FOUND, _LABEL)


def _find_on_spark(place: Workplace, candidates: Candidates, where: str) -> pa.Table:
    """By Spark's own evaluation of the condition, which passed guard 14."""
    session, snapshot, asked = place.session, candidates.snapshot, candidates.asked
    assert session is not None
    from pyspark.sql import functions as fn
    from pyspark.sql.types import BooleanType, NullType

    columns = check_expression(where, snapshot.schema).columns
    with watched(session, place.watch, _LABEL):
        plan = plan_read(
            snapshot,
            session,
            columns=columns,
            metadata_columns=(PATH, INDEX),
            among=asked.column("path"),
        )
        frame = plan.frame()
        kind = frame.select(fn.expr(where)).schema.fields[0].dataType
        if not isinstance(kind, BooleanType | NullType):
            raise InvalidArgumentError(
                f"The expression {where[:120]!r} is not a condition.",
                reason=f"Its answer is a {kind.simpleString()[:60]}, and neither true nor false.",
                remedy="Compare it with something.",
            )
        found = frame.filter(fn.expr(where)).select(PATH, INDEX)
        parts = map_batches(found, pack_found, FOUND_PARTS).toArrow().cast(FOUND_PARTS)
    missing = [pa.nulls(parts.num_rows, pa.int64())] * 3
    table = pa.Table.from_arrays([*parts.columns, *missing], schema=FOUND)
    return join_found(table, count_rows(snapshot, asked, parts.column("path")))


def count_rows(
    snapshot: Snapshot, asked: pa.Table, paths: pa.ChunkedArray
) -> dict[str, tuple[int, int]]:
    """Live and physical rows of those of the files `asked` that lie at `paths`, by the log, else by
    their footers."""
    files = asked.filter(pc.is_in(asked.column("path"), value_set=pc.unique(paths)))
    counts = files.column(NUM_RECORDS).to_pylist()
    found = {}
    for file, count in zip(data_files(files), counts, strict=True):
        number = count
        if number is None:
            whole = replace(file, deletion_vector=None)
            with open_data_file(snapshot.store, whole, snapshot.version) as opened:
                number = opened.num_rows
        hidden = 0 if file.deletion_vector is None else file.deletion_vector.cardinality
        found[file.path] = number - hidden, number
    return found
