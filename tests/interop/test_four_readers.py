"""After each operation that changes a table's log or files, all four readers say of it what we
say, and nothing but what the operation is for has changed.

`test_maintenance_peers.py` does the same for checkpoints, log compaction, vacuum and cleanup.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from explorer.maintenance import Plan
from tests.corpus import TABLES
from tests.interop.maintained import (
    Readers,
    carry_out,
    changed_facts,
    in_each_others_words,
    writable,
    write_tracked,
)
from tests.interop.reading import Case, Refused, place_case

pytestmark = pytest.mark.spark

TRACKED = "written by delta-spark"
_CORPUS = ("spark44-columns-with-rules", "spark44-iceberg-compat-v2")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """`prepare` damages the place first where there must be something to repair; `changes` are
    the facts that it may change."""

    plan: Callable[[explorer.Table], Plan]
    prepare: Callable[[Path], None] = lambda _: None
    changes: frozenset[str] = frozenset()


def _lose_hint(place: Path) -> None:
    (place / "_delta_log" / "_last_checkpoint").write_text('{"version":9999,"size":1}')


def _tear_checkpoint(place: Path) -> None:
    table = explorer.open_table(place)
    (files,) = table.listing().checkpoints[-1:]
    path = place / "_delta_log" / files.names[0]
    path.write_bytes(path.read_bytes()[:-20])


def _lose_file(place: Path) -> None:
    paths = explorer.open_table(place).snapshot().files(["path"])["path"].to_pylist()
    (place / unquote(min(paths))).unlink()


def _lose_statistics(place: Path) -> None:
    """Of the files of the newest commit that adds some: an engine without statistics."""
    for commit in sorted((place / "_delta_log").glob("*.json"), reverse=True):
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        adds = [line["add"] for line in lines if "add" in line]
        if not commit.stem.isdigit() or not adds:
            continue
        for add in adds:
            add.pop("stats", None)
        told = commit.stat()
        commit.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        os.utime(commit, (told.st_atime, told.st_mtime))
        commit.with_suffix(".crc").unlink(missing_ok=True)
        (place / "_delta_log" / f".{commit.name}.crc").unlink(missing_ok=True)
        return


def _always(table: explorer.Table) -> str:
    """A condition that each row meets."""
    name = table.snapshot().schema.fields[0].name
    return f"`{name}` IS NULL OR `{name}` > -1000000"


_PROTOCOL = frozenset({"protocol", "features"})
_CONSTRAINT = "some_of_it"

OPERATIONS: dict[str, Operation] = {
    "repair statistics": Operation(
        plan=lambda table: maintenance.plan_repair(table, "statistics"), prepare=_lose_statistics
    ),
    "checkpoint": Operation(plan=maintenance.plan_checkpoint),
    "repair hint": Operation(
        plan=lambda table: maintenance.plan_repair(table, "hint"), prepare=_lose_hint
    ),
    "repair checkpoint": Operation(
        plan=lambda table: maintenance.plan_repair(table, "checkpoint"), prepare=_tear_checkpoint
    ),
    "set": Operation(
        plan=lambda table: maintenance.plan_set_properties(table, set={"note.of.mine": "'x' ä"})
    ),
    "add constraint": Operation(
        plan=lambda table: maintenance.plan_add_constraint(table, _CONSTRAINT, _always(table)),
        changes=_PROTOCOL,
    ),
    "drop constraint": Operation(
        plan=lambda table: maintenance.plan_drop_constraint(table, _CONSTRAINT)
    ),
    "upgrade": Operation(
        plan=lambda table: maintenance.plan_upgrade(table, features=["v2Checkpoint"]),
        changes=_PROTOCOL,
    ),
    "optimize": Operation(plan=maintenance.plan_optimize),
    "drop feature": Operation(
        plan=lambda table: maintenance.plan_drop_feature(table, "v2Checkpoint"),
        changes=_PROTOCOL,
    ),
    "restore": Operation(
        plan=lambda table: maintenance.plan_restore(table, table.latest_version() - 1),
        changes=_PROTOCOL,
    ),
    "repair files": Operation(
        plan=lambda table: maintenance.plan_repair(table, "files"),
        prepare=_lose_file,
        changes=frozenset({"rows", "row ids", "older rows", "through the pipeline"}),
    ),
}
"""In an order in which each finds something to do."""

REFUSED: dict[str, set[str]] = {
    "spark44-iceberg-compat-v2": set(),
    # rows may only come
    "spark44-columns-with-rules": {"repair files"},
    TRACKED: set(),
}
"""What is refused, by table."""


def _place(name: str, spark: SparkSession, scratch: Path) -> Case:
    if name == TRACKED:
        write_tracked(spark, scratch / "table")
        case = Case(place=scratch / "table", expected={"name": name, "num_rows_live": None})
    else:
        (expected,) = (table for table in TABLES if table["name"] == name)
        case = place_case(expected, scratch)
        writable(case.place)
    latest = explorer.open_table(case.place).latest_version()
    history = [{"version": version} for version in range(latest + 1)]
    # versions and changes before are looked at where the operations cannot touch them
    return replace(case, expected={**case.expected, "history": history, "change_feed": None})


def _deltalake_agrees(found: dict[str, Any]) -> bool:
    told = found["deltalake"].get("rows")
    refuses = isinstance(told, Refused) or ("opening" in found["deltalake"] and told is None)
    return refuses or told == found["ours"]["rows"]


@pytest.mark.sampled(one_in=12)
@pytest.mark.parametrize("name", [TRACKED, *_CORPUS])
def test_four_readers_say_the_same_after_each_operation(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    case, readers = _place(name, spark, tmp_path), Readers(spark=spark)
    before = readers.read(case)
    assert in_each_others_words(before) == {}
    agreed = _deltalake_agrees(before)
    refused = set()
    for operation, what in OPERATIONS.items():
        what.prepare(case.place)
        plan = what.plan(explorer.open_table(case.place))
        if plan.refusals:
            refused.add(operation)
            continue
        if not plan.steps:
            assert operation == "optimize", (operation, plan.summary)
            continue
        receipt = carry_out(plan, tmp_path / "state", **_session(plan, spark))
        assert receipt.status == "completed", (operation, receipt.problem)
        after = readers.read(case)
        assert in_each_others_words(after) == {}, operation
        assert _deltalake_agrees(after) == agreed, operation
        kept = {
            reader: {fact: told for fact, told in facts.items() if fact not in what.changes}
            for reader, facts in before.items()
        }
        assert changed_facts(kept, after) == {}, operation
        before = after
    assert refused == REFUSED[name]


def _session(plan: Plan, spark: SparkSession) -> dict[str, Any]:
    return {"spark": spark} if plan.operation in {"optimize", "add-constraint", "repair"} else {}
