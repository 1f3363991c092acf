"""The statistics of a file that a test makes, of all its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from explorer.protocol.actions import FieldPath
from explorer.protocol.statistics import RunningStatistics


def build_statistics(table: pa.Table) -> str:
    """The JSON text for a file that holds exactly `table`."""
    running = RunningStatistics([*_leaf_paths(table.schema)])
    running.add(table)
    return running.render()


def _leaf_paths(fields: Iterable[pa.Field], parents: FieldPath = ()) -> Iterator[FieldPath]:
    for field in fields:
        path = (*parents, field.name)
        if pa.types.is_struct(field.type):
            yield from _leaf_paths(field.type, path)
        elif not pa.types.is_null(field.type):
            yield path
