"""What commits record of themselves as columns (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import orjson
import pyarrow as pa

from explorer.log.actions.columns import (
    STRING_MAP,
    bool_column,
    int64_column,
    string_column,
    string_map_column,
)
from explorer.log.commits.commit_info import in_commit_ms

INFO_SCHEMA = pa.schema(
    [
        ("operation", pa.string()),
        ("operation_parameters", STRING_MAP),
        ("operation_metrics", STRING_MAP),
        ("user_name", pa.string()),
        ("engine_info", pa.string()),
        ("read_version", pa.int64()),
        ("is_blind_append", pa.bool_()),
        ("in_commit_ms", pa.int64()),
    ]
)
"""What is not recorded, or recorded as another type, is null; so is an in-commit timestamp
that no clock shows."""

_Bodies = Sequence[Mapping[str, Any]]


def columns_of_bodies(bodies: _Bodies) -> pa.RecordBatch:
    """The bodies of some `commitInfo` as rows of `INFO_SCHEMA`."""
    arrays = [
        string_column(_typed(bodies, "operation", str)),
        _text_map_column(bodies, "operationParameters"),
        _text_map_column(bodies, "operationMetrics"),
        string_column(_typed(bodies, "userName", str)),
        string_column(_typed(bodies, "engineInfo", str)),
        _read_versions(bodies),
        bool_column(_typed(bodies, "isBlindAppend", bool)),
        int64_column(list(map(in_commit_ms, bodies))),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=INFO_SCHEMA)


def text_of(value: Any) -> str | None:
    """A recorded value as text: strings as they are, everything else as JSON; None
    for what is nested too deep to be written again."""
    if value is None or isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return None


def _typed(bodies: _Bodies, key: str, kind: type) -> list[Any]:
    values = [body.get(key) for body in bodies]
    # by type, not by class: true and false are integers to Python
    if set(map(type, values)) <= {kind, NoneType}:
        return values
    return [value if type(value) is kind else None for value in values]


def _text_map_column(bodies: _Bodies, key: str) -> pa.Array:
    maps = _typed(bodies, key, dict)
    try:
        return string_map_column(maps)
    except TypeError:  # not all values are strings
        texts = [found and {name: text_of(item) for name, item in found.items()} for found in maps]
        return string_map_column(texts)


def _read_versions(bodies: _Bodies) -> pa.Array:
    claimed = _typed(bodies, "readVersion", int)
    try:
        return int64_column(claimed)
    except OverflowError:
        return int64_column([_bounded(value) for value in claimed])


def _bounded(value: int | None) -> int | None:
    return value if value is not None and -(2**63) <= value < 2**63 else None
