"""Files that have no column in common with their table are told, and their innocent twins not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.errors import CorruptDataError
from explorer.inspect.health._unrelated_files import judge_unrelated
from explorer.maintenance import Approval, execute, plan_optimize
from explorer.rows.data_file.data_file import data_files
from explorer.rows.data_file.read_file import read_file
from explorer.rows.stored_rows import stored_request
from explorer.rows.unrelated_files import find_unrelated_of, not_shown
from tests.data_tables import DataTable, array, field, map_of, mapped, struct

TOLD = "no column in common with the table"
PLAIN = struct(field("id", "long"), field("name", "string"))
FOREIGN = {"x": pa.array([1, 2], pa.int64()), "y": pa.array(["a", "b"])}
MAPPED = {"features": ("columnMapping",)}


def mapping(highest: int, mode: str = "name") -> dict[str, str]:
    return {
        "delta.columnMapping.mode": mode,
        "delta.columnMapping.maxColumnId": str(highest),
    }


def with_ids(*numbers: int) -> pa.Table:
    """A file whose columns `col-N` have field ids."""
    fields = [
        pa.field(f"col-{number}", pa.int64(), metadata={"PARQUET:field_id": str(number)})
        for number in numbers
    ]
    return pa.Table.from_arrays(
        [pa.array([1, 2], pa.int64())] * len(fields), schema=pa.schema(fields)
    )


def told(root: Path, schema: dict[str, Any], rows: pa.Table, **options: Any) -> bool:
    """Whether reading the rows of a table with this one file tells of it."""
    values = dict.fromkeys(options.get("partitionColumns", ()), "1")
    table = DataTable(root, schema, **options)
    table.add("a.parquet", rows, partitionValues=values)
    snapshot = explorer.open_table(table.write()).snapshot()
    found = explorer.read_rows(snapshot)
    assert found.num_rows == rows.num_rows
    by_footers = look.columns_by_files(snapshot).unrelated.column("file").to_pylist()
    by_rows = any(TOLD in problem.problem for problem in snapshot.problems)
    assert by_footers == (["a.parquet"] if by_rows else [])
    assert list(find_unrelated_of(snapshot).paths) == by_footers
    return by_rows


INNER = pa.struct([("a", pa.int64())])


@pytest.mark.parametrize(
    ("schema", "rows", "options"),
    [
        pytest.param(PLAIN, pa.table(FOREIGN), {}, id="other names"),
        pytest.param(
            struct(field("s", struct(field("b", "long")))),
            pa.table({"s": pa.array([{"a": 1}], INNER)}),
            {},
            id="a struct with other fields",
        ),
        pytest.param(
            struct(field("s", array(struct(field("b", "long"))))),
            pa.table({"s": pa.array([[{"a": 1}]], pa.list_(INNER))}),
            {},
            id="a list of structs with other fields",
        ),
        pytest.param(
            struct(mapped("id", "long", "col-1", 1)),
            pa.table({"id": pa.array([1], pa.int64())}),
            MAPPED | {"configuration": mapping(1)},
            id="logical names",
        ),
        pytest.param(
            struct(mapped("id", "long", "col-1", 1)),
            with_ids(7),
            MAPPED | {"configuration": mapping(1, "id")},
            id="ids that were never given out",
        ),
        pytest.param(
            struct(mapped("id", "long", "col-other", 1)),
            with_ids(1),
            MAPPED | {"configuration": mapping(1)},
            id="a column's id under another name",
        ),
    ],
)
def test_file_without_a_column_of_the_table_is_told(
    tmp_path: Path, schema: dict[str, Any], rows: pa.Table, options: dict[str, Any]
) -> None:
    assert told(tmp_path / "t", schema, rows, **options)


@pytest.mark.parametrize(
    ("schema", "rows", "options"),
    [
        pytest.param(PLAIN, pa.table({"NAME": ["a"], "x": ["b"]}), {}, id="one of the columns"),
        pytest.param(PLAIN, pa.table(FOREIGN).slice(0, 0), {}, id="no rows"),
        pytest.param(
            struct(field("part", "integer")),
            pa.table({"part": pa.array([1], pa.int32())}),
            {"partitionColumns": ["part"]},
            id="a partition column that is stored too",
        ),
        pytest.param(
            struct(field("id", "long"), field("gone", "void")),
            pa.table({"id": pa.array([1], pa.int64())}),
            {},
            id="a void column",
        ),
        pytest.param(
            struct(field("m", map_of("string", struct(field("b", "long"))))),
            pa.table({"m": pa.array([[("k", {"a": 1})]], pa.map_(pa.string(), INNER))}),
            {},
            id="the keys of a map",
        ),
        pytest.param(
            struct(mapped("new", "long", "col-3", 3)),
            with_ids(1, 2),
            MAPPED | {"configuration": mapping(3)},
            id="all columns dropped and others added",
        ),
        pytest.param(
            struct(mapped("new", "long", "col-3", 3)),
            with_ids(1, 2),
            MAPPED | {"configuration": mapping(3, "id")},
            id="the same by ids",
        ),
        pytest.param(
            struct(mapped("new", "long", "col-3", 3)),
            pa.table(FOREIGN),
            MAPPED | {"configuration": mapping(3)},
            id="the same of files from before the mapping",
        ),
    ],
)
def test_innocent_file_is_not_told(
    tmp_path: Path, schema: dict[str, Any], rows: pa.Table, options: dict[str, Any]
) -> None:
    assert not told(tmp_path / "t", schema, rows, **options)


def test_file_without_any_column_is_that_of_a_table_whose_columns_all_partition_it(
    tmp_path: Path,
) -> None:
    schema = struct(field("part", "integer"), field("later", "long"))
    table = DataTable(tmp_path / "t", schema, partitionColumns=["part"])
    place = table.add("a.parquet", partitionValues={"part": "1"})
    pq.write_table(pa.table({}), place)
    snapshot = explorer.open_table(table.write()).snapshot()
    explorer.read_rows(snapshot)
    assert look.columns_by_files(snapshot).unrelated.num_rows == 0
    assert snapshot.problems == ()


def foreign(root: Path, files: int = 3) -> explorer.Table:
    table = DataTable(root, PLAIN)
    for number in range(files):
        table.add(f"{number}.parquet", pa.table(FOREIGN), size=500)
    return explorer.open_table(table.write())


def test_all_such_files_are_told_at_once_and_only_where_their_columns_are_read(
    tmp_path: Path,
) -> None:
    snapshot = foreign(tmp_path / "t").snapshot()
    explorer.read_rows(snapshot, columns=[])
    assert snapshot.problems == ()
    explorer.read_rows(snapshot, columns=["id"])
    (problem,) = snapshot.problems
    assert problem.problem.startswith("3 data files have no column in common")
    assert "0.parquet" in problem.reason


def test_preview_and_schema_tell_of_such_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "t")
    foreign(Path(place), 1)
    assert run(["preview", place, "--json"]) == 0
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert TOLD in problem["problem"]
    assert run(["preview", place]) == 0
    assert "no column in common" in " ".join(capsys.readouterr().out.split())
    assert run(["schema", place, "--files", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unrelated"] == ["0.parquet"]
    assert "1 file has no column in common" in found["sentence"]


def test_health_tells_of_such_files_by_their_footers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = DataTable(tmp_path / "t", PLAIN)
    table.add("own.parquet", pa.table({"ID": pa.array([1], pa.int64())}))
    table.add("torn.parquet").write_bytes(b"PAR1 no more")
    for number in range(3):
        table.add(f"{number}.parquet", pa.table(FOREIGN))
    place = str(table.write())
    assert run(["health", place, "--files", "--json", "--limit", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    (finding,) = (row for row in found["findings"] if "without a column" in row["finding"])
    assert finding["severity"] == "error"
    assert finding["problem"].startswith("3 data files have no column in common")
    assert finding["evidence"] == "0.parquet"
    assert (found["num_unrelated"], found["unrelated"]) == (3, ["0.parquet", "1.parquet"])
    assert found["footers_read"] == 5
    assert run(["health", place, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num_unrelated"], found["unrelated"], found["footers_read"]) == (None,) * 3
    assert run(["health", place, "--files"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "no column of the table 0.parquet 1.parquet 2.parquet" in shown


def test_files_whose_statistics_show_no_value_of_the_table_are_looked_at_first(
    tmp_path: Path,
) -> None:
    table = DataTable(tmp_path / "t", PLAIN)
    said = {
        "bounds": {"numRecords": 2, "minValues": {"id": 1}, "maxValues": {"id": 2}},
        "counts": {"numRecords": 2, "nullCount": {"name": 1}},
        "nulls": {"numRecords": 2, "nullCount": {"id": 2, "name": 2}},
        "others": {"numRecords": 2, "minValues": {"x": 1}, "nullCount": {"x": 0}},
        "nothing": {"numRecords": 2},
    }
    for name, stats in said.items():
        table.add(name, pa.table(FOREIGN), stats=json.dumps(stats))
    snapshot = explorer.open_table(table.write()).snapshot()
    files = snapshot.files(["path", "size"])
    assert not_shown(snapshot, files).column("path").to_pylist() == ["nulls", "others", "nothing"]
    found = find_unrelated_of(snapshot, most=4)
    assert found.paths == ("nulls", "others", "nothing", "bounds")
    assert (found.num_read, found.num_left) == (4, 1)
    (note,) = judge_unrelated(0, replace(found, paths=()))
    assert (note.severity, note.problem[:17]) == ("note", "Whether 1 file ha")


def test_rows_of_such_a_file_are_never_written_again_as_nulls(tmp_path: Path) -> None:
    table = foreign(tmp_path / "t")
    snapshot = table.snapshot()
    (first, *_) = data_files(snapshot.files())
    with pytest.raises(CorruptDataError, match="no column in common"):
        list(read_file(snapshot.store, first, stored_request(snapshot)))
    plan = plan_optimize(table)
    receipt = execute(plan, Approval(plan.digest), state_dir=tmp_path / "state")
    assert receipt.status != "completed"
    assert "no column in common" in str(receipt)
    assert table.snapshot().version == 0
