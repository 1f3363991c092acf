"""How many cases the tests of this folder run.

`DELTA_EXPLORER_FUZZ` is the number of mutated logs and deletion vectors together, by
default what CI runs, and `DELTA_EXPLORER_FUZZ_FIRST` the seed to begin with. A mutated
log costs some fifteen times as much as a mutated vector, and there are fewer of them.
"""

from __future__ import annotations

import os

_DEFAULT = 100_000
_TOTAL = int(os.environ.get("DELTA_EXPLORER_FUZZ", str(_DEFAULT)))

_FIRST_SEED = int(os.environ.get("DELTA_EXPLORER_FUZZ_FIRST", "0"))
_LOGS_OF_A_KIND = _TOTAL * 3 // 100  # three kinds
_ESCAPED_LOGS = _LOGS_OF_A_KIND // 10
_VECTORS_OF_A_KIND = (_TOTAL - 3 * _LOGS_OF_A_KIND - _ESCAPED_LOGS) // 4  # four kinds


def _parts(total: int, at_most: int) -> list[range]:
    """So many seeds, in parts that a test can go through before it counts as hanging."""
    end = _FIRST_SEED + total
    return [range(at, min(at + at_most, end)) for at in range(_FIRST_SEED, end, at_most)]


LOG_SEEDS = _parts(_LOGS_OF_A_KIND, 3_000)
"""The seeds of each kind of mutated log, a test for each part."""
ESCAPE_SEEDS = _parts(_ESCAPED_LOGS, 3_000)
"""The same of logs that say what they said, with escapes."""
VECTOR_SEEDS = _parts(_VECTORS_OF_A_KIND, 25_000)
"""The same of mutated vectors."""
EXAMPLES = 60 * max(1, _TOTAL // _DEFAULT)
"""Of each property that hypothesis looks for a counterexample of."""
