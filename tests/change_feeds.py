"""Tables with a change feed, written commit by commit.

feed = Feed(tmp_path / "t")
feed.file("a", id=[0, 1])
feed.commit(add("a"))
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import explorer
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from explorer.rows.changes.feed import read_changes
from tests.data_tables import field, struct
from tests.tables import FEATURE_PROTOCOL, LogFolder, metadata

ENABLED = {"delta.enableChangeDataFeed": "true"}
IDS = struct(field("id", "long"))


def feed_metadata(schema: dict[str, Any] = IDS, **fields: Any) -> dict[str, Any]:
    """The `metaData` action of a table whose feed is enabled."""
    configuration = ENABLED | fields.pop("configuration", {})
    body = {"schemaString": json.dumps(schema), "configuration": configuration}
    return dict(metadata(**body, **fields))


def hiding(*positions: int) -> dict[str, Any]:
    """The fields of an action whose vector hides these rows."""
    return {"deletionVector": render_descriptor(build_inline_descriptor(positions))}


class Feed:
    """A table whose commits are written one by one."""

    def __init__(self, root: Path, first: dict[str, Any] | None = None) -> None:
        self.folder = LogFolder(root)
        self.version = -1
        self.commit(FEATURE_PROTOCOL, first or feed_metadata())

    def file(self, path: str, **columns: list[Any]) -> None:
        """A data file."""
        place = self.folder.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), place)

    def commit(self, *actions: Any) -> None:
        """The next commit."""
        self.version += 1
        self.folder.commit(self.version, actions)

    def read(self, *versions: int, **options: Any) -> pa.Table:
        """The changes."""
        return read_changes(explorer.open_table(self.folder.root), *versions, **options)

    def told(self, *versions: int) -> list[tuple[Any, ...]]:
        """The changes without their times, as version, type and values."""
        rows = self.read(*versions).to_pylist()
        return [
            (row.pop("_commit_version"), row.pop("_change_type"), *list(row.values())[:-1])
            for row in rows
        ]
