"""Who writes the demo table: engines with their habits, and people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorEngine:
    """An engine as its commits show it.

    `name_file` makes the name of a data file from the number of the task, a
    UUID and the codec; `writes_remove_statistics` says whether the rows that
    leave with a file can be counted from the log.
    """

    info: str
    codec: Literal["snappy", "zstd"]
    name_file: Callable[[int, UUID, str], str]
    writes_remove_statistics: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """A person or a job at work with one engine."""

    user_name: str
    engine: AuthorEngine


def _spark_name(task: int, unique: UUID, codec: str) -> str:
    return f"part-{task:05}-{unique}.c000.{codec}.parquet"


def _kernel_name(task: int, unique: UUID, codec: str) -> str:
    del task, codec  # the kernels name files by the UUID alone
    return f"{unique}.parquet"


# each of these can write a table with in-commit timestamps; delta-rs, for one, cannot yet
_SPARK_4_0 = AuthorEngine(
    info="Apache-Spark/4.0.1 Delta-Lake/4.0.0",
    codec="snappy",
    name_file=_spark_name,
    writes_remove_statistics=False,
)
_SPARK_4_2 = AuthorEngine(
    info="Apache-Spark/4.2.0 Delta-Lake/4.4.0",
    codec="snappy",
    name_file=_spark_name,
    writes_remove_statistics=True,
)
_DATABRICKS = AuthorEngine(
    info="Databricks-Runtime/16.4.x-photon-scala2.12",
    codec="zstd",
    name_file=_spark_name,
    writes_remove_statistics=True,
)
_FLINK = AuthorEngine(
    info="Kernel-4.4.0/DeltaFlinkSink",
    codec="zstd",
    name_file=_kernel_name,
    writes_remove_statistics=True,
)
_KERNEL_RUST = AuthorEngine(
    info="delta-kernel-rs/0.27.0 supplier-import",
    codec="zstd",
    name_file=_kernel_name,
    writes_remove_statistics=True,
)

NIGHTLY_OLD = Author(user_name="etl-nightly", engine=_SPARK_4_0)
NIGHTLY = Author(user_name="etl-nightly", engine=_SPARK_4_2)
STREAM = Author(user_name="stream-orders", engine=_FLINK)
IMPORTER = Author(user_name="supplier-import", engine=_KERNEL_RUST)
ANNA = Author(user_name="anna.kovacs@shop.example", engine=_DATABRICKS)
BEN = Author(user_name="ben.osei@shop.example", engine=_DATABRICKS)
