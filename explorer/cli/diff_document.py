"""What `diff --json` prints, layer by layer, and what its listing for people is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from explorer.cli.json_lines import plain_rows
from explorer.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.comparison.versions import VersionDiff
    from explorer.table.snapshot import Snapshot

LAYERS = ("files", "rows", "statistics", "schema", "properties", "protocol")

CHEAP_LAYERS = tuple(name for name in LAYERS if name != "statistics")
"""Those shown unless others are asked for: statistics are read of every file."""

Document = dict[str, Any]


def check_layers(names: Sequence[str] | None) -> tuple[str, ...]:
    """The layers asked for, in their order; `CHEAP_LAYERS` where none is."""
    if not names:
        return CHEAP_LAYERS
    unknown = [name for name in names if name not in LAYERS]
    if unknown:
        raise InvalidArgumentError(
            f"There is no layer {unknown[0][:60]!r}.",
            reason="Versions are compared in a fixed number of layers.",
            remedy=f"Choose from {', '.join(LAYERS)}.",
        )
    return tuple(name for name in LAYERS if name in names)


def describe_diff(found: VersionDiff, layers: Sequence[str], limit: int | None) -> Document:
    """The layers as plain data; of files, and of each kind of change, at most `limit`."""
    document: Document = {
        "older": _version(found.older),
        "newer": _version(found.newer),
        "notes": list(found.notes),
    }
    for name in layers:
        document[name] = _files(found, limit) if name == "files" else _DESCRIBED[name](found)
    return document


def _version(snapshot: Snapshot) -> Document:
    return {
        "uri": snapshot.uri,
        "version": snapshot.version,
        "timestamp": snapshot.timestamp,
        "table_id": snapshot.metadata.id,
    }


def _files(found: VersionDiff, limit: int | None) -> Document:
    files = found.files
    return {
        "route": files.route,
        "num_added": files.num_added,
        "num_removed": files.num_removed,
        "num_changed": files.num_changed,
        "bytes_added": files.bytes_added,
        "bytes_removed": files.bytes_removed,
        "added": _rows(files.added, limit),
        "removed": _rows(files.removed, limit),
        "changed": _rows(files.changed, limit),
    }


def _rows(table: pa.Table, limit: int | None) -> list[Document]:
    return list(plain_rows(table if limit is None else table.slice(0, limit)))


def _row_counts(found: VersionDiff) -> Document:
    return {**asdict(found.rows), "net": found.rows.net}


def _statistics(found: VersionDiff) -> list[Document]:
    return list(plain_rows(found.statistics))


def _schema(found: VersionDiff) -> list[Document]:
    return [asdict(change) for change in found.schema]


def _properties(found: VersionDiff) -> list[Document]:
    return [asdict(change) for change in found.properties]


def _protocol(found: VersionDiff) -> Document:
    return asdict(found.protocol)


_DESCRIBED: Mapping[str, Callable[[VersionDiff], Any]] = {
    "rows": _row_counts,
    "statistics": _statistics,
    "schema": _schema,
    "properties": _properties,
    "protocol": _protocol,
}
