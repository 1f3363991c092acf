"""How the log folder grew: the bytes of its files by kind, over time."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column

COLUMNS: Final[dict[str, Column]] = {
    "from": (time_column, TIME),
    "kind": (string_column, pa.string()),
    "num_files": (int64_column, pa.int64()),
    "bytes": (int64_column, pa.int64()),
}
_MOST: Final = 60
"""Spans of time: as many bars as a card of the page shows apart."""
_HOUR_MS: Final = 3_600_000
_SPANS: Final = tuple(_HOUR_MS * hours for hours in (1, 6, 24, 24 * 7, 24 * 30, 24 * 365))


def log_growth(files: pa.Table) -> pa.Table:
    """The files of the log folder, as `explorer.inspect.log_files` gives them, by the time at
    which they were modified.

    - `from`: when a span begins; spans are as long as one another, at most 60 of them unless
      the log is older than sixty years: an hour, six, a day, a week, thirty days or a year
    - `kind`, `num_files`, `bytes` of the files of that kind that came in it; a span in which
      nothing came has no row
    """
    dated = files.filter(files.column("modified").is_valid())
    if not dated.num_rows:
        return build_frame(COLUMNS, [])
    times = dated.column("modified").cast(pa.int64()).to_pylist()
    length = max(times) - min(times)
    span = next((one for one in _SPANS if length // one < _MOST), _SPANS[-1])
    found: dict[tuple[int, str], tuple[int, int]] = {}
    kinds, sizes = (dated.column(name).to_pylist() for name in ("kind", "size"))
    for time, kind, size in zip(times, kinds, sizes, strict=True):
        at = (time // span * span, kind)
        count, total = found.get(at, (0, 0))
        found[at] = (count + 1, total + (size or 0))
    return build_frame(COLUMNS, [(*at, *found[at]) for at in sorted(found)])
