"""The independent check of the kept files, which a vacuum must not delete.

They are computed twice: from the newest checkpoint and the commits after it, and here by
replaying all commits of a log without gaps. The two share no code but the specification, and
nothing but the bytes of the files that both read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError
from explorer.files.events import FileEvents
from explorer.files.name_index import NameIndex
from explorer.files.store_paths import NOWHERE, Places
from explorer.files.unkept import kept_by_commits, rows_kept_by_commits
from explorer.log.actions.columns import string_column
from explorer.log.plain_arrays import Numbers, build_array
from explorer.maintenance.plan.file_list import build_files
from explorer.maintenance.plan.guards import judge_failed_check, judge_independent_check
from explorer.maintenance.plan.plan import Verdict
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.maintenance.plan.used_features import every_metadata
from explorer.protocol.table_properties.known_properties import DELETED_FILE_RETENTION
from explorer.table.retention import milliseconds

_BY_FIRST = "kept by the checkpoint and the commits after it, and not by all commits"
_BY_SECOND = "kept by all commits, and not by the checkpoint and the commits after it"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentCheck:
    """The result of replaying all commits: the `events`, the rows of events whose files are
    kept (`kept_rows`), the files that only the commits keep (`further`: a checkpoint may leave
    old tombstones out), and the verdict with its `evidence`."""

    events: FileEvents | None
    kept_rows: Numbers
    further: Places
    verdict: Verdict
    evidence: tuple[pa.Table, ...] = ()


def check_independently(
    context: PlanningContext,
    replay: Callable[[], FileEvents],
    kept: NameIndex,
    cutoff_ms: int,
    tombstones_expire_ms: int,
) -> IndependentCheck:
    """Compute the kept files from all commits, which `replay` reads, and compare them with `kept`,
    those of the checkpoint and the commits after it.

    `cutoff_ms` is that of the plan; before `tombstones_expire_ms` the table's own retention
    lets a checkpoint leave tombstones out, so that only the commits know them. A checkpoint
    that was written while the retention was shorter has left out more, and rightly so.
    """
    try:
        events = replay()
        rows = rows_kept_by_commits(events, cutoff_ms)
        every = events.places(rows)
        strict = every
        if tombstones_expire_ms > cutoff_ms:
            strict = kept_by_commits(events, tombstones_expire_ms)
        only_first, further = _differences(kept, every.inside)
        only_second = _those_in(strict, further)
        if len(only_second) and (expired_ms := _ever_expired(context)) > tombstones_expire_ms:
            only_second = _those_in(kept_by_commits(events, expired_ms), only_second)
    except DeltaError as error:
        verdict = judge_failed_check(f"{error.problem} {error.reason}")
        nothing = np.zeros(0, np.int64)
        return IndependentCheck(events=None, kept_rows=nothing, further=NOWHERE, verdict=verdict)
    examples = [*only_first[:2].to_pylist(), *only_second[:2].to_pylist()]
    evidence = tuple(
        build_files(paths, action="leave", reason=reason)
        for paths, reason in ((only_first, _BY_FIRST), (only_second, _BY_SECOND))
        if len(paths)
    )
    return IndependentCheck(
        events=events,
        kept_rows=rows,
        further=Places(
            inside=pa.chunked_array([further]), written=every.written, outside=every.outside
        ),
        verdict=judge_independent_check(len(only_first), len(only_second), examples),
        evidence=evidence,
    )


def _those_in(kept: Places, names: pa.Array) -> pa.Array:
    return names.filter(pc.is_in(names, value_set=kept.inside)) if len(names) else names


def _ever_expired(context: PlanningContext) -> int:
    """The time before which tombstones were expired by the shortest retention that the table
    ever had: nobody says under which of them a checkpoint was written."""
    had = (
        DELETED_FILE_RETENTION.value_of(metadata.configuration)
        for metadata in every_metadata(context)
    )
    return context.now_ms - milliseconds(min(had))


def _differences(one: NameIndex, two: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """The names that are in one of both alone, each once."""
    at = one.positions_of(two)
    only_two = two.filter(build_array(at < 0))
    found = np.zeros(len(one.names), np.bool_)
    found[at[at >= 0]] = True
    rest = one.names.filter(build_array(~found))
    # a name that stands there twice is always found at the same one of its places
    only_one = rest.filter(build_array(~found[one.positions_of(rest)]))
    return _once(only_one), _once(only_two)


def _once(texts: pa.ChunkedArray) -> pa.Array:
    return pc.unique(texts) if len(texts) else string_column([])
