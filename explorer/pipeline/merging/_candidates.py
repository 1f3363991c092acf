"""The files that may hold a row which a merge takes."""

from __future__ import annotations

from dataclasses import replace

from explorer.log.actions.columns import bool_column
from explorer.progress import Watch
from explorer.scan.predicate.parse import parse_predicate
from explorer.table.snapshot import Snapshot
from explorer.writing.changes.candidates import WHOLE, Candidates, find_candidates


def find_files(snapshot: Snapshot, where: str | None, watch: Watch) -> Candidates:
    """The files that may hold a row which `where` is true for, all of them where it is None. None
    goes as a whole: that each of its rows may have a partner does not say that one has."""
    predicate = None if where is None else parse_predicate(where, snapshot.schema)
    found = find_candidates(snapshot, predicate, watch)
    at = found.files.schema.get_field_index(WHOLE)
    none = bool_column([False] * found.files.num_rows)
    return replace(found, files=found.files.set_column(at, WHOLE, none))
