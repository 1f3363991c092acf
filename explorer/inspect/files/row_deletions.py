"""Which files have a deletion vector, and which rows it hides (spec: Deletion Vectors)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, DeltaError, InvalidArgumentError
from explorer.inspect.answer import LIMIT, MOMENT, Answer, Parameter
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import (
    float64_column,
    int64_column,
    string_column,
    string_scalar,
)
from explorer.log.plain_arrays import EMPTY, FALSE, TRUE, ZERO, build_array, in_one_piece
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.paths import encode_path
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    hidden_runs,
    parse_file_path,
)
from explorer.rows.data_file.data_file import FILE_COLUMNS, data_files
from explorer.rows.data_file.deletion_vectors import read_deletion_vector
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.plan import physical_counts
from explorer.scan.statistics.partition_answers import distinct_rows
from explorer.table.row_counts import PARSED_NUM_RECORDS, render_cardinality
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

VECTOR_COLUMNS: dict[str, Column] = {
    "path": (string_column, pa.string()),
    "storage_type": (string_column, pa.string()),
    "vector_path": (string_column, pa.string()),
    "offset": (int64_column, pa.int64()),
    "size_in_bytes": (int64_column, pa.int64()),
    "cardinality": (int64_column, pa.int64()),
    "num_records": (int64_column, pa.int64()),
    "fraction_deleted": (float64_column, pa.float64()),
    "problem": (string_column, pa.string()),
}
_READ = ("path", "deletion_vector")
_PLACE: Final = "path_or_inline_dv"
_NOT_SAID: Final = "The log says that rows are deleted, but not which ones."
RANGE_COLUMNS: dict[str, Column] = {
    "first": (int64_column, pa.int64()),
    "last": (int64_column, pa.int64()),
    "count": (int64_column, pa.int64()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRows:
    """The rows that one file's vector hides: `ranges` of them, of `total` ranges, and
    how many rows they are together, of the `num_records` of the file if these are known."""

    ranges: pa.Table
    total: int
    cardinality: int
    num_records: int | None


def deletion_vectors(
    snapshot: Snapshot,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per live file with a deletion vector, in the order of the log.

    - `path` of the data file, as in the log
    - `storage_type`: u (below the table), p (absolute path), i (in the log itself)
    - `vector_path`: the vector's file, decoded, relative to the table or absolute;
      null for one in the log
    - `offset`, `size_in_bytes`, `cardinality` as in the log
    - `num_records` of the data file by its statistics, else null
    - `fraction_deleted`: cardinality by num_records, null where it is not known, and where
      there cannot be so many
    - `problem`: why the vector cannot be found or its cardinality cannot be, else null

    No vector is read for it.
    """
    watch = Watch(progress=progress, cancel=cancel)
    pieces = reduce_live_files(
        snapshot, _READ, [PARSED_NUM_RECORDS], _with_vector, watch, "Looking for deletion vectors"
    )
    return _vector_frame(pa.concat_tables(pieces)) if pieces else build_frame(VECTOR_COLUMNS, [])


def _with_vector(files: FileColumns) -> pa.Table:
    """Those of some files that have a vector, with the rows that they hold."""
    wanted = files.table.column("deletion_vector").is_valid()
    found = files.table.filter(wanted)
    counts = physical_counts(files, wanted) if found.num_rows else pa.nulls(0, pa.int64())
    return found.append_column("num_records", counts)


def hidden_rows(snapshot: Snapshot, path: str, limit: int | None = None) -> HiddenRows:
    """Ranges of the positions, from 0, of the rows that the vector of the file `path` hides.

    `path` is as in the log, or decoded. Each range has `first`, `last` and `count`;
    `limit` leaves the first ones. Raises `InvalidArgumentError` where no such file is live,
    and what `read_deletion_vector` raises.
    """
    file = _find(snapshot, path)
    (found,) = data_files(file)
    (num_records,) = file.column("num_records").to_pylist()
    if found.deletion_vector is None:
        empty = build_frame(RANGE_COLUMNS, [])
        return HiddenRows(ranges=empty, total=0, cardinality=0, num_records=num_records)
    vector = read_deletion_vector(snapshot.store, found.deletion_vector)
    runs = hidden_runs(vector)
    shown = [(first, last, last - first + 1) for first, last in islice(runs, limit)]
    return HiddenRows(
        ranges=build_frame(RANGE_COLUMNS, shown),
        total=len(shown) + sum(1 for _ in runs),
        cardinality=len(vector),
        num_records=num_records,
    )


def vector_problems(files: pa.Table) -> pa.Array:
    """Of files that have a `deletion_vector` each, why the vector cannot be found; null where it
    can."""
    bodies = in_one_piece(files.column("deletion_vector"))
    parts = dict(zip((field.name for field in bodies.type), bodies.flatten(), strict=True))
    return _places(parts)[1]


