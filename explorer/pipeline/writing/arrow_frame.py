"""Rows of Arrow as a frame of Spark, whatever their types, and however many there are.

They travel to the tasks in pieces: a few inside the function that Spark sends there, as files of a
table do (`explorer.pipeline.tasks.task_groups`), more through the table's own store, as files
that are there while the statement runs. Neither plans nor event logs show them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from explorer.errors import DeltaError
from explorer.pipeline.session import parallelism
from explorer.pipeline.tasks.file_tasks import Batches
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.pipeline.writing.given_data import ArrowRows
from explorer.pipeline.writing.spark_casts import spark_type_of
from explorer.progress import Watch
from explorer.protocol.schema import VARIANT, ArrayType, DataType, MapType, StructType
from explorer.protocol.schema_walk import walk_types
from explorer.storage.ports import ReadStore, WriteStore
from explorer.writing.gate.sent_rows import SentRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PIECE_BYTES: Final = 8 * 2**20
"""Of rows in memory, before they are packed."""

_MOST_SENT: Final = 32 * 2**20
"""Bytes of packed pieces that travel inside the function: each worker holds all of them."""

_TASK_BYTES: Final = 128 * 2**20
"""Bytes of rows that a task is given, unless all tasks that run at once have less."""

_LEAST_TASK_BYTES: Final = 32 * 2**20
"""Below that a task of its own would make a small file."""

_LABEL: Final = "Sending rows to Spark"

_Piece: TypeAlias = bytes | str
"""Packed rows, or the path of a file that holds them, below the table's root."""


@contextlib.contextmanager
def arrow_frame(
    session: SparkSession,
    store: WriteStore,
    name: str,
    rows: ArrowRows,
    sent: SentRows,
    watch: Watch,
) -> Iterator[DataFrame]:
    """A frame with the columns `sent.sent`, while inside. Rows are gone through once. `name` is
    the statement's id, which is in the names of files that carry rows.

    Raises what `SentRows.conform` raises for a row.
    """
    from pyspark.sql.types import StructType as SparkStruct

    schema = sent.sent
    pieces = _Pieces(store=store, name=name)
    try:
        done = 0
        for batch in rows.batches():
            watch.step(done, rows.num_rows, _LABEL)
            for part in sent.conform(batch):
                pieces.add(_as_spark_has(part, schema))
            done += batch.num_rows
        pieces.end()
        tasks = pieces.tasks(parallelism(session))
        read = _ReadPieces(store=store, tasks=tasks)
        parts = session.range(0, len(tasks), 1, len(tasks))
        kind = spark_type_of(schema)
        assert isinstance(kind, SparkStruct)
        yield parts.mapInArrow(read.__call__, kind)
    finally:
        pieces.remove()


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadPieces:
    """Reads the pieces of tasks by their numbers."""

    store: ReadStore
    tasks: tuple[tuple[_Piece, ...], ...]
    mark: ErrorMark = field(default_factory=ErrorMark)

    def __call__(self, batches: Batches) -> Batches:
        """The rows, in the order in which they came."""
        for batch in batches:
            for at in batch.column(0).to_pylist():
                with self.mark.marked():
                    for piece in self.tasks[at]:
                        yield from self._read(piece)

    def _read(self, piece: _Piece) -> Batches:
        source = pa.BufferReader(piece) if isinstance(piece, bytes) else None
        with (
            source or self.store.open_input(str(piece)) as opened,
            pa.ipc.open_stream(opened) as stream,
        ):
            yield from stream


class _Pieces:
    """Pieces of rows while they come."""

    def __init__(self, store: WriteStore, name: str) -> None:
        self._store, self._name = store, name
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = self._sent_bytes = 0
        self._pieces: list[tuple[_Piece, int]] = []

    def add(self, rows: pa.RecordBatch) -> None:
        """Further rows, all of one schema."""
        count = max(1, rows.num_rows * _PIECE_BYTES // max(rows.nbytes, 1))
        for start in range(0, rows.num_rows, count):
            part = rows.slice(start, count)
            self._held.append(part)
            self._held_bytes += part.nbytes
            if self._held_bytes >= _PIECE_BYTES:
                self.end()

    def end(self) -> None:
        """Pack what is held."""
        if not self._held:
            return
        packed = _packed(self._held)
        if self._sent_bytes + len(packed) <= _MOST_SENT:
            self._sent_bytes += len(packed)
            self._pieces.append((packed, self._held_bytes))
        else:
            path = f"rows-{self._name}-{len(self._pieces):05}.arrow"
            # known before it is there, so that it goes whatever happens
            self._pieces.append((path, self._held_bytes))
            self._store.write(path, packed)
        self._held, self._held_bytes = [], 0

    def tasks(self, slots: int) -> tuple[tuple[_Piece, ...], ...]:
        """Neighbours together, a tuple for each task; one without pieces where there are none."""
        total = sum(size for _, size in self._pieces)
        wanted = min(max(total // slots, _LEAST_TASK_BYTES), _TASK_BYTES)
        found: list[list[_Piece]] = [[]]
        size = 0
        for piece, more in self._pieces:
            if found[-1] and size + more / 2 > wanted * len(found):
                found.append([])
            found[-1].append(piece)
            size += more
        return tuple(map(tuple, found))

    def remove(self) -> None:
        """Delete the files."""
        for piece, _ in self._pieces:
            if isinstance(piece, str):
                with contextlib.suppress(DeltaError):
                    self._store.delete(piece)


def _packed(batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def _as_spark_has(rows: pa.RecordBatch, schema: StructType) -> pa.RecordBatch:
    """The same rows, with Spark's layout of variants."""
    arrays = [
        _with_variants(rows.column(at), item.data_type) for at, item in enumerate(schema.fields)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(schema.names))


def _with_variants(values: pa.Array, data_type: DataType) -> pa.Array:
    if VARIANT not in walk_types(data_type):
        return values
    nulls = values.is_null()
    match data_type:
        case StructType(fields=fields):
            inner = [
                _with_variants(values.field(at), item.data_type) for at, item in enumerate(fields)
            ]
            return pa.StructArray.from_arrays(
                inner,
                fields=[
                    pa.field(item.name, array.type)
                    for item, array in zip(fields, inner, strict=True)
                ],
                mask=nulls,
            )
        case ArrayType(element_type=element):
            inside = _with_variants(values.values, element)
            return pa.ListArray.from_arrays(values.offsets, inside, mask=nulls)
        case MapType(value_type=item):
            items = _with_variants(values.items, item)
            return pa.MapArray.from_arrays(values.offsets, values.keys, items, mask=nulls)
    # Spark looks for the parts by their places
    value, metadata = (values.field(values.type.names.index(name)) for name in _VARIANT)
    return pa.StructArray.from_arrays([value, metadata], fields=_VARIANT_FIELDS, mask=nulls)


_VARIANT: Final = ("value", "metadata")
_VARIANT_FIELDS: Final = [
    pa.field("value", pa.binary()),
    pa.field("metadata", pa.binary(), metadata={"variant": "true"}),
]
"""A variant as Spark sends one to Python, and takes one from there."""
