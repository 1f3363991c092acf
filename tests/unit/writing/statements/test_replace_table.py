"""A table that begins again, and whose older versions stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.writing.commits.commit_rows import commit_rows
from explorer.writing.statements.create_statement import create_table

ROWS = pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"]})


def rows(table: explorer.Table, version: int | None = None) -> list[dict[str, object]]:
    found: list[dict[str, object]] = explorer.read_rows(table.snapshot(version=version)).to_pylist()
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = tmp_path / "table"
    asked = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true", "owner": "me"}
    pipeline.create(found, "id BIGINT, day STRING", partition_by="day", properties=asked)
    pipeline.write(ROWS, found)
    return found


def test_a_replaced_table_keeps_its_id_and_its_history_and_loses_its_rows(place: Path) -> None:
    table = explorer.open_table(place)
    before = table.snapshot()
    asked = {"delta.enableChangeDataFeed": "true"}
    made = pipeline.create(place, "id BIGINT NOT NULL, note STRING", properties=asked, replace=True)
    assert (made.version, made.operation) == (2, "CREATE OR REPLACE TABLE")
    now = table.snapshot()
    assert now.metadata.id == before.metadata.id
    assert now.schema.names == ("id", "note")
    assert (now.num_files, now.metadata.partition_columns) == (0, ())
    assert "owner" not in now.metadata.configuration
    assert rows(table) == []
    assert len(rows(table, 1)) == 3
    changes = explorer.read_changes(table, 2, 2).to_pylist()
    assert sorted(row["id"] for row in changes) == [1, 2, 3]
    assert {row["_change_type"] for row in changes} == {"delete"}
    pipeline.write(pa.table({"id": [9], "note": ["x"]}), place)
    assert rows(table) == [{"id": 9, "note": "x"}]


def test_a_table_that_is_not_there_is_created(tmp_path: Path) -> None:
    made = pipeline.create(tmp_path / "new", "id BIGINT", replace=True)
    assert (made.version, made.operation) == (0, "CREATE OR REPLACE TABLE")


def test_without_being_asked_no_table_is_replaced(place: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        pipeline.create(place, "id BIGINT")
    assert caught.value.kind == "already_exists"
    assert len(rows(explorer.open_table(place))) == 3


def test_rows_that_come_meanwhile_go_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [ROWS]

    def after_another(*given: Any, **named: Any) -> Any:
        while others:
            pipeline.write(others.pop(), place)
        return commit_rows(*given, **named)

    monkeypatch.setattr(f"{create_table.__module__}.commit_rows", after_another)
    made = pipeline.create(place, "id BIGINT", replace=True)
    assert made.version == 3
    table = explorer.open_table(place)
    assert rows(table) == []
    assert len(rows(table, 2)) == 6


def test_a_table_that_only_grows_is_not_replaced(tmp_path: Path) -> None:
    place = tmp_path / "log"
    pipeline.create(place, "id BIGINT", properties={"delta.appendOnly": "true"})
    pipeline.write(pa.table({"id": [1]}), place)
    with pytest.raises((UnsupportedError, InvalidArgumentError)):
        pipeline.create(place, "id BIGINT", properties={"delta.appendOnly": "true"}, replace=True)
    assert len(rows(explorer.open_table(place))) == 1
