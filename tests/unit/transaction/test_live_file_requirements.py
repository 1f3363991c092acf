"""What a commit may do to files that are live, where the caller has these at hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.protocol.actions import Metadata
from explorer.protocol.file_actions import AddFile
from explorer.transaction.conflicts import find_conflicts
from explorer.transaction.live_files import EarlierVersion, FilesOf
from explorer.transaction.read_set import WHOLE_TABLE
from explorer.transaction.read_version import NO_TABLE, read_version_of
from explorer.transaction.row_ids import ID_COLUMNS
from explorer.transaction.staged import Promises, StagedCommit
from tests.tables import LogFolder, metadata
from tests.tables import add as line
from tests.unit.transaction.stages import (
    METADATA,
    PLAIN,
    add,
    base,
    batch,
    features,
    field,
    live,
    only,
    remove,
    replacing,
    schema,
    stage,
    texts,
    vector,
    winner,
)
from tests.unit.transaction.stages import metadata as described

DV = base(features(readers=["deletionVectors"]), described({"delta.enableDeletionVectors": "true"}))
NUMBERED = {
    "delta.identity.start": 1,
    "delta.identity.step": 1,
    "delta.identity.highWaterMark": 5,
}
WIDE = '{"numRecords":10,"tightBounds":false}'
OTHER = "0" * 20


def hidden(place: str = OTHER) -> dict[str, Any]:
    return {"deletion_vector": vector(place=place), "stats": WIDE}


def upon(staged: StagedCommit, *files: AddFile) -> StagedCommit:
    return replace(staged, live=live(*files))


GONE = Promises(removes_every_live_file=True)


def test_where_every_live_file_goes_none_stays() -> None:
    staged = replacing(stage(add("new")), add("a"), add("b"), add("c"))
    assert texts(staged) == []
    without_b = replace(
        staged, actions=tuple(item for item in staged.actions if item != remove("b"))
    )
    assert "removes every live file, but 1 would stay: `b`" in only(without_b)
    unseen = stage(add("new"), remove("a"), promises=GONE)
    assert "these cannot be listed" in only(unseen)
    # a table that comes into being has none, and one that is empty needs no remove
    assert texts(stage(PLAIN, METADATA, add(), upon=NO_TABLE, promises=GONE)) == []
    assert texts(upon(stage(add("new"), promises=GONE))) == []


def test_a_file_goes_only_under_the_vector_that_it_has() -> None:
    file = add("a", **hidden())
    assert texts(replacing(stage(upon=DV), file)) == []
    plain = upon(stage(remove("a"), upon=DV, promises=GONE), file)
    other = upon(stage(remove("a", deletion_vector=vector()), upon=DV, promises=GONE), file)
    for staged in (plain, other):
        assert "1 would stay: `a`" in only(staged)


def test_a_data_file_that_goes_does_not_come_back_with_another_vector() -> None:
    staged = replacing(stage(add("a", **hidden()), add("new"), upon=DV), add("a"), add("b"))
    assert "1 would come back with it: `a`" in only(staged)


BEFORE, NOW = (
    described(schema_string=schema(field("id", kind), field("n", **NUMBERED)))
    for kind in ("string", "long")
)


def back(
    *files: AddFile, to: Metadata = BEFORE, adds: tuple[str, ...] = ("old",), gone: str = "new"
) -> StagedCommit:
    """A restore of a table with the files `new` and `both` to a version with `old` and `both`."""
    return replace(
        stage(
            BEFORE,
            *map(add, adds),
            remove(gone),
            upon=base(features("identityColumns"), NOW),
            reads=WHOLE_TABLE,
        ),
        promises=Promises(recommits=True),
        live=live(add("new"), add("both")),
        restored_version=EarlierVersion(
            metadata=to, files=live(*(files or (add("old"), add("both"))))
        ),
    )


def test_a_restore_brings_other_columns_with_the_files_of_their_version() -> None:
    assert texts(back()) == []
    unknown = replace(back(), restored_version=None)
    assert any("cannot go from long to string" in text for text in texts(unknown))
    unseen = replace(back(), live=None)
    assert "nobody can look which files would stay" in only(unseen)
    numbers = BEFORE.schema_string.replace('highWaterMark":5', 'highWaterMark":9')
    assert texts(back(to=replace(BEFORE, schema_string=numbers))) == []


@pytest.mark.parametrize(
    ("staged", "told"),
    [
        (back(add("old")), "1 file of other versions would be live: `both`"),
        (back(add("both")), "1 file of other versions would be live: `old`"),
        (back(adds=()), "1 file of that version would be missing: `old`"),
        (back(gone="both"), "1 file of that version would be missing: `both`"),
        (back(to=METADATA), "columns, their names in files or the partitioning"),
        (back(to=replace(BEFORE, partition_columns=("id",))), "or the partitioning"),
        (
            back(to=replace(BEFORE, configuration={"delta.columnMapping.mode": "name"})),
            "their names in files",
        ),
    ],
)
def test_a_restore_is_held_to_the_version_that_it_goes_back_to(
    staged: StagedCommit, told: str
) -> None:
    assert any(told in text for text in texts(staged))


@pytest.mark.parametrize("level", ["Serializable", "WriteSerializable", "SnapshotIsolation"])
@pytest.mark.parametrize("changes", [True, False], ids=["new rows", "rearranged"])
def test_a_file_that_comes_meanwhile_is_in_the_way_of_who_lets_every_file_go(
    level: Any, changes: bool
) -> None:
    staged = replacing(stage(add("new"), isolation_level=level), add("a"))
    came = winner(add("late", data_change=changes), isBlindAppend=True)
    (found,) = find_conflicts(staged, came)
    assert (found.rule, found.overlap.values) == ("concurrent append", ("late",))
    # one that goes anyway may get its statistics meanwhile
    assert [*find_conflicts(staged, winner(add("a", data_change=False)))] == []
    assert [*find_conflicts(staged, winner(described(name="n")))] != []


@pytest.mark.rule("file-one-action-per-type-and-path", "log-no-same-key-files")
@pytest.mark.parametrize(
    ("held", "named"),
    [
        ("a", "a"),
        ("a%20b", "a%20b"),
        ("a%20b", "a b"),
        ("é", "%C3%A9"),
        ("d=1%252F2/a", "d=1%252F2/a"),
        ("x/a", "./x/a"),
        ("x/a", "x//a"),
        ("x/a", "y/../x/a"),
        ("/t/a", "file:///t/a"),
        ("/t/a", "file:/t/./a"),
        ("a", "/table/a"),
        ("file:///table/x/a%20b", "x/a b"),
    ],
)
def test_no_commit_adds_a_file_that_is_live(held: str, named: str) -> None:
    read = base(root="/table")
    held_there = replace(live(add(held)), root="/table")
    staged = replace(stage(add(named), upon=read), live=held_there)
    found = [text for text in texts(staged) if "live" in text]
    assert len(found) == 1
    # nor one that this commit adds as well, or that another added since
    twice = texts(stage(add(held), add(named), upon=read))
    assert any("a path that another one has" in text for text in twice)
    since = find_conflicts(stage(add(named), upon=read), winner(add(held)))
    assert [conflict.rule for conflict in since] == ["same file"]


@pytest.mark.parametrize(
    ("held", "named"),
    [("a%2520b", "a%20b"), ("x/a", "a"), ("/t/a", "t/a"), ("s3://k/t/a", "t/a"), ("A", "a")],
)
def test_paths_of_two_files_are_told_apart(held: str, named: str) -> None:
    assert texts(upon(stage(add(named)), add(held))) == []
    assert texts(stage(add(held), add(named))) == []
    assert [*find_conflicts(stage(add(named)), winner(add(held)))] == []


@pytest.mark.parametrize(
    "changed",
    [
        {"stats": '{"numRecords":10}'},
        {"tags": {"ZCUBE_ID": "1"}},
        {"base_row_id": 3, "default_row_commit_version": 1},
    ],
    ids=["statistics", "tags", "row ids"],
)
def test_a_live_file_may_be_added_again_to_say_more_of_it(changed: dict[str, Any]) -> None:
    read = base(features("rowTracking", "domainMetadata"), row_id_high_water_mark=99)
    again = add("a", data_change=False, **changed)
    assert texts(upon(stage(again, upon=read), add("a"))) == []
    in_columns = replace(stage(upon=read), adds=(batch("add", again),))
    assert texts(upon(in_columns, add("a"), add("b"))) == []
    assert set(ID_COLUMNS) >= changed.keys() or len(changed) == 1


def test_who_clustered_a_live_file_may_be_said_afterwards() -> None:
    read = base(features("clustering", "domainMetadata"))
    again = add("a", data_change=False, clustering_provider="liquid", tags={"k": "v"})
    assert texts(upon(stage(again, upon=read), add("a"))) == []


@pytest.mark.parametrize(
    "changed",
    [{"data_change": True}, {"size": 2}, {"modification_time": 2}],
    ids=["as new rows", "size", "time"],
)
def test_a_live_file_is_not_added_again_as_something_else(changed: dict[str, Any]) -> None:
    again = add("a", **({"data_change": False} | changed))
    assert "live already" in only(upon(stage(again), add("b"), add("a")))
    assert texts(upon(stage(again), add("b"))) == []


def test_a_live_file_does_not_move_to_another_partition() -> None:
    read = base(PLAIN, described(partition_columns=("day",)))

    def of(day: str | None) -> AddFile:
        return add("a", partition_values={"day": day}, data_change=False)

    for day in ("2026-11-01", None):
        assert texts(upon(stage(of(day), upon=read), of(day))) == []
        assert "live already" in only(upon(stage(of("2026-11-02"), upon=read), of(day)))


def test_a_vector_changes_only_together_with_the_remove_of_the_file_as_it_was() -> None:
    grown = add("a", **hidden("1" * 20))
    first = remove("a", deletion_vector=vector(place=OTHER))
    held = add("a", **hidden())
    assert texts(upon(stage(first, grown, upon=DV), held)) == []
    assert texts(upon(stage(remove("a"), held, upon=DV), add("a"))) == []
    # else both would be live, with the rows that neither hides
    for staged in (stage(grown, upon=DV), stage(remove("a"), grown, upon=DV)):
        assert "live twice, under another deletion vector" in only(upon(staged, held))
    assert "live twice" in only(upon(stage(held, upon=DV), add("a")))


def test_a_restore_brings_no_file_back_that_is_live() -> None:
    back = Promises(recommits=True)
    staged = stage(add("a", **hidden()), remove("a"), upon=DV, promises=back)
    assert texts(upon(staged, add("a"), add("b"))) == []
    assert "live already" in only(upon(stage(add("b"), promises=back), add("a"), add("b")))


@pytest.mark.parametrize("form", ["json", "checkpoint"])
def test_the_files_of_a_snapshot_are_asked_as_the_log_has_them(tmp_path: Path, form: str) -> None:
    folder = LogFolder(tmp_path / "a b")
    text = schema({"name": "id", "type": "long", "nullable": True, "metadata": {}})
    first = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        metadata(schemaString=text),
    ]
    adds = [line("a%20b.parquet"), line("b.parquet"), line((folder.root / "c").as_uri())]
    folder.commit(0, [*first, *adds])
    if form == "checkpoint":
        folder.checkpoint(0, [*first, *adds])
    folder.commit(1, [{"remove": {"path": "b.parquet", "dataChange": True}}])
    snapshot = explorer.open_table(str(folder.root)).snapshot()
    files, read = FilesOf(snapshot=snapshot), read_version_of(snapshot)

    def staged(*actions: Any, **fields: Any) -> StagedCommit:
        return replace(stage(*actions, upon=read, **fields), live=files)

    assert texts(staged(add("b.parquet"))) == [], "it went"
    for named in ("a b.parquet", "a%20b.parquet", str(folder.root / "a b.parquet"), "c", "./c"):
        assert any("live" in text for text in texts(staged(add(named)))), named
    (left,) = texts(staged(remove("a b.parquet"), promises=GONE))
    assert "2 would stay" in left, "a remove takes the file away under its own spelling alone"
    both = [remove(each["add"]["path"]) for each in (adds[0], adds[2])]
    assert texts(staged(*both, add("new"), promises=GONE)) == []
