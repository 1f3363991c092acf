"""The schema of a table (spec: Schema Serialization Format).

`parse_schema` reads the JSON text of `metaData.schemaString`, `render_schema`
writes it as the reference does. A type that no revision names is kept as
`UnknownType`, so that the schema can still be shown.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal, NoReturn, TypeAlias

import orjson

from explorer.errors import CorruptLogError
from explorer.protocol.hooked_json import can_hook, decode_hooked
from explorer.records import record

MAX_SCHEMA_DEPTH: Final = 100
"""Types may be nested this deep. Deeper ones are refused: they are hostile
rather than useful, and every walk over a schema may rely on the bound."""

PRIMITIVE_NAMES: Final = frozenset(
    {
        "string",
        "long",
        "integer",
        "short",
        "byte",
        "float",
        "double",
        "boolean",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "timestamp_nanos",
        "timestamp_nanos_ntz",
        "interval year to month",
        "interval day to second",
        "variant",
        "void",
    }
)
"""The primitive types without parameters, of all revisions and proposals."""

_SPELLINGS: Final = {
    "null": "void",  # as Spark wrote it before version 3
    "timestamp_ltz": "timestamp",
    "interval year": "interval year to month",
    "interval month": "interval year to month",
}
_DAY_TIME_UNITS: Final = ("day", "hour", "minute", "second")
_DAY_TIME = re.compile(r"interval (day|hour|minute|second)(?: to (hour|minute|second))?")
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,3})\s*,\s*(-?\d{1,3})\s*\)")
_GEO = re.compile(r"(geometry|geography)(?:\(([^()]*)\))?")
_MAX_PRECISION: Final = 38
_CHARACTERS = re.compile(r"(?:char|varchar)\(\s*\d{1,10}\s*\)")
CHARACTER_TYPE_KEY: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""In the metadata of a string column, its type with a length, as Spark keeps it."""

# a longer text would take ten times its size and more if all of it were decoded at once
_LONG_TEXT: Final = 2**23
_NO_METADATA: Final[Mapping[str, Any]] = {}

_Place: TypeAlias = tuple[str, ...]
_WAYS: Final[Mapping[str, Mapping[str, str]]] = {
    "array": {"element": "elementType"},
    "map": {"key": "keyType", "value": "valueType"},
}
_SPARK_NAMES: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
}
_PLAIN_NAME = re.compile(r"\w+", re.ASCII)


class _LookalikeError(Exception):
    """Something that is not a field looked like one to `_plain_field`."""


@record
class PrimitiveType:
    """One of `PRIMITIVE_NAMES`."""

    name: str


_PRIMITIVES: Final = {name: PrimitiveType(name=name) for name in PRIMITIVE_NAMES}
BINARY: Final = _PRIMITIVES["binary"]
BOOLEAN: Final = _PRIMITIVES["boolean"]
DATE: Final = _PRIMITIVES["date"]
DOUBLE: Final = _PRIMITIVES["double"]
LONG: Final = _PRIMITIVES["long"]
STRING: Final = _PRIMITIVES["string"]
TIMESTAMP: Final = _PRIMITIVES["timestamp"]
VARIANT: Final = _PRIMITIVES["variant"]
VOID: Final = _PRIMITIVES["void"]


@record
class DecimalType:
    """A decimal of 1 to 38 digits, `scale` of them behind the point."""

    precision: int
    scale: int


@record
class GeoType:
    """A geometry or geography; `parameters` are its reference system and algorithm as written."""

    name: Literal["geometry", "geography"]
    parameters: tuple[str, ...] = ()


@record
class UnknownType:
    """A type that no revision names; `text` is its name, or its JSON object."""

    text: str


@record
class ArrayType:
    """A list of values of one type."""

    element_type: DataType
    contains_null: bool


@record
class MapType:
    """Keys of one type with values of another."""

    key_type: DataType
    value_type: DataType
    value_contains_null: bool


@record
class StructField:
    """A column, or a field of a struct; `metadata` is kept as parsed (spec: Column Metadata)."""

    name: str
    data_type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


