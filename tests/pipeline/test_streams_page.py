"""What the page about streams shows happens: its Python runs, with Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.pipeline.source._stream_offset import parse_offset
from explorer.pipeline.source._stream_options import _NAMES, stream_options

pytestmark = pytest.mark.spark

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "streams.md").read_text("utf-8")


def ids(place: Path) -> list[int]:
    rows = explorer.read_rows(explorer.open_table(place).snapshot())
    found: list[int] = sorted(rows.column("id").to_pylist())
    return found


def test_the_page_about_streams_shows_what_happens(spark: SparkSession, tmp_path: Path) -> None:
    orders = tmp_path / "path/to/orders"
    orders.parent.mkdir(parents=True)
    names: dict[str, Any] = {"spark": spark}
    steps = [
        text.replace("path/to/", f"{tmp_path}/path/to/")
        for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    ]
    assert len(steps) == 3
    pipeline.write(pa.table({"id": [1, 2], "amount": [9.5, 20.0]}), orders)
    for step in steps:
        exec(step, names)  # the page's own code
    amounts, copies = orders.parent / "amounts", orders.parent / "copies"
    assert ids(amounts) == ids(copies) == [1, 2]
    # the driver was lost before Spark noted the batch
    for name in ("commits/0", "commits/.0.crc"):
        (orders.parent / "other checkpoint" / name).unlink(missing_ok=True)
    pipeline.write(pa.table({"id": [3], "amount": [1.0]}), orders)
    for step in steps[1:]:
        exec(step, names)  # both are started again
    assert ids(amounts) == ids(copies) == [1, 2, 3]


def test_the_page_has_every_option_and_the_offsets_as_they_are() -> None:
    reading = PAGE.split("### What stops")[0]
    for name in _NAMES:
        assert f"`{name}`" in reading
    assert f"{stream_options({}).max_files} unless" in reading
    shown = re.search(r"    (\{\"delta_explorer\".*?\}\n?.*?\"files\": \d+\})", PAGE, re.DOTALL)
    assert shown is not None
    kept = json.loads(shown[1])
    assert parse_offset(kept).as_dict() == kept
