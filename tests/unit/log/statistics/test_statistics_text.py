"""Leaves of statistics in JSON, against the standard library's reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.log.statistics import statistics_text
from explorer.log.statistics.statistics_text import parse_statistics_texts


@pytest.fixture(scope="module", autouse=True, params=[0, 4], ids=["at once", "a few alone"])
def few(request: pytest.FixtureRequest) -> Iterator[None]:
    """How many texts are read one by one: the answer is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics_text, "_FEW", request.param)
        yield


LEAVES = {
    ("numRecords",): pa.int64(),
    ("minValues", "i"): pa.int64(),
    ("maxValues", "i"): pa.int64(),
    ("minValues", "d"): pa.float64(),
    ("minValues", "s", "t"): pa.string(),
    ("maxValues", "b"): pa.bool_(),
}

_INT = st.integers(-(2**63), 2**63 - 1)
_ANY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
)


def _objects(names: dict[str, Any]) -> Any:
    return st.fixed_dictionaries({}, optional=names)


def _statistics(inner: Any) -> Any:
    nested = st.one_of(_objects({"t": inner}), inner)
    values = _objects({"i": inner, "d": inner, "s": nested, "b": inner, "other": inner})
    return _objects({"numRecords": inner, "minValues": values, "maxValues": values, "more": inner})


# Spark writes the text, and the columns of numbers have no bound then
_NUMBER = st.one_of(st.floats(allow_nan=False), st.sampled_from(["NaN", "Infinity", "-Infinity"]))
_GOOD = st.fixed_dictionaries(
    {
        "numRecords": _INT,
        "minValues": _objects({"i": _INT, "d": _NUMBER, "other": _ANY}),
        "maxValues": _objects({"i": _INT, "b": st.booleans()}),
    }
)


def _expected(text: str) -> dict[Any, Any] | None:
    """What the text says; None where a value is of another type."""
    body = json.loads(text)
    found = {}
    for path, kind in LEAVES.items():
        value = body
        for name in path:
            if value is not None and not isinstance(value, dict):
                return None
            value = (value or {}).get(name)
        if not _fits(value, kind):
            return None
        no_number = isinstance(value, str) and kind == pa.float64()
        found[path] = None if no_number else value
    return found


def _fits(value: Any, kind: pa.DataType) -> bool:
    if value is None:
        return True
    if kind == pa.int64():
        return type(value) is int and -(2**63) <= value < 2**63
    if kind == pa.float64():
        return type(value) in (int, float) or value in ("NaN", "Infinity", "-Infinity")
    return type(value) is {pa.string(): str, pa.bool_(): bool}[kind]


@pytest.mark.slow
@given(st.lists(st.one_of(_GOOD, _statistics(_ANY), st.none()), max_size=8), st.booleans())
def test_each_text_says_what_it_says_alone(bodies: list[Any], spaced: bool) -> None:
    separators = None if spaced else (",", ":")
    texts = [
        None if body is None else json.dumps(body, ensure_ascii=False, separators=separators)
        for body in bodies
    ]
    found = parse_statistics_texts(pa.array(texts, pa.string()), LEAVES)
    columns = {path: column.to_pylist() for path, column in found.columns.items()}
    for at, text in enumerate(texts):
        expected = {} if text is None else _expected(text)
        assert (at in found.bad) is (expected is None), text
        values = {path: column[at] for path, column in columns.items()}
        assert values == dict.fromkeys(LEAVES) | (expected or {}), text


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("1e-999999999", "0"),
        ("0e-99999999", "0"),
        ("-25E-0000000057", "-1E-18"),
        ("0E-18", "0"),
        ("1e999999999", None),
    ],
)
def test_a_decimal_with_any_exponent_neither_ends_the_process_nor_loses_its_neighbours(
    number: str, expected: str | None
) -> None:
    leaves = {("numRecords",): pa.int64(), ("minValues", "p"): pa.decimal128(38, 18)}
    texts = [
        f'{{"numRecords":{count},"minValues":{{"p":{value}}}}}'
        for count, value in ((1, number), (2, "1.5"))
    ]
    found = parse_statistics_texts(pa.array(texts), leaves)
    counts = [None if expected is None else 1, 2]
    assert found.columns["numRecords",].to_pylist() == counts
    bounds = [None if expected is None else Decimal(expected), Decimal("1.5")]
    assert found.columns["minValues", "p"].to_pylist() == bounds
    assert found.bad == ((0,) if expected is None else ())


def test_an_integer_beyond_every_double_costs_its_own_file_the_statistics() -> None:
    leaves = {("numRecords",): pa.int64(), ("minValues", "d"): pa.float64()}
    texts = [f'{{"numRecords":1,"minValues":{{"d":1{"0" * 400}}}}}', '{"numRecords":2}']
    found = parse_statistics_texts(pa.array(texts), leaves)
    assert found.columns["numRecords",].to_pylist() in ([None, 2], [1, 2])


def test_texts_of_several_shapes_keep_their_order_and_lose_no_neighbour() -> None:
    leaves = {("numRecords",): pa.int64(), ("maxValues", "s"): pa.string()}
    texts: list[str | None] = []
    expected: list[tuple[int | None, str | None]] = []
    for at in range(3000):
        kind = "null" if at % 70 == 1 else "bad" if at % 90 == 2 else at % 4
        text, says = {
            0: (f'{{"numRecords":{at},"maxValues":{{"s":"v{at}"}}}}', (at, f"v{at}")),
            1: (f'{{"maxValues":{{"s":"v{at}"}}, "numRecords": {at}}}', (at, f"v{at}")),
            2: (f'{{"numRecords":{at}}}', (at, None)),
            3: (f'{{"numRecords":{at},"maxValues":{{"s":"\\u0041{at}"}}}}', (at, f"A{at}")),
            "null": (None, (None, None)),
            "bad": (f'{{"numRecords":{at}.5}}', (None, None)),
        }[kind]
        texts.append(text)
        expected.append(says)
    found = parse_statistics_texts(pa.array(texts, pa.string()), leaves)
    columns = [found.columns[path].to_pylist() for path in leaves]
    assert list(zip(*columns, strict=True)) == expected
    assert found.bad == tuple(at for at in range(3000) if at % 90 == 2 and at % 70 != 1)


def test_texts_are_read_where_they_begin_inside_of_other_arrays() -> None:
    leaves = {("numRecords",): pa.int64()}
    texts = pa.array([f'{{"numRecords":{at}}}' for at in range(1000)])
    found = parse_statistics_texts(texts.slice(301, 600), leaves)
    assert found.columns["numRecords",].to_pylist() == list(range(301, 901))


@pytest.mark.parametrize("text", ["", "{}", '{"', '"', "[]", "nothing", "{" * 3000, '{"a":' * 3000])
def test_many_texts_without_a_value_are_read_or_bad_as_one_of_them_is(text: str) -> None:
    alone, many = (parse_statistics_texts(pa.array([text] * count), LEAVES) for count in (1, 300))
    assert len(many.bad) == 300 * len(alone.bad)
    assert all(column.null_count == 300 for column in many.columns.values())