@record
class StructType:
    """Fields in order: the schema of a table, or a nested column."""

    fields: tuple[StructField, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(item.name for item in self.fields)

    def field(self, name: str) -> StructField | None:
        """The field called `name`, case and all, or None; of several, the first."""
        return next((item for item in self.fields if item.name == name), None)


DataType: TypeAlias = (
    PrimitiveType | DecimalType | GeoType | UnknownType | ArrayType | MapType | StructType
)


def parse_schema(schema_string: str | None) -> StructType:
    """The schema written in `schema_string`; of a table that does not say there are no
    columns, as in the reference.

    Raises `CorruptLogError` of kind `schema_invalid` where the text is not JSON
    or no struct, where a field is missing or of the wrong type, or where types
    are nested more than `MAX_SCHEMA_DEPTH` deep.
    """
    if schema_string is None:
        return StructType()
    try:
        if len(schema_string) > _LONG_TEXT and can_hook(schema_string):
            with contextlib.suppress(_LookalikeError):
                return _parse_root(decode_hooked(schema_string, _plain_field))
        return _parse_root(orjson.loads(schema_string))
    except (ValueError, RecursionError) as error:
        _refuse(f"It is not JSON that can be read: {error}.", error)


def is_same_schema(one: str | None, other: str | None) -> bool:
    """Whether two texts say the same, in whatever spelling of JSON their writers have."""
    if one is None or other is None or one == other:
        return one == other
    try:
        return bool(orjson.loads(one) == orjson.loads(other))
    except (ValueError, RecursionError):
        return False


def _parse_root(value: Any) -> StructType:
    if not isinstance(value, dict) or value.get("type") != "struct":
        _check_decoded(value)
        _refuse(f"It must be an object of type struct, but is {_shown(value)}.")
    return _parse_struct(value, (), MAX_SCHEMA_DEPTH)


def parse_type_name(name: str) -> DataType:
    """The type that a string in a schema names; `UnknownType` where none does. Types of text
    with a length, which Spark reads though no revision has them, are string."""
    spelling = _SPELLINGS.get(name, name)
    if spelling in PRIMITIVE_NAMES:
        return _PRIMITIVES[spelling]
    if _CHARACTERS.fullmatch(name):
        return _PRIMITIVES["string"]
    if name == "decimal":
        return DecimalType(precision=10, scale=0)
    if match := _DECIMAL.fullmatch(name):
        precision, scale = int(match[1]), int(match[2])
        if 1 <= precision <= _MAX_PRECISION and 0 <= scale <= precision:
            return DecimalType(precision=precision, scale=scale)
    if match := _GEO.fullmatch(name):
        parameters = tuple(part.strip() for part in (match[2] or "").split(",") if part.strip())
        kind: Literal["geometry", "geography"] = (
            "geometry" if match[1] == "geometry" else "geography"
        )
        return GeoType(name=kind, parameters=parameters)
    if (match := _DAY_TIME.fullmatch(name)) and _is_descending(match[1], match[2]):
        return PrimitiveType(name="interval day to second")
    return UnknownType(text=name)


def render_schema(schema: StructType) -> str:
    """The JSON text of a schema, compact and in the reference's order of keys."""
    return _render_json_type(schema)


def render_type(data_type: DataType) -> str:
    """A type as a person reads it, like `array<struct<a: integer, b: decimal(10,2)>>`."""
    match data_type:
        case PrimitiveType(name=name):
            return name
        case DecimalType(precision=precision, scale=scale):
            return f"decimal({precision},{scale})"
        case GeoType(name=name, parameters=parameters):
            return f"{name}({', '.join(parameters)})" if parameters else name
        case UnknownType(text=text):
            return text
        case ArrayType(element_type=element):
            return f"array<{render_type(element)}>"
        case MapType(key_type=key, value_type=value):
            return f"map<{render_type(key)}, {render_type(value)}>"
        case StructType(fields=fields):
            inner = [f"{item.name}: {render_type(item.data_type)}" for item in fields]
            return f"struct<{', '.join(inner)}>"


def render_spark_type(data_type: DataType, lengths: Mapping[tuple[str, ...], str]) -> str:
    """A type as Spark's SQL has it, with the lengths of text by the way to each (names of fields,
    `element`, `key`, `value`): `array<struct<a:varchar(5),b:bigint>>`."""
    match data_type:
        case StructType(fields=fields):
            inner = []
            for item in fields:
                name = item.name if _PLAIN_NAME.fullmatch(item.name) else _quoted(item.name)
                kind = render_spark_type(item.data_type, _within(lengths, item.name))
                inner.append(f"{name}:{kind}")
            return f"struct<{','.join(inner)}>"
        case ArrayType(element_type=element):
            return f"array<{render_spark_type(element, _within(lengths, 'element'))}>"
        case MapType(key_type=key, value_type=value):
            of_key = render_spark_type(key, _within(lengths, "key"))
            return f"map<{of_key},{render_spark_type(value, _within(lengths, 'value'))}>"
        case _:
            name = render_type(data_type)
            return lengths.get((), _SPARK_NAMES.get(name, name))


def _within(lengths: Mapping[tuple[str, ...], str], step: str) -> dict[tuple[str, ...], str]:
    return {way[1:]: kind for way, kind in lengths.items() if way[:1] == (step,)}


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _plain_field(body: dict[str, Any]) -> Any:
    """A field whose type is a name and which has no metadata, else the object itself: of
    millions of columns the objects would take five times the memory of the fields."""
    if (
        len(body) == 4
        and body.get("metadata") == {}
        and type(kind := body.get("type")) is str
        and not _CHARACTERS.fullmatch(kind)
        and type(name := body.get("name")) is str
        and type(nullable := body.get("nullable")) is bool
    ):
        return StructField(
            name=name, data_type=parse_type_name(kind), nullable=nullable, metadata=_NO_METADATA
        )
    return body


def _check_decoded(value: Any) -> None:
    if isinstance(value, StructField):
        raise _LookalikeError


def _is_descending(start: str, end: str | None) -> bool:
    return end is None or _DAY_TIME_UNITS.index(start) < _DAY_TIME_UNITS.index(end)


def _parse_type(value: Any, place: _Place, depth: int) -> DataType:
    if isinstance(value, str):
        return parse_type_name(value)
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        _check_decoded(value)
        _refuse(f"The type of {_named(place)} must be a name or an object, but is {_shown(value)}.")
    if depth <= 0:
        _refuse(f"{_named(place)} is nested more than {MAX_SCHEMA_DEPTH} types deep.")
    if kind == "struct":
        return _parse_struct(value, place, depth)
    if kind == "array":
        return ArrayType(
            element_type=_parse_type(value.get("elementType"), (*place, "element"), depth - 1),
            contains_null=_require_bool(value, "containsNull", place),
        )
    if kind == "map":
        return MapType(
            key_type=_parse_type(value.get("keyType"), (*place, "key"), depth - 1),
            value_type=_parse_type(value.get("valueType"), (*place, "value"), depth - 1),
            value_contains_null=_require_bool(value, "valueContainsNull", place),
        )
    return _parse_other_type(value, kind, place, depth)


def _parse_other_type(value: dict[str, Any], kind: str, place: _Place, depth: int) -> DataType:
    if kind == "udt":  # a type of a program's own is stored as the SQL type beneath it
        return _parse_type(value.get("sqlType"), place, depth - 1)
    if len(value) == 1:  # the specification itself once writes {"type": "variant"}
        return parse_type_name(kind)
    return UnknownType(text=_render_value(value, place))


def _parse_struct(value: dict[str, Any], place: _Place, depth: int) -> StructType:
    items = value.get("fields")
    if not isinstance(items, list):
        _check_decoded(items)
        _refuse(f"The fields of {_named(place)} must be an array, but are {_shown(items)}.")
    fields = []
    for item in items:
        if isinstance(item, StructField):
            fields.append(item)
            continue
        if not isinstance(item, dict):
            _refuse(f"A field of {_named(place)} must be an object, but is {_shown(item)}.")
        if not isinstance(name := item.get("name"), str):
            _refuse(f"The name of a field of {_named(place)} must be text, but is {_shown(name)}.")
        here = (*place, name)
        told = _parse_field_metadata(item.get("metadata"), here)
        data_type = _parse_type(item.get("type"), here, depth - 1)
        if lengths := _lengths_in(item.get("type")):
            told = {CHARACTER_TYPE_KEY: render_spark_type(data_type, lengths), **told}
        fields.append(
            StructField(
                name=name,
                data_type=data_type,
                nullable=_require_bool(item, "nullable", here),
                metadata=told,
            )
        )
    return StructType(fields=tuple(fields))


def _lengths_in(value: Any) -> dict[_Place, str]:
    """The types with a length that stand in a type itself, or in its elements, keys and values,
    by the way to each; fields of structs tell their own."""
    found: dict[_Place, str] = {}
    if type(value) is str and not _CHARACTERS.fullmatch(value):
        return found  # as most are
    stack: list[tuple[_Place, Any]] = [((), value)]
    while stack:
        way, kind = stack.pop()
        if type(kind) is str and _CHARACTERS.fullmatch(kind):
            found[way] = kind
        elif isinstance(kind, dict) and len(way) < MAX_SCHEMA_DEPTH:
            steps = _WAYS.get(str(kind.get("type")), {})
            stack += [((*way, step), kind.get(key)) for step, key in steps.items()]
    return found


def _parse_field_metadata(value: Any, place: _Place) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        _check_decoded(value)
        _refuse(f"The metadata of {_named(place)} must be an object, but is {_shown(value)}.")
    if any(isinstance(item, dict | list | StructField) for item in value.values()):
        _render_value(value, place)  # too deep to be written again is refused here, not later
    return value


def _require_bool(body: dict[str, Any], key: str, place: _Place) -> bool:
    value = body.get(key)
    if not isinstance(value, bool):
        _refuse(f"`{key}` of {_named(place)} must be true or false, but is {_shown(value)}.")
    return value


def _render_value(value: Any, place: _Place) -> str:
    try:
        return orjson.dumps(value, _check_decoded, orjson.OPT_PASSTHROUGH_DATACLASS).decode()
    except orjson.JSONEncodeError as error:
        if isinstance(error.__cause__, _LookalikeError):
            raise error.__cause__ from None
        _refuse(f"The metadata or type of {_named(place)} cannot be written: {error}.", error)


def _render_json_type(data_type: DataType) -> str:
    match data_type:
        case StructType(fields=fields):
            # a loop, not a comprehension: one frame less for each level
            rendered = []
            for item in fields:
                name = orjson.dumps(item.name).decode()
                nullable = "true" if item.nullable else "false"
                metadata = _render_value(item.metadata, (item.name,))
                rendered.append(
                    f'{{"name":{name},"type":{_render_json_type(item.data_type)},'
                    f'"nullable":{nullable},"metadata":{metadata}}}'
                )
            return f'{{"type":"struct","fields":[{",".join(rendered)}]}}'
        case ArrayType(element_type=element, contains_null=contains_null):
            null = "true" if contains_null else "false"
            inner = _render_json_type(element)
            return f'{{"type":"array","elementType":{inner},"containsNull":{null}}}'
        case MapType(key_type=key, value_type=value, value_contains_null=contains_null):
            null = "true" if contains_null else "false"
            inner = f'"keyType":{_render_json_type(key)},"valueType":{_render_json_type(value)}'
            return f'{{"type":"map",{inner},"valueContainsNull":{null}}}'
        case UnknownType(text=text) if text.startswith("{"):
            return text
        case _:
            return orjson.dumps(render_type(data_type)).decode()


def _named(place: _Place) -> str:
    # cut before it is joined: names of a hostile schema may be megabytes long
    return f"`{_shortened('.'.join(name[:60] for name in place[-4:]))}`" if place else "the schema"


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return _shortened(repr(value))


def _shortened(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."


def _refuse(reason: str, cause: Exception | None = None) -> NoReturn:
    raise CorruptLogError(
        "The schema of the table cannot be read.",
        reason=reason,
        remedy="Read an earlier version, or restore the commit that wrote this schema.",
        kind="schema_invalid",
        spec="Schema Serialization Format",
    ) from cause
