"""What was really opened decides every sentence: a checkpoint, sidecar or compaction is named
only where it was read, and no older version is given unasked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.errors import CorruptLogError, DeltaError, UnusableCheckpointError
from explorer.maintenance import plan_checkpoint, plan_vacuum
from explorer.table.opening_cost import expected_cost, opening_cost
from explorer.table.readable import newest_readable
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, commit_name, metadata

START: list[Action] = [FEATURE_PROTOCOL, metadata()]


def files(*versions: int) -> list[Action]:
    return [add(f"{version}.parquet") for version in versions]


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Versions 0 to 6, one file each."""
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [*START, *files(0)])
    for version in range(1, 7):
        log.commit(version, files(version))
    return log


def table(log: LogFolder) -> explorer.Table:
    return explorer.open_table(log.root)


def findings(log: LogFolder) -> dict[str, dict[str, Any]]:
    rows = look.log_health(table(log)).findings.to_pylist()
    return {row["finding"]: row for row in rows}


def drop_commits(log: LogFolder, *versions: int) -> None:
    for version in versions:
        (log.log / commit_name(version)).unlink()


def missing(place: Path) -> None:
    place.unlink()


def longer(place: Path) -> None:
    place.write_bytes(place.read_bytes() + b"x")


def with_sidecars(log: LogFolder, version: int) -> Path:
    log.checkpoint(version, [*START, *files(*range(version + 1))], form="v2-json", sidecars=2)
    return min((log.log / "_sidecars").iterdir())


@pytest.mark.parametrize("spoil", [missing, longer])
def test_checkpoint_whose_sidecar_is_not_the_named_one_is_not_said_to_be_used(
    log: LogFolder, spoil: Callable[[Path], None]
) -> None:
    log.checkpoint(2, [*START, *files(0, 1, 2)])
    spoil(with_sidecars(log, 4))
    found = look.log_health(table(log))
    assert found.cost is not None
    assert (found.cost["checkpoint_version"], found.cost["commits"]) == (2, 4)
    assert "Version 6 opens from the checkpoint of version 2 and 4 commits" in found.sentence
    row = findings(log)["broken checkpoint"]
    instead = "read from the checkpoint of version 2 and 4 commits"
    assert instead in row["remedy"]
    assert ".checkpoint." in row["evidence"]
    document = look.describe(table(log))
    assert (document["checkpoint"]["version"], document["num_files"]) == (2, 7)
    assert any(instead in problem["remedy"] for problem in document["problems"])


