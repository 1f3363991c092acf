"""What is asked of one file: what the log says of it, and which commit wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError
from explorer.files.events import ADD, read_events
from explorer.progress import Watch
from widgets.session.tables import FileDetails, FileQuery, TableService
from widgets.ui.records import read_records
from widgets.ui.table import PAGE_ROWS

FREE_COMMITS = 100
"""Commits that are read for a file without being asked for: on a store each is a request."""


@dataclass(frozen=True, slots=True)
class OneFile:
    """One file of a version, by its path, in a table whose newest version is `latest`."""

    service: TableService
    version: int
    path: str
    latest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What the log says of a file: its row in the list of files, None where the version does not
    hold it, and what else there is."""

    entry: Mapping[str, Any] | None
    details: FileDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The commit that wrote a file, and its operation where that is recorded. `version` is None
    where the log no longer has that commit: then it begins at `first`."""

    version: int | None
    operation: str | None
    first: int


def read_facts(asked: OneFile, watch: Watch) -> FileFacts:
    """What the log says of a file."""
    query = FileQuery(version=asked.version, contains=asked.path, limit=PAGE_ROWS)
    rows = read_records(asked.service.read_files(query, watch).rows)
    entry = next((row for row in rows if row["path"] == asked.path), None)
    return FileFacts(entry=entry, details=asked.service.read_file(asked.version, asked.path))


def read_origin(asked: OneFile, watch: Watch) -> Origin:
    """The first commit that added a file: later ones add it again, as with other deletion
    vectors or statistics, or by a restore. Reads every commit of the log; raises as
    `read_events`."""
    path = pa.scalar(asked.path, pa.string())

    def keep(events: pa.Table) -> pa.Table:
        return events.filter(pc.equal(events.column("path"), path))

    table = asked.service.table
    events = read_events(table.store, table.listing(), watch, keep)
    changes = events.table.slice(events.num_base).select(["version", "kind"]).to_pylist()
    version = min((row["version"] for row in changes if row["kind"] == ADD), default=None)
    if events.num_base:  # the checkpoint has it, so that it may be older than all commits
        version = None
    operation = None if version is None else _operation(asked, version)
    if operation == "RESTORE" and events.first:  # it was written before, by a commit that is gone
        version = operation = None
    return Origin(version=version, operation=operation, first=events.first)


def _operation(asked: OneFile, version: int) -> str | None:
    try:
        operation = asked.service.read_commit(version).get("operation")
    except DeltaError:
        return None
    return operation if isinstance(operation, str) else None
