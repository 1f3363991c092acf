"""Files of a table that lie outside of its root, as shallow clones have them: no listing finds
them, so each is asked for (spec: Add File and Remove File, Deletion Vectors)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, NotFoundError, UnsupportedError
from explorer.files.store_paths import file_of_each
from explorer.log.actions.columns import string_column
from explorer.rows.data_file.data_file import store_path
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import ReadStore

_LONGEST_PATH, _LONGEST_NAME = 4095, 255
"""In bytes: file systems, and stores, refuse to be asked for longer ones."""

_BY_PATH = string_column(["p"])


def gone_beyond(store: ReadStore, files: pa.Table) -> pa.Array:
    """Those absolute paths among the data and vector files of `files` (path, deletion_vector)
    that lie outside of the root and are not there, as the log has them. What may not or cannot
    be asked for (in another store or on another machine, outside of what the owner allows, by
    no path at all) is taken for there."""
    wanted = pc.unique(pa.chunked_array(_beyond(files, store.uri), pa.string()))
    texts: list[str] = wanted.to_pylist()

    def is_gone(text: str) -> bool:
        try:
            path = store_path(store, text)
            if not can_be_a_name(path):
                return False
            store.stat(path)
        except NotFoundError:
            return True
        except (UnsupportedError, CorruptLogError):
            return False
        return False

    gone = map_concurrently(store, is_gone, texts)
    return string_column([text for text, lost in zip(texts, gone, strict=True) if lost])


def can_be_a_name(path: str) -> bool:
    """Whether a file may lie at such a path of a store."""
    data = path.encode(errors="surrogatepass")
    longest = max(map(len, data.split(b"/")))
    return b"\0" not in data and len(data) <= _LONGEST_PATH and longest <= _LONGEST_NAME


def _beyond(files: pa.Table, root: str) -> list[pa.Array]:
    """Paths, and places of vectors, that name no file below the root."""
    names, vectors = file_of_each(files, root)
    outside = list(files.column("path").filter(names.is_null()).chunks)
    if vectors is not None:
        outside += vector_paths(files).filter(vectors.is_null()).drop_null().chunks
    return outside


def vector_paths(files: pa.Table) -> pa.ChunkedArray:
    """Row by row, the place of a deletion vector that is stored by its path; else null."""
    vectors = files.column("deletion_vector").combine_chunks()
    by_path = pc.is_in(pc.struct_field(vectors, "storage_type"), value_set=_BY_PATH)
    places = pc.struct_field(vectors, "path_or_inline_dv")
    return pa.chunked_array([pc.if_else(by_path, places, pa.scalar(None, pa.string()))])
