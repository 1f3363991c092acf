"""What of a log is asked for, the same of every entrant.

Free of pyarrow: this is loaded into the processes that are measured.
"""

from __future__ import annotations

HISTOGRAM_COLUMNS = ("order_id", "amount")

FIRST_CHECKPOINT, SECOND_CHECKPOINT, THIRD_CHECKPOINT = 100, 200, 210
"""The versions with a checkpoint of `benchmarks.logs.checkpoints`."""

THROUGH_LOG = (SECOND_CHECKPOINT + 5, THIRD_CHECKPOINT + 5)
"""Two versions on two checkpoints, with all commits between them."""

INDEPENDENT = (FIRST_CHECKPOINT + 5, THIRD_CHECKPOINT + 5)
"""Two versions on two checkpoints; most of the commits between them are gone."""
