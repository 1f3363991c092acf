"""A cleanup of the log in a store that answers many requests at once, and that is lost in the
middle: what is left can be read, has no gap, and may be cleaned further."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from explorer.maintenance import Plan, plan_log_cleanup
from explorer.protocol.filenames import LogFileKind, parse_log_file_name
from explorer.storage.local import LocalStore
from explorer.storage.ports import ByteRange, ObjectInfo, RangeStore
from explorer.table.table import Table
from tests.faults.faulty_store import InjectedError
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake, ms_ago, outcome, planned

_COMMITS = 11
_CUT = 7
_OTHERS_SECONDS = 0.05
"""How long a request that will be lost waits, so that others may be answered before it."""


class ManyAtOnce(LocalStore):
    """A local folder whose requests go out many at a time, as those to an object store do. The
    deletion of `fatal` is lost, after others had time to be done, and so is every later one."""

    def __init__(self, root: Path, fatal: str | None = None) -> None:
        super().__init__(str(root))
        self.fatal = fatal
        self._lost = threading.Event()

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        data = self.read(path)
        return [data[start:end] for start, end in ranges]

    def list_prefix(self, folder: str, prefix: str) -> list[ObjectInfo] | None:
        return [info for info in self.list_folder(folder) if info.name.startswith(prefix)]

    def delete(self, path: str) -> None:
        if path == self.fatal:
            self._lost.wait(_OTHERS_SECONDS)
            self._lost.set()
        if self._lost.is_set():
            raise InjectedError("The store failed.", reason="A test made it.", remedy="None.")
        super().delete(path)


def build(scratch: Path) -> Lake:
    """Versions with an older checkpoint that the hint names, checksums, log compactions that
    end before, at and behind the cut, and staged commits."""
    lake = Lake(scratch)
    added: list[Any] = []
    for version in range(_COMMITS):
        age = 60 - version if version <= _CUT + 1 else 3
        added.append(lake.add(f"{version}.parquet", age_days=age))
        first = [FEATURE_PROTOCOL, metadata()] if version == 0 else []
        lake.commit(version, [*first, added[-1]], age_days=age)
        lake.log.write(f"{version:020}.crc", b"{}")
        if version in {2, _CUT}:
            lake.log.checkpoint(version, [FEATURE_PROTOCOL, metadata(), *added])
    for start, end in ((0, 3), (3, 5), (5, 8), (8, 10)):
        first = [FEATURE_PROTOCOL, metadata()] if start == 0 else []
        lines = [json.dumps(action) for action in (*first, *added[start : end + 1])]
        lake.log.write(f"{start:020}.{end:020}.compacted.json", "\n".join(lines) + "\n")
    unique = "d2c639aa-8816-431a-aaf6-d3fe2512ff61"
    for version in (1, _CUT, _CUT + 2):
        lake.log.write(f"_staged_commits/{version:020}.{unique}.json", b"{}")
    lake.log.hint(2)
    return lake


def commits_of(lake: Lake) -> list[int]:
    names = (parse_log_file_name(place.name) for place in lake.log.log.iterdir())
    found = [name for name in names if name is not None and name.kind is LogFileKind.COMMIT]
    return sorted(name.version for name in found if name.version is not None)


def check_left(lake: Lake, plan: Plan) -> None:
    """What is left has no gap, and every promised version is what it was."""
    commits = commits_of(lake)
    assert commits == list(range(commits[0], _COMMITS)), "a gap"
    assert commits[0] <= _CUT
    table = lake.table
    for version in range(_CUT, _COMMITS):
        assert table.snapshot(version=version).num_files == version + 1
    again = plan_log_cleanup(table, clock=lake.clock)
    assert again.refusals == ()
    assert set(planned(again)) <= set(planned(plan))


@pytest.mark.rule("checkpoint-cleanup-must-cover-oldest", "cleanup-keep-after-checkpoint")
def test_cleanup_that_is_lost_at_any_deletion_leaves_no_gap_and_can_be_ended(
    tmp_path: Path,
) -> None:
    """By the same plan, and by a new one."""
    whole = build(tmp_path / "whole")
    fatal_paths = list(planned(plan_log_cleanup(whole.table, clock=whole.clock)))
    assert len(fatal_paths) > 2 * _CUT
    for number, fatal in enumerate(fatal_paths):
        lake = Lake(tmp_path / f"{number}")
        shutil.rmtree(lake.root)
        shutil.copytree(whole.root, lake.root)
        plan = plan_log_cleanup(lake.table, clock=lake.clock)
        assert outcome(plan, "log") == "allow"
        store = ManyAtOnce(lake.root, fatal)
        assert isinstance(store, RangeStore)
        receipt = lake.execute(plan, table=Table(store))
        assert receipt.status == "partly", (fatal, receipt.problem)
        check_left(lake, plan)
        if number % 2:
            plan = plan_log_cleanup(lake.table, clock=lake.clock)
        receipt = lake.execute(plan, table=Table(ManyAtOnce(lake.root)))
        assert receipt.status == "completed", (fatal, receipt.problem)
        check_left(lake, plan)
        assert commits_of(lake)[0] == _CUT
        assert plan_log_cleanup(lake.table, clock=lake.clock).files.num_rows == 0


def test_no_commit_goes_behind_one_that_changed_since_the_plan(tmp_path: Path) -> None:
    lake = build(tmp_path)
    plan = plan_log_cleanup(lake.table, clock=lake.clock)
    changed = lake.log.log / f"{5:020}.json"
    changed.write_bytes(changed.read_bytes() + b"\n")
    lake.log.time(5, ms_ago(55))
    receipt = lake.execute(plan)
    assert receipt.status == "partly"
    assert receipt.problem is not None
    assert changed.name in receipt.problem.reason
    deletion = receipt.steps[-1]
    assert deletion.refused == 1
    assert [found.path for found in deletion.exceptions] == [f"_delta_log/{changed.name}"]
    assert commits_of(lake)[0] == 5
    check_left(lake, plan)
