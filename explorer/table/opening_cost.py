"""What opening a version costs: which files of the log are read for it, and how many bytes
(spec: Checkpoints, Sidecar Files, Log Compaction Files)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.errors import NotFoundError
from explorer.log.folder.compactions import plan_replay
from explorer.log.folder.listing import Compaction, LogListing
from explorer.log.folder.segment import LogSegment
from explorer.log.load import LoadedVersion
from explorer.protocol.filenames import LOG_FOLDER, SIDECAR_FOLDER, render_commit_name
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    from explorer.log.checkpoint.read import Sidecar


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningCost:
    """`commits` are read one by one, with `commit_bytes`, others by the `compactions` that stand
    for them; `checkpoint_bytes` are those of the checkpoint's top level, `sidecar_bytes` those
    of its `sidecars`. What is not there counts 0."""

    commits: int
    commit_bytes: int
    checkpoint_bytes: int
    compactions: int = 0
    compaction_bytes: int = 0
    sidecars: int = 0
    sidecar_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """All that is read."""
        return (
            self.commit_bytes + self.checkpoint_bytes + self.compaction_bytes + self.sidecar_bytes
        )


def opening_cost(store: ReadStore, loaded: LoadedVersion) -> OpeningCost:
    """What was read to open a version; files that are gone since count no bytes."""
    sidecars = () if loaded.checkpoint is None else loaded.checkpoint.sidecars
    return _cost(store, loaded.listing, loaded.segment, loaded.tail.compactions, sidecars)


def expected_cost(store: ReadStore, listing: LogListing, segment: LogSegment) -> OpeningCost:
    """What a version would cost by the names in the log, before anything is read: which sidecars
    a checkpoint has is not known then, nor whether every file can be used."""
    steps = plan_replay(segment.commits, listing.compactions)
    compactions = [step for step in steps if isinstance(step, Compaction)]
    return _cost(store, listing, segment, compactions, ())


def _cost(
    store: ReadStore,
    listing: LogListing,
    segment: LogSegment,
    compactions: Sequence[Compaction],
    sidecars: Sequence[Sidecar],
) -> OpeningCost:
    sizes = {name: info.size for name, info in listing.stored.items()}
    if not sizes:
        sizes = {info.name: info.size for info in store.list_folder(LOG_FOLDER)}
    spared = {number for one in compactions for number in range(one.first, one.last + 1)}
    single = [number for number in segment.commits if number not in spared]
    names = () if segment.checkpoint is None else segment.checkpoint.names
    return OpeningCost(
        commits=len(single),
        commit_bytes=sum(sizes.get(render_commit_name(number), 0) for number in single),
        checkpoint_bytes=sum(sizes.get(name, 0) for name in names),
        compactions=len(compactions),
        compaction_bytes=sum(sizes.get(one.name, 0) for one in compactions),
        sidecars=len(sidecars),
        sidecar_bytes=_bytes_of(store, sidecars) if sidecars else 0,
    )


def _bytes_of(store: ReadStore, sidecars: Sequence[Sidecar]) -> int:
    """As the checkpoint says, or, where it does not, as they lie there."""
    if all(one.size is not None for one in sidecars):
        return sum(one.size or 0 for one in sidecars)
    try:
        found = {
            f"{SIDECAR_FOLDER}/{info.name}": info.size for info in store.list_folder(SIDECAR_FOLDER)
        }
    except NotFoundError:
        found = {}
    return sum(found.get(one.path, 0) if one.size is None else one.size for one in sidecars)
