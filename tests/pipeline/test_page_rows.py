"""What the page shows of rows that Spark has read: exact counts, samples, and figures."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.data_tables import DataTable, field, struct
from tests.tables import LogFolder, add
from tests.unit.widgets.page.test_explorer_view import Page

PLAIN = struct(field("id", "long"), field("note", "string"))


def notes(folder: Path) -> Path:
    """Three rows, without statistics; then two of them anew with one more."""
    table = DataTable(folder / "notes", PLAIN)
    table.add("old.parquet", pa.table({"id": [1, 2, 3], "note": ["a", "b", None]}))
    place = table.write()
    again = DataTable(folder / "again", PLAIN)
    again.add("new.parquet", pa.table({"id": [2, 3, 4], "note": ["b", None, "<b>new</b>"]}))
    (folder / "again" / "new.parquet").rename(place / "new.parquet")
    log = LogFolder.__new__(LogFolder)
    log.root, log.log = place, place / "_delta_log"
    removed = {"path": "old.parquet", "deletionTimestamp": 1, "dataChange": True}
    log.commit(1, [add("new.parquet"), {"remove": removed}])
    return place


def test_rows_are_counted_exactly_and_some_are_shown(spark: SparkSession, tmp_path: Path) -> None:
    page = Page().open(notes(tmp_path), view="compare", version=1, older=0)
    assert "Exactly" not in page.html
    page.do("exact")
    assert "Exactly: 1 inserted, 1 deleted." in page.html
    assert "2 rows were written again as they were." in page.html
    assert "&lt;b&gt;new&lt;/b&gt;" in page.html


def test_a_column_is_profiled_beside_its_estimate(spark: SparkSession, tmp_path: Path) -> None:
    page = Page().open(notes(tmp_path), view="statistics", column="note")
    page.do("profile")
    assert "The exact figures come from every row" in page.html
    assert "Most frequent" in page.html
    assert "&lt;b&gt;new&lt;/b&gt;" in page.html
