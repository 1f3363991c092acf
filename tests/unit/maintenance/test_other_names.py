"""Files by other names than a listing has: ways round, absolute paths, links. Whoever deletes
spares what may be a kept file by another name, and never reaches through a link."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
import explorer.inspect as look
from explorer import maintenance
from explorer.errors import UnsupportedError
from explorer.storage.local import LocalStore
from explorer.table.times import utc_time
from tests.tables import FEATURE_PROTOCOL, add, commit_name, metadata
from tests.unit.maintenance.lake import Lake, ms_ago, planned, start, vacuum


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize(
    "spelled",
    [
        "{root}/a/x.parquet",
        "{root}//a/x.parquet",
        "{root}/./a/x.parquet",
        "{root}/b/../a/x.parquet",
        "file:{root}//a/x.parquet",
        "%2F{root}/a/x.parquet",
        "file%3A{root}/a/x.parquet",
        "../orders/a/x.parquet",
        "%2e%2e/orders/a/x.parquet",
        "b/../../orders/a/x.parquet",
    ],
)
@pytest.mark.parametrize("mode", ["full", "lite"])
def test_live_file_stays_by_whatever_way_its_path_leads_to_it(
    spelled: str, mode: str, lake: Lake
) -> None:
    lake.file("a/x.parquet")
    lake.file("b/stray.parquet")
    path = spelled.format(root=lake.root)
    # and the same file was removed by its plain name
    start(lake, lake.add("a/x.parquet"), add(path, size=100, modificationTime=ms_ago(40)))
    lake.commit(1, [lake.remove("a/x.parquet", age_days=20)], age_days=20)
    plan = vacuum(lake, mode=mode)
    assert "a/x.parquet" not in planned(plan)
    assert ("b/stray.parquet" in planned(plan)) == (mode == "full")


@pytest.mark.parametrize("spelled", ["a//x.parquet", "a/./x.parquet", "a%2F%2Fx.parquet"])
def test_removed_name_that_leads_round_is_not_deleted_from_the_log_alone(
    spelled: str, lake: Lake
) -> None:
    start(lake, lake.add("a/x.parquet"), add(spelled, size=100, modificationTime=ms_ago(40)))
    lake.commit(1, [lake.remove(spelled, age_days=20)], age_days=20)
    assert not planned(vacuum(lake, mode="lite"))
    assert not planned(vacuum(lake))


def test_file_behind_a_link_stays_whatever_its_own_name_is(lake: Lake) -> None:
    for name in ("data/x.parquet", "blobs/z.parquet", "blobs/stray.parquet"):
        lake.file(name)
    (lake.root / "link").symlink_to("data")
    (lake.root / "y.parquet").symlink_to("blobs/z.parquet")
    adds = [add(path, size=100) for path in ("link/x.parquet", "y.parquet")]
    start(lake, *adds)
    assert [*planned(vacuum(lake))] == ["blobs/stray.parquet"]


def test_nothing_is_deleted_through_a_link(lake: Lake, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = elsewhere / "x.parquet"
    place.write_bytes(b"x" * 100)
    os.utime(place, (ms_ago(40) / 1000,) * 2)
    start(lake, add("link/x.parquet", size=100, modificationTime=ms_ago(40)))
    (lake.root / "link").symlink_to(elsewhere)
    lake.commit(1, [lake.remove("link/x.parquet", age_days=20)], age_days=20)
    assert not planned(vacuum(lake, mode="lite"))
    why = look.why_here(lake.table, "link/x.parquet")
    assert (why.kind, why.deletable_from) == ("removed data file, behind a link", None)
    store = LocalStore(str(lake.root))
    with pytest.raises(UnsupportedError, match="is a link"):
        store.delete("link/x.parquet")
    # the root, and the log's folder, may be links
    (tmp_path / "way").symlink_to(lake.root)
    lake.file("plain/y.parquet")
    LocalStore(str(tmp_path / "way")).delete("plain/y.parquet")
    assert not lake.there("plain/y.parquet")
    os.rename(lake.log.log, elsewhere / "log")
    lake.log.log.symlink_to(elsewhere / "log")
    store.delete(f"_delta_log/{commit_name(1)}")
    assert not (elsewhere / "log" / commit_name(1)).exists()


def test_folder_that_became_a_link_after_planning_keeps_what_it_leads_to(
    lake: Lake, tmp_path: Path
) -> None:
    lake.file("a/x.parquet")
    lake.file("b/y.parquet")
    start(lake, lake.add("c.parquet"))
    plan = vacuum(lake)
    assert planned(plan).keys() == {"a/x.parquet", "b/y.parquet"}
    (lake.root / "a").rename(tmp_path / "elsewhere")
    (lake.root / "a").symlink_to(tmp_path / "elsewhere")
    receipt = lake.execute(plan)
    assert (tmp_path / "elsewhere" / "x.parquet").exists()
    assert not lake.there("b/y.parquet")
    (left,) = [found for step in receipt.steps for found in step.exceptions]
    assert (left.path, left.outcome) == ("a/x.parquet", "refused")
    assert "leads out of the table" in left.reason


def test_folder_that_became_a_table_after_planning_keeps_its_files(lake: Lake) -> None:
    for name in ("inner/deep/stray.parquet", "inner/removed.parquet", "stray.parquet"):
        lake.file(name)
    start(lake, lake.add("inner/removed.parquet"))
    lake.commit(1, [lake.remove("inner/removed.parquet", age_days=20)], age_days=20)
    plan = vacuum(lake)
    assert planned(plan).keys() == {
        "inner/deep/stray.parquet",
        "inner/removed.parquet",
        "stray.parquet",
    }
    (lake.root / "inner" / "_delta_log").mkdir()
    receipt = lake.execute(plan)
    (left,) = [found for step in receipt.steps for found in step.exceptions]
    assert (left.path, left.outcome) == ("inner/deep/stray.parquet", "refused")
    assert lake.there("inner/deep/stray.parquet")
    assert not lake.there("inner/removed.parquet")
    assert not lake.there("stray.parquet")


def test_what_lies_behind_a_link_is_not_called_orphaned(lake: Lake) -> None:
    for name in ("data/x.parquet", "blobs/z.parquet", "blobs/stray.parquet", "old/w.parquet"):
        lake.file(name)
    (lake.root / "link").symlink_to("data")
    (lake.root / "y.parquet").symlink_to("blobs/z.parquet")
    (lake.root / "w.parquet").symlink_to("old/w.parquet")
    (lake.root / "unused").symlink_to("data")
    start(lake, *(add(path, size=100) for path in ("link/x.parquet", "y.parquet", "w.parquet")))
    lake.commit(1, [lake.remove("w.parquet", age_days=1)], age_days=1)
    now = utc_time(lake.now_ms)
    found = look.foreign_files(lake.table, now=now)
    rows = {row["path"]: row for row in found.files.to_pylist()}
    assert {path for path, row in rows.items() if row["vacuum_deletes"]} == {"blobs/stray.parquet"}
    assert rows.keys() == {"blobs/stray.parquet", "unused"}
    for name in ("data/x.parquet", "blobs/z.parquet", "old/w.parquet"):
        why = look.why_here(lake.table, name, now=now)
        assert (why.kind, why.deletable_from) == ("behind a link", None)
    assert look.why_here(lake.table, "blobs/stray.parquet", now=now).kind == ("orphaned file")


def test_table_whose_log_is_a_link_is_another_ones(lake: Lake, tmp_path: Path) -> None:
    start(lake, lake.add("x.parquet"))
    lake.file("inner/i.parquet")
    log = tmp_path / "log"
    log.mkdir()
    (lake.root / "inner" / "_delta_log").symlink_to(log)
    plan = vacuum(lake)
    assert not planned(plan)
    assert "the folder of another table" in planned(plan, "leave")["inner/i.parquet"]
    (row,) = look.foreign_files(lake.table).files.to_pylist()[:1]
    assert (row["path"], row["kind"]) == ("inner/i.parquet", "file of another Delta table")
    assert "the folder of another table" in look.why_here(lake.table, "inner/i.parquet").sentence


def test_repair_takes_no_file_out_that_a_reader_finds(lake: Lake, tmp_path: Path) -> None:
    elsewhere = tmp_path / "x.parquet"
    elsewhere.write_bytes(b"x" * 100)
    lake.file("a/z.parquet")
    lost = {"gone.parquet", "no%00name.parquet", "x" * 300, "y/" * 3000 + "x"}
    paths = ("y.parquet", f"{lake.root}//a/z.parquet", *lost)
    start(lake, *(add(path, size=100) for path in paths))
    (lake.root / "y.parquet").symlink_to(elsewhere)
    plan = maintenance.plan_repair(lake.table, "files", clock=lake.clock)
    assert planned(plan, "remove").keys() == lost


@pytest.mark.parametrize(
    "again", ["{root}/stray.parquet", "{root}//stray.parquet", "./stray.parquet"]
)
def test_commit_that_takes_a_planned_file_by_another_name_stops_the_plan(
    again: str, lake: Lake
) -> None:
    start(lake, lake.add("x.parquet"))
    lake.file("stray.parquet")
    plan = vacuum(lake)
    assert [*planned(plan)] == ["stray.parquet"]
    lake.commit(1, [add(again.format(root=lake.root), size=100)], age_days=0)
    receipt = lake.execute(plan)
    assert receipt.status != "completed"
    assert lake.there("stray.parquet")


def test_vacuum_does_not_end_well_where_a_commit_came_with_its_last_file(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(lake, lake.add("x.parquet"))
    lake.file("stray.parquet")
    plan = vacuum(lake)
    delete = LocalStore.delete

    def delete_and_commit(store: LocalStore, path: str) -> None:
        delete(store, path)
        if path == "stray.parquet":
            lake.commit(2, [add("stray.parquet", size=100)], age_days=0)

    monkeypatch.setattr(LocalStore, "delete", delete_and_commit)
    receipt = lake.execute(plan)
    assert receipt.status != "completed"
    log = [(lake.log.log / commit_name(version)).read_text() for version in range(3)]
    assert "VACUUM START" in log[1]
    assert explorer.open_table(lake.root).latest_version() == 2


@pytest.mark.parametrize(
    "spelled",
    [
        "{name}",
        "./{name}",
        "../_sidecars/{name}",
        "{log}/_sidecars/{name}",
        "file:{log}/_sidecars/{name}",
        "file://{log}/_sidecars/{name}",
    ],
)
def test_sidecar_stays_by_whatever_way_a_checkpoint_names_it(spelled: str, lake: Lake) -> None:
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), lake.add("x.parquet")], age_days=50)
    for version, age in ((1, 49), (2, 48), (3, 1)):
        lake.commit(version, [], age_days=age)
    folder = lake.log.log / "_sidecars"
    folder.mkdir()
    entry = pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", pa.map_(pa.string(), pa.string())),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
        ]
    )
    body = {
        "path": "x.parquet",
        "partitionValues": [],
        "size": 100,
        "modificationTime": ms_ago(40),
        "dataChange": True,
    }
    for name in ("named.parquet", "free.parquet"):
        rows = pa.Table.from_pylist([{"add": body}], schema=pa.schema([("add", entry)]))
        pq.write_table(rows, folder / name)
        os.utime(folder / name, (ms_ago(40) / 1000,) * 2)
    place = {
        "path": spelled.format(name="named.parquet", log=lake.log.log),
        "sizeInBytes": (folder / "named.parquet").stat().st_size,
        "modificationTime": ms_ago(40),
    }
    actions = [
        {"checkpointMetadata": {"version": 2}},
        FEATURE_PROTOCOL,
        metadata(),
        {"sidecar": place},
    ]
    name = "00000000000000000002.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    (lake.log.log / name).write_text("\n".join(map(json.dumps, actions)) + "\n")
    os.utime(lake.log.log / name, (ms_ago(40) / 1000,) * 2)
    plan = maintenance.plan_log_cleanup(lake.table, clock=lake.clock)
    assert "_delta_log/_sidecars/free.parquet" in planned(plan)
    assert "_delta_log/_sidecars/named.parquet" not in planned(plan)
    health = look.log_health(lake.table).findings.to_pylist()
    (row,) = [row for row in health if row["finding"] == "sidecars without a checkpoint"]
    assert row["evidence"].endswith("free.parquet")
    for name, kind in (
        ("named.parquet", "sidecar"),
        ("free.parquet", "sidecar that no checkpoint names"),
    ):
        why = look.why_here(lake.table, f"_delta_log/_sidecars/{name}")
        assert why.kind == kind


def test_log_is_not_cut_where_its_checkpoint_and_its_commits_disagree(lake: Lake) -> None:
    """Or the next vacuum would take what the checkpoint leaves out."""
    start(lake, lake.add("a.parquet"), lake.add("lost.parquet"))
    for version, age in ((1, 39), (2, 38), (3, 1)):
        lake.commit(version, [], age_days=age)
    lake.log.checkpoint(2, [FEATURE_PROTOCOL, metadata(), add("a.parquet", size=100)])
    plan = maintenance.plan_log_cleanup(lake.table, clock=lake.clock)
    (refusal,) = [verdict for verdict in plan.verdicts if verdict.guard == "second route"]
    assert refusal.outcome == "refuse"
    assert "lost.parquet" in refusal.message
    assert lake.execute(plan).status == "refused"
    assert lake.there("_delta_log/" + commit_name(0))
    lake.log.checkpoint(
        2,
        [
            FEATURE_PROTOCOL,
            metadata(),
            *(add(path, size=100) for path in ("a.parquet", "lost.parquet")),
        ],
    )
    plan = maintenance.plan_log_cleanup(lake.table, clock=lake.clock)
    assert not [verdict for verdict in plan.verdicts if verdict.outcome == "refuse"]
    assert "_delta_log/" + commit_name(0) in planned(plan)
