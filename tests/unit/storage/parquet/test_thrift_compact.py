"""Thrift's compact protocol: footers of real files, values of every type, and noise."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.storage.parquet._thrift_compact import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    SET,
    STRUCT,
    TRUE,
    parse_struct,
    render_struct,
)
from explorer.storage.parquet._thrift_fields import Wire, read_fields

_WIDTHS = {I16: 16, I32: 32, I64: 64}


def _plain() -> st.SearchStrategy[tuple[int, object]]:
    """A value without others inside of it, with its type."""
    numbers = [
        st.tuples(st.just(kind), st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
        for kind, bits in _WIDTHS.items()
    ]
    return st.one_of(
        *numbers,
        st.tuples(st.just(BINARY), st.binary(max_size=200)),
        st.tuples(st.just(BYTE), st.integers(0, 255)),
        st.tuples(st.just(DOUBLE), st.binary(min_size=8, max_size=8)),
    )


def _many(one: st.SearchStrategy[tuple[int, object]]) -> st.SearchStrategy[tuple[int, object]]:
    """Lists, sets and maps of values of one type, and structs."""
    repeated = st.builds(
        lambda kind, found, count: (kind, (found[0], [found[1]] * count)),
        st.sampled_from([LIST, SET]),
        one,
        st.integers(0, 40),
    )
    mapped = st.builds(
        lambda key, item, count: (
            (MAP, (key[0], item[0], [(key[1], item[1])] * count)) if count else (MAP, (0, 0, []))
        ),
        one,
        one,
        st.integers(0, 20),
    )
    return st.one_of(repeated, mapped, st.tuples(st.just(STRUCT), _structs(one)))


def _structs(
    one: st.SearchStrategy[tuple[int, object]],
) -> st.SearchStrategy[dict[int, tuple[int, object]]]:
    truth = st.sampled_from([(TRUE, None), (FALSE, None)])
    return st.dictionaries(st.integers(-5, 40), st.one_of(one, truth), max_size=6)


@pytest.mark.slow
@given(struct=_structs(st.recursive(_plain(), _many, max_leaves=8)))
def test_struct_comes_back_as_it_was_written(struct: dict[int, tuple[int, object]]) -> None:
    text = render_struct(struct)
    assert parse_struct(text) == struct
    # from any place on, past all of it and no further
    assert read_fields(b"\x15" + text + b"\x15", {}, 1) == ({}, len(text) + 1)
    known = {field: Wire(kind) for field, (kind, _) in struct.items() if kind in _WIDTHS}
    numbers = {field: struct[field][1] for field in known}
    assert read_fields(text, known) == (numbers, len(text))


@pytest.mark.slow
def test_footers_of_real_files_are_written_byte_for_byte_as_they_were(corpus: Path) -> None:
    same = other = 0
    for place in sorted((corpus / "tables").rglob("*.parquet")):
        data = place.read_bytes()
        if not data.endswith(b"PAR1"):
            continue
        footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
        parsed = parse_struct(footer)
        assert parse_struct(render_struct(parsed)) == parsed, place
        assert read_fields(footer, {3: Wire(I64)}) == ({3: parsed[3][1]}, len(footer))
        if render_struct(parsed) == footer:
            same += 1
        else:
            other += 1
    assert same > 500
    assert other == 0


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x15",  # a number without its value
        b"\x15\x02",  # no end
        b"\x00\x00",  # more after the end
        b"\x15\x02\x05\x02\x02\x00",  # field 1 twice
        b"\x1d\x00",  # a type that there is not
        b"\x18\x7f\x00",  # 127 bytes of which none is there
        b"\x15" + b"\xff" * 12 + b"\x00",  # a number without an end
        b"\x1c" * 100 + b"\x00" * 101,  # nested too deep
        b"\x19\x19" * 100 + b"\x00" * 101,  # lists of lists as deep
        b"\x19\xf5\xff\xff\xff\xff\x0f\x00",  # four billion numbers of which one is there
        *(  # a million million of anything, of which none is there
            b"\x19" + bytes([0xF0 | kind]) + b"\x80\x80\x80\x80\x80\x20" for kind in range(16)
        ),
        *(b"\x1b\x80\x80\x80\x80\x80\x20" + bytes([kind << 4 | kind]) for kind in range(16)),
    ],
)
def test_what_is_no_struct_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_struct(text)
    if text != b"\x00\x00":  # who only looks at a struct does not mind what follows
        with pytest.raises((ValueError, IndexError)):
            read_fields(text, {1: Wire(I32)})


@pytest.mark.slow
def test_struct_that_was_changed_is_another_or_refused(corpus: Path) -> None:
    noise = random.Random(11)
    place = next((corpus / "tables").rglob("*.checkpoint.parquet"))
    data = place.read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    for _ in range(500):
        changed = bytearray(footer)
        for _ in range(noise.randint(1, 4)):
            changed[noise.randrange(len(changed))] = noise.randrange(256)
        cut = bytes(changed[: noise.randint(0, len(changed))])
        for text in (bytes(changed), cut):
            try:
                found = parse_struct(text)
            except ValueError:
                continue
            assert parse_struct(render_struct(found)) == found
