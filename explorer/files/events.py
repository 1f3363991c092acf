"""What every commit did to files: adds, removes and change files, as columns.

The commits are read whole, from the oldest that an unbroken log has on, and each line by
pyarrow's reader, so that a state worked out of them is another way to the same answer as
the newest checkpoint and the commits after it: nothing is shared with
`explorer.log.reconcile.tail` and `explorer.log.state.reconciled_files` but the bytes of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, DeltaError
from explorer.files._event_lines import LINES, VECTOR, read_json, read_lines, unreadable
from explorer.files.name_index import codes_of
from explorer.files.store_paths import Places, file_of_each, places_of
from explorer.log.actions.columns import DELETION_VECTOR, string_scalar
from explorer.log.checkpoint.json_checkpoint import read_json_checkpoint
from explorer.log.folder.listing import CheckpointFiles, LogListing
from explorer.log.plain_arrays import (
    EMPTY,
    Numbers,
    build_array,
    in_one_piece,
    read_numbers,
    read_values,
)
from explorer.log.small_file import MOST_SIDECARS
from explorer.log.text_bytes import holds_byte, may_begin_with
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import LOG_FOLDER, SIDECAR_FOLDER, render_commit_path
from explorer.protocol.paths import decode_path, is_absolute
from explorer.storage.concurrent_reads import begin, map_concurrently, run_concurrently
from explorer.storage.parquet.file_bytes import ParquetBytes
from explorer.storage.parquet.reader import ParquetReader
from explorer.storage.ports import ObjectInfo, ReadStore
from explorer.table.table import contiguous_run

ADD, REMOVE, CHANGE = 0, 1, 2
"""What `kind` says: a file was added, removed, or holds the rows that a commit changed."""

EVENTS = pa.schema(
    [
        ("version", pa.int64()),
        ("kind", pa.int8()),
        ("path", pa.string()),
        ("deletion_vector", DELETION_VECTOR),
        ("size", pa.int64()),
        ("time", pa.int64()),
        ("data_change", pa.bool_()),
    ]
)

_BLOCK = 4 * 2**20
_PARSERS = 2
"""Blocks that are parsed at once: splitting and joining columns leave pyarrow's threads idle."""

_Block = tuple[list[bytes], Numbers]
"""Whole commits, and their versions."""

_UNREADABLE = (DeltaError, pa.ArrowException, OSError, ValueError, LookupError, TypeError)
"""What reading a damaged checkpoint may raise, pyarrow's errors included."""

_KINDS = {ADD: "add", REMOVE: "remove", CHANGE: "cdc"}
_TIMES = {ADD: "modificationTime", REMOVE: "deletionTimestamp", CHANGE: None}


@dataclass(frozen=True, kw_only=True)
class FileEvents:
    """What versions `first` to `last` did to files, in the order of the log, as `EVENTS`.

    `time` is an add's modification time or a remove's deletion timestamp, in milliseconds.
    Where the log does not begin with version 0, `first` is that of a checkpoint, and what
    it holds stands before everything else, as of its version: the first `num_base` rows, which
    are no changes. The commit of that version follows where it is left (`has_first_commit`).
    `root` is the table's place.
    """

    first: int
    last: int
    table: pa.Table
    root: str
    num_base: int = 0
    has_first_commit: bool = True

    @cached_property
    def files(self) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
        """`file_of_each` of all rows."""
        return file_of_each(self.table, self.root)

    @cached_property
    def file_codes(self) -> Numbers:
        """A number for each logical file (path and deletion vector) of each row."""
        return _codes(self.table)

    @cached_property
    def newest_rows(self) -> Numbers:
        """Where the last event of each logical file stands, change files left out."""
        codes, order = self.file_codes, np.arange(self.table.num_rows)
        files = read_values(self.table.column("kind")) != CHANGE
        last = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
        last[codes[files]] = order[files]  # of equal codes, the last one stays
        return np.sort(last[last >= 0])

    @property
    def newest(self) -> pa.Table:
        """The last event of each logical file, change files left out."""
        return _rows_of(self.table, self.newest_rows)

    def places(self, rows: Numbers) -> Places:
        """`places_of` the files of some rows, which ascend."""
        files = self.table.select(["path", "deletion_vector"]).append_column("name", self.files[0])
        chosen = _rows_of(files, rows)
        return places_of(chosen, self.root, chosen.column("name"))


