"""The words of a list of columns, as Spark's SQL divides them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from explorer.errors import InvalidArgumentError

WordKind = Literal["word", "quoted", "string", "sign"]

_SHOWN: Final = 60
_WORDS: Final = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*(?:(?!/\*|\*/).)*\*/)"
    r"|(?P<string>[rR]'[^']*'|[rR]\"[^\"]*\"|'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\")"
    r"|(?P<word>[A-Za-z0-9_]+)"
    r"|(?P<quoted>`(?:[^`]|``)*`)"
    r"|(?P<sign>[^`'\"\s])",
    re.DOTALL,
)
_ESCAPES: Final = re.compile(
    r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-1][0-7]{2})|(.))", re.DOTALL
)
_LETTERS: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_KEPT: Final = frozenset("%_")
"""Letters before which a backslash stays: it belongs to the pattern of a LIKE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A piece of the text, from `start` to `end`; `text` as it stands there."""

    kind: WordKind
    text: str
    start: int
    end: int


def read_words(text: str) -> Iterator[Word]:
    """The words; space and comments are between them.

    Raises `InvalidArgumentError` for a text, a name or a comment that does not end.
    """
    at = 0
    while at < len(text):
        found = _WORDS.match(text, at)
        is_comment = found is not None and found[0] == "/" and text.startswith("/*", at)
        if found is None or is_comment:
            raise InvalidArgumentError(
                "The schema cannot be read.",
                reason=f"A quote or a comment does not end: {text[at : at + _SHOWN]!r}.",
                remedy="Close it; a quote inside of a text is written twice, as 'it''s'.",
                spec="Schema Serialization Format",
            )
        at = found.end()
        match found.lastgroup:
            case "word" | "quoted" | "string" | "sign" as kind:
                yield Word(kind=kind, text=found[0], start=found.start(), end=at)
            case _:
                pass  # between words


def read_string(text: str) -> str:
    r"""What a string literal says: `'it''s'` is it's, `'a\tb'` has a tab, `r'a\tb'` has none."""
    if text[0] in "rR":
        return text[2:-1]
    quote = text[0]
    # a doubled quote is none of the escapes, but may stand behind one
    pieces = re.split(r"(\\.)", text[1:-1], flags=re.DOTALL)
    plain = "".join(
        piece if piece.startswith("\\") else piece.replace(quote * 2, quote) for piece in pieces
    )
    return _ESCAPES.sub(_unescaped, plain)


def _unescaped(found: re.Match[str]) -> str:
    short, long, octal, letter = found.groups()
    if short or long:
        number = int(short or long, 16)
        return chr(number) if number <= 0x10FFFF else found[0]
    if octal:
        return chr(int(octal, 8))
    if letter in _KEPT:
        return found[0]
    return _LETTERS.get(letter, letter)
