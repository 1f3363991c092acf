"""Files with nulls in columns that may have none are found without reading a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.inspect.health import _null_files as null_files
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from tests.data_tables import DataTable, array, field, struct

LATE = struct(field("k", "long"), field("late", "string", False))


def rows(**nulls: Any) -> str:
    return json.dumps({"numRecords": 3, **nulls})


def health(place: Path) -> look.Health:
    return look.files_health(explorer.open_table(place))


def found(place: Path) -> list[tuple[Any, ...]]:
    nulls = health(place).nulls
    assert nulls is not None
    return [tuple(row.values()) for row in nulls.files.to_pylist()]


@pytest.mark.rule("schema-field-members")
def test_column_that_an_older_file_lacks_is_found_by_its_footer(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", LATE)
    made.add("old", pa.table({"k": [1, 2]}))
    made.add("new", pa.table({"k": [2], "late": ["x"]}))
    place = made.write()
    assert found(place) == [("old", "late", 2, "footer", False)]
    answer = health(place)
    (finding,) = answer.findings.to_pylist()
    assert finding["severity"] == "error"
    assert finding["problem"] == "1 live file has nulls in the NOT NULL column `late`."
    assert finding["reason"] == "By its footer, 'old' has 2 nulls there."
    assert finding["evidence"] == "old"
    assert answer.nulls is not None
    assert answer.nulls.num_unknown == 0


def test_statistics_are_asked_first_and_then_no_footer_is_read(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", LATE)
    for name, number in (("sound", 0), ("broken", 2)):
        made.add(name, pa.table({"k": [1, 2, 3]}), stats=rows(nullCount={"late": number}))
    place = made.write()
    (place / "sound").write_bytes(b"no footer")
    assert found(place) == [("broken", "late", 2, "statistics", False)]


def test_nulls_that_a_vector_may_hide_are_a_warning(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", LATE, features=("deletionVectors",))
    data = pa.table({"k": [1, 2, 3], "late": [None, None, "x"]})
    for name, hidden, stats in (
        ("all", [0, 1], rows(nullCount={"late": 2}, tightBounds=False)),
        ("some", [0], rows(nullCount={"late": 2}, tightBounds=False)),
        ("tight", [0, 1], rows(nullCount={"late": 1}, tightBounds=True)),
        ("footer", [0, 1], rows()),
    ):
        vector = render_descriptor(build_inline_descriptor(hidden))
        made.add(name, data, stats=stats, deletionVector=vector)
    place = made.write()
    told = {row[0]: row[-1] for row in found(place)}
    assert told == {"all": True, "some": False, "tight": False, "footer": True}
    severities = health(place).findings.column("severity").to_pylist()
    assert severities == ["error", "warning"]


def test_null_struct_explains_the_nulls_of_its_fields_and_no_more(tmp_path: Path) -> None:
    inner = struct(field("x", "long", False), field("y", "long"))
    kind = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    for given in (False, True):  # by footers, by statistics
        made = DataTable(tmp_path / str(given), struct(field("s", inner)))
        for name, values, x, y in (
            ("sound", [None, None, {"x": 1, "y": 2}], 2, 2),
            ("broken", [None, {"x": None, "y": 1}, {"x": None, "y": 2}], 3, 1),
        ):
            data = pa.table({"s": pa.array(values, kind)})
            stats = {"stats": rows(nullCount={"s": {"x": x, "y": y}})} if given else {}
            made.add(name, data, **stats)
        by = "statistics" if given else "footer"
        assert found(made.write()) == [("broken", "s.x", 2, by, False)]


def test_partition_value_that_is_null_is_found_in_the_log(tmp_path: Path) -> None:
    schema = struct(field("k", "long"), field("p", "string", False))
    made = DataTable(tmp_path / "t", schema, partitionColumns=["p"])
    for name, value in (("a", "x"), ("b", None), ("c", "")):
        made.add(name, pa.table({"k": [1, 2, 3]}), stats=rows(), partitionValues={"p": value})
    assert found(made.write()) == [
        ("b", "p", 3, "partition value", False),
        ("c", "p", 3, "partition value", False),
    ]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_renamed_columns_are_found_by_their_physical_names_or_ids(
    tmp_path: Path, mode: str
) -> None:
    meta = {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "col-1"}
    made = DataTable(
        tmp_path / "t",
        struct(field("new name", "long", False, **meta)),
        features=("columnMapping",),
        configuration={"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "7"},
    )
    stored = pa.field("col-1" if mode == "name" else "other", pa.int64())
    stored = stored.with_metadata({"PARQUET:field_id": "7"})
    made.add("a", pa.table([pa.array([1, None])], schema=pa.schema([stored])))
    assert found(made.write()) == [("a", "`new name`", 1, "footer", False)]


def test_files_that_nobody_counted_are_told_by_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = struct(field("late", "long", False), field("l", array("long"), False))
    made = DataTable(tmp_path / "t", schema)
    data = pa.table({"late": [1], "l": [[1]]})
    counted = json.dumps({"numRecords": 1, "nullCount": {"l": 0}})
    for name in ("a", "b", "c"):
        made.add(name, data, stats=counted)
    place = made.write()
    assert found(place) == []
    assert health(place).findings.num_rows == 0
    pq.write_table(data, place / "a", write_statistics=False)
    (place / "b").write_bytes(b"no footer")
    answer = health(place)
    (finding,) = answer.findings.to_pylist()
    assert (finding["severity"], finding["repair"]) == ("note", "repair statistics")
    assert finding["problem"] == ("Whether 2 files hold nulls in NOT NULL columns is unknown.")
    snapshot = explorer.open_table(place).snapshot()
    assert null_files.null_files(snapshot, null_files.Watch(), 0).num_unknown == 3


def test_table_without_such_columns_is_not_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = DataTable(tmp_path / "t", struct(field("k", "long")))
    made.add("a", pa.table({"k": [None]}))
    monkeypatch.setattr(null_files, "reduce_live_files", None)
    assert found(made.write()) == []


def test_verb_lists_file_column_and_number_of_nulls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = DataTable(tmp_path / "t", LATE)
    for name in ("f0", "f1"):
        made.add(name, pa.table({"k": [1]}))
    place = str(made.write())
    assert run(["health", place, "--files"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "2 live files have nulls in the NOT NULL column `late`." in out
    assert "late f0 1 footer" in out
    assert run(["health", place, "--files", "--json", "--limit", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["num_null_files"] == 2
    assert document["null_files"] == [
        {"path": "f0", "column": "late", "num_nulls": 1, "known_by": "footer",
         "may_be_deleted": False}
    ]  # fmt: skip
    assert run(["health", place, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["num_null_files"], document["null_files"]) == (None, None)
