"""What each engine takes NaN and the two zeros for; `tests/interop/test_footer_peers.py` asks."""

from __future__ import annotations

from typing import Final

QUESTIONS: Final = (
    "`d > 5` of 0.1 and NaN",
    "`d = NaN` of the same",
    "`d > 5` of the same, where the footer leaves NaN out of its bounds",
    "`d = 0.0` of two rows of -0.0",
    "`d = 0.0` of the same, stored as a dictionary",
)

COUNTS: Final = {
    "delta-spark": (1, 1, 0, 2, 0),
    "duckdb": (1, 1, 0, 2, 2),
    "polars": (1, 1, 1, 2, 2),
}
"""The rows that each engine counts, question by question."""
