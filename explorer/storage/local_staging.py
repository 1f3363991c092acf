"""Files that another program makes below a table's root, until they are whole.

They lie in a folder of their own, which no version knows. `LocalStore.publish` gives those that are
wanted their names; the folder goes with what is left in it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from explorer.errors import NotFoundError
from explorer.storage.local import LocalStore

_HIDDEN = ("_", ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalStaging:
    """The folder `name` below the root of a store."""

    store: LocalStore
    name: str

    @property
    def place(self) -> str:
        """Its absolute path."""
        return f"{self.store.uri}/{self.name}"

    def paths(self) -> list[str]:
        """The files in it and below, as the store calls them, sorted; hidden ones and those in
        hidden folders left out."""
        return sorted(self._paths(self.name))

    def _paths(self, folder: str) -> Iterator[str]:
        try:
            pieces = list(self.store.list_pieces(folder))
        except NotFoundError:  # nothing was written
            return
        for piece in pieces:
            yield from (f"{folder}/{name}" for name in piece.files if name[0] not in _HIDDEN)
            for name in piece.folders:
                if name[0] not in _HIDDEN:
                    yield from self._paths(f"{folder}/{name}")

    def remove(self) -> None:
        """Delete the folder and all that is in it; what cannot be deleted stays."""
        shutil.rmtree(self.store.real_path(self.name), ignore_errors=True)
