"""Patterns of LIKE: `%` for any text, `_` for one character."""

from __future__ import annotations

import re
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.scan.predicate.predicate import ColumnReference, LikeTest

_KINDS: dict[str, Literal["itself", "prefix"]] = {"": "itself", "%": "prefix"}


def build_like_test(operand: ColumnReference, pattern: str, escape: str) -> LikeTest:
    """`operand LIKE pattern`; raises `InvalidArgumentError` where the escape character
    stands before anything but `%`, `_` or itself."""
    pieces: list[str] = []
    prefix: list[str] = []
    wildcards = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            character = next(characters, "")  # noqa: PLW2901  # the escaped one
            if character not in {"%", "_", escape} or not character:
                raise _bad_escape(pattern, escape)
        elif character in "%_":
            wildcards += character
            pieces.append("(?s:.*)" if character == "%" else "(?s:.)")
            continue
        pieces.append(re.escape(character))
        if not wildcards:
            prefix.append(character)
        elif wildcards[-1] != "!":
            wildcards += "!"
    return LikeTest(
        operand=operand,
        pattern=pattern,
        expression=rf"\A{''.join(pieces)}\z",
        prefix="".join(prefix),
        matches=_KINDS.get("".join(sorted(set(wildcards))), "pattern"),
    )


def match_pattern(values: pa.Array, likeness: LikeTest) -> pa.BooleanArray:
    """Which texts match, null where they are null; raises `InvalidArgumentError` for a pattern
    that takes more memory than is allowed."""
    text = pc.cast(values, pa.string())
    try:
        return pc.match_substring_regex(text, likeness.expression)
    except pa.ArrowInvalid as error:
        raise InvalidArgumentError(
            f"The pattern {likeness.pattern[:60]!r} of LIKE is too long.",
            reason=f"It has {len(likeness.pattern):,} characters, and its wildcards together "
            "take more memory than is allowed for a pattern.",
            remedy="Use fewer wildcards, such as one % in place of many _.",
        ) from error


def _bad_escape(pattern: str, escape: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The pattern {pattern[:60]!r} of LIKE cannot be read.",
        reason=f"The escape character {escape!r} must stand before %, _ or itself.",
        remedy="Double it where it means itself.",
    )
