"""Numbers of identity columns, which writers give out side by side (spec: Identity Columns)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import orjson

from explorer.protocol.actions import Metadata
from explorer.protocol.features.column_rules import IDENTITY_KEYS

_MARK: Final = f"{IDENTITY_KEYS}highWaterMark"
_MAX_DEPTH: Final = 100


def differ_in_identity_alone(before: Metadata, after: Metadata) -> bool:
    """Whether two metadata are the same but for the last numbers given out."""
    if replace(before, schema_string=None) != replace(after, schema_string=None):
        return False
    try:
        schemas = [orjson.loads(item.schema_string or "null") for item in (before, after)]
    except orjson.JSONDecodeError:
        return False
    return bool(_without_marks(schemas[0], 0) == _without_marks(schemas[1], 0))


def _without_marks(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return object()  # equal to nothing
    if isinstance(value, dict):
        return {key: _without_marks(item, depth + 1) for key, item in value.items() if key != _MARK}
    if isinstance(value, list):
        return [_without_marks(item, depth + 1) for item in value]
    return value
