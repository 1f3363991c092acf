"""What explorer says of a table."""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson
import pyarrow as pa

import explorer
import explorer.inspect as look
from explorer.protocol.features.registry import supported_features
from explorer.rows.changes.feed import read_changes
from explorer.rows.read import read_rows
from tests.interop.reading import (
    ROW_TRACKING,
    Case,
    Reading,
    Refused,
    ask,
    milliseconds,
    plain_type,
    told_changes,
    told_latest,
    told_rows,
)
from tests.row_values import counted_rows

_ROW_IDS = ("_row_id", "_row_commit_version")


def read_ours(case: Case) -> Reading:
    """All facts."""
    table = ask(case, lambda: explorer.open_table(case.place))
    snapshot = table if isinstance(table, Refused) else ask(case, table.snapshot)
    if isinstance(snapshot, Refused):
        return {"opening": snapshot}
    return {
        "opening": snapshot.version,
        "files": (snapshot.num_files, snapshot.size_in_bytes),
        **told_latest(case, lambda: told_rows(case, read_rows(snapshot))),
        **_row_ids(case, snapshot),
        "schema": ask(case, lambda: plain_type(orjson.loads(snapshot.metadata.schema_string))),
        "transactions": {app: found.version for app, found in snapshot.transactions.items()},
        **told_changes(case, lambda first, last: read_changes(table, first, last)),
        **_protocol(snapshot.protocol),
        **_metadata(table, snapshot.metadata),
        **_history(table),
        **_older(case, table),
    }


def _row_ids(case: Case, snapshot: explorer.Snapshot) -> Reading:
    if snapshot.metadata.configuration.get(ROW_TRACKING) != "true":
        return {}
    return {
        "row ids": ask(case, lambda: counted_rows(read_rows(snapshot, metadata_columns=_ROW_IDS)))
    }


def _protocol(protocol: Any) -> Reading:
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    lists = (protocol.reader_features, protocol.writer_features)
    return {
        "protocol": (*versions, *(names and sorted(names) for names in lists)),
        "features": (*versions, sorted(supported_features(protocol))),
    }


def _metadata(table: explorer.Table, metadata: Any) -> Reading:
    rules = look.writer_rules(table).to_pylist()
    created = metadata.created_time
    return {
        "metadata": {
            "id": metadata.id,
            "name": metadata.name,
            "description": metadata.description,
            "partition columns": list(metadata.partition_columns),
            "created": created and milliseconds(created),
            "properties": dict(metadata.configuration),
        },
        "clustering": [
            rule["column"] for rule in rules if rule["rule"] == "clustering" and rule["column"]
        ],
    }


def _history(table: explorer.Table) -> Reading:
    history = table.history()
    versions = history["version"].to_pylist()
    times = history["timestamp"].cast(pa.int64()).to_pylist()
    return {
        "history": dict(zip(versions, history["operation"].to_pylist(), strict=True)),
        "commit times": dict(zip(versions, times, strict=True)),
    }


def _older(case: Case, table: explorer.Table) -> Reading:
    return {
        "older files": {v: ask(case, partial(_files_at, table, v)) for v in case.older},
        "older rows": {
            v: ask(case, partial(_rows_at, case, table, v)) for v in case.older_with_rows
        },
    }


def _files_at(table: explorer.Table, version: int) -> int:
    return table.snapshot(version=version).num_files


def _rows_at(case: Case, table: explorer.Table, version: int) -> Any:
    return told_rows(case, read_rows(table.snapshot(version=version)))
