"""Text that a log and its documents can hold (spec: Delta Log Entries: lines are JSON, and JSON
is written in UTF-8).

A command line that is not UTF-8, or a browser, may hand over halves of characters that no
encoding has: they are refused where a person gave them.
"""

from __future__ import annotations

from typing import Any

from explorer.errors import InvalidArgumentError


def check_unicode(text: str, problem: str) -> None:
    """Raise `InvalidArgumentError`, which says the `problem`, for text that cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            problem,
            reason=f"At character {error.start} it is not Unicode text.",
            remedy="Write it in UTF-8.",
        ) from error


def replace_unencodable(text: str) -> str:
    """The text with a question mark for whatever cannot be encoded."""
    return text.encode(errors="replace").decode()


def with_encodable_texts(document: Any) -> Any:
    """Plain data with `replace_unencodable` done to every text in it."""
    match document:
        case str():
            return replace_unencodable(document)
        case dict():
            return {
                with_encodable_texts(key): with_encodable_texts(value)
                for key, value in document.items()
            }
        case list() | tuple():
            return [with_encodable_texts(value) for value in document]
        case _:
            return document
