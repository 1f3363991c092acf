"""`skip`: which files a predicate leaves to read, which it rules out, and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explorer.cli.hosting import open_named
from explorer.cli.json_lines import plain_rows, print_document
from explorer.cli.listings import Column, Row, print_cut, print_listing, print_note
from explorer.cli.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Timestamp,
    Uri,
    Version,
    check_one_point_in_time,
)
from explorer.cli.terminal import build_console, show_progress
from explorer.cli.wording import render_count, render_size

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.scan.plan import ScanPlan

Where = Annotated[
    str,
    typer.Argument(metavar="WHERE", help="A condition, as \"region = 'emea' AND amount > 10\"."),
]


def skip(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    where: Where,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Which files a query with this condition has to read, and why the others not.

    Example: delta-explorer skip ./orders "day >= '2026-11-01' AND amount > 100"
    """
    from explorer.pipeline import evaluate_on_partitions  # noqa: PLC0415  # as below
    from explorer.scan.plan import plan_scan  # noqa: PLC0415  # `--help` does without Arrow

    check_one_point_in_time(version, timestamp)
    table = open_named(uri, option)
    with show_progress() as progress:
        snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
        plan = plan_scan(snapshot, where, evaluate=evaluate_on_partitions, progress=progress)
    if as_json:
        print_document(_document(plan, plan.reasons(limit=limit)))
    else:
        _print_plan(plan, limit or SCREENFUL)


def _document(plan: ScanPlan, files: pa.Table) -> dict[str, Any]:
    return {
        "version": plan.version,
        "where": None if plan.predicate is None else plan.predicate.text,
        "num_files": plan.num_files,
        "num_kept": plan.num_kept,
        "num_skipped": plan.num_skipped,
        "bytes_kept": plan.bytes_kept,
        "bytes_skipped": plan.bytes_skipped,
        "problems": [problem.as_dict() for problem in plan.problems],
        "files": list(plain_rows(files)),
    }


def _print_plan(plan: ScanPlan, limit: int) -> None:
    console = build_console(sys.stdout)
    kept = f"{render_count(plan.num_kept)} of {render_count(plan.num_files)} files"
    total = render_size(plan.bytes_kept + plan.bytes_skipped)
    print_note(console, f"{kept} have to be read, {render_size(plan.bytes_kept)} of {total}")
    rows = list(plain_rows(plan.reasons(limit=limit)))
    if rows:
        print_listing(console, _FILES, rows)
    print_cut(console, len(rows), plan.num_files, "files")
    for problem in plan.problems:
        print_note(console, f"! {problem.problem} {problem.reason}")


def _fate(row: Row) -> str:
    return "read" if row["kept"] else "skipped"


_FILES = (
    Column(title="", render=_fate, style=lambda row: "bold" if row["kept"] else "dim"),
    Column(title="size", render=lambda row: render_size(row["size"]), align="right"),
    Column(title="why", render=lambda row: row["reason"], shrinks=True),
    Column(title="path", render=lambda row: row["path"], shrinks=True),
)
