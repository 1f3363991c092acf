"""JSON decoded by Python's own decoder, which has hooks, and takes more than JSON.

With them objects are replaced as they are decoded, so that they are never all there, and what
orjson refuses is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

# half a character, which no text may hold, and numbers that are Python's, not JSON's
_FOREIGN = re.compile(r"\\u[dD][89a-fA-F]|\bNaN\b|\bInfinity\b")


def can_hook(text: str) -> bool:
    """Whether `decode_hooked` answers as orjson does; it looks at no more than spelling."""
    return _FOREIGN.search(text) is None


def decode_hooked(text: str, replace: Callable[[dict[str, Any]], Any]) -> Any:
    """The value of a text for which `can_hook` holds, with `replace` asked of each object,
    inner ones first. Raises `ValueError` or `RecursionError` for what is not JSON."""
    return json.loads(text, object_hook=replace, parse_int=_whole_or_real, parse_float=_real)


class DuplicateNameError(ValueError):
    """A name stands twice in an object."""


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, as `object_pairs_hook`; raises `DuplicateNameError`."""
    body = dict(pairs)
    if len(body) < len(pairs):
        raise DuplicateNameError("a name stands twice in an object")
    return body


def refuse_constant(name: str) -> NoReturn:
    """Raises `ValueError`, as `parse_constant`: NaN and its kin are Python's, not JSON's."""
    raise ValueError(f"{name} is not JSON")


def _whole_or_real(digits: str) -> int | float:
    # beyond 64 bits orjson has reals
    number = int(digits) if len(digits) < 21 else 2**64
    return number if -(2**63) <= number < 2**64 else _real(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is beyond all bounds")
    return number
