"""Which files a predicate leaves to read, which it rules out, and why: how `explorer.plan_scan` is
asked, and its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from explorer.inspect.answer import LIMIT, MOMENT, Answer, Document, Parameter
from explorer.inspect.frame_rows import plain_rows
from explorer.progress import ProgressCallback, Watch
from explorer.scan.plan import ScanPlan, plan_scan
from explorer.scan.predicate.predicate import SqlCondition
from explorer.table.table import Table


def _ask(
    table: Table,
    progress: ProgressCallback | None,
    *,
    where: str,
    version: int | None = None,
    timestamp: str | None = None,
) -> ScanPlan:
    snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
    return plan_scan(snapshot, where, evaluate=_evaluate, progress=progress)


def _evaluate(condition: SqlCondition, rows: pa.Table, watch: Watch) -> Sequence[bool | None]:
    """As `explorer.pipeline.evaluate_on_partitions`, of which few conditions have need: the way to
    Spark takes longer to import than the log of a small table to read."""
    from explorer.pipeline import evaluate_on_partitions  # noqa: PLC0415  # see above

    return evaluate_on_partitions(condition, rows, watch)


def _documents(plan: ScanPlan, limit: int | None) -> Iterator[Document]:
    yield {
        "version": plan.version,
        "where": None if plan.predicate is None else plan.predicate.text,
        "num_files": plan.num_files,
        "num_kept": plan.num_kept,
        "num_skipped": plan.num_skipped,
        "num_reference_skips": plan.num_reference_skips,
        "bytes_kept": plan.bytes_kept,
        "bytes_skipped": plan.bytes_skipped,
        "reasons": [
            {
                "kept": group.kept,
                "reason": group.reason,
                "num_files": group.num_files,
                "bytes": group.size_in_bytes,
            }
            for group in plan.by_reason(0)
        ],
        "problems": [problem.as_dict() for problem in plan.problems],
        "files": list(plain_rows(plan.reasons(limit=limit))),
    }


SKIP: Final = Answer(
    name="skip",
    parameters=(*MOMENT, Parameter(name="where", kind="text", is_required=True), LIMIT),
    ask=_ask,
    documents=_documents,
)
