"""Structs that are set as a whole: a field that nobody speaks of must not become null."""

from __future__ import annotations

from explorer.protocol.schema import VOID, ArrayType, DataType, MapType, StructType
from explorer.protocol.schema_walk import render_path
from explorer.writing.gate.refusals import mismatch


def check_whole(
    path: tuple[str, ...], given: DataType, target: DataType, *, merges: bool = False
) -> None:
    """Raise `InvalidArgumentError` of kind `schema_mismatch` where a struct that is given for the
    column at `path` lacks a field of the table's. `merges`: a merge can be asked to keep it."""
    match given, target:
        case StructType(), StructType():
            by_name = {item.name.lower(): item for item in given.fields}
            for item in target.fields:
                inner = (*path, item.name)
                if (found := by_name.get(item.name.lower())) is not None:
                    check_whole(inner, found.data_type, item.data_type, merges=merges)
                elif item.data_type != VOID:
                    raise mismatch(
                        f"The value of {_shown(path)} has no field {_shown((item.name,))}.",
                        "The field would become null in every row.",
                        "Give it too, or merge with merge_schema=True."
                        if merges
                        else "Give it too, or set the fields that change by their own names.",
                    )
        case ArrayType(), ArrayType():
            element = (*path, "element")
            check_whole(element, given.element_type, target.element_type, merges=merges)
        case MapType(), MapType():
            check_whole((*path, "key"), given.key_type, target.key_type, merges=merges)
            check_whole((*path, "value"), given.value_type, target.value_type, merges=merges)


def _shown(path: tuple[str, ...]) -> str:
    return render_path(path)[:120]
