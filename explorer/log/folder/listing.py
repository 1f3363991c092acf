"""What lies in a log folder, by kind (spec: Delta Log Entries, Checkpoints)."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from typing import Literal

from explorer.errors import NotFoundError
from explorer.protocol.filenames import (
    LOG_FOLDER,
    LogFileKind,
    parse_log_file_name,
    render_commit_name,
    split_versions,
)
from explorer.records import record
from explorer.storage.ports import (
    FolderStamp,
    ObjectInfo,
    RangeStore,
    ReadStore,
    StampedStore,
    offers,
)

CheckpointKind = Literal["classic", "multi-part", "v2"]


@record
class CheckpointFiles:
    """The files of one checkpoint; a multi-part one has them in the order of its parts."""

    version: int
    kind: CheckpointKind
    names: tuple[str, ...]

    @property
    def parts(self) -> int:
        """How many files it consists of, sidecars not counted."""
        return len(self.names)


@record
class Compaction:
    """A log compaction file and the versions, both inclusive, that it stands for."""

    first: int
    last: int
    name: str


@record
class LogListing:
    """A log folder at one moment.

    `commits` ascends. `checkpoints` holds the complete ones, oldest first and,
    within a version, the one to prefer last. `incomplete_checkpoints` lack a part.
    `foreign` are names outside the grammar. `stored` is what the store said of each file
    by the way; it is empty where asking would have cost more than the names.
    """

    commits: tuple[int, ...]
    checkpoints: tuple[CheckpointFiles, ...]
    incomplete_checkpoints: tuple[CheckpointFiles, ...]
    compactions: tuple[Compaction, ...]
    checksums: tuple[int, ...]
    has_last_checkpoint: bool
    foreign: tuple[str, ...]
    stored: Mapping[str, ObjectInfo] = field(default_factory=dict, compare=False, repr=False)

    def without(self, checkpoint: CheckpointFiles) -> LogListing:
        """The same folder, as if `checkpoint` were not in it."""
        kept = tuple(found for found in self.checkpoints if found != checkpoint)
        return replace(self, checkpoints=kept)

    def without_hint(self) -> LogListing:
        """The same folder, as if `_last_checkpoint` were not in it."""
        return replace(self, has_last_checkpoint=False)

    @property
    def latest_version(self) -> int | None:
        """The newest version that has a commit or a complete checkpoint."""
        newest = [self.commits[-1]] if self.commits else []
        if self.checkpoints:
            newest.append(self.checkpoints[-1].version)
        return max(newest, default=None)


# a V2 checkpoint names its sidecars and cannot mix with another run's files; a
# multi-part one is the only kind that a crash can leave half from one writer
_PREFERENCE: dict[CheckpointKind, int] = {"multi-part": 0, "classic": 1, "v2": 2}


# object stores list so many names in one request
_PAGE = 1000

# listing fewer takes no longer than to ask whether they are still the same
_WORTH_KEEPING = 1000

# what a version costs as an element of a tuple
_VERSION_BYTES = 40

# versions whose names differ in the last two digits alone: one prefix, and mostly one page
_GROUP = 100
_EDGE = 10


def build_listing(names: Iterable[str]) -> LogListing:
    """Sort names into kinds; the order of `names` does not matter."""
    commits, others = split_versions(list(names), ".json")
    checksums, others = split_versions(others, ".crc")
    checkpoints: list[CheckpointFiles] = []
    parts: defaultdict[tuple[int, int], dict[int, str]] = defaultdict(dict)
    compactions: list[Compaction] = []
    foreign: list[str] = []
    has_hint = False
    for name in others:
        parsed = parse_log_file_name(name)
        if parsed is None:
            foreign.append(name)
        elif parsed.kind is LogFileKind.LAST_CHECKPOINT:
            has_hint = True
        elif parsed.version is None:
            foreign.append(name)
        elif parsed.last_version is not None:
            compactions.append(
                Compaction(first=parsed.version, last=parsed.last_version, name=name)
            )
        elif parsed.part is not None and parsed.num_parts is not None:
            parts[parsed.version, parsed.num_parts][parsed.part] = name
        else:
            kind: CheckpointKind = "v2" if parsed.kind is LogFileKind.CHECKPOINT_V2 else "classic"
            checkpoints.append(CheckpointFiles(version=parsed.version, kind=kind, names=(name,)))
    complete, incomplete = _sort_parts(parts)
    return LogListing(
        commits=commits,
        checkpoints=tuple(
            sorted(
                checkpoints + complete,
                key=lambda found: (found.version, _PREFERENCE[found.kind], found.names),
            )
        ),
        incomplete_checkpoints=tuple(sorted(incomplete, key=lambda found: found.version)),
        compactions=tuple(sorted(compactions, key=lambda found: found.name)),
        checksums=checksums,
        has_last_checkpoint=has_hint,
        foreign=tuple(sorted(foreign)),
    )


def list_log(store: ReadStore) -> LogListing:
    """List the log folder of the table at the store's root."""
    if not offers(store, RangeStore):
        return build_listing(store.list_names(LOG_FOLDER))
    stored = {info.name: info for info in store.list_folder(LOG_FOLDER)}
    return replace(build_listing(stored), stored=stored)


