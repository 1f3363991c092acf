"""Deletion vectors: how densely files are hidden, which rows, by which commit, and the rows
themselves as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

import explorer.inspect as look
from explorer.errors import DeltaError, InvalidArgumentError, Problem
from explorer.files.events import ADD, CHANGE, read_events
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor
from explorer.rows.data_file.data_file import FILE_COLUMNS, DataFile, data_files
from explorer.rows.data_file.deletion_vectors import read_deletion_vector
from explorer.rows.data_file.read_file import open_rows
from explorer.rows.data_file.unrelated_file import untold_error
from explorer.rows.layout import layout_of
from explorer.rows.request import build_request
from explorer.scan.live_file_reads import read_live_files
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from widgets.screens.rows.ask import Rows, plain_rows
from widgets.session.tables import TableService

BINS = 200
"""Parts of a strip: as many as are told apart on a card, and worked out in a millisecond."""

COMMITS_SHOWN = 200
"""Commits of one file whose vectors are read: each may be another request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The files of a version with a deletion vector, the most hidden first.

    `frame` has the columns of `explorer.inspect.deletion_vectors`, and `size` and
    `bytes_hidden` (by the share of rows, null where that is unknown). `num_rows` of all
    files is None where statistics do not say, and where no file has a vector.
    """

    frame: pa.Table
    num_files: int
    num_rows: int | None
    num_hidden: int | None
    vector_files: int
    vector_bytes: int
    bytes_rewritten: int
    bytes_freed: int

    def sorted(self, order: Sequence[tuple[str, str]]) -> Vectors:
        """The same files in another order."""
        return replace(self, frame=self.frame.sort_by(list(order)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenBy:
    """Rows of a file that one commit hid: `hidden` are their positions.

    `since` is an earlier version where vectors in between cannot be read, or where the log
    before is gone: any version from there on may have hidden them.
    """

    version: int
    since: int
    operation: str | None
    hidden: BitMap64


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVector:
    """One file and the rows that its vector hides; `num_records` None where unknown."""

    snapshot: Snapshot
    file: DataFile
    positions: BitMap64
    num_records: int | None

    @property
    def num_positions(self) -> int:
        """How many rows the strip has: those of the file, or up to the last hidden one."""
        if self.num_records is not None:
            return self.num_records
        return int(self.positions.max()) + 1 if self.positions else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Rows `first` to `last` of a file, of which `hidden` are hidden."""

    first: int
    last: int
    hidden: int


def read_vectors(
    service: TableService, version: int, watch: Watch, tell: Callable[[str], None]
) -> Vectors:
    """The vectors of a version by the log alone; none of them is read. `tell` hears how many
    there are before the rows of all files are counted."""
    snapshot = service.snapshot(version, watch)
    files = read_live_files(snapshot, ["size", "deletion_vector"], watch, "Reading the log")
    files = files.filter(files.column("deletion_vector").is_valid())
    if files.num_rows:
        hidden = pc.struct_field(files.column("deletion_vector"), "cardinality")
        doubtful = hidden.null_count or pc.min(hidden).as_py() < 0
        rows = "an unknown number of" if doubtful else f"{sum_of(hidden):,}"
        has = "has a deletion vector" if files.num_rows == 1 else "have deletion vectors"
        tell(
            f"{files.num_rows:,} of {snapshot.num_files:,} files {has}; "
            f"{rows} rows are soft-deleted."
        )
    frame = look.deletion_vectors(snapshot, progress=watch.progress, cancel=watch.cancel)
    sizes = files.column("size")
    frame = frame.append_column("size", sizes)
    watch.step(0, None, "Counting the rows of all files")
    # a log may claim more than a float holds to the last digit
    as_floats = pc.cast(sizes, pa.float64(), safe=False)
    hidden = pc.multiply(frame.column("fraction_deleted"), as_floats)
    frame = frame.append_column("bytes_hidden", pc.cast(pc.round(hidden), pa.int64(), safe=False))
    stored = frame.filter(frame.column("vector_path").is_valid())
    return Vectors(
        frame=frame.sort_by([("fraction_deleted", "descending"), ("path", "ascending")]),
        num_files=snapshot.num_files,
        num_rows=snapshot.num_rows if frame.num_rows else None,
        num_hidden=snapshot.num_deleted_rows,
        vector_files=len(pc.unique(stored.column("vector_path"))),
        vector_bytes=pc.sum(frame.column("size_in_bytes")).as_py() or 0,
        bytes_rewritten=pc.sum(sizes).as_py() or 0,
        bytes_freed=pc.sum(frame.column("bytes_hidden")).as_py() or 0,
    )


def read_file_vector(
    service: TableService, version: int, path: str, watch: Watch = UNWATCHED
) -> FileVector:
    """The vector of one live file; raises `InvalidArgumentError` where no such file is."""
    snapshot = service.snapshot(version, watch)
    watch.step(0, None, "Reading the deletion vector")
    found = snapshot.file_state.find(path, [*FILE_COLUMNS, "num_records"])
    if found.num_rows != 1:
        raise InvalidArgumentError(
            f"There is no file {path[:200]} in version {version}.",
            reason="No live file has this path, or more than one.",
            remedy="Choose one of the files above, or another version.",
        )
    (file,) = data_files(found)
    (num_records,) = found.column("num_records").to_pylist()
    positions = BitMap64()
    if file.deletion_vector is not None:
        positions = read_deletion_vector(snapshot.store, file.deletion_vector)
    return FileVector(snapshot=snapshot, file=file, positions=positions, num_records=num_records)


