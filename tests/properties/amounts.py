"""How many cases the tests of this folder run.

`DELTA_EXPLORER_FUZZ` is the number of mutated logs and deletion vectors together, by
default what CI runs, and `DELTA_EXPLORER_FUZZ_FIRST` the seed to begin with. A mutated
log costs some fifteen times as much as a mutated vector, and there are fewer of them.
"""

from __future__ import annotations

import os

_DEFAULT = 100_000
_TOTAL = int(os.environ.get("DELTA_EXPLORER_FUZZ", str(_DEFAULT)))

FIRST_SEED = int(os.environ.get("DELTA_EXPLORER_FUZZ_FIRST", "0"))
LOGS_OF_A_KIND = _TOTAL * 3 // 100  # three kinds
VECTORS_OF_A_KIND = (_TOTAL - 3 * LOGS_OF_A_KIND) // 4  # four kinds
EXAMPLES = 60 * max(1, _TOTAL // _DEFAULT)
"""Of each property that hypothesis looks for a counterexample of."""
