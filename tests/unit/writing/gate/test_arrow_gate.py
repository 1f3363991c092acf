"""Rows that go into a table in this process: what becomes of them, and which are refused."""

from __future__ import annotations

import math
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from explorer.errors import DeltaError, InvalidArgumentError, UnsupportedError
from explorer.protocol.schema import ArrayType, MapType, StructType, parse_type_name
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.row_rules import rules_for_rows
from explorer.writing.gate.arrow_gate import ArrowGate, given_schema, pieces
from explorer.writing.gate.identity import Part
from tests.gate_tables import GateTable, column

MICROS, NANOS = pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")
NESTED = StructType(
    fields=(
        column("x", "integer", nullable=False),
        column("nothing", "void"),
        column("list", ArrayType(element_type=parse_type_name("short"), contains_null=False)),
        column(
            "map",
            MapType(
                key_type=parse_type_name("string"),
                value_type=parse_type_name("decimal(5,1)"),
                value_contains_null=False,
            ),
        ),
    )
)
OPTIONAL = StructType(fields=(column("x", "integer"), *NESTED.fields[1:]))


def refused(table: GateTable, rows: pa.Table, kind: str = "rows_refused") -> DeltaError:
    with pytest.raises(InvalidArgumentError) as caught:
        table.take(rows)
    assert caught.value.kind == kind
    return caught.value


def test_columns_are_matched_by_name_whatever_their_case_and_order() -> None:
    table = GateTable(column("Id", "long"), column("name", "string"), column("other", "double"))
    found = table.take(pa.table({"NAME": ["a", None], "id": [1, 2]}))
    assert found.to_pydict() == {"Id": [1, 2], "name": ["a", None], "other": [None, None]}
    assert found.schema.types == [pa.int64(), pa.string(), pa.float64()]


def test_a_column_in_the_very_spelling_is_not_ambiguous() -> None:
    table = GateTable(column("a", "long"))
    assert "ambiguous" in refused(table, pa.table({"a": [1], "A": [2]}), "schema_mismatch").problem


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"id": [1], "zz": [1]}, "merge_schema=True"),
        ({"nested": [{"x": 1}]}, "NOT NULL"),
        ({"id": [1]}, "column nested is not among"),
        ({"id": [True]}, "boolean"),
        ({"id": [1], "nested": [{"x": 1, "y": 1}]}, "nested.y"),
        ({"id": [1], "nested": [{"list": [1]}]}, "nested.x"),
        ({"id": [1], "nested": [1]}, "struct"),
        ({"id": [datetime(2026, 1, 1, tzinfo=UTC)]}, "timestamp"),
        ({"id": [1], "gone": [5]}, "void"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_columns_that_cannot_be_stored_are_a_mismatch_before_any_row_is_read(
    given: dict[str, Any], said: str
) -> None:
    table = GateTable(
        column("id", "long", nullable=False), column("nested", NESTED), column("gone", "void")
    )
    error = refused(table, pa.table(given).slice(0, 0), "schema_mismatch")
    assert said in f"{error.problem} {error.reason} {error.remedy}"


def test_nested_values_go_field_by_field() -> None:
    table = GateTable(column("s", OPTIONAL))
    kind = pa.struct(
        [
            ("MAP", pa.map_(pa.large_string(), pa.decimal256(20, 2))),
            ("list", pa.large_list(pa.uint8())),
            ("x", pa.int64()),
        ]
    )
    given = [
        {"MAP": [("a", Decimal("1.25")), ("b", Decimal("-0.05"))], "list": [1, 2], "x": 5},
        None,
        {"MAP": None, "list": [], "x": 6},
    ]
    found = table.take(pa.table({"s": pa.array([None, *given], kind).slice(1)}))
    found.validate(full=True)
    assert found.column("s").to_pylist() == [
        {"x": 5, "list": [1, 2], "map": [("a", Decimal("1.3")), ("b", Decimal("-0.1"))]},
        None,
        {"x": 6, "list": [], "map": None},
    ]
    assert found.column("s").type == pa.struct(
        [
            pa.field("x", pa.int32()),
            pa.field("list", pa.list_(pa.field("element", pa.int16(), nullable=False))),
            pa.field(
                "map", pa.map_(pa.string(), pa.field("value", pa.decimal128(5, 1), nullable=False))
            ),
        ]
    )


def test_what_lies_under_a_null_is_not_looked_at() -> None:
    """Arrow keeps values under null structs and lists, which nobody meant."""
    table = GateTable(column("s", OPTIONAL), column("l", NESTED.fields[2].data_type))
    inner = pa.array([70_000, 1], pa.int64())
    structs = pa.StructArray.from_arrays([inner], names=["x"], mask=pa.array([True, False]))
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), inner, mask=pa.array([True, False])
    )
    found = table.take(pa.table({"s": structs, "l": lists}))
    found.validate(full=True)
    assert found.column("s").to_pylist()[0] is None
    assert found.column("l").to_pylist() == [None, [1]]


