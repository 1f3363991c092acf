"""Dates and times of statistics, many at a time, against pyarrow reading each text alone."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.log.statistics.statistics_values import parse_times

_KINDS = {
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(),
}
_TEXT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?P<clock>[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
    r"(?P<zone>[zZ]|[+-][0-9]{2}(:?[0-9]{2})?)?"
)


def _expected(text: str | None, kind: pa.DataType) -> int | None:
    """What one text says, in the unit of its type; None where it is no such value."""
    found = None if text is None else _TEXT.fullmatch(text)
    if text is None or found is None:
        return None
    if kind == pa.date32():
        return None if found["clock"] or found["zone"] else _read(text, kind)
    zone = found["zone"] or ""
    if kind.tz is None:
        if zone not in {"", "z", "Z"}:
            return None
        text = text[: len(text) - len(zone)]
    elif zone in {"", "z"}:
        text = text[: len(text) - len(zone)] + "Z"
    return _read(re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text), kind)


def _read(text: str, kind: pa.DataType) -> int | None:
    try:
        value = pc.cast(pa.array([text]), kind)
    except pa.ArrowInvalid:
        return None
    plain = pa.int32() if kind == pa.date32() else pa.int64()
    number: int = value.cast(plain)[0].as_py()
    return number


def _check(texts: list[str | None], kind: pa.DataType) -> None:
    expected = [_expected(text, kind) for text in texts]
    held = pa.array(["before", *texts, "behind"], pa.string()).slice(1, len(texts))
    found, bad = parse_times(held, kind)
    assert found.type == kind
    found.validate(full=True)
    plain = pa.int32() if kind == pa.date32() else pa.int64()
    assert found.cast(plain).to_pylist() == expected
    assert bad == [
        at
        for at, (text, value) in enumerate(zip(texts, expected, strict=True))
        if text is not None and value is None
    ]


def _two(least: int, most: int) -> st.SearchStrategy[str]:
    return st.integers(least, most).map(lambda number: f"{number:02d}")


_YEAR = st.one_of(st.integers(1900, 2100), st.sampled_from([0, 1, 4, 100, 400, 1582, 9999]))


@st.composite
def _texts(draw: st.DrawFn) -> list[str | None]:
    """Texts of one form, a few of them odd: another form, no such day or time, or null."""
    separator = draw(st.sampled_from("T T T t"))
    size = draw(st.sampled_from([0, 0, 1, 2, 3, 3, 5, 6, 6, 7, 9]))
    zone = draw(st.sampled_from(["Z", "Z", "", "z", "+01:00", "-0930", "+05"]))
    is_date = draw(st.booleans())
    odds = draw(st.sampled_from([0, 0, 0, 1]))

    def one() -> str:
        day = f"{draw(_YEAR):04d}-{draw(_two(1, 12))}-{draw(_two(1, 28 + 3 * odds))}"
        if is_date:
            return day
        clock = ":".join([draw(_two(0, 23 + odds)), draw(_two(0, 59)), draw(_two(0, 59 + odds))])
        fraction = "." + draw(st.text("0123456789", min_size=size, max_size=size)) if size else ""
        return f"{day}{separator}{clock}{fraction}{zone}"

    texts: list[str | None] = [one() for _ in range(draw(st.integers(1, 12)))]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(texts) - 1))
        text = texts[at] or ""
        place = draw(st.integers(0, len(text)))
        damaged = text[:place] + draw(st.sampled_from("0129-+:.TZ /;é\u0663")) + text[place + 1 :]
        texts[at] = draw(st.sampled_from([None, damaged, damaged, text[:-1], text + "0", ""]))
    return texts


@pytest.mark.parametrize("name", _KINDS)
@given(texts=_texts())
@example(texts=["2024-02-29T23:59:59.999999Z", "2000-02-29T00:00:00.000000Z"])
@example(texts=["2023-02-28T23:59:59.999Z", "2023-02-29T00:00:00.000Z"])
@example(texts=["0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", None])
@example(texts=["0000-01-01", "9999-12-31", None, "1970-01-01"])
@example(texts=["1900-01-01T00:00:00z", "1900-01-01T00:00:00.000000ZZ"])
@example(texts=["1900-02-29", "2100-03-31"])
@example(texts=["2024-00-10", "2024-01-00"])
def test_many_times_say_what_each_of_them_says_alone(name: str, texts: list[str | None]) -> None:
    _check(texts, _KINDS[name])


@pytest.mark.parametrize("digits", range(10))
@pytest.mark.parametrize("name", ["timestamp", "timestamp_ntz"])
def test_each_number_of_digits_below_a_second_is_cut_to_microseconds(
    name: str, digits: int
) -> None:
    fraction = "." + "198765432"[:digits] if digits else ""
    zone = "Z" if name == "timestamp" else ""
    texts = [f"19{year:02d}-12-31T23:59:5{year % 10}{fraction}{zone}" for year in range(50, 90)]
    _check([*texts], _KINDS[name])
    values: Any = parse_times(pa.array(texts), _KINDS[name])[0].cast(pa.int64())
    assert values[20].as_py() == 31_535_990_000_000 + int(f"{fraction[1:7]:0<6}")
