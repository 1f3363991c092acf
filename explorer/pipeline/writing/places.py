"""Where rows are written: the one place of the pipeline that opens a store which may change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from explorer.errors import InvalidArgumentError
from explorer.storage.open import open_write_store
from explorer.storage.ports import WriteStore
from explorer.table.table import Table


def open_place(
    table_or_uri: Table | str | os.PathLike[str], storage_options: Mapping[str, Any] | None
) -> WriteStore:
    """The store of a table, or of a place where one may be created; a table that was opened for
    reading says only where it is. Raises what `open_write_store` raises, and
    `InvalidArgumentError` for a place within a log."""
    place = table_or_uri.uri if isinstance(table_or_uri, Table) else table_or_uri
    store = open_write_store(place, storage_options)
    if "_delta_log" in store.uri.split("/"):
        raise InvalidArgumentError(
            f"{store.uri} lies within the log of a table.",
            reason="Nothing but a table's own commits and checkpoints belongs there.",
            remedy="Name the folder around _delta_log.",
        )
    return store
