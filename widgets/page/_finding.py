"""What the palette finds in the open table: versions, columns and files by their names."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from explorer.errors import DeltaError
from widgets.session.tables import FileQuery, TableService

COLUMNS_FOUND = 12
FILES_FOUND = 12
"""More would not be read; who wants all looks at the view of files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finds:
    """What a question names, empty where nothing."""

    columns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def find(service: TableService, version: int, text: str) -> Finds:
    """Columns and files of a version whose name holds `text`, in any case of letters.

    A table that cannot be read has none.
    """
    return Finds(
        columns=_find_columns(service, version, text), files=_find_files(service, version, text)
    )


def _find_columns(service: TableService, version: int, text: str) -> tuple[str, ...]:
    try:
        names = service.read_schema(version)["path"]
    except (DeltaError, KeyError):
        return ()
    hits = names.filter(pc.match_substring(names, text, ignore_case=True))
    return tuple(hits.slice(0, COLUMNS_FOUND).to_pylist())


def _find_files(service: TableService, version: int, text: str) -> tuple[str, ...]:
    try:
        page = service.read_files(FileQuery(version=version, limit=FILES_FOUND, contains=text))
    except DeltaError:
        return ()
    return tuple(page.rows["path"].to_pylist())
