"""Traces of a feature in the history of a table: what a reader who does not know the feature
would meet on the way to an old version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.errors import DeltaError
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.folder.listing import CheckpointFiles
from explorer.maintenance.features.drop_rules import DROP_RULES
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.protocol.actions import Metadata
from explorer.protocol.features.type_widening import type_changes
from explorer.protocol.filenames import render_commit_path
from explorer.protocol.schema import parse_schema
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_POLICY,
    COLUMN_MAPPING_MODE,
)
from explorer.protocol.table_properties.known_properties import DELETION_VECTORS as VECTORS
from explorer.transaction.concurrent_commit import parse_concurrent_commit

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The newest version whose log files still speak of a feature, and what does."""

    version: int
    what: str


def find_newest_trace(context: PlanningContext, feature: str) -> Trace | None:
    """Look through every commit and checkpoint that is there, newest first; None where no
    reader would miss the feature. Raises `CorruptLogError` for what cannot be read."""
    if not DROP_RULES[feature].protects_history:
        return None
    found = (_in_commits(context, feature), _in_checkpoints(context, feature))
    return max((item for item in found if item), key=lambda item: item.version, default=None)


def _in_commits(context: PlanningContext, feature: str) -> Trace | None:
    versions = context.listing.commits
    for done, version in enumerate(reversed(versions)):
        context.watch.step(done, len(versions), f"Looking for traces of {feature} in the history")
        commit = parse_concurrent_commit(version, context.store.read(render_commit_path(version)))
        if commit.metadata is not None and _metadata_uses(commit.metadata, feature):
            return Trace(version=version, what="its properties or its schema use the feature")
        if feature == "deletionVectors" and (_have(commit.adds) or _have(commit.removes)):
            return Trace(version=version, what="it speaks of files with deletion vectors")
    return None


def _in_checkpoints(context: PlanningContext, feature: str) -> Trace | None:
    """A checkpoint of the feature's own kind; and of the oldest one, where the commits before
    it are gone, what it holds."""
    checkpoints = context.listing.checkpoints
    if feature == "v2Checkpoint":
        found = [item for item in checkpoints if item.kind == "v2" or _reads_as_v2(context, item)]
        if found:
            return Trace(version=found[-1].version, what="it has a V2 checkpoint")
        return None
    commits = context.listing.commits
    if not checkpoints or (commits and commits[0] == 0):
        return None
    oldest = context.table.snapshot(version=checkpoints[0].version)
    files = oldest.physical_files("add", ["deletion_vector"])
    in_files = feature == "deletionVectors" and _have(files)
    if in_files or _metadata_uses(oldest.metadata, feature):
        return Trace(version=oldest.version, what="its checkpoint uses the feature")
    return None


def _reads_as_v2(context: PlanningContext, files: CheckpointFiles) -> bool:
    """Whether a checkpoint under the classic name has its files in sidecars."""
    try:
        return files.kind == "classic" and bool(read_checkpoint(context.store, files).sidecars)
    except DeltaError:
        return True  # unknown, so to be on the safe side


def _metadata_uses(metadata: Metadata, feature: str) -> bool:
    configuration = metadata.configuration
    match feature:
        case "deletionVectors":
            return VECTORS.value_of(configuration)
        case "v2Checkpoint":
            return CHECKPOINT_POLICY.value_of(configuration) == "v2"
        case "columnMapping":
            return COLUMN_MAPPING_MODE.value_of(configuration) != "none"
        case "typeWidening" | "typeWidening-preview":
            return _has_type_changes(metadata)
        case _:
            return False


def _has_type_changes(metadata: Metadata) -> bool:
    try:
        return bool(type_changes(parse_schema(metadata.schema_string)))
    except DeltaError:
        return True  # unknown, so to be on the safe side


def _have(files: pa.Table) -> bool:
    return bool(files.column("deletion_vector").null_count < files.num_rows)
