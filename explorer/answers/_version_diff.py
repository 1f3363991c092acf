"""What differs between two versions, layer by layer: how `explorer.diff` is asked, and its
document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from explorer.comparison.versions import VersionDiff, diff
from explorer.errors import InvalidArgumentError
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.frame_rows import plain_rows
from explorer.progress import ProgressCallback
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

_LAYERS: Final = ("files", "rows", "statistics", "schema", "properties", "protocol")

_USUAL_LAYERS: Final = tuple(name for name in _LAYERS if name != "statistics")
"""Those shown unless others are asked for: statistics are read of every file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layers:
    """The layers of a comparison that were asked for, of the table at `uri`."""

    uri: str
    found: VersionDiff
    names: Sequence[str]


def _ask(  # the parameters of an answer
    table: Table,
    progress: ProgressCallback | None,
    *,
    older: int,
    newer: int,
    against: Table | None = None,
    layer: Sequence[str] = _USUAL_LAYERS,
) -> _Layers:
    start = table.snapshot(version=older, progress=progress)
    end = (against or table).snapshot(version=newer, progress=progress)
    found = diff(start, end, progress=progress)
    for name in layer:  # each is found when it is first looked at
        getattr(found, name)
    if "files" in layer:
        _ = found.files.added, found.files.removed, found.files.changed
    return _Layers(uri=table.uri, found=found, names=layer)


def _check_layers(names: Sequence[str]) -> tuple[str, ...]:
    """The layers asked for, in their order; the usual ones where none is."""
    if not names:
        return _USUAL_LAYERS
    unknown = [name for name in names if name not in _LAYERS]
    if unknown:
        raise InvalidArgumentError(
            f"There is no layer {unknown[0][:60]!r}.",
            reason="Versions are compared in a fixed number of layers.",
            remedy=f"Choose from {', '.join(_LAYERS)}.",
        )
    return tuple(name for name in _LAYERS if name in names)


def _documents(compared: _Layers, limit: int | None) -> Iterator[Document]:
    """The layers as plain data; of files, and of each kind of change, at most `limit`."""
    found = compared.found
    document = {
        "uri": compared.uri,
        "older": _version(found.older),
        "newer": _version(found.newer),
        "notes": list(found.notes),
    }
    for name in compared.names:
        document[name] = _files(found, limit) if name == "files" else _DESCRIBED[name](found)
    yield document


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
        "added": list(plain_rows(files.added, limit)),
        "removed": list(plain_rows(files.removed, limit)),
        "changed": list(plain_rows(files.changed, limit)),
    }


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

DIFF: Final = Answer(
    name="diff",
    parameters=(
        Parameter(name="older", kind="whole", is_required=True),
        Parameter(name="newer", kind="whole", is_required=True),
        Parameter(name="against", kind="text", reads="files"),
        Parameter(name="layer", kind="text", repeats=True, check=_check_layers),
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
)
