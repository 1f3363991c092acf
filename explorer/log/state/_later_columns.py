"""Columns of a row group that may turn out to be needed, read alongside its pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa


class LaterColumns:
    """Gives columns by name for ranges of rows, as long as the ranges move forward without
    holding more than one of them; `stream` gives all rows of a column in pieces, in order."""

    def __init__(self, stream: Callable[[str], Iterator[pa.ChunkedArray]]) -> None:
        self._stream = stream
        self._held: dict[str, tuple[Iterator[pa.ChunkedArray], int, pa.ChunkedArray]] = {}

    def read(self, rows: slice, mask: pa.ChunkedArray | None, name: str) -> pa.ChunkedArray:
        """Those of `rows` that the mask keeps, all where that is None."""
        if name not in self._held or self._held[name][1] > rows.start:
            pieces = self._stream(name)
            self._held[name] = pieces, 0, next(pieces)
        pieces, start, held = self._held[name]
        while (end := start + len(held)) < rows.stop:
            more = next(pieces)
            if end <= rows.start:
                start, held = end, more
            else:
                held = pa.chunked_array([*held.chunks, *more.chunks], more.type)
            self._held[name] = pieces, start, held
        found = held.slice(rows.start - start, rows.stop - rows.start)
        return found if mask is None else found.filter(mask)
