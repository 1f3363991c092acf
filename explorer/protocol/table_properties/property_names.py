"""The names under which properties of Delta are set (spec: Table Properties)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_PROTECTION_VERSION,
    COLUMN_MAPPING_MAX_ID,
    IN_COMMIT_TIMESTAMP_TIME,
    IN_COMMIT_TIMESTAMP_VERSION,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from explorer.protocol.table_properties.properties import PROPERTIES
from explorer.protocol.table_properties.table_property import TableProperty

DELTA_PREFIX: Final = "delta."
"""Names with it are Delta's own; readers ask for it in small letters."""

CONSTRAINT_PREFIX: Final = "delta.constraints."
FEATURE_PREFIX: Final = "delta.feature."

KEPT_BY_WRITERS: Final = frozenset(
    item.name
    for item in (
        CHECKPOINT_PROTECTION_VERSION,
        COLUMN_MAPPING_MAX_ID,
        IN_COMMIT_TIMESTAMP_TIME,
        IN_COMMIT_TIMESTAMP_VERSION,
        ROW_COMMIT_VERSION_COLUMN,
        ROW_ID_COLUMN,
    )
)
"""Properties that the log rests on: nobody sets them by hand."""

_SPELLINGS: Final[Mapping[str, tuple[str, TableProperty[Any]]]] = {
    spelling.lower(): (spelling, item)
    for item in PROPERTIES.values()
    for spelling in (item.name, *item.aliases)
}
_LONGEST: Final = 120


def known_name(name: str) -> str | None:
    """The name as readers ask for it, whatever letters are capital here; None where no property
    is called that. `delta.APPENDONLY` is `delta.appendOnly`."""
    found = _SPELLINGS.get(name.lower())
    return None if found is None else found[0]


def nearest_name(name: str, others: Iterable[str] = ()) -> str | None:
    """The known property, or the one of the `others`, that somebody may have meant by a name
    that no property has; None where none is like it."""
    known = {spelling: written for spelling, (written, _) in _SPELLINGS.items()}
    known |= {other.lower(): other for other in others}
    wanted = name.lower()[:_LONGEST]
    # `enableChangeDataFeed` alone is one of Delta's without its prefix
    candidates = (wanted, f"{DELTA_PREFIX}{wanted}")
    for candidate in candidates:
        near = difflib.get_close_matches(candidate, known, n=1, cutoff=0.75)
        if near:
            return known[near[0]]
    return None
