"""What `files`, `schema`, `features` and `log` print for people."""

from __future__ import annotations

from rich.console import Console

from explorer.cli.listings import Column, Row, print_listing, print_note
from explorer.cli.wording import UNKNOWN, render_count, render_partition, render_size, render_time


def list_files(console: Console, rows: list[Row]) -> None:
    """Rows of `explorer.inspect.files_page`."""
    print_listing(console, _FILES, rows)


def list_fields(console: Console, rows: list[Row]) -> None:
    """Rows of `explorer.inspect.schema`."""
    print_listing(console, _SCHEMA, rows)


def list_features(console: Console, rows: list[Row]) -> None:
    """Rows of `explorer.inspect.features`: those that the table supports."""
    print_listing(console, _FEATURES, [row for row in rows if row["supported"]])
    others = sum(not row["supported"] for row in rows)
    if others:
        print_note(console, f"{others} known features are not supported by this table (see --json)")


def list_log_files(console: Console, rows: list[Row]) -> None:
    """Rows of `explorer.inspect.log_files`."""
    print_listing(console, _LOG, rows)


def _hidden(row: Row) -> str:
    vector = row["deletion_vector"]
    return "" if vector is None else render_count(vector["cardinality"])


def _since(row: Row) -> str:
    if row["since_version"] is None:
        return UNKNOWN
    if row["since_exact"]:
        return f"version {row['since_version']}"
    return f"before version {row['since_version']}, the log is gone"


def _state(row: Row) -> str:
    if not row["known"]:
        return "unknown"
    return "active" if row["active"] else "supported"


def _state_colour(row: Row) -> str:
    return {"unknown": "bold red", "active": "green"}.get(_state(row), "")


def _by(row: Row) -> str:
    return ", ".join(part for part in (row["by_operation"], row["by_user"]) if part)


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
    Column(title="hidden", render=_hidden, align="right"),
    Column(title="modified (UTC)", render=lambda row: render_time(row["modification_time"])),
    Column(
        title="partition",
        render=lambda row: render_partition(row["partition_values"]),
        shrinks=True,
    ),
)
_SCHEMA = (
    Column(title="name", render=lambda row: "  " * row["depth"] + row["name"], shrinks=True),
    Column(title="type", render=lambda row: row["type"], shrinks=True),
    Column(title="null", render=lambda row: "" if row["nullable"] else "not null"),
    Column(title="partition", render=lambda row: "partition" if row["is_partition"] else ""),
    Column(title="id", render=lambda row: str(row["field_id"] or ""), align="right"),
    Column(title="stored as", render=lambda row: row["physical_name"] or "", shrinks=True),
    Column(title="rule", render=lambda row: row["rules"] or "", shrinks=True),
    Column(title="comment", render=lambda row: row["comment"] or "", shrinks=True),
)
_FEATURES = (
    Column(title="feature", render=lambda row: row["name"], style=lambda _: "bold", limit=40),
    Column(title="state", render=_state, style=_state_colour),
    Column(title="kind", render=lambda row: row["kind"]),
    Column(title="since", render=_since),
    Column(title="by", render=_by, shrinks=True),
    Column(title="engine", render=lambda row: row["by_engine"] or "", shrinks=True, from_width=100),
    Column(
        title="what it is",
        render=lambda row: row["description"] or "",
        shrinks=True,
        from_width=140,
    ),
)
_LOG = (
    Column(title="version", render=_log_version, align="right", style=lambda _: "bold"),
    Column(title="kind", render=_log_kind, style=_log_colour, shrinks=True),
    Column(title="size", render=lambda row: render_size(row["size"]), align="right"),
    Column(title="modified (UTC)", render=lambda row: render_time(row["modified"])),
    Column(title="note", render=lambda row: row["note"] or "", shrinks=True),
    Column(title="name", render=lambda row: row["name"], shrinks=True, from_width=100),
)
