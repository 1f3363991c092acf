"""What a table asks of its writers and not of its readers (spec: Requirements for Writers)."""

from __future__ import annotations

import pyarrow as pa

from explorer.errors import UnsupportedError
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.table_features.rule_rows import NAMES, Rules, rule_rows
from explorer.log.actions.columns import bool_column, int64_column, string_column
from explorer.protocol.schema import parse_schema
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

_NUMBERS = frozenset({"start", "step", "high_water_mark"})


def _column_of(name: str) -> Column:
    if name == "binds":
        return bool_column, pa.bool_()
    return (int64_column, pa.int64()) if name in _NUMBERS else (string_column, pa.string())


COLUMNS: dict[str, Column] = {name: _column_of(name) for name in NAMES}


def writer_rules(table: Table, version: int | None = None) -> pa.Table:
    """One row per rule: those of columns in the order of the schema, then the table's.

    - `rule`: not null, length, invariant, generated, default, identity, check, append only,
      clustering (a row per column), iceberg compatibility, row tracking, checkpoint
      protection, or catalog managed; `name` of a constraint or a rule set
    - `column`: the logical field path, null for rules of the table
    - `text`: the SQL expression, the type that sets a length (null where it cannot be read), or
      what the rule says in words
    - `start`, `step`, `high_water_mark`: of identity columns; the last one also of row
      tracking: the highest row id given out. Null where nothing is recorded
    - `binds`: whether the protocol supports the `feature`, so that writers must follow;
      without it the rule stands there and means nothing
    - `source`: the key of the column's metadata or of the table's properties, or the domain

    A table whose snapshot is refused answers too, without what domains say. Raises
    `CorruptLogError` (schema_invalid) for a schema that cannot be read.
    """
    try:
        rules = rules_of_snapshot(table.snapshot(version))
    except UnsupportedError:
        metadata = table.metadata(version)
        rules = Rules(
            protocol=table.protocol(version),
            metadata=metadata,
            schema=parse_schema(metadata.schema_string),
            domains=None,
        )
    return build_frame(COLUMNS, list(rule_rows(rules)))


def rules_of_snapshot(snapshot: Snapshot) -> Rules:
    """What the rules of a snapshot are made from; raises where its schema cannot be read."""
    return Rules(
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        schema=snapshot.schema,
        domains=snapshot.domains,
        row_id_high_water_mark=snapshot.row_id_high_water_mark,
    )
