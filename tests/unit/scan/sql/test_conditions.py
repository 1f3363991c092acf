"""Conditions beyond the closed list: what becomes of them in a plan, and who evaluates them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.progress import Watch
from explorer.protocol.schema import DecimalType, StructField, StructType
from explorer.scan.predicate.parse import parse_predicate
from explorer.scan.predicate.predicate import Comparison, Constant, SqlCondition
from explorer.scan.sql.conditions import parse_scan_predicate
from explorer.table.snapshot import Snapshot
from tests.data_tables import DataTable, field, struct

SCHEMA = struct(
    field("id", "long"),
    field("day", "date"),
    field("region", "string"),
    field("at", "timestamp"),
    field("wall", "timestamp_ntz"),
)
REGIONS = ["emea", "apac", "latam", None]


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    table = DataTable(
        tmp_path / "t",
        SCHEMA,
        features=("timestampNtz",),
        partitionColumns=["day", "region"],
    )
    for at, region in enumerate(REGIONS):
        values = {"day": f"2026-01-0{at + 1}", "region": region}
        stats = f'{{"numRecords":1,"minValues":{{"id":{at}}},"maxValues":{{"id":{at}}}}}'
        table.add(f"{at}", None, partitionValues=values, stats=stats)
    return explorer.open_table(table.write()).snapshot()


class Evaluator:
    """Says of the rows that it is asked about whether their region is `true_for`."""

    def __init__(self, *true_for: str) -> None:
        self.true_for = true_for
        self.asked: list[tuple[str, list[dict[str, object]]]] = []

    def __call__(self, condition: SqlCondition, rows: pa.Table, _: Watch) -> Sequence[bool | None]:
        self.asked.append((condition.text, rows.to_pylist()))
        return [
            None if region is None else region in self.true_for
            for region in rows.column("region").to_pylist()
        ]


def kept(snapshot: Snapshot, where: str, **options: object) -> list[str]:
    return explorer.plan_scan(snapshot, where, **options).kept.column("path").to_pylist()


@pytest.mark.parametrize(
    ("where", "paths"),
    [
        ("region LIKE '%a%'", ["0", "1", "2"]),
        ("region LIKE '%ea'", ["0"]),
        ("region LIKE '_pa_'", ["1"]),
        ("region NOT LIKE '%a%'", []),
        ("region NOT LIKE '%ea'", ["1", "2"]),
        ("region LIKE '%ea' OR region IS NULL", ["0", "3"]),
        ("NOT (region LIKE 'l%m')", ["0", "1"]),
    ],
)
def test_patterns_are_held_against_each_partition_value(
    snapshot: Snapshot, where: str, paths: list[str]
) -> None:
    assert kept(snapshot, where) == paths


def test_other_conditions_are_asked_once_for_each_partition_and_rule_out_files(
    snapshot: Snapshot,
) -> None:
    spark = Evaluator("emea", "latam")
    plan = explorer.plan_scan(snapshot, "id < 2 AND upper(region) = 'X'", evaluate=spark)
    assert plan.kept.column("path").to_pylist() == ["0"]
    assert plan.problems == ()
    ((text, rows),) = spark.asked
    assert text == "upper(region) = 'X'"
    assert sorted(str(row["region"]) for row in rows) == sorted(map(str, REGIONS))
    assert (
        "upper(region) = 'X' cannot be true: region is 'apac'"
        in plan.explain("1")["reason"].to_pylist()
    )


def test_the_answer_for_null_is_not_true_and_rules_the_file_out(snapshot: Snapshot) -> None:
    assert kept(snapshot, "length(region) > 0", evaluate=Evaluator("apac")) == ["1"]


def test_where_nothing_can_evaluate_it_every_file_may_match_and_the_plan_says_so(
    snapshot: Snapshot,
) -> None:
    def missing(*_: object) -> list[bool]:
        raise UnsupportedError("There is no Spark.", reason="Why.", remedy="Install it.")

    for evaluate in (None, missing):
        plan = explorer.plan_scan(snapshot, "upper(region) = 'X' AND id > 1", evaluate=evaluate)
        assert plan.kept.column("path").to_pylist() == ["2", "3"]
        (problem,) = plan.problems
        assert "upper(region) = 'X' was not evaluated" in problem.problem
        (reason,) = plan.explain("2")["reason"].to_pylist()
        assert reason.startswith("may match, upper(region) = 'X' was not evaluated: ")
    assert "There is no Spark." in problem.reason


def test_a_condition_on_other_columns_is_not_asked_and_says_why(snapshot: Snapshot) -> None:
    spark = Evaluator()
    plan = explorer.plan_scan(snapshot, "sqrt(id) > 1 OR upper(region) = 'X'", evaluate=spark)
    assert plan.num_kept == 4
    assert spark.asked == []
    assert "not partitioned by id" in plan.problems[0].reason


@pytest.mark.parametrize(
    "where",
    [
        "reflect('java.lang.System', 'getProperty', 'user.home') = region",
        "region = (SELECT 1)",
        "id > 1 AND my_function(region) = 'x'",
        "rand() > 0.5",
        "upper(region) = 'x' /* AND */",
        "to_date(region) = 'today'",
    ],
)
def test_what_may_not_be_given_to_spark_is_refused_before_anyone_is_asked(
    snapshot: Snapshot, where: str
) -> None:
    spark = Evaluator()
    with pytest.raises(InvalidArgumentError):
        explorer.plan_scan(snapshot, where, evaluate=spark)
    assert spark.asked == []


@pytest.mark.parametrize(
    ("where", "parts"),
    [
        ("upper(region) = 'A' AND id > 1", 2),
        ("(upper(region) = 'A' AND (id > 1 and id < 9))", 3),
        ("upper(region) = 'A' AND id BETWEEN 1 AND 5 AND day = '2026-01-01'", 4),
        ("upper(region) BETWEEN 'A' AND 'B'", 1),
        ("upper(region) = 'A' AND id = 1 OR id = 2", 1),
        ("CASE WHEN id > 1 AND id < 5 THEN true ELSE false END AND id = 2", 2),
        ("(upper(region) = 'A') AND (lower(region) = 'a')", 2),
        ("upper(region) = 'A AND B'", 1),
    ],
)
def test_only_what_and_joins_at_the_top_is_told_apart(
    snapshot: Snapshot, where: str, parts: int
) -> None:
    predicate = parse_scan_predicate(where, snapshot.schema)
    assert len(predicate.conjuncts) == parts
    assert all(" ".join(item.text.split()) in where for item in predicate.sql_conditions)


def test_a_predicate_on_rows_has_none_of_them(snapshot: Snapshot) -> None:
    with pytest.raises(InvalidArgumentError, match="not supported"):
        parse_predicate("upper(region) = 'A'", snapshot.schema)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (
            "CAST(at AS DATE) = '2026-01-01'",
            "at >= TIMESTAMP '2026-01-01 00:00:00Z' AND at < TIMESTAMP '2026-01-02 00:00:00Z'",
        ),
        ("'2026-01-01' < CAST(at AS DATE)", "at >= TIMESTAMP '2026-01-02 00:00:00Z'"),
        ("DATE(at) <= DATE '2026-01-01'", "at < TIMESTAMP '2026-01-02 00:00:00Z'"),
        ("to_date(wall) < '2026-01-01'", "wall < TIMESTAMP_NTZ '2026-01-01 00:00:00'"),
        ("CAST(at AS DATE) <= '+300000-01-01'", "at <= TIMESTAMP '+294247-01-10 04:00:54.775807Z'"),
        ("CAST(at AS DATE) = NULL", "at = NULL"),
        ("CAST(at AS DATE) IS NULL", "at IS NULL"),
        (
            "at > '2026-01-01 00:00:00 America/New_York'",
            "at > TIMESTAMP '2026-01-01 05:00:00Z'",
        ),
        (
            "at > TIMESTAMP '2026-07-01 00:00 Europe/Berlin'",
            "at > TIMESTAMP '2026-06-30 22:00:00Z'",
        ),
        ("at > '2026-01-01T00:00:00 PST'", "at > TIMESTAMP '2026-01-01 08:00:00Z'"),
        ("at > '2026-01-01 00:00:00UTC+03:00'", "at > TIMESTAMP '2025-12-31 21:00:00Z'"),
        (
            # Spark says so, too: clocks went by the sun then
            "at > '0001-01-01 00:00:00 America/New_York'",
            "at > TIMESTAMP '0001-01-01 04:56:02Z'",
        ),
        (
            "at > '+12000-07-01 00:00:00 Europe/Berlin'",
            "at > TIMESTAMP '+12000-06-30 22:00:00Z'",
        ),
        # a time that clocks leave out is after the gap, one that they show twice the first
        ("at > '2026-03-29 02:30:00 Europe/Berlin'", "at > TIMESTAMP '2026-03-29 01:30:00Z'"),
        ("at > '2026-10-25 02:30:00 Europe/Berlin'", "at > TIMESTAMP '2026-10-25 00:30:00Z'"),
    ],
)
def test_days_of_times_and_names_of_zones_have_a_meaning(
    snapshot: Snapshot, where: str, text: str
) -> None:
    assert parse_predicate(where, snapshot.schema).text == text


def test_a_zone_that_nobody_knows_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(InvalidArgumentError, match="time zone 'Mars/Base' is not known"):
        parse_predicate("at > '2026-01-01 00:00:00 Mars/Base'", snapshot.schema)


@pytest.mark.parametrize(
    ("cast", "value"),
    [
        ("CAST('2.567' AS DECIMAL(4,1))", "2.6"),
        ("CAST(-2.25 AS DECIMAL(4,1))", "-2.3"),
        ("CAST(2.5 AS DECIMAL)", "3"),
        ("CAST('2.5' AS DECIMAL(4))", "3"),
        ("2.5BD", "2.5"),
    ],
)
def test_a_number_cast_to_a_decimal_has_the_digits_of_its_type(cast: str, value: str) -> None:
    schema = StructType(
        fields=(StructField(name="d", data_type=DecimalType(precision=10, scale=3)),)
    )
    condition = parse_predicate(f"d = {cast}", schema).condition
    assert isinstance(condition, Comparison)
    assert isinstance(condition.right, Constant)
    assert condition.right.value == Decimal(value)


@pytest.mark.parametrize("number", ["12345", "1e999999999", "1_0"])
def test_a_number_that_its_cast_cannot_hold_is_refused(number: str) -> None:
    with pytest.raises(InvalidArgumentError, match=number):
        parse_predicate(f"1 < CAST('{number}' AS DECIMAL(3,1))", StructType())
