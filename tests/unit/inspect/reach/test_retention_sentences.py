"""What `reach` says of the retentions: what decides, what nobody reads, and no cause that is
none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.table.times import utc_time
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, add, metadata
from tests.unit.maintenance.lake import NOW_MS, Lake, start, vacuum

NOW = utc_time(NOW_MS)
FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def by_log(lake: Lake) -> look.Reachability:
    return look.reach_by_log(lake.table, now=NOW)


def by_files(lake: Lake) -> look.Reachability:
    return look.reach_by_files(lake.table, now=NOW)


def findings(lake: Lake) -> dict[str, dict[str, Any]]:
    found = look.log_health(lake.table, now=NOW).findings.to_pylist()
    return {row["finding"]: row for row in found}


def states(found: look.Reachability, column: str = "travel") -> list[str]:
    return [row[column] for row in found.versions.to_pylist()]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("deletedFileRetentionDuration", FILES),
        ("logRetentionDuration", LOG),
        ("delta.LogRetentionDuration", LOG),
        ("enableExpiredLogCleanup", "delta.enableExpiredLogCleanup"),
    ],
)
def test_a_name_that_nobody_reads_is_called_ignored(
    lake: Lake, capsys: pytest.CaptureFixture[str], name: str, known: str
) -> None:
    start(lake, lake.add("a"), configuration={name: "interval 90 days"})
    said = f"The table property `{name}` is ignored: no engine reads it under this name."
    assert said in by_log(lake).sentence
    row = findings(lake)["ignored property"]
    assert (row["severity"], row["problem"]) == ("warning", said)
    assert f"Its name is `{known}`" in row["reason"]
    assert "the default" in row["reason"]
    assert run(["reach", str(lake.root), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert said in document["sentence"]
    assert len(document["notes"]) == 1
    assert run(["health", str(lake.root), "--json"]) == 0
    assert said in capsys.readouterr().out
    problems = look.describe(lake.table)["problems"]
    assert said in [problem["problem"] for problem in problems]


def test_names_of_others_are_not_called_ignored(lake: Lake) -> None:
    own = {FILES: "interval 9 days", "owner": "me", "delta.custom": "x", "engine.path": "y"}
    start(lake, lake.add("a"), configuration=own)
    assert "ignored" not in by_log(lake).sentence
    assert "ignored property" not in findings(lake)


def test_a_log_that_is_kept_for_less_time_than_files_is_explained(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    start(lake, lake.add("a"), configuration={LOG: "interval 2 days"})
    said = (
        f"{LOG} (interval 2 days) is shorter than {FILES} (interval 1 week): once the log is "
        "cleaned up, versions cannot be opened although their files are kept."
    )
    assert said in by_log(lake).sentence
    row = findings(lake)["log kept for less time than files"]
    assert row["severity"] == "note"
    assert f"{row['problem'][:-1]}: o{row['reason'][1:]}" == said
    assert run(["reach", str(lake.root), "--json"]) == 0
    assert said in json.loads(capsys.readouterr().out)["sentence"]
    # the twins: as long as files, and a log that is never cleaned up
    for own in (
        {LOG: "interval 7 days"},
        {LOG: "interval 2 days", "delta.enableExpiredLogCleanup": "false"},
        {LOG: "interval 2 days", FILES: "interval 1 day"},
    ):
        lake.commit(1, [metadata(configuration=own)], age_days=1)
        assert "although" not in by_log(lake).sentence
        assert "log kept for less time than files" not in findings(lake)


def test_spark_is_said_to_travel_so_far_only_where_retention_is_the_cause(lake: Lake) -> None:
    start(lake, lake.add("a"))
    for version in range(1, 5):
        lake.commit(version, [lake.add(f"{version}")], age_days=20 - version)
    lake.commit(5, [lake.add("5")], age_days=1)
    lake.log.checkpoint(5, [PROTOCOL, metadata(), add("a"), *(add(f"{n}") for n in range(1, 6))])
    found = by_log(lake)
    assert found.spark_from == 5
    assert "reads only version 5, because of" in found.sentence
    # the twin whose log was cut: nobody travels further back
    for version in range(5):
        (lake.log.log / f"{version:020}.json").unlink()
    found = by_log(lake)
    assert found.spark_from is None
    assert "Delta Spark" not in found.sentence


def test_spark_is_not_said_to_refuse_versions_whose_files_are_gone(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.commit(1, [lake.remove("a", age_days=20), lake.add("b")], age_days=3)
    assert by_files(lake).spark_from == 1
    (lake.root / "a").unlink()
    found = by_files(lake)
    assert states(found) == ["data gone", "readable"]
    assert found.spark_from is None
    assert "Delta Spark" not in found.sentence


def test_a_table_within_its_retention_says_nothing_of_spark(lake: Lake) -> None:
    lake.commit(0, [PROTOCOL, metadata(), lake.add("a")], age_days=3)
    lake.commit(1, [lake.add("b")], age_days=2)
    assert "Delta Spark" not in by_log(lake).sentence


@pytest.mark.parametrize("name", [FILES, LOG])
def test_a_month_is_an_error_everywhere(
    lake: Lake, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    start(lake, lake.add("a"), configuration={name: "interval 1 month"})
    lake.commit(1, [lake.remove("a", age_days=20)], age_days=20)
    row = findings(lake)["unreadable property"]
    assert row["severity"] == "error"
    assert f"`{name}` is `interval 1 month`: a month has no fixed length" in row["problem"]
    assert f"kept is unknown: {name} cannot be read." in by_log(lake).sentence
    assert f"{name} cannot be read." in by_files(lake).sentence
    plan = (
        vacuum(lake)
        if name == FILES
        else explorer.maintenance.plan_log_cleanup(lake.table, clock=lake.clock)
    )
    assert any(
        verdict.outcome == "refuse" and "interval 1 month" in verdict.message
        for verdict in plan.verdicts
    )
    problems = look.describe(lake.table)["problems"]
    assert any("interval 1 month" in problem["problem"] for problem in problems)
    assert run(["health", str(lake.root), "--json"]) == 0
    assert "a month has no fixed length" in capsys.readouterr().out
    assert run(["set", str(lake.root), f"{name}=interval 1 month"]) == 2
    assert "a month has no fixed length" in " ".join(capsys.readouterr().err.split())


def test_files_are_looked_at_on_both_sides_of_a_gap(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    start(lake, lake.add("a"))
    for version in range(1, 9):
        lake.commit(version, [lake.add(f"{version}")], age_days=(9 - version) / 2)
    every = [add("a"), *(add(f"{number}") for number in range(1, 7))]
    lake.log.checkpoint(6, [FEATURE_PROTOCOL, metadata(), *every])
    (lake.log.log / f"{4:020}.json").unlink()
    (lake.root / "2").unlink()
    found = by_files(lake)
    assert found.has_listed
    assert found.problem is None
    assert states(found)[:6] == ["readable", "readable", *["data gone"] * 2, *["log gone"] * 2]
    assert states(found)[6:] == ["data gone"] * 3
    assert "not looked at" not in found.sentence
    # without the checkpoint nothing after the gap is left, and what is before it was looked at
    (lake.log.log / f"{6:020}.checkpoint.parquet").unlink()
    found = by_files(lake)
    assert found.has_listed
    assert states(found) == ["readable", "readable", *["data gone"] * 2, *["log gone"] * 5]
    assert "There is no checkpoint" not in found.sentence
    assert run(["reach", str(lake.root), "--files"]) == 0
    assert "not looked at" not in capsys.readouterr().out


def test_versions_whose_files_were_not_looked_at_are_not_called_readable(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    start(lake, lake.add("a"))
    for version in range(1, 5):
        lake.commit(version, [lake.add(f"{version}")], age_days=(5 - version) / 2)
    first = [FEATURE_PROTOCOL, metadata(), add("a"), add("1")]
    (place,) = lake.log.checkpoint(1, first)
    lake.log.checkpoint(3, [*first, add("2"), add("3")])
    for version in (0, 1):
        (lake.log.log / f"{version:020}.json").unlink()
    assert states(by_files(lake)) == ["log gone", *["readable"] * 4]
    place.write_bytes(place.read_bytes()[:40])
    found = by_files(lake)
    assert found.has_listed
    assert "versions 3–4 can." in found.sentence
    assert "The files of versions 1–2 were not checked." in found.sentence
    assert "The checkpoint of version 1 cannot be read" in found.sentence
    assert run(["reach", str(lake.root), "--files"]) == 0
    assert "--files does" not in capsys.readouterr().out


def test_a_checkpoint_that_is_too_old_is_not_called_absent(lake: Lake) -> None:
    start(lake, lake.add("a"))
    for version in range(1, 7):
        lake.commit(version, [lake.add(f"{version}")], age_days=(9 - version) / 2)
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), add("a"), add("1")])
    for version in (0, 1, 2, 3):
        (lake.log.log / f"{version:020}.json").unlink()
    found = by_files(lake)
    assert states(found) == ["log gone", "readable", *["log gone"] * 5]
    assert found.has_listed
    with pytest.raises(explorer.DeltaError) as caught:
        look.foreign_files(lake.table, now=NOW)
    assert "There is no checkpoint" not in str(caught.value)
