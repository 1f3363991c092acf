"""The bounds of files without anything else of them, against their whole statistics."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.errors import InvalidArgumentError
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Progress
from explorer.scan.statistics.live_files import parsed_bounds, parsed_statistics
from tests.tables import (
    COLUMNS,
    PROTOCOL,
    Action,
    LogFolder,
    add,
    metadata,
    remove,
    vector,
    write_parquet,
)

VECTORS: Action = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
}
STRUCT = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", pa.struct([("id", pa.int64())])),
        ("maxValues", pa.struct([("id", pa.int64())])),
    ]
)


FEW = (5, 9_000, *range(10_000, 10_100))


def write_table(
    folder: Path, *, parsed: bool, vectors: bool, newer: bool, removed: Iterable[int] = FEW
) -> explorer.Table:
    """20,000 files of a checkpoint in two row groups, tombstones between them; the statistics
    of some contradict each other, and some have none."""
    actions: list[Action] = [VECTORS if vectors else PROTOCOL, metadata()]
    for at in range(20_000):
        low, high = (at, at - 1) if at % 700 == 5 else (at, at + 9)
        stats = {"numRecords": 10, "minValues": {"id": low}, "maxValues": {"id": high}}
        fields = {} if at % 900 == 7 else {"stats": json.dumps(stats)}
        if parsed and at % 100:
            fields["stats_parsed"] = stats if fields else None
        if vectors and at == 19_000:
            fields["deletionVector"] = vector()
        actions.append(add(f"{at}.parquet", **fields))
        if at % 3 == 0:
            actions.append(remove(f"old{at}.parquet"))
    columns = COLUMNS
    if parsed:
        kind = pa.struct([*COLUMNS["add"], pa.field("stats_parsed", STRUCT)])
        columns = COLUMNS | {"add": kind}
    log = LogFolder(folder)
    place = log.log / f"{0:020}.checkpoint.parquet"
    write_parquet(place, actions, rows_per_group=16_000, columns=columns)
    if newer:
        gone = [remove(f"{at}.parquet") for at in removed]
        stats = '{"numRecords":1,"minValues":{"id":-7},"maxValues":{"id":-7}}'
        log.commit(1, [*gone, add("new.parquet", stats=stats)])
    return explorer.open_table(log.root)


@pytest.mark.slow
@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("newer", [True, False])
@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("parsed", [True, False])
def test_bounds_are_those_of_the_whole_statistics(
    tmp_path: Path, parsed: bool, vectors: bool, newer: bool
) -> None:
    table = write_table(tmp_path / "t", parsed=parsed, vectors=vectors, newer=newer)
    whole = parsed_statistics(table.snapshot())
    expected = whole.select(["min.id", "max.id"]).to_pydict()
    assert whole.num_rows == 20_000 - (101 if newer else 0)
    snapshot = explorer.open_table(tmp_path / "t").snapshot()
    assert parsed_bounds(snapshot, ["id"]).to_pydict() == expected
    assert snapshot.num_files == whole.num_rows
    # from here on it is known which files are live, and then their paths too
    assert parsed_bounds(snapshot, ["id"]).to_pydict() == expected
    assert snapshot.files(["path"])["path"].to_pylist() == whole["path"].to_pylist()
    assert parsed_bounds(snapshot, ["id"]).to_pydict() == expected


@pytest.mark.slow
def test_where_commits_speak_of_many_files_the_bounds_are_the_same(tmp_path: Path) -> None:
    many = range(1_000, 6_000)
    table = write_table(tmp_path / "t", parsed=True, vectors=False, newer=True, removed=many)
    expected = parsed_statistics(table.snapshot()).select(["min.id", "max.id"])
    found = parsed_bounds(explorer.open_table(tmp_path / "t").snapshot(), ["id"])
    assert found.num_rows == 15_001
    assert found.to_pydict() == expected.to_pydict()


@pytest.mark.slow
def test_whoever_looks_on_hears_of_every_file(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t", parsed=True, vectors=False, newer=True)
    heard: list[Progress] = []
    found = parsed_bounds(table.snapshot(), ["id"], progress=heard.append)
    assert found.num_rows == heard[-1].done == heard[-1].total == 19_899


@pytest.mark.slow
def test_files_without_a_column_are_counted_all_the_same(tmp_path: Path) -> None:
    write_table(tmp_path / "t", parsed=False, vectors=False, newer=True)

    def count(files: FileColumns) -> int:
        return files.table.num_rows

    for known in (False, True):
        snapshot = explorer.open_table(tmp_path / "t").snapshot()
        if known:
            assert snapshot.num_files == 19_899
        found = snapshot.over_files(lambda state: list(state.reduce_files([], [], count)))
        assert sum(found) == 19_899


def test_bounds_of_a_column_that_has_no_order_are_no_columns(tmp_path: Path) -> None:
    kinds = [{"name": "raw", "type": "binary", "nullable": True, "metadata": {}}]
    log = LogFolder(tmp_path / "t")
    schema = json.dumps({"type": "struct", "fields": kinds})
    log.commit(0, [PROTOCOL, metadata(schemaString=schema), add("a.parquet")])
    snapshot = explorer.open_table(log.root).snapshot()
    assert parsed_bounds(snapshot).num_columns == 0
    with pytest.raises(InvalidArgumentError):
        parsed_bounds(snapshot, ["nothing"])
