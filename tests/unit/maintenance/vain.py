"""Receipts of runs that wrote files in vain, for the command line and the page."""

from __future__ import annotations

from typing import Any

from explorer.errors import Problem
from explorer.maintenance.documents.leftovers import as_result
from explorer.maintenance.documents.receipt import Receipt, Status, StepReceipt, StepStatus
from explorer.writing.files.leftovers import Leftovers

HOSTILE = "part=a/<img src=x onerror=window.ran=1>\x1b[31m.parquet"


def receipt_of(
    *found: Leftovers, uri: str = "/orders", status: Status = "failed", done: int = 0
) -> Receipt:
    """The receipt of an optimize with a step for each of `found`; `done` are the files of the
    first one that were written again before it ended."""
    begun: StepStatus = "partly" if status == "partly" else "done"
    steps = [
        StepReceipt(
            kind="rewrite_files",
            status=begun if done and not number else "not begun",
            planned=4,
            done=0 if number else done,
            result=as_result(left),
        )
        for number, left in enumerate(found)
    ]
    fields: dict[str, Any] = {"approved_by": None, "reason": None}
    problem = Problem(
        kind="store_failed", problem="It ended.", reason="A test says so.", remedy="None."
    )
    return Receipt(
        digest="d" * 64,
        operation="optimize",
        uri=uri,
        table_id="t",
        summary="Writes 4 files again.",
        status=status,
        started_at=1_780_000_000_000,
        ended_at=1_780_000_001_000,
        steps=tuple(steps),
        problem=problem,
        **fields,
    )
