"""Why a file is still here, held against what vacuum would do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import DeltaError, InvalidArgumentError
from explorer.maintenance import plan_vacuum
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from explorer.table.times import utc_time
from tests.demo_story import LATELY, copy_demo
from tests.sampling import sample
from tests.tables import FEATURE_PROTOCOL, add, metadata, remove, vector
from tests.unit.maintenance.lake import DAY_MS, NOW_MS, Lake, ms_ago, planned, start, vacuum

NOW = utc_time(NOW_MS)
PLACE = "ab^-aqEH.-t@S}K{vb[*k^"
VECTOR_FILE = parse_relative_place(PLACE)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def why(lake: Lake, file: str) -> look.FileReason:
    return look.why_here(lake.table, file, now=NOW)


def millis(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)


def files_below(root: Path) -> Iterator[str]:
    for place in sorted(root.rglob("*")):
        name = place.relative_to(root).as_posix()
        if place.is_file() and not name.startswith("_delta_log/"):
            yield name


def test_live_file_names_the_version_and_line_that_added_it(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.commit(1, [lake.add("b", age_days=2)], age_days=2)
    found = why(lake, "b")
    assert (found.kind, found.versions, found.deletable_from) == ("live data file", ((1, 1),), None)
    (line,) = found.evidence.to_pylist()
    assert (line["version"], line["action"], line["line"]) == (1, "add", 1)
    assert "00000000000000000001.json, line 1" in found.sentence


def test_revived_file_is_there_since_its_revival(lake: Lake) -> None:
    start(lake, lake.add("a"), lake.add("b"))
    lake.commit(1, [lake.remove("a", age_days=9)], age_days=9)
    lake.commit(2, [lake.add("a", age_days=9)], age_days=8)
    lake.commit(3, [lake.add("c")], age_days=7)
    found = why(lake, "a")
    assert "since version 2 (00000000000000000002.json, line 1);" in found.sentence
    assert found.versions == ((0, 0), (2, 3))


def test_file_that_a_checkpoint_revives_is_there_since_the_checkpoint(lake: Lake) -> None:
    start(lake, lake.add("a"), lake.add("b"))
    lake.commit(1, [lake.remove("a", age_days=9)], age_days=9)
    lake.commit(2, [lake.add("c")], age_days=8)
    files = [add("a"), add("b"), add("c")]
    lake.log.checkpoint(2, [FEATURE_PROTOCOL, metadata(), *files])
    lake.commit(3, [lake.add("d")], age_days=7)
    found = why(lake, "a")
    assert (
        "since version 2, whose checkpoint has it: version 1 removed it "
        "(00000000000000000001.json, line 1), and no remaining commit adds it again"
    ) in found.sentence
    assert found.versions == ((0, 0), (2, 3))
    # the removal is told once
    assert "But no later commit is missing: the checkpoint of version 2" in found.sentence
    assert found.sentence.count("version 1") == 1
    # one that came before the commits that are left is no revival
    (lake.root / "_delta_log" / f"{0:020}.json").unlink()
    assert "added before version 1, the oldest in the log" in why(lake, "b").sentence
    assert "since version 2, whose checkpoint has it" in why(lake, "a").sentence


def test_removed_file_stays_until_its_retention_has_passed_and_no_longer(lake: Lake) -> None:
    start(lake, lake.add("old"), lake.add("young"))
    lake.commit(1, [lake.remove("old", age_days=8)], age_days=8)
    lake.commit(2, [lake.remove("young", age_days=6)], age_days=6)
    old, young = why(lake, "old"), why(lake, "young")
    assert (old.kind, young.kind) == (
        "removed data file, past retention",
        "removed data file, within retention",
    )
    assert millis(young.deletable_from) == ms_ago(6) + 7 * DAY_MS
    assert (old.versions, young.versions) == (((0, 0),), ((0, 1),))
    assert "Version 0 needed it" in old.sentence


def test_vector_file_is_needed_by_the_data_file_that_it_belongs_to(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.file(VECTOR_FILE)
    hidden = lake.add("a", deletionVector=vector(PLACE, offset=1))
    lake.commit(1, [lake.remove("a", age_days=9), hidden], age_days=9)
    found = why(lake, VECTOR_FILE)
    assert found.kind == "live deletion vector"
    assert "the deletion vector of a in version 1" in found.sentence
    # the twin whose row was removed since
    gone = lake.remove("a", age_days=8, deletionVector=vector(PLACE, offset=1))
    lake.commit(2, [gone], age_days=8)
    found = why(lake, VECTOR_FILE)
    assert (found.kind, found.versions) == (
        "removed deletion vector, past retention",
        ((1, 1),),
    )
    assert [row["role"] for row in found.evidence.to_pylist()] == ["deletion vector"] * 2


def test_change_file_names_its_commit(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.file("_change_data/cdc.parquet", age_days=3)
    change = {"path": "_change_data/cdc.parquet", "partitionValues": {}, "size": 1}
    lake.commit(1, [{"cdc": {**change, "dataChange": False}}], age_days=3)
    found = why(lake, "_change_data/cdc.parquet")
    assert found.kind == "change data, within retention"
    assert "version 1 changed" in found.sentence
    assert millis(found.deletable_from) == ms_ago(3) + 7 * DAY_MS
    lake.file("_change_data/nobody.parquet", age_days=3)
    assert why(lake, "_change_data/nobody.parquet").kind == "orphaned change data"


@pytest.mark.parametrize("name", ["with space.parquet", "p=50%/ü&<.parquet", "{}'\".parquet"])
def test_file_is_found_by_its_name_on_disk_and_by_that_of_the_log(lake: Lake, name: str) -> None:
    start(lake, lake.add(quote(name)))
    for spelling in (name, quote(name), str(lake.root / name), f"file://{lake.root}/{quote(name)}"):
        found = why(lake, spelling)
        assert (found.kind, found.path) == ("live data file", name), spelling
        assert found.evidence.num_rows == 1


@pytest.mark.parametrize(
    "spelling", ["%61-0.parquet", "%61%2d%30%2Eparque%74", "./%61-0%2eparquet"]
)
def test_file_is_found_though_its_path_is_escaped_without_need(lake: Lake, spelling: str) -> None:
    start(lake, lake.add("a-0.parquet"), lake.add("b"))
    lake.commit(1, [remove("a-0.parquet"), lake.add(spelling)], age_days=9)
    found = why(lake, "a-0.parquet")
    assert found.kind == "live data file"
    assert [row["version"] for row in found.evidence.to_pylist()] == [0, 1, 1]
    lake.commit(2, [lake.remove(spelling, age_days=2)], age_days=2)
    assert why(lake, "a-0.parquet").kind == "removed data file, within retention"


def test_vector_is_found_though_its_place_is_escaped_without_need(lake: Lake) -> None:
    place = f"file://{lake.root}/%64eletion_vector_0.bin"
    lake.file("deletion_vector_0.bin")
    start(lake, lake.add("a", deletionVector=vector(place, storageType="p")))
    found = why(lake, "deletion_vector_0.bin")
    assert [row["role"] for row in found.evidence.to_pylist()] == ["deletion vector"]
    assert found.kind == "live deletion vector"


def test_orphan_and_foreign_files_are_told_apart(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.file("orphan.parquet", age_days=8)
    lake.file("new.parquet", age_days=1)
    lake.file("notes.txt", age_days=8)
    lake.file("_temporary/x.parquet", age_days=8)
    kinds = {name: why(lake, name).kind for name in files_below(lake.root)}
    assert kinds == {
        "_temporary/x.parquet": "foreign",
        "a": "live data file",
        "new.parquet": "orphaned file",
        "notes.txt": "foreign",
        "orphan.parquet": "orphaned file",
    }
    assert millis(why(lake, "new.parquet").deletable_from) == ms_ago(1) + 7 * DAY_MS
    assert why(lake, "notes.txt").deletable_from is None
    assert "in Delta Spark it is deletable now" in why(lake, "notes.txt").sentence
    assert why(lake, "_temporary/x.parquet").reference_from is None


def test_file_of_a_table_below_this_one_is_foreign(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.file("sub/_delta_log/00000000000000000000.json")
    lake.file("sub/day=1/part.parquet", age_days=40)
    lake.file("beside/part.parquet", age_days=40)
    found = why(lake, "sub/day=1/part.parquet")
    assert found.kind == "foreign"
    assert "the folder of another table" in found.sentence
    assert "in Delta Spark it is deletable now" in found.sentence
    assert why(lake, "beside/part.parquet").kind == "orphaned file"


def test_missing_file_is_told_apart_from_one_that_never_was(lake: Lake) -> None:
    start(lake, lake.add("a"), lake.add("b"))
    lake.commit(1, [lake.remove("b", age_days=20)], age_days=20)
    for name in ("a", "b"):
        (lake.root / name).unlink()
    assert "every query that needs it fails" in why(lake, "a").sentence
    assert "it is gone, as after a vacuum" in why(lake, "b").sentence
    never = why(lake, "c")
    assert (never.kind, never.is_there) == ("unknown", False)


def test_file_outside_of_the_table_is_looked_up_in_the_log_alone(lake: Lake) -> None:
    start(lake, add("file:/elsewhere/x.parquet"))
    found = why(lake, "file:/elsewhere/x.parquet")
    assert (found.kind, found.is_there) == ("live data file", None)
    assert why(lake, "/elsewhere/y.parquet").kind == "outside of the table"


def test_file_from_before_the_log_says_that_its_commit_is_gone(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.commit(1, [lake.add("b", age_days=9)], age_days=9)
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), add("a"), add("b")])
    for version in (0, 1):
        (lake.root / "_delta_log" / f"{version:020}.json").unlink()
    lake.commit(2, [lake.add("c", age_days=1)], age_days=1)
    found = why(lake, "a")
    assert found.kind == "live data file"
    assert "before version 2, the oldest in the log" in found.sentence


def test_log_files_say_what_needs_them_and_until_when(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.commit(1, [lake.add("b")], age_days=20)
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), add("a"), add("b")])
    lake.log.time(1, ms_ago(20))
    lake.commit(2, [lake.add("c")], age_days=1)
    (lake.root / "_delta_log" / "readme.txt").write_text("x")
    first = why(lake, "_delta_log/00000000000000000000.json")
    assert first.kind == "commit of version 0"
    midnight = -(-ms_ago(20) // DAY_MS) * DAY_MS
    assert millis(first.deletable_from) == midnight + 30 * DAY_MS
    assert (
        "cannot be opened without it" in why(lake, "_delta_log/00000000000000000002.json").sentence
    )
    newest = why(lake, "_delta_log/00000000000000000001.checkpoint.parquet")
    assert newest.deletable_from is None
    assert why(lake, "_delta_log/readme.txt").kind == "foreign to the log"
    lake.log.write("12.json", "{}")
    short = why(lake, "_delta_log/12.json")
    assert short.kind == "foreign to the log"
    assert short.sentence.endswith("Delta Spark takes it for a commit of version 12.")
    assert why(lake, "_delta_log/nothing").kind == "unknown"
    never = {"delta.enableExpiredLogCleanup": "false"}
    lake.commit(3, [metadata(configuration=never)], age_days=0)
    assert why(lake, "_delta_log/00000000000000000000.json").deletable_from is None


def test_sidecar_names_the_checkpoints_that_keep_files_in_it(corpus: Path, tmp_path: Path) -> None:
    source = corpus / "tables" / "kernel-v2-checkpoints-json-with-sidecars"
    root = Path(shutil.copytree(source, tmp_path / "t"))
    folder = root / "_delta_log" / "_sidecars"
    (folder / "lonely.parquet").write_bytes(b"x")
    table = explorer.open_table(root)
    kinds = {
        place.name: look.why_here(table, f"_delta_log/_sidecars/{place.name}").kind
        for place in folder.iterdir()
        if not place.name.startswith(".")
    }
    assert kinds.pop("lonely.parquet") == "sidecar that no checkpoint names"
    assert set(kinds.values()) == {"sidecar"}


@pytest.mark.parametrize("name", ["../secret", "a/../../b", "%2e%2e/secret"])
def test_path_that_leaves_the_table_is_refused(lake: Lake, name: str) -> None:
    start(lake, lake.add("a"))
    with pytest.raises(InvalidArgumentError):
        why(lake, name)


@pytest.mark.slow
def test_every_answer_agrees_with_the_plan_of_a_vacuum(tmp_path: Path) -> None:
    now = LATELY
    copy_demo(tmp_path / "demo", now)
    (tmp_path / "demo" / "notes.txt").write_text("x")
    table = explorer.open_table(tmp_path / "demo")
    now_ms = round(now.timestamp() * 1000)
    deleted = planned(plan_vacuum(table, clock=lambda: now_ms, state_dir=tmp_path / "state"))
    assert deleted
    for name in sample(files_below(tmp_path / "demo"), 12, "files of the demo"):
        found = look.why_here(table, name, now=utc_time(now_ms))
        goes = found.deletable_from is not None and found.deletable_from <= now
        assert goes == (name in deleted), (name, found.sentence)


def test_the_same_in_a_lake_of_every_kind(lake: Lake) -> None:
    start(lake, lake.add("live"), lake.add("old"), lake.add("young"), lake.add("_p=1/x.parquet"))
    lake.file(VECTOR_FILE)
    hidden = lake.add("live", deletionVector=vector(PLACE))
    lake.commit(1, [lake.remove("live", age_days=20), hidden], age_days=20)
    lake.commit(
        2, [lake.remove("old", age_days=8), lake.remove("_p=1/x.parquet", age_days=8)], age_days=8
    )
    lake.commit(3, [lake.remove("young", age_days=6)], age_days=6)
    lake.file("orphan.parquet", age_days=9)
    lake.file("deletion_vector_00000000-0000-4000-8000-000000000000.bin", age_days=9)
    lake.file("fresh.parquet", age_days=1)
    lake.file("notes.txt", age_days=9)
    deleted = planned(vacuum(lake))
    assert set(deleted) == {
        "old",
        "orphan.parquet",
        "deletion_vector_00000000-0000-4000-8000-000000000000.bin",
    }
    for name in files_below(lake.root):
        found = why(lake, name)
        goes = found.deletable_from is not None and found.deletable_from <= NOW
        assert goes == (name in deleted), (name, found.sentence)


def test_refused_table_says_why_it_is_refused(lake: Lake) -> None:
    body = {"minReaderVersion": 3, "minWriterVersion": 7}
    names = {"readerFeatures": ["cloudy"], "writerFeatures": ["cloudy"]}
    lake.commit(0, [{"protocol": body | names}, metadata(), lake.add("a")], age_days=40)
    with pytest.raises(DeltaError) as caught:
        why(lake, "a")
    assert caught.value.kind == "unsupported_feature"
    # what lies in the log asks for no feature
    assert why(lake, "_delta_log/00000000000000000000.json").kind == "commit of version 0"


def test_removal_without_a_time_keeps_nothing(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.commit(1, [remove("a", deletionTimestamp=None)], age_days=1)
    reason = why(lake, "a")
    assert reason.kind == "removed data file, past retention"
    assert "time of its removal is not recorded" in reason.sentence
    assert "1970" not in reason.sentence
    assert list(planned(vacuum(lake))) == ["a"]


def test_bare_name_is_looked_for_in_every_folder(lake: Lake) -> None:
    start(lake, lake.add("day=1/a b.parquet"), lake.add("day=1/c"), lake.add("day=2/c"))
    lake.commit(1, [lake.remove("day=2/c", age_days=2), lake.add("d")], age_days=2)
    assert why(lake, "a b.parquet") == why(lake, "day=1/a b.parquet")
    assert why(lake, "d").kind == "live data file"
    several = why(lake, "c")
    assert several.kind == "unknown"
    assert several.sentence == (
        "There is no file c outside of folders; 2 in folders have this name: day=1/c, day=2/c. "
        "Give the path of one."
    )
    # one whose name on the disk has a percent, by either form
    lake.commit(2, [lake.add("day=1/g%2520h")], age_days=1)
    (lake.root / "day=1" / "g%20h").write_bytes(b"PAR1")
    for name in ("g%20h", "g%2520h"):
        assert why(lake, name).kind == "live data file"
    assert why(lake, "day=1/e").sentence.startswith("There is no file day=1/e, and nothing in")
