"""Why the rows of a version cannot be counted by its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.pipeline.column_profile._sums import partition_texts
from tests.tables import (
    COLUMNS,
    FEATURE_PROTOCOL,
    PROTOCOL,
    LogFolder,
    add,
    metadata,
    vector,
    write_parquet,
)

UNREADABLE = [
    '{"numRecords":1.5}',
    '{"numRecords":-1}',
    '{"numRecords":"5"}',
    '{"numRecords":9223372036854775808}',
    '{"numRecords": 1e999}',
    '{"numRecords":5',
    "[]",
    "",
]
ABSENT = [None, "{}", '{"minValues":{"id":1}}', '{"numRecords":null}']


def snapshot_of(folder: LogFolder, texts: list[str | None], form: str) -> explorer.Snapshot:
    files = [add(f"{at}", stats=text) for at, text in enumerate(texts)]
    actions: list[Any] = [PROTOCOL, metadata(), *files]
    folder.commit(0, actions)
    if form == "checkpoint":
        folder.checkpoint(0, actions)
    return explorer.open_table(folder.root).snapshot()


@pytest.mark.parametrize("form", ["commit", "checkpoint"])
@pytest.mark.parametrize("text", UNREADABLE)
def test_number_of_rows_that_cannot_be_read_is_told_once(
    tmp_path: Path, text: str, form: str
) -> None:
    folder = LogFolder(tmp_path / "table")
    snapshot = snapshot_of(folder, ['{"numRecords":3}', None, text, text], form)
    assert (snapshot.num_rows, snapshot.num_rows) == (None, None)
    (problem,) = snapshot.problems
    assert problem.problem == "The number of rows of 2 files cannot be read."
    assert "The first is '2'." in problem.reason


@pytest.mark.parametrize("form", ["commit", "checkpoint"])
@pytest.mark.parametrize("text", ABSENT)
def test_number_of_rows_that_is_not_told_is_no_problem(
    tmp_path: Path, text: str | None, form: str
) -> None:
    snapshot = snapshot_of(LogFolder(tmp_path / "table"), ['{"numRecords":3}', text], form)
    assert (snapshot.num_rows, snapshot.problems) == (None, ())


def test_column_of_numbers_below_zero_is_told_too(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a"), add("b")])
    fields = [*COLUMNS["add"], pa.field("stats_parsed", pa.struct([("numRecords", pa.int64())]))]
    stored = [
        add(path, stats_parsed={"numRecords": count}) for path, count in (("a", 4), ("b", -4))
    ]
    place = folder.log / f"{0:020}.checkpoint.parquet"
    columns = COLUMNS | {"add": pa.struct(fields)}
    write_parquet(place, [PROTOCOL, metadata(), *stored], columns=columns)
    snapshot = explorer.open_table(folder.root).snapshot()
    assert snapshot.num_rows is None
    (problem,) = snapshot.problems
    assert problem.problem == "The number of rows of 1 file cannot be read."
    assert "'b'" in problem.reason


@pytest.mark.parametrize(("cardinality", "rows"), [(3, {"x": 2}), (9, None), (-2, None)])
def test_rows_of_a_partition_are_not_counted_by_what_cannot_be(
    tmp_path: Path, cardinality: int, rows: dict[str, int] | None
) -> None:
    folder = LogFolder(tmp_path / "table")
    held = add("a", partitionValues={"part": "x"}, stats='{"numRecords":5}')
    held["add"]["deletionVector"] = vector(cardinality=cardinality)
    folder.commit(0, [FEATURE_PROTOCOL, metadata(partitionColumns=["part"]), held])
    snapshot = explorer.open_table(folder.root).snapshot()
    (column,) = [item for item in snapshot.schema.fields if item.name == "part"]
    assert partition_texts(snapshot, column) == rows
