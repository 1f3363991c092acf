"""Row groups of a checkpoint that are too large to be decoded at once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import UnusableCheckpointError
from tests.tables import (
    COLUMNS,
    PROTOCOL,
    Action,
    LogFolder,
    add,
    metadata,
    remove,
    write_parquet,
)


@pytest.mark.slow
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("rows_per_group", [25_000, 100_000])
@pytest.mark.parametrize("text", [pa.string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
def test_files_of_large_row_groups_are_those_of_small_ones(
    text: pa.DataType, rows_per_group: int, tmp_path: Path
) -> None:
    live = [f"{'ä' * (number % 7)}{number}" for number in range(30_000)]
    actions: list[Action] = [PROTOCOL, metadata()]
    for number, path in enumerate(live):
        actions.append(add(path, size=number))
        if number % 3 == 0:  # between them, as writers leave them that do not sort
            actions.append(remove(f"old{number}"))
    fields = [
        pa.field(field.name, text if field.name == "path" else field.type)
        for field in COLUMNS["add"]
    ]
    log = LogFolder(tmp_path / "t")
    write_parquet(
        log.log / f"{4:020}.checkpoint.parquet",
        actions,
        rows_per_group=rows_per_group,
        columns={**COLUMNS, "add": pa.struct(fields)},
    )
    gone = {live[at] for at in (0, 4_095, 4_096, 29_999)}
    log.commit(5, [*map(remove, sorted(gone)), add("new", size=30_000), add(live[7], size=-7)])
    snapshot = explorer.open_table(log.root).snapshot()
    expected = {path: number for number, path in enumerate(live) if path not in gone}
    expected |= {"new": 30_000, live[7]: -7}
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == sorted(expected)
    rows = snapshot.files(["size", "path"])
    rows.validate(full=True)
    assert {row["path"]: row["size"] for row in rows.to_pylist()} == expected
    assert rows.num_rows == snapshot.num_files == len(expected)
    tombstones = snapshot.tombstones(["path"])["path"].to_pylist()
    assert set(tombstones) == gone | {f"old{number}" for number in range(0, 30_000, 3)}


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 20_000])
def test_path_that_is_no_utf_8_makes_a_checkpoint_unusable(count: int, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    place = log.log / f"{4:020}.checkpoint.parquet"
    write_parquet(place, [PROTOCOL, metadata(), *(add(f"file{at}") for at in range(count))])
    rows = pq.read_table(place)
    names = [field.name for field in rows.schema.field("add").type]
    fields = dict(zip(names, rows["add"].combine_chunks().flatten(), strict=True))
    paths = [None if path is None else path.encode() for path in fields["path"].to_pylist()]
    paths[-1] = b"file\xff"
    fields["path"] = pa.array(paths).cast(pa.string(), safe=False)
    adds = pa.StructArray.from_arrays(
        [*fields.values()], [*fields], mask=pc.is_null(rows["add"].combine_chunks())
    )
    at = rows.schema.get_field_index("add")
    pq.write_table(rows.set_column(at, "add", adds), place)
    with pytest.raises(UnusableCheckpointError, match="UTF8"):
        explorer.open_table(log.root).snapshot().files(["path"])


@pytest.mark.slow
@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("places", [(0, 1), (0, 15_000), (15_000, 0), (15_000, 15_001)])
def test_protocol_and_metadata_are_found_without_the_rest_wherever_they_stand(
    places: tuple[int, int], tmp_path: Path
) -> None:
    actions: list[Action] = [add(f"f{number}") for number in range(20_000)]
    # an object without what each protocol says is how some writers store none
    actions[5] |= {"protocol": {}, "metaData": {}}
    for at, action in sorted(
        zip(places, (PROTOCOL, metadata(name="held")), strict=True), key=lambda pair: pair[0]
    ):
        actions.insert(at, action)
    log = LogFolder(tmp_path / "t")
    log.checkpoint(4, actions, rows_per_group=12_000)
    log.commit(5, [add("newer")])
    table = explorer.open_table(log.root)
    assert table.protocol().min_reader_version == PROTOCOL["protocol"]["minReaderVersion"]
    assert table.metadata().name == "held"
    assert table.snapshot().metadata == table.metadata()
