"""Where a table may begin: in a folder that is not part of another table (spec: File Types)."""

from __future__ import annotations

from typing import Final

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.log.folder.listing import build_listing
from explorer.protocol.filenames import LOG_FOLDER
from explorer.storage.ports import PlacedStore, RangeStore, ReadStore, offers

_HIDDEN: Final = ("_", ".")
_CLEANED: Final = ("_change_data", "_delta_index")
"""Folders that vacuum looks into all the same, as it does into those of partitions."""


def check_new_place(store: ReadStore) -> None:
    """Raise `InvalidArgumentError` where a table that begins at `store` would lie inside another
    one. To the outer table its files would be ones that no version knows, which a vacuum by most
    engines deletes.

    Vacuum passes over most folders whose names begin with `_` or `.`, so that a table may lie in
    one. A folder around that cannot be looked into says nothing.
    """
    inner = store
    while offers(inner, PlacedStore) and (outer := inner.open_around()) is not None:
        name = inner.own_name
        if name.startswith(_HIDDEN) and not name.startswith(_CLEANED) and "=" not in name:
            return
        if _has_log(outer):
            raise InvalidArgumentError(
                f"No table can be created at {store.uri}.",
                reason=f"It lies inside the table at {outer.uri}: a vacuum of that one by another "
                "engine would delete the files of this one, which its log does not name.",
                remedy="Create it at a place of its own. Rows for a partition of the outer table "
                "are written to the outer table, with the partition columns among them. If the "
                "outer log lies there by mistake, move it away first; where you cannot, create the "
                "table by pipeline.create(…, inside_another_table=True) or `delta-explorer create "
                "--inside-another-table`, and let nobody vacuum the outer one.",
                spec="File Types",
            )
        inner = outer


def _has_log(store: ReadStore) -> bool:
    try:
        return build_listing(_log_names(store)).latest_version is not None
    except DeltaError:
        return False


def _log_names(store: ReadStore) -> list[str]:
    # a client that finds no such folder may list all that lies beside it, a bucket above all
    found = store.list_prefix(LOG_FOLDER, "0") if offers(store, RangeStore) else None
    return store.list_names(LOG_FOLDER) if found is None else [item.name for item in found]
