"""Files and rows of a diff, over the tables of the corpus and by hand."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.comparison.versions import VersionDiff, diff
from tests.corpus import READABLE, place_table, table_name
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove, vector

# the one in an archive has 30 million partition values: a minute, for the same code
_SEVERAL = [
    table for table in READABLE if len(table.get("history") or []) > 1 and "archive" not in table
]


def _rows(table: pa.Table) -> list[str]:
    # what a checkpoint without statistics no longer knows is no difference of files
    rows = (
        {name: value for name, value in row.items() if not name.startswith("num_records")}
        for row in table.to_pylist()
    )
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)


def _files(found: VersionDiff) -> list[list[str]]:
    return [_rows(table) for table in (found.files.added, found.files.removed, found.files.changed)]


@pytest.mark.slow
@pytest.mark.sampled(one_in=6)
@pytest.mark.rule("stats-live-rows")
@pytest.mark.parametrize("expected", _SEVERAL, ids=table_name)
def test_routes_agree_and_add_up_to_the_manifest(expected: dict[str, Any], tmp_path: Path) -> None:
    place = place_table(expected, tmp_path)
    history = {version["version"]: version for version in expected["history"]}
    shutil.copytree(place / "_delta_log", tmp_path / "elsewhere" / "_delta_log")
    table, copy = explorer.open_table(place), explorer.open_table(tmp_path / "elsewhere")
    versions = list(history)
    for older, newer in [*pairwise(versions), (versions[0], versions[-1])]:
        before, after = table.snapshot(version=older), table.snapshot(version=newer)
        held = diff(before, after)
        read = diff(explorer.open_table(place).snapshot(version=older), after)
        compared = diff(before, copy.snapshot(version=newer))
        backwards = diff(after, before)
        assert compared.files.route == "independent"
        assert _files(held) == _files(read) == _files(compared)
        assert _rows(backwards.files.added) == _rows(held.files.removed)
        files = (history[version]["num_active_files"] for version in (newer, older))
        assert held.files.num_added - held.files.num_removed == next(files) - next(files)
        size = after.size_in_bytes - before.size_in_bytes
        if not held.files.num_changed:
            assert held.files.bytes_added - held.files.bytes_removed == size
        rows = [history[version]["num_rows_live"] for version in (older, newer)]
        if None not in (*rows, before.num_rows, after.num_rows):
            assert held.rows.net == rows[1] - rows[0] == -(backwards.rows.net or 0)


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "t")
    twenty = {"stats": '{"numRecords":20}'}
    folder.commit(
        0,
        [
            FEATURE_PROTOCOL,
            metadata(partitionColumns=["part"]),
            add("gone", partitionValues={"part": "1"}, **twenty),
            add("marked", **twenty),
            add("unmarked", deletionVector=vector(cardinality=5), **twenty),
            add("counted"),
            add("tagged", **twenty),
        ],
    )
    folder.commit(
        1,
        [
            remove("gone"),
            add("came", size=7, deletionVector=vector(cardinality=1), **twenty),
            remove("marked"),
            add("marked", deletionVector=vector(cardinality=4), **twenty),
            remove("unmarked", deletionVector=vector(cardinality=5)),
            add("unmarked", deletionVector=vector(offset=9, cardinality=2), **twenty),
            add("counted", **twenty),
            add("tagged", dataChange=False, tags={"ZCUBE_ID": "x"}, **twenty),
        ],
    )
    return folder


@pytest.mark.rule("file-readd-replaces")
def test_changed_files_say_what_changed(folder: LogFolder) -> None:
    table = explorer.open_table(folder.root)
    found = diff(table.snapshot(version=0), table.snapshot())
    assert repr(found.files) == ("FileChanges(added=1, removed=1, changed=4, route='log')")
    assert found.files.removed.column("partition_values").to_pylist() == [[("part", "1")]]
    assert (found.files.bytes_added, found.files.bytes_removed) == (7, 100)
    changed = {row["path"]: row for row in found.files.changed.to_pylist()}
    assert {path: row["changes"] for path, row in changed.items()} == {
        "marked": ["deletion_vector"],
        "unmarked": ["deletion_vector"],
        "counted": ["stats"],
        "tagged": ["tags"],
    }
    marked = changed["marked"]
    assert (marked["cardinality_before"], marked["cardinality_after"]) == (0, 4)
    assert marked["deletion_vector_before"] is None
    assert marked["deletion_vector_after"]["cardinality"] == 4
    assert changed["counted"]["num_records_before"] is None


@pytest.mark.rule("dv-cardinality", "stats-live-rows")
def test_rows_are_told_by_statistics(folder: LogFolder) -> None:
    table = explorer.open_table(folder.root)
    rows = diff(table.snapshot(version=0), table.snapshot()).rows
    assert (rows.added, rows.removed, rows.hidden, rows.restored) == (19, 20, 4, 3)
    assert (rows.recounted, rows.net) == (0, -2)


def test_rows_are_unknown_where_a_file_does_not_say(folder: LogFolder) -> None:
    folder.commit(2, [add("unknown"), add("counted", size=101)])
    table = explorer.open_table(folder.root)
    rows = diff(table.snapshot(version=1), table.snapshot()).rows
    assert (rows.added, rows.removed, rows.recounted, rows.net) == (None, 0, None, None)


def test_what_the_commits_say_is_read_from_them_alone(folder: LogFolder) -> None:
    folder.commit(2, [remove("never there"), add("marked", size=3)])
    table = explorer.open_table(folder.root)
    found = diff(table.snapshot(version=1), table.snapshot())
    assert found.logged is not None
    assert found.logged.removes.column("path").to_pylist() == ["never there"]
    assert found.logged.adds.column("path").to_pylist() == ["marked"]
    assert (found.files.num_removed, found.files.num_added) == (0, 1)
    same = diff(table.snapshot(), table.snapshot())
    assert same.logged is None
    assert (same.files.route, same.files.num_changed) == ("same version", 0)


def test_a_commit_that_cannot_be_read_is_gone_around(folder: LogFolder) -> None:
    # a checkpoint after it keeps the newer version readable
    files = [add("came"), {"protocol": FEATURE_PROTOCOL["protocol"]}, metadata()]
    folder.checkpoint(2, files)
    folder.commit(2, [])
    older = explorer.open_table(folder.root).snapshot(version=0)
    folder.write("00000000000000000001.json", "{")
    found = diff(older, explorer.open_table(folder.root).snapshot())
    assert found.files.route == "independent"
    assert found.files.num_removed == 5


def test_a_column_that_a_checkpoint_leaves_out_is_no_difference(folder: LogFolder) -> None:
    table = explorer.open_table(folder.root)
    full = [
        FEATURE_PROTOCOL,
        metadata(),
        add("marked", stats='{"numRecords":20}', tags={"k": "v"}),
    ]
    folder.commit(2, [])
    place = folder.checkpoint(2, full)[0]
    stored = pq.read_table(place)
    kept = stored.column("add").combine_chunks()
    names = [field.name for field in kept.type if field.name not in {"stats", "tags"}]
    poor = pa.StructArray.from_arrays(
        [kept.field(name) for name in names], names, mask=kept.is_null()
    )
    at = stored.schema.get_field_index("add")
    elsewhere = LogFolder(folder.root.parent / "poor")
    pq.write_table(stored.set_column(at, "add", poor), elsewhere.log / place.name)
    elsewhere.commit(2, [])
    before = explorer.open_table(folder.root).snapshot(version=2)
    after = explorer.open_table(elsewhere.root).snapshot()
    assert before.num_files == after.num_files == 1
    assert diff(before, after).files.num_changed == 0
    assert table.latest_version() == 2


def test_notes_tell_copies_and_other_tables_and_backwards(tmp_path: Path) -> None:
    folders = [LogFolder(tmp_path / name) for name in "abc"]
    for folder, number in zip(folders, ("1", "1", "2"), strict=True):
        folder.commit(0, [FEATURE_PROTOCOL, metadata(id=number), add("x")])
    folders[0].commit(1, [add("y")])
    table, copy, other = (explorer.open_table(folder.root) for folder in folders)
    old, new = table.snapshot(version=0), table.snapshot()
    assert diff(old, new).notes == ()
    assert "restoring version 0" in diff(new, old).notes[0]
    assert "one is a copy" in diff(copy.snapshot(), new).notes[0]
    clone = diff(other.snapshot(), new)
    assert "different tables, or one is a clone" in clone.notes[0]
    assert (clone.files.route, clone.files.num_added) == ("independent", 1)


def test_a_table_made_anew_at_the_same_place_is_another_log(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), add("old")])
    folder.time(0, 1_000)
    older = explorer.open_table(folder.root).snapshot()
    shutil.rmtree(folder.log)
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), add("new"), add("more")])
    folder.commit(1, [add("last")])
    found = diff(older, explorer.open_table(folder.root).snapshot())
    assert found.files.route == "independent"
    assert sorted(found.files.added.column("path").to_pylist()) == ["last", "more", "new"]


def test_a_checkpoint_that_breaks_while_it_is_read_is_gone_around(folder: LogFolder) -> None:
    folder.commit(2, [remove("came", deletionVector=vector(cardinality=1)), remove("counted")])
    files = [add(f"{number}") for number in range(1000)]
    folder.commit(3, [*files, remove("marked", deletionVector=vector(cardinality=4))])
    table = explorer.open_table(folder.root)
    kept = table.snapshot(version=1).files(["path"]).column("path").to_pylist()
    state = [FEATURE_PROTOCOL, metadata(), *(add(path) for path in kept)]
    place = folder.checkpoint(1, state)[0]
    older, newer = (explorer.open_table(folder.root).snapshot(version=at) for at in (1, 3))
    data = bytearray(place.read_bytes())
    assert older.segment.checkpoint is not None
    data[4 : len(data) // 4] = b"\xff" * (len(data) // 4 - 4)
    place.write_bytes(data)
    found = diff(older, newer)
    assert sorted(found.files.removed.column("path").to_pylist()) == ["came", "counted", "marked"]
    assert found.files.num_added == 1000
    assert older.segment.checkpoint is None
    assert [problem.kind for problem in older.problems] == ["checkpoint_unusable"]


@pytest.mark.parametrize("others", [(), ("a", "b", "c")])
def test_a_file_that_checkpoints_hold_twice_in_another_order_differs(
    tmp_path: Path, others: tuple[str, ...]
) -> None:
    # those of one path belong together in the order in which they stand, whatever else does
    snapshots = []
    for name, sizes in (("older", (1, 2)), ("newer", (2, 1))):
        folder = LogFolder(tmp_path / name)
        twice = [add("twice", size=size) for size in sizes]
        folder.checkpoint(0, [FEATURE_PROTOCOL, metadata(), *twice, *map(add, others)])
        snapshots.append(explorer.open_table(folder.root).snapshot())
    found = diff(*snapshots).files
    assert (found.route, found.num_added, found.num_removed) == ("independent", 0, 0)
    assert found.changed.column("path").to_pylist() == ["twice", "twice"]
    assert found.changed.column("size_before").to_pylist() == [1, 2]
    assert found.changed.column("size_after").to_pylist() == [2, 1]


def test_files_in_another_order_are_the_same_files(tmp_path: Path) -> None:
    snapshots = []
    files = [add(f"{number}", size=number) for number in range(500)]
    moved = [*files[400:], *files[:300], *files[300:400:2], add("came")]
    for name, held in (("older", files), ("newer", moved)):
        folder = LogFolder(tmp_path / name)
        folder.checkpoint(0, [FEATURE_PROTOCOL, metadata(), *held])
        snapshots.append(explorer.open_table(folder.root).snapshot())
    found = diff(*snapshots).files
    assert (found.num_added, found.num_removed, found.num_changed) == (1, 50, 0)
    assert found.added.column("path").to_pylist() == ["came"]
