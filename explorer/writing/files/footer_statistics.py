"""Statistics of new data files that another program wrote, from their footers
(spec: Per-file Statistics).

Only whole columns of plain types are asked for. A footer tells rows, nulls and the ends of a
column; where it does not, or where its ends may leave a value out, the column itself is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptDataError
from explorer.protocol.statistics import RunningStatistics
from explorer.storage.parquet.file_bytes import ParquetBytes
from explorer.storage.parquet.reader import ParquetReader
from explorer.storage.ports import ReadStore
from explorer.writing.files.file_form import FileForm

if TYPE_CHECKING:
    import pyarrow.parquet as pq


def footer_statistics(store: ReadStore, path: str, form: FileForm) -> tuple[int, str]:
    """The rows of a file with the columns of `form`, all of them plain, and its statistics.

    Raises `CorruptDataError` for a file without one of them, or in which one has another type, and
    for one that cannot be read.
    """
    with ParquetBytes(store, path).open() as source:
        try:
            source.check_footer()
            file = ParquetReader(source)
            # a column that no row of the frame lacks is "required" there, which readers take alike
            if (file.schema.names, file.schema.types) != (form.schema.names, form.schema.types):
                raise _is_other(path, "Its columns, or their types, are not those of the table.")
            running = RunningStatistics(form.statistics, form.string_prefix)
            names = [name for (name,) in form.statistics]
            num_rows = file.metadata.num_rows
            running.add_known(num_rows, {(name,): _known(file, name) for name in names})
        except (ValueError, OSError) as error:  # what pyarrow and the check of the footer raise
            raise _is_other(path, f"It cannot be read: {str(error)[:200]}") from error
        return num_rows, running.render()


def _is_other(path: str, reason: str) -> CorruptDataError:
    return CorruptDataError(
        f"{path[-200:]} is not as it was to be written.",
        reason=reason,
        remedy="Write the rows again; if it stays so, please report it.",
        spec="Data Files",
    )


def _known(file: ParquetReader, name: str) -> tuple[int, pa.ChunkedArray]:
    at = file.schema.get_field_index(name)  # of plain columns each is one leaf
    kind = file.schema.field(at).type
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
    told = [group.column(at).statistics for group in groups]
    if pa.types.is_floating(kind) or not all(
        _tells(one, group, kind) for one, group in zip(told, groups, strict=True)
    ):
        return _read(file, at)
    nulls = sum(one.null_count for one in told)
    ends = [end for one in told if one.has_min_max for end in (one.min_raw, one.max_raw)]
    if not ends or not _has_ends(kind):
        return nulls, pa.chunked_array([], kind)
    return nulls, pa.chunked_array([_values(ends, kind)])


def _tells(told: pq.Statistics | None, group: pq.RowGroupMetaData, kind: pa.DataType) -> bool:
    if told is None or not told.has_null_count:
        return False
    return bool(told.has_min_max or not _has_ends(kind) or told.null_count == group.num_rows)


def _has_ends(kind: pa.DataType) -> bool:
    """Whether statistics tell bounds of this type."""
    return not (pa.types.is_boolean(kind) or pa.types.is_binary(kind))


def _read(file: ParquetReader, at: int) -> tuple[int, pa.ChunkedArray]:
    """What the values themselves say, those of one row group at a time."""
    ends: list[pa.Array] = []
    nulls = 0
    for group in range(file.metadata.num_row_groups):
        values = file.read_group(group, [at], use_threads=False).column(0)
        nulls += values.null_count
        ends.append(_ends_of(values))
    if not ends:
        return 0, pa.chunked_array([], file.schema.field(at).type)
    return nulls, pa.chunked_array(ends)


def _ends_of(values: pa.ChunkedArray) -> pa.Array:
    kind = values.type
    if not _has_ends(kind):
        return pa.array([], kind)
    if pa.types.is_floating(kind) and pc.any(pc.is_nan(values)).as_py():
        return pa.array([float("nan")], kind)
    plain = values
    if pa.types.is_temporal(kind):  # Python's own times end with the year 9999
        plain = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    found = pc.min_max(plain).as_py()
    ends = [end for end in (found["min"], found["max"]) if end is not None]
    return pa.array(ends, plain.type).cast(kind)


def _values(ends: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values as Parquet stores them, with their type."""
    if pa.types.is_decimal(kind):
        return pa.array([_decimal(end, kind.scale) for end in ends], kind)
    if pa.types.is_string(kind):
        return pa.array([end.decode() for end in ends], kind)
    if pa.types.is_temporal(kind):
        return pa.array(ends, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    return pa.array(ends, kind)


def _decimal(end: int | bytes, scale: int) -> Decimal:
    number = end if isinstance(end, int) else int.from_bytes(end, "big", signed=True)
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -scale))
