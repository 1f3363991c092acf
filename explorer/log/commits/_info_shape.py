"""The shape of a line that holds a `commitInfo` (spec: Commit Provenance Information).

Nearly all commits of a table record the same things in the same order. The shape is all of
such a line that is not a value. One regular expression tells that a line has it, and that its
values are of the same kinds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pyarrow as pa

from explorer.protocol.hooked_json import refuse_constant, without_duplicates

_Kind = Literal["text", "whole", "real", "truth", "nothing"]

# what every reader of JSON takes for the same: no half characters, no number that would have
# to be rounded, and none that is written again with other digits
_PATTERNS: Final[Mapping[_Kind, str]] = {
    "text": r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"',
    "whole": "(?:0|-?[1-9][0-9]{0,17})",
    "real": r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,20}",
    "truth": "(?:true|false)",
    "nothing": "null",
}
_TYPES: Final[Mapping[_Kind, pa.DataType]] = {
    "text": pa.string(),
    "whole": pa.int64(),
    "truth": pa.bool_(),
}

FIELDS: Final[Mapping[str, _Kind]] = {
    "operation": "text",
    "userName": "text",
    "engineInfo": "text",
    "readVersion": "whole",
    "isBlindAppend": "truth",
    "inCommitTimestamp": "whole",
    "userId": "text",
    "clientVersion": "text",
    "userMetadata": "text",
}
"""Fields of a `commitInfo` that are asked for, and the kind of value that counts."""

MAPS: Final = ("operationParameters", "operationMetrics")
"""Those that are maps."""

_BEGINNING: Final = b'{"commitInfo":{'

# an escape could hide a quote
_ODD_NAME: Final = re.compile(r'["\\\x00-\x1f]')

# values, names, and what stands between them; an expression of more is slow to build
_MOST_PARTS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoShape:
    """Lines that record the same things in the same order.

    - `pattern` matches a line of the shape, its newline included, and no other one
    - `body` has those of `FIELDS` that have a value of the right kind, and of `MAPS`, as
      structs of the values that are not null
    - `names` are all names in each map that is there, in their order
    """

    pattern: str
    body: pa.StructType
    names: Mapping[str, Sequence[str]]


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def parse_info_shape(line: bytes) -> InfoShape | None:
    """The shape of a line that ends with a newline; None where it holds more than a
    `commitInfo`, or what could mean something else to another reader."""
    if not line.startswith(_BEGINNING):
        return None
    try:
        text = line.decode()
        action = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=refuse_constant,
        )
        parts = list(_patterns(action))
        body = action["commitInfo"]
        fields = [*_fields(body), *_map_fields(body)]
    except (ValueError, RecursionError):
        return None
    pattern = "".join(parts) + "\n"
    if len(parts) > _MOST_PARTS or len(action) > 1 or re.fullmatch(pattern, text) is None:
        return None
    names = {name: tuple(body[name]) for name in MAPS if type(body.get(name)) is dict}
    return InfoShape(pattern=f"^{pattern}$", body=pa.struct(fields), names=names)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = without_duplicates(pairs)
    if any(map(_ODD_NAME.search, found)):
        raise ValueError("a name is not a plain one")
    return found


def _patterns(value: Any) -> Iterator[str]:
    """What matches a value and others of its shape, in parts."""
    if type(value) is not dict:
        yield _PATTERNS[_kind_of(value)]
        return
    before = r"\{"
    for name, inner in value.items():
        yield f'{before}"{re.escape(name)}":'
        yield from _patterns(inner)
        before = ","
    yield r"\}" if value else r"\{\}"


def _kind_of(value: Any) -> _Kind:
    """Raises `ValueError` for an object, a list, and a number of another form."""
    if value is None:
        return "nothing"
    if type(value) is bool:
        return "truth"
    if type(value) is str:
        return "text"
    if type(value) is _Number:
        for kind in ("whole", "real"):
            if re.fullmatch(_PATTERNS[kind], value):
                return kind
    raise ValueError("no plain value, or a number that can be written in several ways")


def _fields(body: Mapping[str, Any]) -> Iterator[pa.Field]:
    for name, wanted in FIELDS.items():
        value = body.get(name)
        if type(value) is not dict and _kind_of(value) == wanted:
            yield pa.field(name, _TYPES[wanted])


def _map_fields(body: Mapping[str, Any]) -> Iterator[pa.Field]:
    """Raises `ValueError` where a value of a map is turned into text: an object, a real."""
    for name in MAPS:
        found = body.get(name)
        if type(found) is not dict:
            continue
        kinds = {key: _kind_of(value) for key, value in found.items() if value is not None}
        if "real" in kinds.values():
            raise ValueError("a value that would have to be written as JSON")
        if kinds:
            yield pa.field(name, pa.struct([(key, _TYPES[kind]) for key, kind in kinds.items()]))
