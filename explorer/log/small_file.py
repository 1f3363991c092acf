"""Files of a log that are small in every sound table: how much is read of one that is not.

Whoever may write to the table decides how large such a file is, and a sparse one costs
its writer nothing. Each kind has one limit, and one reader that holds to it.
"""

from __future__ import annotations

from typing import Final

from explorer.errors import CorruptLogError
from explorer.storage.ports import ReadStore

LARGEST_HINT: Final = 16 * 2**20
"""Bytes of `_last_checkpoint`; those of tables with thousands of columns have some MB."""

LARGEST_CHECKSUM: Final = 64 * 2**20
"""Bytes of `N.crc`; those of small tables list all files, those of large ones do not."""

LARGEST_JSON_CHECKPOINT: Final = 2**30
"""Bytes of the top level of a V2 checkpoint in JSON; a table of a million files has less
with all of them in it, and nearly all writers put files into sidecars."""

MOST_SIDECARS: Final = 100_000
"""Sidecars that a checkpoint names; the reference writes one for some 50,000 files."""


def read_small_file(store: ReadStore, path: str, limit: int) -> bytes:
    """The whole object. Raises `CorruptLogError` where it has more than `limit` bytes, of
    which no more than one beyond the limit is read."""
    data = store.read(path, limit + 1)
    if len(data) > limit:
        name = path.rpartition("/")[2]
        raise CorruptLogError(
            f"The file {name} of the log cannot be read.",
            reason=f"It is larger than {limit >> 20} MiB, which no valid file of its kind is.",
            remedy="Find out who wrote it, and delete it: it holds nothing that is needed.",
        )
    return data
