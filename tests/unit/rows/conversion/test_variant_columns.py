"""Variant columns: real tables, the examples of the shredding rules, and broken groups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.variant_utils import VariantUtils

from explorer.errors import CorruptDataError, UnsupportedError
from explorer.rows.conversion.variant_columns import decode_variant_column

METADATA = b"\x01\x03\x00\x05\x0a\x0enameseventdata"  # names, event, data
NULL = b"\x00"

Row = dict[str, Any] | None


def columns(place: Path, name: str) -> Iterator[tuple[pa.Array, pa.Array]]:
    """`id` and the column, chunk by chunk, of every data file in a folder."""
    for file in sorted(place.glob("*.parquet")):
        found = pq.ParquetFile(file)
        for batch in found.iter_batches(7, columns=["id", name]):
            yield batch.column("id"), batch.column(name)


@pytest.mark.rule("newer-variant-struct")
@pytest.mark.parametrize("table", ["spark44-variant-plain", "spark44-variant-shredded"])
def test_text_is_that_of_the_shipped_rows(corpus: Path, table: str) -> None:
    shipped = pq.read_table(corpus / "expected" / table / "latest").to_pylist()
    found: dict[int, str] = {}
    for ids, variants in columns(corpus / "tables" / table, "v"):
        found.update(zip(ids.to_pylist(), decode_variant_column(variants).to_pylist(), strict=True))
    assert shipped
    assert {row["id"]: found[row["id"]] for row in shipped} == {
        row["id"]: row["v"] for row in shipped
    }


@pytest.mark.rule("newer-variant-struct")
def test_python_values_of_a_real_table(corpus: Path) -> None:
    read = 0
    for ids, variants in columns(corpus / "tables/kernel-unshredded-variant", "v"):
        wanted = [{"key": value} for value in ids.to_pylist()]
        found = decode_variant_column(variants, as_json=False)
        read += len(found)
        assert [value for value in found if value is not None] == [
            value for value, here in zip(wanted, found, strict=True) if here is not None
        ]
    assert read == 102


@pytest.mark.rule("newer-variant-struct")
def test_variant_shredded_as_one_type_in_a_real_table(corpus: Path) -> None:
    (file,) = (corpus / "tables/spark-variant-stats-state-reconstruction").glob("*.parquet")
    assert decode_variant_column(pq.read_table(file).column("v").chunk(0)).to_pylist() == ["0"]


def encoded(value: Any) -> bytes:
    """A value without field names, as pyspark encodes it."""
    return bytes(VariantUtils.parse_json(json.dumps(value))[0])


def field(name: str, value: bytes) -> bytes:
    """An object of one of the fields of `METADATA`."""
    place = ["names", "event", "data"].index(name)
    return bytes([2, 1, place, 0, len(value)]) + value


def group(rows: list[Row], typed: pa.DataType | None = None) -> pa.Array:
    fields = [("metadata", pa.binary()), ("value", pa.binary())]
    if typed is not None:
        fields.append(("typed_value", typed))
    held = [None if row is None else {"metadata": METADATA, **row} for row in rows]
    return pa.array(held, pa.struct(fields))


def text(rows: list[Row], typed: pa.DataType | None = None) -> list[str | None]:
    found: list[str | None] = decode_variant_column(group(rows, typed)).to_pylist()
    return found


def shredded(typed: pa.DataType) -> pa.DataType:
    return pa.struct([("value", pa.binary()), ("typed_value", typed)])


def test_null_rows_are_null_and_the_variant_null_is_text() -> None:
    rows: list[Row] = [None, {"value": NULL}, {"value": encoded("n/a")}]
    assert text(rows) == [None, "null", '"n/a"']
    assert decode_variant_column(group(rows), as_json=False) == [None, None, "n/a"]


@pytest.mark.rule("newer-variant-struct")
def test_measurements_of_the_shredding_rules() -> None:
    """34, null, "n/a", 100, and a value that is required and missing."""
    rows: list[Row] = [
        {"typed_value": 34},
        {"value": NULL},
        {"value": encoded("n/a")},
        {"typed_value": 100},
        {},
    ]
    assert text(rows, pa.int64()) == ["34", "null", '"n/a"', "100", "null"]


@pytest.mark.rule("newer-variant-struct")
def test_tags_of_the_shredding_rules() -> None:
    typed = pa.list_(shredded(pa.string()))
    rows: list[Row] = [
        {"typed_value": [{"typed_value": "comedy"}, {"typed_value": "drama"}]},
        {"typed_value": [{"typed_value": "horror"}, {"value": NULL}]},
        None,
        {"typed_value": [{}, {"value": encoded([1])}]},
        {"typed_value": []},
        {"value": NULL},
    ]
    wanted = ['["comedy","drama"]', '["horror",null]', None, "[null,[1]]", "[]", "null"]
    assert text(rows, typed) == wanted
    sliced = group(rows, typed).slice(1, 4)
    assert decode_variant_column(sliced).to_pylist() == wanted[1:5]
    assert text(rows, pa.large_list(shredded(pa.string()))) == wanted


@pytest.mark.rule("newer-variant-struct")
def test_events_of_the_shredding_rules() -> None:
    typed = pa.struct([("names", shredded(pa.string())), ("event", shredded(pa.int64()))])
    rows: list[Row] = [
        {"typed_value": {"names": {"typed_value": "noop"}, "event": {"typed_value": 7}}},
        {
            "value": field("data", encoded("x")),
            "typed_value": {"names": {"typed_value": "login"}, "event": {"typed_value": 8}},
        },
        {"value": field("data", NULL), "typed_value": {"names": {}, "event": {}}},
        {"value": encoded("malformed: not an object")},
        {"typed_value": {"names": {"value": NULL}, "event": {"value": encoded("2024-10-24")}}},
        {"typed_value": {"names": {}, "event": {}}},
        {"value": NULL},
        None,
    ]
    wanted = [
        '{"event":7,"names":"noop"}',
        '{"data":"x","event":8,"names":"login"}',
        '{"data":null}',
        '"malformed: not an object"',
        '{"event":"2024-10-24","names":null}',
        "{}",
        "null",
        None,
    ]
    assert text(rows, typed) == wanted
    assert decode_variant_column(group(rows, typed).slice(2, 5)).to_pylist() == wanted[2:7]


@pytest.mark.rule("newer-variant-struct")
def test_objects_inside_arrays_inside_objects() -> None:
    inner = shredded(pa.struct([("event", shredded(pa.int8()))]))
    typed = pa.struct([("data", shredded(pa.list_(inner)))])
    element = {"value": field("names", encoded(1)), "typed_value": {"event": {"typed_value": 2}}}
    rows: list[Row] = [
        {"typed_value": {"data": {"typed_value": [element, {"value": encoded([])}]}}},
        {"typed_value": {"data": {"typed_value": None}}},
        {"typed_value": {"data": {"typed_value": [None, {"typed_value": {"event": {}}}]}}},
    ]
    assert text(rows, typed) == ['{"data":[{"event":2,"names":1},[]]}', "{}", '{"data":[null,{}]}']


MOMENT = 1_700_000_000_123_456


@pytest.mark.rule("newer-variant-struct")
@pytest.mark.parametrize(
    ("typed", "stored", "json_text", "value"),
    [
        (pa.bool_(), False, "false", False),
        (pa.int8(), -1, "-1", -1),
        (pa.int16(), -300, "-300", -300),
        (pa.int32(), 2**31 - 1, "2147483647", 2**31 - 1),
        (pa.float32(), 0.1, "0.1", 0.10000000149011612),
        (pa.float64(), 0.1, "0.1", 0.1),
        (pa.decimal128(5, 2), Decimal("1.50"), "1.5", Decimal("1.50")),
        (pa.decimal128(38, 0), Decimal(10**37), str(10**37), Decimal(10**37)),
        (pa.date32(), date(2024, 10, 4), '"2024-10-04"', date(2024, 10, 4)),
        (pa.time64("us"), 1_500_000, '"00:00:01.5"', time(0, 0, 1, 500_000)),
        (
            pa.timestamp("us", "UTC"),
            MOMENT,
            '"2023-11-14 22:13:20.123456+00:00"',
            datetime(2023, 11, 14, 22, 13, 20, 123_456, UTC),
        ),
        (
            pa.timestamp("us"),
            MOMENT,
            '"2023-11-14 22:13:20.123456"',
            datetime(2023, 11, 14, 22, 13, 20, 123_456),  # noqa: DTZ001
        ),
        (
            pa.timestamp("ns", "UTC"),
            MOMENT * 1000,
            '"2023-11-14 22:13:20.123456+00:00"',
            datetime(2023, 11, 14, 22, 13, 20, 123_456, UTC),
        ),
        (pa.binary(), b"\x00\xff", '"AP8="', b"\x00\xff"),
        (pa.string(), "ü\n", '"ü\\n"', "ü\n"),
        (pa.binary(16), bytes(16), f'"{UUID(int=0)}"', UUID(int=0)),
        (pa.uuid(), bytes(16), f'"{UUID(int=0)}"', UUID(int=0)),
    ],
    ids=lambda one: str(one) if isinstance(one, pa.DataType) else "",
)
def test_every_shredded_type_is_read(
    typed: pa.DataType, stored: Any, json_text: str, value: Any
) -> None:
    plain = typed.storage_type if isinstance(typed, pa.BaseExtensionType) else typed
    leaves = pa.array([stored, None], plain)
    if plain is not typed:
        leaves = pa.ExtensionArray.from_storage(typed, leaves)
    metadata = pa.array([METADATA] * 2, pa.binary())
    column = pa.StructArray.from_arrays([metadata, leaves], ["metadata", "typed_value"])
    assert decode_variant_column(column).to_pylist() == [json_text, "null"]
    assert decode_variant_column(column, as_json=False) == [value, None]


OBJECT = pa.struct([("names", shredded(pa.string()))])


@pytest.mark.parametrize(
    ("row", "typed", "reason"),
    [
        ({"value": NULL, "typed_value": 1}, pa.int64(), "is not an object"),
        ({"value": NULL, "typed_value": []}, pa.list_(shredded(pa.int8())), "is not an object"),
        ({"value": NULL, "typed_value": {"names": {}}}, OBJECT, "its value is none"),
        (
            {"value": field("names", NULL), "typed_value": {"names": {"typed_value": "x"}}},
            OBJECT,
            "in a column of its own",
        ),
        (
            {"value": field("names", NULL), "typed_value": {"names": {}}},
            OBJECT,
            "in a column of its own",
        ),
        ({"typed_value": 86_400_000_000}, pa.time64("us"), "after midnight"),
        ({"typed_value": [1]}, pa.list_(pa.int64()), "neither a value nor a typed_value"),
        ({"metadata": None, "value": NULL}, None, "no metadata"),
        ({"metadata": b"", "value": field("names", NULL)}, None, "metadata is empty"),
        ({"value": b""}, None, "0 bytes"),
    ],
)
def test_group_that_no_writer_may_make_is_refused(
    row: dict[str, Any], typed: pa.DataType | None, reason: str
) -> None:
    with pytest.raises(CorruptDataError, match=reason):
        text([row], typed)


@pytest.mark.parametrize("typed", [pa.uint8(), pa.timestamp("ms"), pa.map_(pa.string(), pa.int8())])
def test_type_that_no_variant_is_shredded_as_is_refused(typed: pa.DataType) -> None:
    with pytest.raises(UnsupportedError, match="stands for no type"):
        text([{"value": NULL}], typed)


@pytest.mark.rule("newer-variant-struct")
@pytest.mark.parametrize(
    "column",
    [
        pa.array([b""], pa.binary()),
        pa.array([{"value": NULL}]),
        pa.array([{"metadata": METADATA}]),
        pa.array([{"metadata": "text", "value": NULL}]),
        pa.array([{"metadata": METADATA, "value": 1}]),
    ],
    ids=lambda column: str(column.type),
)
def test_column_that_is_no_variant_is_refused(column: pa.Array) -> None:
    with pytest.raises(CorruptDataError):
        decode_variant_column(column)


def test_text_that_is_no_utf_8_is_refused() -> None:
    data = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"], pa.binary()).buffers())
    metadata = pa.array([METADATA], pa.binary())
    column = pa.StructArray.from_arrays([metadata, data], ["metadata", "typed_value"])
    with pytest.raises(CorruptDataError, match="UTF-8"):
        decode_variant_column(column)


def test_a_column_without_rows() -> None:
    assert decode_variant_column(group([], pa.int64())).type == pa.string()
    assert decode_variant_column(group([]), as_json=False) == []
