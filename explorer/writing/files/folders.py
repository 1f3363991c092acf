"""The folders of new data files (spec: Data Files)."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.table_properties.known_properties import (
    RANDOM_PREFIX_LENGTH,
    RANDOMIZE_FILE_PREFIXES,
)
from explorer.protocol.values.partition_values import render_partition_folder

_LONGEST_NAME = 200
"""Bytes of a folder's name that every file system takes."""

_HIDDEN = "_."
"""What the name of a hidden folder begins with, to the specification and to Hadoop."""


def folder_of(
    protocol: Protocol, metadata: Metadata, values: Mapping[str, str | None], unique: UUID
) -> str:
    """The folder of files with these partition values, by physical names, with a slash behind
    it; empty for the table's root.

    As the reference names it by the partition, or at random where columns are mapped or the
    table asks for that, and where other engines would take the folder for a hidden one.
    """
    configuration = metadata.configuration
    names = metadata.partition_columns
    mapped = column_mapping_mode(protocol, configuration) != "none"
    if RANDOMIZE_FILE_PREFIXES.value_of(configuration) or (names and mapped):
        return _random(unique, RANDOM_PREFIX_LENGTH.value_of(configuration))
    folders = [render_partition_folder(name, values.get(name)) for name in names]
    if any(len(folder.encode()) > _LONGEST_NAME or folder[0] in _HIDDEN for folder in folders):
        return _random(unique, 2)
    return "".join(f"{folder}/" for folder in folders)


def _random(unique: UUID, length: int) -> str:
    return f"{unique.hex[-min(length, len(unique.hex)) :]}/"
