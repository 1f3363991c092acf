"""How to find the files in which two versions may differ without comparing all of them.

Each route names the keys of some files and promises that every other file is in both
versions or in neither, and the same. What the two versions hold under those keys is
then looked up in each, so that the routes agree: a file that was added and removed in between,
a tombstone of a file that was never there, and an add of a file that was there already
change nothing or are seen for what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison._aligned_files import find_runs, same_texts
from explorer.comparison._file_pairs import COMPARED_FIELDS
from explorer.comparison._fingerprints import Fingerprints, fingerprint
from explorer.comparison._numbers import Positions, null_mask
from explorer.comparison.looked_up_files import HeldFiles, LookedUpFiles, SomeFiles
from explorer.log.load import LoadedVersion
from explorer.log.plain_arrays import Flags, build_array, read_numbers
from explorer.log.reconcile.key_columns import KEY_COLUMNS, decided_keys, keys_of
from explorer.log.reconcile.tail import Tail
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Watch, while_working
from explorer.scan.live_file_reads import reduce_live_files
from explorer.table.snapshot import Snapshot

Route = Literal["same version", "log", "shared checkpoint", "independent"]

# so many rows of commits that are held are looked up sooner than commits are read
_FEW_ROWS = 20_000
# reading more commits takes longer than comparing a million files
_MANY_COMMITS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Files in which two versions may differ, as each of them holds them; every file
    that is not here is the same in both."""

    route: Route
    before: SomeFiles
    after: SomeFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedActions:
    """The last action of a run of commits on each file that they mention, with the columns
    of `Snapshot.files` and `tombstones`; partition values by physical names."""

    adds: pa.Table
    removes: pa.Table


def logged_actions(older: Snapshot, newer: Snapshot, watch: Watch) -> LoggedActions | None:
    """What the commits between two versions of one log say of files; None where there are
    none, or where they cannot be read."""
    first, last = sorted((older, newer), key=lambda snapshot: snapshot.version)
    start, end = first.loaded, last.loaded
    if start.segment.version == end.segment.version or not _is_one_log(start, end):
        return None
    tail = end.commits_since(start.segment.version, watch)
    return None if tail is None else LoggedActions(adds=tail.adds, removes=tail.removes)


def find_candidates(older: Snapshot, newer: Snapshot, watch: Watch) -> Candidates:
    """By the cheapest route that there is; `older` may be the newer version.

    Where both are of one log, the commits between them say which files to look at,
    or, by a checkpoint that both rest on, the commits after it; else every file does.
    """
    if older.version > newer.version:
        found = find_candidates(newer, older, watch)
        return Candidates(route=found.route, before=found.after, after=found.before)
    start, end = older.consult(_itself), newer.consult(_itself)
    if not _is_one_log(start, end):
        return _by_fingerprints(older, newer, watch)
    if start.segment.version == end.segment.version:
        nothing = HeldFiles(end.tail.adds.slice(0, 0))
        return Candidates(route="same version", before=nothing, after=nothing)
    shares = start.checkpoint is end.checkpoint
    commits = end.segment.version - start.segment.version
    between: Tail | None = None
    if not (shares and _rows_of(end.tail) <= _FEW_ROWS) and commits <= _MANY_COMMITS:
        between = end.commits_since(start.segment.version, watch)
    if between is not None:
        return _by_keys("log", between, older, end, watch)
    if shares:
        route: Route = "log" if end.checkpoint is None else "shared checkpoint"
        return _by_keys(route, end.tail, older, end, watch)
    return _by_fingerprints(older, newer, watch)


def _itself(loaded: LoadedVersion) -> LoadedVersion:
    return loaded


def _is_one_log(older: LoadedVersion, newer: LoadedVersion) -> bool:
    """Whether `newer` follows `older` in one log, as far as its store can tell."""
    if older.checkpoint is not None and older.checkpoint is newer.checkpoint:
        return True
    one_place = older.store is newer.store or older.store.uri == newer.store.uri
    return one_place and older.lies_in(newer.store)


