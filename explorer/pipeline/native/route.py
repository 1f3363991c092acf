"""By which of two routes the rows of a version are read, and why.

- ``parquet``: Spark's own Parquet reader, joined with a table of all files that holds
  their deletion vectors. Later selections still reach Parquet, and filters but for those
  that would lose rows there (`explorer.pipeline.native.pushdown`).
- ``files``: tasks of Python that read whole files through the table's own store, by the
  same steps as `explorer.read_rows`. Every table that can be read at all can be read so.

The rule, in this order; the first that fits speaks for ``files``:

1. the store is not this machine's file system, and no setting says how Spark reaches it
   (`explorer.pipeline.native._hadoop_schemes`)
2. more than `MOST_NATIVE_FILES` files are left after pruning: Spark looks up every path
3. the names of files mean something else to Spark, or it passes over them, or a file has
   fewer rows than the log says, or no column in common with the table, which Spark would
   not notice
4. columns are found by field ids, are nested and mapped, clash by the case of their names,
   or have types that Spark reads in another way
5. the condition means something else under other settings of the session
6. the session has a setting that changes rows and cannot be overridden for one read
7. the deletion vectors together may take more than `MOST_VECTOR_BYTES`
8. rows are deleted, the columns were named, and no file has more than `MOST_WHOLE_BYTES`: to
   look every row up takes Spark longer than Python takes to read the columns, and what would
   be left out of them later is known already

Before all of them: of a log whose state is on Spark, a list of many files stays there.
After them: more files than are looked at (`explorer.rows.unrelated_files`) have no statistics that
show a value of one of the table's columns, so that it is not known whether they have one.

Otherwise it is ``parquet``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from explorer.pipeline.native._conditions import can_render
from explorer.pipeline.native._hadoop_schemes import hadoop_root
from explorer.pipeline.native._schema import why_not_native
from explorer.pipeline.native.paths import NativePaths, native_paths
from explorer.pipeline.native.rows import vector_bytes
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore
from explorer.table.counts import count

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Route = Literal["parquet", "files"]

MOST_NATIVE_FILES: Final = 2000
"""Looking up more paths takes Spark longer than Python takes to read such files."""

MOST_VECTOR_BYTES: Final = 64 * 2**20
"""Every executor holds them all, a bit for each physical row."""

MOST_WHOLE_BYTES: Final = 128 * 2**20
"""A task of Python reads a file whole; Spark's own reader splits larger ones."""

_SETTINGS: Final = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.parquet.int96TimestampConversion": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.parquet.enableVectorizedReader": "false",
}
"""Values with which Spark would read other rows, or fewer files."""


def choose_route(
    spark: SparkSession, store: ReadStore, request: RowRequest, files: pa.Table, *, free: bool
) -> NativePaths | str:
    """The paths to read by the route ``parquet``, or the reason why the route is ``files``.

    With `free`, ``parquet`` is chosen only where it is faster, not wherever it is possible.
    """
    root = hadoop_root(spark, store)
    if root is None:
        return "Spark is not told how to reach the table's store"
    if files.num_rows > MOST_NATIVE_FILES:
        return f"{count(files.num_rows, 'file')}, more than {MOST_NATIVE_FILES:,}"
    paths = native_paths(store, files, root, request.layout)
    if isinstance(paths, str):
        return paths
    reason = next(_reasons(spark, request, files), None)
    if reason is None and free and _is_quicker_whole(files):
        reason = "rows are deleted, and the columns are named"
    return reason or paths


def _is_quicker_whole(files: pa.Table) -> bool:
    hidden = files.column("deletion_vector")
    largest = pc.max(files.column("size")).as_py() or 0
    return hidden.null_count < len(hidden) and largest <= MOST_WHOLE_BYTES


def _reasons(spark: SparkSession, request: RowRequest, files: pa.Table) -> Iterator[str]:
    if (reason := why_not_native(request)) is not None:
        yield reason
    if request.predicate is not None and not can_render(request.predicate):
        yield "the condition means something else under other settings of the session"
    for name, value in _SETTINGS.items():
        plain = "false" if value == "true" else "true"
        if str(spark.conf.get(name, plain)).lower() == value:
            yield f"the session has {name} = {value}, which changes rows"
    size = vector_bytes(files)
    if size is None:
        yield "a file with deleted rows does not say how many rows it has"
    elif size > MOST_VECTOR_BYTES:
        yield f"deletion vectors may take {size:,} bytes"
