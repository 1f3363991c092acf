"""Row groups of few rows, of which neighbours are read together, answer as single ones do."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import UnusableCheckpointError
from explorer.log.checkpoint import parquet_part
from explorer.log.checkpoint.parquet_part import open_part
from explorer.scan.statistics.live_files import parsed_statistics
from explorer.storage.open import open_read_store
from explorer.storage.parquet._thrift_compact import Struct, parse_struct, render_struct
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from tests.tables import (
    FEATURE_PROTOCOL,
    Action,
    LogFolder,
    add,
    metadata,
    remove,
    vector,
    write_parquet,
)

_CHECKPOINT = f"{4:020}.checkpoint.parquet"
_START: list[Action] = [FEATURE_PROTOCOL, metadata(partitionColumns=["part"])]
_COLUMNS = ["path", "size", "partition_values", "deletion_vector", "stats", "num_records"]


@pytest.fixture(autouse=True)
def _together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_part, "ROWS_AT_ONCE", 12)


def _actions(source: random.Random, files: int) -> list[Action]:
    """Files, some with vectors, and tombstones of all of them but the few last among them."""

    def file(at: int) -> Action:
        stats = json.dumps({"numRecords": at, "minValues": {"id": at}, "maxValues": {"id": at + 1}})
        more: dict[str, Any] = {}
        if source.random() < 0.3:
            more["deletionVector"] = vector(offset=at) if at % 2 else vector()
        path = source.choice(("", "file:///", "/")) + f"f{at}"
        return add(path, size=at, stats=stats, partitionValues={"part": str(at % 3)}, **more)

    gone = [remove(f"gone{at}", deletionVector=vector()) for at in range(files // 4)]
    rows = [file(at) for at in range(files)]
    if source.random() < 0.5:
        return [*rows, *gone]
    rows += gone
    source.shuffle(rows)
    return rows


def _write(log: LogFolder, actions: list[Action], sizes: list[int]) -> Path:
    """A checkpoint whose row groups have these sizes, again and again."""
    place = log.log / _CHECKPOINT
    write_parquet(place, actions)
    rows = pq.read_table(place)
    with pq.ParquetWriter(place, rows.schema, write_page_checksum=True) as writer:
        start = at = 0
        while start < rows.num_rows:
            writer.write_table(rows.slice(start, sizes[at % len(sizes)]))
            start, at = start + sizes[at % len(sizes)], at + 1
    return place


def _answers(snapshot: Snapshot, *, keys_first: bool) -> list[Any]:
    if keys_first:
        snapshot.files(["path"])
    return [
        snapshot.files(_COLUMNS).combine_chunks().to_pylist(),
        snapshot.files(["size"]).combine_chunks().to_pylist(),
        snapshot.files(["deletion_vector"]).combine_chunks().to_pylist(),
        snapshot.tombstones().combine_chunks().to_pylist(),
        parsed_statistics(snapshot).combine_chunks().to_pylist(),
        snapshot.num_files,
        snapshot.num_deletion_vectors,
        snapshot.num_tombstones,
        snapshot.metadata,
        snapshot.transactions,
    ]


@pytest.mark.parametrize("sizes", [[1], [5], [3, 1, 8], [12, 1, 11, 2], [40, 2, 2, 2], [4, 13]])
@pytest.mark.parametrize("seed", range(3))
def test_files_of_small_row_groups_are_those_of_one(
    sizes: list[int], seed: int, tmp_path: Path
) -> None:
    source = random.Random(seed)
    files = _actions(source, 60)
    few = [{"txn": {"appId": f"app{at}", "version": at}} for at in range(3)]
    for action in [*_START, *few]:
        files.insert(source.choice((0, source.randint(0, len(files)))), action)
    live = [action["add"] for action in files if "add" in action]
    later = [
        # of a file with a vector only the key with that vector says which one goes
        *(
            remove(body["path"], **{"deletionVector": held} if held else {})
            for body in source.sample(live, 9)
            for held in [body.get("deletionVector")]
        ),
        add("new", size=1000),
        add("f7", deletionVector=vector(offset=99)),
    ]
    answers = []
    for name, these in (("small", sizes), ("one", [1000])):
        log = LogFolder(tmp_path / name)
        _write(log, files, these)
        log.commit(5, later)
        for keys_first in (False, True):
            for cache_bytes in (0, 10**9):
                table = Table(open_read_store(log.root), cache_bytes=cache_bytes)
                answers.append(_answers(table.snapshot(), keys_first=keys_first))
    assert len(answers[0][0]) > 50
    assert all(answer == answers[0] for answer in answers)


def test_neighbours_are_read_together_as_long_as_they_are_few_rows(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    _write(log, [add(str(at)) for at in range(70)], [5, 5, 2, 1, 30, 12, 8, 7])
    part = open_part(open_read_store(log.root), f"_delta_log/{_CHECKPOINT}")
    assert part.groups == (
        range(3),
        range(3, 4),
        range(4, 5),
        range(5, 6),
        range(6, 7),
        range(7, 8),
    )
    assert [part.num_rows(group) for group in range(part.num_groups)] == [12, 1, 30, 12, 8, 7]


def _spoil(place: Path, group: int) -> None:
    """Change a byte of the paths of a row group."""
    footer = pq.ParquetFile(place).metadata
    column = footer.row_group(group).column(_paths_in(footer))
    data = bytearray(place.read_bytes())
    data[column.dictionary_page_offset + column.total_compressed_size // 2] ^= 0xFF
    place.write_bytes(data)


def _paths_in(footer: pq.FileMetaData) -> int:
    return [footer.schema.column(at).path for at in range(len(footer.schema))].index("add.path")


@pytest.mark.parametrize("columns", [["path"], ["size", "deletion_vector"], ["size"]])
def test_broken_row_group_among_others_is_told_as_when_it_is_read_alone(
    columns: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogFolder(tmp_path / "t")
    place = _write(log, [*_START, *_actions(random.Random(0), 60)], [6])
    broken = [at for at in range(10) if _holds_adds(place, at)][4]
    _spoil(place, broken)
    told = []
    for together in (12, 6):
        monkeypatch.setattr(parquet_part, "ROWS_AT_ONCE", together)
        with pytest.raises(UnusableCheckpointError) as caught:
            explorer.open_table(log.root).snapshot().files(columns)
        told.append((caught.value.problem, caught.value.reason, caught.value.remedy))
    assert told[0] == told[1]


def _holds_adds(place: Path, group: int) -> bool:
    rows = pq.ParquetFile(place).read_row_group(group, columns=["add.path"])
    return rows["add"].null_count < rows.num_rows


@pytest.mark.parametrize("columns", [["path"], ["size", "path"]])
def test_value_that_is_missing_in_one_row_group_is_not_made_up_for_by_the_next(
    columns: list[str], tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    place = _write(log, [add(str(at), size=at) for at in range(16)], [4, 4, 3, 5])
    # the first two row groups, with the paths of the others: as many in all, but not in each
    data = place.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = parse_struct(data[-8 - length : -8])
    groups: list[Struct] = footer[4][1][1]
    leaf = _paths_in(pq.read_metadata(place))
    for short, given in ((0, 2), (1, 3)):
        groups[short][1][1][1][leaf] = groups[given][1][1][1][leaf]
    del groups[2:]
    footer[3] = footer[3][0], 8
    rendered = render_struct(footer)
    place.write_bytes(
        data[: -8 - length] + rendered + len(rendered).to_bytes(4, "little") + b"PAR1"
    )
    together = pq.ParquetFile(place).read_row_groups([0, 1], columns=["add.path", "add.size"])
    assert together.num_rows == 8  # one call for both does not see it
    log.commit(4, _START)
    log.commit(5, [add("new")])
    store = open_read_store(log.root)
    part = open_part(store, f"_delta_log/{_CHECKPOINT}")
    assert part.groups == (range(2),)
    with pytest.raises(UnusableCheckpointError, match="fewer rows"):
        part.read_group(0, "add", columns)
    with pytest.raises(UnusableCheckpointError, match=r"upper bound|fewer rows"):
        part.read_keys(0, "add")
    with pytest.raises(UnusableCheckpointError, match=r"upper bound|fewer rows"):
        list(part.stream_group(0, "add", columns))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("places", [(0, 0), (0, 17), (17, 4), (30, 31)])
def test_few_actions_are_found_in_whichever_row_group_they_are(
    places: tuple[int, int], size: int, tmp_path: Path
) -> None:
    actions: list[Action] = [add(str(at)) for at in range(32)]
    actions.insert(places[0], FEATURE_PROTOCOL)
    actions.insert(places[1], metadata(name="deep"))
    log = LogFolder(tmp_path / "t")
    place = _write(log, actions, [size])
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.metadata.name == "deep"
    assert snapshot.files(["path"])["path"].combine_chunks().to_pylist() == [
        str(at) for at in range(32)
    ]
    found = open_part(open_read_store(log.root), f"_delta_log/{place.name}").read_small()
    assert sorted(name for action in found for name in action) == ["metaData", "protocol"]


def test_row_groups_without_rows_change_nothing(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    place = log.log / _CHECKPOINT
    write_parquet(place, [*_START, *(add(str(at)) for at in range(30))])
    rows = pq.read_table(place)
    with pq.ParquetWriter(place, rows.schema) as writer:
        for start in range(0, 32, 4):
            writer.write_table(rows.slice(start, 4))
            writer.write_batch(pa.RecordBatch.from_pylist([], rows.schema))
            writer.write_table(rows.slice(0, 0))
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.files(["path", "size"])["path"].combine_chunks().to_pylist() == [
        str(at) for at in range(30)
    ]
