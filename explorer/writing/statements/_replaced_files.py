"""The files that a condition replaces: whole ones, by their partition values alone."""

from __future__ import annotations

import pyarrow as pa

from explorer.log.state.file_columns import FileColumns
from explorer.scan.facts import answer, question_of
from explorer.scan.possibility import may_be_true
from explorer.scan.predicate.parse import parse_predicate
from explorer.scan.sql.conditions import parse_scan_predicate
from explorer.table.snapshot import Snapshot


def speaks_of_rows(snapshot: Snapshot, where: str) -> bool:
    """Whether the rows of a file may answer a condition in different ways: it speaks of columns
    that the table is not partitioned by, or Spark alone understands it.

    Raises `InvalidArgumentError` for a condition that cannot be understood.
    """
    predicate = parse_scan_predicate(where, snapshot.schema)
    partitions = set(snapshot.metadata.partition_columns)
    others = any(reference.path[0] not in partitions for reference in predicate.references)
    return others or bool(predicate.sql_conditions)


def files_to_replace(snapshot: Snapshot, live: pa.Table, where: str) -> pa.Table:
    """Those of the `live` files, with `path` and `partition_values`, whose rows all match a
    condition on partition columns."""
    predicate = parse_predicate(where, snapshot.schema)
    known = answer(question_of(predicate, snapshot), FileColumns(table=live, leaves={}))
    return live.filter(may_be_true(predicate.condition, known.ranges, live.num_rows))
