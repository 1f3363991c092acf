"""Replay in columns equals the row-wise rule of the specification, for any history,
by whichever checkpoints, at every version, for a table just opened and for one that
was held open.

`tests.properties.amounts` says how to run more than the few examples of CI.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.table.snapshot import Snapshot
from tests.properties.amounts import EXAMPLES
from tests.reconciliation import Action, RowwiseState, logical_file, reconcile, unique_id
from tests.tables import (
    CHECKPOINT_FORMS,
    FEATURE_PROTOCOL,
    CheckpointForm,
    LogFolder,
    add,
    metadata,
    remove,
    vector,
)

_PATHS = (
    "a.parquet",
    "b%20c.parquet",
    "b%2520c.parquet",
    "part=x%2Fy/ü.parquet",
    "/data/a.parquet",
    "file:/data/a.parquet",
    "file:///data/a.parquet",
    "FILE:/data/a.parquet",
    "s3://bucket/a.parquet",
    "file-not-a-scheme.parquet",
)
_VECTORS: tuple[dict[str, Any] | None, ...] = (
    None,
    vector(),
    vector(offset=1),
    vector(offset=41, cardinality=7),
    vector("cd^-aqEH.-t@S}K{vb[*k^", offset=1),
    vector("wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", storageType="i"),
)


@dataclass(frozen=True)
class Checkpointing:
    """A checkpoint that some writer made."""

    version: int
    form: CheckpointForm
    parts: int
    sidecars: int
    rows_per_group: int


_keys = st.tuples(st.sampled_from(_PATHS), st.sampled_from(_VECTORS))


def _file_body(number: int, deletion_vector: dict[str, Any] | None) -> dict[str, Any]:
    """Fields that tell one add of a path from another."""
    body: dict[str, Any] = {
        "size": 1000 + number,
        "partitionValues": [{}, {"part": None}, {"part": f"é{number}"}][number % 3],
        "stats": [None, f'{{"numRecords":{number}}}', "{}"][number % 3],
        "baseRowId": number if number % 2 else None,
        "tags": {"k": str(number)} if number % 5 == 0 else None,
        "deletionVector": deletion_vector,
    }
    return {key: value for key, value in body.items() if value is not None}


@st.composite
def _actions(draw: st.DrawFn) -> Action:
    kind = draw(st.sampled_from(("add", "add", "add", "remove", "remove", "txn", "domain", "meta")))
    number = draw(st.integers(0, 999))
    if kind == "txn":
        app = draw(st.sampled_from(("s1", "s2", "ß")))
        return {"txn": {"appId": app, "version": number, "lastUpdated": number}}
    if kind == "domain":
        body = {"domain": f"d{number % 3}", "configuration": "{}", "removed": number % 4 == 0}
        return {"domainMetadata": body}
    if kind == "meta":
        return metadata(description=f"nr {number}", partitionColumns=["part"])
    path, found = draw(_keys)
    if kind == "add":
        return add(path, modificationTime=number, **_file_body(number, found))
    return remove(path, deletionTimestamp=number, **_file_body(number, found))


_commits = st.lists(st.lists(_actions(), max_size=8), max_size=9).map(
    lambda later: [[FEATURE_PROTOCOL, metadata(partitionColumns=["part"])], *later]
)
_checkpointings = st.lists(
    st.builds(
        Checkpointing,
        version=st.integers(0, 9),
        form=st.sampled_from(CHECKPOINT_FORMS),
        parts=st.integers(1, 3),
        sidecars=st.integers(0, 2),
        rows_per_group=st.sampled_from((1, 3, 100)),
    ),
    max_size=3,
)


@contextmanager
def _written(
    commits: list[list[Action]], checkpointings: list[Checkpointing], upto: int | None = None
) -> Iterator[tuple[LogFolder, list[RowwiseState]]]:
    """The log in a folder of its own, and the reference state of each version."""
    states = [reconcile(commits[: version + 1]) for version in range(len(commits))]
    with tempfile.TemporaryDirectory() as scratch:
        log = LogFolder(Path(scratch) / "t")
        _append(log, commits, states, checkpointings, range(len(commits) if upto is None else upto))
        yield log, states


def _append(
    log: LogFolder,
    commits: list[list[Action]],
    states: list[RowwiseState],
    checkpointings: list[Checkpointing],
    versions: range,
) -> None:
    for version in versions:
        log.commit(version, commits[version])
        for made in checkpointings:
            if made.version == version:
                log.checkpoint(
                    version,
                    states[version].checkpoint_actions(),
                    form=made.form,
                    parts=made.parts,
                    sidecars=made.sidecars,
                    rows_per_group=made.rows_per_group,
                )


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple(sorted((key, _frozen(item)) for key, item in value.items()))
    return value


def _expected_files(state: RowwiseState) -> Counter[tuple[Any, ...]]:
    return Counter(
        (
            body["path"],
            body["size"],
            body["modificationTime"],
            _frozen(body["partitionValues"]),
            unique_id(body.get("deletionVector")),
            (body.get("deletionVector") or {}).get("cardinality"),
            body.get("stats"),
            body.get("baseRowId"),
            _frozen(body.get("tags")),
        )
        for body in state.adds.values()
    )


def _found_files(snapshot: Snapshot) -> Counter[tuple[Any, ...]]:
    names = [
        "path",
        "size",
        "modification_time",
        "partition_values",
        "deletion_vector",
        "stats",
        "base_row_id",
        "tags",
    ]
    table = snapshot.files(names)
    table.validate(full=True)
    return Counter(
        (
            row["path"],
            row["size"],
            row["modification_time"],
            _frozen(dict(row["partition_values"])),
            _unique_id(row["deletion_vector"]),
            (row["deletion_vector"] or {}).get("cardinality"),
            row["stats"],
            row["base_row_id"],
            _frozen(dict(row["tags"])) if row["tags"] is not None else None,
        )
        for row in _with_milliseconds(table, "modification_time")
    )


def _expected_tombstones(state: RowwiseState) -> Counter[tuple[Any, ...]]:
    return Counter(
        (
            body["path"],
            body["deletionTimestamp"],
            unique_id(body.get("deletionVector")),
            body.get("size"),
        )
        for body in state.removes.values()
    )


def _found_tombstones(snapshot: Snapshot) -> Counter[tuple[Any, ...]]:
    table = snapshot.tombstones(["path", "deletion_timestamp", "deletion_vector", "size"])
    table.validate(full=True)
    return Counter(
        (
            row["path"],
            row["deletion_timestamp"],
            _unique_id(row["deletion_vector"]),
            row["size"],
        )
        for row in _with_milliseconds(table, "deletion_timestamp")
    )


def _with_milliseconds(table: pa.Table, name: str) -> list[dict[str, Any]]:
    at = table.schema.get_field_index(name)
    return table.set_column(at, name, table.column(name).cast(pa.int64())).to_pylist()


def _unique_id(found: Mapping[str, Any] | None) -> str | None:
    if found is None:
        return None
    return unique_id(
        {
            "storageType": found["storage_type"],
            "pathOrInlineDv": found["path_or_inline_dv"],
            "offset": found["offset"],
        }
    )


def _check(snapshot: Snapshot, state: RowwiseState) -> None:
    """Every answer of the snapshot against the reference."""
    assert snapshot.num_files == len(state.adds)
    assert snapshot.num_tombstones == len(state.removes)
    assert _found_files(snapshot) == _expected_files(state)
    assert _found_tombstones(snapshot) == _expected_tombstones(state)
    assert snapshot.size_in_bytes == sum(body["size"] for body in state.adds.values())
    assert {app: found.version for app, found in snapshot.transactions.items()} == {
        app: body["version"] for app, body in state.transactions.items()
    }
    assert set(snapshot.domains) == set(state.live_domains)
    assert state.metadata is not None
    assert snapshot.metadata.description == state.metadata.get("description")


@pytest.mark.rule("file-primary-key", "file-readd-replaces", "older-003-path-is-key")
@pytest.mark.rule("recon-ascending", "recon-disjoint", "recon-latest-metadata", "recon-latest-txn")
@pytest.mark.rule("recon-newest-reference", "recon-removes-for-vacuum", "recon-result")
@pytest.mark.rule("recon-unique-adds", "recon-unique-appids", "recon-unique-domains")
@pytest.mark.rule("recon-unique-removes")
@settings(max_examples=EXAMPLES)
@given(commits=_commits, checkpointings=_checkpointings)
def test_every_version_equals_the_row_wise_rule(
    commits: list[list[Action]], checkpointings: list[Checkpointing]
) -> None:
    with _written(commits, checkpointings) as (log, states):
        table = explorer.open_table(log.root)
        # newest first: the older ones are asked of a table that holds a newer one
        for version in range(len(states) - 1, -1, -1):
            snapshot = table.snapshot(version=version)
            assert snapshot.version == version
            _check(snapshot, states[version])


@pytest.mark.rule("log-one-snapshot")
@settings(max_examples=EXAMPLES)
@given(commits=_commits, checkpointings=_checkpointings, data=st.data())
def test_refreshed_table_equals_one_just_opened(
    commits: list[list[Action]], checkpointings: list[Checkpointing], data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, len(commits)), label="versions at first")
    with _written(commits, checkpointings, first) as (log, states):
        table = explorer.open_table(log.root)
        early = table.snapshot()
        _check(early, states[first - 1])
        at = first
        while at < len(commits):
            step = data.draw(st.integers(1, len(commits) - at), label="versions more")
            _append(log, commits, states, checkpointings, range(at, at + step))
            at += step
            refreshed, fresh = table.snapshot(), explorer.open_table(log.root).snapshot()
            assert refreshed.version == fresh.version == at - 1
            _check(refreshed, states[at - 1])
            _check(fresh, states[at - 1])
        # what was answered before stays as it was
        _check(early, states[first - 1])


@pytest.mark.rule("checkpoint-complete-replay", "checkpoint-no-frequency-assumption")
@pytest.mark.rule("checkpoint-shortcut")
@settings(max_examples=EXAMPLES)
@given(commits=_commits, checkpointings=_checkpointings, data=st.data())
def test_versions_behind_a_log_cleanup_equal_the_row_wise_rule(
    commits: list[list[Action]], checkpointings: list[Checkpointing], data: st.DataObject
) -> None:
    with _written(commits, checkpointings) as (log, states):
        made = sorted({item.version for item in checkpointings if item.version < len(commits)})
        if not made:
            return
        kept = data.draw(st.sampled_from(made), label="oldest checkpoint kept")
        for version in range(kept):
            (log.log / f"{version:020}.json").unlink()
        table = explorer.open_table(log.root)
        for version in range(kept, len(commits)):
            _check(table.snapshot(version=version), states[version])


@pytest.mark.rule("compaction-content", "compaction-keeps-removes", "compaction-read-instead")
@pytest.mark.rule("compaction-replaces-commits")
@settings(max_examples=EXAMPLES)
@given(
    commits=_commits,
    checkpointings=_checkpointings,
    compactions=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=4),
    dice=st.randoms(use_true_random=False),
)
def test_log_compactions_change_no_answer(
    commits: list[list[Action]],
    checkpointings: list[Checkpointing],
    compactions: list[tuple[int, int]],
    dice: random.Random,
) -> None:
    with _written(commits, checkpointings) as (log, states):
        for first, more in compactions:
            # as specified: shuffled, because no order is stated; or cut off within a line
            aggregated = reconcile(commits[first : first + more + 1]).compaction_actions()
            dice.shuffle(aggregated)
            text = "".join(json.dumps(action) + "\n" for action in aggregated)
            if dice.random() < 0.2:
                text = text[: -dice.randrange(2, 20)]
            log.write(f"{first:020}.{first + more:020}.compacted.json", text)
        table = explorer.open_table(log.root)
        for version in range(len(states)):
            _check(table.snapshot(version=version), states[version])
            _check(explorer.open_table(log.root).snapshot(version=version), states[version])


def test_many_batches_equal_the_row_wise_rule(tmp_path: Path) -> None:
    # more actions than one Arrow batch takes (8192), in one commit and over several
    dice = random.Random(7)
    paths = [f"part={at % 7}/{at}.parquet" for at in range(12_000)]
    commits: list[list[Action]] = [[FEATURE_PROTOCOL, metadata(partitionColumns=["part"])]]
    commits.append([add(path, **_file_body(at, None)) for at, path in enumerate(paths)])
    for version in range(3):
        commit: list[Action] = []
        for at in dice.sample(range(len(paths)), 4000):
            found = dice.choice(_VECTORS)
            make = dice.choice((add, remove))
            commit.append(make(paths[at], **_file_body(at + version, found)))
        commits.append(commit)
    log = LogFolder(tmp_path / "t")
    for version, commit in enumerate(commits):
        log.commit(version, commit)
    states = [reconcile(commits[: version + 1]) for version in range(len(commits))]
    _check(explorer.open_table(log.root).snapshot(), states[-1])
    log.checkpoint(2, states[2].checkpoint_actions(), form="v2-json", sidecars=3)
    _check(explorer.open_table(log.root).snapshot(), states[-1])


def test_reference_keeps_the_newest_of_a_logical_file() -> None:
    # the reference itself, by the examples of the specification
    state = reconcile(
        [
            [add("a"), add("a", deletionVector=vector(offset=1))],
            [remove("a")],
            [add("file:/x"), remove("/x"), add("b"), remove("b", deletionVector=vector())],
        ]
    )
    assert {logical_file(body) for body in state.adds.values()} == {
        ("a", "uab^-aqEH.-t@S}K{vb[*k^@1"),
        ("b", None),
    }
    assert set(state.removes) == {
        ("a", None),
        ("/x", None),
        ("b", "uab^-aqEH.-t@S}K{vb[*k^"),
    }