def build_bins(positions: BitMap64, first: int, last: int) -> list[Bin]:
    """At most `BINS` parts of the rows `first` to `last`, one for each row where these are few."""
    count = last - first + 1
    if count <= 0:
        return []
    edges = np.linspace(first, last + 1, min(BINS, count) + 1).astype(np.int64).tolist()
    ranks = [count_below(positions, edge) for edge in edges]
    return [
        Bin(first=start, last=end - 1, hidden=above - below)
        for start, end, below, above in zip(edges, edges[1:], ranks, ranks[1:], strict=False)
    ]


def count_below(positions: BitMap64, end: int) -> int:
    """How many of the positions are less than `end`."""
    return int(positions.rank(end - 1)) if end > 0 else 0


def read_rows_at(file: FileVector, positions: Sequence[int], watch: Watch) -> Rows:
    """Column names and the rows at ascending `positions`, hidden or not, as plain values.

    The data file is read from its start as far as the last of them.
    """
    request = build_request(layout_of(file.snapshot))
    bare = replace(file.file, deletion_vector=None)
    batches = _picked(file, bare, request, positions, watch)
    rows = pa.Table.from_batches(list(batches), request.schema)
    return plain_rows(rows)


def _picked(
    file: FileVector, bare: DataFile, request: Any, positions: Sequence[int], watch: Watch
) -> Iterator[pa.RecordBatch]:
    start, left = 0, np.asarray(positions, dtype=np.int64)
    with open_rows(file.snapshot.store, bare, request) as rows:
        if rows.is_unrelated:
            raise untold_error(bare, file.snapshot.version)
        for batch in rows.batches():
            if not len(left):
                return
            watch.step(start, file.num_records, "Reading the file's rows")
            end = start + batch.num_rows
            inside = left[left < end]
            if len(inside):
                yield batch.take(pa.array(inside - start))
            start, left = end, left[len(inside) :]


def read_hiding_commits(
    service: TableService, file: FileVector, watch: Watch
) -> tuple[HiddenBy, ...]:
    """By which commits the rows of a file were hidden, oldest first; every commit of the log
    is read for it. Rows come in the first version whose vector has them."""
    events = read_events(service.table.store, service.table.listing(), watch)
    chain = _vectors_of(events.table, file)
    shown = chain[-COMMITS_SHOWN:]
    unread: int | None = chain[0][0] if len(chain) > len(shown) else None
    if chain and chain[0][0] == events.first > 0:
        unread = 0  # the log before is gone: what hid these rows cannot be told
    found: list[HiddenBy] = []
    known = BitMap64()
    for version, descriptor in shown:
        positions = _read_or_nothing(file.snapshot, descriptor)
        if positions is None:
            # its rows are told of with those of the next vector that is there
            unread = version if unread is None else unread
            continue
        fresh = positions - known
        if fresh:
            since = version if unread is None else unread
            operation = _operation(service, version)
            found.append(HiddenBy(version=version, since=since, operation=operation, hidden=fresh))
        known, unread = positions, None
    return tuple(found)


def _vectors_of(
    events: pa.Table, file: FileVector
) -> list[tuple[int, DeletionVectorDescriptor | None]]:
    """The vectors that the file had since it last came, by version."""
    wanted = pc.and_(
        pc.equal(events.column("path"), pa.scalar(file.file.path)),
        pc.and_(
            pc.less_equal(events.column("version"), pa.scalar(file.snapshot.version, pa.int64())),
            pc.not_equal(events.column("kind"), pa.scalar(CHANGE, pa.int8())),
        ),
    )
    rows = events.filter(wanted).select(["version", "kind", "deletion_vector"]).to_pylist()
    by_version: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_version.setdefault(row["version"], []).append(row)
    chain: list[tuple[int, DeletionVectorDescriptor | None]] = []
    for version in sorted(by_version):
        adds = [row for row in by_version[version] if row["kind"] == ADD]
        if not adds:
            chain = []  # it went; what comes later under this path is another file
        else:
            chain.append((version, _descriptor(adds[-1]["deletion_vector"])))
    return chain


def _descriptor(body: Mapping[str, Any] | None) -> DeletionVectorDescriptor | None:
    needed = ("storage_type", "path_or_inline_dv", "size_in_bytes", "cardinality")
    if body is None or any(body[name] is None for name in needed):
        return None
    return DeletionVectorDescriptor(**body)


def _read_or_nothing(
    snapshot: Snapshot, descriptor: DeletionVectorDescriptor | None
) -> BitMap64 | None:
    """A vector; empty where there was none, None where it is gone or not readable."""
    if descriptor is None:
        return BitMap64()
    try:
        return read_deletion_vector(snapshot.store, descriptor)
    except DeltaError:
        return None


def _operation(service: TableService, version: int) -> str | None:
    try:
        operation = service.read_commit(version).get("operation")
    except DeltaError as error:
        return Problem.of(error).problem
    return operation if isinstance(operation, str) else None
