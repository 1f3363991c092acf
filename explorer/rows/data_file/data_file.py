"""One data file as the log describes it, and where its bytes lie
(spec: Add File and Remove File)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from explorer.errors import CorruptLogError, InvalidArgumentError, UnsupportedError
from explorer.protocol.paths import decode_path, is_absolute
from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor
from explorer.storage.location import parse_location
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    import pyarrow as pa

FILE_COLUMNS = (
    "path",
    "size",
    "partition_values",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)
"""What must be known of a file to read its rows: columns of `Snapshot.files`."""

_AT_A_TIME = 1024
_SPEC: Final = "Add File and Remove File"

# one store under several names
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "az": "abfs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One add, remove or cdc action, as far as its rows depend on it.

    `path` is as in the log; `partition_values` go by logical names, as in
    `Snapshot.files`. `size` in bytes is the log's claim, and only saves asking the store.
    """

    path: str
    size: int | None = None
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None

    @property
    def shown(self) -> str:
        """The path, cut for messages."""
        return self.path if len(self.path) <= 200 else self.path[:200] + "…"


def data_files(files: pa.Table) -> Iterator[DataFile]:
    """The files of a table with the columns `FILE_COLUMNS`, in its order; objects
    are made while they are asked for."""
    for some in data_file_batches(files):
        yield from some


def data_file_batches(files: pa.Table) -> Iterator[list[DataFile]]:
    """`data_files`, some of them at a time."""
    for batch in files.select(FILE_COLUMNS).to_batches(max_chunksize=_AT_A_TIME):
        yield [_data_file(body) for body in batch.to_pylist()]


def store_path(store: ReadStore, path: str) -> str:
    """The name by which the table's store knows a path of the log: decoded exactly once.

    Absolute paths, as shallow clones have them, may lie outside of the table;
    one of another store raises `UnsupportedError`, because the credentials of
    this one must not be offered there.
    """
    if not is_absolute(path):
        return _decoded(path)
    own = _family(parse_location(store.uri).scheme)
    found = "file" if path.startswith("/") else _family(path.partition(":")[0].lower())
    if found != own:
        raise UnsupportedError(
            f"{path[:200]} is in another store than its table.",
            reason=f"The table is at {store.uri}; only files of the same store are read with it.",
            remedy="Read the table that the file belongs to, or clone this one deeply.",
            kind="store_unsupported",
            spec=_SPEC,
        )
    return _file_url_path(path) if path[:5].lower() == "file:" else _decoded(path)


def _file_url_path(url: str) -> str:
    try:
        return parse_location(url).target
    except InvalidArgumentError as error:
        raise _unreadable(url, error.reason) from error


def _family(scheme: str) -> str:
    return _SAME_STORE.get(scheme, scheme)


def _decoded(path: str) -> str:
    try:
        return decode_path(path)
    except UnicodeDecodeError as error:
        raise _unreadable(path, "Its percent signs stand for bytes that are not UTF-8.") from error


def _unreadable(path: str, reason: str) -> CorruptLogError:
    return CorruptLogError(
        f"The path {path[:200]!r} of a file cannot be read.",
        reason=reason,
        remedy="Restore the table to a version without this file.",
        spec=_SPEC,
    )


def _data_file(body: dict[str, Any]) -> DataFile:
    vector = body.pop("deletion_vector")
    pairs = body.pop("partition_values")
    return DataFile(
        partition_values=dict(pairs or ()),
        deletion_vector=None if vector is None else _descriptor(vector, body["path"]),
        **body,
    )


def _descriptor(body: Mapping[str, Any], path: str) -> DeletionVectorDescriptor:
    needed: Sequence[str] = ("storage_type", "path_or_inline_dv", "size_in_bytes", "cardinality")
    if any(body[name] is None for name in needed):
        raise CorruptLogError(
            "A deletion vector's descriptor is incomplete.",
            reason=f"The log says for {path[:200]} that rows are deleted, but not which.",
            remedy="Restore the table to an earlier version.",
            spec="Deletion Vector Descriptor Schema",
        )
    return DeletionVectorDescriptor(**body)
