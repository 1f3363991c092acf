"""Files that the table names and that are not there, for a repair that takes them out of it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import NotFoundError
from explorer.files.listed import stat_files
from explorer.files.store_paths import file_of_each
from explorer.log.actions.columns import string_column
from explorer.maintenance.plan.newer_commits import stale
from explorer.maintenance.steps._files_beyond import can_be_a_name, gone_beyond, vector_paths
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import ReadStore
from explorer.transaction.staged import StagedCommit


def are_gone(store: ReadStore, files: pa.Table) -> pa.ChunkedArray:
    """Which of `files` (path, deletion_vector) lack their data file or that of their vector."""
    missing: pa.ChunkedArray | None = None
    for names in file_of_each(files, store.uri):
        if names is None:
            continue
        every = pa.chunked_array([pc.unique(names.drop_null())], pa.string())
        there = stat_files(store, every)
        gone = leading_nowhere(store, every.filter(there.column("bytes").is_null()))
        found = pc.is_in(names, value_set=gone)
        missing = found if missing is None else pc.or_(missing, found)
    if missing is None:
        raise AssertionError("every file has a name")
    if not len(beyond := gone_beyond(store, files)):
        return missing
    for texts in (files.column("path"), vector_paths(files)):
        missing = pc.or_(missing, pc.is_in(texts, value_set=beyond))
    return missing


def leading_nowhere(store: ReadStore, names: pa.ChunkedArray) -> pa.Array:
    """Those of some names that lead to nothing: readers follow a link, which is no plain file."""

    def is_gone(name: str) -> bool:
        if not can_be_a_name(name):
            return True
        try:
            store.stat(name)
        except NotFoundError:
            return True
        return False

    texts = names.to_pylist()
    gone = map_concurrently(store, is_gone, texts)
    return string_column([text for text, lost in zip(texts, gone, strict=True) if lost])


def check_still_gone(store: ReadStore, staged: StagedCommit) -> None:
    """Raise `ConflictError` where a file that a commit takes out is there again: what was away
    for a while, as behind a mount, is no loss."""
    files = staged.files("remove")
    there = files.filter(pc.invert(are_gone(store, files))).column("path")
    if len(there):
        raise stale(
            f"{len(there)} of the files that it removes are there again, among them "
            f"{there[0].as_py()[:200]!r}."
        )
