"""Numbers with their nouns: `1 file`, `2 files`."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """`1 file`, `1,200 files`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def have(number: int, what: str) -> str:
    """`1 file has`, `2 files have`."""
    return f"{count(number, what)} {'has' if number == 1 else 'have'}"


def are(number: int, what: str) -> str:
    """`1 file is`, `2 files are`."""
    return f"{count(number, what)} {'is' if number == 1 else 'are'}"
