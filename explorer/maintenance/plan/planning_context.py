"""The planning context: the newest version of a table, its listing and the clock, as every planner
reads them first."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.log.folder.listing import LogListing, one_moment
from explorer.log.folder.segment import build_segment
from explorer.maintenance.plan.guards import protocol_fields
from explorer.maintenance.plan.newer_commits import anchor_of
from explorer.maintenance.plan.plan import Anchor, Subject
from explorer.progress import UNWATCHED, Watch
from explorer.storage.ports import ReadStore
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """The table at the time of planning. `now_ms` is the planner's clock, in milliseconds since
    1970."""

    table: Table
    listing: LogListing
    snapshot: Snapshot
    now_ms: int
    watch: Watch

    @property
    def store(self) -> ReadStore:
        """The store of the table, which can only read."""
        return self.table.store

    @property
    def log_store(self) -> ReadStore:
        """The same, to read files of the log: those that were read before are not asked for
        again."""
        return self.table.store_at(self.listing)

    @property
    def subject(self) -> Subject:
        """The table that the plan is for."""
        metadata = self.snapshot.metadata
        return Subject(
            uri=self.table.uri,
            id=metadata.id,
            name=metadata.name or self.table.uri.rstrip("/").rpartition("/")[2],
            protocol=protocol_fields(self.snapshot.protocol),
        )

    @property
    def anchor(self) -> Anchor:
        """The version that the plan is made on."""
        return anchor_of(self.log_store, self.snapshot.version)


def read_planning_context(table: Table, clock: Clock, watch: Watch = UNWATCHED) -> PlanningContext:
    """Read the newest version of a table; raises what `Table.snapshot` raises."""
    with one_moment():  # of one version, whoever commits meanwhile
        listing = table.listing()
        newest = build_segment(listing).version
        snapshot = table.snapshot(version=newest, progress=watch.progress, cancel=watch.cancel)
    return PlanningContext(
        table=table, listing=listing, snapshot=snapshot, now_ms=clock(), watch=watch
    )