def test_a_struct_with_a_field_that_is_never_null_is_never_null_either() -> None:
    """The reference refuses it, and later every change that copies the row."""
    table = GateTable(column("id", "long"), column("s", NESTED))
    rows = pa.table({"id": [1], "s": pa.nulls(1, pa.struct([("x", pa.int32())]))})
    assert "NOT NULL of `s.x`" in refused(table, rows).problem
    assert "NOT NULL" in refused(table, pa.table({"id": [1]}), "schema_mismatch").reason


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"x": None}, "s.x"),
        ({"x": 1, "list": [1, None]}, "s.list.element"),
        ({"x": 1, "map": [("a", None)]}, "s.map.value"),
    ],
    ids=["struct", "array", "map"],
)
def test_a_null_inside_is_refused_with_its_path_and_its_row(
    values: dict[str, Any], where: str
) -> None:
    kind = pa.struct(
        [
            ("x", pa.int32()),
            ("list", pa.list_(pa.int16())),
            ("map", pa.map_(pa.string(), pa.decimal128(5, 1))),
        ]
    )
    table = GateTable(column("s", NESTED), column("id", "long"))
    rows = pa.table({"id": [7, 8], "s": pa.array([{"x": 1}, values], kind)})
    error = refused(table, rows)
    assert f"NOT NULL of `{where}`" in error.problem
    assert "id = 8" in error.reason


@pytest.mark.parametrize(
    ("declared", "given", "stored"),
    [
        ("varchar(3)", ["abc", "ab ", "", None], ["abc", "ab ", "", None]),
        ("char(3)", ["a", "abc", "𝄞", None], ["a  ", "abc", "𝄞  ", None]),
    ],
    ids=["fits", "padded"],
)
def test_text_of_a_length_is_padded_where_its_column_is_of_characters(
    declared: str, given: list[str | None], stored: list[str | None]
) -> None:
    table = GateTable(column("t", "string", length=declared))
    assert table.take(pa.table({"t": given})).column("t").to_pylist() == stored


def test_text_that_is_too_long_is_refused_inside_of_arrays_too() -> None:
    texts = ArrayType(element_type=parse_type_name("string"), contains_null=True)
    table = GateTable(column("t", texts, length="array<char(2)>"))
    spaces = GateTable(column("t", "string", length="varchar(2)"))
    assert "varchar(2) of `t`" in refused(spaces, pa.table({"t": ["ab "]})).problem
    assert "char(2) of `t.element`" in refused(table, pa.table({"t": [["ab"], ["abc"]]})).problem


def test_check_constraints_and_invariants_hold_for_every_row_and_null_breaks_them() -> None:
    table = GateTable(
        column("a", "long"),
        column("b", "double", invariant='{"expression":{"expression":"b > 0"}}'),
        checks={"positive": "a > 0 AND a < 100"},
    )
    rows = pa.table({"a": [1, 2], "b": [1.0, math.nan]})
    assert table.take(rows).num_rows == 2  # NaN is larger than any number
    for bad in ({"a": [1, None], "b": [1.0, 1.0]}, {"a": [1, 100], "b": [1.0, 1.0]}):
        error = refused(table, pa.table(bad, pa.schema([("a", pa.int64()), ("b", pa.float64())])))
        assert "CHECK (a > 0 AND a < 100) of `positive`" in error.problem
    error = refused(table, pa.table({"a": [1], "b": [-0.0]}))
    assert "the invariant b > 0 of `b`" in error.problem
    assert "b = -0.0" in error.reason


