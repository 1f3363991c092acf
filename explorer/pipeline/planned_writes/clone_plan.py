"""A shallow clone that is looked at before it is approved: of which version, and what it rests on.

The plan is not stored: it is made again when it is carried out, from the version that it names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.pipeline.planned_writes._plan_digest import check_digest, digest_of, table_document
from explorer.pipeline.writing.places import open_place
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.features.registry import supported_features
from explorer.table.table import open_table
from explorer.writing.statements.clone_statement import CloneStatement, begin_clone
from explorer.writing.statements.options import WriteResult

Place = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneRequest:
    """Which version of which table is cloned, or the one that was current at `timestamp` (the
    newest without either), with which properties of its own, and what the commit records."""

    source: Place
    version: int | None = None
    timestamp: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    user_name: str | None = None
    user_metadata: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClonePlan:
    """The table that would be made at `uri`: `num_files` files with `num_bytes` bytes and
    `num_rows` live rows (None where the log does not say) of one version of the table at `source`,
    in whose folder they stay. `properties` are those that are not the source's, and `features`
    what the clone's protocol supports."""

    uri: str
    source: str
    version: int
    num_files: int
    num_bytes: int
    num_rows: int | None
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    features: tuple[str, ...]
    digest: str

    @property
    def document(self) -> dict[str, Any]:
        """The plan as JSON."""
        names = [name for name in self.__dataclass_fields__ if name != "digest"]
        facts = {name: getattr(self, name) for name in names}
        return {"format": 1, "digest": self.digest, **facts}


def plan_clone(
    request: CloneRequest,
    uri: Place,
    *,
    storage_options: Mapping[str, Any] | None = None,
    watch: Watch = UNWATCHED,
) -> ClonePlan:
    """The plan; nothing is written. Raises what `clone` raises."""
    return _plan(_begin(request, uri, storage_options, watch), request)


def carry_out_clone(
    request: CloneRequest,
    uri: Place,
    digest: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
    watch: Watch = UNWATCHED,
) -> WriteResult:
    """Make the clone as planned; raises `ConflictError` of the kind `plan_stale` where the version
    is not the one of the plan, and what `clone` raises."""
    statement = _begin(request, uri, storage_options, watch)
    check_digest(digest, _plan(statement, request).digest)
    return statement.commit(watch)


def _begin(
    request: CloneRequest, uri: Place, storage_options: Mapping[str, Any] | None, watch: Watch
) -> CloneStatement:
    table = open_table(request.source, storage_options)
    return begin_clone(
        open_place(uri, storage_options),
        table.snapshot(
            request.version, request.timestamp, progress=watch.progress, cancel=watch.cancel
        ),
        properties=request.properties,
        user_metadata=request.user_metadata,
        user_name=request.user_name,
    )


def _plan(statement: CloneStatement, request: CloneRequest) -> ClonePlan:
    source, uri = statement.source, statement.target.store.uri
    facts: dict[str, Any] = {
        "num_files": source.num_files,
        "num_bytes": source.size_in_bytes,
        "num_rows": source.num_rows,
    }
    return ClonePlan(
        uri=uri,
        source=source.uri,
        version=source.version,
        partition_columns=source.metadata.partition_columns,
        properties=dict(request.properties),
        features=supported_features(statement.protocol),
        digest=digest_of(
            {
                "verb": "clone",
                "uri": uri,
                "source": source.uri,
                "version": source.version,
                "table": table_document(source),
                "properties": dict(request.properties),
                "said": [request.user_name, request.user_metadata],
                **facts,
            }
        ),
        **facts,
    )
