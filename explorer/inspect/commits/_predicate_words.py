"""The condition of a commit as people read it (spec: Commit Provenance Information).

Spark writes an expression as its analyser shows it, `["((id#27L >= 3) AND (id#27L < 9))"]`:
each column with an id, and an `L` after the id of a whole number of 64 bits. Literals stand
there without quotes, so that a condition cannot be parsed for certain. What does not have one
of the plain shapes below is shown as it was written, without the ids.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import orjson

LONGEST_PARSED = 4_000
"""Characters of a condition that are looked at; a longer one is cut."""

_MOST_BRACKETS = 100
"""Brackets that are still taken apart: each is looked for through all that it holds."""

_ID = re.compile(r"""(?P<quoted>'[^']*'|"[^"]*"|`[^`]*`)|(?<=[\w`])#[0-9]+L?\b""")
_COMPARISON = re.compile(
    r"(?P<column>[\w.`]+)(?:#[0-9]+(?P<long>L)?)? (?P<sign>>=|<=|>|<) (?P<value>\S.*)"
)
_WALL_TIME = re.compile(
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(?::[0-9.]+)?(?![0-9.Z+:-])"
)
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_EVERYTHING = {"", "true", "[]", "null"}


def read_condition(text: str | None) -> str | None:
    """The condition that an operation's parameter holds: a list of one text or the text itself;
    None where it is absent or lets every row through."""
    if text is None:
        return None
    if text.startswith("["):
        try:
            parts = orjson.loads(text)
        except orjson.JSONDecodeError:
            parts = None
        if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
            text = parts[0] if len(parts) == 1 else " AND ".join(f"({part})" for part in parts)
    text = " ".join(text[:LONGEST_PARSED].split())
    return None if text.casefold() in _EVERYTHING else text


def plain_condition(text: str) -> str:
    """The condition without ids and needless brackets: `status = paid AND id < 9`."""
    parts = _conjuncts(text)
    return without_ids(" AND ".join(_bracketed(part, len(parts)) for part in parts))


def without_ids(text: str) -> str:
    """The condition as it was written, without Spark's ids of expressions; what other writers
    quote stays as it is."""
    return _ID.sub(lambda found: found["quoted"] or "", text)


def told_condition(text: str) -> str:
    """The condition as the end of a sentence: `customer_id is between 3 and 8`."""
    told: list[str] = []
    parts = _conjuncts(text)
    at = 0
    while at < len(parts):
        both = _told_range(parts[at], parts[at + 1]) if at + 1 < len(parts) else None
        told.append(without_ids(_bracketed(parts[at], len(parts))) if both is None else both)
        at += 1 if both is None else 2
    said = " and ".join(told)
    # Spark writes a time by the clock of its session, and not whose that is
    return f"{said} (time zone not recorded)" if _WALL_TIME.search(said) else said


class _Bound(NamedTuple):
    column: str
    is_long: bool
    sign: str
    value: str


def _told_range(first: str, second: str) -> str | None:
    """Two bounds of one column in a few words; None where they are something else."""
    one, other = _bound(first), _bound(second)
    if one is None or other is None or one.column != other.column:
        return None
    low, high = (one, other) if one.sign == ">=" else (other, one)
    if low.sign != ">=":
        return None
    if high.sign == "<=":
        return f"{low.column} is between {low.value} and {high.value}"
    if high.sign != "<":
        return None
    if low.is_long and _WHOLE.fullmatch(low.value) and _WHOLE.fullmatch(high.value):
        # of whole numbers the last one below the bound is known
        return f"{low.column} is between {low.value} and {int(high.value) - 1}"
    return f"{low.column} is at least {low.value} and below {high.value}"


def _bound(text: str) -> _Bound | None:
    found = _COMPARISON.fullmatch(text)
    if found is None or _brackets_open(found["value"]):
        return None
    if any(word in found["value"].upper() for word in (" AND ", " OR ")):
        return None
    return _Bound(found["column"], found["long"] is not None, found["sign"], found["value"])


def _bracketed(part: str, of: int) -> str:
    """One of several conditions, in brackets where it would mean something else without."""
    return f"({part})" if of > 1 and " OR " in part.upper() else part


def _brackets_open(text: str) -> bool:
    return "(" in text or ")" in text


def _conjuncts(text: str) -> list[str]:
    """The conditions that all have to hold; the text itself where that cannot be told."""
    return [text] if text.count("(") > _MOST_BRACKETS else _taken_apart(text)


def _taken_apart(text: str) -> list[str]:
    text = _without_brackets(text)
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return [text]
        # only in brackets of its own: BETWEEN has an AND, too
        if depth == 0 and text.startswith(") AND (", at):
            parts.append(text[start : at + 1])
            start = at + len(") AND ")
    if depth or not parts:
        return [text]
    return [inner for part in [*parts, text[start:]] for inner in _taken_apart(part)]


def _without_brackets(text: str) -> str:
    """The text without brackets that hold all of it."""
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for at, sign in enumerate(text):
            depth += (sign == "(") - (sign == ")")
            if depth == 0 and at < len(text) - 1:
                return text
        if depth:
            return text
        text = text[1:-1].strip()
    return text
