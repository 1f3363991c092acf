"""Work of Python on the rows of a frame, whatever its columns are called.

`DataFrame.mapInArrow` looks each column up by its name as SQL would read it, so that one with a dot
or a backtick in it is not found, and of two that differ in case alone neither. Columns travel by
their numbers, and get their names back in the task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from explorer.pipeline.tasks.file_tasks import Batches
from explorer.pipeline.tasks.spark_types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def work_on(frame: DataFrame, task: Callable[[Batches], Batches], schema: pa.Schema) -> pa.Table:
    """What `task` makes of the batches of each part of a frame, with exactly that schema."""
    names = tuple(frame.columns)
    numbered = frame.toDF(*(f"c{at}" for at in range(len(names))))
    run = _Renamed(names=names, task=task)
    return numbered.mapInArrow(run.__call__, spark_schema(schema)).toArrow().cast(schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Renamed:
    """A task that is given its columns under their own names."""

    names: tuple[str, ...]
    task: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Batches:
        """What the task makes of them."""
        yield from self.task(
            pa.RecordBatch.from_arrays(batch.columns, names=list(self.names)) for batch in batches
        )
