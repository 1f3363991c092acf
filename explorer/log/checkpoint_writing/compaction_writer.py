"""Writing log compaction files (spec: Log Compaction Files, Action Reconciliation).

A compaction says what a range of commits says once they are reconciled: the newest
action of each file, adds as well as removes (they may cancel what is older than the
range), the newest protocol and metadata, the last of each transaction and of each
domain, a removed one included. Commit provenance and change files are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.log.actions.fields import FileAction
from explorer.log.checkpoint_writing._checked_output import (
    CheckedFile,
    CheckedOutput,
    check_written,
    deleting_unless_done,
    not_read_back,
    open_checked_output,
)
from explorer.log.folder.listing import Compaction, LogListing
from explorer.log.folder.segment import missing_versions
from explorer.log.reconcile.replay import Replay
from explorer.log.reconcile.small_actions import SmallActions
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.commit_json import ActionLine, render_action, render_lines
from explorer.protocol.features.row_id_high_water_mark import HIGH_WATER_MARK_ACTION
from explorer.protocol.filenames import (
    LOG_FOLDER,
    render_commit_name,
    render_commit_path,
    render_compaction_name,
)
from explorer.storage.ports import ReadStore, WriteStore

_SPEC = "Log Compaction Files"
_PROGRESS_EVERY = 256

# lines are handed to the store in pieces of about this size
_PIECE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCompaction:
    """A log compaction file that reads back, and how many actions of each kind it has."""

    compaction: Compaction
    file: CheckedFile
    num_adds: int
    num_removes: int
    num_others: int


def write_compaction(
    store: WriteStore, listing: LogListing, first: int, last: int, *, watch: Watch = UNWATCHED
) -> WrittenCompaction:
    """Reconcile the commits `first` to `last`, both inclusive, into one file, which takes
    the place of one of that name.

    Raises `InvalidArgumentError` for a range that is none, or that lacks a commit, or
    whose commits hold no action that could be kept; `CorruptLogError` where a commit
    cannot be read, or where the store does not hold what was written.
    """
    check_range(listing, first, last)
    name = render_compaction_name(first, last)
    path = f"{LOG_FOLDER}/{name}"
    compaction = Compaction(first=first, last=last, name=name)
    with deleting_unless_done(store) as deleting:
        with open_checked_output(store, path) as sink:
            adds, removes = _LineWriter("add", sink), _LineWriter("remove", sink)
            replay = Replay(adds, removes)
            _read_newest_first(store, range(first, last + 1), replay, watch)
            others = build_lines(replay.small)
            if not (adds.count or removes.count or others):
                raise _nothing_to_say(first, last)
            adds.flush()
            removes.flush()
            sink.write(render_lines(others))
            written = sink.written(path)
        deleting(path)
        _check_reads_back(store, written, compaction, (adds.count, removes.count, replay.small))
    return WrittenCompaction(
        compaction=compaction,
        file=written,
        num_adds=adds.count,
        num_removes=removes.count,
        num_others=len(others),
    )


def check_range(listing: LogListing, first: int, last: int) -> None:
    """Raise `InvalidArgumentError` unless `first` to `last` are at least two commits that
    are all in the log."""
    versions = f"Version {first} alone" if first == last else f"Versions {first} to {last}"
    shown = f"{versions} cannot be compacted."
    if not 0 <= first < last:
        raise InvalidArgumentError(
            shown,
            reason="A log compaction file stands for at least two commits, the older one first.",
            remedy="Name a first version and a later last one.",
            spec=_SPEC,
        )
    if gaps := missing_versions(listing.commits, first, last):
        raise InvalidArgumentError(
            shown,
            reason=f"The commit of version {gaps[0][0]} is not in the log.",
            remedy="Choose a range whose commits are all there.",
            spec=_SPEC,
        )


def build_lines(small: SmallActions) -> list[ActionLine]:
    """The actions that are few as lines of a commit, removed domains included."""
    every = [
        *(action for action in (small.protocol, small.metadata) if action is not None),
        *small.transactions.values(),
        *small.domains.values(),
    ]
    lines = [render_action(action) for action in every]
    if (mark := small.row_id_high_water_mark) is not None:
        lines.append({HIGH_WATER_MARK_ACTION: {"highWaterMark": mark}})
    return lines


class _LineWriter:
    """Takes file actions as they are decided and writes each as a line; it holds no more
    than `_PIECE` bytes of them."""

    def __init__(self, kind: FileAction, sink: CheckedOutput) -> None:
        self._kind = kind
        self._sink = sink
        self._lines: list[ActionLine] = []
        self._bytes = 0
        self.count = 0

    def add(self, body: Mapping[str, Any], file: str, line: int, size: int) -> None:
        """Take one action; every field of it is kept."""
        del file, line
        self.count += 1
        self._lines.append({self._kind: body})
        self._bytes += size
        if self._bytes >= _PIECE:
            self.flush()

    def settle(self) -> None:
        """What cannot be used is found when the file is read back."""

    def flush(self) -> None:
        """Write what is held."""
        self._sink.write(render_lines(self._lines))
        self._lines, self._bytes = [], 0


def _read_newest_first(store: ReadStore, versions: range, replay: Replay, watch: Watch) -> None:
    newest_first = versions[::-1]
    files = store.read_many(map(render_commit_path, newest_first))
    for done, (version, data) in enumerate(zip(newest_first, files, strict=True)):
        if done % _PROGRESS_EVERY == 0:
            watch.step(done, len(versions), "Reading commits")
        replay.read_commit(data, render_commit_name(version))


def _check_reads_back(
    store: ReadStore,
    written: CheckedFile,
    compaction: Compaction,
    expected: tuple[int, int, SmallActions],
) -> None:
    check_written(store, written)
    try:
        adds, removes = _Counter(), _Counter()
        replay = Replay(adds, removes)
        replay.read_compaction(store.read(written.path), compaction)
    except DeltaError as error:
        raise not_read_back(written.path, error.reason.rstrip(".")) from error
    if (adds.count, removes.count, replay.small) != expected:
        raise not_read_back(written.path, "it does not hold the same actions")


class _Counter:
    """Counts file actions."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, body: Mapping[str, Any], file: str, line: int, size: int) -> None:
        """One more."""
        del body, file, line, size
        self.count += 1

    def settle(self) -> None:
        """The bytes are those that were written; only the actions are counted."""


def _nothing_to_say(first: int, last: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"Versions {first} to {last} cannot be compacted.",
        reason="Their commits hold no action that a log compaction file keeps, and readers "
        "refuse an empty one.",
        remedy="Choose a longer range.",
        spec=_SPEC,
    )
