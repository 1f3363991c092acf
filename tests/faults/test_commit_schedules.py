"""Thousands of orders in which writers meet: the log is always one that each could have made.

`DELTA_EXPLORER_SCHEDULES` says how many; the count is printed.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

import orjson
import pytest

from explorer.protocol.actions import Metadata, Transaction
from explorer.protocol.commit_json import Action
from explorer.transaction.attempt import build_attempt
from explorer.transaction.commit import Committed, Retries, commit
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE, ReadSet, read_set_of
from explorer.transaction.read_version import NO_TABLE, ReadVersion
from explorer.transaction.staged import StagedCommit
from tests.faults.commit_schedules import ScheduledStore, Turns, run_side_by_side
from tests.sampling import unless_asked
from tests.unit.transaction.stages import add, features, metadata, remove, stage

SCHEDULES = int(os.environ.get("DELTA_EXPLORER_SCHEDULES", "1000"))
AT_ONCE_RUN = 250
"""Schedules in one go: less than what counts as a hang."""
PROTOCOL = features("rowTracking", "domainMetadata", "inCommitTimestamp")
PROPERTIES = {"delta.enableInCommitTimestamps": "true"}
WRITERS, COMMITS = 3, 3
AT_ONCE = Retries(limit=50, pause=lambda _: None)


@dataclass
class Replayed:
    """The table as its log says, held against every rule of the log on the way."""

    version: int = -1
    live: dict[str, int] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    mark: int = -1
    timestamp: int = 0
    table: Metadata = field(default_factory=lambda: metadata(PROPERTIES))
    progress: int = 0

    @property
    def base(self) -> ReadVersion:
        return ReadVersion(
            version=self.version,
            protocol=PROTOCOL,
            metadata=self.table,
            timestamp=self.timestamp,
            row_id_high_water_mark=None if self.mark < 0 else self.mark,
        )

    def follow(self, data: bytes) -> None:
        self.version += 1
        lines = [orjson.loads(line) for line in data.splitlines()]
        info = lines[0]["commitInfo"]
        assert info["inCommitTimestamp"] > self.timestamp
        assert info["txnId"] not in self.made
        self.timestamp = info["inCommitTimestamp"]
        self.made.append(info["txnId"])
        before = self.mark
        for line in lines:
            if "domainMetadata" in line:
                self.mark = orjson.loads(line["domainMetadata"]["configuration"])[
                    "rowIdHighWaterMark"
                ]
                assert self.mark > before
            if "metaData" in line:
                assert info["readVersion" if self.version else "txnId"] != self.version
                self.table = metadata(line["metaData"]["configuration"])
            if "txn" in line:  # nobody overtook the one who counted
                assert line["txn"]["version"] == self.progress + 1
                self.progress += 1
        for line in lines:
            if "remove" in line:
                del self.live[line["remove"]["path"]]  # it was there
        for line in lines:
            if "add" in line:
                self._add(line["add"], before)

    def _add(self, body: dict, before: int) -> None:
        assert body["path"] not in self.live
        assert before < body["baseRowId"] <= self.mark - 9
        assert body["defaultRowCommitVersion"] == self.version
        assert body["baseRowId"] not in self.live.values()
        self.live[body["path"]] = body["baseRowId"]


def replay(objects: dict[str, bytes]) -> Replayed:
    found = Replayed()
    names = sorted(objects)
    assert names == [f"_delta_log/{version:020}.json" for version in range(len(names))]
    for name in names:
        found.follow(objects[name])
    return found


def staged_by(rng: random.Random, unique: str, seen: Replayed) -> StagedCommit:
    """An append, a rewrite, a delete, progress of a stream, or a change of the table."""
    new = add(f"{unique}.parquet")
    old = rng.choice(sorted(seen.live)) if seen.live else None
    choices: list[tuple[tuple[Action, ...], ReadSet]] = [
        ((new,), NOTHING),
        ((new, Transaction(app_id="stream", version=seen.progress + 1)), NOTHING),
        ((metadata({**PROPERTIES, "by": unique}),), NOTHING),
        ((new,), WHOLE_TABLE),
    ]
    if old is not None:
        choices.append(((remove(old),), read_set_of([old])))
        choices.append(((remove(old), new), read_set_of([old])))
        choices.append(((remove(old), new), WHOLE_TABLE))
    actions, reads = rng.choice(choices)
    return stage(*actions, upon=seen.base, reads=reads, transaction_id=unique)


def run_schedule(seed: int) -> tuple[int, int]:
    """The commits and the conflicts of one schedule."""
    creation = stage(PROTOCOL, metadata(PROPERTIES), upon=NO_TABLE, transaction_id="creation")
    objects = {f"_delta_log/{0:020}.json": build_attempt(creation, 1).head}
    told: list[str] = ["creation"]
    lost: list[Conflict] = []

    def write(turns: Turns, who: int) -> None:
        rng = random.Random(seed * WRITERS + who)
        store = ScheduledStore(objects, turns, who)
        for number in range(COMMITS):
            turns.take(who)
            unique = f"{who}-{number}"
            staged = staged_by(rng, unique, replay(dict(objects)))
            done = commit(store, staged, clock=lambda: 1, retries=AT_ONCE)  # type: ignore[arg-type]
            if isinstance(done, Committed):
                told.append(unique)
                line = objects[f"_delta_log/{done.version:020}.json"].splitlines()[0]
                assert orjson.loads(line)["commitInfo"]["txnId"] == unique
            else:
                lost.append(done)

    run_side_by_side(seed, [write] * WRITERS)
    assert sorted(replay(objects).made) == sorted(told)
    return len(told), len(lost)


@pytest.mark.sampled(one_in=unless_asked("DELTA_EXPLORER_SCHEDULES", 8))
@pytest.mark.rule("log-versions-contiguous", "log-never-overwrite", "row-write-no-duplicates")
@pytest.mark.rule("row-write-unique-fresh", "newer-commit-timestamp-monotonic")
@pytest.mark.rule("action-txn-atomic-with-actions", "row-write-default-commit-version")
@pytest.mark.parametrize("first", range(0, SCHEDULES, AT_ONCE_RUN))
def test_in_every_order_the_log_is_one_that_each_could_have_made(first: int) -> None:
    commits = conflicts = 0
    seeds = range(first, min(first + AT_ONCE_RUN, SCHEDULES))
    for seed in seeds:
        made, lost = run_schedule(seed)
        commits, conflicts = commits + made, conflicts + lost
    print(f"{len(seeds)} schedules, {commits} commits, {conflicts} conflicts")  # noqa: T201
    assert conflicts > len(seeds)  # they met
    assert commits > 3 * len(seeds)


def test_a_schedule_depends_on_its_seed_alone() -> None:
    assert [run_schedule(seed) for seed in range(20)] == [run_schedule(seed) for seed in range(20)]
