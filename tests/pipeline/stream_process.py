"""A process of its own that streams one table into another until it is killed.

python -m tests.pipeline.stream_process SOURCE TARGET CHECKPOINT
"""

from __future__ import annotations

import sys

from explorer import pipeline
from explorer.pipeline.session import choose_session


def stream(source: str, target: str, kept: str) -> None:
    """One file a batch, until everything is read."""
    spark = choose_session()
    pipeline.register(spark)
    reader = spark.readStream.format("delta_explorer").option("maxFilesPerTrigger", 1)
    writer = reader.load(source).writeStream.format("delta_explorer")
    writer = writer.option("checkpointLocation", kept).trigger(availableNow=True)
    writer.start(target).awaitTermination()


if __name__ == "__main__":
    stream(*sys.argv[1:])
