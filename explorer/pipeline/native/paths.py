"""Which data files Spark's own Parquet reader can be given, and how it calls them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import quote

import pyarrow as pa

from explorer.errors import CorruptDataError, NotFoundError
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS
from explorer.rows.data_file.data_file import DataFile, store_path
from explorer.rows.data_file.parquet_file import open_data_file
from explorer.rows.data_file.unrelated_file import is_unrelated
from explorer.rows.layout import RowLayout
from explorer.storage.concurrent_reads import map_concurrently
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


def native_paths(
    store: ReadStore, files: pa.Table, root: str, layout: RowLayout
) -> NativePaths | str:
    """The paths of files with the columns `path`, `size` and `NUM_RECORDS`, where Spark calls
    the table's folder `root`; or the reason why Spark cannot take them."""
    scheme = root.partition("://")[0]
    known = [store_path(store, path) for path in files.column("path").to_pylist()]
    paths = []
    for path in known:
        full = _spelled(path, scheme, root)
        if (reason := _why_not(full.partition("://")[2])) is not None:
            return reason
        paths.append(full)
    if (reason := _first_reason(store, known, files, layout)) is not None:
        return reason
    # the last part alone: to hash a whole path for each row takes twice as long
    names = tuple(quote(path.rpartition("/")[2], safe=_UNQUOTED) for path in paths)
    if len(set(names)) < len(names):
        return "two files have one name"
    return NativePaths(paths=tuple(paths), names=names)


def _spelled(path: str, scheme: str, root: str) -> str:
    if path.startswith("/"):
        return f"{scheme}://{path}"
    inner = path.partition("://")
    return f"{scheme}://{inner[2]}" if inner[1] else f"{root}/{path}"


def _first_reason(
    store: ReadStore, paths: Sequence[str], files: pa.Table, layout: RowLayout
) -> str | None:
    """Why Spark must not be given a file that is there: it cannot see that rows are missing,
    or that no column of the table is there."""
    claims = (files.column(name).to_pylist() for name in ("path", "size", NUM_RECORDS))
    jobs = list(zip(paths, *claims, strict=True))
    look_at = partial(_look_at, store, layout)
    return next((reason for reason in map_concurrently(store, look_at, jobs) if reason), None)


def _look_at(
    store: ReadStore, layout: RowLayout, claimed: tuple[str, str, int | None, int | None]
) -> str | None:
    known, path, size, count = claimed
    try:
        found = store.stat(known).size
        if found == 0:
            return "a file is empty, and Spark would pass over it"
        # to read every footer would take too long, and a file that was cut is another size
        if count is not None and found != size:
            with open_data_file(store, DataFile(path=path), 0) as opened:
                if opened.num_rows < count:
                    return "a file has fewer rows than the log says"
                if opened.num_rows and is_unrelated(opened.schema, layout):
                    return "a file has no column in common with the table"
    except (NotFoundError, CorruptDataError):  # Spark says so itself
        return None
    return None


def _why_not(path: str) -> str | None:
    if not path.isascii() or _MEANT_OTHERWISE.search(path):
        return "a file has a name that means something else to Spark"
    if "//" in path or "/./" in path or "/../" in path:
        return "a path is not in its plain form"
    if path.rpartition("/")[2].startswith(_HIDDEN):
        return "a file has a name that Spark passes over"
    return None
