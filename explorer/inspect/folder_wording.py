"""What lies below a table's root, as a sentence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_SHOWN = 3


def folder_sentence(files: pa.Table, sizes: pa.Table) -> str:
    """The answer first; `files` and `sizes` as in `Folder`."""
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
        f"{size_in_words(by_part[part]['bytes'])} {words}"
        for part, words in dead.items()
        if by_part[part]["bytes"]
    ]
    text += f" The table has {size_in_words(live)}, its folder {size_in_words(total)}"
    return f"{text}: {', '.join(rest)}." if rest else f"{text}."


def size_in_words(size: int) -> str:
    """Bytes in binary units: `1.5 KiB`."""
    if abs(size) < 1024:
        return f"{size} B"
    value = float(size)
    for unit in _UNITS:
        value /= 1024
        if abs(value) < 1023.95 or unit == _UNITS[-1]:
            break
    return f"{value:.1f} {unit}"


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
    size = size_in_words(pc.sum(files.column("bytes")).as_py() or 0)
    many = files.num_rows != 1
    return (
        f"{files.num_rows:,} file{'s lie' if many else ' lies'} here ({size}) that no version of "
        f"the table knows: {shown}. Of these our vacuum may delete {ours:,} now, the reference's "
        f"{theirs:,}."
    )
