"""A table that is created without rows (spec: Change Metadata)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import orjson
import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import ADD_COLUMNS
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.schema import StructType
from explorer.storage.ports import WriteStore
from explorer.table.snapshot import Snapshot
from explorer.table.times import Clock, system_clock, utc_time
from explorer.transaction.conflicts import Conflict
from explorer.transaction.live_files import FilesOf
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE
from explorer.transaction.read_version import NO_TABLE, read_version_of
from explorer.transaction.staged import Provenance, StagedCommit
from explorer.writing.commits.after_commit import follow_commit
from explorer.writing.commits.commit_rows import commit_rows
from explorer.writing.commits.provenance import engine_info
from explorer.writing.files.removes import removes_of
from explorer.writing.schema.new_table import NewTable, build_new_table, build_replaced_table
from explorer.writing.statements.new_place import check_new_place
from explorer.writing.statements.options import WriteResult
from explorer.writing.statements.row_statement import open_target


def create_table(  # noqa: PLR0913  # what a table is described by, and who creates it
    store: WriteStore,
    schema: StructType,
    *,
    partition_by: Sequence[str] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    name: str | None = None,
    description: str | None = None,
    replaces: bool = False,
    inside_another_table: bool = False,
    user_metadata: str | None = None,
    user_name: str | None = None,
    clock: Clock = system_clock,
    ids: Callable[[], UUID] = uuid4,
    watch: Watch = UNWATCHED,
) -> WriteResult:
    """Commit version 0 of a table with these columns and no rows; with `replaces` the next version
    of one that is there, in which it begins again: older versions stay readable. It may lie
    `inside_another_table` where the caller insists.

    Raises `InvalidArgumentError` of the kind `already_exists` where there is a table that is not
    to be replaced, what `build_new_table` and `build_replaced_table` raise, `ConflictError` where
    another commit stands in the way of a replacement, and what `commit_rows` raises.
    """
    target = open_target(store)
    if target.snapshot is not None and not replaces:
        raise already_there(store.uri, target.snapshot.version)
    if target.snapshot is None and not inside_another_table:
        check_new_place(store)
    described: Mapping[str, Any] = {
        "partition_by": partition_by,
        "properties": properties,
        "name": name,
        "description": description,
    }
    operation = "CREATE OR REPLACE TABLE" if replaces else "CREATE TABLE"
    transaction_id = str(ids())

    def stage(snapshot: Snapshot | None) -> StagedCommit:
        now = clock()
        if snapshot is None:
            base, removes = NO_TABLE, list[pa.RecordBatch]()
            table = build_new_table(schema, now_ms=now, cluster_by=cluster_by, ids=ids, **described)
        else:
            base = read_version_of(snapshot)
            gone = snapshot.physical_files("add", list(ADD_COLUMNS))
            removes = removes_of(gone, now).to_batches()
            table = build_replaced_table(
                base, schema, now_ms=now, cluster_by=cluster_by, ids=ids, **described
            )
        return StagedCommit(
            base=base,
            reads=NOTHING if snapshot is None else WHOLE_TABLE,
            provenance=Provenance(
                operation=operation,
                transaction_id=transaction_id,
                engine_info=engine_info(),
                user_name=user_name,
                user_metadata=user_metadata,
                parameters=_parameters(table, cluster_by),
            ),
            actions=table.actions,
            removes=tuple(removes),
            promises=table.promises,
            live=None if snapshot is None else FilesOf(snapshot=snapshot),
        )

    def again(_: Conflict) -> StagedCommit | None:
        # it asks for nothing of the table, so that it may begin again from any version
        return stage(target.table.snapshot()) if replaces else None

    found = commit_rows(store, stage(target.snapshot), (), clock=clock, again=again, watch=watch)
    if isinstance(found, Conflict):
        raise found.as_error() if replaces else already_there(store.uri, found.version)
    after = follow_commit(store, target.table, found.version, utc_time(clock()), watch)
    return WriteResult(
        version=found.version, operation=operation, problems=(*found.warnings, *after)
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


def already_there(uri: str, version: int) -> InvalidArgumentError:
    """What is said where a table is to be made, and one is there."""
    return InvalidArgumentError(
        f"There is a table at {uri} already.",
        reason=f"It has version {version}.",
        remedy="Write to it, or create the new one at another place.",
        kind="already_exists",
    )
