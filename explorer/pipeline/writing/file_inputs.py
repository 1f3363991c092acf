"""Files of Parquet and Arrow whose rows are written to a table: each known by its size and its
SHA-256, so that what was planned is what is written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.ipc

from explorer.errors import InvalidArgumentError, NotFoundError
from explorer.pipeline.writing.given_data import ArrowRows
from explorer.writing.gate.arrow_gate import given_schema

_PARQUET: Final = b"PAR1"
_ARROW: Final = b"ARROW1"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that brings rows: its path, its bytes, and the SHA-256 of what is in it."""

    path: str
    size: int
    sha256: str
    num_rows: int
    schema: pa.Schema


def look_at(path: str | os.PathLike[str]) -> InputFile:
    """What a file holds; raises `NotFoundError`, and `InvalidArgumentError` for what is neither
    Parquet nor an Arrow file or stream."""
    place = os.fspath(path)
    try:
        with open(place, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFoundError(
            f"There is no file {place[:200]}.",
            reason="Rows are read from files of Parquet or Arrow.",
            remedy="Check the path; name the files of a folder one by one.",
        ) from error
    except OSError as error:
        raise InvalidArgumentError(
            f"{place[:200]} cannot be read.", reason=str(error)[:200], remedy="Check its access."
        ) from error
    try:
        schema, num_rows = _describe(place)
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidArgumentError(
            f"{place[:200]} is not a file of Parquet or Arrow.",
            reason=str(error)[:200],
            remedy="Convert it to Parquet, for example with pyarrow or DuckDB.",
        ) from error
    return InputFile(path=place, size=size, sha256=digest, num_rows=num_rows, schema=schema)


def rows_of_files(files: Sequence[InputFile]) -> ArrowRows:
    """The rows of all files, one after the other; raises `InvalidArgumentError` where their
    columns have other names or types."""
    first = files[0]
    for other in files[1:]:
        if not other.schema.equals(first.schema):
            raise InvalidArgumentError(
                f"{other.path[:200]} has other columns than {first.path[:200]}.",
                reason=_difference(first.schema, other.schema),
                remedy="Write them one by one.",
                kind="schema_mismatch",
            )
    return ArrowRows(
        schema=given_schema(first.schema),
        arrow_schema=first.schema,
        batches=lambda: (batch for file in files for batch in _batches(file.path)),
        is_rereadable=True,
        num_rows=sum(file.num_rows for file in files),
    )


def _difference(one: pa.Schema, other: pa.Schema) -> str:
    for item in other:
        at = one.get_field_index(item.name)
        if at < 0:
            return f"Only the former lacks `{item.name[:120]}`."
        if one.field(at).type != item.type:
            return f"`{item.name[:120]}` is {one.field(at).type} there and {item.type} here."
    return "Columns are missing, or stand in another order."


def _is_parquet(place: str) -> bool:
    with open(place, "rb") as file:
        return file.read(4) == _PARQUET


def _describe(place: str) -> tuple[pa.Schema, int]:
    if _is_parquet(place):
        from pyarrow.parquet import ParquetFile  # Arrow's own files do without it

        with ParquetFile(place) as file:
            return file.schema_arrow, file.metadata.num_rows
    with pa.memory_map(place) as source, _open_arrow(source) as reader:
        schema, count = reader.schema, 0
        for batch in _each(reader):
            count += batch.num_rows
        return schema, count


def _batches(place: str) -> Iterator[pa.RecordBatch]:
    if _is_parquet(place):
        from pyarrow.parquet import ParquetFile  # as above

        with ParquetFile(place) as file:
            yield from file.iter_batches()
        return
    with pa.memory_map(place) as source, _open_arrow(source) as reader:
        yield from _each(reader)


def _open_arrow(source: pa.NativeFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    is_file = source.read(len(_ARROW)) == _ARROW
    source.seek(0)
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def _each(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
        return
    yield from reader
