"""A commit carries the name of who approved it, as its receipt does, and nobody's unasked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import maintenance
from explorer.maintenance import Approval, Plan
from tests.data_tables import DataTable, field, struct

_SCHEMA = struct(field("id", "long"), field("part", "string"))


def orders(root: Path) -> Path:
    """Six small files in two partitions, one of them without statistics."""
    table = DataTable(root, _SCHEMA, partitionColumns=["part"])
    for number in range(6):
        part = "ab"[number % 2]
        rows = pa.table({"id": pa.array(range(number * 10, number * 10 + 5), pa.int64())})
        said = {"stats": ""} if number == 5 else {}
        table.add(f"part={part}/{number}.parquet", rows, partitionValues={"part": part}, **said)
    return table.write()


def _without_a_file(table: explorer.Table) -> Plan:
    (Path(table.uri.removeprefix("file://")) / "part=a" / "0.parquet").unlink()
    return maintenance.plan_repair(table, "files")


def _with_a_stray(table: explorer.Table) -> Plan:
    place = Path(table.uri.removeprefix("file://")) / "stray.parquet"
    place.write_bytes(b"x")
    os.utime(place, (1_000_000_000, 1_000_000_000))
    return maintenance.plan_vacuum(table)


_PLANS: dict[str, Callable[[explorer.Table], Plan]] = {
    "set": lambda table: maintenance.plan_set_properties(table, {"k": "v"}),
    "optimize": lambda table: maintenance.plan_optimize(table, target_size=250),
    "repair statistics": lambda table: maintenance.plan_repair(table, "statistics"),
    "repair files": _without_a_file,
    "upgrade": lambda table: maintenance.plan_upgrade(table, features=["domainMetadata"]),
    "vacuum": _with_a_stray,
}


def infos(place: Path) -> list[dict[str, Any]]:
    """The `commitInfo` of every commit after the first."""
    found = []
    for log in sorted((place / "_delta_log").glob("*.json"))[1:]:
        lines = map(json.loads, log.read_text().splitlines())
        found.append(next(line["commitInfo"] for line in lines if "commitInfo" in line))
    return found


@pytest.mark.parametrize("by", ["Ada Lovelace", None])
@pytest.mark.parametrize("operation", _PLANS)
def test_commits_carry_the_name_that_the_receipt_has(
    tmp_path: Path, operation: str, by: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "account-of-the-system")
    place = orders(tmp_path / "orders")
    plan = _PLANS[operation](explorer.open_table(place))
    approval = Approval(plan.digest, by=by, table_name=plan.subject.name, reason="a test")
    receipt = maintenance.execute(plan, approval, state_dir=tmp_path / "state")
    assert receipt.status == "completed", receipt.problem
    assert receipt.approved_by == by
    made = infos(place)
    assert made
    assert [info.get("userName") for info in made] == [by] * len(made)
    if by is None:
        assert all("userName" not in info for info in made)
    history = explorer.open_table(place).history()
    assert history.column("user_name").to_pylist()[:-1] == [by] * len(made)
    written = [
        found.read_bytes()
        for folder in (place / "_delta_log", tmp_path / "state")
        for found in folder.rglob("*")
        if found.is_file()
    ]
    assert not any(b"account-of-the-system" in data for data in written)
