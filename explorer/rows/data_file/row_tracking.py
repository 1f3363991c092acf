"""What is known of a row beside its columns: its id, its commit version, its file and place
(spec: Reader Requirements for Row Tracking)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int64_scalar, string_scalar
from explorer.log.plain_arrays import build_array
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.data_file.partition_columns import constant_column
from explorer.rows.layout import RowLayout


def hidden_column(name: str, layout: RowLayout) -> str | None:
    """The column of data files that may hold the values of a metadata column."""
    if name == "_row_id":
        return layout.row_id_column
    return layout.row_commit_version_column if name == "_row_commit_version" else None


def metadata_column(
    name: str, file: DataFile, positions: pa.Array, stored: pa.Array | None
) -> pa.Array:
    """One of `METADATA_COLUMNS` for the rows at physical `positions` (int64) of a file.

    `stored` are the file's own values where it has them; null ones, and those of
    files without them, are made from the action: base row id plus position, and
    the default row commit version.
    """
    match name:
        case "_file_path":
            return constant_column(string_scalar(file.path), len(positions))
        case "_row_index":
            return positions
        case "_row_id":
            base = int64_scalar(file.base_row_id)
            default = pc.add_checked(positions, base)
        case _:
            version = int64_scalar(file.default_row_commit_version)
            default = constant_column(version, len(positions))
    return default if stored is None else pc.coalesce(stored, default)


def physical_positions(start: int, count: int) -> pa.Array:
    """The positions of `count` rows from `start` on, as int64."""
    return build_array(np.arange(start, start + count, dtype=np.int64))
