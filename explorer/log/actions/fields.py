"""The fields of file actions and what may stand in them (spec: Add File and Remove File).

Names in answers, names in the log, and kinds of values, without Arrow: a small
table opens faster without it. `columns` builds the columns of the same kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

FileAction = Literal["add", "remove"]
FieldKind = Literal["string", "int64", "time", "bool", "string_map", "deletion_vector"]
Fields = Mapping[str, tuple[str, FieldKind]]

_SHARED: dict[str, tuple[str, FieldKind]] = {
    "path": ("path", "string"),
    "size": ("size", "int64"),
    "partition_values": ("partitionValues", "string_map"),
    "deletion_vector": ("deletionVector", "deletion_vector"),
    "base_row_id": ("baseRowId", "int64"),
    "default_row_commit_version": ("defaultRowCommitVersion", "int64"),
    "stats": ("stats", "string"),
    "tags": ("tags", "string_map"),
    "data_change": ("dataChange", "bool"),
}

ADD_FIELDS: Fields = {
    **_SHARED,
    "modification_time": ("modificationTime", "time"),
    "clustering_provider": ("clusteringProvider", "string"),
}

REMOVE_FIELDS: Fields = {
    **_SHARED,
    "deletion_timestamp": ("deletionTimestamp", "time"),
    "extended_file_metadata": ("extendedFileMetadata", "bool"),
}

FIELDS: Mapping[FileAction, Fields] = {"add": ADD_FIELDS, "remove": REMOVE_FIELDS}

KNOWN_NAMES: Mapping[FileAction, frozenset[str]] = {
    action: frozenset(
        {*(name for name, _ in fields.values()), "partitionValues_parsed", "stats_parsed"}
    )
    for action, fields in FIELDS.items()
}
"""The names of the log that mean something here; the last two repeat others, as columns."""


def misfit(action: FileAction, body: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first field (as `add.size`) of an action whose value does not fit, and
    what it should be; None where all do. Every field may be absent or null."""
    for log_name, kind in FIELDS[action].values():
        value = body.get(log_name)
        if value is not None and not _fits(kind, value):
            return f"{action}.{log_name}", _WANTED[kind]
    return None


_WANTED: dict[FieldKind, str] = {
    "string": "a string",
    "int64": "a 64-bit integer",
    "time": "a 64-bit integer",
    "bool": "true or false",
    "string_map": "an object of strings",
    "deletion_vector": "a deletion vector descriptor",
}


def _fits(kind: FieldKind, value: Any) -> bool:
    # `type is`: true and false are integers to Python
    if kind == "string":
        return type(value) is str
    if kind == "bool":
        return type(value) is bool
    if kind == "string_map":
        return type(value) is dict and all(
            item is None or type(item) is str for item in value.values()
        )
    if kind == "deletion_vector":
        return type(value) is dict and _fits_vector(value)
    return _fits_integer(value, 64)


def _fits_vector(vector: Mapping[str, Any]) -> bool:
    return (
        all(type(vector.get(name)) in {str, type(None)} for name in _VECTOR_STRINGS)
        and all(_fits_integer(vector.get(name), 32) for name in ("offset", "sizeInBytes"))
        and _fits_integer(vector.get("cardinality"), 64)
    )


_VECTOR_STRINGS = ("storageType", "pathOrInlineDv")


def _fits_integer(value: Any, bits: int) -> bool:
    if value is None:
        return True
    return type(value) is int and -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def restore_remedy(name: str) -> str:
    """What to do about a file of the log that cannot be read."""
    if name.startswith(_FIRST):
        return "Restore this log file from a backup."
    return "Restore this log file from a backup; versions before it can still be opened."


_FIRST: Final = "0" * 20
"""The number of the first commit: there is no version before it."""
