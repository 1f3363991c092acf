"""`numRecords` of statistics that may be anything."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.log.actions.record_counts import record_counts

_FIRST = re.compile(r'\{"numRecords":(0|[1-9][0-9]{0,17})[,}]')


def _simply(text: str | None) -> int | None:
    """One string by the shortest rule: a count that stands first is believed whatever
    follows, as long as the string ends like an object."""
    if text is None:
        return None
    if text.endswith("}") and (first := _FIRST.match(text)):
        return int(first[1])
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    count = value.get("numRecords") if isinstance(value, dict) else None
    fits = type(count) is int and 0 <= count < 2**63
    return count if fits else None


def _counts(texts: list[str | None], parsed: pa.ChunkedArray | None = None) -> list[int | None]:
    found = record_counts(pa.chunked_array([pa.array(texts, pa.string())]), parsed)
    found.validate(full=True)
    assert found.type == pa.int64()
    assert len(found) == len(texts)
    return found.to_pylist()


_USUAL = (
    '{"numRecords":3}',
    '{"numRecords":0,"minValues":{"a":1},"maxValues":{"a":"}{"},"nullCount":{"a":0}}',
    '{"minValues":{"numRecords":99},"numRecords":4}',
    '{"nullCount":{"a":{"numRecords":7}},"tightBounds":true,"numRecords":9007199254740993}',
    '{"numRecords": 5 , "x" : [1, {"numRecords": 6}]}',
    '{"numRecords":9223372036854775807}',
)
_ODD = (
    "",
    " ",
    "{}",
    "null",
    "5",
    "[]",
    '"numRecords"',
    '{"numRecords":null}',
    '{"numRecords":-5}',
    '{"numRecords":"5"}',
    '{"numRecords":5.0}',
    '{"numRecords":5.5}',
    '{"numRecords":1e3}',
    '{"numRecords":true}',
    '{"numRecords":[5]}',
    '{"numRecords":{"a":5}}',
    '{"numRecords":9223372036854775808}',
    '{"numRecords":99999999999999999999999}',
    '{"minValues":{"numRecords":99}}',
    '{"NUMRECORDS":5}',
    '{"numRecords":5',
    '"numRecords":5}',
    '{"numRecords":5}x',
    '{"numRecords":5,}',
    "{'numRecords':5}",
    '\n{"numRecords":5}',
    '{"numRecords":5}\n',
    '{\n"numRecords":5\n}',
    '{"numRecords":5,"a":"\\ud83e\\udd80"}',
    '{"größe":"表","numRecords":5}',
    '{"a":' + "[" * 500 + "]" * 500 + ',"numRecords":5}',
)
# alone they are broken; next to each other they look like as many whole objects
_TRICKS = (
    '{"numRecords":1}{"numRecords":2}',
    '{"numRecords":1} {"numRecords":2}',
    '{"numRecords":1}\n{"numRecords":2}',
    '{"x":"}',
    '{","numRecords":7}',
    '{"numRecords":8,"y":{}',
    "{}}",
    '{"a":1,"numRecords":1}{"numRecords":2}',
    '{"a":1,"numRecords":1} {"numRecords":2}',
    '{"a":1,"numRecords":8,"y":{}',
    '{"numRecords":1},{"numRecords":2}',
)
_ANY = st.sampled_from((*_USUAL, *_ODD, *_TRICKS, None))


@pytest.mark.rule("file-add-stats-json-string", "older-003-stats-no-tightbounds")
@pytest.mark.rule("stats-numrecords")
@pytest.mark.parametrize("text", [*_USUAL, *_ODD, *_TRICKS])
def test_count_of_one(text: str) -> None:
    assert _counts([text]) == [_simply(text)]


@given(st.lists(_ANY, max_size=12))
def test_count_of_each_is_its_own(texts: list[str | None]) -> None:
    assert _counts(texts) == [_simply(text) for text in texts]


@given(st.lists(st.sampled_from((*_USUAL, None)), max_size=300), _ANY, st.integers(0, 300))
def test_one_broken_among_many_spoils_no_other(
    texts: list[str | None], broken: str | None, at: int
) -> None:
    texts = [*texts[:at], broken, *texts[at:]]
    assert _counts(texts) == [_simply(text) for text in texts]


@given(st.lists(st.lists(_ANY, max_size=5), max_size=4), st.integers(0, 6))
def test_chunks_and_slices_are_counted_alike(chunks: list[list[str | None]], skipped: int) -> None:
    whole = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())
    wanted = [_simply(text) for chunk in chunks for text in chunk]
    assert record_counts(whole, None).to_pylist() == wanted
    assert record_counts(whole.slice(skipped), None).to_pylist() == wanted[skipped:]


@pytest.mark.rule("checkpoint-schema-stats-parsed")
def test_parsed_counts_speak_first() -> None:
    texts = ['{"numRecords":1}', '{"numRecords":2}', None, "x"]

    def parsed(*values: int | None, kind: Any = None) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array(values, kind or pa.int64())])

    assert _counts(texts, parsed(10, 20, 30, 40)) == [10, 20, 30, 40]
    assert _counts(texts, parsed(10, None, None, 40)) == [10, 2, None, 40]
    assert _counts(texts, parsed(10, None, 30, 40, kind=pa.int32())) == [10, 2, 30, 40]
    assert _counts(texts, parsed(None, None, None, None)) == [1, 2, None, None]


def test_parsed_counts_of_another_type_say_nothing() -> None:
    texts: list[str | None] = ['{"numRecords":1}', None]
    for values in (["5", "6"], [1.5, 2.5], [True, False]):
        assert _counts(texts, pa.chunked_array([pa.array(values)])) == [1, None]


def test_negative_parsed_counts_count_as_unknown() -> None:
    parsed = pa.chunked_array([pa.array([-5, 6], pa.int64())])
    assert _counts([None, None], parsed) == [None, 6]


def test_statistics_nested_100000_deep_are_survived() -> None:
    deep = '{"numRecords":5,"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    maps = '{"a":' * 100_000 + "1" + "}" * 100_000
    # read or not known, and the process goes on
    assert _counts([deep])[0] in {5, None}
    assert _counts([maps, '{"numRecords":6}'])[1] == 6
