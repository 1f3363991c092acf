"""A table that is looked at before it is created: its columns, and what its features ask of
readers and writers.

The plan is not stored: it follows from what was asked for, and is made again when it is carried
out.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from explorer.errors import InvalidArgumentError
from explorer.pipeline.planned_writes._column_words import describe_column
from explorer.pipeline.planned_writes._plan_digest import check_digest, digest_of
from explorer.pipeline.writing.places import open_place
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import supported_features
from explorer.protocol.schema import StructType, render_schema
from explorer.storage.ports import WriteStore
from explorer.writing.schema.new_table import NewTable, build_new_table
from explorer.writing.statements.create_statement import create_table
from explorer.writing.statements.new_place import check_new_place
from explorer.writing.statements.options import WriteResult
from explorer.writing.statements.row_statement import open_target


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTableRequest:
    """What a table is described by that is to be created."""

    schema: StructType
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    inside_another_table: bool = False
    user_name: str | None = None
    user_metadata: str | None = None

    def build(self, now_ms: int, ids: Callable[[], UUID]) -> NewTable:
        """Its first commit; raises what `build_new_table` raises."""
        return build_new_table(
            self.schema,
            now_ms=now_ms,
            partition_by=self.partition_by,
            cluster_by=self.cluster_by,
            properties=self.properties,
            name=self.name,
            description=self.description,
            ids=ids,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePlan:
    """The table that would be created: the names of its columns with their types and rules, its
    layout, the properties that were asked for, and the protocol that these need."""

    uri: str
    name: str | None
    description: str | None
    columns: tuple[tuple[str, str, str | None], ...]
    """Of each its name, what it is, and its comment."""
    partition_columns: tuple[str, ...]
    clustering_columns: tuple[str, ...]
    properties: Mapping[str, str]
    protocol: Protocol
    features: tuple[str, ...]
    digest: str

    @property
    def document(self) -> dict[str, Any]:
        """The plan as JSON."""
        protocol = asdict(self.protocol)
        del protocol["unknown_fields"]
        return {
            "format": 1,
            "digest": self.digest,
            "uri": self.uri,
            "name": self.name,
            "description": self.description,
            "columns": [
                {"name": name, "type": kind, "comment": comment}
                for name, kind, comment in self.columns
            ],
            "partition_columns": self.partition_columns,
            "clustering_columns": self.clustering_columns,
            "properties": dict(self.properties),
            "protocol": protocol,
            "features": self.features,
        }


def plan_create(
    uri: str | os.PathLike[str],
    request: NewTableRequest,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> CreatePlan:
    """The plan; nothing is written. Raises what `create` raises."""
    return _plan(open_place(uri, storage_options), request)


def carry_out_create(
    uri: str | os.PathLike[str],
    request: NewTableRequest,
    digest: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
    watch: Watch = UNWATCHED,
) -> WriteResult:
    """Create the table as planned; raises `ConflictError` of the kind `plan_stale` where what was
    asked for is not that of the plan, and what `create` raises."""
    store = open_place(uri, storage_options)
    check_digest(digest, _plan(store, request).digest)
    # the commit is refused where a table comes into being meanwhile
    return create_table(
        store,
        request.schema,
        partition_by=request.partition_by,
        cluster_by=request.cluster_by,
        properties=request.properties,
        name=request.name,
        description=request.description,
        inside_another_table=request.inside_another_table,
        user_name=request.user_name,
        user_metadata=request.user_metadata,
        watch=watch,
    )


def _plan(store: WriteStore, request: NewTableRequest) -> CreatePlan:
    target = open_target(store)
    if target.snapshot is not None:
        raise InvalidArgumentError(
            f"There is a table at {store.uri} already.",
            reason=f"It has version {target.snapshot.version}.",
            remedy="Write to it, or create the new one at another place.",
            kind="already_exists",
        )
    if not request.inside_another_table:
        check_new_place(store)
    # names that are generated are the same each time, because the digest covers them
    numbers = itertools.count(1)
    table = request.build(0, lambda: UUID(int=next(numbers)))
    columns = tuple(
        (item.name, describe_column(item), _text(item.metadata.get("comment")))
        for item in table.schema.fields
    )
    document = {
        "verb": "create",
        "uri": store.uri,
        "actions": [asdict(item) for item in table.actions],
        "schema": render_schema(request.schema),
        "request": {name: value for name, value in asdict(request).items() if name != "schema"},
    }
    return CreatePlan(
        uri=store.uri,
        name=request.name,
        description=request.description,
        columns=columns,
        partition_columns=table.metadata.partition_columns,
        clustering_columns=request.cluster_by,
        properties=dict(request.properties),
        protocol=table.protocol,
        features=supported_features(table.protocol),
        digest=digest_of(document),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
