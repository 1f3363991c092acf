"""Which features a table supports and which are active (spec: Table Features)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final

from explorer.errors import CorruptLogError, DeltaError, UnsupportedError
from explorer.log.commits.commit_info import read_commit_info
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.registry import (
    FEATURES,
    TIMESTAMP_FEATURES,
    active_features,
    find_feature,
    is_active,
    is_supported,
    supported_features,
)
from explorer.protocol.features.table_feature import TableFacts
from explorer.protocol.schema import StructType, parse_schema
from explorer.records import record
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

_PREVIEWS: Final = ("-preview", "-dev")


@record
class FeatureState:
    """One feature at one version of a table; an active one is also supported. `active` is None
    where that is unknown, `note` says what keeps one that seems to be active from being so."""

    supported: bool
    active: bool | None
    note: str | None = None


@record
class FeatureFacts:
    """What features are judged by: `schema` is None where it cannot be read, `domains` (their
    configurations, by name) where a snapshot is refused. `untimed_version` is the version whose
    commit has no in-commit timestamp, None where it has one or that is unknown."""

    protocol: Protocol
    metadata: Metadata
    schema: StructType | None
    domains: Mapping[str, str] | None
    untimed_version: int | None = None


def feature_states(facts: FeatureFacts) -> dict[str, FeatureState]:
    """Every known feature and every other one that the table lists, by name, those
    that it supports first."""
    supported = supported_features(facts.protocol)
    active = frozenset(active_features(facts.protocol, facts.metadata, facts.schema, facts.domains))
    names = (*supported, *(name for name in FEATURES if name not in set(supported)))
    return {name: _state_of(name, name in supported, name in active, facts) for name in names}


def _state_of(
    name: str,
    supported: bool,  # noqa: FBT001  # what was found of the feature
    active: bool,  # noqa: FBT001
    facts: FeatureFacts,
) -> FeatureState:
    if not supported:
        return FeatureState(supported=False, active=False, note=_asked_for(name, facts))
    if find_feature(name) is None:
        return FeatureState(supported=True, active=None, note="not known to this release")
    if name == "clustering" and not active:
        if facts.domains is None:
            note = "by which columns only a snapshot says, and this table's is refused"
            return FeatureState(supported=True, active=None, note=note)
        note = "clustered by no column"
        return FeatureState(supported=True, active=False, note=note)
    if name in TIMESTAMP_FEATURES and active and facts.untimed_version is not None:
        note = f"its property is set, and the commit of version {facts.untimed_version} has no "
        return FeatureState(supported=True, active=False, note=f"{note}in-commit timestamp")
    return FeatureState(supported=True, active=active)


def _asked_for(name: str, facts: FeatureFacts) -> str | None:
    """What to say of a feature that properties or columns ask for, and the protocol does not
    support; a preview is asked for by the same ones as what came of it."""
    if name.endswith(_PREVIEWS):
        return None
    supported = supported_features(facts.protocol)
    if any(f"{name}{ending}" in supported for ending in _PREVIEWS):
        return None
    asked = TableFacts(metadata=facts.metadata, schema=facts.schema)
    if not FEATURES[name].is_asked_for(asked):
        return None
    return "properties or columns ask for it, and the protocol does not support it"


def facts_of_snapshot(snapshot: Snapshot, schema: StructType | None) -> FeatureFacts:
    """What the features of a snapshot are judged by."""
    domains = {name: found.configuration for name, found in snapshot.domains.items()}
    return FeatureFacts(
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        schema=schema,
        domains=domains,
        untimed_version=_untimed(snapshot),
    )


def facts_of_table(table: Table, version: int | None) -> FeatureFacts:
    """The same of a table at a version, also where its snapshot is refused; a snapshot is taken
    only where something depends on it."""
    protocol, metadata = table.protocol(version), table.metadata(version)
    schema = readable_schema(metadata)
    timed = any(is_active(name, protocol, metadata, schema) for name in TIMESTAMP_FEATURES)
    if timed or is_supported(protocol, "clustering"):
        with contextlib.suppress(UnsupportedError):
            return facts_of_snapshot(table.snapshot(version), schema)
    return FeatureFacts(protocol=protocol, metadata=metadata, schema=schema, domains=None)


def _untimed(snapshot: Snapshot) -> int | None:
    """The version, where its commit is there and has no in-commit timestamp."""
    try:
        found = read_commit_info(snapshot.store, snapshot.version)
    except DeltaError:
        return None
    return snapshot.version if found.in_commit_ms is None else None


def readable_schema(metadata: Metadata) -> StructType | None:
    """The schema, or None where it cannot be read."""
    try:
        return parse_schema(metadata.schema_string)
    except CorruptLogError:
        return None
