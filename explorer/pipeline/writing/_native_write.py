"""Rows written by Spark's own Parquet writer, which they need not leave the JVM for
(spec: Data Files, Partition Value Serialization).

The rows have passed the gate in the same plan: one that breaks a rule stops its task before the
file is whole. Spark writes into a folder of its own below the table's root, and nothing there is
part of the table. Once the job has ended well, the files are synced and get their names; their
statistics come from their footers.

Every setting that files depend on is that of a session made for this statement: the caller's
stays as it is, also for what other threads do with it meanwhile.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

import pyarrow as pa

from explorer.errors import StorageError
from explorer.log.actions.columns import (
    int32_column,
    int64_column,
    string_column,
    string_map_column,
)
from explorer.pipeline.jobs.ended_tasks import await_tasks, speculates
from explorer.pipeline.jobs.watching_jobs import current_watch
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.session import is_connect, is_local, parallelism
from explorer.pipeline.tasks.spark_faults import is_of_spark
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.filenames import staging_folder
from explorer.protocol.schema import DataType, DecimalType, PrimitiveType, parse_schema
from explorer.protocol.values.calendar_days import Day
from explorer.protocol.values.partition_values import HIVE_NULL, render_partition_value
from explorer.storage.concurrent_reads import run_concurrently
from explorer.storage.local import LocalStore
from explorer.storage.local_staging import LocalStaging
from explorer.writing.files.folders import folder_of
from explorer.writing.files.footer_statistics import footer_statistics
from explorer.writing.files.row_files import WRITTEN_ROWS, RowForm

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_CODECS: Final = {"none": "uncompressed", "snappy": "snappy", "zstd": "zstd", "gzip": "gzip"}

_WIDTHS: Final = {
    "byte": 1,
    "short": 2,
    "integer": 4,
    "date": 4,
    "float": 4,
    "boolean": 1,
    "long": 8,
    "double": 8,
    "timestamp": 8,
    "timestamp_ntz": 8,
    "string": 20,
    "binary": 20,
}
"""Bytes of a value in a file, roughly; the types that Spark writes as we do."""

_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "false",
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.sql.execution.datasources."
    "SQLHadoopMapReduceCommitProtocol",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.sql.sources.partitionOverwriteMode": "static",
}

_OPTIONS: Final[Mapping[str, str]] = {
    # Without checksums beside files. Hadoop's other file system also starts a process for every
    # file, to set its mode, and another for that of its checksum.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "parquet.writer.version": "PARQUET_1_0",
    "parquet.page.write-checksum.enabled": "true",
    "parquet.summary.metadata.level": "NONE",
    "parquet.enable.bytestreamsplit": "false",
    "parquet.bloom.filter.enabled": "false",
    "mapreduce.output.basename": "part",
}

_LEAST_GROUP: Final = 16 * 2**20
_MOST_GROUP: Final = 128 * 2**20
"""Bytes of a row group, which a heap has to hold: where many files may be open, and else."""

_LEAST_DICTIONARY: Final = 64 * 2**10
_SHARED_DICTIONARY: Final = 256 * 2**10
_MOST_DICTIONARY: Final = 2**20
"""Bytes of the dictionary of a column."""

_DICTIONARY_OBJECTS: Final = 5
"""How many times its bytes a dictionary takes while it is made."""

_STATISTICS: Final = "parquet.column.statistics.enabled"
_ENCRYPTION: Final = "parquet.crypto.factory.class"
_OBSERVED: Final = "CollectMetrics"

_HEAP_SHARE: Final = 4
"""The part of a heap that open files may take. Sorting may take nearly half of one of 1 GiB, and a
task that finds no memory ends the whole JVM where that is on this machine."""

_MOST_OPEN: Final = 200
_LEAST_OPEN: Final = 4

_LEAST_TARGET: Final = 64 * 2**20
"""Bytes of a file that somebody asks for: smaller ones are made by tasks of Python, which see how
large a file has become."""

_LONGEST_VALUE: Final = 100
"""Bytes of a text that partitions a table: a folder is named by twice as many digits."""

_MOST_PARTITIONS: Final = 8
"""Columns that partition a table: the folders of all of them are one path."""

_TOO_LONG: Final = "delta-explorer: the text of a partition is too long for a folder"

_THREADS: Final = re.compile(r"local\[(\d+|\*)")
_PART: Final = re.compile(r"part-(\d+)-")

_READ_AT_ONCE: Final = 4

_LONGEST_WAIT: Final = 2.0
"""Seconds; Spark tells a count some milliseconds after a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeWrite:
    """Rows that Spark's own writer may write: `rows` have the columns of `form.rows`."""

    rows: DataFrame
    form: RowForm
    store: LocalStore
    statement: UUID
    num_partitions: int | None
    """How many of them the table has, as far as that is known."""

    def write(self) -> pa.Table | None:
        """Write them: the new files, with the schema `WRITTEN_ROWS`; None where the values of a
        partition column do not fit into names of folders, and nothing was written.

        Raises what the job raises, and `StorageError`. Then files that have their names are left;
        these have the id of the statement in them.
        """
        staging = LocalStaging(store=self.store, name=staging_folder(self.statement))
        try:
            num_rows = self._run(staging.place)
        except BaseException as error:
            # a task of the job may be about to make another file
            await_tasks(self.rows.sparkSession)
            staging.remove()
            if isinstance(error, Exception) and is_of_spark(error) and _TOO_LONG in str(error):
                return None
            raise
        try:
            return self._published(staging, num_rows)
        except UnicodeDecodeError:  # Spark lets texts be any bytes
            return None
        finally:
            if speculates(self.rows.sparkSession):  # a second run of a task may not have ended
                await_tasks(self.rows.sparkSession)
            staging.remove()

    def _run(self, place: str) -> int | None:
        """The job; how many rows it took in, where Spark tells it in time."""
        form = self.form
        partitions = [name for name, _ in form.partitions]
        kinds = dict(zip(self.rows.columns, self.rows.schema.fields, strict=True))
        columns = [quoted(name) for name in form.names]
        folders = [
            _folder_value(name, str(kinds[name].dataType.simpleString())).alias(_folder_name(at))
            for at, name in enumerate(partitions)
        ]
        asked = self._kept_in_order().select(*columns, *folders)
        jvm_rows = _in_own_session(asked, {**_SETTINGS, **self._concurrency()})
        observed = _Counted(asked.sparkSession)
        writer = observed.count(jvm_rows).write().format("parquet").mode("errorifexists")
        for name, value in {**_OPTIONS, **self._options()}.items():
            writer = writer.option(name, value)
        if folders:
            names = [_folder_name(at) for at in range(len(folders))]
            writer = writer.partitionBy(_array_of(asked.sparkSession, "java.lang.String", names))
        writer.save(f"file://{place}")
        return observed.num_rows

    def _kept_in_order(self) -> DataFrame:
        """The rows, with something in between that Spark cannot look through: it drops a sort that
        the caller made below another one."""
        from pyspark.sql import functions as fn

        if not self.form.partitions:
            return self.rows
        return self.rows.filter(fn.monotonically_increasing_id() >= fn.lit(0))

    def _concurrency(self) -> Mapping[str, str]:
        """How many files a task has open side by side. Beyond that Spark sorts what is left, so
        that it sorts from the start where more are known."""
        if not self.form.partitions:
            return {}
        session = self.rows.sparkSession
        each = _least_heap(self.form, _SHARED_DICTIONARY)
        most = min(_heap_of_a_task(session) // each, _MOST_OPEN)
        if most < _LEAST_OPEN or (self.num_partitions or 0) > most:
            most = 0
        return {"spark.sql.maxConcurrentOutputFileWriters": str(most)}

    def _options(self) -> Mapping[str, str]:
        fields = parse_schema(self.form.metadata.schema_string).fields
        width = sum(_width(item.data_type) for item in fields if item.name in self.form.names)
        # bounds that leave NaN out lose rows to whoever trusts them
        floating = [item.name for item in self.form.file.schema if pa.types.is_floating(item.type)]
        heap = _heap_of_a_task(self.rows.sparkSession)
        group, dictionary = _LEAST_GROUP, _SHARED_DICTIONARY
        if not self.form.partitions:  # then a task has one file open
            group, dictionary = max(group, min(heap // 2, _MOST_GROUP)), _MOST_DICTIONARY
        fitting = (heap - group) // (_DICTIONARY_OBJECTS * len(self.form.names))
        return {
            **{f"{_STATISTICS}#{name}": "false" for name in floating},
            "parquet.block.size": str(group),
            "parquet.dictionary.page.size": str(max(_LEAST_DICTIONARY, min(fitting, dictionary))),
            "compression": _CODECS[self.form.file.codec],
            "maxRecordsPerFile": str(max(1, self.form.target_bytes // max(width, 1))),
        }

    def _published(self, staging: LocalStaging, num_rows: int | None) -> pa.Table:
        if not self.store.has_folder(staging.name):
            raise StorageError(
                "The files that Spark wrote are not where they should be.",
                reason=f"There is no folder {staging.name} in {self.store.uri[-200:]}.",
                remedy="Nothing was committed. Look whether Spark and this process see the same "
                "file system.",
            )
        made = staging.paths()
        read = partial(footer_statistics, self.store, form=self.form.file)
        watch = current_watch()
        told = []
        for found in run_concurrently(read, made, _READ_AT_ONCE):
            if watch.cancel is not None:
                watch.cancel.check()
            told.append(found)
        found_rows = sum(count for count, _ in told)
        if num_rows not in {None, found_rows}:
            raise StorageError(
                "Rows are missing from the files that Spark wrote.",
                reason=f"It took in {num_rows} rows, and the files in {staging.name} have "
                f"{found_rows}.",
                remedy="Nothing was committed. Look whether another program deletes files below "
                "the table's folder, and write the rows again.",
            )
        # Spark makes a file for a task without rows
        some = [(path, found) for path, found in zip(made, told, strict=True) if found[0]]
        values = [self._values(path.split("/")[1:-1]) for path, _ in some]
        names = [self._name(at, path, values[at]) for at, (path, _) in enumerate(some)]
        self.store.publish([(path, name) for (path, _), name in zip(some, names, strict=True)])
        infos = [self.store.stat(name) for name in names]
        arrays = [
            string_column(names),
            int64_column([info.size for info in infos]),
            int64_column([info.modified_ms for info in infos]),
            int64_column([count for _, (count, _) in some]),
            string_column([stats for _, (_, stats) in some]),
            string_map_column(values),
            int32_column([0] * len(some)),
        ]
        return pa.Table.from_arrays(arrays, schema=WRITTEN_ROWS)

    def _values(self, folders: list[str]) -> dict[str, str | None]:
        """The partition values of a file by the folders that Spark made for it."""
        types = {
            item.name: item.data_type
            for item in parse_schema(self.form.metadata.schema_string).fields
        }
        texts = [folder.partition("=")[2] for folder in folders]
        return {
            physical: _partition_value(text, types[name])
            for (name, physical), text in zip(self.form.partitions, texts, strict=True)
        }

    def _name(self, at: int, path: str, values: Mapping[str, str | None]) -> str:
        """As those of `RowFiles`."""
        form = self.form
        found = _PART.match(path.rpartition("/")[2])
        task = int(found[1]) if found else 0
        unique = uuid5(self.statement, f"{task}/0/{at}")
        folder = folder_of(form.protocol, form.metadata, values, unique)
        return form.file.path(
            f"{form.folder}{folder}{form.label}-{task:05}-{self.statement}", 0, at
        )


class _Counted:
    """Rows that the JVM counts while it writes them: files that somebody removes before they have
    their names would be missed by nobody."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        assert session._jvm is not None
        self._observation = session._jvm.org.apache.spark.sql.Observation()

    def count(self, jvm_rows: Any) -> Any:
        """The same rows, counted."""
        from pyspark.sql import functions as fn

        number = fn.count(fn.lit(1)).alias("rows")
        more = _array_of(self._session, "org.apache.spark.sql.Column", [])
        return jvm_rows.observe(self._observation, number._jc, more)

    @property
    def num_rows(self) -> int | None:
        """How many they were, once they are written; None where Spark does not tell soon, as with
        a queue of events that overflowed."""
        told = self._observation.future()
        until = time.monotonic() + _LONGEST_WAIT
        while not told.isCompleted():
            if time.monotonic() > until:
                return None
            time.sleep(0.005)
        return int(self._observation.getAsJava()["rows"])


def _heap_of_a_task(session: SparkSession) -> int:
    """Bytes of the heap that the files of one task may take."""
    runtime = session._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
    threads = _THREADS.match(session.sparkContext.master or "")
    most = 1
    if threads is not None:  # a setting may say that there is less parallelism
        most = int(runtime.availableProcessors() if threads[1] == "*" else threads[1])
    return int(runtime.maxMemory()) // _HEAP_SHARE // max(most, parallelism(session))


def _least_heap(form: RowForm, dictionary: int) -> int:
    """Bytes that an open file takes."""
    return _LEAST_GROUP + _DICTIONARY_OBJECTS * dictionary * len(form.names)


def why_not_written(rows: DataFrame, form: RowForm, root: str) -> str | None:
    """Why Spark's own writer cannot write rows, which have the columns of `form.rows`, into a table
    in the folder `root` of this machine as the table wants its files; None where it can."""
    return next(_reasons(rows, form, root), None)


def _reasons(rows: DataFrame, form: RowForm, root: str) -> Iterator[str]:
    session = rows.sparkSession
    if is_connect(session) or not is_local(session):
        yield "the session is not on this machine"
        return
    if not _PLAIN_PLACE.fullmatch(root):
        yield "the table's folder has a name that may mean something else to Spark"
    if session._jsparkSession.sessionState().newHadoopConf().get(_ENCRYPTION):
        yield "the session encrypts what it writes"
    if _OBSERVED in rows._jdf.queryExecution().analyzed().toString():
        yield "somebody observes the rows, and is told of them by the session itself alone"
    if _heap_of_a_task(session) < _least_heap(form, _LEAST_DICTIONARY):
        yield "the heap is small for as many tasks"
    yield from _of_files(form)
    yield from _of_names(form)
    yield from _of_types(rows, form)


def _of_files(form: RowForm) -> Iterator[str]:
    if column_mapping_mode(form.protocol, form.metadata.configuration) != "none":
        yield "columns have other names in files"
    if form.holds_partitions or form.ids or form.folder:
        yield "files hold more than the table's own columns"
    if form.file.codec not in _CODECS or form.file.page_version != "1.0":
        yield "files are of another codec, or have other pages"
    if not (form.file.decimals_as_integers and form.file.page_checksums):
        yield "files are stored in another way"
    if form.target_bytes < _LEAST_TARGET:
        yield "files are to be small"
    if len(form.partitions) > _MOST_PARTITIONS:
        yield "paths of folders might be too long"


def _of_names(form: RowForm) -> Iterator[str]:
    names = form.rows.names
    if not form.names or tuple(form.file.schema.names) != form.names:
        yield "files have other columns than rows"
    if len({name.lower() for name in names}) < len(names):
        yield "names of columns differ by case alone"
    if any(_MEANT_OTHERWISE.search(name) or name.lower().startswith(_FOLDER) for name in names):
        yield "a column has a name that Spark takes for something else"


_PLAIN_PLACE: Final = re.compile(r"/[A-Za-z0-9_./+=@~-]*")
_FOLDER: Final = "delta_explorer_"
_MEANT_OTHERWISE: Final = re.compile(r"[ ,;{}()\n\t=`.]|^$")


def _of_types(rows: DataFrame, form: RowForm) -> Iterator[str]:
    kinds = {item.name: item.data_type for item in parse_schema(form.metadata.schema_string).fields}
    given = parse_schema(rows.schema.json())
    partitions = {name for name, _ in form.partitions}
    for name, item in zip(form.rows.names, given.fields, strict=True):
        kind = kinds[name]
        if (
            item.name != name
            or item.data_type != kind
            or any(key[:2] == "__" for key in item.metadata)
        ):
            yield f"the rows have another type in `{name[:60]}`"
        elif name in partitions and not (
            isinstance(kind, PrimitiveType) and kind.name in _FOLDER_TYPES
        ):
            yield f"the values of `{name[:60]}` do not become names of folders"
        elif not _width(kind):
            yield f"Spark writes the type of `{name[:60]}` in another way"


def _width(kind: DataType) -> int:
    if isinstance(kind, DecimalType):
        return 4 if kind.precision <= 9 else 8 if kind.precision <= 18 else 16
    return _WIDTHS.get(kind.name, 0) if isinstance(kind, PrimitiveType) else 0


_FOLDER_TYPES: Final = frozenset({"byte", "short", "integer", "long", "boolean", "date", "string"})


def _folder_name(at: int) -> str:
    return f"{_FOLDER}{at}"


def _folder_value(name: str, kind: str) -> Column:
    """A partition value as Spark may name a folder by it, whatever the JVM takes for a name:
    digits."""
    from pyspark.sql import functions as fn

    column = quoted(name)
    if kind == "date":
        return fn.expr(f"unix_date({column})")
    if kind == "string":
        return fn.expr(
            f"CASE WHEN octet_length({column}) > {_LONGEST_VALUE} THEN raise_error('{_TOO_LONG}') "
            f"ELSE hex(CAST(nullif({column}, '') AS BINARY)) END"
        )
    return fn.expr(f"CAST({column} AS BIGINT)")


def _partition_value(text: str, kind: DataType) -> str | None:
    """What the log has for what `_folder_value` made."""
    if text == HIVE_NULL:
        return None
    assert isinstance(kind, PrimitiveType)
    match kind.name:
        case "string":
            value: str | int | Day = bytes.fromhex(text).decode()
        case "date":
            value = Day(int(text))
        case "boolean":
            value = bool(int(text))
        case _:
            value = int(text)
    return render_partition_value(value)


def _in_own_session(frame: DataFrame, settings: Mapping[str, str]) -> Any:
    """The same rows in the JVM, in a copy of their session that has these settings."""
    session = frame.sparkSession
    own = session._jsparkSession.cloneSession()
    for name, value in settings.items():
        own.conf().set(name, value)
    plan = frame._jdf.queryExecution().analyzed()
    dataset = session._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    return dataset.ofRows(own, plan)


def _array_of(session: SparkSession, kind: str, items: list[Any]) -> Any:
    gateway = session.sparkContext._gateway
    assert gateway is not None
    found = gateway.new_array(getattr(gateway.jvm, kind), len(items))
    for at, item in enumerate(items):
        found[at] = item
    return found