def test_large_checkpoint_with_a_wrong_sidecar_is_read_all_the_same(
    log: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.inspect.health.table_health.READ_WHOLE", 0)
    sidecar = with_sidecars(log, 4)
    assert not look.log_health(table(log)).is_checkpoint_read
    longer(sidecar)
    assert "broken checkpoint" in findings(log)


def test_sidecars_count_among_what_opening_reads(log: LogFolder) -> None:
    with_sidecars(log, 4)
    sizes = [place.stat().st_size for place in (log.log / "_sidecars").iterdir()]
    found = look.log_health(table(log))
    assert found.cost is not None
    assert (found.cost["sidecars"], found.cost["sidecar_bytes"]) == (2, sum(sizes))
    assert "the checkpoint of version 4, its 2 sidecars and 2 commits (" in found.sentence


def test_compactions_are_read_in_the_place_of_their_commits(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [*START, *files(0)])
    for version in range(1, 300):
        log.commit(version, files(version))
    for first, last in ((0, 149), (150, 294)):
        actions = [*(START if first == 0 else []), *files(*range(first, last + 1))]
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        log.write(f"{first:020}.{last:020}.compacted.json", lines)
    found = look.log_health(table(log))
    assert found.cost is not None
    assert (found.cost["commits"], found.cost["compactions"]) == (5, 2)
    assert "Version 299 opens from 2 log compactions and 5 commits (" in found.sentence
    assert "late checkpoint" not in findings(log)
    document = look.describe(table(log))
    assert (document["commits_read"], document["compactions_read"]) == (5, 2)
    loaded = table(log).load()
    expected = expected_cost(loaded.store, loaded.listing, loaded.segment)
    assert opening_cost(loaded.store, loaded) == expected
    # one that cannot be used is not named
    (log.log / f"{150:020}.{294:020}.compacted.json").write_text("{")
    found = look.log_health(table(log))
    assert found.cost is not None
    assert (found.cost["commits"], found.cost["compactions"]) == (150, 1)


def test_empty_checkpoint_whose_commits_are_there_loses_nothing(log: LogFolder) -> None:
    log.write(f"{5:020}.checkpoint.parquet", b"")
    snapshot = table(log).snapshot()
    assert (snapshot.version, snapshot.num_files) == (6, 7)
    (problem,) = snapshot.problems
    assert problem.remedy == (
        "Nothing is lost: the version was read from 7 commits. Write a new checkpoint."
    )


def broken_newest(log: LogFolder) -> None:
    """A checkpoint of 0 bytes, whose commits are gone."""
    log.checkpoint(2, [*START, *files(0, 1, 2)])
    log.write(f"{6:020}.checkpoint.parquet", b"")
    drop_commits(log, 5, 6)


def lost_sidecar(log: LogFolder) -> None:
    """A checkpoint that opens and whose files are gone, as are its commits."""
    with_sidecars(log, 6).unlink()
    drop_commits(log, 5, 6)


def lost_part(log: LogFolder) -> None:
    """A multi-part checkpoint that lacks a part, and the commits up to it."""
    first, _ = log.checkpoint(6, [*START, *files(*range(7))], form="multi-part")
    first.unlink()
    drop_commits(log, 5, 6)


def malformed_newest(log: LogFolder) -> None:
    """Commits that are no JSON."""
    for version in (5, 6):
        log.write(commit_name(version), '{"add": {"path":')


UNREADABLE = [broken_newest, lost_sidecar, lost_part, malformed_newest]
"""Ways to lose the two newest versions of the `log`."""


@pytest.mark.parametrize("spoil", UNREADABLE)
def test_older_version_is_shown_below_the_error_and_never_given_unasked(
    log: LogFolder, spoil: Callable[[LogFolder], None], capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(log)
    with pytest.raises(DeltaError) as caught:
        _ = table(log).snapshot().num_files
    if spoil is not malformed_newest:
        assert "Version 6" in caught.value.problem
        assert "missing" in caught.value.reason
    for plan in (plan_vacuum, plan_checkpoint):
        with pytest.raises(CorruptLogError):
            plan(table(log))
    newest = newest_readable(table(log))
    assert newest is not None
    assert (newest.version, newest.num_files) == (4, 5)
    document = look.describe(table(log))
    assert (document["version"], document["unreadable_version"]) == (4, 6)
    assert document["problems"][0]["problem"] == caught.value.problem
    assert run(["inspect", str(log.root)]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"error: {caught.value.problem[:40]}")
    assert "4, the newest that can be read; the log names version 6" in out
    assert caught.value.problem not in out  # once is enough
    assert run(["inspect", str(log.root), "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["unreadable_version"] == 6
    assert json.loads(err)["error"]["problem"] == caught.value.problem
    with pytest.raises(DeltaError):
        look.describe(table(log), version=6)
    found = look.log_health(table(log))
    assert (found.opens, found.readable_version, found.cost) == (False, 4, None)
    assert found.sentence.endswith("Version 4 is the newest that can be read.")
    assert "opens from" not in found.sentence


def test_reach_does_not_call_a_version_readable_that_was_tried_in_vain(log: LogFolder) -> None:
    broken_newest(log)
    assert "Versions 0–4 can be read" in look.reach_by_log(table(log)).sentence


def test_only_checkpoint_that_cannot_be_read_is_no_empty_log(log: LogFolder) -> None:
    place = log.checkpoint(6, [*START, *files(*range(7))])[0]
    drop_commits(log, *range(7))
    assert table(log).snapshot().num_files == 7
    place.write_bytes(b"PAR1")
    with pytest.raises(UnusableCheckpointError) as caught:
        table(log).snapshot()
    error = caught.value
    assert error.problem.startswith("Version 6 cannot be reconstructed")
    assert "commits that would replace it are missing (0 to 6)" in error.reason
    assert "othing is lost" not in str(error)
    row = findings(log)["table that cannot be opened"]
    assert row["severity"] == "error"
    assert "empty" not in row["problem"]
    assert newest_readable(table(log)) is None
    with pytest.raises(UnusableCheckpointError):
        look.describe(table(log))


def test_broken_checkpoint_does_not_lead_to_the_version_before_it(log: LogFolder) -> None:
    """Without it the names in the log end earlier."""
    log.write(f"{6:020}.checkpoint.parquet", b"")
    drop_commits(log, 6)
    with pytest.raises(UnusableCheckpointError, match="Version 6 cannot be reconstructed"):
        table(log).snapshot()
    with pytest.raises(UnusableCheckpointError):
        table(log).protocol()
    assert table(log).snapshot(version=5).num_files == 6


def test_hint_beyond_the_newest_version_is_no_harmless_one(log: LogFolder) -> None:
    log.hint(9)
    row = findings(log)["wrong hint"]
    assert "names version 9, but the newest version in the log is 6" in row["problem"]
    assert "othing is lost" not in row["remedy"]


@pytest.mark.parametrize("name", [f"{8:020}.crc", f"{5:020}.{8:020}.compacted.json"])
def test_what_is_newer_than_every_commit_tells_that_commits_are_gone(
    log: LogFolder, name: str
) -> None:
    log.write(name, "{}")
    row = findings(log)["newer versions are gone"]
    assert row["severity"] == "warning"
    assert row["problem"] == f"{name} is of version 8, but the newest version is 6."
    assert "checksum without a version" not in findings(log)


def test_checksum_of_a_version_that_a_cleanup_took_is_a_note(log: LogFolder) -> None:
    log.checkpoint(4, [*START, *files(*range(5))])
    log.hint(4)
    drop_commits(log, 0, 1, 2, 3)
    checksum(log, 2)
    row = findings(log)["checksum without a version"]
    assert (row["severity"], row["evidence"]) == ("note", f"{2:020}.crc")
    assert "newer versions are gone" not in findings(log)


def test_incomplete_checkpoint_says_what_was_read_instead(log: LogFolder) -> None:
    first, _ = log.checkpoint(4, [*START, *files(*range(5))], form="multi-part")
    first.unlink()
    row = findings(log)["incomplete checkpoint"]
    assert row["problem"] == "The checkpoint of version 4 is incomplete: only 1 part is present."
    assert "the newest version was read from 7 commits" in row["remedy"]
    drop_commits(log, 0)
    assert "othing is lost" not in findings(log)["incomplete checkpoint"]["remedy"]


def checksum(log: LogFolder, version: int, **claims: Any) -> None:
    body = {"tableSizeBytes": 100 * (version + 1), "numFiles": version + 1} | claims
    log.write(f"{version:020}.crc", json.dumps(body))


def disagreeing(log: LogFolder) -> list[dict[str, Any]]:
    rows = look.files_health(table(log)).findings.to_pylist()
    return [row for row in rows if row["finding"] == "checksum that disagrees"]


def info(**fields: Any) -> Action:
    return {"commitInfo": {"operation": "WRITE", **fields}}


def test_every_checksum_is_held_against_its_commit_by_transaction_id_first(log: LogFolder) -> None:
    for version in (3, 4):
        log.commit(version, [info(txnId=f"t{version}"), *files(version)])
        checksum(log, version, txnId=f"t{version}")
    assert disagreeing(log) == []
    # another writer's commit in the place of the one that the checksum was made for
    log.commit(3, [info(txnId="theirs"), *files(3)])
    (row,) = disagreeing(log)
    assert (row["severity"], row["evidence"]) == ("error", f"{3:020}.crc")
    assert row["problem"] == "The checksum of version 3 does not belong to its commit."
    assert row["reason"] == 'It was made for transaction "t3", not "theirs".'
    # also where that one writes no transaction ids
    log.commit(3, [info(), *files(3)])
    assert disagreeing(log)[0]["reason"].endswith("its commit names none.")
    # nothing is said of a commit without provenance
    log.commit(3, files(3))
    assert disagreeing(log) == []


def test_checksum_without_a_transaction_id_is_held_against_what_the_commit_does(
    log: LogFolder,
) -> None:
    for version in (3, 4):
        checksum(log, version)
    assert disagreeing(log) == []
    checksum(log, 4, numFiles=7)
    (row,) = disagreeing(log)
    assert row["reason"] == (
        "It claims 7 files, that of the version before 4; the commit adds 1 and removes 0."
    )


def test_checksums_that_disagree_are_counted_and_not_all_listed(log: LogFolder) -> None:
    for version in range(7, 40):
        log.commit(version, [info(txnId="theirs"), *files(version)])
        checksum(log, version, txnId="ours")
    rows = disagreeing(log)
    assert len(rows) == 22  # of the newest version it is told with the log
    assert any("others have the same problem." in row["problem"] for row in rows)