def test_the_length_of_a_cast_cuts_nothing_off_and_fills_nothing_up() -> None:
    """As in Spark, where a cast to VARCHAR(n) or CHAR(n) is one to STRING."""
    table = GateTable(
        column("a", "string"),
        column("cut", "string", generated="CAST(a AS VARCHAR(2))"),
        column("filled", "string", generated="cast(a as char ( 9 ))"),
        checks={"short": "CAST(a AS VARCHAR(2)) <> 'ab'"},
    )
    found = table.take(pa.table({"a": ["abc"]}))
    assert found.to_pylist() == [{"a": "abc", "cut": "abc", "filled": "abc"}]
    error = refused(table, pa.table({"a": ["ab"]}))
    assert "`short`" in error.problem


def test_rules_of_features_that_the_table_does_not_have_bind_nobody() -> None:
    table = GateTable(
        column("a", "long"),
        column("g", "long", generated="a + 1"),
        column("d", "long", default="5"),
        checks={"positive": "a > 0"},
        features=(),
    )
    found = table.take(pa.table({"a": [-1]}))
    assert found.to_pylist() == [{"a": -1, "g": None, "d": None}]


def test_a_generated_column_is_computed_or_compared() -> None:
    table = GateTable(
        column("ts", "timestamp"),
        column("a", "integer"),
        column("day", "date", generated="CAST(ts AS DATE)"),
        column("year", "integer", generated="YEAR(ts)"),
        column("sum", "long", generated="a * 2 + 1"),
    )
    times = [datetime(1969, 12, 31, 23, 59, tzinfo=UTC), None]
    rows = pa.table({"ts": times, "a": pa.array([3, None], pa.int32())})
    found = table.take(rows)
    assert found.column("day").to_pylist() == [date(1969, 12, 31), None]
    assert found.column("year").to_pylist() == [1969, None]
    assert found.column("sum").to_pylist() == [7, None]
    assert table.take(found) == found
    wrong = rows.append_column("sum", pa.array([7, 7]))
    error = refused(table, wrong)
    assert "the generation a * 2 + 1 of `sum`" in error.problem
    assert "sum = 7" in error.reason


def test_a_sum_that_does_not_fit_is_refused_and_not_wrapped_around() -> None:
    table = GateTable(
        column("a", "integer"),
        column("b", "long"),
        column("g", "long", generated="a + 1"),
        column("h", "long", generated="b * b"),
        column("q", "double", generated="a / b"),
    )
    rows = {"a": pa.array([1], pa.int32()), "b": pa.array([2])}
    assert table.take(pa.table(rows)).to_pylist() == [{"a": 1, "b": 2, "g": 2, "h": 4, "q": 0.5}]
    large = pa.table(rows | {"a": pa.array([2**31 - 1], pa.int32())})
    assert "32 bits" in refused(table, large).reason
    assert "64 bits" in refused(table, pa.table(rows | {"b": pa.array([2**40])})).reason
    assert "by zero" in refused(table, pa.table(rows | {"b": pa.array([0])})).reason


def test_a_default_fills_what_is_not_given_and_an_explicit_null_stays() -> None:
    table = GateTable(
        column("id", "long"),
        column("price", "decimal(10,2)", default="1.5"),
        column("state", "string", default="'new'"),
        column("at", "timestamp", default="current_timestamp()"),
        column("on", "date", default="CURRENT_DATE"),
    )
    at = datetime(2026, 11, 26, 5, 6, 7, 8, tzinfo=UTC)
    assert table.take(pa.table({"id": [1, 2]})).to_pylist() == [
        {"id": n, "price": Decimal("1.50"), "state": "new", "at": at, "on": date(2026, 11, 26)}
        for n in (1, 2)
    ]
    given = pa.table({"id": [1], "state": pa.nulls(1)})
    assert table.take(given).column("state").to_pylist() == [None]


def test_a_default_that_does_not_fit_its_column_names_the_expression() -> None:
    table = GateTable(column("id", "long"), column("n", "byte", default="300"))
    assert "300" in refused(table, pa.table({"id": [1]})).problem


def test_identity_columns_count_on_from_batch_to_batch_beyond_the_mark() -> None:
    table = GateTable(
        column("id", "long", start=10, step=-3, mark=4, explicit=False), column("x", "string")
    )
    gate = ArrowGate(table.plan(pa.schema([("x", pa.string())])))
    assert gate.marks == {}
    first = gate.apply(pa.table({"x": ["a", "b"]}))
    second = gate.apply(pa.table({"x": ["c"]}))
    assert first.column("id").to_pylist() + second.column("id").to_pylist() == [1, -2, -5]
    assert gate.marks == {"id": -5}


