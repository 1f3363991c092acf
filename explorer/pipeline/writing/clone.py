"""A table that begins with the files of another one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from explorer.pipeline.writing.places import open_place
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.table.table import Table, open_table
from explorer.writing.statements.clone_statement import begin_clone
from explorer.writing.statements.options import WriteResult


def clone(  # noqa: PLR0913  # what is cloned, and by whom
    source: Table | str | os.PathLike[str],
    uri: str | os.PathLike[str],
    *,
    version: int | None = None,
    timestamp: str | datetime | None = None,
    properties: Mapping[str, str | bool | int] | None = None,
    user_metadata: str | None = None,
    user_name: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> WriteResult:
    """Make a shallow clone of a table, as it is now or was at `version` or `timestamp`: version 0
    of another table, which has the same rows by the same files. No file is copied.

    The clone has the source's columns, layout, properties and features, and an id of its own.
    `properties` are added, or take the place of the source's, as TBLPROPERTIES of the reference
    do. Name, description, history and transactions stay behind, and rows get new ids. What is
    changed in one of the two does not show in the other; the clone's own statements never delete
    a file of the source. **A vacuum of the source does**, once its own versions need them no more.

    `storage_options` are for both, which have to be in the same store.

    Raises `InvalidArgumentError`, of the kind `already_exists` where there is a table at `uri`,
    for a version together with a time, and for properties that the files would have to follow;
    `NotFoundError` where there is no source or no such version, and `UnsupportedError` for a
    source that no writer here may write, or whose files could not be read from there.
    """
    table = source if isinstance(source, Table) else open_table(source, storage_options)
    statement = begin_clone(
        open_place(uri, storage_options),
        table.snapshot(version, timestamp, progress=progress, cancel=cancel),
        properties=properties,
        user_metadata=user_metadata,
        user_name=user_name,
    )
    return statement.commit(Watch(progress=progress, cancel=cancel))
