"""What a table asks for, by its log and by its files."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.errors import StorageError
from explorer.inspect.advice import advice as asking
from explorer.maintenance import plan_vacuum
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove, vector

RETENTIONS = {"delta.logRetentionDuration": "interval 30 days"}


def lake(folder: Path, files: int = 1, size: int = 2**30) -> LogFolder:
    log = LogFolder(folder / "orders")
    names = [f"{number}.parquet" for number in range(files)]
    log.commit(0, [PROTOCOL, metadata(), *(add(name, size=size) for name in names)])
    for name in names:
        (log.root / name).write_bytes(b"x")
    return log


def test_nothing_to_do_is_said_only_when_the_files_were_looked_at(tmp_path: Path) -> None:
    table = explorer.open_table(lake(tmp_path).root)
    by_log = look.advice_by_log(table)
    assert by_log.steps == ()
    assert by_log.sentence == "The log shows nothing to do. The data files were not checked."
    by_files = look.advice_by_files(table)
    assert (by_files.is_complete, by_files.sentence) == (True, "Nothing to do.")


def test_what_could_not_be_asked_is_named_and_keeps_nothing_to_do_from_being_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = explorer.open_table(lake(tmp_path).root)

    def fail(*_: object, **__: object) -> None:
        raise StorageError("No answer.", reason="It timed out.", remedy="Retry.")

    monkeypatch.setattr(asking, "foreign_files", fail)
    found = look.advice_by_files(table)
    assert not found.is_complete
    assert found.sentence == "The log shows nothing to do. Not known: reach."


def test_many_small_files_ask_for_a_compaction_with_its_cost_and_benefit(tmp_path: Path) -> None:
    few, many = lake(tmp_path / "few", 7, 1024), lake(tmp_path / "many", 120, 1024)
    assert look.advice_by_log(explorer.open_table(few.root)).steps == ()
    (step,) = look.advice_by_log(explorer.open_table(many.root)).first
    assert (step.source, step.severity) == ("layout", "warning")
    assert (step.operation, dict(step.arguments)) == ("optimize", {"what": "compact"})
    assert step.cost == "Rewrites 120.0 KiB."
    assert step.benefit == "119 fewer files to open."


@pytest.mark.parametrize(("partitions", "is_told"), [(49, False), (50, True)])
def test_too_many_partitions_are_a_thing_to_do_as_the_layout_says(
    partitions: int, is_told: bool, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "orders")
    adds = [
        add(f"{number}.parquet", size=1024, partitionValues={"part": str(number)})
        for number in range(partitions)
    ]
    log.commit(0, [PROTOCOL, metadata(partitionColumns=["part"]), *adds])
    table = explorer.open_table(log.root)
    assert look.file_layout(table.snapshot()).has_too_many_partitions is is_told
    steps = look.advice_by_log(table).steps
    assert [step.source for step in steps] == (["layout"] if is_told else [])
    for step in steps:
        assert step.problem == "Too many partitions: 50 of 50 hold less than one file of 1.0 GiB."
        assert step.cost == "Writes all 50.0 KiB again."
        assert step.benefit == "1 file of up to 1.0 GiB can hold what now takes 50."
        assert (step.operation, step.severity) == (None, "warning")
        assert step.by_hand.startswith("Overwrite the table")


def test_versions_that_are_missing_come_before_small_files(tmp_path: Path) -> None:
    log = lake(tmp_path, 120, 1024)
    adds = [add(f"{number}.parquet", size=1024) for number in range(120)]
    log.checkpoint(2, [PROTOCOL, metadata(), *adds])  # version 1 is missing
    log.commit(2, [])
    log.commit(3, [])
    steps = look.advice_by_log(explorer.open_table(log.root)).steps
    first, slow = steps[0], next(step for step in steps if step.source == "layout")
    assert first.problem == "The commits of version 1 are missing."
    assert first.benefit == "The versions in and after the gap can be read again."
    assert first.by_hand.startswith("Restore the commits from a backup.")
    assert first.severity == slow.severity == "warning"


def test_vectors_that_the_log_does_not_place_are_an_error(tmp_path: Path) -> None:
    log = lake(tmp_path)
    lost = vector("q", storageType="q")
    log.commit(1, [add("lost.parquet", size=2**30, deletionVector=lost)])
    first = look.advice_by_log(explorer.open_table(log.root)).first[0]
    assert (first.source, first.severity, first.endangers) == ("vectors", "error", True)
    assert "'lost.parquet'" in first.problem


@pytest.mark.parametrize(
    ("hidden", "asks"), [(19, False), (20, True), (30, True)], ids=["few", "just", "many"]
)
def test_vectors_that_hide_a_twentieth_of_all_rows_ask_for_a_purge(
    hidden: int, asks: bool, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "orders")
    size, stats = 2**30, json.dumps({"numRecords": 100})
    adds = [add(f"{number}.parquet", size=size, stats=stats) for number in range(3)]
    adds.append(add("3.parquet", size=size, stats=stats, deletionVector=vector(cardinality=hidden)))
    log.commit(0, [PROTOCOL, metadata(), *adds])
    found = look.advice_by_log(explorer.open_table(log.root)).steps
    assert [step.source for step in found] == (["vectors"] if asks else [])


@pytest.mark.parametrize(
    ("partitions", "says"),
    [
        ({}, "The compaction does this too."),
        # no compaction leaves fewer files of a partition with one
        ({0: "b"}, "The compaction does this too for 1 file of these."),
        ({0: "b", 1: "c"}, None),
    ],
)
def test_a_purge_says_what_of_it_the_compaction_does_too(
    tmp_path: Path, partitions: dict[int, str], says: str | None
) -> None:
    log = LogFolder(tmp_path / "orders")
    stats = json.dumps({"numRecords": 10})
    files = [
        add(
            f"{number}.parquet",
            size=1024,
            stats=stats,
            partitionValues={"part": partitions.get(number, "a")},
            **({"deletionVector": vector(cardinality=9)} if number < 2 else {}),
        )
        for number in range(20)
    ]
    log.commit(0, [PROTOCOL, metadata(partitionColumns=["part"]), *files])
    steps = look.advice_by_log(explorer.open_table(log.root)).steps
    (purge,) = [step for step in steps if step.arguments == {"what": "purge"}]
    assert any(step.arguments == {"what": "compact"} for step in steps)
    assert ("compaction" in purge.benefit) == (says is not None)
    if says is not None:
        assert purge.benefit.endswith(says)


def test_a_vacuum_is_told_with_the_files_that_its_plan_deletes(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    long_ago = time.time() - 40 * 86_400
    for name in ("a", "b", "orphan.parquet"):
        (log.root / name).write_bytes(b"x" * 1024)
        os.utime(log.root / name, (long_ago, long_ago))
    log.commit(0, [PROTOCOL, metadata(), add("a"), add("b", size=10)])
    log.commit(1, [remove("a", deletionTimestamp=int(long_ago * 1000))])
    table = explorer.open_table(log.root)
    (step,) = [step for step in look.advice_by_files(table).steps if step.operation == "vacuum"]
    plan = plan_vacuum(table)
    assert plan.files.num_rows == 2
    assert step.cost.startswith("Permanently deletes 2 files;")
    assert step.benefit == "Frees 2.0 KiB."


def test_more_things_than_are_shown_are_counted(tmp_path: Path) -> None:
    found = look.advice_by_log(explorer.open_table(lake(tmp_path, 120, 1024).root))
    many = replace(found, steps=found.steps * 12)
    assert (len(many.first), many.sentence.partition(".")[0]) == (
        3,
        "12 things to do; the first 3 are shown",
    )
    assert many.first + many.further == many.steps


def test_a_file_that_is_gone_comes_first_and_only_a_listing_finds_it(tmp_path: Path) -> None:
    log = lake(tmp_path, 120, 1024)
    (log.root / "0.parquet").unlink()
    table = explorer.open_table(log.root)
    assert look.advice_by_log(table).first[0].source == "layout"
    first = look.advice_by_files(table).first[0]
    assert (first.source, first.severity, first.operation) == ("health", "error", "repair")
    assert dict(first.arguments) == {"what": "files"}


def test_a_table_that_cannot_be_opened_has_advice_without_an_operation(tmp_path: Path) -> None:
    log = lake(tmp_path)
    log.commit(2, [add("late.parquet")])  # version 1 is missing
    found = look.advice_by_log(explorer.open_table(log.root))
    assert found.first[0].severity == "error"
    assert found.first[0].operation is None
    assert found.first[0].benefit == "The table can be read again."
    assert found.first[0].by_hand.startswith("Restore")


def test_the_verb_prints_what_the_document_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(lake(tmp_path, 120, 1024).root)
    assert run(["advice", place, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (step,) = document["steps"]
    assert (document["is_complete"], document["has_listed"], document["num_steps"]) == (
        False,
        False,
        1,
    )
    assert step["operation"] == "optimize"
    assert run(["advice", place]) == 0
    said = capsys.readouterr().out
    for text in (step["problem"], step["cost"], step["benefit"], "optimize compact", "--files"):
        assert text in said


def test_the_verb_prints_everything_on_demand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = explorer.open_table(lake(tmp_path, 120, 1024).root)
    found = look.advice_by_log(table)
    many = [replace(found.steps[0], operation=None, problem=f"Problem {at}.") for at in range(5)]
    monkeypatch.setattr(asking, "rank_steps", lambda _: many)
    assert run(["advice", table.uri]) == 0
    said = capsys.readouterr().out
    assert "Problem 2." in said
    assert "Problem 3." not in said
    assert "2 more things to do; --limit 5 shows all" in said
    assert run(["advice", table.uri, "--limit", "5"]) == 0
    said = capsys.readouterr().out
    assert all(f"Problem {at}." in said for at in range(5))
    assert "5 things to do. The data files" in said
    assert "more thing" not in said
    for options, number in (([], 3), (["--limit", "4"], 4)):
        assert run(["advice", table.uri, "--json", *options]) == 0
        document = json.loads(capsys.readouterr().out)
        assert (len(document["steps"]), document["num_steps"]) == (number, 5)
