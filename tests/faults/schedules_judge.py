"""What must hold after every schedule, told by the commits that were ever created and by
nothing of the engine's state."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from explorer.errors import DeltaError
from explorer.protocol.vectors.z85 import parse_z85
from explorer.table.table import Table
from tests.faults.schedules_turns import Disk, Store
from tests.faults.schedules_world import PART, SHORTEST_LOG_MS, World

_LOG = "_delta_log/"
Action = Mapping[str, Any]
LogicalFile = tuple[str, str]
"""A path, and the place of its deletion vector or nothing."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit that was created, whatever became of it: when, and what it says."""

    version: int
    time_ms: int
    actions: Sequence[Action]

    @property
    def transaction_id(self) -> str:
        """Whose it is."""
        return str(self.actions[0]["commitInfo"]["txnId"])


def commits_of(disk: Disk) -> list[Commit]:
    """All that were ever created, in the order in which they were."""
    return [
        Commit(
            version=int(path[len(_LOG) :][:20]),
            time_ms=time,
            actions=_actions_of(data),
        )
        for path, data, time in disk.created
        if path.startswith(_LOG) and path.endswith(".json") and path[len(_LOG) :][20:] == ".json"
    ]


@lru_cache(maxsize=1000)
def _actions_of(data: bytes) -> Sequence[Action]:
    return [json.loads(line) for line in data.splitlines()]


def judge(world: World) -> list[str]:
    """What is wrong, in words; nothing where all is well."""
    commits = commits_of(world.disk)
    wrong = [*_judge_commits(world, commits), *_judge_receipts(world)]
    if not wrong:
        wrong += _judge_versions(world, commits)
    return wrong


def _judge_commits(world: World, commits: Sequence[Commit]) -> list[str]:
    versions = [commit.version for commit in commits]
    wrong: list[str] = []
    if versions != list(range(len(versions))):
        wrong.append(f"versions were created in the order {versions}")
    made = Counter(commit.transaction_id for commit in commits)
    twice = (name for name, count in made.items() if count > 1)
    wrong += [f"the commit {name} is there more than once" for name in twice]
    loads = Counter(
        (action["txn"]["appId"], action["txn"]["version"])
        for commit in commits
        for action in commit.actions
        if "txn" in action
    )
    wrong += [
        f"the transaction {load} is there {count} times"
        for load, count in loads.items()
        if count > 1
    ]
    by_id = {commit.transaction_id: commit.version for commit in commits}
    for transaction_id, told in world.tries.items():
        found = by_id.get(transaction_id)
        if isinstance(told, int) and found != told:
            wrong.append(f"{transaction_id} was told version {told}, and is {found}")
        if told == "refused" and found is not None:
            wrong.append(f"{transaction_id} was told a conflict, and is version {found}")
    return wrong


def _judge_receipts(world: World) -> list[str]:
    """Whoever says that it is done has found all that it promised, and left nothing."""
    completed = [receipt for receipt in world.receipts if receipt.status == "completed"]
    left = [
        f"{receipt.operation} is completed, and {step.refused} files stayed"
        for receipt in completed
        for step in receipt.steps
        if step.kind == "delete_files" and step.refused
    ]
    return left + [
        f"{receipt.operation} is {receipt.status}, and {check.what} does not hold: {check.detail}"
        for receipt in completed
        for check in receipt.checks
        if not check.holds
    ]


def _judge_versions(world: World, commits: Sequence[Commit]) -> list[str]:
    now, disk = world.disk.clock_ms, world.disk
    table = Table(Store(disk))
    wrong: list[str] = []
    live: set[LogicalFile] = set()
    parts: dict[str, str] = {}
    opened = {len(commits) - 1, *world.chance.sample(range(len(commits)), k=min(1, len(commits)))}
    for at, commit in enumerate(commits):
        before = set(live)
        wrong += _apply(live, commit)
        wrong += _judge_overwrite(before, live, parts, commit)
        is_latest = at + 1 == len(commits)
        until = now if is_latest else commits[at + 1].time_ms
        if is_latest or until > now - world.shortest_ms:
            lost = sorted(path for path in _files(live) if path not in disk.files)
            told = [entry for entry in disk.deleted if entry[0] in lost]
            if lost:
                wrong.append(f"version {commit.version} of {len(commits)} lacks {lost[:3]}: {told}")
        if at in opened:
            is_kept = until > now - SHORTEST_LOG_MS
            wrong += _judge_opening(table, commit.version, live, is_kept=is_kept)
    return wrong


def _judge_opening(
    table: Table, version: int, live: set[LogicalFile], *, is_kept: bool
) -> list[str]:
    try:
        snapshot = table.snapshot(version=version)
        rows = snapshot.files(["path", "deletion_vector"]).to_pylist()
    except DeltaError as error:
        # gone, or between commits that a cleanup has taken before it was killed
        return [f"version {version} is gone too early: {error}"] if is_kept else []
    found = {
        (row["path"], (row["deletion_vector"] or {}).get("path_or_inline_dv", "")) for row in rows
    }
    if found != live or len(rows) != len(live):
        return [f"version {version} has {sorted(found ^ live)[:4]} wrong, {len(rows)} files"]
    return []


def _apply(live: set[LogicalFile], commit: Commit) -> list[str]:
    """Change `live`; a commit that removes what is not there, or adds what is, has overlooked
    another."""
    removed = {_logical(action["remove"]) for action in commit.actions if "remove" in action}
    added = {_logical(action["add"]) for action in commit.actions if "add" in action}
    wrong = [f"version {commit.version} removes {path}, not there" for path, _ in removed - live]
    live -= removed
    there = {path for path, _ in live}
    wrong += [f"version {commit.version} adds {path} again" for path, _ in added if path in there]
    live |= added
    return wrong


def _judge_overwrite(
    before: set[LogicalFile], live: set[LogicalFile], parts: dict[str, str], commit: Commit
) -> list[str]:
    """An overwrite leaves nothing of what it replaces, whoever added it meanwhile; nor does it take
    anything else. `parts` are the partitions of all files that were ever added."""
    added = {action["add"]["path"] for action in commit.actions if "add" in action}
    parts |= {
        action["add"]["path"]: action["add"]["partitionValues"]["part"]
        for action in commit.actions
        if "add" in action
    }
    info = commit.actions[0]["commitInfo"]
    asked = info.get("operationParameters", {})
    if info["operation"] != "WRITE" or asked.get("mode") != "Overwrite":
        return []
    is_part = "predicate" in asked
    replaced = {file for file in before if not is_part or parts[file[0]] == PART}
    expected = (before - replaced) | {file for file in live if file[0] in added}
    if live != expected:
        return [f"version {commit.version} overwrites, and {sorted(live ^ expected)[:3]} is wrong"]
    return []


def _logical(body: Action) -> LogicalFile:
    return body["path"], (body.get("deletionVector") or {}).get("pathOrInlineDv", "")


def _files(live: set[LogicalFile]) -> set[str]:
    found = {path for path, _ in live}
    for _, place in live:
        if place:
            name = f"deletion_vector_{uuid.UUID(bytes=parse_z85(place[-20:]))}.bin"
            found.add(f"{place[:-20]}/{name}" if place[:-20] else name)
    return found
