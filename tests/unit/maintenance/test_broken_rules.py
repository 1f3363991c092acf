"""Rows that break the schema are not written again: the run stops, and nothing is committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.maintenance import Approval, Receipt, execute, plan_optimize
from explorer.protocol.schema import CHARACTER_TYPE_KEY
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from tests.data_tables import DataTable, field, struct

LATE = struct(field("k", "long"), field("late", "string", False))


def data(place: Path) -> set[str]:
    return {found.relative_to(place).as_posix() for found in place.rglob("*.parquet")}


def optimize(place: Path, scratch: Path, **options: Any) -> Receipt:
    plan = plan_optimize(explorer.open_table(place), **options)
    assert plan.steps
    return execute(plan, Approval(plan.digest), state_dir=scratch / "state")


def stopped(place: Path, scratch: Path, **options: Any) -> str:
    """What a run says that must change nothing."""
    before = data(place)
    receipt = optimize(place, scratch, **options)
    assert receipt.status == "failed"
    assert receipt.problem is not None
    assert explorer.open_table(place).latest_version() == 0
    assert data(place) == before
    return f"{receipt.problem.problem} {receipt.problem.reason}"


@pytest.mark.rule("schema-field-members")
@pytest.mark.parametrize("options", [{}, {"zorder_by": ["k"], "target_size": 1}])
def test_null_in_a_column_that_is_not_null_stops_a_rewrite(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    made = DataTable(tmp_path / "t", LATE)
    made.add("f0", pa.table({"k": [5], "late": ["x"]}))
    made.add("f1", pa.table({"k": [1, 2, 3], "late": ["x", "y", None]}))
    text = stopped(made.write(), tmp_path, **options)
    assert "The data file f1 holds null in the column `late`" in text
    assert "at position 2 of the file" in text


def test_column_that_a_file_lacks_stops_a_rewrite_at_its_first_row(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", LATE)
    made.add("f0", pa.table({"k": [1]}))
    made.add("f1", pa.table({"k": [2], "late": ["x"]}))
    text = stopped(made.write(), tmp_path)
    assert "The data file f0 holds null in the column `late`" in text
    assert "at position 0 of the file" in text


@pytest.mark.parametrize(("hidden", "first"), [([0], 2), ([0, 2], None)])
def test_rows_that_a_vector_hides_break_nothing_and_positions_count_them(
    tmp_path: Path, hidden: list[int], first: int | None
) -> None:
    made = DataTable(tmp_path / "t", LATE, features=("deletionVectors",))
    rows = pa.table({"k": [1, 2, 3], "late": [None, "y", None]})
    vector = render_descriptor(build_inline_descriptor(hidden))
    made.add("f0", rows, stats='{"numRecords":3}', deletionVector=vector)
    place = made.write()
    if first is not None:
        assert f"at position {first} of the file" in stopped(place, tmp_path, purge=True)
        return
    assert optimize(place, tmp_path, purge=True).status == "completed"
    found = explorer.read_rows(explorer.open_table(place).snapshot()).to_pydict()
    assert found == {"k": [2], "late": ["y"]}


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (field("p", "string", False), None, "holds null"),
        (
            field("p", "string", True, **{CHARACTER_TYPE_KEY: "char(1)"}),
            "ab",
            "holds text that is longer than char(1)",
        ),
    ],
    ids=["null", "too long"],
)
def test_partition_value_that_breaks_the_schema_refuses_the_plan(
    tmp_path: Path, column: dict[str, Any], value: str | None, told: str
) -> None:
    made = DataTable(tmp_path / "t", struct(field("k", "long"), column), partitionColumns=["p"])
    for number in range(2):
        made.add(f"f{number}", pa.table({"k": [number]}), partitionValues={"p": value})
    (refusal,) = plan_optimize(explorer.open_table(made.write())).refusals
    assert f"The data file f0 {told} in the column `p`" in refusal.message
    assert "at position 0 of the file" in refusal.message


def test_null_in_a_renamed_column_is_told_by_its_logical_name(tmp_path: Path) -> None:
    meta = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    inner = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}
    schema = struct(field("s", struct(field("x y", "long", False, **inner)), True, **meta))
    made = DataTable(
        tmp_path / "t",
        schema,
        features=("columnMapping",),
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
    )
    for number in range(2):
        values = [{"col-2": 1}, None, {"col-2": None}]
        made.add(f"f{number}", pa.table({"col-1": pa.array(values)}))
    text = stopped(made.write(), tmp_path)
    assert "holds null in the column `s.`x y``" in text
    assert "at position 2 of the file" in text


def test_text_longer_than_its_column_stops_a_rewrite_and_shorter_text_stays_as_it_is(
    tmp_path: Path,
) -> None:
    schema = struct(field("c", "string", True, **{CHARACTER_TYPE_KEY: "char(3)"}))
    for name, values in (("good", ["a", "abc"]), ("bad", ["a", "abcd"])):
        made = DataTable(tmp_path / name, schema)
        made.add("f0", pa.table({"c": values}))
        made.add("f1", pa.table({"c": values[:1]}))
        place = made.write()
        if name == "bad":
            text = stopped(place, tmp_path)
            assert "text that is longer than char(3) in the column `c`" in text
            assert "at position 1 of the file" in text
            continue
        assert optimize(place, tmp_path).status == "completed"
        found = explorer.read_rows(explorer.open_table(place).snapshot()).to_pydict()
        assert sorted(found["c"]) == ["a", "a", "abc"]
