"""Deletion vectors: the vectors of the specification, real files, and broken ones."""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import CorruptLogError, UnsupportedError
from explorer.protocol.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
    parse_descriptor,
    parse_file_path,
    parse_inline_vector,
    parse_relative_place,
    parse_stored_vector,
    parse_vector,
    render_descriptor,
    render_relative_place,
    render_vector,
    render_vector_file,
)
from explorer.protocol.z85 import parse_z85, render_z85

SPEC_UUID = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
SPEC_POSITIONS = [3, 4, 7, 11, 18, 29]
STORED = DeletionVectorDescriptor(
    storage_type="u",
    path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^",
    offset=4,
    size_in_bytes=40,
    cardinality=6,
)


def test_z85_renders_the_test_vector_of_its_definition() -> None:
    assert render_z85(bytes.fromhex("864fd26fb559f75b")) == "HelloWorld"
    assert parse_z85("HelloWorld") == bytes.fromhex("864fd26fb559f75b")


@given(st.binary(max_size=60))
def test_z85_comes_back_filled_up_to_four_bytes(data: bytes) -> None:
    assert parse_z85(render_z85(data)) == data + bytes(-len(data) % 4)


@pytest.mark.parametrize("text", ["Hell", "Hell~", "Hellö", "#####"])
def test_z85_refuses_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"its|it holds|five"):
        parse_z85(text)


def test_path_of_the_specification_with_random_prefix() -> None:
    path = f"ab/deletion_vector_{SPEC_UUID}.bin"
    assert parse_file_path(STORED) == path
    assert render_relative_place(SPEC_UUID, "ab") == STORED.path_or_inline_dv


def test_path_without_prefix_lies_beside_the_data() -> None:
    place = render_relative_place(SPEC_UUID)
    assert parse_relative_place(place) == f"deletion_vector_{SPEC_UUID}.bin"


def test_absolute_path_is_decoded_once() -> None:
    absolute = replace(STORED, storage_type="p", path_or_inline_dv="s3://t/a%2520b.bin")
    assert parse_file_path(absolute) == "s3://t/a%20b.bin"


def test_unknown_storage_type_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="'q'"):
        parse_file_path(replace(STORED, storage_type="q"))


def test_unique_id_has_the_offset_only_where_there_is_one() -> None:
    assert STORED.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    inline = build_inline_descriptor([1])
    assert inline.unique_id == f"i{inline.path_or_inline_dv}"


def test_descriptor_comes_back_from_its_json() -> None:
    for descriptor in (STORED, build_inline_descriptor(SPEC_POSITIONS)):
        body = orjson.loads(orjson.dumps(render_descriptor(descriptor)))
        assert parse_descriptor(body, "here") == descriptor


@pytest.mark.parametrize("broken", [{"storageType": 1}, {"cardinality": "6"}, {"offset": True}])
def test_descriptor_with_a_wrong_type_is_refused(broken: dict) -> None:
    with pytest.raises(CorruptLogError, match="descriptor"):
        parse_descriptor({**render_descriptor(STORED), **broken}, "here")


def test_content_begins_with_the_little_endian_magic() -> None:
    assert render_vector([1])[:4] == (1681511377).to_bytes(4, "little")


def test_inline_example_of_the_specification_is_another_format() -> None:
    # its magic is big-endian and one less: the text has an example of an older format
    example = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    descriptor = DeletionVectorDescriptor(
        storage_type="i", path_or_inline_dv=example, size_in_bytes=40, cardinality=6
    )
    with pytest.raises(CorruptLogError, match="1681511377"):
        parse_inline_vector(descriptor)


def test_inline_vector_of_a_real_table_hides_the_rows_that_it_says(corpus: Path) -> None:
    found = []
    for commit in sorted((corpus / "tables/spark44-dv-inline/_delta_log").glob("*.json")):
        for line in commit.read_bytes().splitlines():
            body = (orjson.loads(line).get("add") or {}).get("deletionVector")
            if body is not None and body["storageType"] == "i":
                found.append(parse_inline_vector(parse_descriptor(body, commit.name)))
    assert [len(vector) for vector in found] == [5]


