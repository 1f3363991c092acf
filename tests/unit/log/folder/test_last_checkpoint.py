"""`_last_checkpoint` held against the listing."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from explorer.log.folder.last_checkpoint import validate_hint
from tests.demo_story import AUTUMN, copy_demo
from tests.tables import LogFolder, add, metadata

_PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}


def _table(place: Path) -> LogFolder:
    log = LogFolder(place)
    log.commit(0, [_PROTOCOL, metadata(), add("a")])
    log.commit(1, [add("b")])
    return log


@pytest.mark.rule("pointer-checksum-validate", "pointer-may-be-stale")
@pytest.mark.parametrize(
    ("hint", "wants"),
    [
        (b"", "cannot be read"),
        (b"{", "cannot be read"),
        (b'{"version": "1", "size": 3}', "cannot be read"),
        (b'{"version":1,"size":3,"checksum":"00000000000000000000000000000000"}', "cannot be read"),
        (b'{"version":0,"size":3}', "version 0, which has no complete checkpoint"),
        (b'{"version":7,"size":3}', "version 7, but the newest version in the log is 1"),
    ],
)
def test_wrong_hint_is_a_problem_and_the_version_is_right(
    hint: bytes, wants: str, tmp_path: Path
) -> None:
    log = _table(tmp_path / "t")
    (log.root / "_delta_log" / "_last_checkpoint").write_bytes(hint)
    table = explorer.open_table(log.root)
    found = look.describe(table)
    assert (found["version"], found["num_files"]) == (1, 2)
    (problem,) = found["problems"]
    assert problem["kind"] == "checkpoint_unusable"
    assert problem["place"] == "_last_checkpoint"
    assert wants in problem["problem"]


@pytest.mark.rule("checkpoint-prefer-newest-complete", "pointer-lexicographic-listing")
@pytest.mark.rule("pointer-may-be-stale")
def test_right_or_older_or_missing_hint_is_no_problem(tmp_path: Path) -> None:
    copy_demo(tmp_path / "shop", AUTUMN)
    table = explorer.open_table(tmp_path / "shop")
    hint = tmp_path / "shop" / "_delta_log" / "_last_checkpoint"
    assert validate_hint(table.store, table.listing()) == []
    hint.write_bytes(b'{"version":10,"size":1}')
    assert validate_hint(table.store, table.listing()) == []
    newest = max(found.version for found in table.listing().checkpoints)
    used = explorer.open_table(table.uri).snapshot().segment.checkpoint
    assert newest > 10
    assert used is not None
    assert used.version == newest
    hint.unlink()
    assert validate_hint(table.store, table.listing()) == []
