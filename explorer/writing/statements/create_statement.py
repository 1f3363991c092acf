"""A table that is created without rows (spec: Change Metadata)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID, uuid4

import orjson

from explorer.errors import InvalidArgumentError
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.schema import StructType
from explorer.storage.ports import WriteStore
from explorer.table.times import Clock, system_clock, utc_time
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import NOTHING
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.staged import Provenance, StagedCommit
from explorer.writing.commits.after_commit import follow_commit
from explorer.writing.commits.commit_rows import commit_rows
from explorer.writing.commits.provenance import engine_info
from explorer.writing.schema.new_table import NewTable, build_new_table
from explorer.writing.statements.options import WriteResult
from explorer.writing.statements.row_statement import open_target

_OPERATION = "CREATE TABLE"


def create_table(  # noqa: PLR0913  # what a table is described by, and who creates it
    store: WriteStore,
    schema: StructType,
    *,
    partition_by: Sequence[str] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    name: str | None = None,
    description: str | None = None,
    user_metadata: str | None = None,
    user_name: str | None = None,
    clock: Clock = system_clock,
    ids: Callable[[], UUID] = uuid4,
    watch: Watch = UNWATCHED,
) -> WriteResult:
    """Commit version 0 of a table with these columns and no rows.

    Raises `InvalidArgumentError` of the kind `already_exists` where there is a table, what
    `build_new_table` raises, and what `commit_rows` raises.
    """
    target = open_target(store)
    if target.snapshot is not None:
        raise _is_there(store.uri, target.snapshot.version)
    table = build_new_table(
        schema,
        now_ms=clock(),
        partition_by=partition_by,
        cluster_by=cluster_by,
        properties=properties,
        name=name,
        description=description,
        ids=ids,
    )
    staged = StagedCommit(
        base=NO_TABLE,
        reads=NOTHING,
        provenance=Provenance(
            operation=_OPERATION,
            transaction_id=str(ids()),
            engine_info=engine_info(),
            user_name=user_name,
            user_metadata=user_metadata,
            parameters=_parameters(table, cluster_by),
        ),
        actions=table.actions,
        promises=table.promises,
    )
    found = commit_rows(store, staged, (), clock=clock, watch=watch)
    if isinstance(found, Conflict):
        raise _is_there(store.uri, found.version)
    after = follow_commit(store, target.table, found.version, utc_time(clock()), watch)
    return WriteResult(
        version=found.version, operation=_OPERATION, problems=(*found.warnings, *after)
    )


def _parameters(table: NewTable, cluster_by: Sequence[str]) -> dict[str, str | None]:
    """`operationParameters` as the reference has them."""
    metadata = table.metadata
    return {
        "isManaged": "false",
        "description": metadata.description,
        "partitionBy": orjson.dumps(list(metadata.partition_columns)).decode(),
        "clusterBy": orjson.dumps(list(cluster_by)).decode(),
        "properties": orjson.dumps(dict(metadata.configuration)).decode(),
    }


def _is_there(uri: str, version: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"There is a table at {uri} already.",
        reason=f"It has version {version}.",
        remedy="Write to it, or create the new one at another place.",
        kind="already_exists",
    )
