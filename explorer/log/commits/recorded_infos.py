"""What many commits record of themselves, some thousand at a time (spec: Commit Provenance
Information)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from explorer.cycle_collector import without_collector
from explorer.log.commits.commit_info import (
    COMMITS_AT_A_TIME,
    HEAD_BYTES,
    read_body,
    read_provenance,
)
from explorer.log.commits.info_bodies import columns_of_bodies
from explorer.log.plain_arrays import build_array
from explorer.protocol.filenames import LOG_FOLDER, render_commit_names
from explorer.storage.ports import HeadStore, ReadStore, offers

if TYPE_CHECKING:
    from concurrent.futures import Future

    from explorer.log.commits.info_columns import InfoRows

ENOUGH: Final = 8192
"""Commits; fewer are read one by one before all that is needed for more is imported."""

AT_A_TIME: Final = 4096
"""Commits whose first lines are read into columns at once: enough that what a call costs does
not count, few enough that little is left to do when the last one has been fetched."""

# pieces; their files are held until they have been read
_AHEAD: Final = 2

# what one array of strings takes is bounded; lines beyond a file's head may be of any size
_MOST_BYTES: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedInfos:
    """What some commits record, as rows of `INFO_SCHEMA`, and the modification time of each
    in milliseconds since the epoch, None where reading does not tell it."""

    columns: pa.RecordBatch
    modified_ms: Sequence[int | None]


def read_recorded(store: ReadStore, versions: Sequence[int]) -> Iterator[RecordedInfos]:
    """What the commits of `versions` record, in this order; nothing where a commit cannot be
    parsed. While files are fetched, a thread reads those before into columns, where
    reading a file takes next to no time and there are many."""
    if offers(store, HeadStore) and len(versions) >= ENOUGH:
        return _read_in_columns(store, versions)
    return _read_one_by_one(store, versions)


def _read_one_by_one(store: ReadStore, versions: Sequence[int]) -> Iterator[RecordedInfos]:
    provenance = read_provenance(store, versions)
    while batch := list(islice(provenance, COMMITS_AT_A_TIME)):
        yield RecordedInfos(
            columns=columns_of_bodies([body for body, _ in batch]),
            modified_ms=[modified_ms for _, modified_ms in batch],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Some files that were fetched, and what comes of their first lines."""

    versions: Sequence[int]
    heads: Sequence[bytes]
    modified_ms: Sequence[int]
    coming: Future[list[InfoRows]]


def _read_in_columns(store: HeadStore, versions: Sequence[int]) -> Iterator[RecordedInfos]:
    # see `explorer.storage.concurrent_reads` for why the first is here; the other brings a parser
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from explorer.log.commits.info_columns import InfoReader  # noqa: PLC0415

    reader = InfoReader()
    waiting: deque[_Piece] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="delta-explorer-lines") as pool:
        try:
            for start in range(0, len(versions), AT_A_TIME):
                some = versions[start : start + AT_A_TIME]
                names = render_commit_names(some)
                heads, modified_ms = store.read_heads(LOG_FOLDER, names, HEAD_BYTES)
                # a line is whole if its newline is there
                lines = [head[: head.find(b"\n") + 1] for head in heads]
                coming = pool.submit(reader.read, lines)
                waiting.append(
                    _Piece(versions=some, heads=heads, modified_ms=modified_ms, coming=coming)
                )
                if len(waiting) > _AHEAD:
                    yield from _finish(store, waiting.popleft())
            while waiting:
                yield from _finish(store, waiting.popleft())
        finally:
            for piece in waiting:
                piece.coming.cancel()


def _finish(store: ReadStore, piece: _Piece) -> Iterator[RecordedInfos]:
    """What all commits of a piece record; those that are left are read one by one."""
    found = piece.coming.result()
    size = len(piece.versions)
    is_left = np.ones(size, np.bool_)
    for part in found:
        is_left[part.rows] = False
    left = np.flatnonzero(is_left)
    batches = [part.columns for part in found]
    for start in range(0, len(left), COMMITS_AT_A_TIME):
        some = left[start : start + COMMITS_AT_A_TIME].tolist()
        with without_collector():
            bodies = [read_body(store, piece.heads[at], piece.versions[at]) for at in some]
        batches.append(columns_of_bodies(bodies))
    if sum(batch.nbytes for batch in batches) > _MOST_BYTES:
        yield from _read_one_by_one(store, piece.versions)
        return
    columns = batches[0]
    if len(batches) > 1:
        order = np.empty(size, np.int32)
        order[np.concatenate([*(part.rows for part in found), left])] = np.arange(size)
        columns = pa.concat_batches(batches).take(build_array(order))
    yield RecordedInfos(columns=columns, modified_ms=piece.modified_ms)
