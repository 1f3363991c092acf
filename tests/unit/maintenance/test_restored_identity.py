"""Restore lets no identity column give a number out twice (spec: Identity Columns)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.maintenance import Receipt, execute, plan_restore
from tests.tables import metadata
from tests.unit.maintenance.lake import Lake, approve


def restored(lake: Lake) -> Receipt:
    return lake.execute(plan_restore(lake.table, 0, clock=lake.clock))


def identity_schema(last: int | None, step: int = 1, **mapped: Any) -> str:
    """One identity column; `last` is the last number given out, None before the first."""
    metadata = {
        "delta.identity.start": step,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": False,
    }
    if last is not None:
        metadata["delta.identity.highWaterMark"] = last
    name = mapped.pop("name", "id")
    if mapped:
        metadata |= {f"delta.columnMapping.{key}": value for key, value in mapped.items()}
    field = {"name": name, "type": "long", "nullable": False, "metadata": metadata}
    return json.dumps({"type": "struct", "fields": [field]})


@pytest.mark.rule("column-identity-high-water-mark", "column-identity-new-unique")
@pytest.mark.parametrize(
    ("step", "then", "now", "kept"),
    [(1, 43, 44, 44), (1, None, 44, 44), (-1, -43, -44, -44), (-1, None, -44, -44), (1, 7, 7, 7)],
)
@pytest.mark.rule("column-identity-high-water-mark")
def test_numbers_that_were_given_out_are_not_given_out_again(
    tmp_path: Path, step: int, then: int | None, now: int, kept: int
) -> None:
    lake = Lake(tmp_path)
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 6}}
    first, second = (metadata(schemaString=identity_schema(last, step)) for last in (then, now))
    lake.commit(0, [protocol, first, lake.add("a")], age_days=9)
    lake.commit(1, [second, lake.add("b")], age_days=5)
    receipt = restored(lake)
    assert receipt.status == "completed", receipt.problem
    (field,) = lake.table.snapshot().schema.fields
    assert field.metadata["delta.identity.highWaterMark"] == kept


def test_column_that_was_renamed_since_keeps_the_numbers_that_it_gave_out(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 6}}
    mapped = {"id": 1, "physicalName": "col-1"}
    conf = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    first = metadata(schemaString=identity_schema(None, **mapped), configuration=conf)
    renamed = identity_schema(44, **mapped, name="number")
    lake.commit(0, [protocol, first], age_days=9)
    second = metadata(schemaString=renamed, configuration=conf)
    lake.commit(1, [second, lake.add("b")], age_days=5)
    receipt = restored(lake)
    assert receipt.status == "completed", receipt.problem
    (field,) = lake.table.snapshot().schema.fields
    assert (field.name, field.metadata["delta.identity.highWaterMark"]) == ("id", 44)


@pytest.mark.parametrize("more", [{}, {"metadata": None}], ids=["absent", "null"])
def test_second_column_of_that_name_without_metadata_refuses_the_plan(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    lake = Lake(tmp_path)
    mapped = {"id": 1, "physicalName": "col-1"}
    conf = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    then, now = (json.loads(identity_schema(last, **mapped)) for last in (None, 44))
    for schema in (then, now):
        schema["fields"].append({"name": "id", "type": "long", "nullable": True, **more})
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 6}}
    for version, schema in enumerate((then, now)):
        described = metadata(schemaString=json.dumps(schema), configuration=conf)
        head = [] if version else [protocol]
        lake.commit(version, [*head, described], age_days=9 - version)
    plan = plan_restore(lake.table, 0, clock=lake.clock)
    (refusal,) = plan.refusals
    assert "2 columns of the table are called `id`" in refusal.message


def test_real_table_goes_back_to_before_its_first_row(corpus: Path, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    shutil.copytree(corpus / "tables" / "spark44-columns-with-rules", place)
    # its last commit forbids to remove rows
    (place / "_delta_log" / f"{7:020}.json").unlink()
    (place / "_delta_log" / f"{7:020}.crc").unlink()
    table = explorer.open_table(place)
    plan = plan_restore(table, 1)
    receipt = execute(plan, approve(plan), state_dir=tmp_path / "state")
    assert receipt.status == "completed", receipt.problem
    after = table.snapshot()
    marks = [field.metadata.get("delta.identity.highWaterMark") for field in after.schema.fields]
    assert marks == [550, -79, None, None, None, None]
    assert after.num_files == 0
