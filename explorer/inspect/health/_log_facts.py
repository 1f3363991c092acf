"""What is known of a log before anything is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import LogSegment
from explorer.protocol.filenames import render_commit_name
from explorer.table.opening_cost import OpeningCost
from explorer.table.times import InCommitTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """What is known of a log. `sizes` and `modified` by the names directly in its folder, in
    bytes and milliseconds; `provenance` the commitInfo of the newest commits, oldest first,
    by version; `segment` and `cost` are None where the newest version cannot be reconstructed."""

    listing: LogListing
    segment: LogSegment | None
    cost: OpeningCost | None
    configuration: Mapping[str, str]
    active: InCommitTimes | None
    sizes: Mapping[str, int]
    modified: Mapping[str, int]
    provenance: Mapping[int, Mapping[str, Any]]
    hinted: int | None
    now_ms: int

    def time_of(self, version: int) -> int | None:
        """When the file of a commit was modified, in milliseconds."""
        return self.modified.get(render_commit_name(version))
