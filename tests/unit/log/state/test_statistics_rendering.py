"""Statistics as columns say as JSON what they said before."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.log.state._statistics_rendering import render_statistics

_STRUCT_TYPE = pa.struct(
    [
        ("numRecords", pa.int64()),
        (
            "minValues",
            pa.struct(
                [
                    ("s", pa.string()),
                    ("f", pa.float32()),
                    ("d", pa.float64()),
                    ("dec", pa.decimal128(20, 5)),
                    ("ts", pa.timestamp("us", "UTC")),
                    ("ntz", pa.timestamp("us")),
                    ("day", pa.date32()),
                    ("bool", pa.bool_()),
                    ('in "q"', pa.struct([("é", pa.int8())])),
                ]
            ),
        ),
        ("tightBounds", pa.bool_()),
    ]
)
_TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001  # as drawn
_VALUES = st.none() | st.fixed_dictionaries(
    {
        "numRecords": st.none() | st.integers(0, 2**63 - 1),
        "minValues": st.none()
        | st.fixed_dictionaries(
            {
                "s": st.none() | st.text(st.characters(exclude_categories=["Cs"])),
                "f": st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False),
                "d": st.none() | st.floats(allow_nan=False, allow_infinity=False),
                "dec": st.none() | st.decimals("-1e14", "1e14", places=5),
                "ts": st.none() | _TIMES.map(lambda found: found.replace(tzinfo=UTC)),
                "ntz": st.none() | _TIMES,
                "day": st.none() | st.dates(),
                "bool": st.none() | st.booleans(),
                'in "q"': st.none() | st.fixed_dictionaries({"é": st.integers(-128, 127)}),
            }
        ),
        "tightBounds": st.none() | st.booleans(),
    }
)


def _plain(value: Any) -> Any:
    """What JSON says of a value; nulls and what holds nothing else are left out."""
    match value:
        case dict():
            found = {key: _plain(item) for key, item in value.items() if item is not None}
            return {key: item for key, item in found.items() if item != {}}
        case datetime():
            return value.replace(tzinfo=None)
        case date():
            return value.isoformat()
        case _:
            return value


def _read(body: Any) -> Any:
    """A rendered object with its times and numbers as values."""
    if not isinstance(body, dict):
        return body
    found = {key: _read(item) for key, item in body.items()}
    for key in ("ts", "ntz"):
        if key in found:
            found[key] = datetime.fromisoformat(found[key]).replace(tzinfo=None)
    if "dec" in found:
        found["dec"] = Decimal(found["dec"])
    for key in ("f", "d"):
        if key in found:
            found[key] = float(found[key])
    return found


@pytest.mark.slow
@given(st.lists(_VALUES, max_size=5))
def test_rendered_statistics_say_what_the_columns_say(values: list[Any]) -> None:
    structs = pa.array(values, _STRUCT_TYPE)
    for text, value in zip(
        render_statistics(structs).to_pylist(), structs.to_pylist(), strict=True
    ):
        if value is None:
            assert text is None
            continue
        found = _read(json.loads(text, parse_float=Decimal))
        expected = _plain(value)
        least = found.get("minValues", {})
        if "f" in least:
            least["f"] = pa.scalar(least["f"], pa.float32()).as_py()
        assert found == expected


def test_bounds_that_are_no_numbers_are_left_out() -> None:
    values = [float("nan"), float("inf"), float("-inf"), 1.0]
    kind = pa.struct([("minValues", pa.struct([("d", pa.float64())]))])
    structs = pa.array([{"minValues": {"d": value}} for value in values], kind)
    texts = [json.loads(text) for text in render_statistics(structs).to_pylist()]
    assert texts == [{}] * 3 + [{"minValues": {"d": 1.0}}]
