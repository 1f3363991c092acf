"""Values of every type that a table has, the extremes among them, from a seed; and rows in one
form, whoever read them.

Types are those of the log's JSON, so that nothing here rests on what is judged. A value is
Python's, with whole numbers for days and microseconds since 1970: Python's own times end with
the year 9999.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

DAY_US = 86_400_000_000
LONGS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
"""Bits of the whole numbers."""

PRIMITIVES = (
    *LONGS,
    "float",
    "double",
    "decimal(38,0)",
    "decimal(38,38)",
    "decimal(18,4)",
    "decimal(9,2)",
    "string",
    "binary",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
)

_FLOATS = (0.0, -0.0, 1.5, -2.25, float("inf"), -float("inf"), float("nan"))
_OF_32_BITS = (3.4028234663852886e38, -3.4028234663852886e38, 1.401298464324817e-45, 16777216.0)
_OF_64_BITS = (1.7976931348623157e308, 5e-324, 0.1, 9007199254740993.0, 1e22, 4.9e-10)
_LETTERS = "abzAZ09_-.'\"`/\\%#?&+~@^|<>$!*:[]"
_OTHERS = (
    "äßİıſ\u0300\u200b\u202e\ufeff\ufffd\ue000日\U0001f600\U00010400"
    "\U0002f800\U000e0041\U00100000\U0010ffff"
)
"""Of every plane, and letters that change with their case."""

_BLANKS = " ,;{}()=\t\n"
_CONTROLS = "\x01\x1f\x7f\r\x85\u2028"
_TEXTS = ("", "null", "NULL", "true", "1", "__HIVE_DEFAULT_PARTITION__", "a=b/c", " x ", "..")
# before 1582 and 1900, when calendars and zones changed; the ends of years 1, 9999 and beyond
_DAYS = (0, -1, -719_162, 2_932_896, 2_932_897, -141_428, -25_567, 10_957, 19_000)
_MORE_DAYS = (-(10**8), 10**8)
_TIMES = (1, -1, 999_999, 1_700_000_000_123_456, -62_135_596_800_000_000, 253_402_300_799_999_999)
_MORE_TIMES = (253_402_300_800_000_000, -62_135_596_800_000_001, 9 * 10**18, -9 * 10**18)

_EMPTY = b"\x01\x00\x00"
VARIANTS: dict[tuple[bytes, bytes], str] = {
    (_EMPTY, b"\x00"): "null",
    (_EMPTY, b"\x04"): "true",
    (_EMPTY, b"\x0c\x05"): "5",
    (_EMPTY, b"\x05x"): '"x"',
    (_EMPTY, b"\x03\x02\x00\x02\x03\x0c\x01\x00"): "[1,null]",
    (b"\x01\x01\x00\x01a", b"\x02\x01\x00\x00\x02\x0c\x05"): '{"a":5}',
}
"""Metadata and value -> the JSON that they say (spec: Variant Data Type)."""


def is_text(data_type: Any) -> bool:
    """Whether it is a type whose values stand in no other one."""
    return isinstance(data_type, str)


class AnyValues:
    """Values and types, drawn by one seeded source."""

    def __init__(self, any_: random.Random, *, has_variants: bool = True) -> None:
        self._any = any_
        self._plain_types = (*PRIMITIVES, "variant") if has_variants else PRIMITIVES

    def name(self, number: int, *, is_free: bool) -> str:
        """The name of a column, like no other whatever its case; with blanks where it `is_free`."""
        signs = _LETTERS + _OTHERS + ((_BLANKS + _CONTROLS) * 2 if is_free else "")
        length = self._any.choice((0, 0, 1, 3, 8, 60))
        text = "".join(self._any.choice(signs) for _ in range(length))
        # a letter in front where a file's engine would take it for something of its own
        return f"{self._any.choice(('c', 'C', '', '.', '_x'))}{text}{number}"

    def data_type(self, depth: int = 2, *, is_free: bool = False) -> Any:
        """A type at most so deep."""
        kind = self._any.random()
        if depth == 0 or kind < 0.62:
            return self._any.choice(self._plain_types)
        if kind < 0.75:
            return self.array(self.data_type(depth - 1, is_free=is_free))
        if kind < 0.86:
            key = self._any.choice([*PRIMITIVES, "string", "string"])
            return self.map(key, self.data_type(depth - 1, is_free=is_free))
        fields = [
            self.field(
                self.name(number, is_free=is_free),
                self.data_type(depth - 1, is_free=is_free),
            )
            for number in range(self._any.randint(1, 3))
        ]
        return {"type": "struct", "fields": fields}

    @staticmethod
    def field(name: str, data_type: Any, *, nullable: bool = True, **metadata: Any) -> Any:
        """A field in the form of the log."""
        return {"name": name, "type": data_type, "nullable": nullable, "metadata": metadata}

    @staticmethod
    def array(element: Any) -> Any:
        """Its elements may be null."""
        return {"type": "array", "elementType": element, "containsNull": True}

    @staticmethod
    def map(key: Any, value: Any) -> Any:
        """Its values may be null."""
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}

    def value(self, data_type: Any, *, nullable: bool = True) -> Any:
        """One value; null now and then."""
        if nullable and self._any.random() < 0.15:
            return None
        if is_text(data_type):
            return self._plain(data_type)
        match data_type["type"]:
            case "struct":
                return {item["name"]: self.of_field(item) for item in data_type["fields"]}
            case "array":
                count = self._any.choice((0, 1, 1, 2, 3))
                return [self.value(data_type["elementType"]) for _ in range(count)]
            case _:
                return self._entries(data_type)

    def of_partition(self, field: Any) -> Any:
        """A value that the field may have, and the log can tell."""
        value = self.of_field(field)
        if isinstance(value, bytes):
            value = self._any.choice((b"", b"x", "ä/b".encode()))
        if value in ("", b"") and not field["nullable"]:
            value = {"": "x", b"": b"x"}[value]
        return value

    def of_field(self, field: Any) -> Any:
        """A value that the field may have."""
        if text := field["metadata"].get("__CHAR_VARCHAR_TYPE_STRING"):
            length = text[:-1].partition("(")[2]
            found = self.value("string", nullable=field["nullable"])
            return found if found is None else found[: int(length)]
        return self.value(field["type"], nullable=field["nullable"])

    def _entries(self, data_type: Any) -> list[tuple[Any, Any]]:
        found: dict[Any, tuple[Any, Any]] = {}
        for _ in range(self._any.choice((0, 1, 2, 3))):
            key = self.value(data_type["keyType"], nullable=False)
            same = tell_value(key, data_type["keyType"])
            if isinstance(key, float) and key == 0:
                same, key = 0, abs(key)  # of two zeros one can be a key
            found[same] = (key, self.value(data_type["valueType"]))
        return list(found.values())

    def _plain(self, name: str) -> Any:
        choice = self._any.choice
        if name in LONGS:
            end = 1 << (LONGS[name] - 1)
            return choice((0, 1, -1, end - 1, -end, self._any.randrange(-end, end)))
        if name.startswith("decimal"):
            digits, scale = map(int, name[8:-1].split(","))
            end = 10**digits - 1
            unscaled = choice((0, 1, -1, end, -end, self._any.randint(-end, end)))
            return Decimal(unscaled).scaleb(-scale, EXACT)
        known: dict[str, Callable[[], Any]] = {
            "float": lambda: choice((*_FLOATS, *_OF_32_BITS, narrow(self._any.gauss(0, 1e6)))),
            "double": lambda: choice(
                (*_FLOATS, *_OF_32_BITS, *_OF_64_BITS, self._any.gauss(0, 1e6))
            ),
            "string": self.text,
            "binary": lambda: choice((b"", b"\x00\xff", b"\xed\xa0\x80", self._any.randbytes(9))),
            "boolean": lambda: choice((True, False)),
            "date": lambda: choice((*_DAYS, *_MORE_DAYS, self._any.randint(-40_000, 40_000))),
            "variant": lambda: dict(
                zip(("metadata", "value"), choice(list(VARIANTS)), strict=True)
            ),
            "void": lambda: None,
        }
        if name in known:
            return known[name]()
        return choice((*_TIMES, *_MORE_TIMES, self._any.randint(-(10**15), 10**15)))

    def text(self) -> str:
        """Of every plane, of every length that is treated in its own way."""
        if self._any.random() < 0.3:
            return self._any.choice(_TEXTS)
        length = self._any.choice((1, 2, 5, 31, 32, 33, 40))
        signs = self._any.choice((_LETTERS, _OTHERS, "\U0010ffff", _LETTERS + _OTHERS + _CONTROLS))
        return "".join(self._any.choice(signs + _BLANKS) for _ in range(length))


EXACT = Context(prec=60)
"""In which no digit of a decimal is lost."""


def narrow(value: float) -> float:
    """The nearest number of 32 bits."""
    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


def stored_value(value: Any, field: Any, *, is_partition: bool = False) -> Any:
    """What the table has of a value that is given: text of `char(n)` has its length, and a text
    of a partition column that is empty is a null."""
    text = field["metadata"].get("__CHAR_VARCHAR_TYPE_STRING", "")
    if text.startswith("char(") and value is not None:
        value = value.ljust(int(text[5:-1]))
    return None if is_partition and value in ("", b"") else value


def arrow_type_of(data_type: Any) -> pa.DataType:
    """The type in which values are given."""
    if is_text(data_type):
        if data_type.startswith("decimal"):
            return pa.decimal128(*map(int, data_type[8:-1].split(",")))
        return _ARROW[data_type]
    match data_type["type"]:
        case "struct":
            return pa.struct([arrow_field_of(item) for item in data_type["fields"]])
        case "array":
            return pa.list_(arrow_type_of(data_type["elementType"]))
        case _:
            return pa.map_(*(arrow_type_of(data_type[key]) for key in ("keyType", "valueType")))


def arrow_field_of(field: Any) -> pa.Field:
    """A column as it is given."""
    return pa.field(field["name"], arrow_type_of(field["type"]))


_ARROW: dict[str, pa.DataType] = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "variant": pa.struct([("metadata", pa.binary()), ("value", pa.binary())]),
    "void": pa.null(),
}


def tell_value(value: Any, data_type: Any) -> Any:
    """A value that can be compared and counted: -0.0 is another one than 0.0, NaN is itself, and
    the order of a map's entries means nothing."""
    if value is None:
        return None
    if is_text(data_type):
        return _tell_plain(value, data_type)
    match data_type["type"]:
        case "struct":
            return tuple(
                tell_value(_only(value, item["name"]), item["type"]) for item in data_type["fields"]
            )
        case "array":
            return tuple(tell_value(item, data_type["elementType"]) for item in value)
        case _:
            entries = value.items() if isinstance(value, dict) else map(_pair, value)
            told = (
                (tell_value(key, data_type["keyType"]), tell_value(item, data_type["valueType"]))
                for key, item in entries
            )
            return tuple(sorted(told, key=repr))