def _rows_of(table: pa.Table, rows: Numbers) -> pa.Table:
    """Those of `rows`, which ascend."""
    # a table without removals has them all, and to choose them would copy all of it
    if len(rows) == table.num_rows:
        return table
    chosen = np.zeros(table.num_rows, np.bool_)
    chosen[rows] = True
    return table.filter(build_array(chosen))


def read_events(
    store: ReadStore,
    listing: LogListing,
    watch: Watch = UNWATCHED,
    keep: Callable[[pa.Table], pa.Table] | None = None,
) -> FileEvents:
    """Read every commit that an unbroken log has, up to its newest version.

    `keep` takes from some events, as `EVENTS`, those that are wanted: the others are held no
    longer. It must take all events of a logical file or none of them.

    Raises `CorruptLogError` where neither version 0 nor a usable checkpoint begins it.
    """
    run = contiguous_run(listing.commits)
    newest = listing.latest_version
    if newest is None:
        raise _no_beginning("The log is empty.")
    if run and run[0] == 0 and run[-1] == newest:
        table = _joined(_kept(_read_commits(store, run, watch), keep))
        return FileEvents(first=0, last=newest, table=table, root=store.uri)
    lowest = run[0] - 1 if run and run[-1] == newest else newest
    reason = _no_checkpoint(listing)
    for found in listing.checkpoints:
        if found.version < lowest:
            continue
        versions = [version for version in run if version >= found.version]
        pieces = _kept(_read_commits(store, versions, watch), keep)
        with ThreadPoolExecutor(1) as beside:
            newer = begin(store, beside, partial(_joined, pieces))
            try:
                base = _joined(_kept(_read_checkpoint(store, found, listing), keep))
            except _UNREADABLE as error:  # whatever is wrong with one: a later one may be whole
                reason = f"The checkpoint of version {found.version} cannot be read: {error}"[:300]
                continue
        return FileEvents(
            first=found.version,
            last=newest,
            table=_joined([base, newer()]),
            root=store.uri,
            num_base=base.num_rows,
            has_first_commit=found.version in versions,
        )
    raise _no_beginning(reason)


def _no_checkpoint(listing: LogListing) -> str:
    """Why no checkpoint begins the log, where each is too old, or there is none."""
    newest = listing.checkpoints[-1].version if listing.checkpoints else None
    if newest is None:
        broken = listing.incomplete_checkpoints
        if not broken:
            return "There is no checkpoint."
        return (
            f"The checkpoint of version {broken[-1].version} is incomplete, and there is no other."
        )
    return (
        f"The newest checkpoint is that of version {newest}, and commits between it and the "
        f"newest version are missing."
    )


def _kept(
    events: Iterator[pa.Table], keep: Callable[[pa.Table], pa.Table] | None
) -> Iterator[pa.Table]:
    return events if keep is None else map(keep, events)


