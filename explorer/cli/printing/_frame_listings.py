"""What `files`, `schema`, `features` and `log` print for people."""

from __future__ import annotations

from rich.console import Console

from explorer.cli.printing.listings import Column, Row, TimeColumn, print_listing, print_note
from explorer.cli.printing.wording import UNKNOWN, render_count, render_partition, render_size
from explorer.table.counts import count


def list_files(console: Console, rows: list[Row]) -> None:
    """Rows of `explorer.inspect.files_page`."""
    print_listing(console, _FILES, rows)


def list_fields(console: Console, rows: list[Row]) -> None:
    """Rows of `explorer.inspect.schema`."""
    print_listing(console, _SCHEMA, rows)


def list_features(console: Console, rows: list[Row]) -> None:
    """Rows of `explorer.inspect.features`: those that the table supports."""
    shown = [row for row in rows if row["supported"] or row["note"]]
    print_listing(console, _FEATURES, shown)
    if any(row["supported_since_exact"] is False for row in shown):
        print_note(console, "the log before that version is gone, so the exact version is unknown")
    others = len(rows) - len(shown)
    if others:
        verb = "is" if others == 1 else "are"
        text = f"{count(others, 'other known feature')} {verb} not supported; --json shows all"
        print_note(console, text)


def list_log_files(console: Console, rows: list[Row]) -> None:
    """Rows of `explorer.inspect.log_files`."""
    print_listing(console, _LOG, rows)


def _hidden(row: Row) -> str:
    vector = row["deletion_vector"]
    return "" if vector is None else render_count(vector["cardinality"])


def _supported_since(row: Row) -> str:
    return _since(row, "supported") if row["supported"] else ""


def _active_since(row: Row) -> str:
    return _since(row, "active") if row["active"] else ""


def _since(row: Row, state: str) -> str:
    version = row[f"{state}_since"]
    if version is None:
        return UNKNOWN
    if row[f"{state}_since_exact"]:
        return f"version {version}"
    return f"before version {version}"


def _state(row: Row) -> str:
    if not row["known"]:
        return "unknown"
    if not row["supported"]:
        return "not supported"
    return "active" if row["active"] else "supported"


def _state_colour(row: Row) -> str:
    colours = {"unknown": "bold red", "not supported": "yellow", "active": "green"}
    return colours.get(_state(row), "")


def _by(row: Row) -> str:
    parts = (row["supported_by_operation"], row["supported_by_user"])
    return ", ".join(part for part in parts if part)


def _log_kind(row: Row) -> str:
    return f"foreign: {row['name']}" if row["kind"] == "foreign" else str(row["kind"])


def _log_version(row: Row) -> str:
    return "" if row["version"] is None else str(row["version"])


def _log_colour(row: Row) -> str:
    return "dim" if row["kind"] == "foreign" else ""


_FILES = (
    Column(title="path", render=lambda row: row["path"], shrinks=True),
    Column(title="size", render=lambda row: render_size(row["size"]), align="right"),
    Column(title="rows", render=lambda row: render_count(row["num_records"]), align="right"),
    Column(title="deleted", render=_hidden, align="right"),
    TimeColumn(title="modified", moment=lambda row: row["modification_time"], from_width=100),
    Column(
        title="partition",
        render=lambda row: render_partition(row["partition_values"]),
        shrinks=True,
    ),
)
_SCHEMA = (
    Column(title="name", render=lambda row: "  " * row["depth"] + row["name"], shrinks=True),
    Column(title="type", render=lambda row: row["type"], shrinks=True),
    Column(title="nullable", render=lambda row: "" if row["nullable"] else "no"),
    Column(title="partition", render=lambda row: "partition" if row["is_partition"] else ""),
    Column(title="id", render=lambda row: str(row["field_id"] or ""), align="right"),
    Column(title="name in files", render=lambda row: row["physical_name"] or "", shrinks=True),
    Column(title="rules", render=lambda row: row["rules"] or "", shrinks=True),
    Column(title="comment", render=lambda row: row["comment"] or "", shrinks=True),
)
_FEATURES = (
    Column(title="feature", render=lambda row: row["name"], style=lambda _: "bold", limit=40),
    Column(title="state", render=_state, style=_state_colour),
    Column(title="kind", render=lambda row: row["kind"], from_width=100),
    Column(title="supported since", render=_supported_since),
    Column(title="active since", render=_active_since),
    Column(title="note", render=lambda row: row["note"] or "", shrinks=True),
    Column(title="by", render=_by, shrinks=True),
    Column(
        title="engine",
        render=lambda row: row["supported_by_engine"] or "",
        shrinks=True,
        from_width=120,
    ),
    Column(
        title="description",
        render=lambda row: row["description"] or "",
        shrinks=True,
        from_width=140,
    ),
)
_LOG = (
    Column(title="version", render=_log_version, align="right", style=lambda _: "bold"),
    Column(title="kind", render=_log_kind, style=_log_colour, shrinks=True),
    Column(title="size", render=lambda row: render_size(row["size"]), align="right"),
    TimeColumn(title="modified", moment=lambda row: row["modified"]),
    Column(title="note", render=lambda row: row["note"] or "", shrinks=True),
    Column(title="name", render=lambda row: row["name"], shrinks=True, from_width=100),
)
