"""The files that an overwrite of a part replaces: whole ones, by their partition values alone
(spec: Partition Value Serialization)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa

from explorer.errors import DeltaError, UnsupportedError
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.partition_values import parse_partition_value, render_partition_value
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
