"""What lies below a table's root, as a sentence."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.table.counts import count

_SHOWN = 3


def folder_sentence(
    files: pa.Table,
    sizes: pa.Table,
    reference_keeps: tuple[int, datetime | None] = (0, None),
    unread: str | None = None,
) -> str:
    """The sizes first, the largest cause before the others, then the files without a version;
    the arguments as in `Folder`."""
    by_part: dict[str, dict[str, Any]] = {row["part"]: row for row in sizes.to_pylist()}
    total = sum(row["bytes"] for row in by_part.values())
    live = by_part["live"]["bytes"]
    dead = {
        "kept": "kept for earlier versions",
        "change data": "change data",
        "deletable": "that the next vacuum may delete",
        "orphaned": "orphaned",
        "foreign": "foreign",
        "log": "log",
    }
    rest = [
        f"{render_byte_size(by_part[part]['bytes'])} {words}"
        for part, words in sorted(dead.items(), key=lambda item: -by_part[item[0]]["bytes"])
        if by_part[part]["bytes"]
    ]
    text = f"The table is {render_byte_size(live)}; its folder takes {render_byte_size(total)}"
    text = f"{text}: {', '.join(rest)}." if rest else f"{text}."
    text += _kept_by_reference(by_part["deletable"]["num_files"], *reference_keeps)
    text += f" {_unknown(files)}"
    return text if unread is None else f"{text} When files may be deleted is unknown: {unread}."


def _kept_by_reference(deletable: int, number: int, until: datetime | None) -> str:
    """What Delta Spark's vacuum does not delete now though ours does."""
    if not number or until is None:
        return ""
    which = f"{number:,} of the deletable files"
    if number == deletable:
        which = "the deletable file" if number == 1 else f"all {count(number, 'deletable file')}"
    return (
        f" Delta Spark keeps {which} until {until:%Y-%m-%d %H:%M} UTC: its VACUUM also checks the "
        "modification time, which a copy renews."
    )


def _unknown(files: pa.Table) -> str:
    if not files.num_rows:
        return "Delta manages every file here."
    counts = Counter(files.column("kind").to_pylist())
    shown = ", ".join(f"{number:,} × {kind}" for kind, number in counts.most_common(_SHOWN))
    others = len(counts) - _SHOWN
    if others > 0:
        shown += f" and {others} more kind{'' if others == 1 else 's'}"
    ours = pc.sum(files.column("vacuum_deletes")).as_py() or 0
    theirs = pc.sum(files.column("reference_deletes")).as_py() or 0
    size = render_byte_size(pc.sum(files.column("bytes")).as_py() or 0)
    return (
        f"{count(files.num_rows, 'file')} ({size}) {'belong' if files.num_rows != 1 else 'belongs'}"
        f" to no version of the table: {shown}. VACUUM would delete {_deleted(ours, theirs)}."
    )


def _deleted(ours: int, theirs: int) -> str:
    if ours == theirs:
        some = f"{ours:,} of these" if ours else "none of these"
        return f"{some}, here and in Delta Spark"
    return f"{ours:,} of these here, {theirs:,} in Delta Spark"
