"""Deletion vectors: the vectors of the specification, real files, and broken ones."""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from explorer.errors import CorruptDataError, CorruptLogError, UnsupportedError
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
    deletion_mask,
    hidden_runs,
    live_mask,
    parse_descriptor,
    parse_file_path,
    parse_inline_vector,
    parse_relative_place,
    parse_vector,
    render_descriptor,
    render_relative_place,
    render_vector,
    render_vector_file,
)
from explorer.protocol.vectors.z85 import parse_z85, render_z85
from tests.stored_vectors import read_stored

SPEC_UUID = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
SPEC_POSITIONS = [3, 4, 7, 11, 18, 29]
STORED = DeletionVectorDescriptor(
    storage_type="u",
    path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^",
    offset=4,
    size_in_bytes=40,
    cardinality=6,
)


@pytest.mark.rule("dv-z85")
def test_z85_renders_the_test_vector_of_its_definition() -> None:
    assert render_z85(bytes.fromhex("864fd26fb559f75b")) == "HelloWorld"
    assert parse_z85("HelloWorld") == bytes.fromhex("864fd26fb559f75b")


@given(st.binary(max_size=60))
def test_z85_comes_back_filled_up_to_four_bytes(data: bytes) -> None:
    assert parse_z85(render_z85(data)) == data + bytes(-len(data) % 4)


@settings(max_examples=10)
@given(st.binary(min_size=4, max_size=12), st.integers(1000, 1400))
def test_z85_of_a_long_text_is_that_of_its_words(data: bytes, count: int) -> None:
    words = data[: len(data) // 4 * 4] * count
    text = "".join(render_z85(words[start : start + 4]) for start in range(0, len(words), 4))
    assert render_z85(words) == text
    assert parse_z85(text) == words
    assert parse_z85(f"{text}##093") == words + b"\x03\x00"
    for broken in ("Hell~", "Hellö", "#%%%%"):
        with pytest.raises(ValueError, match=r"its|it holds"):
            parse_z85(broken + text)


@pytest.mark.parametrize(
    "text", ["Hell", "Hell~", "Hellö", "#####", "####0", "#%%%%", "##093HelloWorld"]
)
def test_z85_refuses_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"its|it holds"):
        parse_z85(text)


@pytest.mark.parametrize(
    ("text", "data"), [("##093", "0300"), ("Hello##093", "864fd26f0300"), ("###30", "ff")]
)
def test_z85_with_signs_before_its_last_bytes(text: str, data: str) -> None:
    assert parse_z85(text) == bytes.fromhex(data)


@pytest.mark.rule("dv-absolutepath-u", "dv-example-u", "dv-u-path", "dv-u-prefix-split")
def test_path_of_the_specification_with_random_prefix() -> None:
    path = f"ab/deletion_vector_{SPEC_UUID}.bin"
    assert parse_file_path(STORED) == path
    assert render_relative_place(SPEC_UUID, "ab") == STORED.path_or_inline_dv


@pytest.mark.rule("dv-absolutepath-u", "dv-files-at-root")
def test_path_without_prefix_lies_beside_the_data() -> None:
    place = render_relative_place(SPEC_UUID)
    assert parse_relative_place(place) == f"deletion_vector_{SPEC_UUID}.bin"


@pytest.mark.rule("dv-absolutepath-p", "dv-p-absolute")
def test_absolute_path_is_decoded_once() -> None:
    absolute = replace(STORED, storage_type="p", path_or_inline_dv="s3://t/a%2520b.bin")
    assert parse_file_path(absolute) == "s3://t/a%20b.bin"


@pytest.mark.parametrize("path", ["relative/a.bin", "file:/%ff.bin"])
def test_absolute_path_that_names_no_file_is_refused(path: str) -> None:
    with pytest.raises(CorruptLogError, match="cannot be found"):
        parse_file_path(replace(STORED, storage_type="p", path_or_inline_dv=path))


@pytest.mark.parametrize("prefix", ["/etc", "../x", "a/../..", "s3://other/", "file:"])
def test_prefix_that_leaves_the_table_is_refused(prefix: str) -> None:
    with pytest.raises(CorruptLogError, match="leaves the table"):
        parse_relative_place(render_relative_place(SPEC_UUID, prefix))


@pytest.mark.rule("dv-storagetype")
def test_unknown_storage_type_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="'q'"):
        parse_file_path(replace(STORED, storage_type="q"))


