"""What an optimize writes of variants, and what it leaves to others."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.maintenance import Approval, execute, plan_optimize
from tests.data_tables import DataTable, field, struct

# {} and {"a":1}, null between them (Parquet Variant Binary Encoding)
EMPTY = {"metadata": b"\x01\x00\x00", "value": b"\x02\x00\x00"}
WITH_A = {"metadata": b"\x01\x01\x00\x01a", "value": b"\x02\x01\x00\x00\x02\x0c\x01"}
STORED = pa.struct(
    [pa.field("metadata", pa.binary(), nullable=False), ("value", pa.binary())],
)


def with_variants(place: Path, *features: str) -> Path:
    table = DataTable(
        place,
        struct(field("id", "long"), field("v", "variant")),
        features=("variantType", *features),
    )
    for at in range(2):
        rows = {
            "id": pa.array([at, at + 10, at + 20], pa.int64()),
            "v": pa.array([EMPTY, None, WITH_A], STORED),
        }
        table.add(f"{at}.parquet", pa.table(rows))
    return table.write()


@pytest.mark.rule("newer-variant-struct", "newer-variant-stats")
def test_variants_are_written_as_structs_of_binaries_and_counted_alone(tmp_path: Path) -> None:
    place = with_variants(tmp_path / "t")
    before = explorer.read_rows(explorer.open_table(place).snapshot()).to_pylist()
    assert {str(row["v"]) for row in before} == {"{}", "None", '{"a":1}'}
    plan = plan_optimize(explorer.open_table(place))
    receipt = execute(plan, Approval(plan.digest), state_dir=tmp_path / "state")
    assert receipt.status == "completed", receipt.problem
    snapshot = explorer.open_table(place).snapshot()
    after = explorer.read_rows(snapshot).to_pylist()
    assert sorted(map(str, after)) == sorted(map(str, before))
    (new,) = snapshot.files(["path", "stats"]).to_pylist()
    leaves = pq.ParquetFile(place / new["path"]).schema
    found = {leaves.column(at).path: leaves.column(at).physical_type for at in range(len(leaves))}
    assert found == {"id": "INT64", "v.metadata": "BYTE_ARRAY", "v.value": "BYTE_ARRAY"}
    said = json.loads(new["stats"])
    assert said["nullCount"] == {"id": 0, "v": 2}
    assert {*said["minValues"], *said["maxValues"]} == {"id"}


@pytest.mark.rule("newer-variant-struct")
@pytest.mark.parametrize("name", ["variantShredding", "variantShredding-preview"])
def test_variants_that_may_be_shredded_are_left_to_others(tmp_path: Path, name: str) -> None:
    plan = plan_optimize(explorer.open_table(with_variants(tmp_path / "t", name)))
    (refusal,) = plan.refusals
    assert refusal.guard == "data files"
    assert "shredded variants are not written here" in refusal.message
