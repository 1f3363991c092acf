"""How many statistics are read one by one because of a bad one: no clock says that reliably."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from explorer.log import single_count as counting
from explorer.log.actions.record_counts import record_counts
from explorer.log.state.file_columns import FileColumns
from explorer.log.statistics import statistics_text as reading
from explorer.log.statistics import statistics_values as values
from explorer.log.statistics.statistics_values import parse_times
from explorer.protocol.schema import PrimitiveType
from explorer.scan.statistics.column_statistics import StatisticsColumn, read_facts

KINDS = {"id": "long", "d": "double", "s": "string", "t": "timestamp", "day": "date"}
COLUMNS = [
    StatisticsColumn(path=(name,), physical=(name,), data_type=PrimitiveType(name=kind))
    for name, kind in KINDS.items()
]
FILES = 100_000
BATCH = 8192

# what stands in good statistics, and what instead of it in bad ones
BAD = {
    "a month that there is not": ("2021-01-01T", "2021-99-01T"),
    "a day that there is not": ("2021-03-01", "2021-02-29"),
    "an hour that there is not": ("T05:00", "T25:00"),
    "a time that is none": ("2021-01-01T05:00:00.000Z", "some time"),
    "text for a number": ('"id":1,', '"id":"x",'),
    "a fraction for an integer": ('"id":1,', '"id":1.5,'),
    "an integer beyond 64 bits": ('"id":1,', '"id":99999999999999999999,'),
    "a number beyond a double": ('"d":1.5', '"d":1e999'),
    "a number for text": ('"s":"a"', '"s":5'),
    "an object for a number": ('"id":1,', '"id":{"a":1},'),
    "half a character": ('"s":"a"', '"s":"\\ud800"'),
    "a name twice": ('"id":1,', '"id":1,"id":2,'),
    "a cut text": ('"nullCount"', '"'),
    "text for a count": ('"numRecords":10', '"numRecords":"10"'),
    "a fraction for a count": ('"numRecords":10', '"numRecords":1.5'),
    "a count below zero": ('"numRecords":10', '"numRecords":-1'),
    "more nulls than rows": ('"nullCount":{"id":0', '"nullCount":{"id":11'),
    "a least value above the greatest": ('"id":1,', '"id":70,'),
}
_BOUNDS = '"d":1.5,"s":"a","t":"2021-01-01T05:00:00.000Z","day":"2021-03-01"}'
_PARTS = (
    '"numRecords":10',
    f'"minValues":{{"id":1,{_BOUNDS}',
    f'"maxValues":{{"id":9,{_BOUNDS}',
    '"nullCount":{"id":0,"d":0,"s":0,"t":0,"day":0}',
)


def _orders() -> list[str]:
    orders = [[*_PARTS[at:], *_PARTS[:at]] for at in range(4)]
    orders += [order[::-1] for order in orders]
    return ["{" + ",".join(order) + "}" for order in orders]


# as one writer has them, and in so many orders that no shape is common
ORDERS = _orders()
GOOD = {
    "alike": pa.array([ORDERS[0]] * FILES),
    "mixed": pa.array([ORDERS[at % 8] for at in range(FILES)]),
}
MIXED = [
    "a day that there is not",
    "an integer beyond 64 bits",
    "a number beyond a double",
    "a name twice",
    "a cut text",
    "a fraction for a count",
]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts texts that are looked at, and those that are read, one by one, and what is asked
    of Arrow for times."""
    found: Counter[str] = Counter()
    look, read = reading.sort_out, reading.read_one

    def sort_out(texts: Iterable[str], leaves: Any) -> Any:
        every = list(texts)
        found["looked at"] += len(every)
        return look(every, leaves)

    def read_one(text: str, leaves: Any) -> Any:
        found["read"] += 1
        return read(text, leaves)

    def loads(text: str) -> Any:
        found["counted"] += 1
        return orjson.loads(text)

    monkeypatch.setattr(reading, "sort_out", sort_out)
    monkeypatch.setattr(reading, "read_one", read_one)
    instead = SimpleNamespace(loads=loads, JSONDecodeError=orjson.JSONDecodeError)
    monkeypatch.setattr(counting, "orjson", instead)
    monkeypatch.setattr(values, "pc", _Counted(found))
    return found


class _Counted:
    """Arrow's functions, which counts how often it is asked for one of them."""

    def __init__(self, found: Counter[str]) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        self._found["calls of Arrow"] += 1
        return getattr(pc, name)


def bad_among(stats: pa.ChunkedArray) -> tuple[int, ...]:
    """The positions of those that are bad."""
    files = FileColumns(table=pa.Table.from_arrays([stats], ["stats"]), leaves={})
    record_counts(stats, None)
    return read_facts(files, COLUMNS).bad


@pytest.mark.slow
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("form", "name"),
    [*(("alike", name) for name in BAD), *(("mixed", name) for name in MIXED)],
)
def test_one_bad_value_sends_no_more_than_one_batch_of_many_on_the_slow_road(
    alone: Counter[str], name: str, form: str
) -> None:
    good, at = GOOD[form], FILES // 2
    bad = pa.array([good[at].as_py().replace(*BAD[name])])
    assert bad[0] != good[at]
    assert bad_among(pa.chunked_array([good[:at], bad, good[at + 1 :]])) == (at,)
    assert alone["looked at"] <= (1 if form == "alike" else BATCH)
    assert alone["read"] <= 1
    assert alone["counted"] <= 64


@pytest.mark.slow
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("every", [1, 1000])
@pytest.mark.parametrize("name", [name for name in BAD if name.endswith("there is not")])
def test_days_and_times_that_there_are_not_are_never_read_one_by_one(
    alone: Counter[str], name: str, every: int
) -> None:
    bad = ORDERS[0].replace(*BAD[name])
    texts = [ORDERS[0] if at % every else bad for at in range(FILES)]
    assert bad_among(pa.chunked_array([texts])) == tuple(range(0, FILES, every))
    assert 0 < alone.pop("calls of Arrow") < 50  # for all files together
    assert alone == {}


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 4, 1000])
def test_times_of_several_forms_are_read_at_once_with_those_that_there_are_not(
    alone: Counter[str], every: int
) -> None:
    forms = ["T05:00:00.1Z", "T05:00:00Z", " 05:00:00.123456789-08:00"]
    texts = [f"2021-{'02' if at % every else '99'}-01{forms[at % 3]}" for at in range(FILES)]
    found, bad = parse_times(pa.array(texts), pa.timestamp("us", "UTC"))
    assert bad == list(range(0, FILES, every))
    assert found.null_count == len(bad)
    assert alone["calls of Arrow"] < 50
