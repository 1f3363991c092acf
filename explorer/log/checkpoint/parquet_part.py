"""One Parquet file of a checkpoint, or a sidecar (spec: Checkpoints, Sidecar Files).

Only named columns are read, row group by row group. Whatever pyarrow says of a
file that it cannot read becomes `UnusableCheckpointError`, because there is
another way then: an older checkpoint, or the commits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import COLUMNS, DELETION_VECTOR, VECTOR_FIELDS
from explorer.log.actions.fields import FileAction
from explorer.log.checkpoint._unusable_file import (
    too_many_sidecars,
    unusable,
    unusable_if_unreadable,
)
from explorer.log.plain_arrays import build_array, read_flags
from explorer.log.small_file import MOST_SIDECARS
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.row_id_high_water_mark import HIGH_WATER_MARK_ACTION
from explorer.records import record
from explorer.storage.parquet.file_bytes import ParquetBytes
from explorer.storage.parquet.reader import ParquetReader
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# without these a checkpoint would answer nulls where commits have values
_REQUIRED: dict[FileAction, tuple[str, ...]] = {
    "add": ("path", "partitionValues", "size", "modificationTime"),
    "remove": ("path",),
}

ROWS_AT_ONCE = 2**14
"""How many rows of a row group are decoded at a time where they are reduced as they come: with
their statistics some megabytes. Fewer stay in nearer caches, but two threads get in each
other's way then, because Python runs between any two steps."""

_PATHS_AT_ONCE = 2**13
"""How many paths are decoded at a time where paths alone are read, which stay as they were
decoded: the decoder is reused, and a piece is cheap to copy where some of its rows are to go."""

_VECTOR_KEY = ("storageType", "pathOrInlineDv", "offset")
"""The fields that the unique id of a vector is made of."""

# rows in which to look for the few actions before looking at all
_FIRST = 2**10

Column = TypeVar("Column", pa.Array, pa.ChunkedArray)

_TOO_FEW = "a row group holds fewer rows than its footer says"

# readers count the rows of a group in 32 bits
_MAX_ROWS = 2**31

# a leaf that is never null where the action is there: it tells which row groups matter
_WITNESS = {
    "protocol": "minReaderVersion",
    "metaData": "id",
    "txn": "appId",
    "domainMetadata": "domain",
    HIGH_WATER_MARK_ACTION: "highWaterMark",
    "sidecar": "path",
    "checkpointMetadata": "version",
}

# newer revisions do not know it: whatever its column holds, it is not an obstacle
_FORGOTTEN = frozenset({HIGH_WATER_MARK_ACTION})


