"""The columns by which rows are kept close together (spec: Clustered Table)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from explorer.protocol.actions import DomainMetadata, FieldPath

CLUSTERING_DOMAIN: Final = "delta.clustering"


def clustering_columns(configuration: str) -> tuple[tuple[str, ...], ...] | None:
    """The physical field paths in the configuration of the domain `delta.clustering`;
    None where it cannot be read.

    The specification's example names a column by a string; the reference writes the
    path to it, `[["c"], ["s", "d"]]`.
    """
    try:
        value = orjson.loads(configuration)
    except orjson.JSONDecodeError:
        return None
    columns = value.get("clusteringColumns") if isinstance(value, dict) else None
    if not isinstance(columns, list):
        return None
    paths = [_path(item) for item in columns]
    found = tuple(path for path in paths if path is not None)
    return found if len(found) == len(paths) else None


def clustering_in(domains: Mapping[str, DomainMetadata]) -> tuple[FieldPath, ...]:
    """The physical field paths that the domains of a table name; none where it is not clustered,
    or by columns that cannot be read."""
    held = domains.get(CLUSTERING_DOMAIN)
    if held is None or held.removed:
        return ()
    return clustering_columns(held.configuration) or ()


def clustering_domain(paths: Iterable[FieldPath]) -> DomainMetadata:
    """The domain that names these physical field paths, as the reference writes it."""
    body = {
        "clusteringColumns": [list(path) for path in paths],
        "domainName": CLUSTERING_DOMAIN,
    }
    return DomainMetadata(
        domain=CLUSTERING_DOMAIN, configuration=orjson.dumps(body).decode(), removed=False
    )


def _path(item: Any) -> tuple[str, ...] | None:
    if isinstance(item, str):
        return (item,)
    if isinstance(item, list) and item and all(isinstance(step, str) for step in item):
        return tuple(item)
    return None
