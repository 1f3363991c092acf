"""The files that a condition replaces: whole ones, by their partition values alone."""

from __future__ import annotations

import pyarrow as pa

from explorer.errors import UnsupportedError
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.schema_walk import render_path
from explorer.scan.facts import answer, question_of
from explorer.scan.possibility import may_be_true
from explorer.scan.predicate.parse import parse_predicate
from explorer.table.snapshot import Snapshot


def files_to_replace(snapshot: Snapshot, live: pa.Table, where: str) -> pa.Table:
    """Those of the `live` files, with `path` and `partition_values`, whose rows all match.

    Raises `InvalidArgumentError` for a condition that cannot be understood, and
    `UnsupportedError` for one that files answer in part: rows of these would have to be written
    again.
    """
    predicate = parse_predicate(where, snapshot.schema)
    partitions = set(snapshot.metadata.partition_columns)
    others = [
        render_path(reference.path)
        for reference in predicate.references
        if reference.path[0] not in partitions
    ]
    if others:
        raise UnsupportedError(
            f"replace_where speaks of `{others[0][:120]}`, which the table is not partitioned by.",
            reason="A file may hold rows that match and rows that do not; the latter would have "
            "to be written again.",
            remedy="Use a condition on partition columns, or delete these rows first and append.",
        )
    known = answer(question_of(predicate, snapshot), FileColumns(table=live, leaves={}))
    return live.filter(may_be_true(predicate.condition, known.ranges, live.num_rows))
