"""What a shallow clone says of itself: what its source does, but for history and rows, and with
properties of its own (spec: Change Metadata, Table Properties)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.evolution import with_features
from explorer.protocol.features.registry import is_supported
from explorer.protocol.features.row_columns import row_column_names
from explorer.protocol.schema import parse_schema
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_PROTECTION_VERSION,
    COLUMN_MAPPING_MODE,
    ICEBERG_COMPAT_V1,
    ICEBERG_COMPAT_V2,
    IN_COMMIT_TIMESTAMP_TIME,
    IN_COMMIT_TIMESTAMP_VERSION,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from explorer.protocol.table_properties.property_names import CONSTRAINT_PREFIX
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.protocol_rules import lacking_features
from explorer.writing.schema._asked_properties import parse_properties
from explorer.writing.schema.column_checks import check_properties_of_columns

_OF_HISTORY: Final = (
    CHECKPOINT_PROTECTION_VERSION,
    IN_COMMIT_TIMESTAMP_TIME,
    IN_COMMIT_TIMESTAMP_VERSION,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
"""Properties about versions and rows of the source, which the clone does not have."""

_OF_FILES: Final = (COLUMN_MAPPING_MODE, ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2)
"""Properties that ask something of the files, which stay as they are."""


def build_cloned_table(
    protocol: Protocol,
    metadata: Metadata,
    properties: Mapping[str, str | bool | int],
    ids: Callable[[], UUID],
) -> tuple[Protocol, Metadata]:
    """Protocol and metadata of a clone. `properties` are added to the source's or take the place
    of these, and features that they ask for to the protocol.

    Raises `InvalidArgumentError` for properties that are not known, cannot have the value, or ask
    something of the rows or files that are there.
    """
    history = {item.name for item in _OF_HISTORY}
    held = {name: value for name, value in metadata.configuration.items() if name not in history}
    if properties:
        asked = parse_properties(properties)
        configuration = {**held, **asked.configuration}
        _check_files(held, configuration)
        # a table that is new would have these by the versions of its protocol alone
        usual = parse_properties({}).features
        protocol = with_features(protocol, [name for name in asked.features if name not in usual])
    else:
        configuration = held
    cloned = replace(
        metadata, id=str(ids()), name=None, description=None, configuration=configuration
    )
    if properties:
        check_properties_of_columns(cloned, parse_schema(cloned.schema_string))
        lacking = lacking_features(Described(protocol=protocol, metadata=cloned))
        protocol = with_features(protocol, [item.name for item in lacking])
    if is_supported(protocol, "rowTracking"):
        names = row_column_names(ids(), ids())
        cloned = replace(cloned, configuration={**configuration, **names})
    return protocol, cloned


def _check_files(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    for item in _OF_FILES:
        if item.value_of(after) != item.value_of(before):
            raise _refused(
                f"{item.name} cannot be changed by a clone.",
                "The files stay as they are, and would have to hold columns in another way.",
            )
    for name in after:
        if name.startswith(CONSTRAINT_PREFIX) and after[name] != before.get(name):
            raise _refused(
                f"{name[:160]} cannot be set by a clone.",
                "Nobody has looked whether its rows meet it.",
            )


def _refused(problem: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        problem,
        reason=reason,
        remedy="Leave it out, and change the clone when it is there.",
        spec="Table Properties",
    )
