"""Expressions are looked at before Spark sees them: what calculates on one row passes, and
everything else is refused by its name."""

from __future__ import annotations

import pytest

from explorer.errors import InvalidArgumentError
from explorer.protocol.schema import ArrayType, PrimitiveType, StructField, StructType
from explorer.scan.sql.expressions import check_expression


def _field(name: str, kind: str) -> StructField:
    return StructField(name=name, data_type=PrimitiveType(name=kind))


_INNER = StructType(fields=(_field("city", "string"),))
SCHEMA = StructType(
    fields=(
        _field("id", "long"),
        _field("Amount", "double"),
        _field("region", "string"),
        _field("day", "date"),
        _field("odd name", "string"),
        StructField(name="place", data_type=_INNER),
        StructField(
            name="tags",
            data_type=ArrayType(element_type=PrimitiveType(name="string"), contains_null=True),
        ),
        _field("loose", "variant"),
        _field("values", "long"),
    )
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id > 0", ("id",)),
        ("amount >= 0.5e3 OR amount IS NULL", ("Amount",)),
        ("region in ('emea', 'it''s') and not (id <=> 7)", ("id", "region")),
        ("upper(trim(region)) rlike '^[A-Z]\\\\d+$'", ("region",)),
        ("case when id > 0 then length(region) < 10 else true end", ("id", "region")),
        ("cast(id as decimal(10, 2)) between 1 and 2", ("id",)),
        ("day >= date '2020-01-01' and year(day) < 2100", ("day",)),
        ("place.city <> '' and size(tags) > 0 and tags[0] like 'a%'", ("place", "tags")),
        ("`odd name` is not null", ("odd name",)),
        ("`values` % 2 = 0", ("values",)),
        ("region = 'today'", ("region",)),
    ],
)
def test_calculation_on_one_row_passes(text: str, columns: tuple[str, ...]) -> None:
    checked = check_expression(text, SCHEMA)
    assert checked.text == text
    assert checked.columns == columns


@pytest.mark.rule("column-check-columns-exist")
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("reflect('java.lang.System', 'getProperty', 'user.home') = ''", "reflect"),
        ("REFLECT\n('java.lang.System', 'getProperty', 'user.home') = ''", "REFLECT"),
        ("java_method('java.util.UUID', 'randomUUID') = region", "java_method"),
        ("try_reflect('java.util.UUID', 'randomUUID') = region", "try_reflect"),
        ("rand() < 0.5", "rand"),
        ("uuid() <> region", "uuid"),
        ("day < current_date()", "current_date"),
        ("day < current_date", "CURRENT_DATE"),
        ("current_user() = region", "current_user"),
        ("monotonically_increasing_id() >= 0", "monotonically_increasing_id"),
        ("input_file_name() like '%'", "input_file_name"),
        ("spark_partition_id() = 0", "spark_partition_id"),
        ("my_function(id) > 0", "my_function"),
        ("spark_catalog.default.my_function(id) > 0", "my_function"),
        ("evil.upper(region) = 'A'", "upper"),
        ("spark_catalog.db.upper(region) = 'A'", "upper"),
        ("`reflect`('java.lang.System', 'exit', 1)", "reflect"),
        ("system.builtin.reflect('java.lang.System', 'exit', 1)", "reflect"),
        ("id = (select max(id) from other)", "select"),
        ("id in (select id from other)", "select"),
        ("exists (select 1)", "exists"),
        ("id > (from other)", "SELECT"),
        ("id in (values (1))", "values"),
        ("id in (table other)", "table"),
        ("id > (with t as (select 1) select * from t)", "with"),
        ("sum(id) > 0", "sum"),
        ("max(id) over () = id", "max"),
        ("explode(tags) = 'a'", "explode"),
        ("transform(tags, x -> x) = tags", "->"),
        ("array_contains(tags, element => 'a')", "=>"),
        ("day < date 'today'", "today"),
        ("day < 'now'", "now"),
        ("datediff('yesterday', region) < id", "yesterday"),
        ("cast('tomorrow ' as date) > cast(region as date)", "tomorrow"),
        ("loose is not null", "variant"),
        ("id = :id", ":id"),
        ("id = ?", "?"),
        ("missing > 0", "missing"),
    ],
)
def test_whatever_is_more_than_that_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        check_expression(text, SCHEMA)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "region = \"it's\" or reflect('java.lang.System', 'exit', 1) = \"\"",
        "region = 'a\\' or reflect(''java.lang.System'', ''exit'', 1) = '",
        "region = r'\\' or reflect('java.lang.System', 'exit', 1) = 'x'",
        "id > 0 -- or so",
        "id > /* 0 or */ 1",
        "reflect/**/('java.lang.System', 'exit', 1)",
        "id > 0; drop table orders",
        "\u017felect > 1",
        "id > 0\u00a0or id < 0",
        "id > 0 or\x00 id < 0",
        "region = 'open",
        "id::string = '1'",
    ],
)
def test_text_that_two_parsers_may_read_differently_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        check_expression(text, SCHEMA)


@pytest.mark.parametrize(
    "text",
    ["", "  \n", "id >", "id > 0 id < 3", "(" * 101 + "id" + ")" * 101, "id > " + "1" * 10_001],
    ids=["empty", "blank", "torn", "two", "deep", "long"],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        check_expression(text, SCHEMA)
