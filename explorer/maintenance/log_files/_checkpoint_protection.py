"""Whether a log may be cut before the version up to which a table protects its checkpoints
(proposed: Checkpoint Protection).

A feature was dropped there without its history: a checkpoint made by who does not know the
feature would be wrong. So all that history goes at once or none of it, unless no checkpoint is
made and none from the cut on goes, or every protocol in what goes is known here.
"""

from __future__ import annotations

from typing import Final

from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.maintenance.plan.guards import judge_features
from explorer.maintenance.plan.plan import Plan, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.maintenance.plan.step_types import CopyCheckpoint, WriteCheckpoint
from explorer.protocol.actions import parse_protocol
from explorer.protocol.features.registry import is_supported
from explorer.protocol.filenames import (
    LOG_FOLDER,
    LogFileKind,
    parse_log_file_name,
    render_commit_name,
)
from explorer.protocol.table_properties.known_properties import CHECKPOINT_PROTECTION_VERSION
from explorer.table.table import contiguous_run

_CHECKPOINTS: Final = frozenset(
    {
        LogFileKind.CHECKPOINT_CLASSIC,
        LogFileKind.CHECKPOINT_PART,
        LogFileKind.CHECKPOINT_V2,
    }
)


def judge_protection(context: PlanningContext, plan: Plan, cut: int | None) -> Verdict:
    """The verdict on a plan that cuts the log at the checkpoint of version `cut` (None: nowhere),
    by the files that it deletes and its steps."""
    guard = "checkpoint protection"
    until = protected_before(context)
    if not until:
        return Verdict(guard=guard, outcome="allow", message="No checkpoint is protected.")
    if cut is None or cut >= until:
        text = f"All history before version {until} is deleted together, or none of it."
        return Verdict(guard=guard, outcome="allow", message=text)
    if not _changes_checkpoints(plan, cut):
        text = f"No checkpoint is written, and none of version {cut} or later is deleted."
        return Verdict(guard=guard, outcome="allow", message=text)
    unknown = _unknown_protocol(context, cut)
    if unknown is None:
        text = "Every protocol in the deleted history is supported here."
        return Verdict(guard=guard, outcome="allow", message=text)
    return Verdict(
        guard=guard,
        outcome="refuse",
        message=f"Checkpoints before version {until} are protected, the log would be cut at "
        f"version {cut}, and version {unknown} has a protocol that is not known here.",
        remedy=f"Wait until all history before version {until} may go at once.",
    )


def protected_before(context: PlanningContext) -> int:
    """The version before which checkpoints are protected; 0 where none is."""
    if not is_supported(context.snapshot.protocol, "checkpointProtection"):
        return 0
    return CHECKPOINT_PROTECTION_VERSION.value_of(context.snapshot.metadata.configuration)


def _changes_checkpoints(plan: Plan, cut: int) -> bool:
    """Whether the plan makes a checkpoint, or deletes one of the cut or behind it."""
    if any(isinstance(step, WriteCheckpoint | CopyCheckpoint) for step in plan.steps):
        return True
    places = (path.rpartition("/") for path in plan.files.column("path").to_pylist())
    names = (parse_log_file_name(name) for folder, _, name in places if folder == LOG_FOLDER)
    return any(
        found is not None
        and found.kind in _CHECKPOINTS
        and found.version is not None
        and found.version >= cut
        for found in names
    )


def _unknown_protocol(context: PlanningContext, before: int) -> int | None:
    """The first version up to the cut whose protocol this engine does not fully know."""
    for version in contiguous_run(context.listing.commits):
        if version > before:
            return None
        name = render_commit_name(version)
        data = context.store.read(f"{LOG_FOLDER}/{name}")
        if not may_name(data, "protocol"):
            continue
        for number, line in lines_reversed(data):
            body = parse_action(line, name, number).get("protocol")
            if body is not None:
                found = judge_features(parse_protocol(body, f"{name}:{number}"))
                if found.outcome != "allow":
                    return version
    return None
