"""The rows of every table of the corpus on both routes, equal to those of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import UnsupportedError
from explorer.pipeline.native.route import Route
from tests.corpus import READABLE, place_table, table_name
from tests.pipeline.rows import same_rows

_WITH_ROWS = [table for table in READABLE if table.get("data_files") != "absent"]
_ROW_IDS = ("_row_id", "_row_commit_version")
_ROUTES: list[Route] = ["parquet", "files"]

# what Spark's own reader is not given, and why
_OTHER_TYPE = "in another way"
_FIELD_IDS = "columns are found by field ids"
_INNER_NAMES = "fields inside of columns have other names"
_ONLY_FILES = {
    "dat-multi_partitioned": "means something else to Spark",
    "golden-data-reader-timestamp_ntz-id-mode": _FIELD_IDS,
    "golden-table-with-columnmapping-mode-name": _INNER_NAMES,
    "golden-table-with-icebegCompatV2Enabled": _FIELD_IDS,
    "javakernel-spark-shredded-variant-preview-delta": _OTHER_TYPE,
    "kernel-cdf-column-mapping-id-mode": _FIELD_IDS,
    "kernel-mixed-nulls": "two files have one name",
    "kernel-parquet_row_group_skipping": _OTHER_TYPE,
    "kernel-stats-writing-all-types": _INNER_NAMES,
    "kernel-unshredded-variant": _OTHER_TYPE,
    "spark-variant-stats-state-reconstruction": _OTHER_TYPE,
    "spark44-iceberg-compat-v2": _INNER_NAMES,
    "spark44-mapping-id-mode": _FIELD_IDS,
    "spark44-variant-plain": _OTHER_TYPE,
    "spark44-variant-shredded": _OTHER_TYPE,
}


# each table by one of the two routes, another one on another day
@pytest.mark.sampled(one_in=248, each="expected")
@pytest.mark.rule("dv-rows-not-returned", "log-missing-columns", "mapping-id-field-id")
@pytest.mark.rule("mapping-name-physical", "newer-widening-convert-old", "schema-type-void")
@pytest.mark.rule("row-read-default-id", "row-read-materialized-id")
@pytest.mark.parametrize("route", _ROUTES)
@pytest.mark.parametrize("expected", _WITH_ROWS, ids=table_name)
def test_latest_rows_equal_those_of_the_engine(
    spark: SparkSession, expected: dict[str, Any], route: Route, tmp_path: Path
) -> None:
    snapshot = explorer.open_table(place_table(expected, tmp_path)).snapshot()
    extra = _ROW_IDS if "row_ids" in expected else ()
    if route == "parquet" and (reason := _ONLY_FILES.get(expected["name"])) is not None:
        with pytest.raises(UnsupportedError, match=reason):
            pipeline.plan_read(snapshot, spark, route=route)
        chosen = pipeline.plan_read(snapshot, spark)
        assert chosen.route == "files"
        assert reason in chosen.reason
        return
    frame = pipeline.read(snapshot, spark, metadata_columns=extra, route=route)
    same_rows(frame.toArrow(), explorer.read_rows(snapshot, metadata_columns=extra))


def _an_earlier_version(table: dict[str, Any]) -> int | None:
    """One of those that can be read, another one for each table."""
    known = [
        version["version"]
        for version in table["history"][:-1]
        if version["num_rows_live"] is not None
    ]
    return known[sum(map(ord, table["name"])) % len(known)] if known else None


_EARLIER = [
    pytest.param(table, version, id=f"{table_name(table)}-v{version}")
    for table in _WITH_ROWS
    if (version := _an_earlier_version(table)) is not None
]


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize(("expected", "version"), _EARLIER)
def test_rows_of_earlier_versions_equal_those_of_the_engine(
    spark: SparkSession, expected: dict[str, Any], version: int, tmp_path: Path
) -> None:
    table = explorer.open_table(place_table(expected, tmp_path))
    snapshot = table.snapshot(version=version)
    same_rows(pipeline.read(snapshot, spark).toArrow(), explorer.read_rows(snapshot))


def test_every_version_that_is_lost_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    lost = [
        (table, version["version"])
        for table in _WITH_ROWS
        for version in table["history"]
        if version["num_rows_live"] is None and table["name"] != "kernel-cdf-table-with-dv"
    ]
    table, number = lost[0]
    snapshot = explorer.open_table(place_table(table, tmp_path)).snapshot(version=number)
    with pytest.raises(explorer.DeltaError) as refusal, pipeline.clear_errors("Reading"):
        pipeline.read(snapshot, spark, route="files").collect()
    assert refusal.value.kind == "data_missing"
    assert f"version {number}" in str(refusal.value)
