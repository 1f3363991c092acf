"""Expressions that a table has: what Spark may be given in one statement, and what never."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from explorer.errors import InvalidArgumentError
from explorer.protocol.schema import ArrayType, StructField, StructType, parse_type_name
from explorer.scan.sql.expressions import check_expression
from explorer.scan.sql.table_expressions import StatementTime, check_table_expression
from explorer.scan.sql.uses import ExpressionUse

_INTEGERS = ArrayType(element_type=parse_type_name("integer"), contains_null=True)
SCHEMA = StructType(
    fields=(
        *(
            StructField(name=name, data_type=parse_type_name(kind))
            for name, kind in (
                ("a", "integer"), ("b", "string"), ("ts", "timestamp"), ("v", "variant"),
            )
        ),
        StructField(name="arr", data_type=_INTEGERS),
    )
)  # fmt: skip
BERLIN = timezone(timedelta(hours=1))
TIME = StatementTime(moment=datetime(2026, 1, 1, 0, 30, 7, 8, tzinfo=BERLIN))


def settled(text: str, use: ExpressionUse = "rule", schema: StructType = SCHEMA) -> str:
    return check_table_expression(text, schema, use, TIME).text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ts <= current_timestamp()", "ts <= TIMESTAMP '2025-12-31 23:30:07.000008Z'"),
        ("ts <= CURRENT_TIMESTAMP", "ts <= TIMESTAMP '2025-12-31 23:30:07.000008Z'"),
        ("ts < now ( )", "ts < TIMESTAMP '2025-12-31 23:30:07.000008Z'"),
        ("curdate() > date(ts)", "DATE '2026-01-01' > date(ts)"),
        ("current_date is null", "DATE '2026-01-01' is null"),
        ("localtimestamp() = ts", "TIMESTAMP_NTZ '2026-01-01 00:30:07.000008' = ts"),
        ("unix_timestamp() > a", "1767223807L > a"),
        ('b = "x y"', "b = 'x y'"),
        ("b = 'current_timestamp()'", "b = 'current_timestamp()'"),
        ('b = "now()"', "b = 'now()'"),
        ("unix_timestamp(ts) > a", "unix_timestamp(ts) > a"),
        # which a setting of the session would make an error for longer texts
        ("CAST(b AS VARCHAR(5)) = b", "CAST(b AS STRING) = b"),
        ("upper(cast(b as\nchar ( 5 ))) = b", "upper(cast(b as\nSTRING)) = b"),
        ("try_cast(a AS Character(5)) = b", "try_cast(a AS STRING) = b"),
        ("b = 'AS CHAR(5)' or b < char(65)", "b = 'AS CHAR(5)' or b < char(65)"),
        ("cast(arr as Array<varchar(2)>)[0] = b", "cast(arr as Array<STRING>)[0] = b"),
        (
            "cast(v AS MAP < CHAR(1), ARRAY<VARCHAR ( 9 )>>)['k'][0] < char(65)",
            "cast(v AS MAP < STRING, ARRAY<STRING>>)['k'][0] < char(65)",
        ),
        (
            "cast(v as struct<x: int, now:CHARACTER(3), `char(3)` char(4)>).x > char(65)",
            "cast(v as struct<x  int, now STRING, `char(3)` STRING>).x > char(65)",
        ),
    ],
)
def test_the_time_and_texts_in_double_quotes_are_settled_once(text: str, found: str) -> None:
    assert settled(text) == found


def test_a_column_hides_a_function_of_its_name_without_parentheses() -> None:
    schema = StructType(
        fields=(StructField(name="Current_Date", data_type=SCHEMA.fields[2].data_type),)
    )
    assert settled("current_date is null", schema=schema) == "`current_date` is null"
    assert settled("current_date() is null", schema=schema) == "DATE '2026-01-01' is null"


def test_a_field_of_that_name_is_no_function() -> None:
    inner = StructType(
        fields=(StructField(name="current_date", data_type=SCHEMA.fields[0].data_type),)
    )
    schema = StructType(fields=(StructField(name="s", data_type=inner),))
    assert settled("s.current_date = 1", schema=schema) == "s.current_date = 1"


@pytest.mark.parametrize(
    "text",
    [
        "exists(arr, x -> x > 3)",
        "forall(arr, x -> x is not null)",
        "transform(arr, x -> x + a)[0] > 1",
        "aggregate(arr, 0, (acc, x) -> acc + x) > 3",
        "from_json(b, 'x int').x > 3",
        "variant_get(v, '$.a', 'int') = 1",
    ],
)
def test_what_tables_may_say_and_a_condition_of_a_person_may_not(text: str) -> None:
    assert settled(text) == text
    assert settled(text, "value") == text
    with pytest.raises(InvalidArgumentError):
        check_expression(text, SCHEMA)


@pytest.mark.parametrize("text", ["uuid()", "rand() * 5", "concat(b, uuid())"])
def test_chance_makes_values_and_judges_none(text: str) -> None:
    assert settled(text, "value") == text
    with pytest.raises(InvalidArgumentError, match="differs from call to call"):
        settled(text)


@pytest.mark.parametrize("use", ["rule", "value"])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("exists(select 1 from t)", "subquery"),
        ("exists (from t)", "subquery"),
        ("exists(arr, x -> exists(select 1))", "subquery"),
        ("exists(arr, x -> exists(from t))", "subquery"),
        ("a in (select 1)", "subquery"),
        ("transform(arr, x -> (select x))", "subquery"),
        ("transform(arr, x -> reflect('a', 'b', x))", "runs code"),
        ("mine(a)", "a user defined"),
        ("varchar(5) = b", "a user defined"),
        ("cast(b as mine(5)) = b", "a user defined"),
        ("cast(arr as array<mine(5)>)[0] = b", "a user defined"),
        ("a < varchar(5)", "a user defined"),
        ("transform(arr, x -> mine(x))", "a user defined"),
        ("max(a) > 1", "other rows"),
        ("row_number() over (order by a)", "other rows"),
        ("explode(arr)", "other rows"),
        ("current_user()", "by whom"),
        ("current_user", "not a calculation"),
        ("input_file_name() = b", "files"),
        ("monotonically_increasing_id() = a", "where"),
        ("current_timestamp(", "differs from call to call"),
        ("now(a)", "differs from call to call"),
        ('b = "it\'s"', "double quotes"),
        ('b = "open', "double quotes"),
        ('b = "a""b"', "double quotes"),
        ("b = 'a'\"b\"", "double quotes"),
        ("b = \"a\"'b'", "double quotes"),
        ("a = 1 -- x", "comment"),
        ("named(a => 1)", "=>"),
        ("cast(b as date) = 'today'", "differs from call to call"),
    ],
)
def test_what_is_never_run_is_refused_by_name(text: str, why: str, use: ExpressionUse) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        settled(text, use)
    assert why in f"{caught.value.problem} {caught.value.reason}"


def test_a_statement_has_a_time_with_a_zone() -> None:
    with pytest.raises(InvalidArgumentError, match="zone"):
        StatementTime(moment=TIME.moment.replace(tzinfo=None))
    assert StatementTime(moment=datetime(2026, 1, 1, tzinfo=UTC)).literal("uuid") is None
