"""What is worked on file by file, in groups that take about as long as each other.

A group travels to its task as bytes inside the function that Spark sends there: so
neither plans nor event logs show it, and a task that is tried again does the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.errors import UnsupportedError
from explorer.table.counts import count
from explorer.table.frames import believed_sizes

_OPEN_COST: Final = 4 * 2**20
"""Bytes that could be read in the time that opening a file takes."""

_LARGEST: Final = 128 * 2**20
"""Bytes of a group, unless a single file has more: a task that fails does so much again."""

_FEW_FILES: Final = 32
"""Up to so many files are worked on here: a session of Spark takes longer to start."""

_MOST_GROUPS: Final = 10_000
_MOST_BYTES: Final = 100 * 2**20
"""Of all groups together: a message to a Connect server holds 128 MiB."""


def group_files(files: pa.Table, slots: int) -> tuple[bytes, ...]:
    """`files`, which have a column `size`, in groups of neighbours balanced by bytes,
    each as a compressed Arrow stream; `slots` tasks run at once.

    Raises `UnsupportedError` (`limit_exceeded`) for more files than can be sent.
    """
    if files.num_rows == 0:
        return ()
    ends = np.cumsum(believed_sizes(files) + _OPEN_COST)
    total = int(ends[-1])
    target = min(max(total // max(slots, 1), _OPEN_COST), _LARGEST)
    number = min(max(1, -(-total // target)), _MOST_GROUPS, files.num_rows)
    cuts = np.searchsorted(ends, np.arange(1, number) * (total / number), side="left") + 1
    bounds = np.unique(np.concatenate(([0], cuts, [files.num_rows]))).tolist()
    groups = tuple(pack_files(files.slice(start, end - start)) for start, end in pairwise(bounds))
    if (size := sum(map(len, groups))) > _MOST_BYTES:
        raise UnsupportedError(
            f"One job cannot read {count(files.num_rows, 'file')}.",
            reason=f"The list of the files takes {size:,} bytes; at most {_MOST_BYTES:,} can be "
            "sent to Spark.",
            remedy="Read fewer files at once, by a condition on a partition.",
            kind="limit_exceeded",
        )
    return groups


def are_few(files: pa.Table, most_bytes: int) -> bool:
    """Whether work on `files`, which have a column `size`, is done before Spark has begun."""
    return files.num_rows <= _FEW_FILES and int(believed_sizes(files).sum()) <= most_bytes


def unpack_files(group: bytes) -> pa.Table:
    """The files of one group."""
    with pa.ipc.open_stream(pa.py_buffer(group)) as stream:
        return stream.read_all()


def pack_files(files: pa.Table) -> bytes:
    """Some files as one group."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, files.schema, options=options) as writer:
        writer.write_table(files)
    return bytes(sink.getvalue())
