"""Frames that say which table their rows come from.

Spark does not know it where tasks of Python read the files, and where these lie in another folder
than the table's, as those of a shallow clone do. An alias says it: it stands in the plan of every
frame that is made from this one, and changes nothing there.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from explorer.storage.location import canonical_place, parse_location
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_START: Final = "delta_explorer_table_"


def marked_rows(frame: DataFrame, store: ReadStore) -> DataFrame:
    """The same rows, and in their plan that they are those of a table."""
    return frame.alias(table_mark(store))


def table_mark(store: ReadStore) -> str:
    """The alias of rows of the table at a store's root, however the root is spelled."""
    place = canonical_place(parse_location(store.uri))
    return f"{_START}{hashlib.sha256(place.encode()).hexdigest()[:24]}"
