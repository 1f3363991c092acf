"""The greatest lengths of text where columns inside of others change (spec: Column Metadata).

Spark keeps them in the metadata of the outermost column, as the text of its whole type, and forgets
them where the names in that text are no longer those of the type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from explorer.protocol.actions import FieldPath
from explorer.protocol.character_types import character_types
from explorer.protocol.schema import (
    CHARACTER_TYPE_KEY,
    StructField,
    StructType,
    render_spark_type,
)
from explorer.protocol.schema_walk import map_fields


def lengths_of(field: StructField) -> dict[FieldPath, str]:
    """The text types of a field, such as `varchar(5)`, by the way to each value."""
    return {way: kind.text for way, kind in (character_types(field) or {}).items()}


def with_lengths_kept(
    schema: StructType,
    former: StructType,
    inside: FieldPath,
    *,
    way_of: Callable[[FieldPath], FieldPath | None] = lambda way: way,
    added: Mapping[FieldPath, str] | None = None,
) -> StructType:
    """The schema where the column around `inside` tells the lengths that it had in `former`, in
    the words of its new type. `way_of` leads from the way to a value in it to the new one, None
    where it is gone; `added` are lengths of what came."""
    if not inside:
        return schema
    held = next(item for item in former.fields if item.name == inside[0])
    found = {new: text for way, text in lengths_of(held).items() if (new := way_of(way))}
    texts = {**found, **(added or {})}
    if not texts and CHARACTER_TYPE_KEY not in held.metadata:
        return schema
    return _with_texts(schema, inside[0], texts)


def with_length_at(
    schema: StructType, former: StructType, path: FieldPath, text: str | None
) -> StructType:
    """The schema where the column tells the type of the text at `path`, one without a greatest
    length where `text` is None, besides what it told in `former`."""
    held = next(item for item in former.fields if item.name == path[0])
    texts = {way: found for way, found in lengths_of(held).items() if way != path[1:]}
    if text is not None:
        texts[path[1:]] = text
    if not texts and CHARACTER_TYPE_KEY not in held.metadata:
        return schema
    return _with_texts(schema, path[0], texts)


def _with_texts(schema: StructType, column: str, texts: Mapping[FieldPath, str]) -> StructType:
    return StructType(
        fields=tuple(_told(item, texts) if item.name == column else item for item in schema.fields)
    )


def _told(column: StructField, texts: Mapping[FieldPath, str]) -> StructField:
    bare = map_fields(StructType(fields=(column,)), _without_length).fields[0]
    if not texts:
        return bare
    told = {CHARACTER_TYPE_KEY: render_spark_type(bare.data_type, texts)}
    return replace(bare, metadata={**told, **bare.metadata})


def _without_length(field: StructField) -> StructField:
    kept = {key: value for key, value in field.metadata.items() if key != CHARACTER_TYPE_KEY}
    return replace(field, metadata=kept)
