"""The change data feed as pieces of the page: how much each version changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from widgets.text import format_bytes, format_count, format_minute, format_time
from widgets.ui.table import Cell, Column, Row

TOTAL_COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="time", label="Committed (UTC)"),
    Column(key="inserted", label="Inserted", align="right"),
    Column(key="updated", label="Updated", align="right"),
    Column(key="deleted", label="Deleted", align="right"),
    Column(key="files", label="Files", align="right", wide=True),
    Column(key="bytes", label="Bytes", align="right", wide=True),
)


def build_total_row(entry: Mapping[str, Any]) -> Row:
    """What one version changed; a click shows its rows."""
    before, after = entry["update_preimage"], entry["update_postimage"]
    title = None if before == after else f"{before:,} before and {after:,} after an update"
    return Row(
        cells=(
            Cell(text=format_count(entry["version"])),
            Cell(text=format_minute(entry["timestamp"]), title=format_time(entry["timestamp"])),
            Cell(text=format_count(entry["insert"]), muted=not entry["insert"]),
            Cell(text=format_count(max(before, after)), title=title, muted=not max(before, after)),
            Cell(text=format_count(entry["delete"]), muted=not entry["delete"]),
            Cell(text=format_count(entry["num_files"])),
            Cell(text=format_bytes(entry["bytes"]), title=format_count(entry["bytes"])),
        ),
        action="one",
        value=str(entry["version"]),
    )
