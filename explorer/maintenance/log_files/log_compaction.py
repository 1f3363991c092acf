"""Planning a log compaction (spec: Log Compaction Files)."""

from __future__ import annotations

from explorer.errors import InvalidArgumentError
from explorer.log.checkpoint_writing.compaction_writer import build_lines, check_range
from explorer.log.reconcile.tail import replay_commits
from explorer.maintenance.plan.guards import judge_features, judge_log
from explorer.maintenance.plan.plan import Plan, Promise
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import WriteCompaction
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import LOG_FOLDER, render_commit_name
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.table.counts import count
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock

# commits that hold only provenance come in short runs
_LOOKED_THROUGH = 64


def plan_log_compaction(
    table: Table,
    first: int | None = None,
    last: int | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
) -> Plan:
    """One file for the commits `first` to `last`, both inclusive: by default all that are
    read after the newest checkpoint.

    Raises `InvalidArgumentError` for a range that is none or lacks a commit.
    """
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    snapshot = context.snapshot
    commits = snapshot.segment.commits
    if first is None and last is None and len(commits) < 2:
        chosen = None
    else:
        newest = snapshot.version if last is None else last
        oldest = (commits.start if commits else newest) if first is None else first
        if newest > snapshot.version:
            raise InvalidArgumentError(
                f"Version {newest} cannot be compacted.",
                reason=f"The newest version is {snapshot.version}.",
                remedy=f"Choose a range up to {snapshot.version}.",
                spec="Log Compaction Files",
            )
        if first is None and oldest >= newest:
            raise _no_beginning(newest, commits.start if commits else None)
        check_range(context.listing, oldest, newest)
        chosen = (oldest, newest)
    if chosen is not None and _says_nothing(context, *chosen):
        chosen = None
    held = {(found.first, found.last) for found in context.listing.compactions}
    steps = () if chosen is None or chosen in held else (_step(*chosen),)
    size = 0 if chosen is None else _bytes(context, *chosen)
    return Plan(
        operation="compact-log",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=_summary(chosen, size, has_steps=bool(steps)),
        parameters={"first": chosen and chosen[0], "last": chosen and chosen[1]},
        effect={"commit_bytes": size},
        verdicts=(judge_features(snapshot.protocol), judge_log(context.listing)),
        steps=steps,
        rests_on=(),
        promise=Promise(versions={str(snapshot.version): snapshot.num_files}),
        table=table,
    )


def _no_beginning(newest: int, oldest: int | None) -> InvalidArgumentError:
    """`oldest` is the first commit that readers take beside a checkpoint; None without any."""
    begins = "No commit is" if oldest is None else f"Version {oldest} is the first that is"
    return InvalidArgumentError(
        f"It is not said from which version on the commits up to {newest} are to be compacted.",
        reason=f"{begins} read after the newest checkpoint, and a log compaction file stands for "
        "at least two commits.",
        remedy="Name the first version too (--from).",
        spec="Log Compaction Files",
    )


def _says_nothing(context: PlanningContext, first: int, last: int) -> bool:
    """Whether a short range holds no action that a compaction keeps."""
    if last - first >= _LOOKED_THROUGH:
        return False
    tail = replay_commits(context.store, range(first, last + 1))
    return not (tail.decides_files or build_lines(tail.small))


def _step(first: int, last: int) -> WriteCompaction:
    return WriteCompaction(
        id="compaction",
        reason=f"Readers read one file instead of the commits {first} to {last}.",
        num_files=1,
        first=first,
        last=last,
    )


def _bytes(context: PlanningContext, first: int, last: int) -> int:
    wanted = {render_commit_name(version) for version in range(first, last + 1)}
    return sum(info.size for info in context.store.list_folder(LOG_FOLDER) if info.name in wanted)


def _summary(chosen: tuple[int, int] | None, size: int, *, has_steps: bool) -> str:
    if chosen is None:
        return "Too little was committed after the newest checkpoint; there is nothing to do."
    first, last = chosen
    if not has_steps:
        return f"The commits {first} to {last} have such a file already; there is nothing to do."
    number = count(last - first + 1, "commit")
    return (
        f"Writes one log compaction file for the {number} {first} to {last} "
        f"({render_byte_size(size)}); nothing is lost."
    )
