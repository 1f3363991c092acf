"""Large log files are read into columns, and say what they do line by line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest

import explorer
from explorer.errors import DeltaError
from explorer.log.actions.fields import ADD_FIELDS, REMOVE_FIELDS
from explorer.log.commits import prefetched_columns
from explorer.log.commits.line_columns import LineColumns, LineReader, read_line_columns
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, metadata, remove, vector

_PARTS = {"partitionValues": {"part": "a b", "day": "2026-01-01"}}
_PART = {"partitionValues": {"part": "a b"}}
_DAY = {"partitionValues": {"day": "2026-01-01"}}
_STATS = '{"numRecords":3,"minValues":{"id":1,"text":"\\"ä\\u2028\\\\"}}'
_USUAL: list[Action] = [
    *(add(f"part={n}/{n}.parquet", stats=_STATS, **_PARTS) for n in range(20)),
    *(remove(f"part={n}/old.parquet", **_PARTS) for n in range(20)),
]


def _line(action: Any) -> bytes:
    return orjson.dumps(action)


def _text(actions: Iterable[Any]) -> bytes:
    return b"".join(_line(action) + b"\n" for action in actions)


def _answer(root: Path) -> Any:
    """All that a table tells of its files, as far as its order means nothing."""
    try:
        snapshot = explorer.open_table(root).snapshot()
        found = [snapshot.files(list(ADD_FIELDS)), snapshot.tombstones(list(REMOVE_FIELDS))]
        rows = [table.to_pylist(maps_as_pydicts="strict") for table in found]
    except DeltaError as error:
        return error.as_dict()
    problems = [problem.as_dict() for problem in snapshot.problems]
    return rows, problems, dict(snapshot.transactions)


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Any]:
    """What a table says line by line, having said the same by columns of each commit and of
    several at once."""

    def ask(root: Path) -> Any:
        for name in ("LARGE_FILE", "ENOUGH", "ENOUGH_SMALL", "ENOUGH_JOINED"):
            monkeypatch.setattr(prefetched_columns, name, 0)
        by_columns = _answer(root)
        monkeypatch.setattr(prefetched_columns, "LARGE_FILE", sys.maxsize)
        joined = _answer(root)
        monkeypatch.setattr(prefetched_columns, "ENOUGH_JOINED", sys.maxsize)
        by_lines = _answer(root)
        assert by_columns == by_lines
        assert joined == by_lines
        return by_lines

    return ask


def _commit(root: Path, *texts: bytes) -> Path:
    log = LogFolder(root)
    log.commit(0, [FEATURE_PROTOCOL, metadata(partitionColumns=["part"]), add("first.parquet")])
    for version, text in enumerate(texts, 1):
        log.write(f"{version:020}.json", text)
    return log.root


_LAST = _USUAL[-1]
_MIDDLE = _line(_USUAL[10])


def _instead(line: bytes) -> bytes:
    """A usual commit with something else on one line."""
    return _text(_USUAL).replace(_MIDDLE, line)


def _with(old: bytes, new: bytes) -> bytes:
    """A usual commit with something else in one place."""
    changed = _MIDDLE.replace(old, new)
    assert changed != _MIDDLE
    return _instead(changed)


READ: dict[str, bytes] = {
    "adds and removes": _text(_USUAL),
    "adds alone": _text(_USUAL[:20]),
    "no newline at the end": _text(_USUAL).rstrip(),
    "newlines of Windows": _text(_USUAL).replace(b"\n", b"\r\n"),
    "empty lines": _text(_USUAL).replace(b"\n", b"\n\n \n"),
    "other actions first, between and last": _text(
        [
            {"commitInfo": {"operation": "WRITE", "more": [1, {"add": 2}]}},
            *_USUAL[:7],
            {"txn": {"appId": "app", "version": 1}},
            {"cdc": {"path": "c.parquet", "partitionValues": {}, "size": 1, "dataChange": False}},
            *_USUAL[7:],
            {"txn": {"appId": "other", "version": 2}},
        ]
    ),
    "escapes in names and values": _text(_USUAL)
    .replace(b'"path"', rb'"p\u0061th"')
    .replace(b"old.parquet", rb"old\/\ud83d\ude00\t.parquet"),
    "absolute paths": _text(
        [*_USUAL, add("/data/x.parquet"), add("file:///data/y.parquet"), add("fine.parquet")]
    ).replace(b"{}", b'{"part":"a","day":"b"}'),
    "deletion vectors": _text(
        [
            *(remove(f"{n}.parquet") for n in range(9)),
            *(add(f"{n}.parquet", deletionVector=vector()) for n in range(9)),
            add("without.parquet"),
            add("inline.parquet", deletionVector={**vector(), "storageType": "i", "offset": None}),
        ]
    ),
    "nulls for fields": _text(add(f"{n}", tags=None, stats=None, baseRowId=None) for n in range(9)),
    "tags": _text(add(f"{n}", tags={"a": "b", "": "c"}) for n in range(9)),
    "row tracking": _text(
        add(f"{n}", baseRowId=n, defaultRowCommitVersion=1, clusteringProvider="x")
        for n in range(9)
    ),
    "a field that only some have": _text(
        [*(add(f"{n}") for n in range(3)), add("w", baseRowId=7), *(add(f"x{n}") for n in range(3))]
    ),
    "bare objects": b'{"add":{"path":"a"}}\n{"remove":{"path":"b"}}\n',
    "no partitions": _text(add(f"{n}") for n in range(9)),
    "no file at all": _text([{"txn": {"appId": "app", "version": 1}}]),
    "no partition values": _instead(_line({"add": {"path": "x", "size": 1}})),
    "partition values that are null": _instead(_line(add("x", partitionValues=None))),
    "a partition value that is null": _with(b'"a b"', b"null"),
    "a partition value that is missing": _with(b'"part":"a b",', b""),
    "one missing and another null": _text(
        [*_USUAL, add("n", partitionValues={"part": None, "day": "x"}), add("m", **_PART)]
    ),
    "tags of some": _text([*(add(f"{n}") for n in range(3)), add("t", tags={"a": "b"}), add("u")]),
    "other tags": _text([*(add(f"{n}", tags={"a": "b"}) for n in range(3)), add("t", tags={})]),
    "another partition column": _text([*_USUAL, add("x", partitionValues={"more": "x"})]),
    "tags that are null": _text(add(f"{n}", tags={"a": None, "b": "c"}) for n in range(3)),
    "the largest numbers": _text([add("a", size=2**63 - 1), add("b", size=-(2**63))]),
}
"""What is read into columns."""

LEFT: dict[str, bytes] = {
    "an unknown field": _instead(_line(add("x", **_PARTS, whatKind="new"))),
    "an unknown field without a value": _instead(_line(add("x", **_PARTS, whatKind=None))),
    "an unknown action beside it": _with(b'{"add"', b'{"add":{"path":"y"},"what":1,"add"'),
    "one name twice": _with(b'{"add":{', b'{"add":{"path":"other",'),
    "one action twice": _with(b'{"add":', b'{"add":{"path":"other"},"add":'),
    "an add and a remove on one line": _with(b'{"add":', b'{"remove":{"path":"r"},"add":'),
    "the same, add first": _instead(b'{"add":{"path":"a"},"remove":{"path":"r"}}'),
    "two actions on one line": _instead(_MIDDLE + _line(add("x", **_PARTS))),
    "one action on two lines": _with(b'{"add":{', b'{"add":{\n'),
    "two on one line, and one on two": _instead(
        _MIDDLE[:-1] + b"}" + b'{"add":{"path":"s"\n' + b',"size":1}}'
    ),
    "a space after the brace": _with(b'{"add":{', b'{ "add":{'),
    "a space before the value": _with(b'{"add":{', b'{"add": {'),
    "a space before the line": _instead(b" " + _MIDDLE),
    "a mark of byte order": b"\xef\xbb\xbf" + _text(_USUAL),
    "a number with a fraction": _with(b'"size":100', b'"size":100.0'),
    "a number with an exponent": _with(b'"size":100', b'"size":1e2'),
    "a number with zeros": _with(b'"size":100', b'"size":00100'),
    "a number in quotes": _with(b'"size":100', b'"size":"100"'),
    "a number of 65 bits": _with(b'"size":100', b'"size":9223372036854775808'),
    "no number": _with(b'"size":100', b'"size":NaN'),
    "a word in quotes": _with(b'"dataChange":true', b'"dataChange":"true"'),
    "a number for a word": _with(b'"dataChange":true', b'"dataChange":1'),
    "a number for a text": _with(b'"part=10/10.parquet"', b"10"),
    "no path": _with(b'"path":"part=10/10.parquet",', b""),
    "a path that is null": _with(b'"part=10/10.parquet"', b"null"),
    "NUL in a path": _with(b"10.parquet", rb"10\u0000.parquet"),
    "a bare NUL": _with(b"10.parquet", b"10\0.parquet"),
    "no UTF-8": _with(b"10.parquet", b"10\xff.parquet"),
    "half of a pair": _with(b"10.parquet", rb"10\ud800.parquet"),
    "the other half": _with(b"10.parquet", rb"10\udc00.parquet"),
    "half of a pair as bytes": _with(b"10.parquet", b"10\xed\xa0\x80.parquet"),
    "a control character": _with(b"10.parquet", b"10\x01.parquet"),
    "a comma too many": _with(b"}}", b",}}"),
    "a comment": _instead(_MIDDLE + b"//"),
    "cut off": _text(_USUAL)[:-9],
    "a null for an add": _instead(b'{"add":null}'),
    "a list for an add": _instead(b'{"add":[]}'),
    "a partition value that is null here and missing there": _text(
        [*_USUAL, add("n", partitionValues={"part": None, "day": "x"}), add("m", **_DAY)]
    ),
    "a partition value that is missing, another null with a space": _text(
        [*_USUAL, add("n", partitionValues={"part": None, "day": "x"}), add("m", **_PART)]
    ).replace(b'"part":null', b'"part": null'),
    "a null that may be of a tag": _text(
        [add("t", tags={"part": None}, **_PARTS), add("m", tags={"part": "x"}, **_DAY)]
    ),
    "a partition column with the name of a field": _text(
        [add("a", partitionValues={"tags": "x"}), add("b", partitionValues={"tags": None})]
    ),
    "a partition value that is a number": _with(b'"a b"', b"1"),
    "another partition column": _text(
        [*_USUAL[:2], add("x", partitionValues={"more": "x"}), *_USUAL[3:]]
    ),
    "a vector without a place": _text(
        [*_USUAL, add("v", **_PARTS, deletionVector={"storageType": "u"})]
    ),
    "a vector without a kind": _text(
        [*_USUAL, add("v", **_PARTS, deletionVector={"pathOrInlineDv": "x"})]
    ),
    "a vector with a wide offset": _text(
        [*_USUAL, add("v", **_PARTS, deletionVector=vector(offset=2**31))]
    ),
    "a vector with more": _text([*_USUAL, add("v", **_PARTS, deletionVector=vector(more=1))]),
    "parsed statistics": _instead(_line(add("x", **_PARTS, stats_parsed={"numRecords": 1}))),
    "very many partition columns": _text(
        add(f"{n}", partitionValues={f"p{at}": "x" for at in range(200)}) for n in range(3)
    ),
}
"""What is left to the reader of lines, for it could mean something else or name a place."""

REPEATED: dict[str, bytes] = {
    "a file twice": _text([*_USUAL, _USUAL[3]]),
    "an add and a remove of a file": _text([*_USUAL, remove("part=3/3.parquet", **_PARTS)]),
    "a path with two vectors": _text(
        [*_USUAL, add("v", deletionVector=vector(offset=1)), add("v", deletionVector=vector())]
    ).replace(b"{}", b'{"part":"a","day":"b"}'),
    "a path with and without one": _text([add("u"), add("v"), add("v", deletionVector=vector())]),
    "one path in two ways": _text([add("/data/z"), add("file:///data/z")]),
}
"""What says a thing twice, which is a problem that names a line."""


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_columns_say_what_the_lines_do(
    text: bytes, tmp_path: Path, both_ways: Callable[[Path], Any]
) -> None:
    found = read_line_columns(text)
    assert isinstance(found, LineColumns)
    rows = sum(part.rows.num_rows for parts in found.files.values() for part in parts)
    assert rows + len(found.others) == sum(not line.isspace() for line in text.split(b"\n") if line)
    answer = both_ways(_commit(tmp_path / "table", text))
    assert not isinstance(answer, dict), answer


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_what_could_mean_something_else_is_left_to_the_reader_of_lines(
    text: bytes, tmp_path: Path, both_ways: Callable[[Path], Any]
) -> None:
    found = read_line_columns(text)
    if found is not None:  # then it stands among the other lines, which are read one by one
        assert any(b"add" in line for _, line in found.others)
    both_ways(_commit(tmp_path / "table", text))


@pytest.mark.parametrize("text", REPEATED.values(), ids=REPEATED)
def test_what_stands_twice_is_told_with_its_line(
    text: bytes, tmp_path: Path, both_ways: Callable[[Path], Any]
) -> None:
    _, problems, _ = both_ways(_commit(tmp_path / "table", text))
    assert [problem["place"].partition(":")[0] for problem in problems] == [f"{1:020}.json"]


def test_the_newest_commit_decides_by_columns_too(
    tmp_path: Path, both_ways: Callable[[Path], Any]
) -> None:
    first = _text([*_USUAL, add("kept", **_PARTS)])
    second = _text(remove(f"part={n}/{n}.parquet", **_PARTS) for n in range(10))
    third = _text(
        [
            *(add(f"part={n}/{n}.parquet", size=n, **_PARTS) for n in range(5)),
            *(add(f"part={n}/old.parquet", size=n, **_PARTS) for n in range(15, 20)),
        ]
    )
    (files, tombstones), problems, _ = both_ways(_commit(tmp_path / "t", first, second, third))
    assert len(files) == 1 + 5 + 10 + 5 + 1
    assert len(tombstones) == 5 + 15
    assert not problems


def test_an_error_in_an_older_commit_is_told_as_it_is(
    tmp_path: Path, both_ways: Callable[[Path], Any]
) -> None:
    older = _text(_USUAL).replace(b'"size":100', b'"size":"x"', 1)
    told = both_ways(_commit(tmp_path / "table", older, _text([add("later")])))
    assert f"{1:020}.json:1" in told["problem"]


def test_a_file_in_several_pieces_is_read_in_threads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, both_ways: Callable[[Path], Any]
) -> None:
    monkeypatch.setattr("explorer.log.commits.line_columns._PIECE", 1000)
    others = [{"txn": {"appId": f"app{n}", "version": n}} for n in range(9)]
    text = _text([*others[:4], *_USUAL, *others[4:]])
    with LineReader() as reader:
        coming = reader.begin(text)
        found = coming.result()
    assert found is not None
    assert len(found.files["add"]) > 1
    lines = text.split(b"\n")
    assert [lines[number - 1] for number, _ in found.others] == [line for _, line in found.others]
    assert [line for _, line in found.others] == [_line(other) for other in others]
    both_ways(_commit(tmp_path / "table", text))
    broken = text.replace(b"19/old.parquet", b"19/\xff.parquet")
    assert read_line_columns(broken) is None
    both_ways(_commit(tmp_path / "broken", broken))


def test_a_checkpoint_of_lines_is_read_into_columns_too(
    tmp_path: Path, both_ways: Callable[[Path], Any]
) -> None:
    log = LogFolder(tmp_path / "table")
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    features = {"readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"]}
    start: list[Action] = [{"protocol": {**protocol, **features}}, metadata()]
    log.commit(0, start)
    name = f"{0:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    version: Action = {"checkpointMetadata": {"version": 0}}
    log.write(name, _text([version, *start, *_USUAL]))
    log.commit(1, [add("later")])
    (files, _), problems, _ = both_ways(log.root)
    assert len(files) == 21
    assert not problems
