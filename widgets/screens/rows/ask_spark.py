"""What only reading all rows can say: on Spark, in a session that is started when needed."""

from __future__ import annotations

from dataclasses import dataclass

from explorer import pipeline
from explorer.errors import InvalidArgumentError, Problem
from explorer.pipeline.diff.row_diff import RowKind
from explorer.progress import Watch
from explorer.protocol.schema_walk import render_path
from explorer.table.snapshot import Snapshot
from widgets.screens.rows.ask import Rows, plain_rows
from widgets.session.tables import TableService

KINDS: tuple[RowKind, ...] = ("inserted", "deleted", "updated")
SAMPLED = 20
"""Rows of each kind that are shown."""


@dataclass(frozen=True, kw_only=True)
class ExactRows:
    """How the rows of two versions differ; `samples` has a few of each kind there is."""

    diff: pipeline.RowDiff
    samples: dict[RowKind, Rows]

    def count(self, kind: RowKind) -> int:
        """Rows of one kind; none where updates cannot be told."""
        return int(getattr(self.diff, kind) or 0)


def count_rows_exactly(older: Snapshot, newer: Snapshot, watch: Watch) -> ExactRows:
    """Count them, then read some. Raises what `pipeline.diff_rows` raises; `UnsupportedError`
    of kind `missing_dependency` where Java or pyspark are missing."""
    watch.step(0, None, "Starting Spark, and planning what has to be read")
    diff = pipeline.diff_rows(
        older,
        newer,
        progress=watch.progress,
        cancel=watch.cancel,
    )
    samples = {}
    for kind in KINDS:
        if getattr(diff, kind):
            watch.step(0, None, f"Reading some rows that were {kind}")
            rows = diff.sample(kind, SAMPLED)
            samples[kind] = plain_rows(rows, is_cut=getattr(diff, kind) > rows.num_rows)
    return ExactRows(diff=diff, samples=samples)


@dataclass(frozen=True, kw_only=True)
class ExactColumn:
    """The exact figures of a column, and how many rows there are by statistics alone, None
    where these do not say; `problems` are those of the version, and of files that were read."""

    profile: pipeline.ColumnProfile
    num_rows: int | None
    problems: tuple[Problem, ...] = ()


def profile_column(service: TableService, version: int, column: str, watch: Watch) -> ExactColumn:
    """The exact figures of the column at a path; raises what `pipeline.profile` raises, and
    `InvalidArgumentError` for a field inside another."""
    snapshot = service.snapshot(version)
    names = {render_path((name,)): name for name in snapshot.schema.names}
    if column not in names:
        raise InvalidArgumentError(
            f"{column[:60]!r} cannot be profiled by itself.",
            reason="It is a field inside a column, and figures are made of whole columns.",
            remedy="Read the field with `pipeline.read` and count it there.",
        )
    watch.step(0, None, "Starting Spark, and planning what has to be read")
    (found,) = pipeline.profile(
        snapshot, [names[column]], progress=watch.progress, cancel=watch.cancel
    )
    return ExactColumn(profile=found, num_rows=snapshot.num_rows, problems=snapshot.problems)
