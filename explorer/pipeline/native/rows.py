"""Rows by Spark's own Parquet reader, with deletion vectors in a table of all files.

Every row is joined with its file by the name that Spark says it comes from: by a hash of
it, because Spark looks numbers up twice as fast as strings, and then the names are compared.
A file that the table does not have raises: else its deleted rows would come back without a
word. So do two names of one hash, which only an attacker can make.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from explorer.pipeline.native._conditions import render_filter
from explorer.pipeline.native._schema import NARROW_TYPES, stored_columns
from explorer.pipeline.native.paths import NativePaths
from explorer.pipeline.native.pushdown import block_pushdown, quoted
from explorer.pipeline.session import is_connect
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS
from explorer.pipeline.tasks.spark_types import spark_schema, spark_type
from explorer.pipeline.tasks.task_failures import GuardName, render_guard
from explorer.protocol.arrow_types import row_schema
from explorer.protocol.features.column_mapping import physical_name
from explorer.protocol.schema import VOID, StructField, StructType
from explorer.protocol.vectors.deletion_vectors import deletion_mask
from explorer.rows.data_file.data_file import DataFile, data_files
from explorer.rows.data_file.deletion_vectors import read_deletion_vectors
from explorer.rows.data_file.partition_columns import joined_scalars, partition_scalar
from explorer.rows.data_file.read_file import vector_misfit
from explorer.rows.data_file.row_tracking import hidden_column
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_WORD_BITS: Final = 64

# what a session may say of reading files is said here for this one read alone
_OPTIONS: Final = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    # else folders such as `day=1` would become columns
    "recursiveFileLookup": "true",
    "parquet.page.verify-checksum.enabled": "true",
}
_LISTING: Final = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_listing_lock = threading.Lock()

# names that no column of a data file has: the empty prefix and a word of ours
_NAME, _COUNT, _WORDS = "delta_explorer.name", "delta_explorer.count", "delta_explorer.words"
_PATH, _BASE, _DEFAULT = "delta_explorer.path", "delta_explorer.base", "delta_explorer.default"
_FILE, _INDEX = "delta_explorer.file", "delta_explorer.index"
_HASH, _FILE_HASH = "delta_explorer.hash", "delta_explorer.file_hash"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRows:
    """Values that somebody looks for: `frame` has a column for each of `columns` of the table. Rows
    that are in none of its rows need not be there."""

    columns: tuple[str, ...]
    frame: DataFrame


def native_frame(
    spark: SparkSession,
    store: ReadStore,
    request: RowRequest,
    files: pa.Table,
    paths: NativePaths,
    keys: KeyRows | None = None,
) -> DataFrame:
    """The live rows of `files`, with exactly `request.schema`; with `keys` those that these are
    looked up for, which is done first: few rows are then asked for their file. Raises what reading
    deletion vectors raises."""
    from pyspark.sql import functions as fn

    described = file_table(store, request, files, paths)
    known = spark.createDataFrame(described, spark_schema(described.schema))
    known = known.withColumn(_HASH, fn.xxhash64(quoted(_NAME)))
    scan = _scan(spark, request, paths)
    if keys is not None:
        scan = _looked_up(scan, request, keys)
    scan = scan.withColumn(_FILE_HASH, fn.xxhash64(quoted(_FILE)))
    same = scan[quoted(_FILE_HASH)] == known[quoted(_HASH)]
    rows = scan.join(fn.broadcast(known), same, "left")
    rows = rows.filter(_is_live(request.layout.version))
    columns = {item.name: _column(item, request) for item in request.needed.fields}
    extra = [_metadata_column(name, request).alias(name) for name in request.metadata_columns]
    if request.predicate is not None:
        rows = rows.filter(render_filter(request.predicate, columns))
    return rows.select(*(columns[name].alias(name) for name in request.columns), *extra)


def file_table(
    store: ReadStore, request: RowRequest, files: pa.Table, paths: NativePaths
) -> pa.Table:
    """One row for each file: its key, its physical rows where known, the words of its
    deletion vector or null, and what the log says of all of its rows."""
    listed = list(data_files(files))
    stored = [file.deletion_vector for file in listed if file.deletion_vector is not None]
    vectors = iter(read_deletion_vectors(store, stored))
    counts = files.column(NUM_RECORDS).to_pylist()
    words = [
        None if file.deletion_vector is None else _words(next(vectors), file, count)
        for file, count in zip(listed, counts, strict=True)
    ]
    columns: dict[str, Any] = {
        _NAME: pa.array(paths.names, pa.string()),
        _COUNT: files.column(NUM_RECORDS).combine_chunks(),
        _WORDS: pa.array(words, pa.list_(pa.int64())),
        _PATH: files.column("path").combine_chunks(),
        _BASE: files.column("base_row_id").combine_chunks(),
        _DEFAULT: files.column("default_row_commit_version").combine_chunks(),
    }
    partitioned = [
        item for item in request.needed.fields if item.name in request.layout.partition_columns
    ]
    targets = row_schema(StructType(fields=tuple(partitioned)))
    for item, field in zip(partitioned, targets, strict=True):
        values = [
            partition_scalar(file.partition_values.get(item.name), item, field.type)
            for file in listed
        ]
        columns[_partition(item)] = joined_scalars(values, field.type)
    return pa.table(columns)


def vector_bytes(files: pa.Table) -> int | None:
    """The most memory that the vectors of files take as words, None where a file does not
    say how many rows it has."""
    hidden = files.filter(files.column("deletion_vector").is_valid()).column(NUM_RECORDS)
    return None if hidden.null_count else sum(hidden.to_pylist()) // 8


def _words(
    vector: BitMap64, file: DataFile, num_records: int | None
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The vector as 64 rows a word, up to the last row that it hides."""
    if vector and num_records is not None and vector.max() >= num_records:
        raise vector_misfit(file, vector.max(), num_records)
    count = -(-(vector.max() + 1) // _WORD_BITS) if vector else 0
    bits = deletion_mask(vector, 0, count * _WORD_BITS).buffers()[1]
    return np.frombuffer(bits, np.int64)[:count] if count else np.empty(0, np.int64)


def _scan(spark: SparkSession, request: RowRequest, paths: NativePaths) -> DataFrame:
    from pyspark.sql import functions as fn
    from pyspark.sql import types

    stored = stored_columns(request)
    fields = [types.StructField(name, _read_type(item)) for name, item in stored.items()]
    fields += [types.StructField(name, types.LongType()) for name in _hidden(request).values()]
    reader = spark.read.schema(types.StructType(fields)).options(**_OPTIONS)
    with _listing_at_once(spark, len(paths.paths)):
        scan = reader.parquet(*paths.paths)
    columns = {
        name: block_pushdown(fn.col(quoted(name)), item.data_type) for name, item in stored.items()
    }
    return scan.select(
        *(column.alias(name) for name, column in columns.items()),
        *(fn.col(quoted(name)) for name in _hidden(request).values()),
        fn.col("_metadata.file_name").alias(_FILE),
        fn.col("_metadata.row_index").alias(_INDEX),
    )


def _looked_up(scan: DataFrame, request: RowRequest, keys: KeyRows) -> DataFrame:
    """Rows of files whose stored columns are among the keys."""
    from pyspark.sql import functions as fn

    fields = {item.name: item for item in request.needed.fields}
    same = []
    for name, key in zip(keys.columns, keys.frame.columns, strict=True):
        item = fields[name]
        # what lies in no file, or may hold a value that is an error
        if name in request.layout.partition_columns or item.data_type in {*NARROW_TYPES, VOID}:
            continue
        stored = scan[quoted(physical_name(item, request.layout.mapping))]
        same.append(stored == keys.frame[quoted(key)])
    if not same:
        return scan
    return scan.join(fn.broadcast(keys.frame), reduce(and_, same), "left_semi")


def _hidden(request: RowRequest) -> dict[str, str]:
    """By metadata column, the column of data files that may hold its values."""
    found = {name: hidden_column(name, request.layout) for name in request.metadata_columns}
    return {name: stored for name, stored in found.items() if stored is not None}


def _read_type(item: StructField) -> Any:
    from pyspark.sql import types

    if item.data_type in NARROW_TYPES:
        return types.IntegerType()
    return spark_type(row_schema(StructType(fields=(item,))).field(0).type, item.name)


@contextlib.contextmanager
def _listing_at_once(spark: SparkSession, count: int) -> Iterator[None]:
    """Lets the driver look the files up itself: a job with a task for each of them takes
    far longer. A Connect server looks them up when it likes."""
    if is_connect(spark):
        yield
        return
    with _listing_lock:
        before = spark.conf.get(_LISTING, None)
        spark.conf.set(_LISTING, str(count + 1))
        try:
            yield
        finally:
            if before is None:
                spark.conf.unset(_LISTING)
            else:
                spark.conf.set(_LISTING, before)


def _is_live(version: int) -> Column:
    """Whether a row is not deleted; raises for one that cannot be judged."""
    from pyspark.sql import functions as fn

    index, words, count = (fn.col(quoted(name)) for name in (_INDEX, _WORDS, _COUNT))
    is_known = fn.col(quoted(_NAME)).eqNullSafe(fn.col(quoted(_FILE)))
    word = fn.get(words, fn.shiftright(index, 6).cast("int"))
    hidden = fn.getbit(word, index.bitwiseAND(fn.lit(_WORD_BITS - 1)).cast("int")) == fn.lit(1)
    return (
        fn.when(~is_known, _stop("unknown", version))
        .when(index >= count, _stop("count", version))
        .otherwise(~fn.coalesce(hidden, fn.lit(False)))  # noqa: FBT003  # a value
    )


def _stop(what: GuardName, version: int) -> Column:
    """Raises where a row asks for its value."""
    from pyspark.sql import functions as fn

    return fn.raise_error(render_guard(what, version, fn.col(quoted(_FILE))))


def _column(item: StructField, request: RowRequest) -> Column:
    from pyspark.sql import functions as fn

    if item.name in request.layout.partition_columns:
        return fn.col(quoted(_partition(item)))
    if item.data_type == VOID:
        return fn.lit(None)
    found = fn.col(quoted(physical_name(item, request.layout.mapping)))
    if item.data_type not in NARROW_TYPES:
        return found
    kind = _NARROWED[item.data_type]
    most = 2**7 if kind == "tinyint" else 2**15
    fits = (found >= fn.lit(-most)) & (found < fn.lit(most))
    failed = _stop("narrow", request.layout.version)
    return fn.when(fits | found.isNull(), found.cast(kind)).otherwise(failed.cast(kind))


_NARROWED: Final = {kind: "tinyint" if kind.name == "byte" else "smallint" for kind in NARROW_TYPES}


def _partition(item: StructField) -> str:
    return f"delta_explorer.partition.{item.name}"


def _metadata_column(name: str, request: RowRequest) -> Column:
    from pyspark.sql import functions as fn

    match name:
        case "_file_path":
            return fn.col(quoted(_PATH))
        case "_row_index":
            return fn.col(quoted(_INDEX))
        case "_row_id":
            default = fn.col(quoted(_BASE)) + fn.col(quoted(_INDEX))
        case _:
            default = fn.col(quoted(_DEFAULT))
    stored = [fn.col(quoted(found)) for key, found in _hidden(request).items() if key == name]
    return reduce(lambda rest, own: fn.coalesce(own, rest), stored, default)
