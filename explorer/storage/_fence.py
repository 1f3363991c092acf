"""The fence: which paths of a log may be read.

A log may name files anywhere: absolute paths stand in shallow clones, and what a hostile
one names would be read with the rights of whoever looks. A fence admits what lies below
the table's own root and below the places that its owner allows; all else is refused before
anything is read. Links are followed first, so that none leads out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

from explorer.errors import UnsupportedError, brief
from explorer.storage._remote import RemoteStore  # noqa: TID253  # itself imported late
from explorer.storage.local import LocalStore
from explorer.storage.location import Location, canonical_place, is_below, parse_location
from explorer.storage.ports import Heads

_FOLDERS_KNOWN = 4096


class FencedLocalStore(LocalStore):
    """A local folder whose log may point below `roots` (canonical) and nowhere else."""

    def __init__(self, root: str, roots: Sequence[str]) -> None:
        super().__init__(root)
        self._roots = (os.path.realpath(root), *roots)
        # a folder is resolved once; what lies in it is looked at each time
        self._resolve = lru_cache(maxsize=_FOLDERS_KNOWN)(os.path.realpath)

    def __reduce__(self) -> tuple[type[FencedLocalStore], tuple[str, tuple[str, ...]]]:
        """It travels to workers of Spark without the folders that it has looked at."""
        return FencedLocalStore, (self._root, self._roots[1:])

    def _full(self, path: str) -> str:
        full = super()._full(path)
        folder, name = os.path.split(full)
        try:
            if name in {"", ".", ".."} or os.path.islink(full):
                resolved = os.path.realpath(full)
            else:
                resolved = f"{self._resolve(folder)}/{name}"
        except ValueError:  # a NUL character: no such file
            return full
        if not any(is_below(resolved, root) for root in self._roots):
            raise _outside(path)
        return full

    def list_neighbours(self) -> list[str]:
        """See `LocalStore.list_neighbours`; the folder around has to be an allowed one."""
        self._full(os.path.dirname(self._root))
        return super().list_neighbours()

    def open_neighbour(self, name: str) -> FencedLocalStore:
        """See `LocalStore.open_neighbour`; behind the same fence."""
        place = os.path.join(os.path.dirname(self._root), name)
        self._full(place)
        return FencedLocalStore(place, self._roots[1:])

    def open_around(self) -> FencedLocalStore | None:
        """See `LocalStore.open_around`; the folder has to be an allowed one."""
        parent, own = os.path.split(os.path.realpath(self._root))
        self._full(parent)
        return FencedLocalStore(parent, self._roots[1:]) if own else None

    def read_heads(self, folder: str, names: Sequence[str], limit: int) -> Heads:
        """See `LocalStore.read_heads`; no name may be a link that leads out."""
        for name in names:
            self._full(f"{folder}/{name}")
        return super().read_heads(folder, names, limit)


class FencedRemoteStore(RemoteStore):
    """A store whose log may point below `roots` (canonical) and nowhere else."""

    def __init__(
        self, location: Location, storage_options: dict[str, object], roots: Sequence[str]
    ) -> None:
        super().__init__(location, storage_options)
        self._own = canonical_place(location)
        self._roots = (self._own, *roots)

    def list_neighbours(self) -> list[str]:
        """See `RemoteStore.list_neighbours`; the folder around has to be an allowed one."""
        self._full(self._own.rpartition("/")[0])
        return super().list_neighbours()

    def open_neighbour(self, name: str) -> RemoteStore:
        """See `RemoteStore.open_neighbour`; behind the same fence."""
        self._full(f"{self._own.rpartition('/')[0]}/{name}")
        found = super().open_neighbour(name)
        assert isinstance(found, FencedRemoteStore)
        found._roots = (f"{self._own.rpartition('/')[0]}/{name}", *self._roots[1:])
        found._own = found._roots[0]
        return found

    def open_around(self) -> RemoteStore | None:
        """See `RemoteStore.open_around`; the folder has to be an allowed one."""
        place = self._own.rpartition("/")[0]
        self._full(place)
        found = super().open_around()
        if found is not None:
            assert isinstance(found, FencedRemoteStore)
            found._own = place
        return found

    def _full(self, path: str) -> str:
        named = path if "://" in path else f"{self._own}/{path}"
        # a server may decode once more what a client did not
        for form in (named, unquote(named)):
            place = canonical_place(parse_location(form))
            if not any(is_below(place, root) for root in self._roots):
                raise _outside(path)
        return super()._full(path)


def _outside(path: str) -> UnsupportedError:
    shown = parse_location(path).shown if "://" in path else path
    return UnsupportedError(
        "The log of this table points to a file outside of what may be read here.",
        reason=f"It names {brief(shown)}, which is neither in the table's folder nor in "
        "another allowed place.",
        remedy="Ask whoever runs the page to allow that place too (`serve --root`), if the table "
        "is a clone that is meant to point there.",
        kind="storage_refused",
    )
