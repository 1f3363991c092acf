"""Rows in the types of data files, where structs have fields that may not be null."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.writing.files.renamed_rows import conform

_FIELDS = [pa.field("value", pa.binary()), pa.field("metadata", pa.binary())]
_VARIANT = pa.struct(
    [pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")]
)
_BYTES = pa.array([b"1", None, b"3"], pa.binary())
# null where the struct is: so Spark sends them
_PLAIN = pa.StructArray.from_arrays(
    [_BYTES, _BYTES], fields=_FIELDS, mask=pa.array([False, True, False])
)
_LIST = pa.ListArray.from_arrays(
    pa.array([0, 2, 2, 3], pa.int32()), _PLAIN, mask=pa.array([False, True, False])
)
_MAP = pa.MapArray.from_arrays(
    pa.array([0, 1, 2, 3], pa.int32()),
    pa.array(["a", "b", "c"]),
    _PLAIN,
    mask=pa.array([True, False, False]),
)
CASES = {
    "plain": (_PLAIN, _VARIANT),
    "in a list": (_LIST, pa.list_(_VARIANT)),
    "in a map": (_MAP, pa.map_(pa.string(), _VARIANT)),
    "in a struct": (
        pa.StructArray.from_arrays([_PLAIN, _MAP], ["v", "m"]),
        pa.struct([("v", _VARIANT), ("m", pa.map_(pa.string(), _VARIANT))]),
    ),
    "none": (pa.array([None, None], _PLAIN.type), _VARIANT),
    "no rows": (pa.array([], _LIST.type), pa.list_(_VARIANT)),
}


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_null_structs_with_required_fields_are_written_and_read_back(name: str, start: int) -> None:
    values, kind = CASES[name]
    part = values.slice(start)
    rows = conform(pa.record_batch([part], names=["v"]), pa.schema([("v", kind)]))
    assert rows.schema.field("v").type == kind
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_batches([rows]), sink)
    assert pq.read_table(sink).column("v").to_pylist() == part.to_pylist()
