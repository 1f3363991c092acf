"""Which features a table supports and which are active (spec: Table Features)."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.errors import CorruptLogError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.registry import FEATURES, active_features, supported_features
from explorer.protocol.schema import StructType, parse_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureState:
    """One feature at one version of a table; an active one is also supported."""

    supported: bool
    active: bool


def feature_states(
    protocol: Protocol, metadata: Metadata, schema: StructType | None
) -> dict[str, FeatureState]:
    """Every known feature and every other one that the table lists, by name, those
    that it supports first; `schema` is None where it cannot be read."""
    supported = supported_features(protocol)
    active = set(active_features(protocol, metadata, schema))
    names = (*supported, *(name for name in FEATURES if name not in set(supported)))
    return {
        name: FeatureState(supported=name in supported, active=name in active) for name in names
    }


def readable_schema(metadata: Metadata) -> StructType | None:
    """The schema, or None where it cannot be read."""
    try:
        return parse_schema(metadata.schema_string)
    except CorruptLogError:
        return None
