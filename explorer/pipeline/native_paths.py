"""Which data files Spark's own Parquet reader can be given, and how it calls them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import pyarrow as pa

from explorer.errors import NotFoundError
from explorer.rows.data_file import store_path
from explorer.storage.local import LocalStore
from explorer.storage.ports import ReadStore

# a name that begins so is passed over without a word; the others mean patterns,
# or end a scheme
_HIDDEN: Final = ("_", ".")
_MEANT_OTHERWISE: Final = re.compile(r"[{}\[\]*?\\:,\x00-\x1f\x7f]")

# what java.net.URI leaves as it is in a path; in names that rows say all else is quoted
_UNQUOTED: Final = "/!$&'()*+,;=:@-._~"


@dataclass(frozen=True, slots=True, kw_only=True)
class NativePaths:
    """For each file, in order: the path to give Spark, and the name by which its rows say
    where they come from (`_metadata.file_name`)."""

    paths: tuple[str, ...]
    names: tuple[str, ...]


def native_paths(store: ReadStore, files: pa.Table) -> NativePaths | str:
    """The paths of files with a column `path`; or the reason why Spark cannot take them."""
    if not isinstance(store, LocalStore):
        return "Spark is not told how to reach the table's store"
    paths = []
    for path in files.column("path").to_pylist():
        known = store_path(store, path)
        full = known if known.startswith("/") else f"{store.uri}/{known}"
        if (reason := _why_not(full)) is not None:
            return reason
        if _is_empty(store, known):
            return "a file is empty, and Spark would pass over it"
        paths.append(full)
    # the last part alone: to hash a whole path for each row takes twice as long
    names = tuple(quote(path.rpartition("/")[2], safe=_UNQUOTED) for path in paths)
    if len(set(names)) < len(names):
        return "two files have one name"
    return NativePaths(paths=tuple(f"file://{path}" for path in paths), names=names)


def _is_empty(store: ReadStore, path: str) -> bool:
    try:
        return store.stat(path).size == 0
    except NotFoundError:  # Spark says so itself
        return False


def _why_not(path: str) -> str | None:
    if not path.isascii() or _MEANT_OTHERWISE.search(path):
        return "a file has a name that means something else to Spark"
    if "//" in path or "/./" in path or "/../" in path:
        return "a path is not in its plain form"
    if path.rpartition("/")[2].startswith(_HIDDEN):
        return "a file has a name that Spark passes over"
    return None
