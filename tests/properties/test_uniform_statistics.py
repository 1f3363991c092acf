"""Statistics that are cut out of many texts at once, against reading each text alone."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from explorer.log.statistics._uniform_texts import read_uniform
from explorer.log.statistics.statistics_text import parse_statistics_texts
from tests.sampling import EVERYTHING, SEED

LEAVES = {
    ("numRecords",): pa.int64(),
    ("minValues", "i"): pa.int64(),
    ("maxValues", "i"): pa.int64(),
    ("minValues", "d"): pa.float64(),
    ("maxValues", "d"): pa.float64(),
    ("minValues", "f"): pa.float32(),
    ("minValues", "p"): pa.decimal128(6, 2),
    ("maxValues", "q"): pa.decimal128(38, 18),
    ("minValues", "s"): pa.string(),
    ("maxValues", "s"): pa.string(),
    ("minValues", "n", "t"): pa.string(),
    ("maxValues", "b"): pa.bool_(),
    ("nullCount", "i"): pa.int64(),
}

# what stands where a value of its name belongs, as it stands there
_TOKENS = {
    "i": ["0", "7", "-12", "123456789012345678", "-0", "null"],
    "d": [
        "1.5",
        "-0.0",
        "7",
        "1.0E10",
        "2.5e-7",
        "12345678901234567",
        "-123456789012345678",
        "0.1234567890123456",
        "-0",
        "null",
    ],
    "f": ["0.1", "3.25", "16777217"],
    "p": ["1.25", "-9999.99", "12", "0.5", "3.1"],
    "q": ["0.000000000000000001", "-5.5", "12345678901234567890"],
    "s": ['"a"', '""', '"naïve ☃"', '"x y"', "null"],
    "t": ['"deep"', '"1"'],
    "b": ["true", "false", "null"],
    "other": ["1", "1e999", "true", "null", "-1.5E+3", "123456789012345678901234567890"],
    "note": ['"unasked"', '"NaN"', '"né"'],
    "numRecords": ["1", "10", "100000"],
}
# what should not be there, or is read in its own way
_ODD = [
    *("01", "-", "1.", ".5", "1e", "+1", "0x10", "1_0", "--1", "1.5.2", "1-2", "NaN", "inf", "nul"),
    *("1.0", "1e5", "1e400", "1E39", "-1e-400", "9223372036854775807", "9223372036854775808"),
    *("1.255", "12345.678", "99999", "1e-19", "true", '"NaN"', '"-Infinity"', '"5"', "{}", "[1]"),
    *(
        '"a,b"',
        '"{[,:]}"',
        '"a\\"',
        '"\\\\"',
        '"\x1f"',
        '"2025-01-06T12:34:56.789Z"',
        "-0",
        "9" * 19,
    ),
    *('{"x":1}', '"\\u0041"', '"a\\"b"', '"\t"', '"\\ud800"', "", " 1", "1 ", "1,2", "0 ", "٣"),
]


_NO_NUMBERS = {repr(word) for word in ("NaN", "Infinity", "-Infinity")}


def _template(draw: st.DrawFn) -> list[Any]:
    """Names in an order, and inside of structs those of their fields."""
    inner = st.lists(st.sampled_from([*"idfpqsb", "other", "note", "n"]), unique=True, max_size=6)
    names = ["numRecords", "minValues", "maxValues", "nullCount", "other"]
    top = draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    return [(name, draw(inner)) if name.endswith(("Values", "Count")) else name for name in top]


def _render(template: list[Any], pick: random.Random, odds: float, gap: str) -> str:
    def value(name: str) -> str:
        if pick.random() < odds:
            return pick.choice(_ODD)
        return pick.choice(_TOKENS[name])

    def struct(names: list[str], count: bool) -> str:
        fields = []
        for name in names:
            inside = value("i" if count else name) if name != "n" else '{"t":' + value("t") + "}"
            fields.append(f'"{name}":{gap}{inside}')
        return "{" + ",".join(fields) + "}"

    parts = [
        f'"{item}":{gap}{value(item)}'
        if isinstance(item, str)
        else f'"{item[0]}":{gap}{struct(item[1], item[0] == "nullCount")}'
        for item in template
    ]
    return "{" + f",{gap}".join(parts) + "}"


def _mutated(text: str, pick: random.Random) -> str:
    at = pick.randrange(len(text) + 1)
    kind = pick.randrange(6)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + pick.choice('"{}[],:\\ 0-.eé\n') + text[at:]
    if kind == 2:
        return text[:at] + text[at + 1 :]
    if kind == 3:
        return pick.choice([" ", "\n", "{}", "x"]) + text
    if kind == 4:
        return text + pick.choice([" ", "\n", "{}", "}"])
    # a name twice
    return text[:1] + text[1:].rstrip("}") + "," + text[1:] if at % 2 else text[:at] + text[at:] * 2


@st.composite
def _companies(draw: st.DrawFn) -> list[str]:
    """Many texts: of one shape, or of two; with odd values; and some that are damaged."""
    pick = random.Random(draw(st.integers(0, 2**32)))
    templates = [_template(draw) for _ in range(draw(st.integers(1, 2)))]
    gap = draw(st.sampled_from(["", " "]))
    odds = draw(st.sampled_from([0.0, 0.0, 0.002, 0.05]))
    texts = [_render(pick.choice(templates), pick, odds, gap) for _ in range(600)]
    for _ in range(draw(st.integers(0, 8))):
        at = pick.randrange(len(texts))
        texts[at] = _mutated(texts[at], pick)
    return texts


def _values(columns: Any, at: int) -> dict[Any, str]:
    # as text, which tells -0.0 from 0.0
    return {path: repr(columns[path][at].as_py()) for path in LEAVES}


@seed(SEED)
@settings(max_examples=30 if EVERYTHING else 10, deadline=None)
@given(_companies())
def test_what_is_cut_out_is_what_the_text_alone_says(texts: list[str]) -> None:
    alone: dict[str, Any] = {}
    for part in read_uniform(pa.array(texts, pa.string()), LEAVES):
        assert set(part.columns) == set(LEAVES)
        for place, row in enumerate(part.rows.tolist()):
            text = texts[row]
            if text not in alone:
                single = parse_statistics_texts(pa.array([text], pa.string()), LEAVES)
                alone[text] = None if single.bad else _values(single.columns, 0)
            assert alone[text] is not None, text
            found = _values(part.columns, place)
            for path, value in found.items():
                # where pyarrow minds something else, a text that looks like no number is let go
                lost = value in _NO_NUMBERS and alone[text][path] == "None"
                assert value == alone[text][path] or lost, (path, text)


_GOOD = {
    **dict.fromkeys(LEAVES, "3"),
    ("minValues", "s"): '"a"',
    ("maxValues", "s"): '"z"',
    ("minValues", "n", "t"): '"deep"',
    ("maxValues", "b"): "true",
}


def _text(tokens: dict[tuple[str, ...], str]) -> str:
    """An object with these values at their places."""
    root: dict[str, Any] = {}
    for path, token in tokens.items():
        inner = root
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = token

    def render(value: Any) -> str:
        if isinstance(value, str):
            return value
        return "{" + ",".join(f'"{name}":{render(item)}' for name, item in value.items()) + "}"

    return render(root)


_PLACES = [*LEAVES, ("unasked",), ("minValues", "unasked"), ("minValues",), ("minValues", "n")]


@pytest.mark.parametrize("place", _PLACES, ids=".".join)
def test_any_value_in_any_place_says_among_many_what_it_says_alone(place: tuple[str, ...]) -> None:
    usual = _text(_GOOD)
    kept = {path: token for path, token in _GOOD.items() if path[: len(place)] != place}
    tokens = dict.fromkeys([token for some in _TOKENS.values() for token in some] + _ODD)
    for token in tokens:
        odd = _text(kept | {place: token})
        alone = parse_statistics_texts(pa.array([odd], pa.string()), LEAVES)
        expected = [_values(alone.columns, 0), bool(alone.bad)]
        for texts in ([usual] * 255 + [odd], [odd] + [usual] * 255, [odd] * 256):
            found = parse_statistics_texts(pa.array(texts, pa.string()), LEAVES)
            at = texts.index(odd)
            assert [_values(found.columns, at), at in found.bad] == expected, odd
            assert len(found.bad) == (texts.count(odd) if alone.bad else 0), odd
            if texts.count(usual):
                assert found.columns["numRecords",][150].as_py() == 3


# as many commas as `{"minValues":{"s":"x","i":1},"numRecords":5}`, and another meaning, or none
_AS_MANY_COMMAS = [
    '{"minValues":{"i":1,"s":"x"},"numRecords":5}',
    '{"minValues":{"s":"x,1"},"numRecords":5}',
    '{"minValues":{"s":"x","i":1,"numRecords":5}}',
    '{"minValues":{"s":"x"},"maxValues":{"i":1,"s":"y"}}',
    '{"minValues":{"s":"x","i":1},"numRecords":[5]}',
    '{"minValues":{"s":"x\\","i":1},"numRecords":5}',
    '{"minValues":{"s":"x\\"y","i":1},"numRecords":5}',
    '{"minValues":{"s":"\\u0078","i":1},"numRecords":5}',
    '{"minValues":{"s":"x"y","i":1},"numRecords":5}',
    '{"minValues":{"s":"x\x01","i":1},"numRecords":5}',
    '{"minValues":{"s":"x","i":1},"numRecords":"5"}',
    '{"minValues":{"s":"x","i":1},"numRecords":5 }',
    '{"minValues":{"s":x,"i":1},"numRecords":5}',
    '{"minValues":{"s":"","i":-0},"numRecords":5}',
    '{"minValues":{"s":"☃","i":+1},"numRecords":5}',
    '{"minValues":{"s":"☃","i":1},"numRecords":05}',
    '{"minValues":{"s":"x","i":1},"numRecords":5}}',
    '{"minValues":{"s":"x","i":},"numRecords":5}',
    ",,",
    '"a,b,c"',
]


@pytest.mark.sampled(one_in=3, each="odd")
@pytest.mark.parametrize("asked", [("minValues", "s"), ("numRecords",), None], ids=str)
@pytest.mark.parametrize("odd", _AS_MANY_COMMAS)
def test_a_text_with_as_many_commas_as_the_others_says_what_it_says_alone(
    odd: str, asked: tuple[str, ...] | None
) -> None:
    leaves = {path: kind for path, kind in LEAVES.items() if asked in {None, path}}
    texts = [
        f'{{"minValues":{{"s":"{"x" * (at % 3)}","i":{at}}},"numRecords":5}}' for at in range(300)
    ]
    alone = parse_statistics_texts(pa.array([odd], pa.string()), leaves)
    for at in (0, 150, 299):
        mixed = [*texts[:at], odd, *texts[at + 1 :]]
        found = parse_statistics_texts(pa.array(mixed, pa.string()), leaves)
        assert list(found.bad) == ([at] if alone.bad else [])
        for path in leaves:
            assert repr(found.columns[path][at]) == repr(alone.columns[path][0])
            others = found.columns[path].to_pylist()
            expected = {("minValues", "s"): "x", ("minValues", "i"): 1, ("numRecords",): 5}.get(
                path
            )
            assert others[1 if at != 1 else 4] == expected


def test_texts_of_another_shape_than_those_before_are_read_as_they_are() -> None:
    leaves = {path: LEAVES[path] for path in (("minValues", "i"), ("maxValues", "i"))}
    for names in (("min", "max"), ("max", "min"), ("min", "max")):
        texts = [
            f'{{"{names[0]}Values":{{"i":{at}}},"{names[1]}Values":{{"i":{1000 + at}}}}}'
            for at in range(300)
        ]
        found = parse_statistics_texts(pa.array(texts, pa.string()), leaves).columns
        assert found[f"{names[0]}Values", "i"].to_pylist() == [*range(300)]
        assert found[f"{names[1]}Values", "i"].to_pylist() == [*range(1000, 1300)]