def _rows_of(tail: Tail) -> int:
    return tail.add_rows.num_rows + tail.remove_rows.num_rows


def recorded_fields(older: Snapshot, newer: Snapshot) -> tuple[str, ...]:
    """The fields of which both versions record what a file has; a null in others says
    nothing, because a checkpoint may leave out columns."""

    def recorded(loaded: LoadedVersion) -> set[str]:
        return {name for name in COMPARED_FIELDS if loaded.state.records("add", name)}

    both = older.consult(recorded) & newer.consult(recorded)
    return tuple(name for name in COMPARED_FIELDS if name in both)


def _by_keys(
    route: Route, decided: Tail, older: Snapshot, newer: LoadedVersion, watch: Watch
) -> Candidates:
    """The adds of `decided`, commits up to `newer`, are in it; `older` is
    asked for every file that they speak of."""
    # without a checkpoint there is nothing that its state could save
    later = newer if newer.checkpoint is not None else None
    before = while_working(
        lambda: LookedUpFiles(older, decided_keys(decided), later), watch, "Looking up files"
    )
    return Candidates(route=route, before=before, after=HeldFiles(decided.adds))


def _by_fingerprints(older: Snapshot, newer: Snapshot, watch: Watch) -> Candidates:
    fields = recorded_fields(older, newer)
    sides = [_fingerprints(snapshot, fields, watch) for snapshot in (older, newer)]

    def look_up() -> tuple[SomeFiles, SomeFiles]:
        keys = _differing_keys(*sides)
        return LookedUpFiles(older, keys), LookedUpFiles(newer, keys)

    before, after = while_working(look_up, watch, "Looking up files")
    return Candidates(route="independent", before=before, after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prints:
    keys: pa.ChunkedArray
    prints: Fingerprints

    def only(self, rows: Flags) -> _Prints:
        """Those files whose flag is set."""
        if rows.all():
            return self
        # to take them by their places would join all chunks first
        return _Prints(keys=self.keys.filter(build_array(rows)), prints=self.prints[rows])


def _fingerprints(snapshot: Snapshot, fields: Sequence[str], watch: Watch) -> _Prints:
    columns = [*dict.fromkeys([*KEY_COLUMNS, *fields])]

    def reduce(files: FileColumns) -> _Prints:
        return _Prints(keys=keys_of(files.table), prints=fingerprint(files.table, fields))

    label = f"Comparing all files, those of version {snapshot.version:,}"
    found = reduce_live_files(snapshot, columns, (), reduce, watch, label)
    chunks = [chunk for part in found for chunk in part.keys.chunks]
    prints = [np.empty(0, np.uint64), *(part.prints for part in found)]
    return _Prints(keys=pa.chunked_array(chunks, pa.string()), prints=np.concatenate(prints))


def _differing_keys(before: _Prints, after: _Prints) -> pa.ChunkedArray:
    """The keys whose files are not one and the same in both."""
    runs = find_runs(before.prints, after.prints)
    aligned = same_texts(before.keys, after.keys, runs)
    left, right = before.only(~aligned[0]), after.only(~aligned[1])
    found = pc.index_in(right.keys, value_set=left.keys)
    at: Positions = read_numbers(found)
    same = ~null_mask(found)
    same[same] = left.prints[at[same]] == right.prints[same]
    # a broken log may hold a key twice: only one and one are the same
    times = np.bincount(at[same], minlength=len(left.prints))
    same[same] = times[at[same]] == 1
    keys = [left.only(times != 1).keys, right.only(~same).keys]
    if same.any() and aligned[0].any():
        held = before.only(aligned[0]).keys
        keys.append(held.filter(pc.is_in(held, value_set=right.only(same).keys)))
    return pa.chunked_array([chunk for part in keys for chunk in part.chunks], pa.string())
