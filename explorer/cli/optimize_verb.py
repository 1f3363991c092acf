"""The verb that writes data files again: fewer, without deleted rows, or in an order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import explorer
from explorer.progress import ProgressCallback

Where = Annotated[
    str | None,
    typer.Option(
        "--where", metavar="SQL", help="Only files that may hold a matching row, by the log."
    ),
]
TargetSize = Annotated[
    str | None,
    typer.Option(
        "--target-size",
        metavar="SIZE",
        help="How large files become, such as 128mb; by default as the table says, else 1gb.",
    ),
]
ZOrder = Annotated[
    list[str] | None,
    typer.Option(
        "--zorder",
        metavar="COLUMN",
        help="Order rows by this column; once more for each further one.",
    ),
]
Purge = Annotated[
    bool,
    typer.Option("--purge", help="Only files with a deletion vector, without its rows."),
]


def plan_optimize_verb(  # noqa: PLR0913  # the options of a command
    table: explorer.Table,
    *,
    where: Where = None,
    target_size: TargetSize = None,
    zorder: ZOrder = None,
    purge: Purge = False,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Plan to write small files again as few, or rows in an order, or do it: much on Spark.

    Example: delta-explorer optimize ./orders --where "day >= '2026-01-01'" --zorder customer
    """
    from explorer.maintenance.optimize.optimize import plan_optimize  # noqa: PLC0415  # brings Arrow

    del state_dir
    return plan_optimize(
        table,
        where=where,
        target_size=target_size,
        zorder_by=zorder or (),
        purge=purge,
        progress=progress,
    )