def _joined(pieces: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables([pa.Table.from_batches([], EVENTS), *pieces])


def _read_commits(store: ReadStore, versions: Sequence[int], watch: Watch) -> Iterator[pa.Table]:
    blocks = _blocks(store, versions, watch)
    yield from run_concurrently(lambda block: _parse(*block), blocks, _PARSERS)


def _blocks(store: ReadStore, versions: Sequence[int], watch: Watch) -> Iterator[_Block]:
    block: list[bytes] = []
    first, held = 0, 0
    files = store.read_many(map(render_commit_path, versions))
    for done, data in enumerate(files):
        watch.step(done, len(versions), "Reading every commit once more")
        block.append(data if not data or data.endswith(b"\n") else data + b"\n")
        held += len(data)
        if held >= _BLOCK or done + 1 == len(versions):
            numbers = np.asarray(versions[first : done + 1], np.int64)
            # what was read need not be held twice while it is parsed
            whole, block, first, held = block, [], done + 1, 0
            yield whole, numbers


def _parse(block: list[bytes], versions: Numbers) -> pa.Table:
    """The events of whole commits, whose versions these are."""
    table, counts = read_lines(block)
    return _as_events(table, build_array(np.repeat(versions, counts)))


def _as_events(lines: pa.Table, versions: pa.Array) -> pa.Table:
    """The events of lines, in their order."""
    found, start = [pa.Table.from_batches([], EVENTS)], 0
    for batch in lines.to_batches():
        found += _of_batch(batch, versions.slice(start, batch.num_rows))
        start += batch.num_rows
    return pa.concat_tables(found)


def _of_batch(lines: pa.RecordBatch, versions: pa.Array) -> list[pa.Table]:
    parts: list[tuple[Numbers, pa.Table]] = []
    for kind, name in _KINDS.items():
        column = lines.column(name)
        if column.null_count == len(column):
            continue
        at = np.flatnonzero(read_values(column.is_valid()))
        first, count = int(at[0]), len(at)
        is_run = at[-1] - first + 1 == count
        # nearly always one run, which need not be copied
        bodies = column.slice(first, count) if is_run else column.drop_null()
        numbers = versions.slice(first, count) if is_run else versions.take(build_array(at))
        parts.append((at, _of_kind(kind, bodies, numbers)))
    parts.sort(key=lambda part: int(part[0][0]))
    tables = [table for _, table in parts]
    places = np.concatenate([np.zeros(0, np.int64), *(at for at, _ in parts)])
    if (np.diff(places) > 0).all():
        return tables
    return [pa.concat_tables(tables).take(build_array(np.argsort(places)))]


def _of_kind(kind: int, bodies: pa.StructArray, versions: pa.Array) -> pa.Table:
    count, time = len(bodies), _TIMES[kind]
    paths = pc.struct_field(bodies, "path")
    if paths.null_count:
        raise unreadable("an action has no path")
    arrays = [
        versions,
        build_array(np.full(count, kind, np.int8)),
        paths,
        _vectors(pc.struct_field(bodies, "deletionVector")),
        pc.struct_field(bodies, "size"),
        pa.nulls(count, pa.int64()) if time is None else pc.struct_field(bodies, time),
        pc.struct_field(bodies, "dataChange"),
    ]
    return pa.Table.from_arrays(arrays, schema=EVENTS)


def _vectors(vectors: pa.StructArray) -> pa.StructArray:
    """Deletion vectors of the log under the names of `DELETION_VECTOR`."""
    if vectors.null_count == len(vectors):
        return pa.nulls(len(vectors), DELETION_VECTOR)  # its fields share their memory
    return pa.StructArray.from_arrays(
        [pc.struct_field(vectors, field.name) for field in VECTOR],
        fields=list(DELETION_VECTOR),
        mask=vectors.is_null(),
    )


def _read_checkpoint(
    store: ReadStore, files: CheckpointFiles, listing: LogListing
) -> Iterator[pa.Table]:
    """What a checkpoint holds, as events of its version."""
    sidecars: list[str] = []
    for rows in map_concurrently(
        store, lambda name: _read_top_level(store, name, listing.stored.get(name)), files.names
    ):
        named = pc.struct_field(rows.column("sidecar").combine_chunks(), "path").drop_null()
        sidecars += pc.unique(named).to_pylist()
        yield _at(rows, files.version)
    if len(sidecars) > MOST_SIDECARS:
        raise unreadable(f"more than {MOST_SIDECARS:,} sidecars are named")
    for rows in map_concurrently(store, lambda path: _read_sidecar(store, path), sidecars):
        yield _at(rows, files.version)


def _read_sidecar(store: ReadStore, path: str) -> pa.Table:
    decoded = decode_path(path)
    return _read_parquet(store, decoded if is_absolute(path) else f"{SIDECAR_FOLDER}/{decoded}")


def _read_top_level(store: ReadStore, name: str, info: ObjectInfo | None) -> pa.Table:
    path = f"{LOG_FOLDER}/{name}"
    if path.endswith(".json"):
        return read_json(read_json_checkpoint(store, path))
    return _read_parquet(store, path, None if info is None else info.size)


def _at(rows: pa.Table, version: int) -> pa.Table:
    return _as_events(rows, build_array(np.full(rows.num_rows, version, np.int64)))


def _read_parquet(store: ReadStore, path: str, size: int | None = None) -> pa.Table:
    """`size` is what a listing says. Raises what pyarrow raises for files that it cannot read, and
    `ValueError` for footers and pages that claim what they cannot hold."""
    with ParquetBytes(store, path, size).open() as source:
        source.check_footer()
        file = ParquetReader(source)
        columns, kinds = [], []
        for field in LINES:
            at = file.schema.get_field_index(field.name)
            if at < 0:
                continue
            held = {inner.name for inner in file.schema.field(at).type}
            kinds.append(field.name)
            columns += [f"{field.name}.{inner.name}" for inner in field.type if inner.name in held]
        groups = range(file.metadata.num_row_groups)
        leaves = source.stored.leaves(file.metadata.schema, columns)
        source.expect(groups, leaves)
        source.check_pages(groups, leaves)
        read = [file.read_group(group, leaves, use_threads=True) for group in groups]
    if not read or not kinds:
        return LINES.empty_table()
    rows = pa.concat_tables(read)
    rows.validate(full=True)  # Parquet does not promise that text is UTF-8
    arrays = [
        _fitted(rows.column(field.name), field.type)
        if field.name in kinds
        else pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
        for field in LINES
    ]
    return pa.Table.from_arrays(arrays, schema=LINES)


def _fitted(column: pa.ChunkedArray, wanted: pa.StructType) -> pa.ChunkedArray:
    """A struct with exactly the fields of `wanted`, absent ones null."""
    return pa.chunked_array([_fit(chunk, wanted) for chunk in column.chunks], wanted)


def _fit(structs: pa.StructArray, wanted: pa.StructType) -> pa.StructArray:
    held = {field.name for field in structs.type}
    children = []
    for field in wanted:
        if field.name not in held:
            children.append(pa.nulls(len(structs), field.type))
            continue
        child = pc.struct_field(structs, field.name)
        is_struct = pa.types.is_struct(field.type)
        children.append(_fit(child, field.type) if is_struct else child.cast(field.type))
    return pa.StructArray.from_arrays(children, fields=list(wanted), mask=structs.is_null())


def _codes(table: pa.Table) -> Numbers:
    paths = table.column("path")
    # looking for one character is many times cheaper than an expression
    if any(may_begin_with(chunk, "/") or holds_byte(chunk, ":") for chunk in paths.chunks):
        local = pc.match_substring_regex(paths, r"^(?:/|(?i:file):)")
        plain = pc.replace_substring_regex(paths, r"^(?i:file:)?/*", "file:/")
        paths = pc.if_else(local, plain, paths)
    codes = codes_of(paths)
    vectors = in_one_piece(table.column("deletion_vector"))
    if vectors.null_count == len(vectors):
        return codes
    one, two, three = (
        pc.coalesce(pc.cast(pc.struct_field(vectors, name), pa.string()), EMPTY)
        for name in ("storage_type", "path_or_inline_dv", "offset")
    )
    unique = pc.dictionary_encode(pc.binary_join_element_wise(one, two, three, _BETWEEN))
    marks = read_numbers(unique.indices)
    both = codes * (len(unique.dictionary) + 1) + marks
    return read_numbers(pc.dictionary_encode(build_array(both)).indices)


_BETWEEN = string_scalar("\0")


def _no_beginning(reason: str) -> CorruptLogError:
    return CorruptLogError(
        "The log cannot be replayed from its start.",
        reason=reason,
        remedy="Restore the missing log files from a backup.",
        kind="log_gap",
        spec="Action Reconciliation",
    )
