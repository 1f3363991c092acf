"""Files of parquet-mr 1.11.0, which says of the groups in maps that they are columns of nulls."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import CorruptDataError
from explorer.rows.read import read_rows
from explorer.storage.parquet._mended_footer import read_mended
from explorer.storage.parquet._thrift_compact import STRUCT, parse_struct, render_struct
from tests.data_tables import DataTable, field, map_of, struct
from tests.tables import PROTOCOL, LogFolder, add, metadata

_SCHEMA, _NAME, _LOGICAL_TYPE, _NULLS = 2, 4, 10, 11
_ROWS = pa.table({"tags": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64()))})


def _write_as_1_11_0(place: Path) -> None:
    """Give the groups in the maps of a file that pyarrow wrote the logical type of nulls."""
    data = place.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    fields = parse_struct(data[-8 - length : -8])
    for element in fields[_SCHEMA][1][1]:
        if element[_NAME][1] == b"key_value":
            element[_LOGICAL_TYPE] = STRUCT, {_NULLS: (STRUCT, {})}
    footer = render_struct(fields)
    end = footer + len(footer).to_bytes(4, "little") + b"PAR1"
    place.write_bytes(data[: -8 - length] + end)
    with pytest.raises(OSError, match="Null cannot be applied to group"):
        pq.read_metadata(place)


def test_maps_in_a_data_file_are_read(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", struct(field("tags", map_of("string", "long"))))
    place = made.add("x.parquet", _ROWS)
    _write_as_1_11_0(place)
    table = explorer.open_table(made.write())
    assert read_rows(table.snapshot()).to_pylist() == _ROWS.to_pylist()
    assert read_rows(table.snapshot(), limit=1).to_pylist() == _ROWS.slice(0, 1).to_pylist()


@pytest.mark.parametrize("form", ["classic", "multi-part", "v2-parquet"])
def test_maps_in_a_checkpoint_are_read(tmp_path: Path, form: str) -> None:
    log = LogFolder(tmp_path / "t")
    meta = metadata(partitionColumns=["p"], configuration={"delta.appendOnly": "true"})
    files = [add(f"{p}.parquet", partitionValues={"p": p}) for p in "ab"]
    for place in log.checkpoint(1, [PROTOCOL, meta, *files], form=form):  # type: ignore[arg-type]
        _write_as_1_11_0(place)
    log.commit(1, files)
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.problems == ()
    assert snapshot.metadata.configuration == {"delta.appendOnly": "true"}
    values = [dict(pairs) for pairs in snapshot.files()["partition_values"].to_pylist()]
    assert sorted(value["p"] for value in values) == ["a", "b"]


def test_sound_footer_is_not_mended(tmp_path: Path) -> None:
    place = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": pa.nulls(2)}), place)  # a column, of which it is right
    with pa.OSFile(str(place)) as file:
        assert read_mended(file) is None


def test_what_else_is_broken_stays_an_error(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", struct(field("tags", map_of("string", "long"))))
    made.add("x.parquet", _ROWS).write_bytes(b"PAR1\x15\x02\x00\x03\x00\x00\x00PAR1")
    with pytest.raises(CorruptDataError):
        read_rows(explorer.open_table(made.write()).snapshot())
