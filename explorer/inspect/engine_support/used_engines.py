"""Which engines wrote the newest commits, by what they record of themselves (spec: Commit
Provenance Information)."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import int64_column, string_column
from explorer.table.table import Table

COLUMNS: dict[str, Column] = {
    "engine": (string_column, pa.string()),
    "engine_info": (string_column, pa.string()),
    "num_commits": (int64_column, pa.int64()),
    "last_version": (int64_column, pa.int64()),
}

LOOKED_AT: Final = 1_000
"""Commits that are looked at: who stopped writing before them no longer uses the table."""

# The first that is found says whose engine it is; the ids are those of `engines`.
_SIGNS: Final = tuple(
    (re.compile(sign, re.IGNORECASE), engine)
    for sign, engine in (
        (r"delta-explorer", "delta-explorer"),
        (r"databricks", "databricks"),
        (r"fabric", "fabric: Spark runtime"),
        (r"\bemr\b|elastic.?mapreduce", "emr"),
        (r"\bglue\b", "glue"),
        (r"kernel.*flink|deltaflinksink", "flink-new"),
        (r"flink", "flink-old"),
        (r"kernel-rs|kernel-rust", "delta-kernel-rs"),
        (r"^kernel-|delta.kernel", "delta-kernel-java"),
        (r"delta-rs|deltalake-python|py-deltalake", "delta-rs"),
        (r"trino", "trino"),
        (r"presto", "prestodb"),
        (r"duckdb", "duckdb-delta"),
        (r"clickhouse", "clickhouse"),
        (r"\bdaft\b", "daft"),
        (r"polars", "polars"),
        (r"\bsail\b", "sail"),
        (r"dremio", "dremio"),
        (r"snowflake", "snowflake"),
        (r"apache-spark|delta-lake|delta lake", "delta-spark"),
    )
)


def engines_in_use(table: Table, most_commits: int = LOOKED_AT) -> pa.Table:
    """One row per engine that wrote one of the newest commits, the one with most commits first.

    - `engine`: its id as in `engines`; null where what the commits say names none that is known
    - `engine_info`: what its newest commit records; null where commits record nothing
    - `num_commits` of the newest `most_commits`, and the `last_version` among them
    """
    history = table.history(most_commits)
    found: dict[str | None, list[int | str | None]] = {}
    versions = history.column("version").to_pylist()
    for version, info in zip(versions, history.column("engine_info").to_pylist(), strict=True):
        engine = engine_of(info)
        # what names no engine that is known stays apart by its own text
        row = found.setdefault(engine or info, [engine, info, 0, version])
        row[2] = int(row[2] or 0) + 1
    ordered = sorted(found.values(), key=lambda row: -int(row[2] or 0))
    return build_frame(COLUMNS, [tuple(row) for row in ordered])


def engine_of(info: str | None) -> str | None:
    """The id of the engine that records this; None where none that is known does."""
    if info is None:
        return None
    return next((engine for sign, engine in _SIGNS if sign.search(info)), None)
