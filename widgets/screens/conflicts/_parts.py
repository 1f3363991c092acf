"""Conflicts as pieces of the page: who won, by which rule, and in what they overlap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from widgets.text import UNKNOWN, cut, format_count, format_minute, format_time
from widgets.ui.table import Cell, Column, Row

CONFLICT_COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="time", label="Committed (UTC)", wide=True),
    Column(key="operation", label="Operation"),
    Column(key="rule", label="Rule"),
    Column(key="reason", label="Why", wraps=True),
    Column(key="overlap", label="Overlap", mono=True),
    Column(key="by", label="By", wide=True),
)


def build_conflict_row(entry: Mapping[str, Any]) -> Row:
    """One conflict; a click compares the winner with the version before it."""
    by = ", ".join(str(entry[key]) for key in ("user_name", "engine_info") if entry[key])
    overlap, total = str(entry["overlap"]), int(entry["num_overlaps"])
    rule = str(entry["rule"])
    spec = entry["spec"]
    return Row(
        cells=(
            Cell(text=format_count(entry["version"]), title=str(entry["log_file"])),
            Cell(text=format_minute(entry["timestamp"]), title=format_time(entry["timestamp"])),
            Cell(text=cut(str(entry["operation"] or UNKNOWN), 40)),
            Cell(text=rule, title=f"Specification: {spec}" if spec else "A rule of isolation"),
            Cell(text=str(entry["reason"])),
            Cell(
                text=f"{_many(total, str(entry['overlap_kind']))}: {cut(overlap, 60)}",
                title=cut(overlap, 2000),
            ),
            Cell(text=cut(by, 44) or UNKNOWN, title=cut(by, 300), muted=not by),
        ),
        action="version",
        value=str(entry["version"]),
    )


OUTLOOK_COLUMNS = (
    Column(key="transaction", label="Transaction", wraps=True),
    Column(key="safe", label="Safe if it read", wraps=True),
    Column(key="version", label="Conflicts with", wraps=True),
    Column(key="rule", label="Rule", wide=True),
    Column(key="reason", label="Why", wraps=True),
)


def build_outlook_row(entry: Mapping[str, Any], num_commits: int) -> Row:
    """One kind of transaction; a click compares the commit in its way with the version before."""
    kind, where = str(entry["transaction"]), entry["where"]
    said = _TRANSACTIONS[kind]
    if where:
        said = f"{said} {cut(str(where), 80)}"
    safe, version, spec = format_count(entry["safe_from"]), entry["version"], entry["spec"]
    asked = Cell(text=said, title=None if where is None else cut(str(where), 2000))
    if version is None:
        none = Cell(text="none", muted=True)
        return Row(cells=(asked, Cell(text=f"any version from {safe} on"), none, _NONE, _NONE))
    met = f"{format_count(version)} {cut(str(entry['operation'] or UNKNOWN), 40)}"
    number = f"{format_count(entry['num_conflicting'])} of {format_count(num_commits)}"
    # not of one transaction: no compaction rewrites files that a commit after its version added,
    # and a later one removed
    counted = f"{number} commits conflict, each with one that read the version just before it"
    return Row(
        cells=(
            asked,
            Cell(text=f"version {safe} or newer"),
            Cell(text=met, title=f"{format_time(entry['timestamp'])}; {counted}"),
            Cell(text=str(entry["rule"]), title=f"Specification: {spec}" if spec else None),
            Cell(text=str(entry["reason"])),
        ),
        action="version",
        value=str(version),
    )


_NONE: Final = Cell(text="")
_TRANSACTIONS: Final = {
    "append": "Append: reads no rows",
    "change": "DELETE, UPDATE or MERGE: reads all rows",
    "change in partition": "DELETE, UPDATE or MERGE where",
    "compaction": "Compaction of files that others changed since",
    "metadata": "Change of the schema or properties",
}


def _many(number: int, kinds: str) -> str:
    """`1 path`, `3 paths`, `1 application id`."""
    return f"{format_count(number)} {kinds.removesuffix('s') if number == 1 else kinds}"
