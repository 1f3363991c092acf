"""How many rows each version changed, by the change data feed (spec: Add CDC File)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from explorer.errors import Problem
from explorer.inspect.answer import Answer, Document, Parameter
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, int64_column, time_column
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.rows.changes.change_counts import count_change
from explorer.rows.changes.feed import CHANGE_TYPES, label_problems, plan_feed
from explorer.table.frames import sum_of
from explorer.table.table import Table

COLUMNS: Final[dict[str, Column]] = {
    "version": (int64_column, pa.int64()),
    "timestamp": (time_column, TIME),
    **{kind: (int64_column, pa.int64()) for kind in CHANGE_TYPES},
    "other": (int64_column, pa.int64()),
    "num_files": (int64_column, pa.int64()),
    "bytes": (int64_column, pa.int64()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTotals:
    """The changes of versions `first` to `last`, a row of `versions` for each that changed a
    row: version, timestamp, how many rows of each type of change, and how many files, of how
    many bytes as far as the log says, hold them. `other` counts rows of types that the
    specification does not name, of which `problems` tell."""

    first: int
    last: int
    versions: pa.Table
    problems: tuple[Problem, ...] = ()

    @property
    def sentence(self) -> str:
        """How much changed, and in how many versions."""
        number = self.last - self.first + 1
        span = (
            f"versions {self.first:,} to {self.last:,}" if number > 1 else f"version {self.first:,}"
        )
        if not self.versions.num_rows:
            return f"No row changed in {span}."
        kinds = (*CHANGE_TYPES, "other")
        counts = {kind: sum_of(self.versions.column(kind)) for kind in kinds}
        parts = [
            f"{count:,} {verb}"
            for count, verb in (
                (counts["insert"], "inserted"),
                (counts["update_postimage"], "updated"),
                (counts["delete"], "deleted"),
                (counts["other"], "of another type"),
            )
            if count
        ]
        some = self.versions.num_rows
        where = (
            span
            if number == 1
            else f"{some:,} of {number:,} versions ({span.removeprefix('versions ')})"
        )
        return f"Rows changed in {where}: {', '.join(parts)}."


def change_totals(
    table: Table,
    from_version: int,
    to_version: int | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> ChangeTotals:
    """Count the changes that `explorer.read_changes` would read, version by version.

    No rows are read: footers, deletion vectors and the types of recorded changes say it.
    Raises what `explorer.read_changes` raises.
    """
    watch = Watch(progress=progress, cancel=cancel)
    feed = plan_feed(table, from_version, to_version, watch)
    versions = feed.range.versions
    rows = []
    labels: set[str] = set()
    for done, version in enumerate(versions):
        commit = feed.commit(version)
        counts: Counter[str] = Counter()
        for change in commit.changes:
            watch.step(done, len(versions), "Counting changes")
            counts.update(count_change(table.store, change, version))
        if counts.total():
            sizes = sum(max(change.file.size or 0, 0) for change in commit.changes)
            labels.update(counts)
            by_kind = [counts[kind] for kind in CHANGE_TYPES]
            by_kind.append(counts.total() - sum(by_kind))
            rows.append((version, commit.time_ms, *by_kind, len(commit.changes), sizes))
    return ChangeTotals(
        first=versions.start,
        last=versions.stop - 1,
        versions=build_frame(COLUMNS, rows),
        problems=label_problems(labels),
    )


def _ask(
    table: Table,
    progress: ProgressCallback | None,
    *,
    from_version: int,
    to_version: int | None = None,
) -> ChangeTotals:
    return change_totals(table, from_version, to_version, progress=progress)


def _documents(totals: ChangeTotals, limit: int | None) -> Iterator[Document]:
    yield {
        "from_version": totals.first,
        "to_version": totals.last,
        "sentence": totals.sentence,
        "problems": [problem.as_dict() for problem in totals.problems],
        "versions": list(plain_rows(totals.versions, limit)),
    }


CHANGE_TOTALS: Final = Answer(
    name="change_totals",
    parameters=(
        Parameter(name="from_version", kind="whole", is_required=True),
        Parameter(name="to_version", kind="whole"),
    ),
    ask=_ask,
    documents=_documents,
    reads="files",
)
