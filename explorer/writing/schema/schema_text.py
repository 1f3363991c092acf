"""A schema as people write it: the columns of `CREATE TABLE` in Spark's SQL, or the JSON of a Delta
schema (spec: Schema Serialization Format, Column Metadata, Generated Columns, Default Columns,
Identity Columns).

What a column says besides its type becomes the metadata that delta-spark makes of it. Expressions
are kept letter by letter, which is why the text is read here: a parser of SQL that writes them
again would spell them its own way.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from explorer.errors import CorruptLogError, InvalidArgumentError
from explorer.protocol.features.column_rules import DEFAULT_KEY, GENERATION_KEY, IDENTITY_KEYS
from explorer.protocol.schema import (
    CHARACTER_TYPE_KEY,
    LONG,
    MAX_SCHEMA_DEPTH,
    STRING,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    parse_schema,
    parse_type_name,
)
from explorer.writing.schema._schema_words import Word, read_string, read_words

_SHOWN: Final = 80

_SIMPLE: Final = {
    "TINYINT": "byte",
    "BYTE": "byte",
    "SMALLINT": "short",
    "SHORT": "short",
    "INT": "integer",
    "INTEGER": "integer",
    "BIGINT": "long",
    "LONG": "long",
    "FLOAT": "float",
    "REAL": "float",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "STRING": "string",
    "BINARY": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_LTZ": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "VARIANT": "variant",
    "VOID": "void",
}
"""Types without parameters, by the names that Spark has for them."""

_OF_SPARK: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
}
"""Types that Delta's JSON calls otherwise than Spark's SQL."""

_DECIMALS: Final = frozenset({"DECIMAL", "DEC", "NUMERIC"})
_TEXTS: Final = {"CHAR": "char", "CHARACTER": "char", "VARCHAR": "varchar"}
_KNOWN: Final = (*_SIMPLE, *_DECIMALS, *_TEXTS, "ARRAY", "MAP", "STRUCT")
_ELSEWHERE: Final = {
    "TEXT": "STRING",
    "CLOB": "STRING",
    "UUID": "STRING",
    "NUMBER": "DECIMAL(10,2)",
    "MONEY": "DECIMAL(10,2)",
    "DATETIME": "TIMESTAMP",
    "TIME": "STRING",
    "INTERVAL": "BIGINT",
    "JSON": "VARIANT",
    "BLOB": "BINARY",
    "BYTES": "BINARY",
    "BOOL": "BOOLEAN",
    "INT64": "BIGINT",
    "INT32": "INT",
    "FLOAT64": "DOUBLE",
    "LIST": "ARRAY<STRING>",
}
"""What other systems call a type, and what holds its values here."""

_CONSTRAINTS: Final = {
    "CHECK": "(",
    "PRIMARY": "KEY",
    "FOREIGN": "KEY",
    "UNIQUE": "(",
    "CONSTRAINT": "",
    "REFERENCES": "",
}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_NUMBER: Final = re.compile(r"\d+(?:[lsydf]|bd|e\d+)?", re.IGNORECASE)
_MAX_PRECISION: Final = 38
_MAX_LENGTH: Final = 2**31 - 1


def parse_schema_text(text: str) -> StructType:
    """The columns that a text describes: `id BIGINT NOT NULL COMMENT 'key', day DATE`, or the JSON
    of a Delta schema.

    Raises `InvalidArgumentError` that names the column for what Spark's SQL does not know, for a
    type that no table has, and for what a table cannot keep. What columns may be together is
    asked where a table is made of them.
    """
    if text.lstrip().startswith("{"):
        return _parse_json(text)
    return ColumnReader(text).columns()


def _parse_json(text: str) -> StructType:
    try:
        return parse_schema(text)
    except CorruptLogError as error:
        raise InvalidArgumentError(
            "The JSON is not that of a schema.",
            reason=error.reason,
            remedy='Write it as {"type": "struct", "fields": […]}, or write columns as SQL does.',
            spec="Schema Serialization Format",
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Type:
    """A type, and how Spark spells it with the lengths of text in it."""

    data_type: DataType
    written: str
    has_length: bool = False


@dataclass(slots=True, kw_only=True)
class _Column:
    """A column of which not all is read."""

    name: str
    data_type: DataType
    nullable: bool = True
    metadata: dict[str, Any] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)


class ColumnReader:
    """Reads columns from the left to the right; `_path` leads to the one that is being read, and
    `after_name` are the signs that may follow its name."""

    after_name = ":"

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: tuple[Word, ...] = tuple(read_words(text))
        self._at = 0
        self._path: list[str] = []

    def columns(self) -> StructType:
        """All columns."""
        self.check_begun()
        found = [self._column()]
        while self._skip(","):
            found.append(self._column())
        self.check_done()
        return StructType(fields=tuple(found))

    def check_begun(self) -> None:
        """Raise `InvalidArgumentError` where there is nothing to read."""
        if not self._words:
            raise _refused(
                "The schema is empty.",
                "A table has at least one column.",
                "Write its columns as in CREATE TABLE: id BIGINT NOT NULL, day DATE.",
            )

    def check_done(self) -> None:
        """Raise `InvalidArgumentError` where something is left."""
        if self._word is not None:
            raise self._unexpected("a comma, or the end")

    # columns ---------------------------------------------------------------------------------

    def _column(self) -> StructField:
        self._path = []
        self._check_no_constraint()
        name = self._name("a column")
        self._path = [name]
        if self._is(":"):
            raise self._wrong(
                "is followed by a colon", "Colons stand inside STRUCT<…> alone.", "Leave it out."
            )
        return self._described(name)

    def _described(self, name: str) -> StructField:
        kind = self._type(0)
        column = _Column(name=name, data_type=kind.data_type)
        if kind.has_length:
            column.metadata[CHARACTER_TYPE_KEY] = kind.written
        while not (self._word is None or self._is(",")):
            self._option(column)
        return StructField(
            name=name,
            data_type=column.data_type,
            nullable=column.nullable,
            metadata=column.metadata,
        )

    def _option(self, column: _Column) -> None:
        self._check_no_constraint()
        options: Mapping[str, Callable[[_Column], None]] = {
            "NOT": self._not_null,
            "COMMENT": self._comment,
            "DEFAULT": self._default,
            "GENERATED": self._generated,
        }
        name = self._upper()
        if name in column.said:
            raise self._wrong(
                f"says {name} twice", "Only one of them could be meant.", "Leave out one."
            )
        if name == "NULL":
            raise self._wrong(
                "says NULL", "Spark's SQL does not know it: columns may be null.", "Leave it out."
            )
        read = options.get(name)
        if read is None:
            raise self._unexpected("NOT NULL, COMMENT, DEFAULT, GENERATED, a comma, or the end")
        column.said.add(name)
        read(column)

    def _not_null(self, column: _Column) -> None:
        self._keywords("NOT", "NULL")
        column.nullable = False

    def _comment(self, column: _Column) -> None:
        self._keywords("COMMENT")
        column.metadata["comment"] = self._strings()

    def _default(self, column: _Column) -> None:
        self._keywords("DEFAULT")
        first, depth = self._at, 0
        while (word := self._word) is not None:
            depth += _depth_of(word)
            if depth < 0 or (depth == 0 and self._ends_expression(self._at > first)):
                break
            self._at += 1
        if depth > 0:
            raise self._unexpected("a closing parenthesis")
        column.metadata[DEFAULT_KEY] = self._slice(first, "a value after DEFAULT")

    def _ends_expression(self, has_begun: bool) -> bool:  # noqa: FBT001  # no switch, a fact
        """Whether the word here begins what follows a default: the next column or option."""
        if self._is(","):
            return True
        next_one = self._upper(1)
        match self._upper():
            case "COMMENT":
                following = self._peek(1)
                return following is not None and following.kind == "string"
            case "NOT":
                return has_begun and next_one == "NULL" and self._upper(-1) != "IS"
            case "GENERATED":
                return next_one in {"ALWAYS", "BY"}
            case "DEFAULT" | "CHECK" | "PRIMARY" | "UNIQUE" | "CONSTRAINT" | "REFERENCES":
                return has_begun
            case _:
                return False

    def _generated(self, column: _Column) -> None:
        self._keywords("GENERATED")
        by_default = self._upper() == "BY"
        self._keywords(*(("BY", "DEFAULT") if by_default else ("ALWAYS",)), "AS")
        if by_default or self._upper() == "IDENTITY":
            self._keywords("IDENTITY")
            self._identity(column, explicit=by_default)
            return
        self._expect("(", "( and the expression that makes the column")
        first, depth = self._at, 1
        while (word := self._word) is not None:
            depth += _depth_of(word)
            if not depth:
                break
            self._at += 1
        column.metadata[GENERATION_KEY] = self._slice(first, "an expression in parentheses")
        self._expect(")", ") at the end of the expression")

    def _identity(self, column: _Column, *, explicit: bool) -> None:
        if column.data_type != LONG:
            raise self._wrong(
                "is an identity column and not BIGINT",
                "Only BIGINT columns are numbered.",
                "Declare it as BIGINT.",
            )
        numbers = {"START": 1, "INCREMENT": 1}
        given: set[str] = set()
        if self._skip("("):
            while not self._skip(")"):
                name = self._upper()
                if name not in numbers or name in given:
                    raise self._unexpected(
                        "START WITH n or INCREMENT BY n, once each, without a comma"
                    )
                given.add(name)
                self._keywords(name, "WITH" if name == "START" else "BY")
                numbers[name] = self._number(-(2**63), 2**63 - 1, name, signed=True)
        if not numbers["INCREMENT"]:
            raise self._wrong(
                "counts by steps of 0", "All rows would have one number.", "Use another step."
            )
        column.metadata |= {
            f"{IDENTITY_KEYS}start": numbers["START"],
            f"{IDENTITY_KEYS}step": numbers["INCREMENT"],
            f"{IDENTITY_KEYS}allowExplicitInsert": explicit,
        }

    # types -----------------------------------------------------------------------------------

    def _type(self, depth: int) -> _Type:
        if depth > MAX_SCHEMA_DEPTH:
            raise self._wrong(
                "is nested too deep", f"{MAX_SCHEMA_DEPTH} levels are read.", "Make it flatter."
            )
        name = self._upper()
        if not name:
            raise self._unexpected("a type, such as BIGINT or STRING")
        self._at += 1
        kind = self._named_type(name, depth)
        if self._upper() == "COLLATE":
            raise self._wrong(
                "has a collation",
                "Texts are compared by their bytes; other rules are not supported.",
                "Leave COLLATE out.",
            )
        return kind

    def _named_type(self, name: str, depth: int) -> _Type:
        match name:
            case "ARRAY":
                return self._array(depth)
            case "MAP":
                return self._map(depth)
            case "STRUCT":
                return self._struct(depth)
            case _ if name in _DECIMALS:
                return self._decimal(name)
            case _ if name in _TEXTS:
                return self._text_type(name)
            case _ if name in _SIMPLE and not self._is("("):
                kind = parse_type_name(_SIMPLE[name])
                return _Type(data_type=kind, written=_OF_SPARK.get(_SIMPLE[name], _SIMPLE[name]))
        raise self._no_type(name)

    def _array(self, depth: int) -> _Type:
        self._expect("<", "< and the type of its elements")
        inner = self._type(depth + 1)
        self._expect(">", "> after the type of the elements")
        return _Type(
            data_type=ArrayType(element_type=inner.data_type, contains_null=True),
            written=f"array<{inner.written}>",
            has_length=inner.has_length,
        )

    def _map(self, depth: int) -> _Type:
        self._expect("<", "< and the types of its keys and values")
        key = self._type(depth + 1)
        self._expect(",", "a comma and the type of the values")
        value = self._type(depth + 1)
        self._expect(">", "> after the type of the values")
        return _Type(
            data_type=MapType(
                key_type=key.data_type, value_type=value.data_type, value_contains_null=True
            ),
            written=f"map<{key.written},{value.written}>",
            has_length=key.has_length or value.has_length,
        )

    def _struct(self, depth: int) -> _Type:
        self._expect("<", "< and its fields")
        fields: list[StructField] = []
        written: list[str] = []
        has_length = False
        while not self._skip(">"):
            if fields:
                self._expect(",", "a comma, or > after the last field")
            name = self._name("a field")
            self._path.append(name)
            self._skip(":")
            inner = self._type(depth + 1)
            item = _Column(name=name, data_type=inner.data_type)
            if self._upper() == "NOT":
                self._not_null(item)
            if self._upper() == "COMMENT":
                self._comment(item)
            fields.append(
                StructField(
                    name=name,
                    data_type=item.data_type,
                    nullable=item.nullable,
                    metadata=item.metadata,
                )
            )
            written.append(f"{_as_word(name)}:{inner.written}")
            has_length |= inner.has_length
            self._path.pop()
        return _Type(
            data_type=StructType(fields=tuple(fields)),
            written=f"struct<{','.join(written)}>",
            has_length=has_length,
        )

    def _decimal(self, name: str) -> _Type:
        precision, scale = 10, 0
        if self._skip("("):
            precision = self._number(1, _MAX_PRECISION, f"the digits of {name}")
            if self._skip(","):
                scale = self._number(0, precision, f"the decimal places of {name}")
            self._expect(")", f") at the end of {name}")
        return _Type(
            data_type=DecimalType(precision=precision, scale=scale),
            written=f"decimal({precision},{scale})",
        )

    def _text_type(self, name: str) -> _Type:
        if not self._skip("("):
            raise self._wrong(
                f"has the type {name} without a length",
                "Spark's SQL asks for one.",
                f"Write {name}(20), or STRING for texts of any length.",
            )
        length = self._number(1, _MAX_LENGTH, f"the length of {name}")
        self._expect(")", f") after the length of {name}")
        return _Type(data_type=STRING, written=f"{_TEXTS[name]}({length})", has_length=True)

    def _no_type(self, name: str) -> InvalidArgumentError:
        shown = name[:_SHOWN]
        if name in _SIMPLE:
            return self._wrong(
                f"has the type {shown} with a parameter",
                "That type has none.",
                f"Write {shown} alone.",
            )
        if name in _ELSEWHERE:
            remedy = f"Values of that kind are kept as {_ELSEWHERE[name]}, for example."
        elif near := difflib.get_close_matches(shown, _KNOWN, n=1):
            remedy = f"Did you mean {near[0]}?"
        else:
            remedy = "Use one of BIGINT, INT, DOUBLE, DECIMAL(10,2), STRING, DATE or TIMESTAMP."
        return self._wrong(
            f"has the type {shown}", "No table is created with such a type here.", remedy
        )

    # words -----------------------------------------------------------------------------------

    @property
    def _word(self) -> Word | None:
        return self._peek(0)

    def _peek(self, ahead: int) -> Word | None:
        at = self._at + ahead
        return self._words[at] if 0 <= at < len(self._words) else None

    def _upper(self, ahead: int = 0) -> str:
        """A keyword in capital letters; empty where the word is none."""
        word = self._peek(ahead)
        return word.text.upper() if word is not None and word.kind == "word" else ""

    def _is(self, sign: str) -> bool:
        word = self._word
        return word is not None and word.kind == "sign" and word.text == sign

    def _skip(self, sign: str) -> bool:
        found = self._is(sign)
        self._at += found
        return found

    def _expect(self, sign: str, what: str) -> None:
        if not self._skip(sign):
            raise self._unexpected(what)

    def _keywords(self, *names: str) -> None:
        for name in names:
            if self._upper() != name:
                raise self._unexpected(name)
            self._at += 1

    def _name(self, what: str) -> str:
        word = self._word
        if word is not None and word.kind == "quoted":
            self._at += 1
            return word.text[1:-1].replace("``", "`")
        following = self._peek(1)
        is_plain = word is not None and word.kind == "word" and not _NUMBER.fullmatch(word.text)
        is_cut = following is not None and (
            following.kind == "sign" and following.text not in self.after_name
        )
        if word is None or not is_plain or is_cut:
            raise self._unexpected(
                f"the name of {what}; with other signs than letters of ASCII, digits and _ it "
                "stands in backticks"
            )
        self._at += 1
        return word.text

    def _number(self, least: int, most: int, what: str, *, signed: bool = False) -> int:
        sign = -1 if signed and self._skip("-") else 1
        word = self._word
        if word is None or not (word.text.isascii() and word.text.isdigit()):
            raise self._unexpected(f"a whole number for {what}")
        self._at += 1
        number = sign * int(word.text) if len(word.text) <= 20 else most + 1
        if not least <= number <= most:
            raise self._wrong(
                f"has {word.text[:20]} for {what}",
                f"It is at least {least:,} and at most {most:,}.",
                "Use a number in between.",
            )
        return number

    def _strings(self) -> str:
        """One text, or several that follow each other and are one."""
        parts = []
        while (word := self._word) is not None and word.kind == "string":
            parts.append(read_string(word.text))
            self._at += 1
        if not parts:
            raise self._unexpected("a text in quotes after COMMENT")
        return "".join(parts)

    def _slice(self, first: int, what: str) -> str:
        """The text from the word `first` to the one before this, as it is written."""
        if first == self._at:
            raise self._unexpected(what)
        return self._text[self._words[first].start : self._words[self._at - 1].end]

    def _check_no_constraint(self) -> None:
        name = self._upper()
        if name not in _CONSTRAINTS:
            return
        following = self._peek(1)
        wanted = _CONSTRAINTS[name]
        is_said = following is not None and following.text.upper() == wanted
        is_named = name == "CONSTRAINT" and self._upper(2) in _CONSTRAINTS
        if not self._path and not is_said and not is_named:
            return  # a column that is called so
        raise _refused(
            f"The schema has {name}.",
            "Constraints are no part of the columns of a Delta table; keys are not kept at all.",
            "Set a CHECK as a property: delta.constraints.positive = 'amount > 0'.",
            "CHECK Constraints",
        )

    # errors ----------------------------------------------------------------------------------

    def _unexpected(self, wanted: str) -> InvalidArgumentError:
        word = self._word
        found = "the text ends" if word is None else f"there is {self._shown(word)}"
        where = f"The column {_path(self._path)}" if self._path else "The schema"
        return _refused(
            f"{where} cannot be read.",
            f"Where {found}, there should be {wanted}.",
            "Write columns as Spark's SQL has them: id BIGINT NOT NULL COMMENT 'key', day DATE.",
        )

    def _shown(self, word: Word) -> str:
        return repr(self._text[word.start : word.start + 40])

    def _wrong(self, what: str, reason: str, remedy: str) -> InvalidArgumentError:
        return _refused(f"The column {_path(self._path)} {what}.", reason, remedy)


def _path(names: list[str]) -> str:
    return ".".join(map(_as_word, names))[:_SHOWN]


def _as_word(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name
    return f"`{name.replace('`', '``')}`"


def _depth_of(word: Word) -> int:
    return {"(": 1, ")": -1}.get(word.text, 0) if word.kind == "sign" else 0


def _refused(
    problem: str, reason: str, remedy: str, spec: str = "Schema Serialization Format"
) -> InvalidArgumentError:
    return InvalidArgumentError(problem, reason=reason, remedy=remedy, spec=spec)
