"""What it takes to take a feature away from a table again (spec: Table Features; the rules
are those of the reference).

A rule says what of the feature may be left nowhere, what a commit can switch off, and
whether the history has to be kept from readers that do not support the feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from explorer.maintenance.plan.feature_names import Choice
from explorer.protocol.actions import DomainMetadata, Metadata
from explorer.protocol.features.column_ids import has_column_ids
from explorer.protocol.features.registry import FEATURES
from explorer.protocol.features.row_id_high_water_mark import ROW_TRACKING_DOMAIN
from explorer.protocol.features.type_widening import TYPE_CHANGES_KEY
from explorer.protocol.schema_walk import walk_fields
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_POLICY,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    IN_COMMIT_TIMESTAMPS,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
    TYPE_WIDENING,
)
from explorer.protocol.table_properties.properties import check_constraints
from explorer.table.counts import have
from explorer.table.snapshot import Snapshot

_MAPPED: Final = (
    "columnMapping: data files name their columns by the mapping and would have to be "
    "rewritten; an engine that rewrites them can do it, with ALTER TABLE ... SET TBLPROPERTIES "
    "('delta.columnMapping.mode' = 'none')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """What of a feature is left that this operation does not take away, and who does."""

    message: str
    remedy: str


def _nothing(snapshot: Snapshot) -> Iterator[Obstacle]:  # noqa: ARG001  # a rule like the others
    return iter(())


def _no_domain(snapshot: Snapshot) -> list[DomainMetadata]:  # noqa: ARG001  # as above
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """`obstacles` are left for others to remove. `switched_off` are the properties with
    which nobody uses the feature any more, None for one that is unset; `domains` go with
    it. `protects_history`: old versions need the feature, and readers would do without."""

    obstacles: Callable[[Snapshot], Iterator[Obstacle]] = _nothing
    switched_off: Callable[[Mapping[str, str]], Mapping[str, str | None]] = lambda _: {}
    domains: Callable[[Snapshot], list[DomainMetadata]] = _no_domain
    protects_history: bool = False


def _constraints(snapshot: Snapshot) -> Iterator[Obstacle]:
    if names := sorted(check_constraints(snapshot.metadata.configuration)):
        shown = ", ".join(name[:60] for name in names[:5])
        yield Obstacle(
            message=f"checkConstraints: the table has {shown}, and new rows would no longer be "
            "checked.",
            remedy="Drop the constraints first: constraint drop NAME.",
        )


def _vectors(snapshot: Snapshot) -> Iterator[Obstacle]:
    number = snapshot.num_deletion_vectors
    if number and not DELETION_VECTORS.value_of(snapshot.metadata.configuration):
        yield Obstacle(
            message=f"deletionVectors: {have(number, 'file')} one in the newest version.",
            remedy="Rewrite the files without them: optimize --purge.",
        )


def _widened(snapshot: Snapshot) -> Iterator[Obstacle]:
    changed = [
        place.path
        for place in walk_fields(snapshot.schema)
        if place.field.metadata.get(TYPE_CHANGES_KEY)
    ]
    if changed:
        yield Obstacle(
            message=f"typeWidening: the type of {changed[0][:120]} was changed, and older files "
            "still have the former type.",
            remedy="Let an engine that rewrites these files drop the feature.",
        )


def _mapping(snapshot: Snapshot) -> Iterator[Obstacle]:
    mode = COLUMN_MAPPING_MODE.value_of(snapshot.metadata.configuration)
    if mode != "none" or has_column_ids(snapshot.schema):
        text, _, remedy = _MAPPED.partition("; ")
        yield Obstacle(message=f"{text}.", remedy=f"{remedy[0].upper()}{remedy[1:]}.")


def _unset(*names: str) -> Callable[[Mapping[str, str]], Mapping[str, str | None]]:
    return lambda held: {name: None for name in names if name in held}


def _times_off(held: Mapping[str, str]) -> Mapping[str, str | None]:
    off: dict[str, str | None] = {
        name: None for name in held if name.startswith("delta.inCommitTimestampEnablement")
    }
    if IN_COMMIT_TIMESTAMPS.value_of(held):
        off[IN_COMMIT_TIMESTAMPS.name] = "false"
    return off


def _vectors_off(held: Mapping[str, str]) -> Mapping[str, str | None]:
    return {DELETION_VECTORS.name: None} if DELETION_VECTORS.value_of(held) else {}


def _widening_off(held: Mapping[str, str]) -> Mapping[str, str | None]:
    return {TYPE_WIDENING.name: None} if TYPE_WIDENING.value_of(held) else {}


def _classic_checkpoints(held: Mapping[str, str]) -> Mapping[str, str | None]:
    # where the table says nothing, a large one would get V2 checkpoints again
    may_be_v2 = CHECKPOINT_POLICY.name not in held or CHECKPOINT_POLICY.value_of(held) == "v2"
    return {CHECKPOINT_POLICY.name: "classic"} if may_be_v2 else {}


def _every_domain(snapshot: Snapshot) -> list[DomainMetadata]:
    return [replace(domain, removed=True) for domain in snapshot.domains.values()]


def _row_tracking_domain(snapshot: Snapshot) -> list[DomainMetadata]:
    return [item for item in _every_domain(snapshot) if item.domain == ROW_TRACKING_DOMAIN]


DROP_RULES: Final[Mapping[str, DropRule]] = {
    "checkConstraints": DropRule(obstacles=_constraints),
    "columnMapping": DropRule(obstacles=_mapping, protects_history=True),
    "deletionVectors": DropRule(
        obstacles=_vectors, switched_off=_vectors_off, protects_history=True
    ),
    "domainMetadata": DropRule(domains=_every_domain),
    "inCommitTimestamp": DropRule(switched_off=_times_off),
    "materializePartitionColumns": DropRule(
        switched_off=_unset("delta.enableMaterializePartitionColumnsFeature")
    ),
    "rowTracking": DropRule(
        switched_off=_unset(
            ROW_TRACKING.name,
            ROW_TRACKING_SUSPENDED.name,
            ROW_ID_COLUMN.name,
            ROW_COMMIT_VERSION_COLUMN.name,
        ),
        domains=_row_tracking_domain,
    ),
    "typeWidening": DropRule(obstacles=_widened, switched_off=_widening_off, protects_history=True),
    "typeWidening-preview": DropRule(
        obstacles=_widened, switched_off=_widening_off, protects_history=True
    ),
    "v2Checkpoint": DropRule(switched_off=_classic_checkpoints, protects_history=True),
    "vacuumProtocolCheck": DropRule(protects_history=True),
}
"""By the name of the feature, as the registry has it."""

_ICEBERG: Final = "readers of the other format rely on its rules; no engine takes it away"
_IN_COLUMNS: Final = "columns may need it, and no engine takes it away"
_NOT_HERE: Final[Mapping[str, str]] = {
    "checkpointProtection": "the history that it protects has to be cut first, and reads it to "
    "its end; delta-spark drops it with TRUNCATE HISTORY",
    "clustering": "no engine takes it away; leave the table without clustering columns instead",
    "icebergCompatV1": _ICEBERG,
    "icebergCompatV2": _ICEBERG,
    "icebergCompatV3": _ICEBERG,
    "catalogManaged": "only its catalog can give a table back",
    **dict.fromkeys(
        (
            "allowColumnDefaults",
            "generatedColumns",
            "identityColumns",
            "invariants",
            "timestampNtz",
            "variantType",
        ),
        _IN_COLUMNS,
    ),
    "appendOnly": "no engine takes it away; set delta.appendOnly to false instead",
    "changeDataFeed": "no engine takes it away; set delta.enableChangeDataFeed to false instead",
}


def check_droppable(name: str) -> str:
    """The feature's name as the registry has it; raises `InvalidArgumentError`, with the
    reason, for one that is not known or not dropped here."""
    choice = Choice(done="dropped", names=[item for item in DROP_RULES if item in FEATURES])
    found = choice.name_of(name)
    if found not in DROP_RULES:
        raise choice.refusal(found, _NOT_HERE.get(found, "what it leaves is not known here"))
    return found


def remaining(snapshot: Snapshot, name: str) -> Iterator[Obstacle]:
    """What is left of a feature in a version, be it for others to remove or a property."""
    rule = DROP_RULES[name]
    yield from rule.obstacles(snapshot)
    for item in rule.switched_off(snapshot.metadata.configuration):
        yield Obstacle(message=f"{item} is set.", remedy="Plan drop-feature again.")
    if name == "domainMetadata" and snapshot.domains:
        yield Obstacle(
            message=f"The log holds {len(snapshot.domains)} configurations.",
            remedy="Plan drop-feature again.",
        )
    held = snapshot.segment.checkpoint
    if name == "v2Checkpoint" and held is not None and held.kind == "v2":
        yield Obstacle(
            message=f"The version is read from the V2 checkpoint of version {held.version}.",
            remedy="Write a classic checkpoint first.",
        )


def switched_off(metadata: Metadata, off: Mapping[str, str | None]) -> Metadata:
    """The metadata with these properties set, or unset where None."""
    configuration = {**metadata.configuration, **off}
    left = {name: value for name, value in configuration.items() if value is not None}
    return replace(metadata, configuration=left)
