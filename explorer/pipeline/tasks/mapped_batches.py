"""Functions over the batches of a frame, whatever its columns are called.

PySpark asks for the columns of a frame by their names, without quotes: one with a dot in its name
is not found, and two of one name are ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from explorer.pipeline.tasks.file_tasks import Batches
from explorer.pipeline.tasks.spark_types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def map_batches(
    frame: DataFrame, function: Callable[[Batches], Batches], schema: pa.Schema
) -> DataFrame:
    """What tasks make of the rows of a frame, with exactly `schema`; `function` gets them under
    their own names."""
    names = frame.columns

    def run(batches: Batches) -> Batches:
        return function(batch.rename_columns(names) for batch in batches)

    numbered = frame.toDF(*(f"c{number}" for number in range(len(names))))
    return numbered.mapInArrow(run, spark_schema(schema))
