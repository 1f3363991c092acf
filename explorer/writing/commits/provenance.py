"""What `commitInfo` says of who commits, how far a commit is kept apart from others, and of row ids
(spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import get_args

import pyarrow as pa

from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.protocol.features.registry import is_active
from explorer.protocol.table_properties.known_properties import ISOLATION_LEVEL
from explorer.table.snapshot import Snapshot
from explorer.transaction.staged import IsolationLevel

_DISTRIBUTION = "delta-explorer"


def tags_of_kept_ids(
    snapshot: Snapshot,
    actions: Sequence[Protocol | Metadata | DomainMetadata] = (),
    added_again: Sequence[pa.RecordBatch] = (),
) -> dict[str, str]:
    """What `commitInfo` says of a commit upon `snapshot` that writes no row, or gives each the
    id that it had: where ids may be relied on, before it and after, whether all were kept
    (spec: Writer Requirements for Row Tracking). They were not where a file of `added_again`
    is of a version without ids, and gets new ones."""
    protocol = next((item for item in actions if isinstance(item, Protocol)), snapshot.protocol)
    metadata = next((item for item in actions if isinstance(item, Metadata)), snapshot.metadata)
    kept = is_active("rowTracking", snapshot.protocol, snapshot.metadata, None) and is_active(
        "rowTracking", protocol, metadata, None
    )
    if not kept:
        return {}
    renumbered = any(batch.column("base_row_id").null_count for batch in added_again)
    return {"delta.rowTracking.preserved": "false" if renumbered else "true"}


@cache
def engine_info() -> str:
    """Who commits, as `commitInfo` says it."""
    try:
        return f"{_DISTRIBUTION}/{version(_DISTRIBUTION)}"
    except PackageNotFoundError:
        return _DISTRIBUTION


def isolation_level_of(configuration: Mapping[str, str]) -> IsolationLevel:
    """How far commits of rows are kept apart from others, as the table's properties say."""
    wanted = ISOLATION_LEVEL.value_of(configuration)
    return next(level for level in get_args(IsolationLevel) if level == wanted)
