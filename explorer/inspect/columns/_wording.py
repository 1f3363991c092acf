"""What files hold of a table's columns, as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from explorer.inspect.columns._file_columns import LOGICAL_NAME, NO_IDS

if TYPE_CHECKING:
    from explorer.inspect.columns.presence import ColumnPresence

_SHOWN = 3
_NAME = 60


def presence_sentence(found: ColumnPresence) -> str:
    """Why columns have other names in files, and why values are NULL."""
    rows = found.columns.to_pylist()
    parts = [_names(found.mode, rows)]
    if not found.num_files:
        parts.append("There is no file in this version.")
    elif found.files_read:
        parts += [_unrelated(found), _by_footers(found, rows)]
    else:
        parts.append(_by_statistics(rows))
    if found.files_read < found.num_files and (found.files_read or found.unread.num_rows):
        parts.append(_left(found))
    return " ".join(part for part in parts if part)


def _names(mode: str, rows: list[dict[str, Any]]) -> str:
    other = [row for row in rows if row["name_in_files"] != row["path"] and not row["is_partition"]]
    if mode == "none":
        return "Files call every column by its own name."
    by = "names" if mode == "name" else "ids"
    if not other:
        return f"Columns are mapped by {by}, and files call each by its own name."
    example = other[0]
    return (
        f"Columns are mapped by {by}: files call {_cut(example['path'])} "
        f"{_cut(example['name_in_files'])}"
        + _others(len(other) - 1)
        + "; a reader that does not know column mapping shows those names."
    )


def _others(number: int) -> str:
    if not number:
        return ""
    what = "another column by another name" if number == 1 else f"{number:,} others likewise"
    return f", and {what}"


def _unrelated(found: ColumnPresence) -> str:
    if not (count := found.unrelated.num_rows):
        return ""
    which = "One file has" if count == 1 else f"{count:,} files have"
    return (
        f"{which} no column in common with the table, so that all their rows show nothing but "
        "NULL: they belong to another table, or have names by a mapping that the table does not "
        "declare."
    )


def _by_footers(found: ColumnPresence, rows: list[dict[str, Any]]) -> str:
    lacking = [row for row in rows if row["files_without"]]
    number = f"{found.files_read:,} file{'s' if found.files_read > 1 else ''} that "
    number += "were read" if found.files_read > 1 else "was read"
    if not lacking:
        text = f"Every column is in each of the {number}: what is NULL there was stored as NULL."
        if found.files_read == 1:
            text = f"Every column is in the {number}: what is NULL there was stored as NULL."
        return text
    named = "; ".join(
        f"{_cut(row['path'])} is not in {row['files_without']:,}" for row in lacking[:_SHOWN]
    )
    more = len(lacking) - _SHOWN
    text = f"Of the {number}, {named}{f'; and {more:,} more columns' if more > 0 else ''}: "
    text += "their rows show NULL there."
    reasons = set(found.absent.column("reason").to_pylist())
    if LOGICAL_NAME in reasons:
        text += (
            " Some of these files have the column under its logical name: they were written "
            "without column mapping, and their values are not read."
        )
    if NO_IDS in reasons:
        text += " Some of these files have no field ids: they were written without column mapping."
    return text


def _by_statistics(rows: list[dict[str, Any]]) -> str:
    empty = [row for row in rows if row["files_all_null"]]
    if not empty:
        return (
            "By statistics no file has nothing but NULL in a column; whether files lack columns "
            "only their footers say."
        )
    named = "; ".join(
        f"{_cut(row['path'])} is all NULL in {row['files_all_null']:,} of "
        f"{row['files_counted']:,} files"
        for row in empty[:_SHOWN]
    )
    more = len(empty) - _SHOWN
    return (
        f"By statistics {named}{f'; and {more:,} more columns so' if more > 0 else ''}. Whether "
        "those files lack the column or store NULL, only their footers say."
    )


def _left(found: ColumnPresence) -> str:
    left = found.num_files - found.files_read
    broken = found.unread.num_rows
    text = f"{left:,} of {found.num_files:,} files were not read"
    return f"{text}, {broken:,} of them because they cannot be." if broken else f"{text}."


def _cut(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
