"""Numbers of things, as people are told them."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """`1 file`, `1,200 files`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