def _vector_frame(files: pa.Table) -> pa.Table:
    """The rows of `deletion_vectors`, of files with a vector and `num_records`."""
    bodies = in_one_piece(files.column("deletion_vector"))
    parts = dict(zip((field.name for field in bodies.type), bodies.flatten(), strict=True))
    records, cardinality = in_one_piece(files.column("num_records")), parts["cardinality"]
    fits = pc.coalesce(pc.less_equal(cardinality, records), TRUE)
    fits = pc.coalesce(pc.and_(pc.greater_equal(cardinality, ZERO), fits), FALSE)
    counted = pc.and_(fits, pc.coalesce(pc.greater(records, ZERO), FALSE))
    # counts beyond 2**53 are rounded, like every share of them
    share = pc.divide(*(pc.cast(one, pa.float64(), safe=False) for one in (cardinality, records)))
    places, problems = _places(parts)
    columns = {
        **parts,
        "path": files.column("path"),
        "vector_path": places,
        "num_records": records,
        "fraction_deleted": pc.if_else(counted, share, pa.nulls(1, pa.float64())[0]),
        "problem": pc.coalesce(problems, _impossible(fits, cardinality, records)),
    }
    schema = pa.schema([(name, kind) for name, (_, kind) in VECTOR_COLUMNS.items()])
    arrays = [columns[field.name].cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _impossible(fits: pa.Array, cardinality: pa.Array, records: pa.Array) -> pa.Array:
    """What to say of cardinalities that cannot be."""
    wrong = pc.invert(fits)
    pairs = zip(
        cardinality.filter(wrong).to_pylist(), records.filter(wrong).to_pylist(), strict=True
    )
    said = [f"{render_cardinality(*pair).capitalize()}: that cannot be." for pair in pairs]
    return _spread(wrong, string_column(said))


def _places(parts: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array]:
    """Where the file of each vector is, and why that is not known, where it is not; many vectors
    share a file, whose name is decoded once."""
    said = reduce(pc.and_, (parts[name].is_valid() for name in parts if name != "offset"))
    kinds, texts = (pc.fill_null(parts[name], EMPTY) for name in ("storage_type", _PLACE))
    # the vectors that are in the log are in no file
    named = pc.and_(said, pc.not_equal(kinds, string_scalar("i")))
    found = distinct_rows([kinds.filter(named), texts.filter(named)])
    places = [_place(*row) for row in found.rows]
    order = build_array(found.places)
    paths, problems = (string_column([pair[at] for pair in places]).take(order) for at in (0, 1))
    lost = pc.if_else(said, string_scalar(None), string_scalar(_NOT_SAID))
    return _spread(named, paths), pc.coalesce(lost, _spread(named, problems))


def _place(kind: str | None, text: str | None) -> tuple[str | None, str | None]:
    """Where a file of vectors is, or why that is not known."""
    body = DeletionVectorDescriptor(
        storage_type=kind or "", path_or_inline_dv=text or "", size_in_bytes=0, cardinality=0
    )
    try:
        return parse_file_path(body), None
    except DeltaError as error:
        return None, f"{error.problem} {error.reason}"


def _spread(mask: pa.Array, values: pa.Array) -> pa.Array:
    """The values where the mask is set, in their order, and null elsewhere."""
    return pc.replace_with_mask(pa.nulls(len(mask), values.type), mask, values)


def _find(snapshot: Snapshot, path: str) -> pa.Table:
    columns = [*FILE_COLUMNS, "num_records"]
    for form in dict.fromkeys((path, encode_path(path))):
        found = snapshot.file_state.find(form, columns)
        if found.num_rows == 1:
            return found
        if found.num_rows > 1:
            raise CorruptLogError(
                f"The file {path[:200]} is live more than once.",
                reason="The log adds it with one deletion vector and with another.",
                remedy="Restore the table to an earlier version.",
                spec="Add File and Remove File",
            )
    raise InvalidArgumentError(
        f"There is no file {path[:200]} in version {snapshot.version}.",
        reason="No live file has this path.",
        remedy="Give a path as the verb files shows it.",
    )


def _ask_vectors(
    table: Table,
    progress: ProgressCallback | None,
    *,
    version: int | None = None,
    timestamp: str | None = None,
) -> pa.Table:
    snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
    return deletion_vectors(snapshot, progress=progress)


def _ask_hidden_rows(  # the parameters of an answer
    table: Table,
    progress: ProgressCallback | None,
    *,
    file: str,
    version: int | None = None,
    timestamp: str | None = None,
    limit: int | None = None,
) -> HiddenRows:
    snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
    return hidden_rows(snapshot, file, limit)


DELETION_VECTORS: Final = Answer(
    name="dv",
    parameters=(*MOMENT, LIMIT),
    ask=_ask_vectors,
    documents=plain_rows,
    is_list=True,
)
HIDDEN_ROWS: Final = Answer(
    name="hidden_rows",
    parameters=(*MOMENT, Parameter(name="file", kind="text", is_required=True), LIMIT),
    ask=_ask_hidden_rows,
    documents=lambda hidden, limit: plain_rows(hidden.ranges, limit),
    is_list=True,
    asks_limit=True,
    reads="files",
)
