"""Markup as a type: the one place where text becomes HTML.

Every string of a table is hostile: column names, paths, partition values, commit
information, tags, predicates, properties, statistics. It reaches the page only as a value
that `html` puts into a template, and whatever is not `Markup` is escaped on the way.
Templates are literals, which an architecture test holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from markupsafe import Markup

__all__ = ["NOTHING", "Markup", "esc", "html", "join", "style_sheet"]

NOTHING: Final = Markup("")


def html(template: str, *values: object) -> Markup:
    """`template` with `values` in the places of its braces, as `str.format` fills them.

    Values that are `Markup` stay as they are; all others are made inert for HTML content and
    quoted attributes.
    """
    shown = (value if isinstance(value, Markup) else _Text(value) for value in values)
    return Markup(template.format(*shown))


def join(parts: Iterable[str]) -> Markup:
    """The parts, one behind the other; those that are not `Markup` are escaped."""
    return NOTHING.join(part if isinstance(part, Markup) else esc(part) for part in parts)


def esc(text: object) -> Markup:
    """`text` made inert for HTML content and quoted attributes.

    Lone surrogates, which JSON can carry and UTF-8 cannot, become question marks.
    """
    plain = str(text).encode("utf-8", "replace").decode("utf-8")
    return Markup(escape(plain, quote=True))


def style_sheet(css: str) -> Markup:
    """A style sheet of our own, as the element that holds it."""
    return Markup(f"<style>{css}</style>")


class _Text:
    """A value that is escaped once it has its format."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __format__(self, wanted: str) -> str:
        return esc(format(self._value, wanted))
