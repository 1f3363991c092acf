"""The hint to the newest checkpoint and its checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import CorruptLogError
from explorer.protocol.last_checkpoint import (
    LastCheckpoint,
    build_canonical_form,
    build_hint_checksum,
    parse_last_checkpoint,
    render_last_checkpoint,
)

SPEC_JSON = (
    b'{"k0":"\'v 0\'", "checksum": "adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": '
    b'["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}'
)
SPEC_FORM = (
    '"k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,'
    '"k1"+"k3"+2+"k4"="v4","k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6",'
    '"k1"+"k3"+2+"k5"+2="v7"'
)


@pytest.mark.rule("pointer-checksum-arrays", "pointer-checksum-comma", "pointer-checksum-equals")
@pytest.mark.rule("pointer-checksum-leaves", "pointer-checksum-md5", "pointer-checksum-names")
@pytest.mark.rule("pointer-checksum-path-plus", "pointer-checksum-sample")
@pytest.mark.rule("pointer-checksum-skip-checksum", "pointer-checksum-strings")
def test_canonical_form_and_checksum_of_the_specification() -> None:
    assert build_canonical_form(SPEC_JSON) == SPEC_FORM
    assert build_hint_checksum(SPEC_JSON) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


@pytest.mark.rule("pointer-checkpoint-schema", "pointer-checksum", "pointer-checksum-md5")
def test_checksums_of_the_reference_are_confirmed(corpus: Path) -> None:
    confirmed = 0
    for path in corpus.glob("tables/*/_delta_log/_last_checkpoint"):
        body = path.read_bytes()
        if b'"checksum"' in body:
            assert parse_last_checkpoint(body).checksum == orjson.loads(body)["checksum"]
            confirmed += 1
    assert confirmed > 20


MANY = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "x"]
# as bytes, 10 comes before 2
MANY_FORM = '"a"+0="0","a"+1="1","a"+10="x",' + ",".join(f'"a"+{n}="{n}"' for n in range(2, 10))


@pytest.mark.rule("pointer-checksum-arrays", "pointer-checksum-literals")
@pytest.mark.rule("pointer-checksum-numbers", "pointer-checksum-skip-checksum")
@pytest.mark.rule("pointer-checksum-sort", "pointer-url-reserved", "pointer-url-reserved-exactly")
@pytest.mark.rule("pointer-url-upper", "pointer-url-utf8")
@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            '{"b":{"y":null,"x":"https://delta.io"},"a":10}',
            '"a"=10,"b"+"x"="https%3A%2F%2Fdelta.io","b"+"y"=null',
        ),
        ('{"a":{"checksum":1},"checksum":2}', '"a"+"checksum"=1'),
        ('{"a":1.50,"b":1e3,"c":-0}', '"a"=1.50,"b"=1e3,"c"=-0'),
        ('{"a":[[],{}],"b":true}', '"b"=true'),
        ('{"ä":"~-._ö"}', '"%C3%A4"="~-._%C3%B6"'),
        (orjson.dumps({"a": MANY}).decode(), MANY_FORM),
    ],
    ids=["nested", "inner checksum counts", "numbers keep digits", "empty", "utf-8", "bytes"],
)
def test_canonical_form_follows_the_rules(text: str, form: str) -> None:
    assert build_canonical_form(text.encode()) == form


@pytest.mark.rule("pointer-checksum-write", "pointer-parts", "pointer-size", "pointer-tags")
@pytest.mark.rule("pointer-version")
def test_rendered_hint_comes_back_and_carries_its_checksum() -> None:
    hint = LastCheckpoint(
        version=70, size=190, parts=2, size_in_bytes=4_000, num_of_add_files=138, tags={"k": "v"}
    )
    data = render_last_checkpoint(hint)
    again = parse_last_checkpoint(data)
    form = build_canonical_form(data)
    assert again.checksum == hashlib.md5(form.encode(), usedforsecurity=False).hexdigest()
    assert {again.version, again.size, again.parts, again.tags["k"]} == {70, 190, 2, "v"}


@pytest.mark.rule("older-001-pointer-fields", "older-003-pointer-fields")
@pytest.mark.rule("older-004-pointer-fields", "pointer-checksum")
def test_hint_without_checksum_is_taken() -> None:
    assert parse_last_checkpoint(b'{"version":3,"size":6}').checksum is None


@pytest.mark.rule("pointer-numofaddfiles")
def test_number_of_adds_is_read_where_a_hint_has_it() -> None:
    assert parse_last_checkpoint(b'{"version":3,"size":6}').num_of_add_files is None
    found = parse_last_checkpoint(b'{"version":3,"size":6,"numOfAddFiles":4}')
    assert (found.size, found.num_of_add_files) == (6, 4)
    with pytest.raises(CorruptLogError, match="numOfAddFiles"):
        parse_last_checkpoint(b'{"version":3,"size":6,"numOfAddFiles":"4"}')


@pytest.mark.rule("pointer-checksum-duplicates", "pointer-checksum-validate", "pointer-json")
@pytest.mark.rule("pointer-size", "pointer-tags", "pointer-version")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b"\xff\xfe\x00",
        b'{"version":1}',
        b'{"size":1}',
        b'{"version":"1","size":2}',
        b'{"version":1.0,"size":2}',
        b'{"version":true,"size":2}',
        b'{"version":-1,"size":2}',
        b'{"version":99999999999999999999,"size":2}',
        b'{"version":1,"size":NaN}',
        b'{"version":1,"size":2,"tags":{"a":1}}',
        b'{"version":1,"size":2,"tags":["a"]}',
        b'{"version":1,"size":2,"checksum":5}',
        b'{"version":1,"size":2,"checksum":"6a92d155a59bf2eecbd4b4ec7fd1f875"}',
        b'{"version":1,"size":2,"version":1}',
        b'{"version":1,"size":2,"a":{"b":1,"b":1}}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=range(21),
)
def test_unusable_hint_is_refused_with_reason_and_remedy(data: bytes) -> None:
    with pytest.raises(CorruptLogError) as caught:
        parse_last_checkpoint(data)
    assert "_last_checkpoint" in caught.value.problem
    assert caught.value.remedy


def test_half_a_surrogate_pair_is_hashed_rather_than_raised() -> None:
    assert len(build_hint_checksum(b'{"a":"\\ud800"}')) == 32


@pytest.mark.rule("pointer-checksum-validate", "pointer-checksum-write")
@given(st.integers(0, 10**12), st.dictionaries(st.text(), st.text(), max_size=4))
def test_any_rendered_hint_is_confirmed_and_any_change_is_found(
    version: int, tags: dict[str, str]
) -> None:
    data = render_last_checkpoint(LastCheckpoint(version=version, size=2, tags=tags))
    assert parse_last_checkpoint(data).tags == tags
    body = orjson.loads(data) | {"size": 3}
    with pytest.raises(CorruptLogError, match="checksum"):
        parse_last_checkpoint(orjson.dumps(body))