def test_writers_that_know_nothing_of_each_other_give_out_different_numbers() -> None:
    table = GateTable(column("id", "long", start=1, step=5, explicit=False), column("x", "long"))
    plan = table.plan(pa.schema([("x", pa.int64())]))
    sent = pickle.dumps(plan)
    gates = [ArrowGate(pickle.loads(sent), Part(number=at, count=3)) for at in range(3)]
    found = [
        number
        for gate in gates
        for batch in (pa.table({"x": [1, 2]}), pa.table({"x": [3]}))
        for number in gate.apply(batch).column("id").to_pylist()
    ]
    assert sorted(found) == list(range(1, 46, 5))
    assert max(gate.marks["id"] for gate in gates) == max(found)


def test_numbers_may_be_given_only_where_the_column_allows_it_or_they_are_its_own() -> None:
    rows = pa.table({"id": [5]})
    always = GateTable(column("id", "long", start=1, step=1, explicit=False))
    by_default = GateTable(column("id", "long", start=1, step=1, explicit=True))
    assert "must not be given" in refused(always, rows, "schema_mismatch").problem
    assert by_default.take(rows).to_pydict() == {"id": [5]}
    assert always.take(rows, kept=["id"]).to_pydict() == {"id": [5]}


def test_an_identity_column_that_overflows_is_an_error_and_writes_no_number() -> None:
    table = GateTable(
        column("id", "long", start=1, step=2, mark=2**63 - 3, explicit=False),
        column("x", "long"),
    )
    assert table.take(pa.table({"x": [1]})).column("id").to_pylist() == [2**63 - 1]
    refused(table, pa.table({"x": [1, 2]}), "limit_exceeded")


@pytest.mark.parametrize(
    ("kind", "given", "stored"),
    [
        ("byte", pa.array([-128, 127, None], pa.int64()), [-128, 127, None]),
        ("long", pa.array([2**63 - 1], pa.uint64()), [2**63 - 1]),
        ("integer", pa.array([1.0, -0.0, -(2.0**31)]), [1, 0, -(2**31)]),
        ("integer", pa.array([Decimal("7.00")]), [7]),
        ("float", pa.array([1e-60, 16777217.0, math.inf]), [0.0, 16777216.0, math.inf]),
        ("double", pa.array([Decimal("0.1")]), [0.1]),
        ("decimal(5,2)", pa.array([1.005, 2.675, -0.005]), ["1.01", "2.68", "-0.01"]),
        ("decimal(3,1)", pa.array([Decimal("1.25"), Decimal("-1.25")]), ["1.3", "-1.3"]),
        ("decimal(38,0)", pa.array([10**38 - 1], pa.decimal128(38, 0)), [str(10**38 - 1)]),
        ("integer", pa.array([" +12\t", "-0"]), [12, 0]),
        ("double", pa.array(["1e3", " -inf", "0x1p3", "5d"]), [1000.0, -math.inf, 8.0, 5.0]),
        ("decimal(5,2)", pa.array(["1.005", "1e2", ".5"]), ["1.01", "100.00", "0.50"]),
        ("boolean", pa.array(["T", " no ", "1"]), [True, False, True]),
        ("date", pa.array([" 2026-1", "2026-01-02T3"]), ["2026-01-01", "2026-01-02"]),
        ("string", pa.array([Decimal("0.0000001")]), ["0.0000001"]),
        ("string", pa.array([True, None]), ["true", None]),
        ("string", pa.array([1_500_000], MICROS), ["1970-01-01 00:00:01.5"]),
        ("string", pa.array([253402300800], pa.timestamp("s")), ["+10000-01-01 00:00:00"]),
        ("string", pa.array([b"\xc3\xbc"]), ["ü"]),
        ("binary", pa.array(["ü"]), [b"\xc3\xbc"]),
        ("timestamp", pa.array([1], pa.date32()), ["1970-01-02 00:00:00+00:00"]),
        ("timestamp_ntz", pa.array([5000], NANOS), ["1970-01-01 00:00:00.000005"]),
        ("date", pa.array([86_400], pa.timestamp("s")), ["1970-01-02"]),
        ("long", pa.array(["1", "2", "1"]).dictionary_encode(), [1, 2, 1]),
        ("string", pa.array(["a"], pa.string_view()), ["a"]),
    ],
)  # fmt: skip
def test_values_are_stored_in_a_column_of_another_type(
    kind: str, given: pa.Array, stored: list[Any]
) -> None:
    found = GateTable(column("c", kind)).take(pa.table({"c": given})).column("c")
    shown = [
        str(value) if isinstance(value, date | Decimal) else value for value in found.to_pylist()
    ]
    assert shown == stored


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("byte", pa.array([128])),
        ("long", pa.array([2**63], pa.uint64())),
        ("integer", pa.array([1.5])),
        ("integer", pa.array([2.0**31])),
        ("long", pa.array([math.nan])),
        ("long", pa.array([2.0**63])),
        ("integer", pa.array([Decimal("0.5")])),
        ("float", pa.array([1e39])),
        ("decimal(3,2)", pa.array([9.995])),
        ("decimal(3,2)", pa.array([10])),
        ("decimal(3,2)", pa.array([math.inf])),
        ("integer", pa.array(["1.0"])),
        ("integer", pa.array([""])),
        ("integer", pa.array(["\u0663"])),
        ("double", pa.array(["1e999"])),
        ("decimal(3,2)", pa.array(["x"])),
        ("boolean", pa.array(["maybe"])),
        ("date", pa.array(["2026-02-30"])),
        ("date", pa.array([1], pa.timestamp("us"))),
        ("timestamp", pa.array([1], pa.timestamp("ns"))),
        ("timestamp", pa.array([2**62], pa.timestamp("s"))),
        ("timestamp", pa.array([2**31 - 1], pa.date32())),
        ("string", pa.array([b"\xff"])),
    ],
)  # fmt: skip
def test_a_value_that_the_type_does_not_hold_is_refused_with_its_row(
    kind: str, given: pa.Array
) -> None:
    table = GateTable(column("id", "long"), column("c", kind))
    values = pa.concat_arrays([pa.nulls(1, given.type), given])
    error = refused(table, pa.table({"id": [41, 42], "c": values}))
    assert f"the type {kind} of `c`" in error.problem
    assert "id = 42" in error.reason


