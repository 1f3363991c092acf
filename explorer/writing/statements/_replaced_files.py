"""The files that an overwrite of a part replaces: whole ones, by their partition values alone
(spec: Partition Value Serialization)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa

from explorer.errors import DeltaError
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.actions import Metadata
from explorer.protocol.schema import parse_schema
from explorer.protocol.values.partition_values import parse_partition_value, render_partition_value
from explorer.scan.facts import answer, question_of
from explorer.scan.possibility import may_be_true
from explorer.scan.predicate.parse import parse_predicate
from explorer.scan.sql.conditions import parse_scan_predicate
from explorer.table.snapshot import Snapshot


def speaks_of_rows(metadata: Metadata, where: str) -> bool:
    """Whether the rows of a file may answer a condition in different ways: it speaks of columns
    that the table is not partitioned by, or Spark alone understands it.

    Raises `InvalidArgumentError` for a condition that cannot be understood.
    """
    predicate = parse_scan_predicate(where, parse_schema(metadata.schema_string))
    partitions = set(metadata.partition_columns)
    others = any(reference.path[0] not in partitions for reference in predicate.references)
    return others or bool(predicate.sql_conditions)


def files_to_replace(snapshot: Snapshot, live: pa.Table, where: str) -> pa.Table:
    """Those of the `live` files, with `path` and `partition_values`, whose rows all match a
    condition on partition columns."""
    predicate = parse_predicate(where, snapshot.schema)
    known = answer(question_of(predicate, snapshot), FileColumns(table=live, leaves={}))
    return live.filter(may_be_true(predicate.condition, known.ranges, live.num_rows))


def files_of_partitions(live: pa.Table, written: pa.Table, keys: Mapping[str, str]) -> pa.Table:
    """Those of the `live` files that are of a partition which a `written` one is of; both have
    `partition_values`, and `keys` are the types of partition columns by their names in it.

    A value counts and not its text: a writer may have written the same time, or the same number,
    in another way.
    """
    known: dict[tuple[str, str], str] = {}

    def partitions_of(files: pa.Table) -> list[tuple[str | None, ...]]:
        found = []
        for values in files.column("partition_values").to_pylist():
            held = dict(values or ())
            texts = [(held.get(key), kind) for key, kind in keys.items()]
            found.append(
                tuple(_uniform(text, kind, known) if text else None for text, kind in texts)
            )
        return found

    wanted = set(partitions_of(written))
    mask = [each in wanted for each in partitions_of(live)]
    return live.filter(pa.array(mask, pa.bool_()))


def _uniform(text: str, kind: str, known: dict[tuple[str, str], str]) -> str:
    """One text for each value of a type; `known` are those of before."""
    if (text, kind) not in known:
        try:
            value = parse_partition_value(text, kind)
        except DeltaError:  # no value of the type, and so none that rows could have
            return text
        if isinstance(value, Decimal):
            value = value.normalize()
        known[text, kind] = render_partition_value(value) or ""
    return known[text, kind]
