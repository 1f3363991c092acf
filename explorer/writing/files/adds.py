"""Adds of new data files (spec: Add File and Remove File)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from explorer.log.actions.columns import TIME, string_column, string_map_column
from explorer.log.plain_arrays import TRUE
from explorer.protocol.paths import encode_path


def adds_of(written: pa.Table, *, tags: Mapping[str, str] | None = None) -> pa.Table:
    """The adds of what was written, with the schema `WRITTEN_ROWS`, each with these `tags`. They
    have no row ids, which the commit gives."""
    count = written.num_rows
    arrays = {
        "path": string_column([encode_path(path) for path in written.column("path").to_pylist()]),
        "partition_values": written.column("partition_values"),
        "size": written.column("size"),
        "modification_time": written.column("modified").cast(TIME),
        "data_change": pa.repeat(TRUE, count),
        "stats": written.column("stats"),
    }
    if tags:
        arrays["tags"] = string_map_column([tags] * count)
    return pa.table(arrays)
