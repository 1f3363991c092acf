"""Data files that do not hold what the log says, and names that are hard to ask for."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import DeltaError
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from explorer.rows.read import plan_rows, read_rows
from explorer.storage.parquet._thrift_compact import parse_struct, render_struct
from tests.data_tables import DataTable, field, mapped, struct

ONE = struct(field("a", "long"))
_SEVENTEEN = (17).to_bytes(8, "little")


def read(table: DataTable, **kw):
    return read_rows(explorer.open_table(table.write()).snapshot(), **kw)


def refused(table: DataTable, kind: str = "data_corrupt") -> str:
    with pytest.raises(DeltaError) as caught:
        read(table)
    assert caught.value.kind == kind
    assert all((caught.value.problem, caught.value.reason, caught.value.remedy))
    return str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:0],
        lambda data: data[:4],
        lambda data: data[: len(data) // 2],
        lambda data: b"not parquet at all, but long enough to look at"[: len(data)],
        # the footer claims to be longer than the file
        lambda data: data[:-8] + b"\xff\xff\xff\x7f" + b"PAR1",
        # one bit of a value, found by its page's checksum
        lambda data: data.replace(_SEVENTEEN, bytes([16]) + _SEVENTEEN[1:]),
    ],
    ids=["empty", "magic", "half", "text", "footer", "bit"],
)
def test_damaged_file_is_refused_by_name_and_version(tmp_path, damage):
    table = DataTable(tmp_path / "t", ONE)
    rows = pa.table({"a": list(range(50))})
    place = table.add("x.parquet", rows, written={"compression": "none", "use_dictionary": False})
    place.write_bytes(damage(place.read_bytes()))
    assert "x.parquet of version 0" in refused(table)


def test_text_that_is_no_utf8_is_refused(tmp_path):
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    table = DataTable(tmp_path / "t", struct(field("s", "string")))
    table.add("x.parquet", pa.table({"s": bad}))
    assert "UTF8" in refused(table)


def test_column_of_another_type_is_refused(tmp_path):
    table = DataTable(tmp_path / "t", ONE)
    table.add("x.parquet", pa.table({"a": ["1"]}))
    message = refused(table)
    assert "column `a` cannot be read from x.parquet" in message
    assert "holds string where the table says long" in message


def test_value_beyond_a_narrower_type_is_refused(tmp_path):
    table = DataTable(tmp_path / "t", struct(field("a", "byte")))
    table.add("x.parquet", pa.table({"a": pa.array([300], pa.int32())}))
    refused(table)


def test_deletion_vector_past_the_end_of_its_file_is_refused(tmp_path):
    table = DataTable(tmp_path / "t", ONE, features=("deletionVectors",))
    vector = render_descriptor(build_inline_descriptor([1, 3]))
    table.add("x.parquet", pa.table({"a": [1, 2, 3]}), deletionVector=vector)
    message = refused(table)
    assert "position 3" in message
    assert "3 rows" in message


@pytest.mark.rule("dv-format-row-indexes", "dv-read-regardless", "dv-rows-not-returned")
@pytest.mark.rule("older-001-dv-enable")
def test_rows_that_a_vector_hides_are_gone_and_positions_stay_physical(tmp_path):
    table = DataTable(tmp_path / "t", ONE, features=("deletionVectors",))
    rows = pa.table({"a": list(range(1000))})
    hidden = [0, 10, 11, 998]
    vector = render_descriptor(build_inline_descriptor(hidden))
    table.add("x.parquet", rows, deletionVector=vector, written={"row_group_size": 300})
    found = read(table, metadata_columns=["_row_index"])
    kept = [number for number in range(1000) if number not in hidden]
    assert found.column("a").to_pylist() == found.column("_row_index").to_pylist() == kept


@pytest.mark.rule("dv-rows-not-returned")
def test_file_whose_rows_are_all_hidden_has_none(tmp_path):
    table = DataTable(tmp_path / "t", ONE, features=("deletionVectors",))
    vector = render_descriptor(build_inline_descriptor([0, 1]))
    table.add("x.parquet", pa.table({"a": [1, 2]}), deletionVector=vector)
    assert read(table).num_rows == 0


@pytest.mark.rule("log-missing-columns")
def test_column_that_the_file_lacks_is_not_another_that_differs_by_case(tmp_path):
    table = DataTable(tmp_path / "t", struct(field("a", "long"), field("A", "long")))
    table.add("x.parquet", pa.table({"a": [1]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    assert read_rows(snapshot).to_pylist() == [{"a": 1, "A": None}]
    assert read_rows(snapshot, columns=["A"]).to_pylist() == [{"A": None}]


def test_column_that_the_writer_spelled_in_another_case_is_found(tmp_path):
    table = DataTable(tmp_path / "t", ONE)
    table.add("x.parquet", pa.table({"A": [1]}))
    assert read(table).to_pylist() == [{"a": 1}]


def test_names_with_dots_are_no_paths(tmp_path):
    inner = struct(field("b", "long"), field("c", "long"))
    kind = struct(field("a", inner), field("a.b", "string"), field("a.b.c", "long"))
    table = DataTable(tmp_path / "t", kind)
    rows = {"a": [{"b": 1, "c": 2}], "a.b": ["dot"], "a.b.c": [3]}
    table.add("x.parquet", pa.table(rows))
    snapshot = explorer.open_table(table.write()).snapshot()
    wanted = {name: column[0] for name, column in rows.items()}
    assert read_rows(snapshot).to_pylist() == [wanted]
    for name, value in wanted.items():
        assert read_rows(snapshot, columns=[name]).to_pylist() == [{name: value}]


@pytest.mark.rule("mapping-id-field-id")
def test_file_with_two_columns_of_one_name_can_be_read_by_id(tmp_path):
    def stored(number):
        return pa.field("x", pa.int64(), metadata={"PARQUET:field_id": str(number)})

    table = DataTable(
        tmp_path / "t",
        struct(mapped("a", "long", "x", 2), mapped("b", "long", "x2", 1)),
        features=("columnMapping",),
        configuration={"delta.columnMapping.mode": "id"},
    )
    columns = [pa.array([1]), pa.array([2])]
    table.add("x.parquet", pa.Table.from_arrays(columns, schema=pa.schema([stored(1), stored(2)])))
    assert read(table).to_pylist() == [{"a": 2, "b": 1}]


@pytest.mark.rule("mapping-id-file-without-ids", "mapping-id-log-physical")
def test_file_without_ids_is_refused_where_ids_find_columns(tmp_path):
    table = DataTable(
        tmp_path / "t",
        struct(mapped("a", "long", "a", 1), mapped("p", "long", "col-p", 2)),
        features=("columnMapping",),
        configuration={"delta.columnMapping.mode": "id"},
        partitionColumns=["p"],
    )
    table.add("x.parquet", pa.table({"a": [1]}), partitionValues={"col-p": "4"})
    assert "field ids" in refused(table)
    # what the log says needs no ids, and goes by the physical name
    snapshot = explorer.open_table(tmp_path / "t").snapshot()
    assert read_rows(snapshot, columns=["p"]).to_pylist() == [{"p": 4}]


@pytest.mark.rule("schema-type-ntz", "schema-type-timestamp")
@pytest.mark.parametrize(
    "written",
    [
        {"use_deprecated_int96_timestamps": True},
        {"coerce_timestamps": "ms", "allow_truncated_timestamps": True},
        {"version": "2.6"},
        {"store_schema": False},
        {"use_dictionary": False, "data_page_version": "2.0"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_timestamp_is_the_same_however_the_file_keeps_it(tmp_path, written, kind):
    times = [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999000), datetime(9999, 12, 31)]  # noqa: DTZ001
    table = DataTable(tmp_path / "t", struct(field("t", kind)))
    table.add("x.parquet", pa.table({"t": pa.array(times, pa.timestamp("us"))}), written=written)
    found = read(table).column("t")
    assert found.cast(pa.timestamp("us")).to_pylist() == times


def test_many_row_groups_come_in_order_and_a_batch_at_a_time(tmp_path):
    table = DataTable(tmp_path / "t", ONE)
    table.add(
        "x.parquet", pa.table({"a": list(range(200_000))}), written={"row_group_size": 70_000}
    )
    scan = plan_rows(explorer.open_table(table.write()).snapshot())
    sizes = [batch.num_rows for batch in scan.batches()]
    assert max(sizes) <= 65_536
    assert sum(sizes) == 200_000
    assert read(table, limit=70_001).column("a").to_pylist() == list(range(70_001))


def test_fewer_rows_than_the_footer_claims_are_refused(tmp_path):
    table = DataTable(tmp_path / "t", ONE)
    place = table.add(
        "x.parquet", pa.table({"a": list(range(1_000))}), written={"compression": "none"}
    )
    data = place.read_bytes()
    # the footer writes counts as zigzag varints: 1,000 rows are d0 0f, 1,001 are d2 0f
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    assert data[footer:].count(b"\xd0\x0f")
    place.write_bytes(data[:footer] + data[footer:].replace(b"\xd0\x0f", b"\xd2\x0f"))
    assert pq.read_metadata(place).num_rows == 1_001
    refused(table)


@pytest.mark.parametrize("claim", [100_000, 2**31 - 1, 2**40, 2**62])
def test_column_that_claims_to_exceed_its_file_is_refused_unread(tmp_path, claim):
    table = DataTable(tmp_path / "t", ONE)
    place = table.add("x.parquet", pa.table({"a": [1]}), written={"compression": "none"})
    size = pq.read_metadata(place).row_group(0).column(0).total_compressed_size
    data = place.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    lying = data[footer:-8].replace(_zigzag(size), _zigzag(claim))
    assert lying != data[footer:-8]
    place.write_bytes(data[:footer] + lying + len(lying).to_bytes(4, "little") + b"PAR1")
    assert "x.parquet of version 0" in refused(table)


def _zigzag(number: int) -> bytes:
    number *= 2
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


@pytest.mark.parametrize("claimed", [2**31, 2**62, -1])
def test_impossible_number_of_rows_is_refused_before_any_is_read(tmp_path, claimed):
    table = DataTable(tmp_path / "t", ONE)
    place = table.add("x.parquet", pa.table({"a": [1, 2, 3]}))
    data = place.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = parse_struct(data[-8 - length : -8])
    ((group,),) = footer[4][1][1:]
    footer[3] = footer[3][0], claimed
    group[3] = group[3][0], claimed
    rendered = render_struct(footer)
    tail = rendered + len(rendered).to_bytes(4, "little") + b"PAR1"
    place.write_bytes(data[: -8 - length] + tail)
    assert "impossible number of rows" in refused(table)


@pytest.mark.slow
def test_wide_rows_come_in_small_batches(tmp_path):
    table = DataTable(tmp_path / "t", struct(field("s", "string")))
    rows = pa.table({"s": ["x" * 2**22] * 24})
    table.add("x.parquet", rows, written={"use_dictionary": False})
    scan = plan_rows(explorer.open_table(table.write()).snapshot())
    sizes = [(batch.num_rows, batch.nbytes) for batch in scan.batches()]
    assert sum(count for count, _ in sizes) == 24
    assert max(size for _, size in sizes) <= 65 * 2**20
