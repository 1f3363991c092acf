"""Which files a predicate leaves, by what their statistics promise and what they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import InvalidArgumentError
from explorer.scan.plan import ScanPlan, plan_scan
from tests.tables import PROTOCOL, LogFolder, add, metadata

NAN = "CAST('NaN' AS DOUBLE)"


def schema_of(fields: dict[str, Any]) -> str:
    return json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {}}
                for name, kind in fields.items()
            ],
        }
    )


def plan_of(root: Path, kind: Any, stats: str | None, where: str, **fields: Any) -> ScanPlan:
    """The plan of a table with one column `x` and one file with these statistics."""
    folder = LogFolder(root / "table")
    file = {} if stats is None else {"stats": stats}
    action = metadata(schemaString=schema_of({"x": kind, "p": "string"}), **fields)
    folder.commit(0, [PROTOCOL, action, add("a", **file)])
    return plan_scan(explorer.open_table(folder.root).snapshot(), where)


def stats_of(low: Any, high: Any, nulls: int | None = 0, rows: int = 10) -> str:
    body = {
        "numRecords": rows,
        "minValues": {} if low is None else {"x": low},
        "maxValues": {} if high is None else {"x": high},
        "nullCount": {} if nulls is None else {"x": nulls},
    }
    return json.dumps(body)


LONG = stats_of(1, 9)
FIVE = stats_of(5, 5)
NULLS = stats_of(None, None, 10)
DOUBLE = stats_of(1.0, 3.0)
TIME = stats_of("2024-01-01T00:00:00.000Z", "2024-01-01T10:00:00.123Z")
OFFSET = stats_of("2024-01-01T00:00:00.000-08:00", "2024-01-01T00:00:00.000-08:00")
LOCAL = stats_of("2024-01-01T00:00:00.000", "2024-01-01T10:00:00.123")
OLD = stats_of("1500-01-20", "1500-02-20")

# kind, statistics, predicate, whether the file has to be read
CASES = [
    *(("long", LONG, f"x {test}", True) for test in ("= 5", "> 8", "< 2", ">= 9", "<= 1", "<> 5")),
    *(("long", LONG, f"x {test}", False) for test in ("= 10", "> 9", "< 1", ">= 10", "<= 0")),
    ("long", LONG, "x IN (0, 9)", True),
    ("long", LONG, "x IN (0, 10, NULL)", False),
    ("long", LONG, f"x IN ({', '.join(str(2 * step) for step in range(6, 200))})", False),
    ("long", LONG, f"x IN ({', '.join(str(step) for step in range(200))})", True),
    ("long", LONG, "x NOT IN (5, NULL)", False),
    ("long", LONG, "x BETWEEN 10 AND 20", False),
    ("long", LONG, "x BETWEEN 9 AND 20", True),
    ("long", LONG, "x > 9.5", False),
    ("long", LONG, "x > 8.5", True),
    ("long", LONG, "x > 9e0", False),
    ("long", LONG, "x > 99999999999999999999", False),
    ("long", LONG, "x > 10 OR x < 0", False),
    ("long", LONG, "x > 10 OR x < 2", True),
    ("long", LONG, "NOT (x < 10)", False),
    ("long", LONG, "(x < 10) IS NOT TRUE", False),
    ("long", stats_of(1, 9, 1), "(x < 10) IS NOT TRUE", True),
    ("long", LONG, "(x > 9) IS NULL", False),
    ("long", stats_of(1, 9, 3), "(x > 9) IS NULL", True),
    ("long", LONG, "NULL", False),
    ("long", LONG, "x = NULL", False),
    ("long", LONG, "1 = 2", False),
    ("long", FIVE, "x <> 5", False),
    ("long", FIVE, "NOT (x = 5)", False),
    ("long", FIVE, "x <=> NULL", False),
    ("long", stats_of(5, 5, 1), "x IS DISTINCT FROM 5", True),
    ("long", FIVE, "x IS DISTINCT FROM 5", False),
    # counts of nulls speak at 0 and at every row
    ("long", LONG, "x IS NULL", False),
    ("long", stats_of(1, 9, 3), "x IS NULL", True),
    ("long", stats_of(1, 9, None), "x IS NULL", True),
    ("long", stats_of(1, 9, 3), "x = 5", True),
    ("long", stats_of(1, 9, 3), "x IS NOT NULL", True),
    ("long", NULLS, "x IS NULL", True),
    ("long", NULLS, "x IS NOT NULL", False),
    ("long", NULLS, "x = 5", False),
    ("long", LONG.replace("nullCount", "nullCounts"), "x IS NULL", False),
    # what statistics do not say
    ("long", None, "x = 10", True),
    ("long", "{}", "x = 10", True),
    ("long", stats_of(None, 9), "x = 10", False),
    ("long", stats_of(None, 9), "x = -10", True),
    # NaN is above every number, and a maximum may leave it out
    ("double", DOUBLE, "x > 5", True),
    ("double", DOUBLE, f"x = {NAN}", True),
    ("double", DOUBLE, "NOT (x <= 3)", True),
    ("double", DOUBLE, "x BETWEEN 4 AND 5", False),
    ("double", DOUBLE, "x = 5", False),
    ("double", DOUBLE, "x < 1", False),
    ("double", DOUBLE, "x > 5 AND x < 100", False),
    ("double", stats_of(1.0, "NaN"), "x = 5", True),
    ("double", stats_of(float("nan"), float("nan")), "x = 5", True),
    ("double", stats_of("-Infinity", 1.0), "x = -1e300", True),
    ("double", stats_of(0.0, 0.0), "x = -0.0", True),
    ("double", stats_of(-0.0, -0.0), "x < 0", False),
    ("float", stats_of(3.4, 3.4), "x > 3.4", True),
    ("float", stats_of(3.4, 3.4), "x = 3.4F", True),
    # strings are cut
    ("string", stats_of("abc", "abc"), "x = 'abc'", True),
    ("string", stats_of("abc", "abc"), "x = 'abcd'", True),
    ("string", stats_of("abc", "abc"), "x = 'abd'", False),
    ("string", stats_of("abc", "abc"), "x <> 'abc'", True),
    ("string", stats_of("abc", "abc\ufffd"), "x = 'abc\U0001f600'", True),
    ("string", stats_of("abc", "abc\x7f"), "x = 'abc\x80'", True),
    ("string", stats_of("abc", "abc\U0010ffff"), "x = 'abd'", False),
    ("string", stats_of("b", "d"), "x LIKE 'c%'", True),
    ("string", stats_of("b", "d"), "x LIKE 'c_'", True),
    ("string", stats_of("b", "d"), "x LIKE 'e%'", False),
    ("string", stats_of("b", "d"), "x LIKE 'a_'", False),
    ("string", stats_of("b", "d"), "x LIKE '%a'", True),
    ("string", stats_of("ca", "cb"), "x NOT LIKE 'c%'", False),
    ("string", stats_of("ca", "cb"), "x NOT LIKE 'ca%'", True),
    ("string", stats_of("\uffff", "\uffff"), "x = '\U00010000'", False),
    ("string", stats_of("\uffff", "\U00010000"), "x = '\U00010000'", True),
    # times are cut to milliseconds
    ("timestamp", TIME, "x > '2024-01-01 10:00:00.1235'", True),
    ("timestamp", TIME, "x >= '2024-01-01 10:00:00.125'", False),
    ("timestamp", TIME, "x < '2024-01-01'", False),
    ("timestamp", OFFSET, "x = TIMESTAMP '2024-01-01 08:00:00Z'", True),
    ("timestamp", OFFSET, "x < '2024-01-01 08:00:00'", False),
    ("timestamp", TIME, "x > DATE '2024-01-02'", False),
    ("timestamp_ntz", LOCAL, "x > TIMESTAMP_NTZ '2024-01-01 10:00:00.1235'", True),
    ("timestamp_ntz", LOCAL, "x > TIMESTAMP_NTZ '2024-01-01 10:00:00.125'", False),
    # bounds before 1582 may be told by the old calendar
    ("date", OLD, "x = DATE '1500-01-12'", True),
    ("date", OLD, "x = DATE '1500-03-01'", True),
    ("date", OLD, "x = DATE '1500-04-01'", False),
    ("date", stats_of("2024-01-20", "2024-02-20"), "x = DATE '2024-01-19'", False),
    # a decimal may come from a double
    ("decimal(9,2)", stats_of(1.25, 9.5), "x > 9.50", False),
    ("decimal(9,2)", stats_of(1.25, 9.5), "x > 9.49", True),
    ("decimal(38,10)", stats_of(1.0, 1e10), "x > 10000000000", True),
    ("decimal(38,10)", stats_of(1.0, 1e10), "x > 10000000001", False),
    ("boolean", stats_of(False, False), "x", False),
    ("boolean", stats_of(False, False), "NOT x", True),
    ("boolean", stats_of(False, True), "x", True),
    # no order that statistics could use
    ("binary", stats_of("a", "b"), "x = X'FF'", True),
    ("binary", stats_of(None, None, 0), "x IS NULL", False),
    ({"type": "array", "elementType": "long", "containsNull": True}, NULLS, "x IS NULL", True),
    ({"type": "array", "elementType": "long", "containsNull": True}, NULLS, "x IS NOT NULL", False),
    ("void", None, "x IS NOT NULL", False),
]


@pytest.mark.rule("file-add-stats", "file-add-stats-json-string", "older-003-stats-max-larger")
@pytest.mark.rule("older-003-stats-min-smaller", "stats-max-wide", "stats-min-wide")
@pytest.mark.rule("stats-nullcount-all", "stats-nullcount-other", "stats-nullcount-spelling")
@pytest.mark.rule("stats-nullcount-zero", "stats-string-bounds-cut")
@pytest.mark.rule("stats-timestamp-bounds-milliseconds", "stats-use")
@pytest.mark.parametrize(("kind", "stats", "where", "kept"), CASES)
def test_file_stays_unless_its_statistics_rule_it_out(
    tmp_path: Path, kind: Any, stats: str | None, where: str, kept: bool
) -> None:
    plan = plan_of(tmp_path, kind, stats, where)
    assert (plan.num_kept, plan.num_skipped) == ((1, 0) if kept else (0, 1)), plan.reasons()
    assert plan.problems == ()


BAD = [
    "",
    "[]",
    "{",
    '{"numRecords":"ten"}',
    stats_of("1", 2),
    stats_of(1.0, 2.0),
    stats_of(1, 2**64),
    stats_of(True, True),
    '{"numRecords":1,"minValues":5}',
    '{"maxValues":{"x":1},"maxValues":{"x":9}}',
    '{"maxValues":{"x":1,"x":9}}',
    stats_of(1, 2) + stats_of(3, 4),
    "[" * 100_000,
]


@pytest.mark.parametrize("bad", BAD)
def test_one_bad_value_costs_its_file_the_statistics_and_no_other(tmp_path: Path, bad: str) -> None:
    folder = LogFolder(tmp_path / "table")
    texts = {f"f{number:04}": stats_of(number, number) for number in range(3000)}
    texts["f1234"] = bad
    adds = [add(path, stats=text) for path, text in texts.items()]
    action = metadata(schemaString=schema_of({"x": "long"}))
    folder.commit(0, [PROTOCOL, action, *adds])
    plan = plan_scan(explorer.open_table(folder.root).snapshot(), "x = 77")
    assert sorted(plan.kept.column("path").to_pylist()) == ["f0077", "f1234"]
    assert [problem.problem for problem in plan.problems] == [
        "The statistics of 'f1234' cannot be read."
    ]


@pytest.mark.parametrize(
    "odd",
    [
        ['{"maxValues":{"x":1},"s":"}', '{"}'],
        [stats_of(0, 1) + stats_of(0, 1), " "],
        [" ", stats_of(0, 1) + "\n" + stats_of(0, 1)],
        [stats_of(0, 1) + stats_of(0, 1), '{"s":"}', '{"}'],
    ],
)
def test_statistics_cannot_move_to_another_file(tmp_path: Path, odd: list[str]) -> None:
    folder = LogFolder(tmp_path / "table")
    texts = [*odd, *(stats_of(5, 6) for _ in range(200)), stats_of(0, 1)]
    adds = [add(f"f{number:03}", stats=text) for number, text in enumerate(texts)]
    action = metadata(schemaString=schema_of({"x": "long"}))
    folder.commit(0, [PROTOCOL, action, *adds])
    plan = plan_scan(explorer.open_table(folder.root).snapshot(), "x = 5")
    assert plan.skipped.column("path").to_pylist() == [f"f{len(texts) - 1:03}"]


def test_two_columns_may_be_nan_in_one_row(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    stats = '{"numRecords":2,"minValues":{"x":1,"y":1},"maxValues":{"x":3,"y":3}}'
    schema = schema_of({"x": "double", "y": "double"})
    folder.commit(0, [PROTOCOL, metadata(schemaString=schema), add("a", stats=stats)])
    snapshot = explorer.open_table(folder.root).snapshot()
    assert plan_scan(snapshot, "x > 5 AND y > 5").num_kept == 1
    (row,) = plan_scan(snapshot, "x > 5 AND x < 9").skipped.to_pylist()
    assert row["reason"].startswith("x > 5 AND x < 9 cannot be true: x is between 1 and 3 or NaN")


def test_many_bad_files_are_a_few_problems(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    adds = [add(f"f{number}", stats="?") for number in range(500)]
    folder.commit(0, [PROTOCOL, metadata(schemaString=schema_of({"x": "long"})), *adds])
    plan = plan_scan(explorer.open_table(folder.root).snapshot(), "x = 1")
    assert plan.num_kept == 500
    assert plan.problems[-1].problem == "The statistics of 480 more files cannot be read."
    assert len(plan.problems) == 21


@pytest.mark.rule("mapping-name-log-physical", "partition-empty-is-null")
@pytest.mark.parametrize(
    ("where", "paths"),
    [
        ("day = '2024-01-01'", ["a", "bad"]),
        ("day > DATE '2024-01-01'", ["bad", "late"]),
        ("day IS NULL", ["bad", "empty", "none"]),
        ("day IS NOT NULL AND day < '2024-01-02'", ["a", "bad"]),
        ("day <=> NULL", ["bad", "empty", "none"]),
        ("day <> '2024-01-01'", ["bad", "late"]),
    ],
)
def test_partition_values_are_exact_and_unreadable_ones_stay(
    tmp_path: Path, where: str, paths: list[str]
) -> None:
    values = {"a": "2024-01-01", "bad": "soon", "empty": "", "late": "2024-02-01", "none": None}
    adds = [add(path, partitionValues={"col-1": value}) for path, value in values.items()]
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    schema = json.loads(schema_of({"day": "date"}))
    schema["fields"][0]["metadata"] = mapped
    action = metadata(
        schemaString=json.dumps(schema),
        partitionColumns=["day"],
        configuration={"delta.columnMapping.mode": "name"},
    )
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [{"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, action, *adds])
    plan = plan_scan(explorer.open_table(folder.root).snapshot(), where)
    assert sorted(plan.kept.column("path").to_pylist()) == paths
    assert [problem.kind for problem in plan.problems] == ["log_corrupt"]
    assert {key for row in plan.kept.to_pylist() for key, _ in row["partition_values"]} == {"day"}


@pytest.mark.rule("newer-widening-history")
@pytest.mark.parametrize(("was_float", "kept"), [(True, 1), (False, 0)])
def test_old_floats_of_a_widened_column_are_wider_than_their_digits(
    tmp_path: Path, was_float: bool, kept: int
) -> None:
    schema = json.loads(schema_of({"x": "double"}))
    if was_float:
        changes = [{"toType": "double", "fromType": "float"}]
        schema["fields"][0]["metadata"] = {"delta.typeChanges": changes}
    folder = LogFolder(tmp_path / "table")
    action = metadata(schemaString=json.dumps(schema))
    folder.commit(0, [PROTOCOL, action, add("a", stats=stats_of(3.4, 3.4))])
    snapshot = explorer.open_table(folder.root).snapshot()
    # the float nearest to 3.4 is 3.4000000953674316
    assert plan_scan(snapshot, "x BETWEEN 3.40000001 AND 3.4000001").num_kept == kept


@pytest.mark.rule("stats-mirror-schema")
def test_nested_fields_go_by_their_path(tmp_path: Path) -> None:
    inner = {
        "type": "struct",
        "fields": json.loads(schema_of({"y": "long", "a.b": "long"}))["fields"],
    }
    stats = '{"numRecords":1,"minValues":{"x":{"y":1,"a.b":7}},"maxValues":{"x":{"y":1,"a.b":7}}}'
    for where, kept in (("x.y = 1", 1), ("X.Y = 7", 0), ("x.`a.b` = 7", 1), ("x.`a.b` = 1", 0)):
        plan = plan_of(tmp_path / where.replace("`", ""), inner, stats, where)
        assert plan.num_kept == kept
    with pytest.raises(InvalidArgumentError, match="cannot be compared"):
        plan_of(tmp_path / "struct", inner, stats, "x = 1")


def test_a_plan_tells_why(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "long", LONG, "x > 2 AND x > 9")
    assert plan.skipped.to_pylist() == [
        {
            "path": "a",
            "size": 100,
            "reason": "x > 9 cannot be true: x is between 1 and 9, never null",
        }
    ]
    assert plan.explain("a").to_pylist()[0]["kept"] is False
    assert (plan.bytes_kept, plan.bytes_skipped) == (0, 100)
    with pytest.raises(InvalidArgumentError, match="no live file"):
        plan.explain("b")


@pytest.mark.rule("stats-numrecords")
def test_without_a_predicate_every_file_stays(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a", stats=LONG), add("b")])
    plan = plan_scan(explorer.open_table(folder.root).snapshot())
    assert plan.kept.select(["path", "num_records"]).to_pylist() == [
        {"path": "a", "num_records": 10},
        {"path": "b", "num_records": None},
    ]
    assert plan.skipped.num_rows == 0


def test_a_table_without_files_has_an_empty_plan(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata()])
    plan = plan_scan(explorer.open_table(folder.root).snapshot(), "id = 1")
    assert (plan.num_kept, plan.num_skipped, plan.bytes_kept) == (0, 0, 0)
    assert plan.reasons().num_rows == 0
