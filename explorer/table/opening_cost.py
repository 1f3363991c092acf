"""What opening a version costs: how many commits are replayed after its checkpoint, and how
many bytes of the log are read (spec: Checkpoints)."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import LogSegment
from explorer.protocol.filenames import LOG_FOLDER, render_commit_name
from explorer.storage.ports import ReadStore


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningCost:
    """`commits` are read one by one, with `commit_bytes`; `checkpoint_bytes` are those of the
    checkpoint's top level, sidecars not counted, 0 without one."""

    commits: int
    commit_bytes: int
    checkpoint_bytes: int


def opening_cost(store: ReadStore, listing: LogListing, segment: LogSegment) -> OpeningCost:
    """The cost of opening what `segment` puts together; files that are gone count nothing."""
    sizes = {name: info.size for name, info in listing.stored.items()}
    if not sizes:
        sizes = {info.name: info.size for info in store.list_folder(LOG_FOLDER)}
    names = () if segment.checkpoint is None else segment.checkpoint.names
    return OpeningCost(
        commits=len(segment.commits),
        commit_bytes=sum(sizes.get(render_commit_name(version), 0) for version in segment.commits),
        checkpoint_bytes=sum(sizes.get(name, 0) for name in names),
    )
