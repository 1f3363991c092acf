"""What it takes to enable each feature on a table that is there (spec: Table Features).

A rule says which properties switch a feature on, and what may stand in its way. Features
without a property are supported from then on, and used by whoever needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID, uuid5

from explorer.maintenance.plan.feature_names import Choice
from explorer.maintenance.plan.plan import Verdict
from explorer.protocol.actions import Metadata
from explorer.protocol.features.column_ids import has_column_ids, map_columns
from explorer.protocol.features.row_columns import row_column_names
from explorer.protocol.schema import StructType
from explorer.protocol.table_properties.known_properties import (
    COLUMN_MAPPING_MODE,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
)
from explorer.rows.changes.change_range import CHANGE_COLUMNS
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.protocol_rules import (
    ADD_THE_FEATURE,
    WRITTEN_FEATURES,
    lacking_features,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabling:
    """A table whose metadata a rule changes; `seed` names what has to have a new name."""

    metadata: Metadata
    schema: StructType
    seed: UUID


def _unchanged(enabling: Enabling) -> Metadata:
    return enabling.metadata


def _unopposed(enabling: Enabling) -> Iterator[str]:  # noqa: ARG001  # a rule like the others
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRule:
    """`switch` are the properties that turn the feature on; `describe` makes the metadata
    that it needs besides; `obstacles` say, as whole sentences, why it cannot be enabled."""

    switch: Mapping[str, str] = field(default_factory=dict)
    describe: Callable[[Enabling], Metadata] = _unchanged
    obstacles: Callable[[Enabling], Iterator[str]] = _unopposed


def _map_columns(enabling: Enabling) -> Metadata:
    return map_columns(enabling.metadata)


def _mapped_before(enabling: Enabling) -> Iterator[str]:
    is_mapped = COLUMN_MAPPING_MODE.value_of(enabling.metadata.configuration) != "none"
    if not is_mapped and has_column_ids(enabling.schema):
        yield (
            "columnMapping: columns have ids or physical names of an earlier mapping, and it is "
            "unknown which files were written with them."
        )


def _name_row_columns(enabling: Enabling) -> Metadata:
    metadata = enabling.metadata
    names = row_column_names(uuid5(enabling.seed, "row ids"), uuid5(enabling.seed, "rows"))
    held = metadata.configuration
    return replace(metadata, configuration={**names, **held, ROW_TRACKING.name: "true"})


def _suspended(enabling: Enabling) -> Iterator[str]:
    if ROW_TRACKING_SUSPENDED.value_of(enabling.metadata.configuration):
        yield f"rowTracking: {ROW_TRACKING_SUSPENDED.name} is true; set it to false first."


def _feed_columns_taken(enabling: Enabling) -> Iterator[str]:
    taken = [name for name in enabling.schema.names if name.lower() in CHANGE_COLUMNS]
    if taken:
        yield (
            f"changeDataFeed: the table has a column {taken[0]}, which the feed needs for "
            "itself; rename it first."
        )


_SUPPORT: Final = UpgradeRule()

RULES: Final[Mapping[str, UpgradeRule]] = {
    "allowColumnDefaults": _SUPPORT,
    "appendOnly": _SUPPORT,
    "changeDataFeed": UpgradeRule(
        switch={"delta.enableChangeDataFeed": "true"}, obstacles=_feed_columns_taken
    ),
    "checkConstraints": _SUPPORT,
    "columnMapping": UpgradeRule(describe=_map_columns, obstacles=_mapped_before),
    "deletionVectors": UpgradeRule(switch={"delta.enableDeletionVectors": "true"}),
    "domainMetadata": _SUPPORT,
    "generatedColumns": _SUPPORT,
    "identityColumns": _SUPPORT,
    "inCommitTimestamp": UpgradeRule(switch={"delta.enableInCommitTimestamps": "true"}),
    "invariants": _SUPPORT,
    "materializePartitionColumns": _SUPPORT,
    "rowTracking": UpgradeRule(describe=_name_row_columns, obstacles=_suspended),
    "timestampNtz": _SUPPORT,
    "typeWidening": UpgradeRule(switch={"delta.enableTypeWidening": "true"}),
    "v2Checkpoint": UpgradeRule(switch={"delta.checkpointPolicy": "v2"}),
    "vacuumProtocolCheck": _SUPPORT,
    "variantShredding": UpgradeRule(switch={"delta.enableVariantShredding": "true"}),
    "variantType": _SUPPORT,
}
"""By the name of the feature."""

_ICEBERG: Final = (
    "every data file would have to be rewritten with the ids of its columns; "
    "an engine with REORG TABLE ... APPLY (UPGRADE UNIFORM) does that"
)
_NOT_HERE: Final[Mapping[str, str]] = {
    "checkpointProtection": "it comes by itself when a feature is dropped and the history stays",
    "clustering": "its columns have to be named with it: ALTER TABLE ... CLUSTER BY does both",
    "icebergCompatV1": _ICEBERG,
    "icebergCompatV2": _ICEBERG,
    "catalogManaged": "only its catalog can take a table over",
}


_NOT_YET: Final = "what it asks of writers is not kept here yet"


def check_enabled_here(name: str) -> str:
    """The feature's name as protocols list it; raises `InvalidArgumentError`, with the
    reason, for one that is not known or not enabled here."""
    choice = Choice(done="enabled", names=RULES)
    found = choice.name_of(name)
    if found in RULES:
        return found
    if found.endswith(("-preview", "-dev")):
        stable = found.removesuffix("-preview").removesuffix("-dev")
        raise choice.refusal(found, f"it was a preview; {stable} took its place")
    if found not in WRITTEN_FEATURES:
        raise choice.refusal(found, _NOT_HERE.get(found, _NOT_YET))
    raise choice.refusal(found, _NOT_HERE[found])


def pointing_to_upgrade(
    verdict: Verdict, asking: Described, together_with: Collection[str] = ()
) -> Verdict:
    """A refusal for want of features says how a table that asks like this gets them,
    `together_with` others that are enabled in the same commit; or that it does not here."""
    missing = [item.name for item in lacking_features(asking)]
    if ADD_THE_FEATURE not in verdict.remedy or not missing:
        return verdict
    names = [name for name in missing if name in RULES]
    ways = [
        f"{name} is not enabled here ({_NOT_HERE.get(name, _NOT_YET)}): leave out, or unset, the "
        "property that asks for it."
        for name in missing
        if name not in RULES
    ]
    if names:
        wanted = " ".join([*together_with, *names])
        ways.append(f"Use upgrade {wanted}, which says who can no longer use the table.")
    return replace(verdict, remedy=verdict.remedy.replace(ADD_THE_FEATURE, " ".join(ways)))
