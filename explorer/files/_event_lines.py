"""Lines of commits with file actions, as columns, parsed by pyarrow's JSON reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from explorer.errors import CorruptLogError

_NEWLINE = ord("\n")
_PARSED_AT_ONCE = 2**23
_COUNTED_AT_ONCE = 2**18
VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_FILE = [
    ("path", pa.string()),
    ("size", pa.int64()),
    ("dataChange", pa.bool_()),
    ("deletionVector", VECTOR),
]
LINES = pa.schema(
    [
        ("add", pa.struct([*_FILE, ("modificationTime", pa.int64())])),
        ("remove", pa.struct([*_FILE, ("deletionTimestamp", pa.int64())])),
        ("cdc", pa.struct(_FILE)),
        ("sidecar", pa.struct([("path", pa.string())])),
    ]
)
"""What is read of a line: the fields of the actions that change which files there are."""


def read_lines(commits: Sequence[bytes]) -> tuple[pa.Table, list[int]]:
    """The lines of whole commits, which end with a newline, as `LINES`; and how many of them
    each commit has. Raises `CorruptLogError` for what is not an action."""
    counts = [_count_lines(data) for data in commits]
    joined = commits[0] if len(commits) == 1 else b"".join(commits)
    if not joined:
        return pa.Table.from_batches([], LINES), counts
    table = read_json(joined)
    if table.num_rows != sum(counts):  # blank lines, or what pyarrow reads in another way
        plain = [_without_blanks(data) for data in commits]
        counts = [data.count(b"\n") for data in plain]
        table = _read_one_by_one(b"".join(plain))
    return table, counts


def _count_lines(data: bytes) -> int:
    # some times faster than to count in bytes, and in a processor's cache faster still
    found = np.frombuffer(data, np.uint8)
    pieces = range(0, len(found), _COUNTED_AT_ONCE)
    return sum(
        int(np.count_nonzero(found[start : start + _COUNTED_AT_ONCE] == _NEWLINE))
        for start in pieces
    )


def _without_blanks(data: bytes) -> bytes:
    kept = [line for line in data.split(b"\n") if line and not line.isspace()]
    return b"".join(line + b"\n" for line in kept)


def read_json(data: bytes) -> pa.Table:
    """Lines as `LINES`; raises `CorruptLogError`."""
    import pyarrow.json as pj  # noqa: PLC0415  # only where all commits are read

    options = pj.ParseOptions(explicit_schema=LINES, unexpected_field_behavior="ignore")
    for block in (_PARSED_AT_ONCE, len(data) + 1):  # a line may be longer than a block
        try:
            return pj.read_json(
                pa.BufferReader(data),
                # whoever asks parses several commits at once: more threads only get in the way
                read_options=pj.ReadOptions(block_size=block, use_threads=False),
                parse_options=options,
            )
        except pa.ArrowException:
            continue
    return _read_one_by_one(data)


def _read_one_by_one(data: bytes) -> pa.Table:
    """What pyarrow's reader refuses, such as a number beyond 64 bits in a field that counts
    for nothing here."""
    rows: list[dict[str, Any]] = []
    for line in data.split(b"\n"):
        if line:
            try:
                found = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise unreadable("a line is not JSON") from error
            rows.append({name: found.get(name) for name in LINES.names} if found else {})
    try:
        return pa.Table.from_pylist(rows, schema=LINES)
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise unreadable("a field has the wrong type") from error


def unreadable(what: str) -> CorruptLogError:
    """The error for a log file in which something is wrong."""
    return CorruptLogError(
        "The log cannot be replayed.",
        reason=f"In one of its files, {what}.",
        remedy="Restore the log from a backup.",
        spec="Actions",
    )
