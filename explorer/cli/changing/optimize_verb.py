"""The verb that rewrites data files: fewer, without deleted rows, or sorted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import explorer
from explorer.progress import ProgressCallback

Where = Annotated[
    str | None,
    typer.Option(
        "--where", metavar="SQL", help="Only files that may hold a row for which this is true."
    ),
]
TargetSize = Annotated[
    str | None,
    typer.Option(
        "--target-size",
        metavar="SIZE",
        help="The size of the new files, such as 128mb; by default what the table's properties "
        "say, else 1gb.",
    ),
]
ZOrder = Annotated[
    list[str] | None,
    typer.Option(
        "--zorder",
        metavar="COLUMN",
        help="Z-order rows by this column; may be repeated.",
    ),
]
Purge = Annotated[
    bool,
    typer.Option(
        "--purge",
        help="Only files with a deletion vector: rewrite them without the soft-deleted rows.",
    ),
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
    """Compact small files, sort rows, or purge soft-deleted rows.

    Large rewrites run on Spark.

    Example: delta-explorer optimize ./orders --where "day > '2026-01-01'" --zorder shop
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