def test_a_map_with_a_key_twice_is_refused() -> None:
    table = GateTable(column("id", "long"), column("m", NESTED.fields[3].data_type))
    maps = [[("a", 1), ("b", 2)], None, [("a", 1)], [("a", 1), ("b", 1), ("a", 2)]]
    rows = pa.table({"id": range(4), "m": pa.array(maps, pa.map_(pa.string(), pa.int64()))})
    assert table.take(rows.slice(0, 3)).num_rows == 3
    error = refused(table, rows)
    assert "a key twice" in error.reason
    assert "id = 3" in error.reason


def test_nan_and_minus_zero_stay_what_they_are() -> None:
    table = GateTable(column("c", "double"))
    found = table.take(pa.table({"c": pa.array([math.nan, -0.0], pa.float32())}))
    values = found.column("c").to_pylist()
    assert math.isnan(values[0])
    assert math.copysign(1, values[1]) == -1


@pytest.mark.parametrize(
    ("table", "given"),
    [
        (GateTable(column("a", "long"), column("g", "string", generated="upper(a)")), pa.int64()),
        (GateTable(column("a", "timestamp")), pa.string()),
        (GateTable(column("a", "string")), pa.float64()),
        (GateTable(column("a", "long"), checks={"c": "a % 2 = 0"}), pa.int64()),
        (GateTable(column("a", "long"), column("u", "string", default="uuid()")), pa.int64()),
    ],
    ids=["function", "text as a time", "double as text", "condition", "uuid"],
)
def test_what_only_spark_can_do_is_known_before_any_row(
    table: GateTable, given: pa.DataType
) -> None:
    plan = table.plan(pa.schema([("a", given)]))
    assert plan.needs_spark
    with pytest.raises(UnsupportedError, match="without Spark"):
        ArrowGate(plan)


def test_an_expression_that_is_never_run_refuses_the_table() -> None:
    table = GateTable(
        column("a", "string"), checks={"c": "reflect('java.lang.System', 'exit', 1) = a"}
    )
    with pytest.raises(UnsupportedError, match="reflect"):
        table.plan(pa.schema([("a", pa.string())]))


