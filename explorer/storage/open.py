"""From a place as people write it to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from explorer.storage.local import LocalStore
from explorer.storage.location import parse_location
from explorer.storage.ports import ReadStore, WriteStore


def open_read_store(
    uri: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> ReadStore:
    """A store that cannot change anything below `uri`."""
    location = parse_location(uri)
    if location.scheme == "file":
        return LocalStore(location.target)
    # fsspec takes a tenth of a second to import and local folders do without it
    from explorer.storage.remote import RemoteStore  # see above

    return RemoteStore(location, storage_options or {})


def open_write_store(
    uri: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> WriteStore:
    """A store that may change what lies below `uri`.

    Raises `UnsupportedError` for stores that have no way to create an object only where
    none is: two writers could overwrite each other's commit there.
    """
    location = parse_location(uri)
    if location.scheme == "file":
        return LocalStore(location.target)
    from explorer.storage.remote_write import RemoteWriteStore  # see above

    return RemoteWriteStore(location, storage_options or {})
