"""`engines`: which engines can read and write a table, and what stops the others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, StorageOptions, Uri, Version
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, print_listing, print_note
from explorer.cli.printing.wording import UNKNOWN, printable
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    import pyarrow as pa

_COLOURS = {"yes": "green", "no": "red", "conditional": "yellow"}


def engines(
    uri: Uri, *, version: Version = None, option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """Which engines can read and write the table.

    For each engine: since which release, or which table feature stops it.

    Example: delta-explorer engines ./orders --json
    """
    answer(
        "engines",
        (uri, option),
        {"version": version},
        lambda frame, _: _print_matrix(frame),
        as_json=as_json,
    )


def _print_matrix(frame: pa.Table) -> None:
    from explorer.inspect.engine_support.matrix import (  # noqa: PLC0415  # `--help` does without Arrow
        engines_sentence,
    )

    console = build_console(sys.stdout)
    console.print(Text(printable(engines_sentence(frame)), style="bold"))
    print_listing(console, _ENGINES, _shown(list(plain_rows(frame))))
    print_note(console, f"{UNKNOWN} means that no source says; --json shows sources and notes")


def _shown(rows: list[Row]) -> list[Row]:
    """The newest release of each engine; an older one only if it can what that cannot."""
    newest = {row["engine"]: row for row in rows if row["newest"]}
    return [row for row in rows if row["newest"] or _can(row) - _can(newest[row["engine"]])]


def _can(row: Row) -> set[str]:
    verbs = ("can_read", "can_write")
    return {verb for verb in verbs if row[verb] in {"yes", "conditional"}}


def _word(verdict: str) -> str:
    return {"unknown": UNKNOWN, "conditional": "yes, if"}.get(verdict, verdict)


def _since(release: str | None, exact: bool | None) -> str:  # noqa: FBT001  # a cell of the frame
    if release is None:
        return ""
    plain = exact or release.startswith(("before ", "python < "))
    return release if plain else f"≤ {release}"


def _engine(row: Row) -> str:
    return str(row["engine"]) if row["newest"] else f"{row['engine']} {row['release']}"


def _why(row: Row) -> str:
    """What stops or hinders reading, then what else stops or hinders writing."""
    reading = _reasons(row, "read")
    writing = [text for text in _reasons(row, "write") if text not in reading]
    return "; ".join([*reading, *(f"writing: {text}" for text in writing)])


def _reasons(row: Row, verb: str) -> list[str]:
    if row[f"can_{verb}"] == "conditional":
        return list(row[f"{verb}_needs"])
    unknowns = row[f"{verb}_unknowns"]
    if row[f"can_{verb}"] == "unknown" and not any(" version " in name for name in unknowns):
        return [f"{UNKNOWN} {name}" for name in unknowns]
    if row[f"can_{verb}"] != "no":
        return []
    told = set(row["read_blockers"]) if verb == "write" else set()
    blockers = row[f"{verb}_blockers"]
    if blockers:
        return [name for name in blockers if name not in told]
    prefix = {"read": "reading: ", "write": "writing: "}[verb]
    return [note.removeprefix(prefix) for note in row["notes"] if note.startswith(prefix)]


def _evidence(row: Row) -> str:
    levels = dict.fromkeys(
        row[f"{verb}_evidence"] for verb in ("read", "write") if row[f"can_{verb}"] != "unknown"
    )
    return ", ".join(levels)


def _columns_of(title: str, can: str, since: str) -> tuple[Column, Column]:
    """Whether it can do one thing, and since which release."""
    return (
        Column(
            title=title,
            render=lambda row: _word(row[can]),
            style=lambda row: _COLOURS.get(row[can], ""),
        ),
        Column(
            title="since",
            render=lambda row: _since(row[since], row[f"{since}_exact"]),
            limit=22,
            shrinks=True,
            from_width=100,
        ),
    )


_ENGINES = (
    Column(title="engine", render=_engine, style=lambda _: "bold", limit=30),
    Column(title="release", render=lambda row: row["release"] or "", limit=22, from_width=140),
    *_columns_of("reads", "can_read", "readable_since"),
    *_columns_of("writes", "can_write", "writable_since"),
    Column(title="evidence", render=_evidence),
    Column(title="reason", render=_why, shrinks=True, limit=2000),
    Column(title="as of", render=lambda row: row["as_of"] or "", limit=12, from_width=140),
    Column(title="source", render=lambda row: row["source"] or "", shrinks=True, from_width=180),
)
