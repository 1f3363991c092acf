"""Files written again on Spark: the same rows, in fewer files, in an order, or not at all."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import s3fs
from pyspark.sql import SparkSession

import explorer
from explorer.maintenance import plan_optimize
from explorer.pipeline.rewrite import rewrite
from explorer.progress import Progress
from tests.data_tables import DataTable, array, field, map_of, mapped, struct
from tests.pipeline.optimized import (
    WRITING,
    Run,
    actions,
    data_files,
    live_files,
    opened,
    ordered,
    rows_of,
    simple,
)
from tests.row_values import counted_rows
from tests.s3_server import BUCKET, s3_server

pytestmark = pytest.mark.spark


def test_small_files_become_one_of_each_partition(run: Run, tmp_path: Path) -> None:
    place = simple(tmp_path / "t")
    before = rows_of(place)
    plan = plan_optimize(opened(place))
    reports: list[Progress] = []
    receipt = run(plan, progress=reports.append)
    assert receipt.status == "completed", receipt.problem
    assert receipt.undo == "restore to version 5"
    assert receipt.steps[0].result is not None
    assert (receipt.steps[0].done, receipt.steps[0].result["num_added"]) == (6, 2)
    assert rows_of(place) == before == rows_of(place, version=5)
    assert opened(place).snapshot().num_files == 2
    assert (place / "_delta_log" / f"{6:020}.crc").is_file()
    assert any(report.label == WRITING and report.done == 2 for report in reports)
    again = plan_optimize(opened(place))
    assert (again.steps, again.files.num_rows) == ((), 0)
    assert again.summary.endswith("There is nothing to do.")


def test_commit_says_what_the_reference_would(run: Run, tmp_path: Path) -> None:
    place = simple(tmp_path / "t")
    assert run(plan_optimize(opened(place), where="id >= 0")).status == "completed"
    info, *others = actions(place, 6)
    body = info["commitInfo"]
    assert body["operation"] == "OPTIMIZE"
    assert body["operationParameters"] == {
        "predicate": '["id >= 0"]',
        "zOrderBy": "[]",
        "clusterBy": "[]",
        "auto": False,
    }
    adds = [action["add"] for action in others if "add" in action]
    removes = [action["remove"] for action in others if "remove" in action]
    sizes = sorted(add["size"] for add in adds)
    metrics = body["operationMetrics"]
    assert (metrics["numRemovedFiles"], metrics["numAddedFiles"]) == ("6", "2")
    assert metrics["numRemovedBytes"] == str(sum(remove["size"] for remove in removes))
    assert (metrics["minFileSize"], metrics["maxFileSize"]) == (str(sizes[0]), str(sizes[1]))
    assert not any(action["dataChange"] for action in (*adds, *removes))
    paths = {add["partitionValues"]["p"]: add["path"] for add in adds}
    assert paths[None].startswith("p=__HIVE_DEFAULT_PARTITION__/part-")
    assert paths["ä b/50%"].startswith("p=%C3%A4%20b%252F50%2525/part-")
    for add in adds:
        found = os.stat(place / unquote(add["path"]))
        assert (found.st_size, int(found.st_mtime * 1000)) == (add["size"], add["modificationTime"])


NOON = datetime(2024, 1, 1, 1, tzinfo=UTC).replace(tzinfo=None)
KINDS = {
    "i": ("integer", pa.int32(), [3, None, -5]),
    "s": ("string", pa.string(), ["x" * 40, "", None]),
    "d": ("decimal(10,2)", pa.decimal128(10, 2), [Decimal("1.50"), None, Decimal("-7.25")]),
    "f": ("double", pa.float64(), [1.5, -0.0, None]),
    "n": ("double", pa.float64(), [float("nan"), 1.0, None]),
    "b": ("boolean", pa.bool_(), [True, False, None]),
    "x": ("binary", pa.binary(), [b"\xff", b"", None]),
    "day": ("date", pa.date32(), [date(2024, 2, 29), date(1, 1, 1), None]),
    "t": (
        "timestamp",
        pa.timestamp("us", "UTC"),
        [datetime(2024, 1, 1, 0, 0, 0, 1999, tzinfo=UTC), None, datetime(1960, 1, 1, tzinfo=UTC)],
    ),
    "tn": ("timestamp_ntz", pa.timestamp("us"), [NOON, None, None]),
    "l": (array("long"), pa.list_(pa.int64()), [[1, None], [], None]),
    "m": (map_of("string", "long"), pa.map_(pa.string(), pa.int64()), [[("k", 1)], [], None]),
    "st": (
        struct(field("a", "long"), field("b", struct(field("c", "string")))),
        pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))]),
        [{"a": 1, "b": {"c": "z"}}, {"a": None, "b": None}, None],
    ),
    "nothing": ("void", None, None),
}


def all_kinds(place: Path, **options: Any) -> Path:
    fields = [field(name, kind) for name, (kind, _, _) in KINDS.items()]
    columns = {name: pa.array(v, k) for name, (_, k, v) in KINDS.items() if k is not None}
    made = DataTable(place, struct(*fields), features=("timestampNtz",), **options)
    for path in ("a.parquet", "b.parquet"):
        made.add(path, pa.table(columns), size=5000)
    return made.write()


@pytest.mark.parametrize("by_shuffle", [False, True], ids=["in tasks", "by a shuffle"])
@pytest.mark.parametrize("zorder", [(), ("i", "st.b.c"), ("tn",)], ids=["packed", "two", "one"])
def test_every_type_comes_back_as_it_was_whatever_the_session_says(
    run: Run,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    zorder: tuple[str, ...],
    by_shuffle: bool,
) -> None:
    place = all_kinds(tmp_path / "t")
    before = rows_of(place)
    if by_shuffle:
        monkeypatch.setattr(rewrite, "SORTED_IN_A_TASK", 0)
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        receipt = run(plan_optimize(opened(place), zorder_by=zorder))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert receipt.status == "completed", receipt.problem
    assert rows_of(place) == before
    assert opened(place).snapshot().num_files == 1


def test_statistics_are_those_of_the_rows(run: Run, tmp_path: Path) -> None:
    place = all_kinds(tmp_path / "t")
    assert run(plan_optimize(opened(place))).status == "completed"
    (add,) = (action["add"] for action in actions(place, 1) if "add" in action)
    assert json.loads(add["stats"]) == {
        "numRecords": 6,
        "minValues": {
            "i": -5,
            "s": "",
            "d": -7.25,
            "f": -0.0,
            "day": "0001-01-01",
            "t": "1960-01-01T00:00:00.000Z",
            "tn": "2024-01-01T01:00:00.000",
            "st": {"a": 1, "b": {"c": "z"}},
        },
        "maxValues": {
            "i": 3,
            "s": "x" * 32 + "\U0010ffff",
            "d": 1.5,
            "f": 1.5,
            "day": "2024-02-29",
            "t": "2024-01-01T00:00:00.001Z",
            "tn": "2024-01-01T01:00:00.000",
            "st": {"a": 1, "b": {"c": "z"}},
        },
        "nullCount": {
            **dict.fromkeys("isdfnbx", 2),
            "day": 2,
            "t": 2,
            "tn": 4,
            "l": 2,
            "m": 2,
            "st": {"a": 4, "b": {"c": 4}},
        },
        "tightBounds": True,
    }


@pytest.mark.parametrize(
    ("configuration", "indexed"),
    [
        ({"delta.dataSkippingNumIndexedCols": "2"}, {"i", "s"}),
        ({"delta.dataSkippingStatsColumns": "day, st.a"}, {"day", "st"}),
    ],
    ids=["number", "names"],
)
def test_statistics_speak_of_the_columns_that_the_table_asks_for(
    run: Run, tmp_path: Path, configuration: dict[str, str], indexed: set[str]
) -> None:
    place = all_kinds(tmp_path / "t", configuration=configuration)
    assert run(plan_optimize(opened(place))).status == "completed"
    (add,) = (action["add"] for action in actions(place, 1) if "add" in action)
    stats = json.loads(add["stats"])
    assert set(stats["nullCount"]) == set(stats["minValues"]) == indexed


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_keep_their_physical_names_and_ids(
    run: Run, tmp_path: Path, mode: str
) -> None:
    inner = struct(mapped("x", "long", "col-x", 4))
    schema = struct(
        mapped("id", "long", "col-id", 1),
        mapped("part", "string", "col-part", 2),
        mapped("s", inner, "col-s", 3),
    )
    conf = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "4"}
    made = DataTable(
        tmp_path / "t",
        schema,
        features=("columnMapping",),
        configuration=conf,
        partitionColumns=["part"],
    )

    def numbered(name: str, kind: pa.DataType, number: int) -> pa.Field:
        return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})

    physical = pa.schema(
        [
            numbered("col-id", pa.int64(), 1),
            numbered("col-s", pa.struct([numbered("col-x", pa.int64(), 4)]), 3),
        ]
    )
    for path in ("a", "b"):
        rows = pa.table([pa.array([1, 2]), pa.array([{"col-x": 5}, None])], schema=physical)
        made.add(path, rows, partitionValues={"col-part": "é"})
    place = made.write()
    before = rows_of(place)
    assert run(plan_optimize(opened(place))).status == "completed"
    assert rows_of(place) == before
    (path,) = live_files(place)
    assert len(path.partition("/")[0]) == 2  # a folder that tells no name of a column
    found = pq.read_schema(place / path)
    assert found.names == ["col-id", "col-s"]
    assert found.field("col-s").metadata == {b"PARQUET:field_id": b"3"}
    assert found.field("col-s").type.field(0).metadata == {b"PARQUET:field_id": b"4"}
    (add,) = (action["add"] for action in actions(place, 1) if "add" in action)
    assert add["partitionValues"] == {"col-part": "é"}
    assert json.loads(add["stats"])["minValues"] == {"col-id": 1, "col-s": {"col-x": 5}}


def test_widened_columns_are_written_as_they_are_now(run: Run, tmp_path: Path) -> None:
    made = DataTable(
        tmp_path / "t",
        struct(field("id", "long"), field("late", "string")),
        features=("typeWidening",),
    )
    made.add("a", pa.table({"id": pa.array([1, None], pa.int32())}))
    made.add("b", pa.table({"id": pa.array([2**40], pa.int64()), "late": ["x"]}))
    place = made.write()
    assert run(plan_optimize(opened(place))).status == "completed"
    (path,) = live_files(place)
    assert pq.read_schema(place / path).types == [pa.int64(), pa.string()]
    assert rows_of(place) == Counter({(1, None): 1, (None, None): 1, (2**40, "x"): 1})


def test_files_without_statistics_get_them(run: Run, tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", struct(field("id", "long")))
    for path in ("a", "b"):
        made.add(path, pa.table({"id": [1, 2]}))
    place = made.write()
    assert opened(place).snapshot().num_rows is None
    assert run(plan_optimize(opened(place))).status == "completed"
    assert opened(place).snapshot().num_rows == 4


def test_files_without_a_row_left_go_and_none_comes(
    run: Run, spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    spark.sql(
        f"create table delta.`{place}` (id long) using delta "
        "tblproperties ('delta.enableDeletionVectors'='true')"
    )
    for start in (0, 10):
        spark.sql(
            f"insert into delta.`{place}` select /*+ coalesce(1) */ id + {start} from range(10)"
        )
    spark.sql(f"delete from delta.`{place}` where id between 1 and 12")
    descriptor = opened(place).snapshot().files(["deletion_vector"]).column(0).to_pylist()
    assert sorted(found["cardinality"] for found in descriptor) == [3, 9]
    before = rows_of(place)
    assert run(plan_optimize(opened(place), purge=True)).status == "completed"
    assert rows_of(place) == before
    assert opened(place).snapshot().num_deletion_vectors == 0
    (info,) = (a["commitInfo"] for a in actions(place, 4) if "commitInfo" in a)
    assert info["operationMetrics"]["numDeletionVectorsRemoved"] == "2"


def test_table_in_an_object_store_is_optimized_there(run: Run, tmp_path: Path) -> None:
    local = simple(tmp_path / "t")
    before = rows_of(local)
    with s3_server() as options:
        bucket = s3fs.S3FileSystem(**options, skip_instance_cache=True)
        bucket.put(str(local), f"{BUCKET}/t", recursive=True)
        uri = f"s3://{BUCKET}/t"
        plan = plan_optimize(explorer.open_table(uri, options))
        receipt = run(plan, storage_options=options)
        assert receipt.status == "completed", receipt.problem
        snapshot = explorer.open_table(uri, options).snapshot()
        assert (snapshot.version, snapshot.num_files) == (6, 2)
        assert counted_rows(explorer.read_rows(snapshot)) == before


def test_file_with_other_rows_than_the_log_says_commits_nothing(run: Run, tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", struct(field("id", "long")))
    made.add("a.parquet", pa.table({"id": [1, 2]}), stats='{"numRecords":2}')
    made.add("b.parquet", pa.table({"id": [1, 2]}), stats='{"numRecords":3}')
    place = made.write()
    receipt = run(plan_optimize(opened(place)))
    assert receipt.status == "failed"
    assert receipt.problem is not None
    assert receipt.problem.kind == "data_corrupt"
    assert opened(place).latest_version() == 0
    assert data_files(place) == {"a.parquet", "b.parquet"}


@pytest.mark.parametrize("by_shuffle", [False, True], ids=["in tasks", "by a shuffle"])
def test_ordered_rows_are_found_in_few_files_by_each_column(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_shuffle: bool
) -> None:
    place = ordered(tmp_path / "t")
    before = rows_of(place)
    if by_shuffle:
        monkeypatch.setattr(rewrite, "SORTED_IN_A_TASK", 0)
    size = opened(place).snapshot().size_in_bytes
    wishes: dict[str, Any] = {"zorder_by": ["x", "y"], "target_size": size // 16 + 1}
    plan = plan_optimize(opened(place), **wishes)
    assert run(plan).status == "completed"
    snapshot = opened(place).snapshot()
    assert rows_of(place) == before
    assert 14 <= snapshot.num_files <= 18
    # a value is in four of the sixteen squares; a shuffle cuts where a sample of the rows says, so
    # that each of them may lie in two files
    most = 8 if by_shuffle else 6
    for where in ("x = 300", "y = 'y0300'"):
        kept = explorer.open_table(place).snapshot()
        found = plan_optimize(opened(place), where=where, purge=True)
        assert found.effect["files_looked_at"] <= most, where
        assert counted_rows(explorer.read_rows(kept, where=where)) == Counter(
            {
                row: n
                for row, n in before.items()
                if (row[0] == 300 if "x" in where else row[1] == "y0300")
            }
        )
    assert plan_optimize(opened(place), **wishes).steps == ()
