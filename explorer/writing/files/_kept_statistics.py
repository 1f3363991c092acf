"""Statistics of a file that lost some rows, by those that it had (spec: Per-file Statistics).

A bound stays where none of the rows that went had it, and nulls are fewer by theirs. Other columns
have to be looked at again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias

import orjson
import pyarrow as pa

from explorer.protocol.actions import FieldPath
from explorer.protocol.statistics import DEFAULT_STRING_PREFIX, RunningStatistics

_LOWS, _HIGHS, _NULLS = "minValues", "maxValues", "nullCount"
_PARTS: Final = (_LOWS, _HIGHS, _NULLS)

_MAY_BE_CUT: Final = DEFAULT_STRING_PREFIX
"""Characters of a text from which on it may be closed with a sign that is not its own."""

_MOMENT: Final = re.compile(r"[+-]?\d{4,}-\d\d-\d\d[T ]")
"""A time, which some writers tell to the millisecond and others to the microsecond."""

_Told: TypeAlias = Mapping[str, Any]
"""Of one column by the names of the parts, None for what is not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafRows:
    """The values of one leaf, as tables of the column that it is in, which have nothing else:
    those that went, some of those that stay, and all of these, which are read when they are asked
    for."""

    removed: Sequence[pa.Table]
    near: Sequence[pa.Table]
    rest: Callable[[], Iterable[pa.Table]]


def keep_statistics(
    stats: str, num_removed: int, leaves: Mapping[FieldPath, LeafRows], prefix: int
) -> str | None:
    """The statistics of a file once `num_removed` rows have left it, from those that it had with
    all of them; `leaves` are the indexed columns.

    None where those cannot be read, are said not to be exact, or count fewer rows.
    """
    try:
        body, exact = _parsed(stats), _parsed(stats, exact=True)
    except (ValueError, RecursionError):
        return None
    held = body.get("numRecords")
    if not isinstance(held, int) or held < num_removed or body.get("tightBounds") is False:
        return None
    found: dict[str, Any] = {part: {} for part in _PARTS}
    for path, rows in leaves.items():
        known, lost = _of(body, path), _told_of(rows.removed, path, prefix)
        near = partial(_told_of, rows.near, path, prefix)
        if _stays(known, lost, near, held, num_removed):
            told: _Told = {**_of(exact, path), _NULLS: known[_NULLS] - lost[_NULLS]}
        else:
            told = _told_of(rows.rest(), path, prefix, exact=True)
        for part, value in told.items():
            if value is not None:
                _put(found[part], path, value)
    return orjson.dumps({"numRecords": held - num_removed, **found, "tightBounds": True}).decode()


def _stays(
    known: _Told, lost: _Told, near: Callable[[], _Told], num_held: int, num_removed: int
) -> bool:
    """Whether both bounds of a column are still its bounds, for certain."""
    nulls, gone = known[_NULLS], lost[_NULLS]
    if not isinstance(nulls, int) or not isinstance(gone, int) or not gone <= nulls <= num_held:
        return False
    low, high = known[_LOWS], known[_HIGHS]
    if low is None and high is None:
        # there were only nulls, or the type has no bounds, as one value tells
        return nulls == num_held or (lost[_LOWS] is None and gone < num_removed)
    if low is None or high is None:
        return False
    if gone == num_removed:
        return True
    if _is_beyond(lost[_LOWS], low) and _is_beyond(high, lost[_HIGHS]):
        return True
    beside = near()
    return (_is_beyond(lost[_LOWS], low) or beside[_LOWS] == low) and (
        _is_beyond(high, lost[_HIGHS]) or beside[_HIGHS] == high
    )


def _is_beyond(one: Any, other: Any) -> bool:
    """Whether a value is greater than another one for certain; texts may be cut."""
    if isinstance(one, str) and isinstance(other, str):
        least = min(len(one), len(other))
        if max(len(one), len(other)) >= _MAY_BE_CUT or _MOMENT.match(one):
            # what follows, or the sign that a cut text was closed with, is not the value's own
            least = max(least - 1, 0)
            return one > other and one[:least] != other[:least]
        return one > other
    if _is_number(one) and _is_number(other):
        return bool(one > other)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _parsed(text: str, *, exact: bool = False) -> dict[str, Any]:
    """Statistics as Python has them; with `exact` numbers keep their digits."""
    number: Any = orjson.Fragment if exact else Decimal
    body = json.loads(text, parse_float=number, parse_int=number if exact else int)
    if not isinstance(body, dict):
        raise ValueError("no object")
    return body


def _told_of(
    tables: Iterable[pa.Table], path: FieldPath, prefix: int, *, exact: bool = False
) -> _Told:
    found = RunningStatistics([path], prefix)
    for rows in tables:
        found.add(rows)
    return _of(_parsed(found.render(), exact=exact), path)


def _of(body: Mapping[str, Any], path: FieldPath) -> _Told:
    return {part: _value_in(body.get(part), path) for part in _PARTS}


def _value_in(part: Any, path: FieldPath) -> Any:
    for name in path:
        if not isinstance(part, dict):
            return None
        part = part.get(name)
    return None if isinstance(part, dict) else part


def _put(target: dict[str, Any], path: FieldPath, value: Any) -> None:
    *parents, leaf = path
    for parent in parents:
        target = target.setdefault(parent, {})
    target[leaf] = value
