"""Columns of a checkpoint as other writers store them, as the types that the columns of file
actions have here (spec: Checkpoint Schema)."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import DELETION_VECTOR, VECTOR_FIELDS

Column = TypeVar("Column", pa.Array, pa.ChunkedArray)


def as_type(found: Column, wanted: pa.DataType) -> Column:
    """The values of a column as the type `wanted`; raises ValueError or ArrowException where
    they mean something else."""
    if wanted == DELETION_VECTOR:
        return pa.chunked_array([_as_vectors(chunk) for chunk in found.chunks], wanted)
    if found.type == wanted:
        return found
    if not _is_kin(found.type, wanted):
        raise ValueError(f"a column of type {found.type} where {wanted} belongs")
    return pc.cast(found, wanted)


def _is_kin(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a cast keeps the meaning; Arrow would also turn numbers into text."""
    kinds = pa.types
    if kinds.is_dictionary(found):
        return _is_kin(found.value_type, wanted)
    if kinds.is_map(wanted):
        inner = (found.key_type, found.item_type) if kinds.is_map(found) else ()
        return bool(inner) and all(_is_kin(kind, pa.string()) for kind in inner)
    if kinds.is_string(wanted):
        texts = (kinds.is_string, kinds.is_large_string, kinds.is_string_view, kinds.is_binary)
        return any(is_text(found) for is_text in texts)
    if kinds.is_timestamp(wanted):
        return bool(kinds.is_timestamp(found) or kinds.is_int64(found))
    return bool(kinds.is_integer(wanted) and kinds.is_integer(found))


def _as_vectors(found: pa.Array) -> pa.Array:
    """A struct with the log's field names as `DELETION_VECTOR`; a cast would match
    the names, find none of them, and answer nulls."""
    children = []
    for name, kind in VECTOR_FIELDS.items():
        present = found.type.get_field_index(name) >= 0
        child = pc.struct_field(found, name) if present else pa.nulls(len(found), kind)
        children.append(child if child.type == kind else as_type(child, kind))
    nameless = pc.or_(pc.is_null(children[0]), pc.is_null(children[1]))
    if pc.any(pc.and_(nameless, pc.is_valid(found))).as_py():
        # taken for none, it would bring rows back that are deleted
        raise ValueError("a deletion vector without storageType or pathOrInlineDv")
    return pa.StructArray.from_arrays(
        children, fields=list(DELETION_VECTOR), mask=pc.is_null(found)
    )
