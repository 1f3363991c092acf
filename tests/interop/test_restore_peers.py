"""Restoring and setting properties, beside delta-spark doing the same to a copy."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from tests.corpus import TABLES
from tests.interop.maintained import Readers, carry_out, in_each_others_words, writable
from tests.interop.reading import Case, Refused, place_case

_RESTORED = [
    ("spark44-cdf-all-operations", 3),
    ("spark44-row-tracking", 2),
    ("spark44-in-commit-timestamps-later", 6),
    ("spark44-mapping-id-mode", 2),
    ("spark44-dv-random-prefix", 1),
    ("spark44-clustering", 2),
    ("spark44-type-widening", 3),
]
_SAME = (
    "files",
    "rows",
    "row ids",
    "schema",
    "protocol",
    "features",
    "clustering",
    "transactions",
    "changes",
    "metadata",
)


def place(name: str, scratch: Path) -> Case:
    """A copy of a table of the corpus."""
    (expected,) = (table for table in TABLES if table["name"] == name)
    scratch.mkdir()
    case = place_case(expected, scratch)
    writable(case.place)
    return replace(case, expected={**expected, "history": [], "change_feed": None})


def at_newest(case: Case, *, with_changes: bool) -> Case:
    """The same, to be asked for the changes of the newest version."""
    latest = explorer.open_table(case.place).latest_version()
    feed = {"from_version": latest, "to_version": latest} if with_changes else None
    return replace(case, expected={**case.expected, "change_feed": feed})


def different(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """What each reader says otherwise of the two tables."""
    return {
        f"{reader}: {fact}": (told[fact], theirs[reader].get(fact))
        for reader, told in ours.items()
        for fact in _SAME
        if fact in told
        and told[fact] != theirs[reader].get(fact)
        and not (isinstance(told[fact], Refused) and isinstance(theirs[reader][fact], Refused))
    }


@pytest.mark.sampled(one_in=7)
@pytest.mark.spark
@pytest.mark.parametrize(("name", "version"), _RESTORED, ids=[name for name, _ in _RESTORED])
def test_restored_table_is_the_one_that_delta_spark_restores(
    name: str, version: int, spark: SparkSession, tmp_path: Path
) -> None:
    ours, theirs = place(name, tmp_path / "ours"), place(name, tmp_path / "theirs")
    at_version = tmp_path / "before"
    shutil.copytree(ours.place, at_version)
    plan = maintenance.plan_restore(explorer.open_table(ours.place), version)
    receipt = carry_out(plan, tmp_path / "state")
    assert receipt.status == "completed", receipt.problem
    spark.sql(f"restore table delta.`{theirs.place}` to version as of {version}")

    settings = explorer.open_table(ours.place).snapshot().metadata.configuration
    feed = settings.get("delta.enableChangeDataFeed") == "true"
    readers = Readers(spark=spark)
    found = readers.read(at_newest(ours, with_changes=feed))
    assert found["ours"]["opening"] == found["delta-spark"]["opening"]
    assert in_each_others_words(found) == {}
    assert different(found, readers.read(at_newest(theirs, with_changes=feed))) == {}
    then = explorer.read_rows(explorer.open_table(at_version).snapshot(version=version))
    now = explorer.read_rows(explorer.open_table(ours.place).snapshot())
    assert sorted(map(str, now.to_pylist())) == sorted(map(str, then.to_pylist()))


@pytest.mark.spark
def test_properties_are_set_and_unset_as_delta_spark_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    name = "spark44-row-tracking"
    ours, theirs = place(name, tmp_path / "ours"), place(name, tmp_path / "theirs")
    state = tmp_path / "state"
    new = {"delta.deletedFileRetentionDuration": "interval 9 days", "mine": "ä'\"1"}
    plan = maintenance.plan_set_properties(explorer.open_table(ours.place), new)
    assert carry_out(plan, state).status == "completed"
    listed = ", ".join(f"'{key}'='{value}'".replace("ä'", "ä\\'") for key, value in new.items())
    spark.sql(f"alter table delta.`{theirs.place}` set tblproperties ({listed})")
    readers = Readers(spark=spark)
    assert different(readers.read(ours), readers.read(theirs)) == {}
    plan = maintenance.plan_set_properties(explorer.open_table(ours.place), unset=["mine"])
    assert carry_out(plan, state).status == "completed"
    spark.sql(f"alter table delta.`{theirs.place}` unset tblproperties ('mine')")
    found = readers.read(ours)
    assert "mine" not in found["delta-spark"]["metadata"]["properties"]
    assert different(found, readers.read(theirs)) == {}
