"""Variants as Python values, by the public name."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.errors import CancelledError, CorruptDataError, InvalidArgumentError
from explorer.progress import Cancel
from explorer.table.snapshot import Snapshot
from tests.data_tables import DataTable, field, struct

_NO_NAMES = b"\x01\x00\x00"

_VALUES: dict[str, Any] = {
    "day": dt.date(2024, 2, 29),
    "at": dt.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=dt.UTC),
    "local": dt.datetime(1582, 10, 15, 1, 2, 3, 4),  # noqa: DTZ001  # it has no time zone
    "exact": Decimal("-1.250"),
    "bytes": b"\x00\xff",
    "time": dt.time(23, 59, 59, 999_999),
    "real": 1.5,
    "yes": True,
}
_TYPES = {
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "exact": pa.decimal128(9, 3),
    "bytes": pa.binary(),
    "time": pa.time64("us"),
    "real": pa.float64(),
    "yes": pa.bool_(),
}


def _snapshot(place: Path) -> Snapshot:
    return explorer.open_table(place).snapshot()


def _shredded(values: list[Any], kind: pa.DataType) -> pa.Array:
    """A variant column that is shredded as one type; a value that is None is the variant
    null, and `...` a row without a variant."""
    typed = pa.array([None if one is ... else one for one in values], kind)
    nothing = pa.array([b"\x00" if one is None else None for one in values], pa.binary())
    return pa.StructArray.from_arrays(
        [pa.array([_NO_NAMES] * len(values), pa.binary()), nothing, typed],
        names=["metadata", "value", "typed_value"],
        mask=pa.array([one is ... for one in values]),
    )


def _table(root: Path, *files: pa.Table) -> Snapshot:
    schema = struct(field("id", "long"), field("v", "variant"))
    table = DataTable(root, schema, features=("variantType", "variantShredding"))
    for at, rows in enumerate(files):
        table.add(f"{at}.parquet", rows)
    return _snapshot(table.write())


@pytest.mark.rule("newer-variant-struct")
def test_plain_variants_of_a_real_table_with_hidden_rows(corpus: Path) -> None:
    snapshot = _snapshot(corpus / "tables/spark44-variant-plain")
    ids = explorer.read_rows(snapshot, ["id"]).column("id").to_pylist()
    assert len(ids) == 33
    assert list(explorer.read_variants(snapshot, "v")) == [
        {"a": at, "b": ["x", None, Decimal("1.5")]} for at in ids
    ]


@pytest.mark.rule("newer-variant-struct")
def test_shredded_variants_of_real_tables(corpus: Path) -> None:
    snapshot = _snapshot(corpus / "tables/spark44-variant-shredded")
    assert list(explorer.read_variants(snapshot, "v")) == [
        {"a": at, "b": f"t{at}", "c": 2 * at} for at in range(40)
    ]
    name = "javakernel-spark-shredded-variant-preview-delta"
    snapshot = _snapshot(corpus / "tables" / name)
    found = list(explorer.read_variants(snapshot, "v"))
    rows = explorer.read_rows(snapshot, ["id", "v"]).to_pylist()
    assert len(found) == len(rows) == 102
    assert found == [None if row["v"] is None else {"key": row["id"]} for row in rows]


@pytest.mark.rule("newer-variant-struct")
@pytest.mark.parametrize("name", _VALUES)
def test_value_has_the_type_that_python_has_for_it(name: str, tmp_path: Path) -> None:
    value = _VALUES[name]
    column = _shredded([value, None, ...], _TYPES[name])
    snapshot = _table(tmp_path / "t", pa.table({"id": [1, 2, 3], "v": column}))
    found = list(explorer.read_variants(snapshot, "v"))
    assert found == [value, None, None]
    assert type(found[0]) is type(value)
    # JSON says less of it, and tells the variant null from no variant
    texts = explorer.read_rows(snapshot, ["v"]).column("v").to_pylist()
    assert texts[1:] == ["null", None]


def test_condition_limit_and_files_without_the_column(tmp_path: Path) -> None:
    files = [
        pa.table({"id": [1, 2], "v": _shredded([1, 2], pa.int64())}),
        pa.table({"id": [3]}),
        pa.table({"id": [4, 5], "v": _shredded([4, 5], pa.int64())}),
    ]
    snapshot = _table(tmp_path / "t", *files)
    assert list(explorer.read_variants(snapshot, "v")) == [1, 2, None, 4, 5]
    assert list(explorer.read_variants(snapshot, "v", where="id in (2, 3, 5)")) == [2, None, 5]
    assert list(explorer.read_variants(snapshot, "v", where="v is null")) == [None]
    assert list(explorer.read_variants(snapshot, "v", limit=0)) == []
    assert list(explorer.read_variants(snapshot, "v", limit=4)) == [1, 2, None, 4]
    assert list(explorer.read_variants(snapshot, "v", "id > 1", 3)) == [2, None, 4]


def test_files_are_opened_as_they_are_needed(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "v": _shredded([1], pa.int64())})
    snapshot = _table(tmp_path / "t", rows, rows)
    (tmp_path / "t/1.parquet").write_bytes(b"nothing")
    found = explorer.read_variants(snapshot, "v")
    assert next(found) == 1
    with pytest.raises(CorruptDataError, match=r"1\.parquet"):
        next(found)


def test_reading_tells_how_far_it_is_and_can_be_cancelled(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "v": _shredded([1], pa.int64())})
    snapshot = _table(tmp_path / "t", rows, rows)
    steps: list[tuple[int, int | None]] = []
    list(
        explorer.read_variants(
            snapshot, "v", progress=lambda step: steps.append((step.done, step.total))
        )
    )
    assert steps[-1] == (2, 2)
    cancel = Cancel()
    found = explorer.read_variants(snapshot, "v", cancel=cancel)
    assert next(found) == 1
    cancel.cancel()
    with pytest.raises(CancelledError):
        next(found)


@pytest.mark.parametrize("column", ["id", "nowhere", "V"])
def test_column_that_holds_no_variants_is_refused_at_once(column: str, tmp_path: Path) -> None:
    snapshot = _table(tmp_path / "t")
    with pytest.raises(InvalidArgumentError, match="no variant column"):
        explorer.read_variants(snapshot, column)


@pytest.mark.parametrize("limit", [-1, True])
def test_limit_that_is_none_is_refused_at_once(limit: int, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="not a valid limit"):
        explorer.read_variants(_table(tmp_path / "t"), "v", limit=limit)
