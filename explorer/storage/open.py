"""From a place as people write it to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.storage.local import LocalStore
from explorer.storage.location import Location, canonical_place, parse_location
from explorer.storage.ports import ReadStore, WriteStore


def open_read_store(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None = None,
    within: Sequence[str] | None = None,
) -> ReadStore:
    """A store that cannot change anything below `uri`.

    With `within` only what lies below `uri` and below these places is read, wherever the
    paths of a log may point; None follows them all.
    """
    location = parse_location(uri)
    if within is not None:
        return _open_fenced(location, storage_options or {}, within)
    if location.scheme == "file":
        return LocalStore(location.target)
    # fsspec takes a tenth of a second to import and local folders do without it
    from explorer.storage._remote import RemoteStore  # see above

    return RemoteStore(location, storage_options or {})


def _open_fenced(
    location: Location, storage_options: Mapping[str, Any], within: Sequence[str]
) -> ReadStore:
    # only a served page asks for it, and it brings fsspec
    from explorer.storage._fence import (  # noqa: PLC0415  # see above
        FencedLocalStore,
        FencedRemoteStore,
    )

    roots = [canonical_place(parse_location(root)) for root in within]
    if location.scheme == "file":
        return FencedLocalStore(location.target, roots)
    return FencedRemoteStore(location, dict(storage_options), roots)


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
    from explorer.storage._remote_write import RemoteWriteStore  # see above

    return RemoteWriteStore(location, storage_options or {})
