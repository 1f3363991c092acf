"""CHECK constraints, added and dropped by us and by delta-spark: both leave the same protocol
and the same properties, and delta-spark keeps to what we set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from explorer.errors import InvalidArgumentError
from explorer.progress import Progress
from explorer.scan.sql._sql_functions import (
    ALLOWED_FUNCTIONS,
    RANDOM_FUNCTIONS,
    TABLE_FUNCTIONS,
)
from tests.interop.twins import (
    REFUSED,
    agrees,
    asked,
    build_twins,
    carry_out,
    done,
    last_commit,
    make,
    sql,
)

pytestmark = pytest.mark.spark


@pytest.mark.sampled(one_in=4)
@pytest.mark.rule("column-check-add-validates", "column-check-true-only", "column-check-new-rows")
@pytest.mark.parametrize("protocol", [(1, 2), (1, 4), (2, 5), (3, 7)], ids=str)
def test_constraint_is_the_same_as_that_of_the_reference_and_kept_by_it(
    spark: SparkSession, tmp_path: Path, protocol: tuple[int, int]
) -> None:
    ours, theirs = build_twins(spark, tmp_path, reader=protocol[0], writer=protocol[1])
    text = "amount >= 0 and part in ( 'a' , 'b' )"  # as the reference writes it
    plan = maintenance.plan_add_constraint(explorer.open_table(ours), "Fine", text)
    done(plan, tmp_path, spark=spark)
    sql(spark, theirs, f"alter table T add constraint Fine check ({text})")
    assert asked(ours) == asked(theirs)
    assert last_commit(ours)["operation"] == last_commit(theirs)["operation"]
    assert last_commit(ours)["operationParameters"] == last_commit(theirs)["operationParameters"]
    agrees(spark, ours)
    for broken in ("-1D", "null"):
        with pytest.raises(REFUSED, match=r"(?i)constraint"):
            sql(spark, ours, f"insert into T select 99, 'a', {broken}, null")
    sql(spark, ours, "insert into T select 99, 'a', 1D, null")
    agrees(spark, ours)

    done(maintenance.plan_drop_constraint(explorer.open_table(ours), "fine"), tmp_path)
    sql(spark, theirs, "alter table T drop constraint fine")
    assert asked(ours) == asked(theirs)
    sql(spark, ours, "insert into T select 100, 'a', -1D, null")
    agrees(spark, ours)


@pytest.mark.sampled(one_in=3)
@pytest.mark.rule("column-check-add-validates", "column-check-true-only")
@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [("amount > 0", 2, "amount = 0.0"), ("id < 19", 1, "id = 19"), ("part = null", 20, "part = '")],
)
def test_rows_that_break_it_are_counted_and_refuse_the_constraint(
    spark: SparkSession, tmp_path: Path, text: str, number: int, shown: str
) -> None:
    place = make(spark, tmp_path / "table")
    table = explorer.open_table(place)
    before = asked(place)
    looked = maintenance.plan_add_constraint(table, "fine", text, spark=spark)
    assert [found.guard for found in looked.refusals] == ["rows"]
    assert f"{number} row" in looked.refusals[0].message
    receipt = carry_out(maintenance.plan_add_constraint(table, "fine", text), tmp_path, spark=spark)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert f"{number} row" in receipt.problem.problem
    assert shown in receipt.problem.reason
    assert asked(place) == before
    assert table.latest_version() == 2
    with pytest.raises(REFUSED):
        sql(spark, place, f"alter table T add constraint fine check ({text})")


@pytest.mark.rule("column-check-boolean")
def test_expression_that_is_no_condition_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = explorer.open_table(make(spark, tmp_path / "table"))
    with pytest.raises(InvalidArgumentError, match="not a condition"):
        maintenance.plan_add_constraint(table, "fine", "id + 1", spark=spark)
    receipt = carry_out(maintenance.plan_add_constraint(table, "fine", "id + 1"), tmp_path)
    assert receipt.status == "failed"
    assert table.latest_version() == 2


@pytest.mark.turns(one_in=2)
def test_constraint_over_mapped_columns_and_deletion_vectors_sees_live_rows_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = make(
        spark,
        tmp_path / "table",
        reader=3,
        writer=7,
        **{"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"},
    )
    sql(spark, place, "alter table T rename column amount to `the amount`")
    sql(spark, place, "delete from T where `the amount` = 0")
    plan = maintenance.plan_add_constraint(
        explorer.open_table(place), "fine", "`the amount` > 0 and place.city = 'x'"
    )
    done(plan, tmp_path, spark=spark)
    with pytest.raises(REFUSED, match=r"(?i)constraint"):
        sql(
            spark,
            place,
            "insert into T select 99, 'a', 0D, named_struct('city', 'x', 'tags', null)",
        )
    agrees(spark, place)


def appending_once(place: Path, label: str, amount: float) -> Callable[[Progress], None]:
    """Another writer that appends a row when the step with that reason begins."""
    left = [amount]

    def look_on(progress: Progress) -> None:
        if progress.label.startswith(label) and left:
            rows = pa.table({"id": [77], "part": ["a"], "amount": [left.pop()]})
            write_deltalake(place, rows, mode="append", schema_mode="merge")

    return look_on


@pytest.mark.turns(one_in=2)
def test_rows_that_came_after_they_were_looked_at_stop_the_commit_and_are_looked_at_anew(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = make(spark, tmp_path / "table")
    plan = maintenance.plan_add_constraint(explorer.open_table(place), "fine", "amount >= 0")
    another = appending_once(place, "Every later row", -5.0)
    receipt = carry_out(plan, tmp_path, spark=spark, progress=another)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "commit_conflict"
    # the same plan again looks at the row that came
    again = carry_out(plan, tmp_path, spark=spark)
    assert again.status == "refused"
    assert again.problem is not None
    assert "1 row" in again.problem.problem
    sql(spark, place, "delete from T where amount < 0")
    assert carry_out(plan, tmp_path, spark=spark).status == "completed"
    assert asked(place)["properties"] == {"delta.constraints.fine": "amount >= 0"}


def put_to_sleep(place: Path, constraint: str, generated: dict[str, str]) -> None:
    """Metadata with rules that the table's protocol (1, 2) does not support, as another writer
    commits them."""
    log = place / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    (body,) = (line["metaData"] for line in first if "metaData" in line)
    schema = json.loads(body["schemaString"])
    for field in schema["fields"]:
        if field["name"] in generated:
            field["metadata"]["delta.generationExpression"] = generated[field["name"]]
    body["schemaString"] = json.dumps(schema)
    body["configuration"] |= {"delta.constraints.low": constraint}
    (log / f"{3:020}.json").write_text(json.dumps({"metaData": body}) + "\n")


@pytest.mark.rule("column-check-add-validates")
@pytest.mark.parametrize(
    ("constraint", "generated", "says"),
    [
        ("amount <= 12", "(id % 10) * 1.5D", "2 rows of the table break the condition delta.c"),
        ("amount <= 99", "id * 1.5D", "10 rows of the table break the condition amount delta.gen"),
    ],
    ids=["constraint", "generated column"],
)
def test_rows_that_break_a_rule_stop_the_upgrade_that_would_wake_it(
    spark: SparkSession, tmp_path: Path, constraint: str, generated: str, says: str
) -> None:
    place = make(spark, tmp_path / "table")
    put_to_sleep(place, constraint, {"amount": generated})
    table, before = explorer.open_table(place), asked(place)
    plan = maintenance.plan_upgrade(table, writer_version=4)
    receipt = carry_out(plan, tmp_path, spark=spark)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.problem.startswith(says)
    assert asked(place) == before
    assert table.latest_version() == 3


@pytest.mark.rule("column-check-add-validates", "column-generated-enforce")
def test_rules_that_an_upgrade_wakes_are_kept_by_the_reference(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = make(spark, tmp_path / "table")
    put_to_sleep(place, "amount <= 99", {"part": "if(id % 2 = 0, 'a', 'b')"})
    sql(spark, place, "delete from T where id = 3")
    plan = maintenance.plan_upgrade(explorer.open_table(place), writer_version=4)
    done(plan, tmp_path, spark=spark)
    assert asked(place)["versions"] == (1, 4)
    agrees(spark, place)
    for broken in ("98, 'a', 100D", "98, 'b', 1D"):
        with pytest.raises(REFUSED, match=r"(?i)constraint"):
            sql(spark, place, f"insert into T select {broken}, null")
    sql(spark, place, "insert into T select 98, 'a', 1D, null")
    agrees(spark, place)


def test_every_function_that_is_let_through_is_one_of_sparks_own(spark: SparkSession) -> None:
    known = {row[0] for row in spark.sql("show system functions").collect()}
    # of these Spark has no function to show
    syntax = {"cast", "try_cast", "timestampadd", "timestampdiff"}
    allowed = ALLOWED_FUNCTIONS | TABLE_FUNCTIONS | RANDOM_FUNCTIONS
    assert allowed - known - syntax == set()