@record
class ParquetPart:
    """An opened footer. `path` is relative to the table's root, or absolute.

    `groups` are the places of row groups that are read as if they were one: neighbours, as long
    as they have at most `ROWS_AT_ONCE` rows together, because of a few thousand rows each call
    of Arrow, and each wait for the interpreter's lock, costs more than the values. Wherever a
    group is asked for, its number among these is meant.
    """

    stored: ParquetBytes
    path: str
    size: int
    metadata: pq.FileMetaData
    schema: pa.Schema
    groups: tuple[range, ...]

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return len(self.groups)

    def num_rows(self, group: int) -> int:
        """How many rows the footer says that a group has."""
        return sum(map(self._rows_at, self.groups[group]))

    def _rows_at(self, at: int) -> int:
        return int(self.metadata.row_group(at).num_rows)

    def has(self, action: str, field: str | None = None) -> bool:
        """Whether the file has the column of an action, or one field of it."""
        at = self.schema.get_field_index(action)
        if at < 0:
            return False
        kind = self.schema.field(at).type
        return field is None or (pa.types.is_struct(kind) and kind.get_field_index(field) >= 0)

    def read_small(self) -> Iterator[dict[str, Any]]:
        """The actions that are few, each as `{name: body}` like a line of a commit."""
        leaves = self._witnesses()
        if not leaves:
            return
        sidecars = 0
        with self._open(range(self.metadata.num_row_groups), [*leaves]) as file:
            # each by itself: a column with too many values would hide what stands in the next one
            for at in range(self.metadata.num_row_groups):
                for action in self._read_small(file, at, leaves):
                    sidecars += "sidecar" in action
                    if sidecars > MOST_SIDECARS:
                        raise too_many_sidecars(self.path)
                    yield action

    def read_first(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Those of these actions that are among the first rows, as `read_small` has them;
        nearly all writers put the few actions there."""
        names = [name for name in self._witnesses() if name in names]
        if not names or not self.groups:
            return []
        with self._open([0], names) as file:
            for table in self._stream_rows(file, 0, names, _FIRST):
                with unusable_if_unreadable(self.path):
                    rows = [(name, _rows_with(table.column(name), name)) for name in names]
                    return [{name: body} for name, found in rows for body in found.to_pylist()]
        return []

    def _witnesses(self) -> dict[str, str]:
        """For each action that is few and has a column, the leaf that is never null."""
        leaves = {name: f"{name}.{leaf}" for name, leaf in _WITNESS.items() if self.has(name)}
        for name, leaf in [*leaves.items()]:
            if not self.has(name, _WITNESS[name]):
                if name not in _FORGOTTEN:
                    raise unusable(self.path, f"it has no column {leaf}")
                del leaves[name]
        return leaves

    def _read_small(
        self, file: ParquetReader, at: int, leaves: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        witnesses = self._read_rows(file, at, list(leaves.values()), use_threads=True)
        with unusable_if_unreadable(self.path):
            masks = {
                name: pc.is_valid(pc.struct_field(witnesses.column(name), _WITNESS[name]))
                for name in leaves
            }
            masks = {name: mask for name, mask in masks.items() if pc.any(mask).as_py()}
            # before each of them becomes an object: a few bytes may stand for millions
            if "sidecar" in masks and pc.sum(masks["sidecar"]).as_py() > MOST_SIDECARS:
                raise too_many_sidecars(self.path)
            last = max((_last(mask) for mask in masks.values()), default=-1)
        start = 0
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in masks}
        # nearly always they are the first of their row group, or of a group of their own
        for table in self._stream_rows(file, at, list(masks)) if masks else ():
            with unusable_if_unreadable(self.path):
                for name, mask in masks.items():
                    here = mask.slice(start, table.num_rows)
                    found[name] += pc.filter(table.column(name), here).to_pylist()
            start += table.num_rows
            if start > last:
                break
        for name, bodies in found.items():
            yield from ({name: body} for body in bodies)

    def read_group(
        self,
        group: int,
        action: FileAction,
        columns: Sequence[str],
        extra: Sequence[FieldPath] = (),
    ) -> tuple[pa.Table, dict[FieldPath, pa.ChunkedArray]]:
        """One row group's columns (public names of `columns.ADD_COLUMNS` or
        `REMOVE_COLUMNS`), one row per row of the group, null where it is no such
        action; and those of the further leaves in `extra` that the file has, each the
        way into the action by names of the log (`("stats_parsed", "numRecords")`)."""
        inner = [path for path in extra if self._has_leaf(action, path)]
        leaves = self._leaves(action, columns, inner)
        table: pa.Table | None = None
        if leaves:
            with self._open(self.groups[group], leaves) as file:
                table = self._read(file, group, leaves)
        rows = self.num_rows(group)
        return (
            self._columns(rows, action, columns, table),
            self._inner(action, inner, table),
        )

    def stream_group(
        self,
        group: int,
        action: FileAction,
        columns: Sequence[str],
        extra: Sequence[FieldPath] = (),
    ) -> Iterator[tuple[slice, pa.Table, dict[FieldPath, pa.ChunkedArray]]]:
        """What `read_group` answers, some thousand rows at a time, and which rows these are.
        That fewer are there than the footer says is known only at their end."""
        inner = [path for path in extra if self._has_leaf(action, path)]
        leaves = self._leaves(action, columns, inner)
        start = 0
        if not leaves:
            for rows in map(self._rows_at, self.groups[group]):
                for left in range(rows, 0, -ROWS_AT_ONCE):
                    end = start + min(left, ROWS_AT_ONCE)
                    yield slice(start, end), self._columns(end - start, action, columns, None), {}
                    start = end
            return
        with self._open(self.groups[group], leaves) as file:
            for table in self._stream(file, group, leaves):
                end = start + table.num_rows
                found = self._columns(table.num_rows, action, columns, table)
                yield slice(start, end), found, self._inner(action, inner, table)
                start = end

    def _leaves(
        self, action: FileAction, columns: Sequence[str], inner: Sequence[FieldPath]
    ) -> list[str]:
        names = [COLUMNS[action][name][0] for name in columns]
        held = [(name,) for name in names if self.has(action, name)]
        return [".".join((action, *path)) for path in [*held, *inner]]

    def read_keys(
        self, group: int, action: FileAction, *, whole: bool = False
    ) -> tuple[pa.Table, pa.Table | None]:
        """The column `path` of a row group and, where any of its files has a deletion
        vector, `deletion_vector`, of which only what its unique id is made of is there
        unless `whole`.

        Whether there is one is asked of the values: pyarrow ends the process where the
        statistics of a footer are broken, and a column of nulls costs nothing to read.
        """
        path = [f"{action}.path"]
        inner = VECTOR_FIELDS if whole else _VECTOR_KEY
        unique = [f"{action}.deletionVector.{name}" for name in inner]
        rows = self.num_rows(group)
        with (
            self._open(self.groups[group], [*path, *unique]) as file,
            unusable_if_unreadable(self.path),
        ):
            vectors: pa.Table | None = None
            if rows <= ROWS_AT_ONCE:
                # of a small group each call of the reader costs more than the values
                found = self._read(file, group, [*path, *unique])
                if self.has(action, "deletionVector") and _holds_vectors(found, action):
                    vectors = self._columns(rows, action, ["deletion_vector"], found)
                return self._columns(rows, action, ["path"], found), vectors
            if self.has(action, "deletionVector") and self._has_vectors(file, group, action):
                found = self._read(file, group, unique)
                vectors = self._columns(rows, action, ["deletion_vector"], found)
            # decoded as a whole they would take twice the memory that they need
            pieces = self._stream(file, group, path, _PATHS_AT_ONCE)
            paths = [self._columns(len(some), action, ["path"], some) for some in pieces]
            return pa.concat_tables(paths), vectors

    def has_vectors(self, group: int, action: FileAction) -> bool:
        """Whether any file of a row group has a deletion vector; see `read_keys`."""
        if not self.has(action, "deletionVector"):
            return False
        with self._open(self.groups[group], [f"{action}.deletionVector"]) as file:
            return self._has_vectors(file, group, action)

    def _has_vectors(self, file: ParquetReader, group: int, action: FileAction) -> bool:
        found = self._read(file, group, [f"{action}.deletionVector.storageType"])
        with unusable_if_unreadable(self.path):
            return _holds_vectors(found, action)

    def _columns(
        self, rows: int, action: FileAction, columns: Sequence[str], table: pa.Table | None
    ) -> pa.Table:
        rules = COLUMNS[action]
        arrays: list[pa.ChunkedArray] = []
        with unusable_if_unreadable(self.path):
            for name in columns:
                log_name, _, data_type = rules[name]
                if table is None or not self.has(action, log_name):
                    arrays.append(pa.chunked_array([pa.nulls(rows, data_type)]))
                    continue
                found = pc.struct_field(table.column(action), log_name)
                arrays.append(_as_type(found, data_type))
        return pa.Table.from_arrays(arrays, names=list(columns))

    def _inner(
        self, action: FileAction, paths: Sequence[FieldPath], table: pa.Table | None
    ) -> dict[FieldPath, pa.ChunkedArray]:
        if table is None:
            return {}
        with unusable_if_unreadable(self.path):
            held = table.column(action)
            return {path: pc.struct_field(held, list(path)) for path in paths}

    def _has_leaf(self, action: FileAction, path: FieldPath) -> bool:
        kind: pa.DataType = pa.struct(list(self.schema))
        for name in (action, *path):
            if not pa.types.is_struct(kind) or (at := kind.get_field_index(name)) < 0:
                return False
            kind = kind.field(at).type
        return True

    @contextlib.contextmanager
    def _open(self, groups: Sequence[int], columns: Sequence[str]) -> Iterator[ParquetReader]:
        """The file, to read these columns of these row groups."""
        with unusable_if_unreadable(self.path), self.stored.open() as source:
            if source.file.size() != self.size:
                raise unusable(self.path, "it was replaced while it was being read")
            leaves = source.stored.leaves(self.metadata.schema, columns)
            source.expect(groups, leaves)
            # what pages claim is asked of the system before it turns out wrong
            source.check_pages(groups, leaves)
            yield ParquetReader(source, self.metadata, buffered=True)

    def _read(self, file: ParquetReader, group: int, columns: list[str]) -> pa.Table:
        """All of a group."""
        # one call for all of them would not see that a column has too few values in one row
        # group and as many too many in the next, and takes as long
        found = [self._read_rows(file, at, columns) for at in self.groups[group]]
        return found[0] if len(found) == 1 else pa.concat_tables(found)

    def _read_rows(
        self, file: ParquetReader, at: int, columns: list[str], *, use_threads: bool = False
    ) -> pa.Table:
        """All of one row group; `use_threads` where nothing else is read beside it."""
        with unusable_if_unreadable(self.path):
            table = file.read_group(
                at,
                self.stored.leaves(self.metadata.schema, columns),
                use_threads=use_threads or self.num_groups == 1,
            )
            # Parquet does not promise that text is UTF-8
            table.validate(full=True)
            if table.num_rows != self._rows_at(at):
                raise unusable(self.path, _TOO_FEW)
            return table

    def _stream(
        self, file: ParquetReader, group: int, columns: list[str], at_once: int = ROWS_AT_ONCE
    ) -> Iterator[pa.Table]:
        """As `_read`, in pieces; to be gone through inside of `_open`."""
        for at in self.groups[group]:
            yield from self._stream_rows(file, at, columns, at_once)

    def _stream_rows(
        self, file: ParquetReader, at: int, columns: list[str], at_once: int = ROWS_AT_ONCE
    ) -> Iterator[pa.Table]:
        left = self._rows_at(at)
        # a single column has nothing to do beside it
        threads = self.num_groups == 1 and len(columns) > 1
        leaves = self.stored.leaves(self.metadata.schema, columns)
        for batch in file.stream_group(at, leaves, at_once, use_threads=threads):
            batch.validate(full=True)
            left -= batch.num_rows
            if left < 0:
                break
            if batch.num_rows:
                yield pa.Table.from_batches([batch])
        if left:
            raise unusable(self.path, _TOO_FEW)


def open_part(
    store: ReadStore, path: str, size: int | None = None, listed: int | None = None
) -> ParquetPart:
    """Read a footer; raises `UnusableCheckpointError` where that fails, or where the file
    is not of the `size` in bytes that a checkpoint states. What a listing says of its size,
    `listed`, only saves asking for it."""
    stored = ParquetBytes(store, path, listed if size is None else size)
    with unusable_if_unreadable(path), stored.open() as source:
        length = source.file.size()
        if size is not None and length != size:
            raise unusable(path, f"it has {length} bytes, and the checkpoint says {size}")
        source.check_footer()
        file = ParquetReader(source, buffered=True)
        metadata = file.metadata
        rows = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
        if not all(0 <= count < _MAX_ROWS for count in rows):
            raise unusable(path, "its footer claims an impossible number of rows")
        part = ParquetPart(
            stored=stored,
            path=path,
            size=length,
            metadata=metadata,
            schema=file.schema,
            groups=tuple(_together(rows)),
        )
        for action in COLUMNS:
            for field in _REQUIRED[action] if part.has(action) else ():
                if not part.has(action, field):
                    raise unusable(path, f"it has no column {action}.{field}")
        return part


def _together(rows: Sequence[int]) -> Iterator[range]:
    """The places of row groups with so many rows each, neighbours in one as long as all are at
    most `ROWS_AT_ONCE`."""
    start, held = 0, 0
    for at, count in enumerate(rows):
        if at > start and held + count > ROWS_AT_ONCE:
            yield range(start, at)
            start, held = at, 0
        held += count
    if rows:
        yield range(start, len(rows))


def _rows_with(actions: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """The rows that have such an action."""
    return pc.filter(actions, pc.is_valid(pc.struct_field(actions, _WITNESS[name])))


def _holds_vectors(found: pa.Table, action: FileAction) -> bool:
    """Whether any of the actions has a deletion vector."""
    vectors = pc.struct_field(found.column(action), "deletionVector")
    return bool(vectors.null_count < len(vectors))


def _last(mask: pa.ChunkedArray) -> int:
    """The position of the last true value; there is one."""
    return int(pc.max(pc.indices_nonzero(mask)).as_py())


def _as_type(found: Column, wanted: pa.DataType) -> Column:
    """The values of a column, as another writer stored them, as the type that the columns of file
    actions have here; raises ValueError or ArrowException where they mean something else
    (spec: Checkpoint Schema)."""
    if wanted == DELETION_VECTOR:
        return pa.chunked_array([_as_vectors(chunk) for chunk in found.chunks], wanted)
    if found.type == wanted:
        return found
    if not _is_kin(found.type, wanted):
        raise ValueError(f"a column of type {found.type} where {wanted} belongs")
    return pc.cast(found, wanted)


def _is_kin(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a cast keeps the meaning; Arrow would also turn numbers into text."""
    kinds = pa.types
    if kinds.is_dictionary(found):
        return _is_kin(found.value_type, wanted)
    if kinds.is_map(wanted):
        inner = (found.key_type, found.item_type) if kinds.is_map(found) else ()
        return bool(inner) and all(_is_kin(kind, pa.string()) for kind in inner)
    if kinds.is_string(wanted):
        texts = (kinds.is_string, kinds.is_large_string, kinds.is_string_view, kinds.is_binary)
        return any(is_text(found) for is_text in texts)
    if kinds.is_timestamp(wanted):
        return bool(kinds.is_timestamp(found) or kinds.is_int64(found))
    return bool(kinds.is_integer(wanted) and kinds.is_integer(found))


def _as_vectors(found: pa.Array) -> pa.Array:
    """A struct with the log's field names as `DELETION_VECTOR`; a cast would match
    the names, find none of them, and answer nulls."""
    children = []
    for name, kind in VECTOR_FIELDS.items():
        present = found.type.get_field_index(name) >= 0
        child = pc.struct_field(found, name) if present else pa.nulls(len(found), kind)
        children.append(child if child.type == kind else _as_type(child, kind))
    nameless = pc.or_(pc.is_null(children[0]), pc.is_null(children[1]))
    if pc.any(pc.and_(nameless, pc.is_valid(found))).as_py():
        # taken for none, it would bring rows back that are deleted
        raise ValueError("a deletion vector without storageType or pathOrInlineDv")
    # with a mask `from_arrays` imports `pyarrow.compute`
    there = build_array(read_flags(pc.is_valid(found))).buffers()[1]
    return pa.Array.from_buffers(DELETION_VECTOR, len(found), [there], children=children)
