"""Which files newer actions have decided (spec: Action Reconciliation).

A large log speaks of most files once. So the keys of files that were read into columns are
not kept as texts: their hashes tell that none of them came before. As soon as one seems to
come again, the texts are made of the columns, and decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa


Decider: TypeAlias = tuple[str, str]
"""The kind of action and the log file that decided a key. A plain tuple, which Python stops
looking at for cycles: a long log has one for every commit."""


class DecidedKeys:
    """Keys of files (see `keys.file_key`), each with what decided it."""

    def __init__(self) -> None:
        self._held: dict[str, Decider] = {}
        # columns whose texts are not in `_held`, and the hashes of all these
        self._columns: list[tuple[pa.Array, Decider]] = []
        self._hashes: set[int] = set()

    def get(self, key: str) -> Decider | None:
        """What decided a key, if anything did."""
        if self._hashes and hash(key) in self._hashes:
            self._hold_all()
        return self._held.get(key)

    def add(self, key: str, decider: Decider) -> None:
        """Take a key that nothing has decided."""
        self._held[key] = decider

    def add_all(
        self, keys: Sequence[str], decider: Decider, column: pa.Array | None
    ) -> Sequence[bool] | None:
        """Take those of the keys, each of which is there once, that nothing has decided, and
        tell which they are: None for all of them. `column` has the same texts, if one does."""
        hashes = list(map(hash, keys))
        if not self._hashes.isdisjoint(hashes):
            self._hold_all()
        held = self._held
        if held.keys().isdisjoint(keys):
            if column is None:
                held.update(dict.fromkeys(keys, decider))
            else:
                self._columns.append((column, decider))
                self._hashes.update(hashes)
            return None
        news = [key not in held for key in keys]
        held.update((key, decider) for key, is_news in zip(keys, news, strict=True) if is_news)
        return news

    def _hold_all(self) -> None:
        for column, decider in self._columns:
            self._held.update(dict.fromkeys(column.to_pylist(), decider))
        self._columns.clear()
        self._hashes.clear()
