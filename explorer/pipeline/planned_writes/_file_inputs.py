"""Files of Parquet and Arrow whose rows are written to a table.

Each is known by its size and its SHA-256, and is opened once: what was hashed is what is read,
whatever takes the file's name meanwhile. After the last row it is hashed again, so that a file
that changes while it is read is told before anything is committed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

import pyarrow as pa

from explorer.errors import ConflictError, CorruptDataError, InvalidArgumentError
from explorer.pipeline.planned_writes._input_rows import BROKEN, describe_rows, read_rows
from explorer.pipeline.writing.given_data import ArrowRows
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.values.unicode_text import check_unicode
from explorer.writing.files.renamed_rows import with_schema
from explorer.writing.gate.arrow_gate import given_schema

_PIECE: Final = 2**22
"""Bytes that are hashed between two looks at whoever may want to stop."""

_SHOWN: Final = 200
_LABEL: Final = "Reading input files"

# nobody waits for whoever would write into a pipe; not every system has pipes with names
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that brings rows: its path as it was given, its bytes, the SHA-256 of what is in it,
    and its columns, of which every value may be null."""

    path: str
    size: int
    sha256: str
    num_rows: int
    schema: pa.Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenInput:
    """An input file, and the file that is open."""

    facts: InputFile
    file: BinaryIO


@contextlib.contextmanager
def open_inputs(
    paths: Sequence[str | os.PathLike[str]], watch: Watch = UNWATCHED
) -> Iterator[tuple[OpenInput, ...]]:
    """The files, open and hashed.

    Raises `InvalidArgumentError` for what is no file, neither Parquet nor Arrow, or named twice,
    and `CorruptDataError` for a file that is damaged.
    """
    if not paths:
        raise InvalidArgumentError(
            "No file is named.",
            reason="Rows are read from files of Parquet or Arrow.",
            remedy="Name at least one.",
        )
    places = [os.fspath(path) for path in paths]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_open(place)) for place in places]
        _check_different(places, files)
        total = sum(os.fstat(file.fileno()).st_size for file in files)
        found: list[OpenInput] = []
        for place, file in zip(places, files, strict=True):
            done = sum(item.facts.size for item in found)
            found.append(_look_at(place, file, done, total, watch))
        yield tuple(found)


def rows_of_files(inputs: Sequence[OpenInput]) -> ArrowRows:
    """The rows of all files, one after the other; columns are matched by name. Raises
    `InvalidArgumentError` of the kind `schema_mismatch` where a file has other columns than the
    first one, or other types.

    Its batches raise `CorruptDataError` for a file that is damaged, and `ConflictError` of the
    kind `plan_stale` for one that changed since it was hashed.
    """
    first = inputs[0].facts
    for item in inputs[1:]:
        _check_same_columns(first, item.facts)
    return ArrowRows(
        schema=given_schema(first.schema),
        arrow_schema=first.schema,
        batches=lambda: _batches(inputs, first.schema),
        is_rereadable=True,
        num_rows=sum(item.facts.num_rows for item in inputs),
    )


def _open(place: str) -> BinaryIO:
    check_unicode(place, "The name of a file cannot be read.")
    try:
        handle = os.open(place, _FLAGS)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise _no_file(place)
            return open(handle, "rb")
        except BaseException:
            os.close(handle)
            raise
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # of a name with NUL
        raise _no_file(place) from error
    except OSError as error:
        raise InvalidArgumentError(
            f"{place[:_SHOWN]} cannot be read.",
            reason=f"{error.strerror or error}."[:_SHOWN],
            remedy="Check its access.",
        ) from error


def _no_file(place: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"There is no file {place[:_SHOWN]}.",
        reason="Rows are read from files of Parquet or Arrow.",
        remedy="Check the path; name the files of a folder one by one.",
    )


def _check_different(places: Sequence[str], files: Sequence[BinaryIO]) -> None:
    seen: dict[tuple[int, int], str] = {}
    for place, file in zip(places, files, strict=True):
        found = os.fstat(file.fileno())
        key = found.st_dev, found.st_ino
        if key in seen:
            raise InvalidArgumentError(
                f"{place[:_SHOWN]} is named twice.",
                reason=f"It is the same file as {seen[key][:_SHOWN]}, and each of its rows would "
                "be written twice.",
                remedy="Name it once.",
            )
        seen[key] = place


