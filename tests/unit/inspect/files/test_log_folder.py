"""The files of the log folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from tests.tables import PROTOCOL, LogFolder, add, metadata


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a")])
    return folder


def kinds_of(folder: LogFolder) -> dict[str, tuple[str, int | None, str | None]]:
    frame = look.log_files(explorer.open_table(folder.root))
    return {row["name"]: (row["kind"], row["version"], row["note"]) for row in frame.to_pylist()}


@pytest.mark.rule("checkpoint-directory", "log-directory", "log-file-types-one-directory")
@pytest.mark.rule("newer-catalog-staged")
def test_every_kind_of_file_is_named(folder: LogFolder) -> None:
    folder.checkpoint(0, [PROTOCOL, metadata(), add("a")], form="v2-json", sidecars=1)
    folder.hint(0)
    for name in (
        "00000000000000000000.crc",
        "00000000000000000000.checkpoint.parquet",
        "00000000000000000003.00000000000000000005.compacted.json",
        "_staged_commits/00000000000000000007.11111111-1111-4111-8111-111111111111.json",
        "notes.txt",
        "12.json",
    ):
        folder.write(name, "x")
    kinds = kinds_of(folder)
    assert kinds["00000000000000000000.json"] == ("commit", 0, None)
    assert kinds["00000000000000000000.crc"] == ("checksum", 0, None)
    assert kinds["00000000000000000000.checkpoint.parquet"] == ("checkpoint", 0, None)
    compaction = kinds["00000000000000000003.00000000000000000005.compacted.json"]
    assert compaction == ("compaction", 3, "versions 3 to 5")
    assert kinds["_last_checkpoint"] == ("last_checkpoint", None, "points to version 0")
    assert kinds["notes.txt"] == ("foreign", None, "not part of the log")
    note = "not part of the log without twenty digits; to delta-spark a commit of version 12"
    assert kinds["12.json"] == ("foreign", None, note)
    found = sorted(kind for kind, _, _ in kinds.values())
    assert found.count("v2 checkpoint") == 1
    assert found.count("sidecar") == 1
    staged = next(name for name in kinds if name.startswith("_staged_commits/"))
    assert kinds[staged][:2] == ("staged commit", 7)


@pytest.mark.rule("checkpoint-multipart-missing-parts")
def test_a_checkpoint_with_a_part_missing_says_so(folder: LogFolder) -> None:
    actions = [PROTOCOL, metadata(), add("a")]
    first, second = folder.checkpoint(0, actions, form="multi-part")
    assert kinds_of(folder)[first.name] == ("checkpoint part", 0, "part 1 of 2")
    second.unlink()
    assert kinds_of(folder)[first.name][2] == "part 1 of 2; other parts are missing"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version":"7"}', '{"version":true}'])
def test_a_hint_that_cannot_be_read_says_so(folder: LogFolder, content: str) -> None:
    folder.write("_last_checkpoint", content)
    assert kinds_of(folder)["_last_checkpoint"][2] == "not readable, and ignored"


def test_a_name_that_is_no_utf8_is_shown_as_well_as_it_can_be(folder: LogFolder) -> None:
    (Path(os.fsdecode(os.fsencode(folder.log) + b"/odd\xff"))).write_bytes(b"")
    odd = [name for name in kinds_of(folder) if name.startswith("odd")]
    assert len(odd) == 1
    assert odd[0].encode().decode() == odd[0] != "odd"


def test_sizes_and_times_are_those_of_the_store(folder: LogFolder) -> None:
    folder.time(0, 1_700_000_000_123)
    row = look.log_files(explorer.open_table(folder.root)).to_pylist()[0]
    assert row["size"] == (folder.log / "00000000000000000000.json").stat().st_size
    assert row["modified"].timestamp() == pytest.approx(1_700_000_000.123)