@pytest.mark.rule("dv-offset-none-inline", "dv-uniqueid-no-offset", "dv-uniqueid-offset")
def test_unique_id_has_the_offset_only_where_there_is_one() -> None:
    assert STORED.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    inline = build_inline_descriptor([1])
    assert inline.unique_id == f"i{inline.path_or_inline_dv}"


@pytest.mark.rule("dv-cardinality", "dv-offset", "dv-sizeinbytes", "dv-storagetype")
def test_descriptor_comes_back_from_its_json() -> None:
    for descriptor in (STORED, build_inline_descriptor(SPEC_POSITIONS)):
        body = orjson.loads(orjson.dumps(render_descriptor(descriptor)))
        assert parse_descriptor(body, "here") == descriptor


@pytest.mark.rule("dv-cardinality", "dv-offset", "dv-storagetype")
@pytest.mark.parametrize("broken", [{"storageType": 1}, {"cardinality": "6"}, {"offset": True}])
def test_descriptor_with_a_wrong_type_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(CorruptLogError, match="descriptor"):
        parse_descriptor({**render_descriptor(STORED), **broken}, "here")


@pytest.mark.rule("dv-format-little-endian", "dv-format-magic")
def test_content_begins_with_the_little_endian_magic() -> None:
    assert render_vector([1])[:4] == (1681511377).to_bytes(4, "little")


@pytest.mark.rule("dv-example-i")
def test_inline_example_of_the_specification_holds_the_rows_that_it_says() -> None:
    # in the older format, whose magic is one less, and with its numbers big-endian
    example = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    descriptor = DeletionVectorDescriptor(
        storage_type="i", path_or_inline_dv=example, size_in_bytes=40, cardinality=6
    )
    assert list(parse_inline_vector(descriptor)) == SPEC_POSITIONS


@pytest.mark.rule("dv-format-other-magic")
@pytest.mark.parametrize("order", ["little", "big"])
def test_older_format_holds_bitmaps_behind_their_sizes(order: Literal["little", "big"]) -> None:
    first, second = BitMap([1, 2]).serialize(), BitMap([7]).serialize()
    content = (1681511376).to_bytes(4, order) + (2).to_bytes(4, order)
    for bitmap in (first, second):
        content += len(bitmap).to_bytes(4, order) + bitmap
    assert list(parse_vector(content)) == [1, 2, 2**32 + 7]
    with pytest.raises(CorruptDataError, match="bytes"):
        parse_vector(content[:-1])
    longer = content.replace(len(second).to_bytes(4, order), (len(second) - 1).to_bytes(4, order))
    with pytest.raises(CorruptDataError, match=r"not as long|bytes"):
        parse_vector(longer)


@pytest.mark.rule("dv-format-magic", "dv-format-other-magic")
def test_unknown_magic_is_refused_by_its_number() -> None:
    with pytest.raises(CorruptDataError, match="1681511375, not 1681511377"):
        parse_vector((1681511375).to_bytes(4, "little") + bytes(8))


def test_inline_vector_filled_up_with_signs_is_read(corpus: Path) -> None:
    """Some writers put `#` before the characters of the last one to three bytes."""
    log = corpus / "tables/kernel-cdf-table-with-dv/_delta_log"
    lines = (log / "00000000000000000005.json").read_bytes().splitlines()
    body = next(action for line in lines if (action := orjson.loads(line).get("add")) is not None)
    descriptor = parse_descriptor(body["deletionVector"], "here")
    assert descriptor.path_or_inline_dv.endswith("##093")
    assert list(parse_inline_vector(descriptor)) == [3]


@pytest.mark.rule("dv-i-inline")
def test_inline_vector_of_a_real_table_hides_the_rows_that_it_says(corpus: Path) -> None:
    found = []
    for commit in sorted((corpus / "tables/spark44-dv-inline/_delta_log").glob("*.json")):
        for line in commit.read_bytes().splitlines():
            body = (orjson.loads(line).get("add") or {}).get("deletionVector")
            if body is not None and body["storageType"] == "i":
                found.append(parse_inline_vector(parse_descriptor(body, commit.name)))
    assert [len(vector) for vector in found] == [5]


@pytest.mark.rule("dv-cardinality", "dv-files-at-root", "dv-storage-offset-at-size")
@pytest.mark.rule("dv-storage-version", "dv-u-path")
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
            vector = read_stored((table / path).read_bytes(), descriptor)
            assert len(vector) == descriptor.cardinality
            read += 1
    assert read > 4


