"""What lies below a table's root, as a sentence."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.protocol.byte_sizes import render_byte_size

_SHOWN = 3


def folder_sentence(
    files: pa.Table,
    sizes: pa.Table,
    reference_keeps: tuple[int, datetime | None] = (0, None),
    unread: str | None = None,
) -> str:
    """The answer first; the arguments as in `Folder`."""
    by_part: dict[str, dict[str, Any]] = {row["part"]: row for row in sizes.to_pylist()}
    total = sum(row["bytes"] for row in by_part.values())
    live = by_part["live"]["bytes"]
    text = _unknown(files)
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
        for part, words in dead.items()
        if by_part[part]["bytes"]
    ]
    if unread is not None:
        text += f" From when on files may be deleted nobody can tell: {unread}."
    text += f" The table has {render_byte_size(live)}, its folder {render_byte_size(total)}"
    text = f"{text}: {', '.join(rest)}." if rest else f"{text}."
    return text + _kept_by_reference(by_part["deletable"]["num_files"], *reference_keeps)


def _kept_by_reference(deletable: int, count: int, until: datetime | None) -> str:
    """What the reference's vacuum does not delete now though ours does."""
    if not count or until is None:
        return ""
    which = f"{count:,} of the deletable files {'is' if count == 1 else 'are'}"
    if count == deletable:
        which = "The deletable file is" if count == 1 else f"All {count:,} deletable files are"
    return (
        f" {which} kept by Delta Spark's VACUUM until {until:%Y-%m-%d %H:%M} UTC: it goes by "
        "modification times too, which a copy renews."
    )


def _unknown(files: pa.Table) -> str:
    if not files.num_rows:
        return "Nothing lies here that Delta does not manage."
    counts = Counter(files.column("kind").to_pylist())
    shown = ", ".join(f"{number:,} × {kind}" for kind, number in counts.most_common(_SHOWN))
    others = len(counts) - _SHOWN
    if others > 0:
        shown += f" and {others} more kind{'' if others == 1 else 's'}"
    ours = pc.sum(files.column("vacuum_deletes")).as_py() or 0
    theirs = pc.sum(files.column("reference_deletes")).as_py() or 0
    size = render_byte_size(pc.sum(files.column("bytes")).as_py() or 0)
    many = files.num_rows != 1
    return (
        f"{files.num_rows:,} file{'s lie' if many else ' lies'} here ({size}) that no version of "
        f"the table knows: {shown}. VACUUM would delete {_deleted(ours, theirs)}."
    )


def _deleted(ours: int, theirs: int) -> str:
    if ours == theirs:
        some = f"{ours:,} of these" if ours else "none of these"
        return f"{some}, here and in Delta Spark"
    return f"{ours:,} of these here, {theirs:,} in Delta Spark"
