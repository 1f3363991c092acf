"""How new data files of a table look (spec: Data Files, Per-file Statistics).

Made from protocol and metadata, and not from a snapshot: files follow the schema of the commit
that brings them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from explorer.log.state.statistics_columns import indexed_places
from explorer.protocol.actions import FieldPath, Metadata, Protocol
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_path
from explorer.protocol.statistics import DEFAULT_STRING_PREFIX
from explorer.protocol.table_properties.known_properties import (
    COMPRESSION,
    PARQUET_VERSION,
    STRING_PREFIX,
)
from explorer.rows.stored_rows import written_schema

_CODECS: Final = {"uncompressed": "none", "lz4_raw": "lz4"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """How new files look: their schema, the columns that their statistics speak of, and the
    codec and the version of data pages as pyarrow calls them. Decimals are stored as integers
    where they fit, and pages have checksums, unless a form says otherwise."""

    schema: pa.Schema
    statistics: tuple[FieldPath, ...]
    string_prefix: int
    codec: str
    page_version: str
    decimals_as_integers: bool = True
    page_checksums: bool = True

    @property
    def ending(self) -> str:
        """How the names of new files end."""
        return ".parquet" if self.codec == "none" else f".{self.codec}.parquet"

    def path(self, target: str, run: int, number: int) -> str:
        """The path of one file of a group, by what its name begins with; `run` is a number of the
        task's own, also where it is tried again."""
        return f"{target}-{run}.c{number:03}{self.ending}"


def codec_of(metadata: Metadata) -> str:
    """How new data files of a table are compressed, as pyarrow calls it."""
    name = COMPRESSION.value_of(metadata.configuration)
    return _CODECS.get(name, name)


def file_form(protocol: Protocol, metadata: Metadata, *, new_rows: bool = False) -> FileForm:
    """How new data files of a table look.

    Rows that are written again keep their ids in two hidden columns where the table tracks rows;
    `new_rows` have none yet.
    """
    mode = column_mapping_mode(protocol, metadata.configuration)
    prefix = STRING_PREFIX.value_of(metadata.configuration)
    return FileForm(
        schema=written_schema(protocol, metadata, with_ids=not new_rows),
        statistics=tuple(physical_path(place, mode) for place in indexed_places(metadata)),
        string_prefix=DEFAULT_STRING_PREFIX if prefix is None else prefix,
        codec=codec_of(metadata),
        page_version=_page_version(metadata),
    )


def _page_version(metadata: Metadata) -> str:
    """The version of the data pages of new files, as pyarrow calls it."""
    text = PARQUET_VERSION.value_of(metadata.configuration)
    return "1.0" if text.startswith("1.") else "2.0"
