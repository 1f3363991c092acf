"""What one commit says about itself (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explorer.inspect.commits.commit_lines import read_commit
from explorer.log.commits.commit_info import CommitInfo, parse_commit_info
from explorer.log.commits.info_bodies import text_of
from explorer.table.table import Table
from explorer.table.times import counting, utc_time


def commit_info(table: Table, version: int) -> dict[str, Any]:
    """The `commitInfo` of a version as plain data, and where it stands.

    `parameters` and `metrics` are texts by name; what the commit does not
    record, or records as another type, is None. `line` (1-based) of `log_file`
    is where it stands, None for a commit without one; `raw` is all of it.

    Raises `NotFoundError` (version_not_found) where the commit is not there,
    `CorruptLogError` where the line cannot be read.
    """
    name, data = read_commit(table, version)
    found = parse_commit_info(data, version)
    body = found.body
    return {
        "version": version,
        "timestamp": utc_time(_time(table, found)),
        "log_file": name,
        "line": found.line,
        "operation": _typed(body, "operation", str),
        "parameters": _texts(body.get("operationParameters")),
        "metrics": _texts(body.get("operationMetrics")),
        "user": _typed(body, "userName", str),
        "engine": _typed(body, "engineInfo", str),
        "read_version": _typed(body, "readVersion", int),
        "isolation_level": _typed(body, "isolationLevel", str),
        "is_blind_append": _typed(body, "isBlindAppend", bool),
        "txn_id": _typed(body, "txnId", str),
        "raw": dict(body),
    }


def _time(table: Table, found: CommitInfo) -> int:
    if found.in_commit_ms is not None:
        (time,) = counting([found.in_commit_ms], [found.version], table.in_commit_since())
        if time is not None:
            return time
    return table.listed_times.up_to(table.store, found.version).file_times[found.version]


def _typed(body: Mapping[str, Any], key: str, kind: type) -> Any:
    # `type is`: true and false are integers to Python
    return value if type(value := body.get(key)) is kind else None


def _texts(value: Any) -> dict[str, str | None]:
    if not isinstance(value, Mapping):
        return {}
    return {key: text_of(item) for key, item in value.items()}