def test_stored_vectors_of_a_real_table_are_read_from_one_file(corpus: Path) -> None:
    table = corpus / "tables/spark44-cdf-all-operations"
    read = 0
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_bytes().splitlines():
            body = (orjson.loads(line).get("add") or {}).get("deletionVector")
            if body is None:
                continue
            descriptor = parse_descriptor(body, commit.name)
            path = parse_file_path(descriptor)
            assert path is not None
            vector = parse_stored_vector((table / path).read_bytes(), descriptor)
            assert len(vector) == descriptor.cardinality
            read += 1
    assert read > 4


def test_our_small_vector_has_the_very_bytes_of_the_reference(corpus: Path) -> None:
    log = corpus / "tables/spark44-dv-inline/_delta_log"
    texts = b"".join(path.read_bytes() for path in sorted(log.glob("*.json")))
    body = next(
        vector
        for line in texts.splitlines()
        if (vector := (orjson.loads(line).get("add") or {}).get("deletionVector"))
        and vector["storageType"] == "i"
    )
    descriptor = parse_descriptor(body, "log")
    assert build_inline_descriptor(parse_inline_vector(descriptor)) == descriptor


positions = st.sets(
    st.one_of(st.integers(0, 200_000), st.integers(2**32 - 3, 2**32 + 3)), min_size=1, max_size=200
)


@given(st.lists(positions, min_size=1, max_size=4))
def test_vectors_of_one_file_come_back_by_their_offsets(many: list[set[int]]) -> None:
    contents = [render_vector(wanted) for wanted in many]
    data, offsets = render_vector_file(contents)
    assert data[0] == 1
    assert offsets[0] == 1
    for wanted, content, offset in zip(many, contents, offsets, strict=True):
        descriptor = replace(
            STORED, offset=offset, size_in_bytes=len(content), cardinality=len(wanted)
        )
        assert set(parse_stored_vector(data, descriptor)) == wanted


def stored(wanted: list[int]) -> tuple[bytes, DeletionVectorDescriptor]:
    content = render_vector(wanted)
    data, (offset,) = render_vector_file([content])
    return data, replace(STORED, offset=offset, size_in_bytes=len(content), cardinality=len(wanted))


def test_framing_is_big_endian_around_little_endian_content() -> None:
    data, descriptor = stored(SPEC_POSITIONS)
    assert int.from_bytes(data[1:5], "big") == descriptor.size_in_bytes
    assert int.from_bytes(data[-4:], "big") == zlib.crc32(data[5:-4])


@pytest.mark.parametrize(
    ("at", "problem"),
    [(0, "version byte"), (4, "sizes in log and file"), (20, "CRC"), (-1, "CRC")],
    ids=["version", "size", "content", "checksum"],
)
def test_one_flipped_bit_is_found(at: int, problem: str) -> None:
    data, descriptor = stored(SPEC_POSITIONS)
    broken = bytearray(data)
    broken[at] ^= 1
    with pytest.raises(CorruptLogError, match=problem):
        parse_stored_vector(bytes(broken), descriptor)


@pytest.mark.parametrize("change", [{"offset": 0}, {"offset": 99}, {"offset": -5}])
def test_offset_outside_the_file_is_refused(change: dict) -> None:
    data, descriptor = stored(SPEC_POSITIONS)
    with pytest.raises(CorruptLogError, match="too short"):
        parse_stored_vector(data, replace(descriptor, **change))


def test_cardinality_that_does_not_fit_is_refused() -> None:
    data, descriptor = stored(SPEC_POSITIONS)
    with pytest.raises(CorruptLogError, match="7 rows, the vector holds 6"):
        parse_stored_vector(data, replace(descriptor, cardinality=7))


@given(st.binary(max_size=80))
def test_any_bytes_are_a_vector_or_refused(data: bytes) -> None:
    with contextlib.suppress(CorruptLogError):
        assert len(parse_vector((1681511377).to_bytes(4, "little") + data)) >= 0