def _look_at(place: str, file: BinaryIO, done: int, total: int, watch: Watch) -> OpenInput:
    size, digest = _hash(file, done, total, watch)
    if not size:
        raise _damaged(place, "it is empty")
    try:
        schema, num_rows = describe_rows(file)
    except BROKEN as error:
        raise _damaged(place, str(error)) from error
    names = schema.names
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InvalidArgumentError(
            f"{place[:_SHOWN]} has several columns that are called `{double[:120]}`.",
            reason="Columns are matched by name.",
            remedy="Rename all but one of them.",
            kind="schema_mismatch",
        )
    facts = InputFile(
        path=place, size=size, sha256=digest, num_rows=num_rows, schema=_plain_schema(schema)
    )
    return OpenInput(facts=facts, file=file)


def _hash(file: BinaryIO, done: int, total: int, watch: Watch) -> tuple[int, str]:
    found, size = hashlib.sha256(), 0
    file.seek(0)
    while piece := file.read(_PIECE):
        watch.step(done + size, total, _LABEL)
        found.update(piece)
        size += len(piece)
    return size, found.hexdigest()


def _batches(inputs: Sequence[OpenInput], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for item in inputs:
        rows = read_rows(item.file)
        while (batch := _next(item, rows)) is not None:
            # the same columns, which may stand in another order
            yield with_schema(batch.select(schema.names), schema)
        _check_unchanged(item)


def _next(item: OpenInput, rows: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    try:
        return next(rows, None)
    except BROKEN as error:
        # it was sound when it was planned for
        _check_unchanged(item)
        raise _damaged(item.facts.path, str(error)) from error


def _check_unchanged(item: OpenInput) -> None:
    facts = item.facts
    if _hash(item.file, 0, facts.size, UNWATCHED) != (facts.size, facts.sha256):
        raise ConflictError(
            f"{facts.path[:_SHOWN]} changed while it was read.",
            reason="Its bytes are not those that the plan is about.",
            remedy="Wait until nobody writes it, and plan again.",
            kind="plan_stale",
        )


def _damaged(place: str, why: str) -> CorruptDataError:
    first_line = (why.splitlines() or ["it cannot be read"])[0][:_SHOWN].rstrip(".")
    return CorruptDataError(
        f"{place[:_SHOWN]} is not a sound file of Parquet or Arrow.",
        reason=f"It cannot be read, or not be believed: {first_line}.",
        remedy="Write the file again, or convert it to Parquet.",
    )


def _check_same_columns(first: InputFile, other: InputFile) -> None:
    theirs, ours = ({column.name: column.type for column in item.schema} for item in (other, first))
    if theirs == ours:
        return
    for name in {**ours, **theirs}:
        if theirs.get(name) != ours.get(name):
            break
    shown = f"`{name[:120]}`"
    if name not in ours:
        why = f"{shown} is missing in {first.path[:_SHOWN]}."
    elif name not in theirs:
        why = f"{shown} is missing in {other.path[:_SHOWN]}."
    else:
        why = (
            f"{shown} is {str(ours[name])[:120]} in the former and {str(theirs[name])[:120]} here."
        )
    raise InvalidArgumentError(
        f"{other.path[:_SHOWN]} has other columns than {first.path[:_SHOWN]}.",
        reason=why,
        remedy="Write them one by one.",
        kind="schema_mismatch",
    )


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns without what files say besides names and types."""
    return pa.schema([_plain_field(item) for item in schema])


def _plain_field(item: pa.Field) -> pa.Field:
    return pa.field(item.name, _plain(item.type), nullable=True)


def _plain(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([_plain_field(item) for item in kind])
    if types.is_map(kind):
        key = pa.field(kind.key_field.name, _plain(kind.key_type), nullable=False)
        return pa.map_(key, _plain_field(kind.item_field), keys_sorted=kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    return kind
