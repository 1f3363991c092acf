"""How many cases the tests of this folder run.

There are 100,000 mutated logs and deletion vectors together. A run takes the tenth of them
whose turn it is (see `tests.sampling`), the next seed another one. `DELTA_EXPLORER_FUZZ` asks
for that many instead, none left out, and `DELTA_EXPLORER_FUZZ_FIRST` says where they begin. A
mutated log costs some fifteen times as much as a mutated vector, and there are fewer of them.
"""

from __future__ import annotations

import os

from tests.sampling import EVERYTHING, sample, unless_asked

_DEFAULT = 100_000
_ONE_IN = unless_asked("DELTA_EXPLORER_FUZZ", 10)
_TOTAL = int(os.environ.get("DELTA_EXPLORER_FUZZ", str(_DEFAULT)))

_FIRST_SEED = int(os.environ.get("DELTA_EXPLORER_FUZZ_FIRST", "0"))
_LOGS_OF_A_KIND = _TOTAL * 3 // 100  # three kinds
_ESCAPED_LOGS = _LOGS_OF_A_KIND // 10
_VECTORS_OF_A_KIND = (_TOTAL - 3 * _LOGS_OF_A_KIND - _ESCAPED_LOGS) // 4  # four kinds


def _parts(total: int, at_most: int, of: str) -> list[range]:
    """So many seeds, in parts that a test can go through before it counts as hanging; the tenth
    of them that has its turn."""
    size = min(at_most, -(-total // _ONE_IN))
    end = _FIRST_SEED + total
    parts = [range(at, min(at + size, end)) for at in range(_FIRST_SEED, end, size)]
    return sample(parts, _ONE_IN, of)


LOG_SEEDS = _parts(_LOGS_OF_A_KIND, 3_000, "mutated logs")
"""The seeds of each kind of mutated log, a test for each part."""
ESCAPE_SEEDS = _parts(_ESCAPED_LOGS, 3_000, "logs with escapes")
"""The same of logs that say what they said, with escapes."""
VECTOR_SEEDS = _parts(_VECTORS_OF_A_KIND, 25_000, "mutated vectors")
"""The same of mutated vectors."""
EXAMPLES = (60 if EVERYTHING else 20) * max(1, _TOTAL // _DEFAULT)
"""Of each property that hypothesis looks for a counterexample of."""
