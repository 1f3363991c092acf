"""One table property and how its text is read (spec: Table Properties)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar, cast

from explorer.errors import Problem
from explorer.records import record

T = TypeVar("T")

_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_LONGEST_SHOWN: Final = 120


@record
class TableProperty(Generic[T]):
    """One known property.

    `parse` turns its text into a value and raises `ValueError`, with a reason
    to be read after "it", where it cannot. `default` is the text that counts
    when the property is not set, None where absence has a meaning of its own.
    `aliases` are older names, read when the property itself is not set.
    `if_unread` says what becomes of a value that cannot be read, where the
    default does not simply take its place.
    """

    name: str
    default: str | None
    parse: Callable[[str], T]
    description: str
    aliases: tuple[str, ...] = ()
    if_unread: str | None = None

    def value_of(self, configuration: Mapping[str, str]) -> T:
        """The value in force: as set, or the default where it is not set or malformed.

        Of a property without a default this is None.
        """
        text = self.text_in(configuration)
        if text is not None:
            try:
                return self.parse(text)
            except ValueError:
                pass  # `validate_properties` reports it
        return cast("T", None) if self.default is None else self.parse(self.default)

    def validate(self, configuration: Mapping[str, str]) -> Problem | None:
        """What is wrong with the value that is set, if anything."""
        text = self.text_in(configuration)
        if text is None:
            return None
        try:
            self.parse(text)
        except ValueError as error:
            instead = "nothing" if self.default is None else f"the default `{self.default}`"
            return Problem(
                kind="invalid_argument",
                problem=f"The table property `{self.name}` is `{text[:_LONGEST_SHOWN]}`: {error}.",
                reason=self.if_unread
                or f"A value that cannot be read does not count; {instead} does.",
                remedy="Set the property again, to a value that its description allows.",
                spec="Table Properties",
            )
        return None

    def unread_in(self, configuration: Mapping[str, str]) -> str | None:
        """That the value which is set cannot be read, in a clause; None where it can."""
        if self.validate(configuration) is None:
            return None
        text = self.text_in(configuration) or ""
        return f"{self.name} is `{text[:_LONGEST_SHOWN]}`, which cannot be read"

    def text_in(self, configuration: Mapping[str, str]) -> str | None:
        """The text that the table sets, under the property's own name or an older one."""
        names = (self.name, *self.aliases)
        return next((configuration[name] for name in names if name in configuration), None)


def parse_bool(text: str) -> bool:
    """`true` or `false` in any case."""
    lowered = text.lower()
    if lowered not in {"true", "false"}:
        raise ValueError("it must be true or false")
    return lowered == "true"


def parse_text(text: str) -> str:
    """Any text."""
    return text


def integer_from(smallest: int) -> Callable[[str], int]:
    """A parser of 64-bit integers that are not below `smallest`."""

    def parse(text: str) -> int:
        if _INTEGER.fullmatch(text) is None or not -(2**63) <= int(text) < 2**63:
            raise ValueError("it must be an integer")
        if int(text) < smallest:
            raise ValueError(f"it must be {smallest} or more")
        return int(text)

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser of a few words, in any case; gives them as spelled in `choices`."""
    by_lowered = {choice.lower(): choice for choice in choices}

    def parse(text: str) -> str:
        if (choice := by_lowered.get(text.lower())) is None:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return choice

    return parse
