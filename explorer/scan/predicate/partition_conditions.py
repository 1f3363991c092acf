"""A partition as a condition on rows (spec: Partition Value Serialization)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from explorer.errors import DeltaError
from explorer.protocol.schema import StructType, render_type
from explorer.protocol.schema_walk import render_path
from explorer.protocol.values.partition_values import parse_partition_value
from explorer.scan.predicate.predicate import Constant, render_text, render_value

_UNQUOTED: Final = frozenset({"byte", "short", "integer", "long", "boolean"})


def partition_condition(
    schema: StructType, columns: Sequence[str], values: Mapping[str, str | None]
) -> str | None:
    """That rows are in the partition of these `values`, the strings of the log by the logical
    names of the partition `columns`, as SQL; None where one of them is not a value of its type, or
    its type has no rule. A column without a value, or with the empty string, is null."""
    parts = []
    for column in schema.fields:
        if column.name not in columns:
            continue
        path, text, kind = render_path((column.name,)), values.get(column.name), column.data_type
        if not text:
            parts.append(f"{path} IS NULL")
            continue
        try:
            value = parse_partition_value(text, render_type(kind))
        except DeltaError:
            return None  # a log may hold any text: none of it becomes a part of the condition
        if isinstance(value, bytes):
            shown = render_value(Constant(value=value, data_type=kind))
        else:
            shown = text if render_type(kind) in _UNQUOTED else render_text(text)
        parts.append(f"{path} = {shown}")
    return " AND ".join(parts) or None
