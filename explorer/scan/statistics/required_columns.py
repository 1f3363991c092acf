"""Columns that may not be null, and what counts of nulls prove of them (spec: Per-file
Statistics; `nullable` in Schema Serialization Format).

A field of a struct that is null itself counts as null. Where the struct may be null, a field
has at least as many nulls as the struct, and the struct no more than any of its fields: what is
beyond that is a null in the field.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from explorer.protocol.actions import FieldPath
from explorer.protocol.schema import StructField
from explorer.protocol.schema_walk import FieldPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredColumn:
    """A column without nulls; `within` is the innermost struct around it that may be null
    itself, with nothing that may be in between."""

    path: FieldPath
    within: FieldPath


def required_columns(places: Iterable[FieldPlace]) -> Iterator[RequiredColumn]:
    """Those of some columns, reached through structs alone, that may not be null."""
    for place in places:
        if place.field.nullable:
            continue
        around = [step for step in place.parents if isinstance(step, StructField)]
        depth = max((at for at, field in enumerate(around, 1) if field.nullable), default=0)
        yield RequiredColumn(path=place.names, within=place.names[:depth])


def counted_for(
    required: Collection[RequiredColumn], places: Iterable[FieldPlace]
) -> Iterator[FieldPlace]:
    """Those of all columns whose counts `nulls_beyond` needs: the required ones, and all fields
    of the structs around them that may be null."""
    asked = {rule.path for rule in required}
    around = {rule.within for rule in required} - {()}
    for place in places:
        path = place.names
        if path in asked or any(path[:depth] in around for depth in range(1, len(path))):
            yield place


def nulls_beyond(rule: RequiredColumn, counts: Mapping[FieldPath, pa.Array]) -> pa.Array:
    """How many nulls of a required column no struct around it explains, at least, for each of
    some files; `counts` are the nulls of the columns of `counted_for`. Null where the column's
    own are not counted."""
    own = counts[rule.path]
    if not rule.within:
        return own
    inside = (counts[path] for path in counts if path[: len(rule.within)] == rule.within)
    # what is not counted says nothing
    return pc.subtract(own, reduce(pc.min_element_wise, inside))
