"""The lines of a log file, last first."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import CorruptLogError
from explorer.log.commits.commit_file import holds_escapes, lines_reversed, may_name, parse_action
from tests.json_escapes import with_escapes


def _simply(data: bytes) -> list[tuple[int, bytes]]:
    """The same by the shortest rule."""
    numbered = enumerate(data.split(b"\n"), 1)
    return [(number, line.strip()) for number, line in numbered if line.strip()][::-1]


def _found(data: bytes) -> list[tuple[int, bytes]]:
    return [(number, bytes(line).strip()) for number, line in lines_reversed(data)]


@pytest.mark.rule("log-newline-delimited-json")
@given(st.lists(st.sampled_from([b"", b" ", b"\r", b"{}", b'{"add":1}', b"\t x \r"])))
def test_lines_of_a_short_file(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    assert _found(data) == _simply(data)


@pytest.mark.parametrize("seed", range(8))
def test_lines_of_a_long_file_with_lines_of_any_length(seed: int) -> None:
    # around and beyond the size of the pieces in which a file is split
    dice = random.Random(seed)
    lengths = (0, 1, 63, 65, 5000, 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20)
    lines = [
        b" " * dice.choice((0, 0, 1, 70, 5000)) + bytes([97 + at % 26]) * dice.choice(lengths)
        for at in range(dice.randrange(30))
    ]
    for data in (b"\n".join(lines), b"\n".join(lines) + b"\n", b"\n" + b"\r\n".join(lines)):
        assert _found(data) == _simply(data)


@pytest.mark.rule("log-newline-delimited-json")
@pytest.mark.parametrize(
    "line", [b"", b"x", b"[]", b"1", b'"a"', b"null", b"true", b"{", b"{}{}", b"{'a':1}", b"\xff"]
)
def test_what_is_no_action_is_refused_with_its_place(line: bytes) -> None:
    for form in (line, memoryview(line)):
        with pytest.raises(CorruptLogError) as caught:
            parse_action(form, "00000000000000000012.json", 7)
        assert "00000000000000000012.json:7" in caught.value.problem
        assert caught.value.spec == "Delta Log Entries"


def test_object_is_an_action_whatever_it_says() -> None:
    assert parse_action(b' {"new": {"a": [1]}} \r', "x", 1) == {"new": {"a": [1]}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add", "remove", "cdc", "metaData", "protocol", "commitInfo"])
@given(st.data())
def test_no_spelling_of_a_kind_is_missed(kind: str, data: st.DataObject) -> None:
    text = json.dumps({"txn": None, kind: {"path": "a"}}).encode()
    written = with_escapes(text, 0, lambda: data.draw(st.booleans()))
    assert json.loads(written) == json.loads(text)
    for form in (written, memoryview(written)):
        assert may_name(form, "other", kind)


@pytest.mark.parametrize("text", ["a", "\u00e4\u2028", "\n\u001f", "adds", "u0061"])
def test_text_without_a_kind_is_told_without_being_parsed(text: str) -> None:
    stats = json.dumps({"minValues": {"a": text}})
    written = json.dumps({"txn": {"appId": text, "stats": stats}}).encode()
    assert not may_name(written, "add", "remove")
    assert not holds_escapes(written)
