"""Every action of one commit with its line (spec: Actions)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from explorer.errors import CorruptLogError
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.commits._commit_summary import count_records
from explorer.inspect.commits.commit_lines import read_commit, split_lines
from explorer.inspect.frames import Column, build_batch, schema_of
from explorer.log.actions.columns import bool_column, int64_column, string_column
from explorer.log.commits.commit_file import parse_action
from explorer.log.commits.commit_info import text_in
from explorer.progress import ProgressCallback
from explorer.table.table import Table

RAW_LIMIT = 16 * 1024
"""Bytes of a line that are shown: enough for any statistics, and bounded."""

UNREADABLE = "unreadable"
"""The action of a line that is none; its summary says why."""

_BATCH_ROWS = 4096

COLUMNS: dict[str, Column] = {
    "line": (int64_column, pa.int64()),
    "action": (string_column, pa.string()),
    "path": (string_column, pa.string()),
    "summary": (string_column, pa.string()),
    "size": (int64_column, pa.int64()),
    "num_records": (int64_column, pa.int64()),
    "data_change": (bool_column, pa.bool_()),
    "json": (string_column, pa.string()),
    "file": (string_column, pa.string()),
}


def commit_actions(table: Table, version: int, limit: int | None = None) -> pa.Table:
    """One row per line of the commit, in its order; of the first `limit` where that is given.

    - `line` (1-based) of `file`, the name of the log file
    - `action`: the key of the line, such as add, remove, commitInfo, metaData;
      `unreadable` for a line that is not an action
    - `path` as in the log, for actions on files; `summary`: the path, or what
      the action says in a few words
    - `size` in bytes, `num_records` (physical rows by statistics), `data_change`:
      null where the action does not say
    - `json`: the line itself, cut at `RAW_LIMIT` bytes

    Raises `NotFoundError` (version_not_found) where the commit is not there.
    """
    return read_actions(table, version, limit=limit).rows


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitActions:
    """The lines of one commit, as the log has them, from the line `first` (1-based) on; at most
    `limit`, all of them where that is None. `log_file` is the name of its file."""

    version: int
    log_file: str
    data: bytes
    first: int = 1
    limit: int | None = None

    def lines(self) -> Iterator[tuple[int, memoryview]]:
        """Number and bytes of each line that is asked for."""
        wanted = (line for line in split_lines(self.data) if line[0] >= self.first)
        return islice(wanted, self.limit)

    @property
    def rows(self) -> pa.Table:
        """A row for each line that is asked for, as `commit_actions` has them."""
        return pa.Table.from_batches(list(_batches(self)), schema_of(COLUMNS))

    @property
    def num_lines(self) -> int:
        """Lines of the whole commit."""
        return sum(1 for _ in split_lines(self.data))


def read_actions(
    table: Table, version: int, *, first: int = 1, limit: int | None = None
) -> CommitActions:
    """The lines of a commit. Raises `NotFoundError` (version_not_found) where it is not there,
    with what the log has in its place."""
    name, data = read_commit(table, version)
    return CommitActions(version=version, log_file=name, data=data, first=first, limit=limit)


def _ask(
    table: Table,
    _: ProgressCallback | None,
    *,
    version: int,
    from_line: int = 1,
    limit: int | None = None,
) -> CommitActions:
    return read_actions(table, version, first=from_line, limit=limit)


def _documents(found: CommitActions, _: int | None) -> Iterator[Document]:
    """One for each line: `json` is the line itself, all of it."""
    for number, line in found.lines():
        kind, path, summary, size, num_records, data_change, _ = _describe_line(
            line, found.log_file, number
        )
        yield {
            "version": found.version,
            "log_file": found.log_file,
            "line": number,
            "action": kind,
            "path": path,
            "summary": summary,
            "size": size,
            "num_records": num_records,
            "data_change": data_change,
            "json": bytes(line).decode(errors="replace").rstrip("\r"),
        }


ACTIONS: Final = Answer(
    name="actions",
    parameters=(
        Parameter(name="version", kind="whole", is_required=True),
        Parameter(name="from_line", kind="count"),
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
    is_list=True,
    asks_limit=True,
)


def _batches(found: CommitActions) -> Iterator[pa.RecordBatch]:
    rows: list[tuple[Any, ...]] = []
    for number, line in found.lines():
        rows.append((number, *_describe_line(line, found.log_file, number), found.log_file))
        if len(rows) == _BATCH_ROWS:
            yield build_batch(COLUMNS, rows)
            rows = []
    if rows:
        yield build_batch(COLUMNS, rows)


def _describe_line(line: memoryview, name: str, number: int) -> tuple[Any, ...]:
    raw = bytes(line[:RAW_LIMIT]).decode(errors="replace")
    try:
        action = parse_action(line, name, number)
    except CorruptLogError as error:
        return (UNREADABLE, None, error.reason, None, None, None, raw)
    kind, body = next(iter(action.items()), ("", None))
    if not isinstance(body, dict):
        return (kind, None, "", None, None, None, raw)
    path = text_in(body, "path")
    change = body.get("dataChange")
    return (
        kind,
        path,
        _summarise(kind, body) if path is None else path,
        _size(body.get("size", body.get("sizeInBytes"))),
        count_records(body.get("stats")),
        change if isinstance(change, bool) else None,
        raw,
    )


def _summarise(kind: str, body: Mapping[str, Any]) -> str:
    summarise = _SUMMARIES.get(kind)
    return "" if summarise is None else summarise(body)


def _summarise_protocol(body: Mapping[str, Any]) -> str:
    return f"reader {body.get('minReaderVersion')}, writer {body.get('minWriterVersion')}"


def _summarise_metadata(body: Mapping[str, Any]) -> str:
    return text_in(body, "name") or text_in(body, "id") or ""


def _summarise_transaction(body: Mapping[str, Any]) -> str:
    return f"{body.get('appId')} at {body.get('version')}"


def _summarise_domain(body: Mapping[str, Any]) -> str:
    state = " removed" if body.get("removed") is True else ""
    return f"{body.get('domain')}{state}"


def _summarise_commit_info(body: Mapping[str, Any]) -> str:
    return text_in(body, "operation") or ""


_SUMMARIES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "commitInfo": _summarise_commit_info,
    "domainMetadata": _summarise_domain,
    "metaData": _summarise_metadata,
    "protocol": _summarise_protocol,
    "txn": _summarise_transaction,
}


def _size(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if whole else None
