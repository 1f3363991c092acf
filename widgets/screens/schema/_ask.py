"""The columns of a version, the rules on them, and which files hold them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

import explorer.inspect as look
from explorer.errors import Problem
from explorer.progress import Watch
from widgets.session.asking import attempt_fact
from widgets.session.tables import TableService


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFacts:
    """Rows of `explorer.inspect.schema` and of `writer_rules`, which are unknown where a
    problem stands."""

    fields: pa.Table
    rules: pa.Table | Problem


def read_schema_facts(service: TableService, version: int) -> SchemaFacts:
    """What the log says of columns; of a table that a snapshot refuses too."""
    return SchemaFacts(
        fields=service.read_schema(version),
        rules=attempt_fact(lambda: look.writer_rules(service.table, version)),
    )


def read_schema_changes(service: TableService, version: int, watch: Watch) -> pa.Table:
    """Which versions changed which fields."""
    return look.schema_history(service.table, version, progress=watch.progress, cancel=watch.cancel)


def read_presence(service: TableService, version: int, watch: Watch) -> look.ColumnPresence:
    """Which files hold which columns, by statistics."""
    return look.columns_by_statistics(
        service.snapshot(version), progress=watch.progress, cancel=watch.cancel
    )


def read_presence_of_files(
    service: TableService, version: int, watch: Watch
) -> look.ColumnPresence:
    """Which columns the files hold, by their footers."""
    return look.columns_by_files(
        service.snapshot(version), progress=watch.progress, cancel=watch.cancel
    )
