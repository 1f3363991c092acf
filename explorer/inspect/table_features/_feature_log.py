"""What commits say about features: the protocol in force, and what metadata and domains make
active (spec: Table Features, Protocol Evolution).

A commit never changes, so that each is read once for a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from explorer.errors import CorruptLogError, DeltaError
from explorer.inspect.commits.commit_fold import CommitFold
from explorer.inspect.commits.commit_lines import find_bodies
from explorer.log.commits.commit_info import parse_commit_info
from explorer.log.folder.listing import LogListing
from explorer.progress import Watch
from explorer.protocol.actions import Metadata, Protocol, parse_metadata, parse_protocol
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN
from explorer.protocol.features.column_rules import without_high_water_marks
from explorer.protocol.features.registry import active_features, is_supported
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.schema import StructType, parse_schema
from explorer.table.table import Table

_PROVENANCE: Final = ("operation", "userName", "engineInfo")
_KINDS: Final = ("protocol", "metaData", "domainMetadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureChange:
    """What a commit says that may change features, its place, and who wrote it.

    `protocol` is None where it has no protocol action; `active` are the features that are
    active after it, None where that is not known. `lines` are those of its actions, by kind;
    without one the change was not found in a commit but in the oldest checkpoint.
    """

    version: int
    protocol: Protocol | None
    active: frozenset[str] | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    info: Mapping[str, Any] | None = None

    def active_line(self, name: str) -> int | None:
        """The line that made a feature active, if this change did."""
        kinds = ("domainMetadata",) if name == "clustering" else ("metaData",)
        return next((self.lines[kind] for kind in (*kinds, "protocol") if kind in self.lines), None)


def feature_changes(
    table: Table, listing: LogListing, version: int | None, watch: Watch
) -> list[FeatureChange]:
    """Every change up to a version, oldest first; where the first commits are gone, what the
    oldest checkpoint has comes first."""
    last = listing.latest_version if version is None else version
    versions = [number for number in listing.commits if last is None or number <= last]
    start = _NOTHING
    if not versions or versions[0] > 0:
        start = next(_oldest_checkpoint(table, listing, last), _NOTHING)
    changes = [] if start.change is None else [start.change]
    if versions:
        # commits may have been cleaned up since they were read
        present = set(versions)
        found = _FOUND.upto(table, versions, replace(start, change=None), watch)
        changes += [change for change in found if change.version in present]
    return sorted(changes, key=lambda change: change.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What is in force; `domains` are the configurations of those that make features active,
    None where that is not known, and `change` is what says so."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    domains: Mapping[str, str] | None = None
    change: FeatureChange | None = None

    @property
    def active(self) -> frozenset[str] | None:
        """The features that are active."""
        if self.protocol is None or self.metadata is None:
            return None
        schema = _schema_of(self.metadata)
        return frozenset(active_features(self.protocol, self.metadata, schema, self.domains))


_NOTHING: Final = _State()


def _after(data: bytes, version: int, before: _State) -> tuple[_State, FeatureChange | None]:
    """What is in force after a commit, and what it says of that, if anything."""
    name = render_commit_name(version)
    state, lines = before, dict[str, int]()
    if version == 0 and state.domains is None:
        state = replace(state, domains={})
    for number, kind, body in find_bodies(data, name, _KINDS):
        place = f"{name}:{number}"
        try:
            if kind == "protocol":
                state = replace(state, protocol=parse_protocol(body, place))
            elif kind == "metaData":
                state = replace(state, metadata=parse_metadata(body, place))
            elif isinstance(body, Mapping) and body.get("domain") == CLUSTERING_DOMAIN:
                state = replace(state, domains=_domains_after(body))
            else:
                continue
        except CorruptLogError:
            continue  # the timeline tells of broken commits
        lines[kind] = number
    if not lines:
        return state, None
    change = FeatureChange(
        version=version,
        protocol=state.protocol if "protocol" in lines else None,
        active=state.active,
        lines=lines,
        info=_provenance(data, version),
    )
    return state, change


_FOUND: Final = CommitFold("Reading protocol changes", _after)


def _domains_after(body: Mapping[str, Any]) -> dict[str, str]:
    configuration = body.get("configuration")
    if body.get("removed") is True or not isinstance(configuration, str):
        return {}
    return {CLUSTERING_DOMAIN: configuration}


def _provenance(data: bytes, version: int) -> dict[str, Any]:
    try:
        told = parse_commit_info(data, version).body
    except CorruptLogError:
        return {}
    return {key: told.get(key) for key in _PROVENANCE}


def _oldest_checkpoint(table: Table, listing: LogListing, last: int | None) -> Iterator[_State]:
    for checkpoint in listing.checkpoints:
        if last is not None and checkpoint.version > last:
            return
        try:
            protocol = table.protocol(checkpoint.version)
            metadata = table.metadata(checkpoint.version)
        except DeltaError:
            continue  # a broken checkpoint; a later one says something, if less
        domains = _domains(table, checkpoint.version, protocol)
        state = _State(protocol=protocol, metadata=metadata, domains=domains)
        change = FeatureChange(version=checkpoint.version, protocol=protocol, active=state.active)
        yield replace(state, change=change)
        return


def _domains(table: Table, version: int, protocol: Protocol) -> dict[str, str] | None:
    """The domain of clustering at a version; None where only a snapshot would say, and there is
    none."""
    if not is_supported(protocol, "clustering"):
        return {}
    try:
        domain = table.snapshot(version).domains.get(CLUSTERING_DOMAIN)
    except DeltaError:
        return None
    return {} if domain is None else {CLUSTERING_DOMAIN: domain.configuration}


def _schema_of(metadata: Metadata) -> StructType | None:
    text = metadata.schema_string  # the marks make no feature active
    return _parsed(None if text is None else without_high_water_marks(text))


@lru_cache(maxsize=4)
def _parsed(schema_string: str | None) -> StructType | None:
    try:
        return parse_schema(schema_string)
    except CorruptLogError:
        return None
