"""Change data are written where the table's protocol makes its feed count, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer import pipeline
from tests.tables import LogFolder, metadata

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {
            "name": "twice",
            "type": "long",
            "nullable": True,
            "metadata": {"delta.generationExpression": "id * 2"},
        },
    ],
}


def table_of(place: Path, writer: int, features: list[str] | None, *, on: bool) -> Path:
    """A table with two rows, whose protocol a test chooses."""
    log = LogFolder(place)
    pq.write_table(pa.table({"id": [1, 2], "twice": [2, 4]}), place / "a.parquet")
    protocol: dict[str, Any] = {"minReaderVersion": 2 if writer >= 5 else 1}
    protocol["minWriterVersion"] = writer
    if features is not None:
        protocol["writerFeatures"] = features
    held = metadata(
        schemaString=json.dumps(SCHEMA),
        partitionColumns=[],
        configuration={"delta.enableChangeDataFeed": str(on).lower()},
    )
    size = (place / "a.parquet").stat().st_size
    body = {"path": "a.parquet", "partitionValues": {}, "size": size, "modificationTime": 1}
    log.commit(0, [{"protocol": protocol}, held, {"add": {**body, "dataChange": True}}])
    return place


def changes_of(place: Path) -> list[dict[str, Any]]:
    """The `cdc` actions of version 1."""
    lines = (place / "_delta_log" / f"{1:020}.json").read_text().splitlines()
    return [body["cdc"] for body in map(json.loads, lines) if "cdc" in body]


@pytest.mark.rule("cdf-writer-4-to-6", "cdf-writer-7", "cdf-tags", "feature-writer-version-4")
@pytest.mark.parametrize(
    ("writer", "features", "on", "expected"),
    [
        (3, None, True, False),
        (4, None, True, True),
        (4, None, False, False),
        (5, None, True, True),
        (6, None, True, True),
        (7, ["changeDataFeed", "generatedColumns"], True, True),
        (7, ["changeDataFeed", "generatedColumns"], False, False),
        (7, ["generatedColumns"], True, False),
    ],
)
def test_an_update_writes_what_changed_where_the_feed_counts(
    writer: int, features: list[str] | None, on: bool, expected: bool, tmp_path: Path
) -> None:
    place = table_of(tmp_path / "t", writer, features, on=on)
    values = {"id": "id + 10"} | ({"twice": "24"} if writer < 4 else {})
    pipeline.update(place, values, "id = 2")
    rows = explorer.read_rows(explorer.open_table(place).snapshot()).to_pylist()
    assert sorted(map(str, rows)) == ["{'id': 1, 'twice': 2}", "{'id': 12, 'twice': 24}"]
    told = changes_of(place)
    assert bool(told) == expected == (place / "_change_data").exists()
    for each in told:
        tags = each.get("tags") or {}
        assert all(isinstance(text, str) for pair in tags.items() for text in pair)
    if told:
        feed = explorer.read_changes(explorer.open_table(place), 1)
        kinds = feed.column("_change_type").to_pylist()
        assert sorted(kinds) == ["update_postimage", "update_preimage"]
