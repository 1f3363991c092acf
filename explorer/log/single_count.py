"""`numRecords` of the statistics of one file (spec: Per-file Statistics)."""

from __future__ import annotations

import json
import re
from typing import Final

import orjson

COUNT_FIRST: Final = r'^\{"numRecords":(?P<count>0|[1-9][0-9]{0,17})[,}]'
"""Statistics with the number in front, where nearly every writer puts it."""
_FIRST: Final = re.compile(COUNT_FIRST)


def read_count(stats: str) -> int | None:
    """The physical rows of a file; None where its statistics do not say, or cannot be read.

    A number in front is taken as it stands: of two of them in one object the first counts then.
    """
    found = _FIRST.match(stats) if stats.endswith("}") else None
    return parse_count(stats) if found is None else int(found["count"])


def parse_count(stats: str) -> int | None:
    """The same by parsing all of it."""
    try:
        value = orjson.loads(stats)
    except orjson.JSONDecodeError:
        # a number beyond every double, or one that is none, need not be that of the rows
        try:
            value = json.loads(stats)
        except (ValueError, RecursionError):
            return None
    count = value.get("numRecords") if isinstance(value, dict) else None
    usable = isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**63
    return count if usable else None
