"""What a protocol asks for, found once, as Python does itself from 3.12 on.

The engine asks of a store what it can do, and each such question looks through all that the
protocol inherits: a twentieth of the time of thousands of small tables.
"""

from __future__ import annotations

import typing
from functools import lru_cache

typing._get_protocol_attrs = lru_cache(typing._get_protocol_attrs)  # type: ignore[attr-defined]
