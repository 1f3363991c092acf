"""What health says agrees with what the other questions say, and accuses nothing that is sound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import DeltaError, Problem
from explorer.inspect.health.table_health import _checksums
from tests.data_tables import field, struct
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, Action, LogFolder, add, commit_name, metadata

START: list[Action] = [PROTOCOL, metadata()]


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Versions 0 to 6, one file each."""
    log = LogFolder(tmp_path / "orders")
    for version in range(7):
        log.commit(version, [*(START if version == 0 else []), add(f"{version}.parquet")])
        (log.root / f"{version}.parquet").write_bytes(b"")
        log.time(version, 1_700_000_000_000 + version)
    return log


def table(log: LogFolder) -> explorer.Table:
    return explorer.open_table(log.root)


def rows(found: look.Health, finding: str) -> list[dict[str, Any]]:
    return [row for row in found.findings.to_pylist() if row["finding"] == finding]


def checksum(log: LogFolder, version: int, num_files: int | None = None) -> None:
    files = version + 1 if num_files is None else num_files
    body = {"tableSizeBytes": 100 * (version + 1), "numFiles": files}
    log.write(f"{version:020}.crc", json.dumps(body))


def disagreeing(log: LogFolder) -> list[dict[str, Any]]:
    return rows(look.files_health(table(log)), "checksum that disagrees")


@pytest.mark.parametrize("wrong", [0, 2, 5])
def test_wrong_checksum_does_not_accuse_the_ones_after_it(log: LogFolder, wrong: int) -> None:
    for version in range(7):
        checksum(log, version)
    assert disagreeing(log) == []
    checksum(log, wrong, 40)
    (row,) = disagreeing(log)
    assert row["evidence"] == f"{wrong:020}.crc"
    before = "the empty table before 0" if wrong == 0 else f"the version before {wrong}"
    assert row["reason"] == (
        f"It claims 40 files, that of {before}; the commit adds 1 and removes 0."
    )
    # two in a row are two, and the commits between the sound ones are added up
    if wrong == 2:
        checksum(log, 3, 50)
        first, second = disagreeing(log)
        assert first["evidence"] == f"{2:020}.crc"
        assert second["reason"] == (
            "It claims 50 files, that of version 1 2; the 2 commits since add 2 and remove 0."
        )


def test_of_two_checksums_without_one_before_them_neither_is_accused(log: LogFolder) -> None:
    for version in (3, 4, 5):
        checksum(log, version)
    assert disagreeing(log) == []
    checksum(log, 3, 40)
    (row,) = disagreeing(log)
    assert row["problem"] == (
        "The checksums of versions 3 and 4 contradict the commit of version 4."
    )


@pytest.mark.parametrize(
    ("number", "end"),
    [(20, "it."), (21, "it."), (22, "1 other has the same problem."), (23, "2 others")],
)
def test_checksums_that_are_not_listed_are_counted(number: int, end: str) -> None:
    problem = Problem(kind="log_corrupt", problem="This is it.", reason="", remedy="")
    last = list(_checksums([problem] * number))[-1]
    assert end in last.problem
    assert "0 other" not in last.problem


def test_table_that_is_refused_is_not_said_to_open(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    fancy = {"readerFeatures": ["fancy"], "writerFeatures": ["fancy"]}
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7} | fancy}
    log.commit(0, [protocol, metadata(), add("a")])
    found = look.log_health(table(log))
    assert not found.opens
    assert "opens" not in found.sentence
    assert found.sentence.endswith("unsupported reader feature fancy.")


def test_no_repair_is_offered_that_has_to_open_the_table(log: LogFolder) -> None:
    log.checkpoint(4, [*START, *(add(f"{version}.parquet") for version in range(5))])
    found = look.log_health(table(log))
    assert [row["repair"] for row in rows(found, "no hint")] == ["checkpoint"]
    (log.log / commit_name(5)).write_text("{")
    found = look.log_health(table(log))
    assert rows(found, "no hint")
    assert set(found.findings.column("repair").to_pylist()) == {None}


@pytest.mark.parametrize("columns", [None, "twice"])
def test_health_tells_what_inspect_tells_of_metadata(tmp_path: Path, columns: str | None) -> None:
    log = LogFolder(tmp_path / "orders")
    first = metadata(schemaString=json.dumps(struct(field("a", "long"), field("A", "long"))))
    if columns is None:
        del first["metaData"]["schemaString"]
    log.commit(0, [PROTOCOL, first])
    found = look.log_health(table(log))
    (row,) = rows(found, "metadata against the specification")
    problems = look.describe(table(log))["problems"]
    assert [problem["problem"] for problem in problems] == [row["problem"]]
    assert "sound" not in found.sentence
    assert ("Rename or drop" in row["remedy"]) == (columns is not None)


def test_sound_metadata_is_no_finding(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a")])
    assert look.log_health(table(log)).findings.num_rows == 0


def test_times_in_one_second_are_told_apart(log: LogFolder) -> None:
    log.time(3, 1_700_000_000_000)
    (row,) = rows(look.log_health(table(log)), "times go back")
    assert "version 3 is of 2023-11-14 22:13:20.000 UTC" in row["problem"]
    assert "version 2 of 2023-11-14 22:13:20.002 UTC" in row["problem"]


def test_one_foreign_file_has_one_name(log: LogFolder) -> None:
    log.write("notes.txt", "")
    (row,) = rows(look.log_health(table(log)), "foreign files in the log")
    assert row["reason"] == "The log has no files of this name: readers ignore it."
    log.write("more.txt", "")
    (row,) = rows(look.log_health(table(log)), "foreign files in the log")
    assert row["reason"] == "The log has no files of such names: readers ignore them."


def refused(log: LogFolder) -> DeltaError:
    with pytest.raises(DeltaError) as caught:
        table(log).snapshot().num_files  # noqa: B018
    return caught.value


def test_older_versions_are_offered_only_where_some_are_left(log: LogFolder) -> None:
    log.write(commit_name(6), "{")
    assert "versions before it" in refused(log).remedy
    log.write(commit_name(0), "{")
    log.write(commit_name(6), json.dumps(add("6.parquet")))
    assert refused(log).remedy == "Restore this log file from a backup."


def test_older_version_is_not_offered_where_the_only_checkpoint_is_broken(log: LogFolder) -> None:
    log.write(f"{5:020}.checkpoint.parquet", b"")
    (log.log / commit_name(3)).unlink()
    assert "ask for an older version" in refused(log).remedy  # versions 0 to 2
    for version in (0, 1, 2, 4):
        (log.log / commit_name(version)).unlink()
    assert refused(log).remedy.endswith("without them no version can be opened.")


def test_files_that_are_gone_count_as_their_bytes_do(log: LogFolder) -> None:
    (log.root / "3.parquet").unlink()
    sizes = look.foreign_files(table(log)).sizes.to_pylist()
    assert [(row["num_files"], row["bytes"]) for row in sizes if row["part"] == "live"] == [
        (7, 700)
    ]


def test_what_a_checksum_claims_agrees_in_number(log: LogFolder) -> None:
    checksum(log, 6, 1)
    (row,) = rows(look.log_health(table(log)), "checksum that disagrees")
    assert row["reason"] == "It claims 1 file; the log holds 7."
