"""Variants byte by byte: what the encoding says, and what no encoder would write."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql.variant_utils import VariantUtils

from explorer.errors import CorruptDataError, DeltaError, UnsupportedError
from explorer.protocol.values.variant import MAX_DEPTH, Temporal, parse_field_names, parse_variant
from explorer.protocol.values.variant_rendering import plain_variant, render_variant


def dictionary(names: Sequence[str], width: int = 1) -> bytes:
    """Metadata with numbers of `width` bytes."""
    data = [name.encode() for name in names]
    offsets = [sum(map(len, data[:count])) for count in range(len(data) + 1)]
    numbers = b"".join(number.to_bytes(width, "little") for number in (len(data), *offsets))
    return bytes([1 | (width - 1) << 6]) + numbers + b"".join(data)


def array(*elements: bytes, width: int = 1, large: bool = False) -> bytes:
    ends = [sum(map(len, elements[:count])) for count in range(len(elements) + 1)]
    count = len(elements).to_bytes(4 if large else 1, "little")
    offsets = b"".join(end.to_bytes(width, "little") for end in ends)
    header = 3 | (width - 1) << 2 | large << 4
    return bytes([header]) + count + offsets + b"".join(elements)


def obj(fields: Mapping[int, bytes], width: int = 1, large: bool = False) -> bytes:
    """An object whose fields are numbered by their names."""
    elements = list(fields.values())
    ends = [sum(map(len, elements[:count])) for count in range(len(elements) + 1)]
    count = len(elements).to_bytes(4 if large else 1, "little")
    ids = b"".join(field.to_bytes(width, "little") for field in fields)
    offsets = b"".join(end.to_bytes(width, "little") for end in ends)
    header = 2 | (width - 1) << 2 | (width - 1) << 4 | large << 6
    return bytes([header]) + count + ids + offsets + b"".join(elements)


def number(value: int) -> bytes:
    return b"\x18" + value.to_bytes(8, "little", signed=True)


def primitive(kind: int, data: bytes) -> bytes:
    return bytes([kind << 2]) + data


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (b"\x00", None),
        (b"\x04", True),
        (b"\x08", False),
        (primitive(3, b"\x80"), -128),
        (primitive(4, b"\x00\x80"), -32768),
        (primitive(5, b"\xff\xff\xff\x7f"), 2**31 - 1),
        (primitive(6, b"\x00" * 7 + b"\x80"), -(2**63)),
        (primitive(7, struct.pack("<d", 1.1)), 1.1),
        (primitive(14, struct.pack("<f", 0.5)), 0.5),
        (primitive(8, b"\x02\x39\x30\x00\x00"), Decimal("123.45")),
        (primitive(9, b"\x12" + (10**18 - 1).to_bytes(8, "little")), Decimal("0." + "9" * 18)),
        (primitive(10, b"\x00" + (-(10**37)).to_bytes(16, "little", signed=True)), -(10**37)),
        (primitive(11, b"\xff\xff\xff\xff"), Temporal("date", -1)),
        (primitive(12, b"\x01" + bytes(7)), Temporal("timestamp", 1)),
        (primitive(13, b"\x01" + bytes(7)), Temporal("timestamp_ntz", 1)),
        (primitive(17, b"\x01" + bytes(7)), Temporal("time", 1)),
        (primitive(18, b"\x01" + bytes(7)), Temporal("timestamp_nanos", 1)),
        (primitive(19, b"\x01" + bytes(7)), Temporal("timestamp_ntz_nanos", 1)),
        (primitive(15, b"\x02\x00\x00\x00\x00\xff"), b"\x00\xff"),
        (primitive(16, b"\x03\x00\x00\x00\xe2\x82\xac"), "€"),
        (primitive(20, bytes(range(16))), UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")),
        (b"\x01", ""),
        (b"\xfd" + b"x" * 63, "x" * 63),
        (b"\x0dn/a", "n/a"),
    ],
    ids=lambda value: value.hex() if isinstance(value, bytes) else "",
)
def test_every_primitive_type_is_read(value: bytes, wanted: Any) -> None:
    found = parse_variant(value, ())
    assert (found, isinstance(found, bool)) == (wanted, isinstance(wanted, bool))


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("large", [False, True])
def test_objects_and_arrays_of_every_width(width: int, large: bool) -> None:
    names = parse_field_names(dictionary(["b", "", "ü"], width))
    assert names == ("b", "", "ü")
    inner = array(number(1), b"\x00", array(width=width, large=large), width=width, large=large)
    value = obj({0: inner, 2: obj({}, width=width, large=large)}, width=width, large=large)
    assert parse_variant(value, names) == {"b": [1, None, []], "ü": {}}


def test_fields_may_lie_in_any_order() -> None:
    value = bytes.fromhex("02 02 00 01 02 00 04 0c02 0c01")
    assert parse_variant(value, ("a", "b")) == {"a": 1, "b": 2}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=30,
)


@pytest.mark.slow
@pytest.mark.rule("newer-variant-struct")
@given(json_values)
def test_what_pyspark_encodes_is_read(wanted: Any) -> None:
    value, metadata = VariantUtils.parse_json(json.dumps(wanted))
    found = parse_variant(value, parse_field_names(metadata))
    assert plain_variant(found) == wanted
    assert json.loads(render_variant(found)) == wanted


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (b"", "empty"),
        (b"\xc1\xff\xff\xff\xff", "claims 4294967295 names"),
        (b"\x01\x02\x00\x01", "claims 2 names"),
        (b"\x01\x02\x00\x02\x01ab", "ascend"),
        (b"\x01\x01\x00\x03ab", "ascend"),
        (b"\x01\x01\x00\x01\xff", "UTF-8"),
        (b"\x41\x01", "bytes"),
    ],
)
def test_metadata_that_contradicts_itself_is_refused(metadata: bytes, reason: str) -> None:
    with pytest.raises(CorruptDataError, match=reason):
        parse_field_names(metadata)


def test_metadata_of_another_version_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="version 2"):
        parse_field_names(b"\x02\x00\x00")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "0 bytes"),
        (primitive(6, b"\x00"), "bytes"),
        (primitive(15, b"\xff\xff\xff\xffx"), "bytes 5 to 4294967300"),
        (b"\x05\xff", "UTF-8"),
        (b"\x0da", "bytes"),
        (primitive(8, b"\x27\x01\x00\x00\x00"), "scale 39"),
        (primitive(8, b"\x00" + (10**9).to_bytes(4, "little")), "digits 1000000000"),
        (primitive(17, (86_400 * 10**6).to_bytes(8, "little")), "after midnight"),
        (b"\x13\xff\xff\xff\xff\x00", "bytes"),
        (b"\x03\x01\x00\xff\x00", "bytes"),
        (b"\x03\x01\x05\x06\x00", "bytes"),
        (b"\x03\x01\x00\x00\x00", "ends behind it"),
        (b"\x02\x01\x07\x00\x01\x00", "name 7 of 2"),
        (obj({0: b"\x00"})[:2] + b"\x00", "bytes"),
        (bytes.fromhex("0202 0000 000102 0000"), "two fields of one name"),
        (bytes.fromhex("0302 000002 0c07"), "lie in one another"),
    ],
)
def test_value_that_no_encoder_writes_is_refused(value: bytes, reason: str) -> None:
    with pytest.raises(CorruptDataError, match=reason):
        parse_variant(value, ("a", "b"))


def test_unknown_type_is_refused_by_its_number() -> None:
    with pytest.raises(UnsupportedError, match="type is 21"):
        parse_variant(primitive(21, b""), ())


def test_nesting_is_followed_so_far_and_no_further() -> None:
    value = b"\x00"
    for _ in range(MAX_DEPTH):
        value = array(value, width=3)
    found = parse_variant(value, ())
    assert render_variant(found) == "[" * MAX_DEPTH + "null" + "]" * MAX_DEPTH
    plain_variant(found)
    with pytest.raises(UnsupportedError, match="nested too deeply"):
        parse_variant(array(value, width=3), ())
    with pytest.raises(UnsupportedError, match="nested too deeply"):
        parse_variant(value, (), depth=1)


def test_few_bytes_do_not_unfold_into_many_values() -> None:
    """Each level's elements would be the same bytes: 2 to the power of the depth values."""
    value = b"\x00"
    for _ in range(40):
        value = b"\x0b\x02" + bytes(6) + len(value).to_bytes(3, "little") + value
    with pytest.raises(CorruptDataError, match="lie in one another"):
        parse_variant(value, ())


@given(st.binary(max_size=60))
@example(b"\x02\xff")
def test_any_bytes_are_a_variant_or_refused(data: bytes) -> None:
    try:
        found = parse_variant(data, ("a", "b", "c"))
        render_variant(found)
        plain_variant(found)
    except DeltaError as error:
        assert error.reason  # noqa: PT017  # another exception is what this looks for


@given(st.binary(max_size=40))
def test_any_bytes_are_a_dictionary_or_refused(data: bytes) -> None:
    try:
        assert sum(map(len, parse_field_names(data))) <= len(data)
    except DeltaError as error:
        assert error.reason  # noqa: PT017  # as above
