"""Which versions a change feed runs over, and whether it can be read
(spec: Add CDC File; Reader Requirements for AddCDCFile).

The feed must be enabled at each of the versions, their commits must be there, and
rows of all of them must fit the schema of the last one, by which they are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from explorer.comparison.matched_fields import MatchedField, match_schemas
from explorer.comparison.schema_changes import SchemaChange, schema_changes
from explorer.errors import InvalidArgumentError, NotFoundError, UnsupportedError
from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.log.commits.commit_info import monotonic, parse_commit_info
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import build_segment, missing_versions
from explorer.log.reconcile.small_actions import SmallActions
from explorer.progress import Watch
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.features.registry import check_reader
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.protocol.schema import StructType, parse_schema
from explorer.protocol.schema_walk import render_path
from explorer.protocol.table_properties.known_properties import CHANGE_DATA_FEED
from explorer.storage.ports import ReadStore
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table, contiguous_run
from explorer.table.times import in_commit_times, modification_times

SPEC = "Add CDC File"

CHANGE_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
"""What the feed adds to the columns of the table."""

# commits read for the checks are kept for their rows, up to so many bytes
_KEPT_BYTES = 64 * 2**20
_LABEL = "Reading commits"
_SHOWN_CHANGES = 3


@dataclass(frozen=True, kw_only=True)
class TableState:
    """What protocol and metadata are from some version on."""

    protocol: Protocol
    metadata: Metadata

    @cached_property
    def schema(self) -> StructType:
        """The columns; raises `CorruptLogError` (schema_invalid)."""
        return parse_schema(self.metadata.schema_string)

    @property
    def feeds(self) -> bool:
        """Whether commits made then record what a change feed needs."""
        return CHANGE_DATA_FEED.value_of(self.metadata.configuration)


@dataclass(frozen=True, kw_only=True)
class ChangeRange:
    """Versions whose changes can be read, as far as the log can tell.

    `end` is the snapshot of the last one. `states` say what was in force, by the
    version from which on it was.
    """

    table: Table
    listing: LogListing
    versions: range
    end: Snapshot
    states: Mapping[int, TableState]
    kept: Mapping[int, bytes]

    def commit(self, version: int) -> bytes:
        """The bytes of one commit."""
        held = self.kept.get(version)
        return read_listed_commit(self.table.store, version) if held is None else held

    def time_of(self, version: int, data: bytes) -> int | None:
        """When a version was committed, in milliseconds: as `Snapshot.timestamp`."""
        since = max(start for start in self.states if start <= version)
        state = self.states[since]
        active = in_commit_times(state.protocol, state.metadata)
        if active is not None and version >= active.since_version:
            return parse_commit_info(data, version).in_commit_ms
        return self._file_times.get(version)

    @cached_property
    def _file_times(self) -> dict[int, int]:
        run = contiguous_run(self.listing.commits)
        chain = [version for version in run if version < self.versions.stop]
        if not chain or chain[0] > self.versions.start:
            chain = list(self.versions)
        store, newest = self.table.store, chain[-1]

        def read_modified() -> Mapping[int, int]:
            return self.table.listed_times.up_to(store, newest).modified

        times = modification_times(store, self.listing, chain, read_modified)
        return dict(zip(chain, monotonic(times), strict=True))


def plan_changes(
    table: Table, from_version: int, to_version: int | None, watch: Watch
) -> ChangeRange:
    """Check the range, both ends inclusive; None means up to the latest version.

    Raises `InvalidArgumentError` for what cannot be meant, `NotFoundError` for versions
    that are not there, `UnsupportedError` (`change_feed_unavailable`) where commits are
    gone, the feed is not enabled, or one schema cannot serve all versions.
    """
    listing = table.listing()
    versions = _checked(from_version, to_version, build_segment(listing).version)
    if missing := missing_versions(listing.commits, versions.start, versions.stop - 1):
        raise _commits_gone(missing)
    end = table.snapshot(version=versions[-1])
    states, kept = _states(table, versions, watch)
    for version, state in states.items():
        if not state.feeds:
            raise _not_enabled(version, versions, states)
        check_reader(state.protocol, table.uri)
    _check_schemas(states, end)
    return ChangeRange(
        table=table, listing=listing, versions=versions, end=end, states=states, kept=kept
    )


def _checked(first: int, last: int | None, latest: int) -> range:
    for version in (first, last):
        whole = isinstance(version, int) and not isinstance(version, bool)
        if version is not None and not (whole and version >= 0):
            raise InvalidArgumentError(
                f"{str(version)[:40]} is not a valid version.",
                reason="Versions are whole numbers from 0 on.",
                remedy="Give the first and, if you like, the last version of the range.",
            )
    end = latest if last is None else last
    if last is not None and last < first:
        raise InvalidArgumentError(
            f"The range from version {first} to version {last} is empty.",
            reason="It ends before it begins.",
            remedy="Give the older version first.",
        )
    if max(first, end) > latest:
        raise NotFoundError(
            f"Version {max(first, end)} is not in this table's log.",
            reason=f"Its latest version is {latest}.",
            remedy=f"Ask for changes up to version {latest}.",
            kind="version_not_found",
            spec=SPEC,
        )
    return range(first, end + 1)


def _states(
    table: Table, versions: range, watch: Watch
) -> tuple[dict[int, TableState], dict[int, bytes]]:
    """What was in force from which version on, and the commits read for it, as far as
    they are few."""
    first = versions.start
    state = TableState(protocol=table.protocol(first), metadata=table.metadata(first))
    states, kept, size = {first: state}, dict[int, bytes](), 0
    for done, version in enumerate(versions):
        watch.step(done, 2 * len(versions), _LABEL)
        data = read_listed_commit(table.store, version)
        if (size := size + len(data)) <= _KEPT_BYTES:
            kept[version] = data
        if version > first and may_name(data, "metaData", "protocol"):
            found = _small_actions(data, version)
            state = TableState(
                protocol=found.protocol or state.protocol,
                metadata=found.metadata or state.metadata,
            )
            states[version] = state
    return states, kept


def _small_actions(data: bytes, version: int) -> SmallActions:
    found, name = SmallActions(), render_commit_name(version)
    for number, line in lines_reversed(data):
        action = parse_action(line, name, number)
        found.offer(action, f"{name}:{number}")
    return found


def read_listed_commit(store: ReadStore, version: int) -> bytes:
    """The bytes of a commit that the listing had."""
    try:
        return store.read(render_commit_path(version))
    except NotFoundError as error:
        raise _commits_gone([range(version, version + 1)]) from error


def _check_schemas(states: Mapping[int, TableState], end: Snapshot) -> None:
    check_feed_names(end.schema)
    broken = {
        version: changes
        for version, state in states.items()
        if (changes := breaking_changes(state, end))
    }
    if not broken:
        return
    version = next(iter(broken))
    since = min((start for start in states if start > max(broken)), default=end.version)
    raise _unavailable(
        f"Between version {version} and version {end.version} the schema changed in a way that "
        f"one table of changes cannot show: {render_changes(broken[version])}.",
        f"All rows are read by the schema of version {end.version}, and in that of version "
        f"{version} it cannot be told what they were, or some would be lost.",
        f"Read the changes in two ranges, up to version {since - 1} and from version {since} on.",
    )


def check_feed_names(schema: StructType) -> None:
    """Raise `UnsupportedError` where a column is called like one that the feed adds."""
    for name in schema.names:
        if name.lower() in CHANGE_COLUMNS:
            raise _unavailable(
                f"The table has a column {name[:60]!r} of its own.",
                "The feed adds columns of that name.",
                "Rename the column.",
            )


def breaking_changes(state: TableState, end: Snapshot) -> list[SchemaChange]:
    """The changes from the one to the other after which rows of the first cannot be read by the
    schema of the second, or some of their values would be lost."""
    moved = {
        render_path(match.path_after)
        for match in match_schemas(state, end)
        if isinstance(match, MatchedField) and _is_found_otherwise(match, state, end)
    }
    return [
        change
        for change in schema_changes(state, end)
        if _breaks(change) or (change.kind == "column mapping" and change.path in moved)
    ]


def _is_found_otherwise(match: MatchedField, state: TableState, end: Snapshot) -> bool:
    """Whether a column has another name in files than before: mapping was dropped, or the table
    replaced."""
    if match.before is None or match.after is None:
        return False
    names = [
        physical_name(item, column_mapping_mode(side.protocol, side.metadata.configuration))
        for item, side in ((match.before, state), (match.after, end))
    ]
    return names[0].lower() != names[1].lower()


def render_changes(changes: Sequence[SchemaChange]) -> str:
    """The first few changes, for a message."""
    return "; ".join(_shown(change) for change in changes[:_SHOWN_CHANGES])


def _breaks(change: SchemaChange) -> bool:
    if change.kind == "renamed":  # the case of a name does not matter in data files
        return (change.before or "").lower() != (change.after or "").lower()
    return change.kind in {"dropped", "type", "partitioning"}


def _shown(change: SchemaChange) -> str:
    sides = " to ".join(text[:60] for text in (change.before, change.after) if text is not None)
    return f"{change.path[:60]} {change.kind} ({sides})".lstrip()


def _commits_gone(missing: Sequence[range]) -> UnsupportedError:
    gap = missing[0]
    which = f"version {gap[0]}" if len(gap) == 1 else f"versions {gap[0]} to {gap[-1]}"
    return _unavailable(
        f"The changes of {which} can no longer be read.",
        "The commits are no longer in the log: a cleanup removed them, and checkpoints do not "
        "keep changes.",
        f"Ask for changes from version {missing[-1][-1] + 1} on.",
    )


def _not_enabled(
    version: int, versions: range, states: Mapping[int, TableState]
) -> UnsupportedError:
    last_off = max(start for start, state in states.items() if not state.feeds)
    on_again = min((start for start in states if start > last_off), default=None)
    later = (
        "Enable it (delta.enableChangeDataFeed = true) and read the changes made from then on."
        if on_again is None
        else f"Ask for changes from version {on_again} on."
    )
    return _unavailable(
        f"The table records no changes at version {version}.",
        f"The property {CHANGE_DATA_FEED.name} must be true at every version from {versions[0]} "
        f"to {versions[-1]}, and there it is not: updates need not have left both of their sides.",
        later,
    )


def _unavailable(problem: str, reason: str, remedy: str) -> UnsupportedError:
    return UnsupportedError(
        problem, reason=reason, remedy=remedy, kind="change_feed_unavailable", spec=SPEC
    )