def _only(value: dict[str, Any], name: str) -> Any:
    return value[name] if name in value else value[name.lower()]


def _pair(entry: Any) -> tuple[Any, Any]:
    return (entry["key"], entry["value"]) if isinstance(entry, dict) else entry


def _tell_plain(value: Any, name: str) -> Any:
    if name in {"float", "double"}:
        return "NaN" if value != value else value.hex()  # noqa: PLR0124
    if name == "variant" and isinstance(value, dict):
        found = bytes(value["metadata"]), bytes(value["value"])
        return VARIANTS.get(found, found)
    return value


def as_numbers(kind: pa.DataType) -> pa.DataType:
    """The type with whole numbers for days and times, whose values Python may not have."""
    types = pa.types
    if types.is_timestamp(kind):
        return pa.int64()
    if types.is_date32(kind):
        return pa.int32()
    if types.is_struct(kind):
        return pa.struct([pa.field(item.name, as_numbers(item.type)) for item in kind])
    if types.is_map(kind):
        return pa.map_(as_numbers(kind.key_type), as_numbers(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(as_numbers(kind.value_type))
    return kind


def told_rows(rows: pa.Table, fields: Sequence[Any]) -> Counter[Any]:
    """How often each row of a reader occurs, by the values of these columns."""
    columns = []
    for field in fields:
        column = rows.column(field["name"])
        values = column.cast(as_numbers(column.type)).to_pylist()
        columns.append([tell_value(value, field["type"]) for value in values])
    return Counter(zip(*columns, strict=True))
