"""What a writer leaves in the log that nobody here understands, and what one leaves that was
killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer import maintenance
from explorer.maintenance import plan_checkpoint, plan_log_cleanup, plan_log_compaction
from tests.tables import FEATURE_PROTOCOL, commit_name, metadata
from tests.unit.maintenance.lake import NOW_MS, Lake, ms_ago, planned


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def names(lake: Lake) -> set[str]:
    return set(os.listdir(lake.log.log))


@pytest.mark.rule("action-domain-writer-preserve")
def test_domains_that_nobody_here_understands_outlive_the_commits_that_named_them(
    lake: Lake,
) -> None:
    features = ["domainMetadata", "v2Checkpoint"]
    body = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"]}
    domains = {"delta.fromTheFuture": '{"a":1}', "somebody.else": "of no form"}
    actions = [
        {"domainMetadata": {"domain": name, "configuration": text, "removed": False}}
        for name, text in domains.items()
    ]
    lake.commit(
        0, [{"protocol": {**body, "writerFeatures": features}}, metadata(), *actions], age_days=60
    )
    for version in (1, 2, 3):
        lake.commit(version, [lake.add(f"{version}.parquet")], age_days=50)
    plans = (
        lambda: plan_log_compaction(lake.table, 0, 3, clock=lake.clock),
        lambda: plan_checkpoint(lake.table, clock=lake.clock),
        lambda: maintenance.plan_restore(lake.table, 1, clock=lake.clock),
    )
    for plan in plans:
        assert lake.execute(plan()).status == "completed"
    lake.log.time(4, NOW_MS)  # files have the time of the system
    assert lake.execute(plan_log_cleanup(lake.table, clock=lake.clock)).status == "completed"
    assert not lake.there("_delta_log/00000000000000000000.json")
    found = lake.table.snapshot().domains
    assert {name: found[name].configuration for name in found} == domains


_KILLED = """
import os, sys
from explorer.storage.local import LocalStore

def content():
    yield b"half of it"
    os._exit(9)

LocalStore(sys.argv[1]).put_if_absent(sys.argv[2], content())
"""


def test_files_that_no_writer_finished_go_once_they_are_a_day_old(lake: Lake) -> None:
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), lake.add("0.parquet")], age_days=9)
    lake.commit(1, [lake.add("1.parquet")], age_days=5)
    arguments = [str(lake.root), f"_delta_log/{commit_name(2)}"]
    killed = subprocess.run([sys.executable, "-c", _KILLED, *arguments], check=False, timeout=60)
    assert killed.returncode == 9
    (left,) = (name for name in names(lake) if name.startswith(".tmp-"))
    young = f".tmp-{'a' * 32}"
    others = [".tmp-mine", f".tmp-{'c' * 32}.json", f"x.tmp-{'d' * 32}"]
    staged = f"_staged_commits/.tmp-{'e' * 32}"
    for name in (left, young, staged, f".tmp-trial-{'f' * 32}", *others):
        place = lake.log.write(name, b"half")
        days = 0.9 if name == young else 1.1
        os.utime(place, (ms_ago(days) / 1000, ms_ago(days) / 1000))
    plan = plan_log_cleanup(lake.table, clock=lake.clock)
    gone = (left, staged, f".tmp-trial-{'f' * 32}")
    assert set(planned(plan)) == {f"_delta_log/{name}" for name in gone}
    assert "nothing is lost" in plan.summary
    assert lake.execute(plan).status == "completed"
    assert {young, *others} <= names(lake)
    assert left not in names(lake)
    assert lake.table.latest_version() == 1
