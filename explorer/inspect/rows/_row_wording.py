"""What became of rows, as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from explorer.inspect.reach.wording import versions_in_words
from explorer.protocol.byte_sizes import render_byte_size
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.inspect.rows.row_search import RowHistory

_SHOWN = 3


def row_sentence(found: RowHistory) -> str:
    """When something happened to the rows, and what was searched."""
    # no times: one may lie where no calendar reaches
    rows = found.versions.drop_columns(["timestamp"]).to_pylist()
    if not rows:
        text = "No version that was searched changed a row that matches."
        if found.at_start is not None and found.at_start.num_rows:
            number = found.at_start.num_rows
            text += f" {_rows(number)} matched already in version {found.first - 1}."
    else:
        shown = rows if len(rows) <= _SHOWN else [rows[0], *rows[-(_SHOWN - 1) :]]
        text = "; ".join(_event(row) for row in shown)
        text = f"{text[:1].upper()}{text[1:]}."
        if len(rows) > _SHOWN:
            text = f"Rows that match changed in {len(rows):,} versions. First and last: {text}"
        if found.at_start is not None and found.at_start.num_rows:
            text += f" {_rows(found.at_start.num_rows)} matched before, in version "
            text += f"{found.first - 1}."
    return f"{text} {_searched(found)}"


def _event(row: dict[str, Any]) -> str:
    parts = [
        f"{verb} {_rows(row[name])}"
        for name, verb in (("inserted", "wrote"), ("updated", "changed"), ("deleted", "deleted"))
        if row[name]
    ]
    by = "" if row["operation"] is None else f" ({row['operation'][:60]})"
    return f"version {row['version']}{by} {' and '.join(parts)}"


def _searched(found: RowHistory) -> str:
    span = "nothing"
    if found.last >= found.first:
        span = versions_in_words([(found.first, found.last)])
    text = f"Searched: {span}; of {found.num_files:,} files that were added or removed "
    text += f"{found.files_read:,} had to be read ({render_byte_size(found.bytes_read)})."
    if found.is_cut:
        text += f" A limit ended the search: what came after version {found.last} is not known."
    if found.unread.num_rows:
        number = found.unread.num_rows
        text += f" {count(number, 'file')} could not be read: what "
        text += f"{'they hold' if number > 1 else 'it holds'} is not known."
    return text


def _rows(number: int) -> str:
    return count(number, "row")