@pytest.mark.rule("dv-format-bitmap", "dv-i-inline", "dv-sizeinbytes", "newer-write-as-reference")
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


@pytest.mark.slow
@pytest.mark.rule("dv-files-many-per-file", "dv-offset", "dv-storage-offset-at-size")
@pytest.mark.rule("dv-storage-repeat", "dv-storage-version")
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
        assert set(read_stored(data, descriptor)) == wanted


def stored(wanted: list[int]) -> tuple[bytes, DeletionVectorDescriptor]:
    content = render_vector(wanted)
    data, (offset,) = render_vector_file([content])
    return data, replace(STORED, offset=offset, size_in_bytes=len(content), cardinality=len(wanted))


@pytest.mark.rule("dv-sizeinbytes", "dv-storage-big-endian", "dv-storage-bitmapdata")
@pytest.mark.rule("dv-storage-crc", "dv-storage-datasize", "older-001-dv-storage-endianness-unsaid")
def test_framing_is_big_endian_around_little_endian_content() -> None:
    data, descriptor = stored(SPEC_POSITIONS)
    assert int.from_bytes(data[1:5], "big") == descriptor.size_in_bytes
    assert int.from_bytes(data[-4:], "big") == zlib.crc32(data[5:-4])


@pytest.mark.rule("dv-storage-crc", "dv-storage-datasize", "dv-storage-version")
@pytest.mark.parametrize(
    ("at", "problem"),
    [(0, "version byte"), (4, "sizes in log and file"), (20, "CRC"), (-1, "CRC")],
    ids=["version", "size", "content", "checksum"],
)
def test_one_flipped_bit_is_found(at: int, problem: str) -> None:
    data, descriptor = stored(SPEC_POSITIONS)
    broken = bytearray(data)
    broken[at] ^= 1
    with pytest.raises(CorruptDataError, match=problem):
        read_stored(bytes(broken), descriptor)


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"offset": 0}, CorruptLogError),
        ({"offset": -5}, CorruptLogError),
        ({"size_in_bytes": -1}, CorruptLogError),
        ({"offset": 99}, CorruptDataError),
        ({"size_in_bytes": 2**20}, CorruptDataError),
        ({"size_in_bytes": 2**31 - 1}, UnsupportedError),
    ],
    ids=str,
)
def test_place_outside_the_file_is_refused(
    change: dict[str, Any], refusal: type[Exception]
) -> None:
    data, descriptor = stored(SPEC_POSITIONS)
    with pytest.raises(refusal):
        read_stored(data, replace(descriptor, **change))


@pytest.mark.rule("dv-cardinality")
def test_cardinality_that_does_not_fit_is_refused() -> None:
    data, descriptor = stored(SPEC_POSITIONS)
    with pytest.raises(CorruptDataError, match="By the log it has 7 rows, but it has 6"):
        read_stored(data, replace(descriptor, cardinality=7))


@pytest.mark.rule("dv-format-row-indexes")
@given(positions, st.integers(0, 200_010), st.integers(0, 200_000))
def test_masks_are_the_rows_of_a_window(wanted: set[int], start: int, count: int) -> None:
    vector = parse_vector(render_vector(wanted))
    hidden = [position in wanted for position in range(start, start + count)]
    assert deletion_mask(vector, start, count).to_pylist() == hidden
    assert live_mask(vector, start, count).to_pylist() == [not here for here in hidden]


@pytest.mark.rule("dv-format-portable-64", "dv-format-row-indexes")
def test_mask_of_the_rows_beyond_32_bits() -> None:
    vector = parse_vector(render_vector([2**32 - 1, 2**32 + 65_536]))
    mask = live_mask(vector, 2**32 - 2, 4)
    assert mask.to_pylist() == [True, False, True, True]
    assert live_mask(vector, 2**32 + 65_530, 8).false_count == 1


@given(positions)
def test_runs_are_the_ranges_of_hidden_rows(wanted: set[int]) -> None:
    runs = list(hidden_runs(parse_vector(render_vector(wanted))))
    assert {row for first, last in runs for row in range(first, last + 1)} == wanted
    assert all(second[0] - first[1] > 1 for first, second in pairwise(runs))


@given(st.binary(max_size=80))
def test_any_bytes_are_a_vector_or_refused(data: bytes) -> None:
    with contextlib.suppress(CorruptDataError):
        assert len(parse_vector((1681511377).to_bytes(4, "little") + data)) >= 0