class KeptListing:
    """The last listing of one long log, for as long as the store knows its folder unchanged;
    safe to share between threads."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._kept: tuple[FolderStamp, LogListing] | None = None

    @property
    def held_bytes(self) -> int:
        """What is kept takes so many bytes."""
        kept = self._kept
        return 0 if kept is None else _VERSION_BYTES * _num_versions(kept[1])

    def list_log(self, store: ReadStore) -> LogListing:
        """As the function of that name; the one that is kept where it holds still, or of the
        moment that `one_moment` is about."""
        listed = _LISTED.get()
        if listed is None:
            return self._list_log(store)
        if self not in listed:
            listed[self] = self._list_log(store)
        return listed[self]

    def _list_log(self, store: ReadStore) -> LogListing:
        now_ns = self._clock()
        if not offers(store, StampedStore):
            return list_log(store)
        if (kept := self._kept) is not None and kept[0] == store.folder_stamp(LOG_FOLDER, now_ns):
            return kept[1]
        listing = list_log(store)
        # asked for after the listing: what it tells then was so before it, and during it
        stamp = (
            store.folder_stamp(LOG_FOLDER, now_ns)
            if _num_versions(listing) >= _WORTH_KEEPING
            else None
        )
        self._kept = None if stamp is None else (stamp, listing)
        return listing

    def release(self) -> None:
        """Give it back, or give it up: what was listed turned out to be gone."""
        self._kept = None
        (_LISTED.get() or {}).pop(self, None)


_LISTED: ContextVar[dict[KeptListing, LogListing] | None] = ContextVar("listed", default=None)


@contextmanager
def one_moment() -> Iterator[None]:
    """Within it this thread lists each log once, so that all answers are about one moment, and a
    store is not asked again for what it has just told."""
    token = _LISTED.set({})
    try:
        yield
    finally:
        _LISTED.reset(token)


def _num_versions(listing: LogListing) -> int:
    return len(listing.commits) + len(listing.checksums)


def list_newer(store: ReadStore, held: LogListing) -> LogListing | None:
    """The log folder as it is now, where `held` knows it up to some version: only names
    about that version and later ones are listed. None where that saves nothing, where the
    store cannot, or where the log is not the same one."""
    if len(held.stored) <= _PAGE or not held.commits or not offers(store, RangeStore):
        return None
    known = newest = held.commits[-1]
    first = group = known // _GROUP
    found: dict[str, ObjectInfo] = {}
    while some := store.list_prefix(LOG_FOLDER, f"{group:018}"):
        found |= {info.name: info for info in some}
        newest = max(build_listing(found).commits, default=known)
        group += 1
        # what lies beyond a commit that is missing must be seen too
        if newest < group * _GROUP - _EDGE:
            break
    name = render_commit_name(known)
    if name not in found or found[name] != held.stored.get(name) or held.latest_version != known:
        return None
    older = {
        name: info
        for name, info in held.stored.items()
        if name[:18] < f"{first:018}" or not name[:18].isdigit()
    }
    stored = older | found
    return replace(build_listing(stored), stored=stored)


def info_of(store: ReadStore, listing: LogListing, name: str) -> ObjectInfo | None:
    """What the store says of a file in the log folder, at the time of `listing` where that
    knows and now where it does not; None for what does not exist."""
    if listing.stored:
        return listing.stored.get(name)
    try:
        return store.stat(f"{LOG_FOLDER}/{name}")
    except NotFoundError:
        return None


def _sort_parts(
    parts: dict[tuple[int, int], dict[int, str]],
) -> tuple[list[CheckpointFiles], list[CheckpointFiles]]:
    complete: list[CheckpointFiles] = []
    incomplete: list[CheckpointFiles] = []
    for (version, num_parts), found in parts.items():
        files = CheckpointFiles(
            version=version,
            kind="multi-part",
            names=tuple(found[part] for part in sorted(found)),
        )
        (complete if len(found) == num_parts else incomplete).append(files)
    return complete, incomplete
