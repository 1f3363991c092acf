"""Statistics as columns: from JSON and from a checkpoint's struct, against another reader."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import explorer
from explorer.errors import CancelledError, InvalidArgumentError
from explorer.log.state.file_columns import FileColumns
from explorer.scan.statistics.column_statistics import parsed_leaves, read_facts, statistics_columns
from explorer.scan.statistics.live_files import parsed_statistics
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

PEERS = [
    "dat-all_primitive_types",
    "dat-stats_as_struct",
    "deltars-checkpoint-v2-table",
    "deltars-table_with_edge_timestamps",
    "golden-basic-with-inserts-merge",
    "golden-multi-part-checkpoint",
    "kernel-v2-json-sidecars-struct-stats-only",
    "spark44-clustering",
    "spark44-streaming-transactions",
]


@pytest.mark.rule("file-add-stats-json-string", "stats-mirror-schema", "stats-numrecords")
@pytest.mark.parametrize("name", PEERS)
def test_values_are_those_of_another_reader(corpus: Path, name: str) -> None:
    place = corpus / "tables" / name
    ours = parsed_statistics(explorer.open_table(place).snapshot())
    theirs = pa.table(DeltaTable(str(place)).get_add_actions(flatten=True))
    assert ours.num_rows == theirs.num_rows > 0
    order = {path: at for at, path in enumerate(theirs.column("path").to_pylist())}
    theirs = theirs.take([order[path] for path in ours.column("path").to_pylist()])
    shared = [column for column in ours.column_names if column in theirs.column_names]
    assert len(shared) >= 5
    for column in shared:
        expected = pc.cast(theirs.column(column), ours.column(column).type, safe=False)
        assert ours.column(column).to_pylist() == expected.to_pylist(), column


BOTH = [
    "deltars-checkpoint-v2-table",
    "deltars-table_failed_last_checkpoint_update",
    "spark44-cdf-all-operations",
    "spark44-log-compaction",
    "spark44-type-widening",
    "spark44-v2-checkpoint-sidecars",
]


@pytest.mark.rule("checkpoint-schema-stats-parsed")
@pytest.mark.parametrize("name", BOTH)
def test_struct_and_json_of_a_checkpoint_say_the_same(corpus: Path, name: str) -> None:
    snapshot = explorer.open_table(corpus / "tables" / name).snapshot()
    columns = statistics_columns(snapshot)

    def read(files: FileColumns) -> tuple[int, object, object]:
        plain = FileColumns(table=files.table, leaves={})
        both = [read_facts(found, columns) for found in (files, plain)]
        texts = [
            {path: [facts.minimum, facts.maximum, facts.null_count] for path, facts in item}
            for item in (found.columns.items() for found in both)
        ]
        return len(files.leaves), texts[0], texts[1]

    found = snapshot.over_files(
        lambda state: list(state.reduce_files(["path", "stats"], parsed_leaves(columns), read))
    )
    assert any(leaves for leaves, _, _ in found)
    for _, struct, text in found:
        assert struct == text


def _many_files(count: int) -> list[Action]:
    """As a checkpoint has them; one in a hundred says nothing of its rows in the struct."""
    files = [
        add(f"{at}.parquet", stats=f'{{"numRecords":{at}}}', stats_parsed={"numRecords": at})
        for at in range(count)
    ]
    for at in range(0, count, 100):
        files[at]["add"]["stats_parsed"] = None
    return [PROTOCOL, metadata(), *files]


def _write_checkpoint(
    folder: LogFolder, actions: list[Action], rows_per_group: int = 15_000
) -> None:
    fields = [*COLUMNS["add"], pa.field("stats_parsed", pa.struct([("numRecords", pa.int64())]))]
    columns = COLUMNS | {"add": pa.struct(fields)}
    place = folder.log / f"{0:020}.checkpoint.parquet"
    write_parquet(place, actions, rows_per_group=rows_per_group, columns=columns)


def test_every_file_of_large_row_groups_has_its_own_statistics(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    _write_checkpoint(folder, _many_files(20_000))
    gone = {5, 9_000, *range(10_000, 10_100)}
    folder.commit(1, [remove(f"{at}.parquet") for at in gone])
    snapshot = explorer.open_table(folder.root).snapshot()
    left = [at for at in range(20_000) if at not in gone]
    expected = {"path": [f"{at}.parquet" for at in left], "num_records": left}
    found = parsed_statistics(snapshot).select(["path", "num_records"])
    assert found.to_pydict() == expected
    kept = explorer.plan_scan(snapshot).kept
    assert kept.select(["path", "num_records"]).to_pydict() == expected


def test_columns_that_turn_out_to_be_needed_are_those_of_the_same_files(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    _write_checkpoint(folder, _many_files(20_000))
    folder.commit(1, [remove(f"{at}.parquet") for at in range(7_000, 7_300)])

    def read(files: FileColumns) -> list[tuple[str, str]]:
        paths = files.table.column("path").to_pylist()
        if paths[0] == "0.parquet":
            return []
        stats = files.column("stats")
        assert files.column("stats") is stats
        return list(zip(paths, stats.to_pylist(), strict=True))

    snapshot = explorer.open_table(folder.root).snapshot()
    found = snapshot.over_files(lambda state: list(state.reduce_files(["path"], [], read)))
    first, *others = found
    assert first == []
    pairs = [pair for piece in others for pair in piece]
    assert pairs[-1][0] == "19999.parquet"
    assert len(pairs) > 5_000
    assert all(stats == f'{{"numRecords":{path[:-8]}}}' for path, stats in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("asks", ["first", "others", "all"])
def test_pieces_of_one_large_row_group_are_shared_out_between_threads(
    asks: str, looked: bool, tmp_path: Path
) -> None:
    folder = LogFolder(tmp_path / "t")
    _write_checkpoint(folder, _many_files(90_000), rows_per_group=100_000)
    gone = {5, *range(40_000, 60_000), 80_000}
    folder.commit(1, [remove(f"{at}.parquet") for at in sorted(gone)])
    left = [at for at in range(90_000) if at not in gone]
    names: set[str] = set()

    def read(files: FileColumns) -> list[tuple[str, str | None]]:
        names.add(threading.current_thread().name)
        paths = files.table.column("path").to_pylist()
        is_first = paths[0] == "0.parquet"
        if asks == "all" or is_first == (asks == "first"):
            stats = files.column("stats")
            assert files.column("stats") is stats
            return list(zip(paths, stats.to_pylist(), strict=True))
        return [(path, None) for path in paths]

    snapshot = explorer.open_table(folder.root).snapshot()
    if looked:
        assert snapshot.num_files == len(left)
    found = snapshot.over_files(lambda state: list(state.reduce_files(["path"], [], read)))
    pairs = [pair for piece in found for pair in piece]
    assert [path for path, _ in pairs] == [f"{at}.parquet" for at in left]
    told = [(path, stats) for path, stats in pairs if stats is not None]
    assert all(stats == f'{{"numRecords":{path[:-8]}}}' for path, stats in told)
    expected = {"first": len(found[0]), "others": len(left) - len(found[0]), "all": len(left)}
    assert len(told) == expected[asks]
    assert len(names) > 1


@pytest.mark.slow
def test_what_goes_wrong_with_a_piece_of_a_large_row_group_is_told(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    _write_checkpoint(folder, _many_files(90_000), rows_per_group=100_000)
    snapshot = explorer.open_table(folder.root).snapshot()
    read: list[str] = []

    def refuse(files: FileColumns) -> None:
        read.append(files.table.column("path")[0].as_py())
        if len(read) == 3:
            raise CancelledError("Stopped.", reason="Asked to.", remedy="Ask again.")

    with pytest.raises(CancelledError):
        snapshot.over_files(lambda state: list(state.reduce_files(["path"], [], refuse)))
    assert 3 <= len(read) < 6


@pytest.mark.slow
def test_a_flipped_bit_in_the_last_page_costs_the_checkpoint_not_the_statistics(
    tmp_path: Path,
) -> None:
    folder = LogFolder(tmp_path / "t")
    actions = _many_files(20_000)
    for at, action in enumerate(actions[2:]):
        del action["add"]["stats_parsed"]
        # long enough for more than one page
        action["add"]["stats"] = f'{{"numRecords":{at},"more":"{at:0200}"}}'
    folder.commit(0, actions)
    _write_checkpoint(folder, actions)
    place = folder.log / f"{0:020}.checkpoint.parquet"
    group = pq.ParquetFile(place).metadata.row_group(0)
    chunks = [group.column(at) for at in range(group.num_columns)]
    (chunk,) = [chunk for chunk in chunks if chunk.path_in_schema == "add.stats"]
    data = bytearray(place.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data[start + chunk.total_compressed_size - 20] ^= 1
    place.write_bytes(data)
    snapshot = explorer.open_table(folder.root).snapshot()
    assert parsed_statistics(snapshot).column("num_records").to_pylist() == list(range(20_000))


def test_only_the_columns_that_are_named_are_read(corpus: Path) -> None:
    snapshot = explorer.open_table(corpus / "tables" / "spark44-clustering").snapshot()
    found = parsed_statistics(snapshot, ["s.d"])
    assert found.to_pylist()[0].keys() == {
        "path",
        "num_records",
        "tight_bounds",
        "min.s.d",
        "max.s.d",
        "null_count.s.d",
    }
    with pytest.raises(InvalidArgumentError, match="nope"):
        parsed_statistics(snapshot, ["nope"])


@pytest.mark.rule("checkpoint-schema-stats-parsed")
def test_statistics_of_a_checkpoint_beyond_the_year_2262_are_kept(corpus: Path) -> None:
    # as nanoseconds, which a checkpoint's timestamps once were, the year 9999 is 1816
    place = corpus / "tables" / "deltars-table_with_edge_timestamps"
    found = parsed_statistics(explorer.open_table(place).snapshot(), ["BIG_DATE"])
    assert {value.year for value in found.column("max.BIG_DATE").to_pylist()} == {9999}


def test_a_count_of_rows_beyond_63_bits_is_no_count(tmp_path: Path) -> None:
    statistics = pa.struct([("numRecords", pa.uint64())])
    fields = [*COLUMNS["add"], pa.field("stats_parsed", statistics)]
    actions = [
        PROTOCOL,
        metadata(),
        add("a.parquet", stats_parsed={"numRecords": 2**64 - 1}),
        add("b.parquet", stats_parsed={"numRecords": 7}),
    ]
    folder = LogFolder(tmp_path / "t")
    place = folder.log / f"{0:020}.checkpoint.parquet"
    write_parquet(place, actions, columns=COLUMNS | {"add": pa.struct(fields)})
    snapshot = explorer.open_table(folder.root).snapshot()
    assert snapshot.num_rows is None
    plan = explorer.plan_scan(snapshot, "id = 1")
    assert dict(
        zip(*plan.kept.select(["path", "num_records"]).to_pydict().values(), strict=True)
    ) == {
        "a.parquet": None,
        "b.parquet": 7,
    }
