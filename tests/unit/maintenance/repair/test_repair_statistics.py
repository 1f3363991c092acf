"""Files that say too little of their rows are read, and added again with their statistics;
nothing else of them changes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import maintenance
from explorer.inspect import files_health
from explorer.maintenance import Approval, Plan, Receipt, plan_repair
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor
from tests.data_tables import DataTable, array, field, mapped, struct
from tests.tables import add
from tests.unit.maintenance.lake import outcome, planned

_SCHEMA = struct(
    field("id", "long"),
    field("name", "string"),
    field("place", struct(field("x", "double"))),
    field("tags", array("string")),
    field("part", "string"),
)
_WHOLE = '{"numRecords":1,"nullCount":{"id":0,"name":0,"place":{"x":0},"tags":0}}'


def rows(*ids: int | None) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": [None if n is None else f"n{n}" for n in ids],
            "place": [{"x": None if n is None else float(n)} for n in ids],
            "tags": [["a"] for _ in ids],
        }
    )


def build(root: Path, *features: str, **options: Any) -> DataTable:
    return DataTable(root, _SCHEMA, features=features, partitionColumns=["part"], **options)


def repair(place: Path) -> Plan:
    return plan_repair(explorer.open_table(place), "statistics")


def execute(plan: Plan, scratch: Path, **options: Any) -> Receipt:
    return maintenance.execute(plan, Approval(plan.digest), state_dir=scratch / "state", **options)


def stats_of(place: Path) -> dict[str, Any]:
    files = explorer.open_table(place).snapshot().files(["path", "stats"]).to_pylist()
    return {file["path"]: json.loads(file["stats"] or "null") for file in files}


def adds(place: Path, version: int) -> dict[str, Any]:
    lines = (place / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return {line["add"]["path"]: line["add"] for line in found if "add" in line}


@pytest.mark.rule("file-add-datachange-false-contained")
@pytest.mark.parametrize(
    "stats",
    [
        None,
        "",
        "{}",
        '{"minValues":{"id":1}}',
        '{"numRecords":3}',
        '{"numRecords":3,"nullCount":{"id":1,"name":1}}',
        "no json",
    ],
)
def test_file_that_says_too_little_gets_whole_statistics(tmp_path: Path, stats: str | None) -> None:
    table = build(tmp_path / "t")
    said = {} if stats is None else {"stats": stats}
    table.add("part=a%20b/one.parquet", rows(1, None, 30), partitionValues={"part": "a b"}, **said)
    table.add("two.parquet", rows(7), partitionValues={"part": None}, stats=_WHOLE)
    place = table.write()
    (place / "part=a%20b").rename(place / "part=a b")  # the log has it encoded
    before = adds(place, 0)
    plan = repair(place)
    assert set(planned(plan, "add")) == {"part=a%20b/one.parquet"}
    assert outcome(plan, "commit") == "allow"
    assert "no row changes" in plan.summary
    rows_before = explorer.read_rows(explorer.open_table(place).snapshot()).to_pylist()
    assert execute(plan, tmp_path).status == "completed"
    assert stats_of(place)["part=a%20b/one.parquet"] == {
        "numRecords": 3,
        "minValues": {"id": 1, "name": "n1", "place": {"x": 1.0}},
        "maxValues": {"id": 30, "name": "n30", "place": {"x": 30.0}},
        "nullCount": {"id": 1, "name": 1, "place": {"x": 1}, "tags": 0},
        "tightBounds": True,
    }
    (again,) = adds(place, 1).values()
    was = before["part=a%20b/one.parquet"]
    assert {**again, "stats": None, "dataChange": True} == {**was, "stats": None}
    assert again["dataChange"] is False
    table_now = explorer.open_table(place)
    assert table_now.history(1).column("operation").to_pylist() == ["COMPUTE STATS"]
    assert table_now.snapshot().num_rows == 4
    after = explorer.read_rows(table_now.snapshot()).to_pylist()
    assert sorted(map(str, after)) == sorted(map(str, rows_before))
    assert repair(place).steps == ()


def test_nulls_where_none_may_be_are_counted_as_they_are_and_then_found(tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long", False)))
    table.add("a", pa.table({"id": [1, None]}))
    place = table.write()
    plan = repair(place)
    assert execute(plan, tmp_path).status == "completed"
    assert stats_of(place)["a"]["nullCount"] == {"id": 1}
    nulls = files_health(explorer.open_table(place)).nulls
    assert nulls is not None
    assert nulls.files.column("known_by").to_pylist() == ["statistics"]


@pytest.mark.rule("stats-wide")
def test_deletion_vector_and_row_ids_stay_and_bounds_count_hidden_rows(tmp_path: Path) -> None:
    table = build(tmp_path / "t", "deletionVectors", "rowTracking", "domainMetadata")
    found = build_inline_descriptor([0])
    vector = {
        "storageType": found.storage_type,
        "pathOrInlineDv": found.path_or_inline_dv,
        "sizeInBytes": found.size_in_bytes,
        "cardinality": found.cardinality,
    }
    fields = {"baseRowId": 40, "defaultRowCommitVersion": 0, "tags": {"k": "v"}}
    table.add(
        "one.parquet",
        rows(1, 2, 3),
        partitionValues={"part": "a"},
        deletionVector=vector,
        **fields,
    )
    place = table.write()
    domain = {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":42}'}
    body = json.dumps({"domainMetadata": {**domain, "removed": False}})
    (place / "_delta_log" / f"{1:020}.json").write_text(body + "\n")
    assert execute(repair(place), tmp_path).status == "completed"
    (again,) = adds(place, 2).values()
    assert {name: again[name] for name in fields} == fields
    assert again["deletionVector"] == vector
    said = json.loads(again["stats"])
    assert said["tightBounds"] is False
    assert said["numRecords"] == 3
    assert said["minValues"]["id"] == 1  # the hidden row counts
    assert explorer.open_table(place).snapshot().num_rows == 2


@pytest.mark.rule("mapping-log-physical")
def test_columns_are_those_that_the_table_asks_for_by_their_physical_names(
    tmp_path: Path,
) -> None:
    schema = struct(mapped("id", "long", "col-1", 1), mapped("name", "string", "col-2", 2))
    conf = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "2",
        "delta.dataSkippingStatsColumns": "name",
        "delta.dataSkippingStringPrefixLength": "2",
    }
    table = DataTable(tmp_path / "t", schema, features=("columnMapping",), configuration=conf)
    table.add("one.parquet", pa.table({"col-1": [1, 2], "col-2": ["abc", "abd"]}))
    place = table.write()
    assert execute(repair(place), tmp_path).status == "completed"
    (said,) = stats_of(place).values()
    assert said["nullCount"] == {"col-2": 0}
    assert said["minValues"] == {"col-2": "ab"}
    assert said["maxValues"]["col-2"] >= "abd"


def test_table_without_statistics_of_columns_counts_its_rows(tmp_path: Path) -> None:
    conf = {"delta.dataSkippingNumIndexedCols": "0"}
    table = build(tmp_path / "t", configuration=conf)
    table.add("one.parquet", rows(1, 2), partitionValues={"part": "a"})
    place = table.write()
    assert execute(repair(place), tmp_path).status == "completed"
    (said,) = stats_of(place).values()
    assert said["numRecords"] == 2
    assert said["nullCount"] == {}


def test_file_that_another_writer_removed_meanwhile_is_not_added_again(tmp_path: Path) -> None:
    table = build(tmp_path / "t")
    for name in ("one", "two"):
        table.add(f"{name}.parquet", rows(1), partitionValues={"part": "a"})
    place = table.write()
    plan = repair(place)
    body = {"remove": {"path": "one.parquet", "deletionTimestamp": 1, "dataChange": True}}
    (place / "_delta_log" / f"{1:020}.json").write_text(json.dumps(body) + "\n")
    assert execute(plan, tmp_path).status == "refused"
    assert set(planned(repair(place), "add")) == {"two.parquet"}


def test_append_meanwhile_does_not_stand_in_the_way(tmp_path: Path) -> None:
    table = build(tmp_path / "t")
    table.add("one.parquet", rows(1), partitionValues={"part": "a"})
    place = table.write()
    plan = repair(place)
    more = add("more.parquet", partitionValues={"part": "a"}, stats=_WHOLE)
    (place / "_delta_log" / f"{1:020}.json").write_text(json.dumps(more) + "\n")
    receipt = execute(plan, tmp_path)
    assert receipt.status == "completed"
    assert receipt.steps[0].result == {"version": 2, "was_there": False}


def test_file_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    table = build(tmp_path / "t")
    table.add("one.parquet", rows(1), partitionValues={"part": "a"})
    place = table.write()
    os.unlink(place / "one.parquet")
    receipt = execute(repair(place), tmp_path)
    assert receipt.status == "failed"
    assert receipt.problem is not None
    assert receipt.problem.kind == "data_missing"
    assert explorer.open_table(place).latest_version() == 0


def test_repair_that_was_done_is_not_done_twice(tmp_path: Path) -> None:
    table = build(tmp_path / "t")
    table.add("one.parquet", rows(1), partitionValues={"part": "a"})
    place = table.write()
    plan = repair(place)
    assert execute(plan, tmp_path).status == "completed"
    # as after a kill between the commit and the journal: another state folder knows nothing
    receipt = execute(plan, tmp_path / "other")
    assert receipt.status == "completed"
    assert receipt.steps[0].result == {"version": 1, "was_there": True}
    assert explorer.open_table(place).latest_version() == 1


def test_each_batch_is_a_commit_of_its_own_and_what_was_done_stays_done(tmp_path: Path) -> None:
    table = build(tmp_path / "t", configuration={"delta.checkpointInterval": "2"})
    for number in range(5):
        path = f"{number}.parquet"
        table.add(path, rows(number), partitionValues={"part": "a"}, size=100)
    place = table.write()
    plan = plan_repair(explorer.open_table(place), "statistics", batch_size=250)
    steps = [step for step in plan.steps if step.kind == "repair_statistics"]
    assert [(step.num_files, step.num_bytes) for step in steps] == [(2, 200), (2, 200), (1, 100)]
    assert "in 3 commits" in plan.summary
    gone = place / "2.parquet"
    content = gone.read_bytes()
    gone.unlink()
    receipt = execute(plan, tmp_path)
    assert receipt.status == "partly"
    assert explorer.open_table(place).latest_version() == 1
    gone.write_bytes(content)
    receipt = execute(plan, tmp_path)
    assert receipt.status == "completed", receipt.problem
    assert [sorted(adds(place, version)) for version in (1, 2, 3)] == [
        ["0.parquet", "1.parquet"],
        ["2.parquet", "3.parquet"],
        ["4.parquet"],
    ]
    assert all(said["nullCount"]["id"] == 0 for said in stats_of(place).values())
    assert (place / "_delta_log" / f"{2:020}.checkpoint.parquet").is_file()
    assert repair(place).steps == ()


def test_files_of_a_checkpoint_are_repaired_too(tmp_path: Path) -> None:
    table = build(tmp_path / "t")
    for name in ("one", "two"):
        table.add(f"{name}.parquet", rows(1), partitionValues={"part": "a"}, tags={"k": name})
    place = table.write()
    plan = maintenance.plan_checkpoint(explorer.open_table(place))
    assert execute(plan, tmp_path).status == "completed"
    before = adds(place, 0)
    assert execute(repair(place), tmp_path).status == "completed"
    for path, again in adds(place, 1).items():
        was = {**before[path], "dataChange": False}
        assert {**again, "stats": None} == {**was, "stats": None}