def test_the_rules_that_a_commit_may_promise_are_all_that_the_table_has() -> None:
    table = GateTable(
        column("id", "long", nullable=False, start=1, step=1, explicit=False),
        column("s", NESTED, invariant="s.x > 0"),
        column("t", "string", length="char(3)"),
        column("g", "long", generated="s.x + 1"),
        checks={"c": "s.x < 10", "UPPER": "t is not null"},
    )
    described = Described(protocol=table.protocol, metadata=table.metadata)
    wanted = {rule for rule, _ in rules_for_rows(described)}
    kind = pa.struct([("x", pa.int32())])
    plan = table.plan(pa.schema([("s", kind), ("t", pa.string())]))
    assert plan.rules() == wanted
    assert len(wanted) == 8


def test_a_refused_row_is_cut_and_escaped() -> None:
    table = GateTable(column("a", "string", nullable=False), column("b", "string"))
    hostile = "<script>\u202e\x1b[31m" + "x" * 10_000
    error = refused(table, pa.table({"a": pa.array([None], pa.string()), "b": [hostile]}))
    assert len(str(error)) < 1_000
    assert "\u202e" not in str(error)
    assert "\x1b" not in str(error)


def test_given_types_that_no_table_has_are_a_mismatch() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        given_schema(pa.schema([("t", pa.time64("us"))]))
    assert caught.value.kind == "schema_mismatch"


_LISTS = [[1, 2], None, [], [3, None]]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("long", pa.array(_LISTS, pa.large_list(pa.int8()))),
        ("long", pa.array(_LISTS, pa.list_view(pa.int64()))),
        ("long", pa.array(_LISTS, pa.large_list_view(pa.uint32()))),
        ("integer", pa.array([None if v is None else [str(i) for i in v if i] for v in _LISTS])),
        ("long", pa.array([[1, 2], None, [3, None]], pa.list_(pa.int64(), 2))),
    ],
    ids=["large", "view", "large view", "of texts", "of a fixed size"],
)
def test_lists_of_every_layout_are_taken(kind: str, given: pa.Array) -> None:
    table = GateTable(
        column("l", ArrayType(element_type=parse_type_name(kind), contains_null=True))
    )
    for start in range(2):
        part = given.slice(start)
        found = table.take(pa.table({"l": part}))
        found.validate(full=True)
        wanted = [None if v is None else [i and int(i) for i in v] for v in part.to_pylist()]
        assert found.column("l").to_pylist() == wanted


def test_values_of_every_layout_are_taken() -> None:
    """Encoded ones, those of an extension, and structs of them."""
    texts = pa.array(["a", None, "a", "b"])
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"x" * 16] * 4, pa.binary(16)))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 4], pa.int32()), pa.array([7, 8]))
    struct = pa.StructArray.from_arrays([texts.dictionary_encode(), ids], names=["t", "u"])
    table = GateTable(
        column("t", "string"),
        column("u", "binary"),
        column("r", "integer"),
        column("s", StructType(fields=(column("u", "binary"), column("t", "string")))),
    )
    found = table.take(pa.table({"t": texts.dictionary_encode(), "u": ids, "r": runs, "s": struct}))
    found.validate(full=True)
    assert found.to_pydict() == {
        "t": texts.to_pylist(),
        "u": [b"x" * 16] * 4,
        "r": [7, 7, 7, 8],
        "s": [{"u": b"x" * 16, "t": text} for text in texts.to_pylist()],
    }


def test_a_large_batch_goes_through_in_pieces() -> None:
    batch = pa.RecordBatch.from_pydict({"t": ["x" * 100] * 10 + [""] * 3})
    parts = list(pieces(batch, 300))
    assert len(parts) > 3
    assert pa.Table.from_batches(parts) == pa.Table.from_batches([batch])
    assert [part.num_rows for part in pieces(batch, 1)] == [1] * 13
    assert [part.num_rows for part in pieces(batch.slice(0, 0))] == [0]


def test_rows_without_columns_or_rows_come_through() -> None:
    table = GateTable(column("a", "long"), column("d", "long", default="7"))
    assert table.take(pa.table({"a": pa.array([], pa.int64())})).num_rows == 0
    assert table.take(pa.table({"a": pa.array([], pa.int64())})).schema.names == ["a", "d"]
