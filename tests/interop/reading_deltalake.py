"""What deltalake says of a table. Rows come from its query engine: its `to_pyarrow_table`
refuses deletion vectors and mapped columns."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import orjson
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from explorer.protocol.values.variant import parse_field_names, parse_variant
from explorer.protocol.values.variant_rendering import render_variant
from tests.interop.reading import (
    Case,
    Reading,
    Refused,
    ask,
    plain_type,
    told_changes,
    told_latest,
    told_rows,
)
from tests.row_values import plain_value


def read_with_deltalake(case: Case) -> Reading:
    """Every fact but `features`, `clustering` and `row ids`, which it does not tell."""
    table = ask(case, lambda: DeltaTable(str(case.place)))
    if isinstance(table, Refused):
        return {"opening": table}
    return {
        "opening": table.version(),
        "files": ask(case, lambda: _files(table)),
        **told_latest(case, lambda: _rows(case, table)),
        "schema": ask(case, lambda: plain_type(orjson.loads(table.schema().to_json()))),
        "transactions": {app: table.transaction_version(app) for app in case.applications},
        **_settings(table),
        **_history(ask(case, table.history)),
        **told_changes(case, lambda first, last: _changes(table, first, last)),
        **_older(case),
    }


def _files(table: DeltaTable) -> tuple[int, int]:
    sizes = pa.table(table.get_add_actions())["size_bytes"].to_pylist()
    return len(sizes), sum(sizes)


def _rows(case: Case, table: DeltaTable) -> Any:
    query = QueryBuilder().register("t", table).execute("select * from t")
    rows = pa.table(query.read_all())
    if "metadata: binary" not in str(rows.schema):
        return told_rows(case, rows)
    columns = [map(_plain, rows.column(name).to_pylist()) for name in sorted(rows.column_names)]
    return Counter(zip(*(map(plain_value, column) for column in columns), strict=True))


def _plain(value: Any) -> Any:
    """The value with variants, which it answers as two strings of bytes, as JSON text."""
    match value:
        case {"metadata": bytes() as names, "value": bytes() as data}:
            return render_variant(parse_variant(data, parse_field_names(names)))
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case tuple():
            return tuple(_plain(inner) for inner in value)
        case _:
            return value


def _changes(table: DeltaTable, first: int, last: int) -> pa.Table:
    return pa.table(table.load_cdf(starting_version=first, ending_version=last).read_all())


def _settings(table: DeltaTable) -> Reading:
    protocol, metadata = table.protocol(), table.metadata()
    lists = (protocol.reader_features, protocol.writer_features)
    return {
        "protocol": (
            protocol.min_reader_version,
            protocol.min_writer_version,
            *(names and sorted(names) for names in lists),
        ),
        "metadata": {
            "id": metadata.id,
            "name": metadata.name,
            "description": metadata.description,
            "partition columns": metadata.partition_columns,
            "created": metadata.created_time,
            "properties": metadata.configuration,
        },
    }


def _history(commits: Any) -> Reading:
    if isinstance(commits, Refused):
        return {"history": commits}
    return {
        "history": {commit["version"]: commit.get("operation") for commit in commits},
        "commit times": {commit["version"]: commit.get("timestamp") for commit in commits},
    }


def _older(case: Case) -> Reading:
    """It takes milliseconds for each, so that none is left out."""
    return {
        "older files": {v: ask(case, partial(_count_files, case, v)) for v in case.older},
        "older rows": {v: ask(case, partial(_rows_at, case, v)) for v in case.older_with_rows},
    }


def _count_files(case: Case, version: int) -> int:
    return len(DeltaTable(str(case.place), version=version).file_uris())


def _rows_at(case: Case, version: int) -> Any:
    return _rows(case, DeltaTable(str(case.place), version=version))
