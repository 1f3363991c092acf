"""The newest version that can be read, where the newest one that the log names cannot be
(spec: Delta Log Entries, Checkpoints)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from explorer.errors import DeltaError, ErrorKind, NotFoundError
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import missing_versions
from explorer.log.load import LoadedVersion
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import LOG_FOLDER, SIDECAR_FOLDER
from explorer.storage.ports import ReadStore
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

READ_WHOLE: Final = 32 * 2**20
"""Bytes of a checkpoint up to which its content is read to see whether it can be."""

_MOST_RUNS: Final = 100
"""Checkpoints, the newest first, from which older versions are tried."""
_OF_THE_LOG: Final[frozenset[ErrorKind]] = frozenset(
    {"checkpoint_unusable", "log_corrupt", "log_gap", "metadata_missing", "protocol_missing"}
)
_OF_OTHERS: Final[frozenset[ErrorKind]] = frozenset(
    {"cancelled", "storage_failed", "storage_refused"}
)
_LABEL: Final = "Looking for the newest version that can be read"


def newest_readable(table: Table, watch: Watch = UNWATCHED) -> Snapshot | None:
    """The newest version that can be read with its files; None where none can.

    For showing a table whose newest version cannot be read: `Table.snapshot` never takes
    an older version unasked. Raises what the store does, and `CancelledError`.
    """
    for done, run in enumerate(_runs(table.listing())):
        if done == _MOST_RUNS:
            break
        watch.step(done, None, _LABEL)
        if (found := _newest_in(table, run, watch)) is not None:
            return found
    return None


def should_read_content(loaded: LoadedVersion, sizes: Mapping[str, int], limit: int) -> bool:
    """Whether the checkpoint of a version has no more than `limit` bytes, or a sidecar that cannot
    be the one it names: reading its content tells then whether it can be used. `sizes` are those
    of the files of the log, by their names below its folder."""
    if loaded.checkpoint is None:
        return True
    total = sum(sizes.get(name, 0) for name in loaded.checkpoint.files.names)
    for sidecar in loaded.checkpoint.sidecars:
        if not sidecar.path.startswith(f"{SIDECAR_FOLDER}/"):
            continue  # it lies elsewhere, where nobody listed
        size = sizes.get(sidecar.path.removeprefix(f"{LOG_FOLDER}/"))
        if size is None or sidecar.size not in (None, size):
            return True
        total += size
    return total <= limit


def open_whole(table: Table, watch: Watch = UNWATCHED, limit: int | None = READ_WHOLE) -> Snapshot:
    """The newest version, and the content of its checkpoint where that has no more than `limit`
    bytes, so that what is said of the log does not rest on its names alone.

    Raises what `Table.snapshot` does.
    """
    snapshot = table.snapshot(progress=watch.progress, cancel=watch.cancel)
    loaded = snapshot.loaded
    if limit is None or should_read_content(loaded, _sizes_of(table.store, loaded), limit):
        _ = snapshot.num_files
    return snapshot


def _sizes_of(store: ReadStore, loaded: LoadedVersion) -> dict[str, int]:
    if loaded.checkpoint is None:
        return {}
    sizes = {info.name: info.size for info in store.list_folder(LOG_FOLDER)}
    if loaded.checkpoint.sidecars:
        folder = SIDECAR_FOLDER.removeprefix(f"{LOG_FOLDER}/")
        with suppress(NotFoundError):
            found = store.list_folder(SIDECAR_FOLDER)
            sizes |= {f"{folder}/{info.name}": info.size for info in found}
    return sizes


def is_of_the_log(kind: ErrorKind) -> bool:
    """Whether the log itself is what keeps a version from being read, so that an older version
    may be shown in its place."""
    return kind in _OF_THE_LOG


def _runs(listing: LogListing) -> Iterator[range]:
    """Versions that begin at a checkpoint, or with the first commit, and go on commit by commit
    up to a gap or the next checkpoint; the newest first."""
    starts = sorted({0, *(found.version for found in listing.checkpoints)}, reverse=True)
    end = max(listing.latest_version or 0, 0) + 1
    for start in starts:
        is_checkpoint = any(found.version == start for found in listing.checkpoints)
        first = start + 1 if is_checkpoint else start
        gaps = missing_versions(listing.commits, first, end - 1)
        last = gaps[0][0] if gaps else end
        if last > start:
            yield range(start, last)
        end = start


def _newest_in(table: Table, run: range, watch: Watch) -> Snapshot | None:
    """The last of a run that can be read: where one cannot, none after it can."""
    found = _read(table, run[0], watch)
    if found is None or len(run) == 1:
        return found
    low, high = run[0], run[-1]
    while low < high:
        middle = (low + high + 1) // 2
        if (better := _read(table, middle, watch)) is None:
            high = middle - 1
        else:
            low, found = middle, better
    return found


def _read(table: Table, version: int, watch: Watch) -> Snapshot | None:
    try:
        snapshot = table.snapshot(version=version, progress=watch.progress, cancel=watch.cancel)
        _ = snapshot.num_files  # the files of a checkpoint are read when they are asked for
    except DeltaError as error:
        if error.kind in _OF_OTHERS:
            raise
        return None
    return snapshot
