"""What many commits record is read into columns, which say what each line does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.errors import NotFoundError
from explorer.log.commits import info_columns, recorded_infos
from explorer.log.commits.info_bodies import columns_of_bodies
from explorer.log.commits.info_columns import InfoReader
from tests.sampling import sample
from tests.tables import PROTOCOL, LogFolder, commit_name, metadata

_SPARK = {
    "timestamp": 1750000000000,
    "userName": "etl",
    "operation": "MERGE",
    "operationParameters": {"mode": "Append", "partitionBy": '["region","day"]'},
    "readVersion": 7,
    "isolationLevel": "Serializable",
    "isBlindAppend": False,
    "operationMetrics": {"numFiles": "1", "numOutputRows": "1000"},
    "tags": {"a": {"b": "c"}, "d": {}},
    "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0",
    "txnId": "6be3062f-3862-44a9-acd7-e604a9cffce9",
}


def _line(info: Any, **others: Any) -> bytes:
    return orjson.dumps({"commitInfo": info, **others}) + b"\n"


def _with(**fields: Any) -> bytes:
    """A usual line with other values."""
    return _line(_SPARK | fields)


READ: dict[str, bytes] = {
    "a usual one": _with(),
    "nothing": _line({}),
    "nothing that is asked for": _line({"timestamp": 5, "clusterId": None, "cost": 1.25}),
    "an in-commit timestamp": _with(inCommitTimestamp=1_750_000_000_123),
    "a negative one": _with(inCommitTimestamp=-5, readVersion=-1),
    "zeros": _with(inCommitTimestamp=0, readVersion=0),
    "the longest numbers": _with(readVersion=10**18 - 1, operationMetrics={"n": -(10**18) + 1}),
    "numbers, words and nulls in maps": _with(
        operationMetrics={"files": 3, "zero": 0, "below": -12, "done": True, "none": None},
        operationParameters={"none": None},
    ),
    "empty maps": _with(operationMetrics={}, operationParameters={}),
    "null instead of maps": _with(operationMetrics=None, operationParameters=None),
    "other things instead of maps": _with(operationMetrics="x", operationParameters=5),
    "an odd name in a map": _with(
        operationMetrics={"": "1", "a.b [c] {d} $^|?*+()": "2", "ä": "3"}
    ),
    "names of other fields in a map": _with(operationMetrics={"operation": "x", "commitInfo": "y"}),
    "many names": _with(operationMetrics={f"metric {at}": str(at) for at in range(60)}),
    "wrong types": _line(
        {"operation": 5, "userName": {}, "engineInfo": True, "readVersion": "1", "isBlindAppend": 0}
    ),
    "other wrong types": _line(
        {"readVersion": True, "isBlindAppend": "true", "operation": None, "inCommitTimestamp": "5"}
    ),
    "reals instead of numbers": _line({"readVersion": 1.5, "inCommitTimestamp": 7.25}),
    "escapes": _with(operation='a"b\\c/d\b\f\n\r\t', userName="\\u0041"),
    "a solidus with and without": _with().replace(b"Delta-Lake/4", rb"Delta-Lake\/4"),
    "letters of all kinds": _with(userName="Äß\u20ac\U0001f600\x7f\u2028", operation=""),
}
"""What is read into columns."""

LEFT: dict[str, bytes] = {
    "spaces": json.dumps({"commitInfo": _SPARK}).encode() + b"\n",
    "a space at the end": _with()[:-1] + b" \n",
    "a newline of Windows": _with()[:-1] + b"\r\n",
    "a space before": b" " + _with(),
    "a mark of byte order": b"\xef\xbb\xbf" + _with(),
    "no newline": _with()[:-1],
    "no line": b"",
    "an empty line": b"\n",
    "another action": _line(1).replace(b"commitInfo", b"add"),
    "another action beside it": _line(_SPARK, add={"path": "x"}),
    "another action before it": b'{"txn":{"appId":"a","version":1},' + _with()[1:],
    "null": _line(None),
    "a list": _line([_SPARK]),
    "cut off": _with()[:-9] + b"\n",
    "a brace too many": _with()[:-1] + b"}\n",
    "a comma too many": _with().replace(b"}}\n", b",}}\n"),
    "a comment": _with()[:-1] + b"//\n",
    "two on one line": _with()[:-1] + _with(),
    "one name twice": _with().replace(b'"operation":', b'"operation":"x","operation":'),
    "the action twice": b'{"commitInfo":{"operation":"x"},' + _with()[1:],
    "one name of a map twice": _with().replace(b'"mode":', b'"mode":"x","mode":'),
    "a name with an escape": _with().replace(b'"mode":', rb'"mo\u0064e":'),
    "a name with a quote": _with(operationMetrics={'a"b': "1"}),
    "a list in a map": _with(operationParameters={"partitionBy": []}),
    "an object in a map": _with(operationParameters={"x": {"a": None}}),
    "a real in a map": _with(operationMetrics={"seconds": 1.5}),
    "a list for a number": _with(readVersion=[1]),
    "a number of 64 bits": _with(readVersion=2**63 - 1),
    "a number of 65 bits": _with(readVersion=2**63),
    "a very great number": _with(operationMetrics={"rows": 12345678901234567890}),
    "a number with an exponent": _with().replace(b":7,", b":7e0,"),
    "a number beyond all bounds": _with().replace(b":1750000000000,", b":1e999,"),
    "a number with zeros": _with().replace(b":7,", b":007,"),
    "a negative zero": _with(operationMetrics={"n": 0}).replace(b'"n":0', b'"n":-0'),
    "no number": _with().replace(b":7,", b":NaN,"),
    "a sign": _with().replace(b":7,", b":+7,"),
    "a word in capitals": _with().replace(b"false", b"False"),
    "an escape by number": _with().replace(b"MERGE", rb"M\u0045RGE"),
    "half of a pair": _with().replace(b"MERGE", rb"\ud800"),
    "half of a pair as bytes": _with().replace(b"MERGE", b"\xed\xa0\x80"),
    "no UTF-8": _with().replace(b"MERGE", b"M\xff"),
    "a long way of writing": _with().replace(b"MERGE", b"M\xc0\x80"),
    "a bare NUL": _with().replace(b"MERGE", b"M\0"),
    "a NUL": _with().replace(b"MERGE", rb"M\u0000"),
    "a tab": _with().replace(b"MERGE", b"M\t"),
    "an escape that JSON has not": _with().replace(b"MERGE", rb"M\x41"),
    "quotes of Python": _with().replace(b'"', b"'"),
    "very many names": _with(operationMetrics={f"{at}": "" for at in range(400)}),
    "nested deep": _line({"a": 0}).replace(b"0", b'{"a":' * 500 + b"0" + b"}" * 500),
    "lists in lists": _line({"a": 0}).replace(b"0", b"[" * 3000),
}
"""What is left to the reader of lines, for it could mean something else, or is rare."""


def _columns_of(line: bytes) -> pa.RecordBatch:
    return columns_of_bodies([orjson.loads(line)["commitInfo"]])


@pytest.mark.parametrize("line", READ.values(), ids=READ)
def test_columns_say_what_the_lines_do(line: bytes) -> None:
    lines = [line] * 20 + [_with(userName="other")] * 20 + [line] * 3
    found = InfoReader().read(lines)
    assert sorted(row for part in found for row in part.rows.tolist()) == list(range(43))
    for part in found:
        part.columns.validate(full=True)
        wanted = pa.Table.from_batches([_columns_of(lines[row]) for row in part.rows.tolist()])
        assert pa.Table.from_batches([part.columns]).equals(wanted)


@pytest.mark.parametrize("line", LEFT.values(), ids=LEFT)
def test_what_could_mean_something_else_is_left_to_the_reader_of_lines(line: bytes) -> None:
    usual = _with()
    for lines in ([line] * 30, [usual] * 20 + [line] * 20):
        found = InfoReader().read(lines)
        rows = {row for part in found for row in part.rows.tolist()}
        assert not any(lines[row] == line for row in rows)


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], list[dict[str, Any]]]:
    """The history of a table, the same by columns as commit by commit."""

    def ask(root: Path) -> list[dict[str, Any]]:
        monkeypatch.setattr(recorded_infos, "ENOUGH", 0)
        monkeypatch.setattr(info_columns, "FEWEST", 1)
        by_columns = explorer.open_table(root).history()
        by_columns.validate(full=True)
        monkeypatch.setattr(recorded_infos, "ENOUGH", sys.maxsize)
        one_by_one = explorer.open_table(root).history()
        assert by_columns.schema == one_by_one.schema
        assert by_columns.equals(one_by_one)
        return list(one_by_one.to_pylist())

    return ask


def _commit(root: Path, lines: Sequence[bytes]) -> Path:
    log = LogFolder(root)
    log.commit(0, [PROTOCOL, metadata()])
    for version, line in enumerate(lines, 1):
        log.write(commit_name(version), line + b'{"txn":{"appId":"a","version":1}}\n')
        log.time(version, 1_700_000_000_000 + version * 7 % 90)
    return log.root


def test_the_history_of_every_line_is_the_same_by_columns(
    tmp_path: Path,
    both_ways: Callable[[Path], list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # a commit that is no UTF-8 leaves those that are read with it to the reader of lines
    lines = [line for other in LEFT.values() for line in (*READ.values(), other)]
    for some in (list(READ.values()) * 3, lines):
        for at_a_time in sample((1, 7, 4096), 3, "commits at a time"):
            monkeypatch.setattr(recorded_infos, "AT_A_TIME", at_a_time)
            rows = both_ways(_commit(tmp_path / f"{len(some)} {at_a_time}", some))
            assert len(rows) == len(some) + 1


def test_commit_without_a_first_line_in_its_head_is_read_on(
    tmp_path: Path, both_ways: Callable[[Path], list[dict[str, Any]]]
) -> None:
    usual = [_with(readVersion=at) for at in range(20)]
    long = _with(operationParameters={"predicate": "x" * 10_000})
    late = b'{"add":{"path":"%s"}}\n' % (b"y" * 5000) + _with(userName="late")
    rows = both_ways(_commit(tmp_path / "table", [*usual, long, late, b"", *usual]))
    names = [row["user_name"] for row in rows[::-1]]
    assert names == [None, *["etl"] * 20, "etl", "late", None, *["etl"] * 20]
    assert len(dict(rows[20 + 2]["operation_parameters"])["predicate"]) == 10_000


def test_in_commit_timestamps_count_by_columns_too(
    tmp_path: Path, both_ways: Callable[[Path], list[dict[str, Any]]]
) -> None:
    log = LogFolder(tmp_path / "table")
    feature = {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["inCommitTimestamp"],
    }
    configuration = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "20",
        "delta.inCommitTimestampEnablementTimestamp": "5000",
    }
    for version in range(40):
        log.write(commit_name(version), _with(inCommitTimestamp=5000 + version))
        log.time(version, 1000 + version)
    log.commit(40, [{"protocol": feature}, metadata(configuration=configuration)])
    log.time(40, 9000)
    both_ways(log.root)
    times = [time.value for time in explorer.open_table(log.root).history()["timestamp"]]
    assert times[::-1] == [*range(1000, 1020), *range(5020, 5040), 9000]


def test_a_commit_that_went_away_is_no_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _commit(tmp_path / "table", [_with()] * 3)
    table = explorer.open_table(root)
    listing = table.listing()
    (root / "_delta_log" / commit_name(2)).unlink()
    monkeypatch.setattr(recorded_infos, "ENOUGH", 0)
    with pytest.raises(NotFoundError):
        list(recorded_infos.read_recorded(table.store, listing.commits))


@pytest.mark.slow
def test_first_lines_of_real_tables_are_read_into_columns(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(info_columns, "FEWEST", 1)
    commits = (corpus / "tables").glob("*/_delta_log/*.json")
    firsts = [place.read_bytes().split(b"\n")[0] + b"\n" for place in sorted(commits)]
    lines = [line for line in firsts if line.startswith(b'{"commitInfo":')]
    taken = 0
    for line in lines:
        for part in InfoReader().read([line]):
            assert part.columns.equals(_columns_of(line))
            taken += 1
    assert taken >= len(lines) * 0.95 > 400


def test_shapes_are_remembered_only_as_long_as_they_are_of_use() -> None:
    reader = InfoReader()
    for kind in range(40):
        lines = [_line({"operation": "W", f"field{kind}": "x"})] * 20
        assert [len(part.rows) for part in reader.read(lines)] == [20]
    mixed = [_line({"operation": "W", f"field{kind}": "x"}) for kind in range(40)] * 2
    found = reader.read(mixed)
    rows = [row for part in found for row in part.rows.tolist()]
    assert len(set(rows)) == len(rows) < len(mixed)


_SCALARS = st.one_of(
    st.text(max_size=5),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
_NAMES = st.sampled_from([*_SPARK, "inCommitTimestamp"]) | st.text(max_size=3)
_BODIES = st.dictionaries(
    _NAMES,
    _SCALARS | st.dictionaries(st.text(max_size=3), _SCALARS | st.lists(_SCALARS), max_size=3),
    max_size=6,
)


@pytest.mark.slow
@given(bodies=st.lists(_BODIES, min_size=1, max_size=3), separators=st.sampled_from([",:", ", :"]))
def test_whatever_is_read_into_columns_is_what_the_lines_say(
    bodies: list[dict[str, Any]], separators: str
) -> None:
    comma, colon = separators[:-1], separators[-1]
    written = [
        json.dumps({"commitInfo": body}, ensure_ascii=False, separators=(comma, colon))
        for body in bodies
    ]
    lines = [line.encode("utf-8", "surrogatepass") + b"\n" for line in written] * 20
    for part in InfoReader().read(lines):
        part.columns.validate(full=True)
        wanted = [_columns_of(lines[row]) for row in part.rows.tolist()]
        assert pa.Table.from_batches([part.columns]).equals(pa.Table.from_batches(wanted))
