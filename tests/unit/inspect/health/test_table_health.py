"""Each thing that may be wrong with a log is found, and its innocent twin is not accused."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from itertools import compress, pairwise, product
from operator import ge, gt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
import explorer.inspect as look
from explorer import maintenance
from explorer.errors import CancelledError
from explorer.inspect.health._clock_rules import _misplaced, _named
from explorer.maintenance import plan_repair
from explorer.progress import Cancel, Progress
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from explorer.table.times import utc_time
from tests.tables import FEATURE_PROTOCOL, Action, add, metadata, vector
from tests.unit.maintenance.lake import NOW_MS, Lake, ms_ago, start

NOW = utc_time(NOW_MS)
PLACE = "ab^-aqEH.-t@S}K{vb[*k^"
ALL: list[Action] = [FEATURE_PROTOCOL, metadata(), add("a")]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def findings(lake: Lake) -> dict[str, dict[str, Any]]:
    found = look.log_health(lake.table, now=NOW).findings.to_pylist()
    return {row["finding"]: row for row in found}


def versions(lake: Lake, count: int, age_days: float = 5) -> None:
    start(lake, lake.add("a"))
    for version in range(1, count):
        lake.commit(version, [add(f"f{version}")], age_days=age_days - version / 100)


def log(lake: Lake) -> Path:
    return lake.root / "_delta_log"


@pytest.mark.parametrize("text", ["no JSON", "{}", '{"type": "struct", "fields": [{}]}'])
def test_schema_that_cannot_be_read_is_an_error(lake: Lake, text: str) -> None:
    lake.commit(0, [FEATURE_PROTOCOL, metadata(schemaString=text), lake.add("a")], age_days=5)
    for ask in (look.log_health, look.files_health):
        (row,) = ask(lake.table, now=NOW).findings.to_pylist()
        assert (row["severity"], row["finding"]) == ("error", "schema that cannot be read")
        assert row["problem"] == "The schema of the table cannot be read."


def test_sound_log_has_no_finding_and_says_what_opening_costs(lake: Lake) -> None:
    versions(lake, 3)
    found = look.log_health(lake.table, now=NOW)
    assert found.findings.num_rows == 0
    assert found.sentence.startswith("The log is sound. Version 2 opens from 3 commits")
    size = sum(place.stat().st_size for place in log(lake).iterdir())
    assert found.cost is not None
    assert (found.cost["commits"], found.cost["commit_bytes"]) == (3, size)
    (row,) = found.log_bytes.to_pylist()
    assert (row["kind"], row["num_files"], row["bytes"]) == ("commit", 3, size)


def test_gap_that_a_checkpoint_bridges_is_a_warning_and_else_an_error(lake: Lake) -> None:
    versions(lake, 6)
    lake.log.checkpoint(4, ALL)
    (log(lake) / f"{2:020}.json").unlink()
    row = findings(lake)["gap in the commits"]
    assert (row["severity"], row["evidence"]) == ("warning", f"{2:020}.json")
    assert "Versions 2–3 cannot be read" in row["reason"]
    (log(lake) / f"{4:020}.checkpoint.parquet").unlink()
    found = look.log_health(lake.table, now=NOW)
    rows = {row["finding"]: row for row in found.findings.to_pylist()}
    assert rows["gap in the commits"]["severity"] == "error"
    assert "table that cannot be opened" in rows
    assert not found.opens


def test_cleanup_that_cut_before_its_checkpoint_is_told_apart_from_a_right_one(lake: Lake) -> None:
    versions(lake, 6)
    lake.log.checkpoint(2, ALL)
    lake.log.checkpoint(4, ALL)
    lake.log.hint(4)
    for version in (0, 1):
        (log(lake) / f"{version:020}.json").unlink()
    assert findings(lake) == {}  # commits from 2 on, carried by the checkpoint of 2
    (log(lake) / f"{2:020}.checkpoint.parquet").unlink()
    row = findings(lake)["commits without a checkpoint"]
    assert row["problem"].startswith("Versions 2–3 can no longer be read")
    (log(lake) / f"{4:020}.checkpoint.parquet").unlink()
    assert findings(lake)["no beginning"]["severity"] == "error"


def test_incomplete_checkpoint_is_named(lake: Lake) -> None:
    versions(lake, 3)
    lake.log.checkpoint(1, [*ALL, add("f1")], form="multi-part")
    lake.log.hint(1, parts=2)
    assert "incomplete checkpoint" not in findings(lake)
    part = min(log(lake).glob("*.checkpoint.*.parquet"))
    part.unlink()
    row = findings(lake)["incomplete checkpoint"]
    assert (row["severity"], row["repair"]) == ("warning", "checkpoint")
    assert ".checkpoint." in row["evidence"]


def test_broken_checkpoint_is_found_and_its_repair_mends_it(lake: Lake) -> None:
    versions(lake, 3)
    lake.log.checkpoint(1, [*ALL, add("f1")])
    lake.log.hint(1)
    assert "broken checkpoint" not in findings(lake)
    place = log(lake) / f"{1:020}.checkpoint.parquet"
    place.write_bytes(place.read_bytes()[:-20])
    row = findings(lake)["broken checkpoint"]
    assert (row["evidence"], row["repair"]) == (place.name, "repair checkpoint")
    receipt = lake.execute(plan_repair(lake.table, "checkpoint", clock=lake.clock))
    assert receipt.status == "completed"
    assert "broken checkpoint" not in findings(lake)


def test_late_checkpoint_is_told_apart_from_one_that_is_not_due(lake: Lake) -> None:
    interval = {"delta.checkpointInterval": "2"}
    start(lake, lake.add("a"), configuration=interval)
    for version in range(1, 6):
        lake.commit(version, [add(f"f{version}")], age_days=5 - version / 10)
    assert "late checkpoint" not in findings(lake)
    engine = {"commitInfo": {"engineInfo": "Never-Checkpoints/1.0"}}
    lake.commit(6, [engine, add("f6")], age_days=1)
    row = findings(lake)["late checkpoint"]
    assert "reads 7 commits one by one" in row["problem"]
    assert "Never-Checkpoints/1.0" in row["reason"]
    lake.execute(maintenance.plan_checkpoint(lake.table, clock=lake.clock))
    assert "late checkpoint" not in findings(lake)


def test_hint_is_right_stale_wrong_or_missing(lake: Lake) -> None:
    versions(lake, 4)
    lake.log.checkpoint(1, [*ALL, add("f1")])
    assert set(findings(lake)) == {"no hint"}
    lake.log.hint(1)
    assert findings(lake) == {}
    lake.log.checkpoint(2, [*ALL, add("f1"), add("f2")])
    assert set(findings(lake)) == {"stale hint"}
    lake.log.hint(3)
    row = findings(lake)["wrong hint"]
    assert (row["evidence"], row["repair"]) == ("_last_checkpoint", "repair hint")
    lake.execute(plan_repair(lake.table, "hint", clock=lake.clock))
    assert findings(lake) == {}


def test_checksum_that_disagrees_is_found(lake: Lake) -> None:
    versions(lake, 2)
    body = {"tableSizeBytes": 200, "numFiles": 2, "numMetadata": 1, "numProtocol": 1}
    protocol, meta = FEATURE_PROTOCOL["protocol"], metadata()["metaData"]
    right = json.dumps(body | {"protocol": protocol, "metadata": meta})
    lake.log.write(f"{1:020}.crc", right)
    assert findings(lake) == {}
    lake.log.write(f"{1:020}.crc", right.replace('"numFiles": 2', '"numFiles": 3'))
    row = findings(lake)["checksum that disagrees"]
    assert row["evidence"] == f"{1:020}.crc"
    assert "It claims 3 files; the log holds 2." in row["reason"]
    lake.log.write(f"{7:020}.crc", right)
    assert findings(lake)["newer versions are gone"]["evidence"] == f"{7:020}.crc"


def test_foreign_files_in_the_log_are_listed(lake: Lake) -> None:
    versions(lake, 2)
    lake.log.write("00000000000000000001.json.tmp", "x")
    row = findings(lake)["foreign files in the log"]
    assert (row["severity"], row["evidence"]) == ("note", "00000000000000000001.json.tmp")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("12.json", "a commit of version 12"),
        ("000000000000000000012.json", "a commit of version 12"),
        ("1.checkpoint.parquet", "a checkpoint of version 1"),
        ("1.crc", "a checksum of version 1"),
        ("0.1.compacted.json", "a compaction of version 0"),
    ],
)
def test_log_file_with_a_number_of_another_length_is_a_warning(
    lake: Lake, name: str, what: str
) -> None:
    versions(lake, 2)
    lake.log.write(name, "{}")
    lake.log.write("notes.json", "x")
    rows = findings(lake)
    row = rows["log files with a number of another length"]
    assert (row["severity"], row["evidence"]) == ("warning", name)
    assert row["problem"].endswith(f"twenty digits: {name} ({what}).")
    assert "Delta Spark accepts any number of digits" in row["reason"]
    assert rows["foreign files in the log"]["problem"].endswith("not part of the log: notes.json.")


def test_files_that_no_writer_finished_are_told_from_foreign_ones(lake: Lake) -> None:
    versions(lake, 2)
    name = f".tmp-{'0a' * 16}"
    lake.log.write(name, "x")
    (row,) = findings(lake).values()
    assert row["finding"] == "unfinished files in the log"
    assert (row["severity"], row["evidence"]) == ("note", name)
    assert "log cleanup" in row["remedy"]


def test_two_checkpoints_of_one_version_are_a_note(lake: Lake) -> None:
    versions(lake, 2)
    lake.log.checkpoint(1, [*ALL, add("f1")])
    lake.log.checkpoint(1, [*ALL, add("f1")], form="v2-parquet")
    lake.log.hint(1)
    assert set(findings(lake)) == {"several checkpoints of one version"}


def test_clock_that_goes_back_runs_ahead_or_was_copied(lake: Lake) -> None:
    versions(lake, 3)
    lake.log.time(1, ms_ago(50))
    row = findings(lake)["times go back"]
    assert row["evidence"] == f"{1:020}.json"
    lake.log.time(1, ms_ago(4.99))
    assert findings(lake) == {}
    lake.log.time(2, NOW_MS + 3_600_000)
    assert set(findings(lake)) == {"time in the future"}


@pytest.mark.parametrize(
    ("ages", "odd"),
    [
        ({1: 50}, [1]),
        ({2: 30, 4: 31, 7: 32}, [2, 4, 7]),  # set back, one here and one there
        ({4: 30, 5: 29, 6: 28}, [4, 5, 6]),  # set back together
        ({3: 1}, [3]),  # set on: not those after it
        ({8: 31, 9: 30}, [8, 9]),  # set back together, at the end
        ({0: 1}, [0]),
    ],
)
def test_each_commit_out_of_order_is_named(
    lake: Lake, ages: dict[int, float], odd: list[int]
) -> None:
    start(lake, lake.add("a"))
    for version in range(1, 10):
        lake.commit(version, [add(f"f{version}")], age_days=20 - version)
    for version, age in ages.items():
        lake.log.time(version, ms_ago(age))
    problem = findings(lake)["times go back"]["problem"]
    named = [int(number) for number in re.findall(r"version (\d+) is of", problem)]
    assert named == odd
    verb = "1 commit is" if len(odd) == 1 else f"{len(odd)} commits are"
    assert problem.startswith(f"{verb} out of order in time: ")


@given(st.lists(st.integers(0, 5), max_size=7))
def test_commits_out_of_order_are_the_fewest_and_each_stands_beside_one_that_shows_it(
    times: list[int],
) -> None:
    pairs = list(enumerate(times))
    for find, compare in ((bisect_right, gt), (bisect_left, ge)):
        odd = _misplaced(times, find)
        kept = [time for at, time in enumerate(times) if at not in odd]
        assert not any(compare(one, other) for one, other in pairwise(kept))
        fits = (
            sum(some)
            for some in product((0, 1), repeat=len(times))
            if not any(compare(one, other) for one, other in pairwise(compress(times, some)))
        )
        assert len(kept) == max(fits)
        if odd:
            assert _named(pairs, odd, "odd", compare).startswith(f"{len(odd)} commit")


def test_both_times_of_a_commit_out_of_order_are_said(lake: Lake) -> None:
    versions(lake, 3)
    lake.log.time(1, NOW_MS - 50 * 86_400_000)
    problem = findings(lake)["times go back"]["problem"]
    assert problem.endswith(
        "version 1 is of 2026-04-08 20:26:40 UTC, version 0 of 2026-04-18 20:26:40 UTC."
    )


def test_copied_log_is_told_apart_from_one_with_its_own_times(lake: Lake) -> None:
    start(lake, {"commitInfo": {"timestamp": ms_ago(40)}}, lake.add("a"))
    lake.commit(1, [{"commitInfo": {"timestamp": ms_ago(20)}}, add("b")], age_days=20)
    assert findings(lake) == {}
    for version in (0, 1):
        lake.log.time(version, ms_ago(2) + version)
    found = look.log_health(lake.table, now=NOW)
    (row,) = found.findings.to_pylist()
    assert (row["finding"], row["severity"], row["repair"]) == ("times of a copy", "note", None)
    assert found.sentence.startswith("The log is sound; 1 note.")


def test_copied_log_is_one_note_whatever_the_order_of_its_files(lake: Lake) -> None:
    def info(days: float) -> Action:
        return {"commitInfo": {"timestamp": ms_ago(days)}}

    start(lake, info(40), lake.add("a"))
    for version in range(1, 7):
        lake.commit(version, [info(40 - version), add(f"f{version}")], age_days=2)
        lake.log.time(version, ms_ago(2) - version * 7 % 5 * 1_000)
    lake.log.time(0, ms_ago(2))
    assert [*findings(lake)] == ["times of a copy"]
    # the table goes on after it was copied: its own times are right, the others as before
    for version in range(7, 28):
        days = 1 - version / 100
        lake.commit(version, [info(days), add(f"f{version}")], age_days=days)
    assert [*findings(lake)] == ["times of a copy"]
    lake.log.time(20, ms_ago(0.99))
    rows = findings(lake)
    assert {name: row["severity"] for name, row in rows.items()} == {
        "times go back": "warning",
        "times of a copy": "note",
    }
    assert "version 20 is of" in rows["times go back"]["problem"]


def test_in_commit_timestamps_are_there_and_grow(lake: Lake) -> None:
    features = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": [],
            "writerFeatures": ["inCommitTimestamp"],
        }
    }
    enabled = metadata(configuration={"delta.enableInCommitTimestamps": "true"})

    def info(days: float) -> Action:
        return {"commitInfo": {"inCommitTimestamp": ms_ago(days)}}

    lake.commit(0, [info(9), features, enabled, lake.add("a")], age_days=9)
    lake.commit(1, [info(8), add("b")], age_days=50)  # its file's time does not count
    assert findings(lake) == {}
    lake.commit(2, [info(8.5), add("c")], age_days=8)
    assert findings(lake)["in-commit timestamps go back"]["evidence"] == f"{2:020}.json"
    lake.commit(2, [add("c")], age_days=8)
    assert findings(lake)["no in-commit timestamp"]["severity"] == "error"
    for version in range(3, 12):
        lake.commit(version, [info(8 - version / 10), add(f"f{version}")], age_days=7)
    lake.commit(4, [add("none")], age_days=7)
    for version in (6, 8):
        lake.commit(version, [info(8.5), add(f"f{version}")], age_days=7)
    lake.commit(10, [info(8 - 9 / 10), add("same")], age_days=7)  # as late as the one before
    rows = findings(lake)
    assert rows["no in-commit timestamp"]["problem"].startswith("Versions 2, 4 have no")
    problem = rows["in-commit timestamps go back"]["problem"]
    assert problem.startswith("3 commits are out of order by their in-commit timestamps: ")
    assert re.findall(r"version (\d+) is of", problem) == ["6", "8", "10"]


def test_transaction_that_was_committed_twice_is_found(lake: Lake) -> None:
    start(lake, {"commitInfo": {"txnId": "one"}}, lake.add("a"))
    lake.commit(1, [{"commitInfo": {"txnId": "two"}}, add("b")], age_days=3)
    assert findings(lake) == {}
    lake.commit(2, [{"commitInfo": {"txnId": "two"}}, add("c")], age_days=2)
    row = findings(lake)["transaction committed twice"]
    assert row["problem"] == "The same transaction committed versions 1 and 2."
    for version in (3, 4):
        info = {"commitInfo": {"txnId": "three"}}
        lake.commit(version, [info, add(f"f{version}")], age_days=2 - version / 10)
    row = findings(lake)["transaction committed twice"]
    assert row["problem"] == (
        "The same transaction committed twice: versions 1 and 2; versions 3 and 4."
    )
    assert (row["evidence"], row["repair"]) == (f"{2:020}.json", "restore --version 1")


def test_expired_log_files_are_counted_as_the_cleanup_counts_them(lake: Lake) -> None:
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), lake.add("a")], age_days=60)
    for version in range(1, 5):
        lake.commit(version, [add(f"f{version}")], age_days=60 - version * 5)
    lake.log.checkpoint(3, [*ALL, add("f1"), add("f2"), add("f3")])
    lake.log.hint(3)
    lake.log.time(3, ms_ago(45))
    row = findings(lake)["expired log files"]
    assert row["reason"].startswith("No writer has removed them")
    for version in (3, 4):
        told = {"commitInfo": {"engineInfo": "Kinesis-Flink/1.2"}}
        age = {3: 45, 4: 40}[version]
        lake.commit(version, [told, add(f"f{version}")], age_days=age)
    row = findings(lake)["expired log files"]
    assert row["reason"].startswith("The newest commits were made by Kinesis-Flink/1.2, and")
    plan = maintenance.plan_log_cleanup(lake.table, clock=lake.clock)
    assert row["problem"].startswith(f"{plan.effect['num_files']} files of the log")
    assert row["repair"] == "clean-log"
    never = metadata(configuration={"delta.enableExpiredLogCleanup": "false"})
    lake.commit(5, [never], age_days=1)
    assert "turns log cleanup off" in findings(lake)["expired log files"]["reason"]


def test_missing_files_are_found_by_a_listing_alone(lake: Lake) -> None:
    stats = '{"numRecords":7}'
    start(lake, lake.add("a", stats=stats), lake.add("b", stats=stats))
    lake.file(parse_relative_place(PLACE))
    hidden = lake.add("b", stats=stats, deletionVector=vector(PLACE, offset=1))
    lake.commit(1, [lake.remove("b", age_days=3), hidden], age_days=3)
    whole = look.files_health(lake.table, now=NOW)
    assert whole.findings.num_rows == 0
    assert whole.sentence.startswith("The log is sound and every file is there.")
    (lake.root / "a").unlink()
    (lake.root / parse_relative_place(PLACE)).unlink()
    assert findings(lake) == {}
    found = look.files_health(lake.table, now=NOW)
    rows = {row["finding"]: row for row in found.findings.to_pylist()}
    assert set(rows) == {"missing data file", "missing deletion vector"}
    assert rows["missing data file"]["problem"].endswith("gone: 7 rows cannot be read.")
    assert found.missing is not None
    assert found.missing.column("file").to_pylist() == ["a", parse_relative_place(PLACE)]
    # what the repair would remove is what is missing
    plan = plan_repair(lake.table, "files", clock=lake.clock)
    assert sorted(set(plan.files.column("path").to_pylist())) == ["a", "b"]


def test_rows_hidden_by_a_vector_are_not_lost_with_their_file(lake: Lake) -> None:
    stats, place = '{"numRecords":55}', parse_relative_place(PLACE)
    lake.file(place, size=4_000)
    hiding: dict[str, Any] = {
        "stats": stats,
        "deletionVector": vector(PLACE, cardinality=5, sizeInBytes=38),
    }
    start(lake, lake.add("a", size=9_000, **hiding), lake.add("b", size=9_000, **hiding))
    (lake.root / "a").unlink()
    found = look.files_health(lake.table, now=NOW)
    assert found.findings.column("problem").to_pylist() == [
        "1 live data file is gone: 50 rows cannot be read."
    ]
    lake.file("a")
    (lake.root / place).unlink()
    found = look.files_health(lake.table, now=NOW)
    assert found.findings.column("problem").to_pylist() == [
        "The deletion vectors of 2 live data files are gone: 100 rows cannot be read."
    ]
    assert found.missing is not None
    counted = [(row["num_rows"], row["bytes"]) for row in found.missing.to_pylist()]
    assert counted == [(50, 38), (50, 38)]  # of the vector, not of the file that it belongs to


def test_rows_are_unknown_where_a_vector_hides_what_cannot_be(lake: Lake) -> None:
    odd = vector(PLACE, cardinality=70)
    start(lake, lake.add("a", stats='{"numRecords":55}', deletionVector=odd))
    lake.file(parse_relative_place(PLACE))
    (lake.root / "a").unlink()
    found = look.files_health(lake.table, now=NOW)
    problems = found.findings.column("problem").to_pylist()
    assert "1 live data file is gone: an unknown number of rows cannot be read." in problems


@pytest.mark.parametrize("form", ["classic", "v2-parquet"])
def test_missing_files_of_a_checkpoint_are_told_with_their_rows(lake: Lake, form: Any) -> None:
    def counted(number: int) -> Action:
        return lake.add(f"f {number}".replace(" ", "%20"), stats=f'{{"numRecords":{number}}}')

    files = [counted(number) for number in range(1, 7)]
    start(lake, *files)
    lake.log.checkpoint(0, [FEATURE_PROTOCOL, metadata(), *files], form=form, rows_per_group=3)
    lake.commit(1, [lake.add("late", stats='{"numRecords":50}')], age_days=3)
    for name in ("f 2", "f 6", "late"):
        (lake.root / name).unlink()
    found = look.files_health(lake.table, now=NOW).missing
    assert found is not None
    rows = [(row["path"], row["file"], row["num_rows"]) for row in found.to_pylist()]
    assert rows == [("f%202", "f 2", 2), ("f%206", "f 6", 6), ("late", "late", 50)]


def test_whoever_looks_for_missing_files_is_told_how_far_it_is_and_can_stop_it(lake: Lake) -> None:
    start(lake, lake.add("a"))
    seen: list[Progress] = []
    look.files_health(lake.table, now=NOW, progress=seen.append)
    labels = list(dict.fromkeys(step.label for step in seen))
    reading = "Reading the files of the newest version"
    comparing = "Comparing them with the listing"
    assert labels[-3:] == [reading, comparing, "Reading the footers of the files"]
    assert Progress(done=1, total=1, label=reading) in seen
    for label in labels[-3:]:
        cancel = Cancel()

        def stop(step: Progress, at: str = label, cancel: Cancel = cancel) -> None:
            if step.label == at:
                cancel.cancel()

        with pytest.raises(CancelledError):
            look.files_health(lake.table, now=NOW, progress=stop, cancel=cancel)


def test_table_without_any_commit_answers_with_an_error_of_its_own(lake: Lake) -> None:
    lake.log.write("readme.txt", "x")
    found = look.log_health(lake.table, now=NOW)
    assert (found.opens, found.version, found.cost) == (False, None, None)
    assert found.sentence.startswith("This table's log is empty.")


@pytest.mark.parametrize(
    ("feature", "severity"),
    [("cloudy", "error"), ("adaptiveMetadata", "error"), ("catalogManaged", "note")],
)
def test_unknown_reader_feature_is_an_error_and_the_log_is_judged_all_the_same(
    lake: Lake, feature: str, severity: str
) -> None:
    names = {"readerFeatures": [feature], "writerFeatures": [feature, "inCommitTimestamp"]}
    body = {"minReaderVersion": 3, "minWriterVersion": 7} | names
    lake.commit(0, [{"protocol": body}, metadata(), lake.add("a")], age_days=4)
    lake.log.write("readme.txt", "x")
    rows = findings(lake)
    assert rows["refused table"]["severity"] == severity
    assert "foreign files in the log" in rows


def test_large_checkpoint_is_not_read_unless_asked_for(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions(lake, 3)
    lake.log.checkpoint(1, [*ALL, add("f1")])
    lake.log.hint(1)
    monkeypatch.setattr("explorer.inspect.health.table_health.READ_WHOLE", 10)
    found = look.log_health(lake.table, now=NOW)
    assert not found.is_checkpoint_read
    assert found.sentence.startswith("The log is sound, as far as it was read.")
    assert look.files_health(lake.table, now=NOW).is_checkpoint_read


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("golden-corrupted-last-checkpoint-kernel", "wrong hint"),
        ("deltars-table_failed_last_checkpoint_update", "stale hint"),
        ("golden-versions-not-contiguous", "gap in the commits"),
        ("deltars-cdc_ict_table", "in-commit timestamps go back"),
        ("kernel-crc-full", "checksum that disagrees"),
    ],
)
def test_what_is_wrong_with_real_tables_is_found(corpus: Path, name: str, finding: str) -> None:
    table = explorer.open_table(corpus / "tables" / name)
    assert finding in look.log_health(table).findings.column("finding").to_pylist()


def test_growth_of_the_log_holds_every_byte_once_in_spans_of_one_length(lake: Lake) -> None:
    for version in range(20):
        first = [FEATURE_PROTOCOL, metadata()] if version == 0 else []
        lake.commit(version, [*first, lake.add(f"{version}")], age_days=40 - 2 * version)
    found = look.log_health(lake.table)
    growth, kinds = found.log_growth, found.log_bytes
    assert sum(growth.column("bytes").to_pylist()) == sum(kinds.column("bytes").to_pylist())
    assert sum(growth.column("num_files").to_pylist()) == 20
    starts = growth.column("from").cast("int64").to_pylist()
    assert {(later - earlier) % 86_400_000 for earlier, later in pairwise(starts)} == {0}
    assert 2 < len(starts) <= 60
