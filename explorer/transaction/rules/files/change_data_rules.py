"""Change data files of a commit (spec: Add CDC File, Change Data Files, Writer Requirements
for AddCDCFile).

Whether a commit that has none should have some is told by its operation: rows that one file
took away and another brought may be deleted and inserted, which needs no change data, or
updated, which does, and the actions are the same.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.files.decoded_paths import decode_in_pieces
from explorer.files.store_paths import place_keys
from explorer.log.actions.columns import string_column, string_map_column
from explorer.protocol.file_actions import AddCDCFile
from explorer.rows.changes.change_range import CHANGE_COLUMNS
from explorer.table.counts import are, have
from explorer.transaction.rules.change import (
    REPORT,
    Change,
    Described,
    Problems,
    problem,
    shown,
)
from explorer.transaction.rules.files.file_rules import partition_values_of
from explorer.transaction.rules.files.place_rules import (
    are_absolute,
    lead_to_no_file,
    validate_named_places,
)

_SPEC: Final = "Add CDC File"
_CHANGING: Final = frozenset({"UPDATE", "MERGE", "DELETE"})
_FOLDER: Final = r"^(?:\.?/)*_change_data/"


def validate_change_data(change: Change) -> Problems:
    """Change data is written where the feed is in use, to files of its own below
    `_change_data`, which say size and partition values as other files do."""
    files = change.staged.of(AddCDCFile)
    if not files:
        return
    if not change.after.supports("changeDataFeed"):
        yield _wrong("The commit has change data files, and the table does not support the feed.")
    elif not change.after.has_active("changeDataFeed"):
        yield _wrong("The commit has change data files, and the table's feed is not enabled.")
    if any(file.size < 0 for file in files):
        yield _wrong("A cdc action has a size below zero.")
    paths = pa.chunked_array([string_column([file.path for file in files])])
    keys = place_keys(paths, change.staged.base.root)
    if (twice := len(keys) - len(pc.unique(keys))) > 0:
        yield _wrong(f"{have(twice, 'cdc action')} a path that another one has.")
    yield from validate_named_places("cdc", paths)
    below = pc.match_substring_regex(decode_in_pieces(paths), _FOLDER)
    known = pc.or_(pc.or_(below, are_absolute(paths)), lead_to_no_file(paths))
    if len(elsewhere := paths.filter(pc.invert(known))):
        yield problem(
            f"{are(len(elsewhere), 'change data file')} not in `_change_data`: "
            f"{shown(elsewhere.slice(0, 5).to_pylist())}.",
            "They are stored in this folder of the table, apart from its rows.",
            spec="Change Data Files",
            remedy=REPORT,
        )
    values = string_map_column([file.partition_values for file in files])
    table = pa.table({"path": paths, "partition_values": values})
    yield from partition_values_of(change.after, table)


def validate_needed_change_data(change: Change) -> Problems:
    """Where the feed is enabled, an operation that changes rows writes change data, unless the
    actions alone show the changes: only added rows, whole removed files, and rows that deletion
    vectors delete."""
    operation = change.staged.provenance.operation.strip().upper()
    if operation not in _CHANGING or not change.after.has_active("changeDataFeed"):
        return
    if change.staged.of(AddCDCFile) or not change.removes.num_rows:
        return
    if operation == "UPDATE" or change.files_written.num_rows:
        yield problem(
            f"The {operation} brings no change data, and the table's change feed is enabled.",
            "The feed would report every row of the rewritten files as deleted and inserted.",
            spec="Writer Requirements for AddCDCFile",
            remedy="Write the changed rows to change data files, before and after the change.",
        )


def validate_feed_columns(change: Change) -> Problems:
    """The feed adds columns of its own to the rows of the table, which therefore has none of
    these names from the moment on when the feed is enabled."""
    after = change.after
    if not after.has_active("changeDataFeed"):
        return
    known: set[str] = set()
    if change.before is not None and change.before.has_active("changeDataFeed"):
        known = {name.lower() for name in _taken(change.before)}
    if names := [name for name in _taken(after) if name.lower() not in known]:
        yield problem(
            f"The table has a change feed, and would have columns called {shown(names)}.",
            "Readers of the feed could not tell them from its own.",
            spec=_SPEC,
            remedy="Give these columns other names, or leave the feed off.",
        )


def _taken(table: Described) -> list[str]:
    return [name for name in table.schema.names if name.lower() in CHANGE_COLUMNS]


def _wrong(text: str) -> Problem:
    return problem(
        text,
        "Who reads the feed reads these files instead of the adds and removes of their version.",
        spec=_SPEC,
        remedy="Set `delta.enableChangeDataFeed`, and name each file once, with its size.",
    )
