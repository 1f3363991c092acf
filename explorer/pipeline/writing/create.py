"""A table that is created without rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.pipeline.writing._types_on_spark import check_types_on_spark
from explorer.pipeline.writing.places import open_place
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.arrow_types import delta_schema
from explorer.protocol.schema import StructType, parse_schema
from explorer.writing.schema.schema_text import parse_schema_text
from explorer.writing.statements.create_statement import create_table
from explorer.writing.statements.options import WriteResult


def create(  # noqa: PLR0913  # what a table is described by is Delta's
    uri: str | os.PathLike[str],
    schema: Any,
    *,
    partition_by: Sequence[str] | str = (),
    cluster_by: Sequence[str] | str = (),
    properties: Mapping[str, str] | None = None,
    name: str | None = None,
    description: str | None = None,
    replace: bool = False,
    inside_another_table: bool = False,
    user_metadata: str | None = None,
    user_name: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> WriteResult:
    """Create a Delta table without rows; with `replace` in the place of one that is there, which
    keeps its id, its history and the features of its protocol, and loses its rows, rules and
    properties.

    `schema` is the columns as `CREATE TABLE` has them in Spark's SQL, such as
    `"id BIGINT NOT NULL COMMENT 'key', day DATE"`, a schema of Arrow or Spark, the JSON of a Delta
    schema, or a `StructType` of this package; column metadata counts, as for generated columns,
    defaults and identity columns. Each feature that columns, clustering and `properties` (such as
    `delta.enableChangeDataFeed`) ask for is enabled as the reference enables it.

    A table inside the folder of another one is refused, because a vacuum of the outer one by most
    engines would delete its files; with `inside_another_table` it is created all the same, for
    where a log lies further up by mistake. Writes to it ask no more.

    Raises `InvalidArgumentError`, of the kind `already_exists` where there is a table and it is
    not to be replaced.
    """
    columns = schema_given(schema)
    check_types_on_spark(columns)
    return create_table(
        open_place(uri, storage_options),
        columns,
        partition_by=(partition_by,) if isinstance(partition_by, str) else tuple(partition_by),
        cluster_by=(cluster_by,) if isinstance(cluster_by, str) else tuple(cluster_by),
        properties=properties,
        name=name,
        description=description,
        replaces=replace,
        inside_another_table=inside_another_table,
        user_metadata=user_metadata,
        user_name=user_name,
        watch=Watch(progress=progress, cancel=cancel),
    )


def schema_given(schema: Any) -> StructType:
    """The columns that a caller describes, in any of the ways of `create`."""
    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, pa.Schema):
        return delta_schema(schema)
    if type(schema).__module__.startswith("pyspark.sql.") and hasattr(schema, "json"):
        return parse_schema(schema.json())
    if isinstance(schema, str):
        return parse_schema_text(schema)
    raise InvalidArgumentError(
        f"A {type(schema).__name__} is not a schema.",
        reason="Columns are described by SQL, Arrow, Spark or Delta.",
        remedy='Give SQL such as "id BIGINT, day DATE", a pyarrow.Schema, or Spark\'s StructType.',
    )
