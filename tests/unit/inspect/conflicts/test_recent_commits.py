"""What each kind of transaction meets among the newest commits, whatever these are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CancelledError
from explorer.inspect.conflicts import recent_commits
from explorer.progress import Cancel
from tests.conftest import CORPUS
from tests.tables import PROTOCOL, Action, LogFolder, add, metadata, remove


def told(log: LogFolder) -> dict[str, tuple[int, str | None]]:
    """From which version on each kind is safe, and the rule of the conflict before it."""
    frame = look.recent_conflicts(explorer.open_table(log.root)).frame
    return {row["transaction"]: (row["safe_from"], row["rule"]) for row in frame.to_pylist()}


def info(operation: str, **more: Any) -> Action:
    return {"commitInfo": {"operation": operation, **more}}


def begun(folder: Path, **described: Any) -> LogFolder:
    log = LogFolder(folder / "orders")
    log.commit(0, [PROTOCOL, metadata(**described), add("a"), add("b")])
    return log


def test_one_commit_is_in_nobodys_way(tmp_path: Path) -> None:
    log = begun(tmp_path)
    assert set(told(log).values()) == {(0, None)}
    found = look.recent_conflicts(explorer.open_table(log.root))
    assert found.num_commits == 0
    assert found.sentence == "No commit led to version 0 in this log: nothing to conflict with."


@pytest.mark.parametrize(
    ("level", "change"),
    [("Serializable", (2, "concurrent append")), ("WriteSerializable", (0, None))],
)
def test_of_a_stream_of_appends_a_change_alone_has_to_see_the_rows(
    tmp_path: Path, level: str, change: tuple[int, str | None]
) -> None:
    log = begun(tmp_path, configuration={"delta.isolationLevel": level})
    for version in (1, 2):
        log.commit(version, [info("STREAMING UPDATE", isBlindAppend=True), add(f"s{version}")])
    expected = {"append": (0, None), "change": change, "compaction": (0, None)}
    assert told(log) == expected | {"metadata": (0, None)}
    sentence = look.recent_conflicts(explorer.open_table(log.root)).sentence
    if level == "Serializable":
        assert sentence == (
            "A DELETE, UPDATE or MERGE that reads all rows conflicts with version 2 (STREAMING "
            "UPDATE) where it read version 1 or an older one, at the isolation level "
            "Serializable. An append does not conflict with the newest 2 commits."
        )
    else:
        assert sentence == (
            "No transaction conflicts with the newest 2 commits, at the isolation level "
            "WriteSerializable."
        )


def test_of_maintenance_changes_and_compactions_meet_what_was_rewritten(tmp_path: Path) -> None:
    log = begun(tmp_path)
    rewritten = {"dataChange": False}
    log.commit(1, [info("OPTIMIZE"), remove("a", **rewritten), add("ab", **rewritten)])
    log.commit(2, [info("VACUUM START")])
    log.commit(3, [info("VACUUM END")])
    read = (1, "concurrent delete-read")
    expected = {"append": (0, None), "change": read, "compaction": read, "metadata": (0, None)}
    assert told(log) == expected


def test_a_change_of_the_schema_is_in_everybodys_way_and_given_numbers_are_not(
    tmp_path: Path,
) -> None:
    log = begun(tmp_path)
    log.commit(1, [info("SET TBLPROPERTIES"), metadata(configuration={"owner": "ann"})])
    assert set(told(log).values()) == {(1, "metadata changed")}
    log.commit(2, [info("CHANGE COLUMN"), metadata(configuration={"owner": "ann"})])
    # it says again what was there: only another change of the metadata cannot follow it
    found = told(log)
    assert found.pop("metadata") == (2, "metadata changed")
    assert set(found.values()) == {(1, "metadata changed")}


def test_commits_are_counted_for_who_read_the_version_before_each(tmp_path: Path) -> None:
    """No compaction of version 0 rewrites c, and one of version 1 does not rewrite a."""
    log = begun(tmp_path)
    log.commit(1, [info("WRITE"), remove("a"), add("c")])
    log.commit(2, [info("WRITE"), remove("c")])
    (one,) = [
        one
        for one in look.recent_conflicts(explorer.open_table(log.root)).outlooks
        if one.transaction == "compaction"
    ]
    assert (one.safe_from, one.num_conflicting) == (2, 2)


def test_the_partition_is_that_of_the_newest_files_and_others_do_not_matter(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(partitionColumns=["part"])])
    for version, value in enumerate(["it's", "b", "b\\", None, "it's"], 1):
        log.commit(version, [info("WRITE"), add(f"f{version}", partitionValues={"part": value})])
    log.commit(6, [info("VACUUM START")])
    table = explorer.open_table(log.root)
    (row,) = [
        row
        for row in look.recent_conflicts(table).frame.to_pylist()
        if row["transaction"] == "change in partition"
    ]
    assert (row["safe_from"], row["num_conflicting"]) == (5, 2)
    # the condition can be asked for as it is told
    found = look.check_conflicts(table, 0, where=row["where"])
    assert [one.version for one in found.found] == [1, 5]


def test_the_partition_of_a_mapped_column_is_told_by_its_own_name(tmp_path: Path) -> None:
    """Commits have it by the name that it has in files."""
    mapping = [
        {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        for number in (1, 2)
    ]
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": mapped}
        for name, kind, mapped in zip(("id", "part"), ("long", "string"), mapping, strict=True)
    ]
    described = metadata(
        schemaString=json.dumps({"type": "struct", "fields": fields}),
        partitionColumns=["part"],
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
    )
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [{"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, described])
    log.commit(1, [info("WRITE"), add("f1", partitionValues={"col-2": "a"})])
    log.commit(2, [info("WRITE"), add("f2", partitionValues={"col-2": "b"})])
    log.commit(3, [info("WRITE"), add("f3", partitionValues={"col-2": "a"})])
    (one,) = [
        one
        for one in look.recent_conflicts(explorer.open_table(log.root)).outlooks
        if one.transaction == "change in partition"
    ]
    assert (one.where, one.safe_from, one.num_conflicting) == ("part = 'a'", 3, 2)


@pytest.mark.parametrize("name", ["dat-multi_partitioned", "spark44-columns-with-rules"])
def test_what_is_said_to_be_safe_is_what_a_check_of_that_version_says(name: str) -> None:
    table = explorer.open_table(CORPUS / "tables" / name)
    for one in look.recent_conflicts(table).outlooks:
        if one.transaction not in {"append", "change"}:
            continue
        for version in range(table.latest_version()):
            found = look.check_conflicts(table, version, operation=one.transaction)
            assert bool(found.num_conflicts) == (version < one.safe_from), (one, version)


def test_no_more_is_read_than_the_bounds_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = begun(tmp_path)
    for version in range(1, 10):
        log.commit(version, [info("WRITE"), add(f"f{version}")])
    monkeypatch.setattr(recent_commits, "MOST_COMMITS", 4)
    table = explorer.open_table(log.root)
    found = look.recent_conflicts(table)
    assert found.num_commits == 4
    assert {one.safe_from for one in found.outlooks} == {5, 9}
    monkeypatch.setattr(recent_commits, "MOST_BYTES", 1)
    assert look.recent_conflicts(table).num_commits == 1  # whatever its size


def test_what_was_committed_meanwhile_is_not_looked_at(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.commit(1, [info("WRITE"), add("f1")])
    table = explorer.open_table(log.root)
    snapshot = table.snapshot()
    log.commit(2, [info("SET TBLPROPERTIES"), metadata(configuration={"owner": "ann"})])
    found = look.recent_conflicts(explorer.open_table(log.root), snapshot)
    assert (found.newest_version, found.num_commits) == (1, 1)
    assert {one.safe_from for one in found.outlooks} == {0, 1}


def test_commits_before_a_gap_are_not_looked_at(tmp_path: Path) -> None:
    log = begun(tmp_path)
    for version in (1, 2, 3):
        log.commit(version, [info("WRITE"), add(f"f{version}")])
    actions = [PROTOCOL, metadata(), *map(add, ("a", "b", "f1", "f2"))]
    log.checkpoint(2, actions)
    (log.root / "_delta_log" / f"{1:020}.json").unlink()
    assert look.recent_conflicts(explorer.open_table(log.root)).num_commits == 2


def test_a_version_that_cannot_be_read_any_more_counts_as_another_one(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.commit(1, [info("SET TBLPROPERTIES"), metadata()])
    log.checkpoint(1, [PROTOCOL, metadata(), add("a"), add("b")])
    (log.root / "_delta_log" / f"{0:020}.json").unlink()
    assert told(log)["append"] == (1, "metadata changed")


def test_it_can_be_stopped(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.commit(1, [info("WRITE"), add("f")])
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        look.recent_conflicts(explorer.open_table(log.root), cancel=cancel)


def test_the_time_of_a_commit_is_the_one_that_the_history_has(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.commit(1, [info("WRITE", timestamp=1_000_000_000_000), add("f")])
    table = explorer.open_table(log.root)
    times = {row["timestamp"] for row in look.recent_conflicts(table).frame.to_pylist()}
    assert times == {None, look.history(table)["timestamp"][0].as_py()}


def test_the_answer_is_a_document(tmp_path: Path) -> None:
    from explorer.answers.registry import ANSWERS  # noqa: PLC0415 - as the verb has it

    log = begun(tmp_path)
    log.commit(1, [info("WRITE"), add("f")])
    found = look.recent_conflicts(explorer.open_table(log.root))
    document = ANSWERS["conflicts"].document(found, None)
    assert document["num_commits"] == 1
    assert [one["transaction"] for one in document["transactions"]] == [
        "append", "change", "compaction", "metadata",
    ]  # fmt: skip
    json.dumps(document, default=str)
