"""The lengths that Spark keeps for `char(n)` and `varchar(n)` columns.

Delta has one type for text. Spark writes what such a column was declared as into the
field's metadata, as the text of the whole type (`array<varchar(5)>`), and its writers refuse
a longer value. No revision of the specification says so; column metadata that is not known is
kept (spec: Column Metadata).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, cast

from explorer.protocol.schema import (
    CHARACTER_TYPE_KEY,
    STRING,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    render_spark_type,
)
from explorer.protocol.schema_walk import map_fields, walk_fields
from explorer.records import record

Way: TypeAlias = tuple[str, ...]
"""The steps from a field to a value inside it: names of fields, `element`, `key`, `value`."""

_BOUNDED = re.compile(r"(char|varchar)\(\s*([1-9]\d{0,8})\s*\)", re.IGNORECASE)
_UNBOUNDED = re.compile(r"string[^,<>()]*", re.IGNORECASE)
# any other type without a type inside: `decimal(10,2)`, `interval day to second`
_OTHER = re.compile(r"[^,<>()]+(?:\([^<>()]*\))?")


@record
class CharacterType:
    """Text of at most `length` characters (code points)."""

    name: Literal["char", "varchar"]
    length: int

    @property
    def text(self) -> str:
        """As it is declared: `varchar(5)`."""
        return f"{self.name}({self.length})"


class _MismatchError(Exception):
    """The text is not that of the field's type."""


def character_types(field: StructField) -> Mapping[Way, CharacterType] | None:
    """The lengths that a field's metadata sets, by the way to each value; `()` is the field
    itself. Empty where it sets none, None where the text does not fit the field's type.

    `map<string,varchar(5)>` on a map of strings is `{("value",): varchar(5)}`.
    """
    text = field.metadata.get(CHARACTER_TYPE_KEY)
    if text is None:
        return {}
    if not isinstance(text, str):
        return None
    reader = _Reader(text)
    try:
        found = dict(reader.read(field.data_type, ()))
    except _MismatchError:
        return None
    return found if reader.is_done else None


def with_lengths_on_columns(schema: StructType) -> StructType:
    """The schema with the lengths of fields inside a column told by the column: Spark looks for
    them there alone."""
    return StructType(fields=tuple(map(_with_lengths, schema.fields)))


def _with_lengths(column: StructField) -> StructField:
    lengths: dict[Way, str] = {}
    inside = False
    for place in walk_fields(StructType(fields=(column,))):
        found = character_types(place.field) or {}
        inside = inside or (bool(found) and place.depth > 0)
        lengths |= {(*place.names[1:], *way): kind.text for way, kind in found.items()}
    if not inside:
        return column
    told = {CHARACTER_TYPE_KEY: render_spark_type(column.data_type, lengths)}
    bare = map_fields(StructType(fields=(column,)), _without_lengths).fields[0]
    return replace(bare, metadata={**bare.metadata, **told})


def _without_lengths(field: StructField) -> StructField:
    kept = {key: value for key, value in field.metadata.items() if key != CHARACTER_TYPE_KEY}
    return replace(field, metadata=kept)


class _Reader:
    """Reads the text of a type beside the type itself: names of fields may hold any sign, and
    only the schema tells where one ends."""

    def __init__(self, text: str) -> None:
        self._text = text.strip()
        self._at = 0

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._text)

    def read(self, data_type: DataType, way: Way) -> Iterator[tuple[Way, CharacterType]]:
        """The lengths of one type and of those inside it."""
        match data_type:
            case StructType(fields=fields):
                yield from self._read_struct(fields, way)
            case ArrayType(element_type=element):
                self._expect("array<")
                yield from self.read(element, (*way, "element"))
                self._expect(">")
            case MapType(key_type=key, value_type=value):
                self._expect("map<")
                yield from self.read(key, (*way, "key"))
                self._expect(",")
                yield from self.read(value, (*way, "value"))
                self._expect(">")
            case _ if data_type != STRING:
                self._match(_OTHER)
            case _ if (bound := _BOUNDED.match(self._text, self._at)) is not None:
                self._at = bound.end()
                name = cast('Literal["char", "varchar"]', bound[1].lower())
                yield way, CharacterType(name=name, length=int(bound[2]))
            case _:
                self._match(_UNBOUNDED)

    def _read_struct(
        self, fields: tuple[StructField, ...], way: Way
    ) -> Iterator[tuple[Way, CharacterType]]:
        """Fields in order; one that came after the text was written is not in it."""
        self._expect("struct<")
        is_first = True
        for field in fields:
            before = self._at
            if not is_first and not self._skip(","):
                break
            if not (self._skip(f"{field.name}:") or self._skip(f"`{_escaped(field.name)}`:")):
                self._at = before
                continue
            self._skip(" ")
            yield from self.read(field.data_type, (*way, field.name))
            is_first = False
        self._expect(">")

    def _skip(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _expect(self, text: str) -> None:
        if not self._skip(text):
            raise _MismatchError

    def _match(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise _MismatchError
        self._at = found.end()


def _escaped(name: str) -> str:
    return name.replace("`", "``")
