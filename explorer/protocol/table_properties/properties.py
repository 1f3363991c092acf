"""What the properties of a table come to (spec: Table Properties).

Properties live in the configuration of the metadata, as strings;
`explorer.protocol.table_properties.known_properties` has those that are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from explorer.errors import Problem
from explorer.protocol.table_properties import known_properties as known
from explorer.protocol.table_properties.table_property import TableProperty

PROPERTIES: Final[Mapping[str, TableProperty[Any]]] = MappingProxyType(
    {
        item.name: item
        for item in (
            known.APPEND_ONLY,
            known.DELETION_VECTORS,
            known.CHANGE_DATA_FEED,
            known.COLUMN_MAPPING_MODE,
            known.COLUMN_MAPPING_MAX_ID,
            known.IN_COMMIT_TIMESTAMPS,
            known.IN_COMMIT_TIMESTAMPS_PREVIEW,
            known.IN_COMMIT_TIMESTAMP_VERSION,
            known.IN_COMMIT_TIMESTAMP_TIME,
            known.ROW_TRACKING,
            known.ROW_TRACKING_SUSPENDED,
            known.ROW_ID_COLUMN,
            known.ROW_COMMIT_VERSION_COLUMN,
            known.TYPE_WIDENING,
            known.VARIANT_SHREDDING,
            known.ICEBERG_COMPAT_V1,
            known.ICEBERG_COMPAT_V2,
            known.ICEBERG_COMPAT_V3,
            known.ICEBERG_WRITER_COMPAT_V1,
            known.ICEBERG_WRITER_COMPAT_V3,
            known.MATERIALIZE_PARTITION_COLUMNS,
            known.WRITE_PARTITION_COLUMNS,
            known.UNIVERSAL_FORMATS,
            known.CHECKPOINT_INTERVAL,
            known.CHECKPOINT_POLICY,
            known.CHECKPOINT_STATS_AS_JSON,
            known.CHECKPOINT_STATS_AS_STRUCT,
            known.CHECKPOINT_RETENTION,
            known.CHECKPOINT_PROTECTION_VERSION,
            known.LOG_RETENTION,
            known.LOG_CLEANUP,
            known.FULL_RETENTION_ROLLBACK,
            known.DROP_FEATURE_RETENTION,
            known.DELETED_FILE_RETENTION,
            known.TRANSACTION_RETENTION,
            known.SAMPLE_RETENTION,
            known.ISOLATION_LEVEL,
            known.INDEXED_COLUMNS,
            known.STATS_COLUMNS,
            known.STRING_PREFIX,
            known.RANDOMIZE_FILE_PREFIXES,
            known.RANDOM_PREFIX_LENGTH,
            known.COMPRESSION,
            known.PARQUET_VERSION,
            known.TARGET_FILE_SIZE,
            known.TUNE_FILE_SIZES,
            known.AUTO_OPTIMIZE,
            known.AUTO_COMPACT,
            known.OPTIMIZE_WRITE,
            known.SYMLINK_MANIFEST,
            known.COMMIT_COORDINATOR,
        )
    }
)
"""The known properties by name."""


_PREFIX: Final = "delta."


def validate_properties(configuration: Mapping[str, str]) -> list[Problem]:
    """A problem for each known property whose value cannot be read."""
    found = (item.validate(configuration) for item in PROPERTIES.values())
    return [problem for problem in found if problem is not None]


def ignored_properties(
    configuration: Mapping[str, str], among: Iterable[TableProperty[Any]] = PROPERTIES.values()
) -> list[Problem]:
    """A problem for each name in the configuration that is one of the properties `among` but for
    its prefix, or for small and capital letters: nobody reads it (the reference looks for the
    very name)."""
    known = {name.lower(): item for item in among for name in (item.name, *item.aliases)}
    exact = {name for item in PROPERTIES.values() for name in (item.name, *item.aliases)}
    found = []
    for name in sorted(configuration.keys() - exact):
        lowered = name.lower()
        item = known.get(lowered) or known.get(f"{_PREFIX}{lowered}")
        if item is not None:
            found.append(_ignored(name, item, configuration))
    return found


def _ignored(name: str, item: TableProperty[Any], configuration: Mapping[str, str]) -> Problem:
    text = None if item.validate(configuration) else item.text_in(configuration)
    source = "the default" if text is None else "as the table sets it"
    text = item.default if text is None else text
    counts = "nothing counts" if text is None else f"`{text}` counts, {source}"
    return Problem(
        kind="invalid_argument",
        problem=f"The table property `{name}` is ignored: no engine reads it under this name.",
        reason=f"Its name is `{item.name}`, and of that {counts}.",
        remedy=f"Set `{item.name}` to what was meant, and unset `{name}`.",
        spec="Table Properties",
    )


def check_constraints(configuration: Mapping[str, str]) -> dict[str, str]:
    """The CHECK constraints of a table: SQL expression by name (spec: CHECK Constraints)."""
    prefix = "delta.constraints."
    return {
        name[len(prefix) :]: text
        for name, text in configuration.items()
        if name.lower().startswith(prefix)
    }
