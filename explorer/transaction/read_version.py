"""What a transaction knows of the version that it builds upon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explorer.errors import NotFoundError
from explorer.log.commits.commit_info import read_commit_info
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.protocol.filenames import render_commit_path
from explorer.table.times import has_in_commit_timestamps

if TYPE_CHECKING:
    from explorer.table.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadVersion:
    """A version as far as a commit upon it needs it; `NO_TABLE` where there is none.

    `timestamp` is the version's time in milliseconds: the in-commit timestamp where these
    are active, else that of the log file; None where the commit is gone.
    `row_id_high_water_mark` is the highest row id given out, None before the first. `root` is
    the table's place as its store shows it, where absolute paths of its files begin; a commit
    fills it in where nobody said it.
    """

    version: int
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    timestamp: int | None = None
    row_id_high_water_mark: int | None = None
    domains: Mapping[str, DomainMetadata] = field(default_factory=dict)
    root: str | None = None


NO_TABLE = ReadVersion(version=-1, timestamp=0)
"""What the first commit of a table builds upon."""


def read_version_of(snapshot: Snapshot) -> ReadVersion:
    """What a commit upon `snapshot` needs; reads the newest commit's time."""
    return ReadVersion(
        version=snapshot.version,
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        timestamp=_timestamp(snapshot),
        row_id_high_water_mark=snapshot.row_id_high_water_mark,
        domains=snapshot.domains,
        root=snapshot.uri,
    )


def _timestamp(snapshot: Snapshot) -> int | None:
    try:
        if has_in_commit_timestamps(snapshot.protocol, snapshot.metadata):
            return read_commit_info(snapshot.store, snapshot.version).in_commit_ms
        return snapshot.store.stat(render_commit_path(snapshot.version)).modified_ms
    except NotFoundError:
        return None
