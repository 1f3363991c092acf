"""The files of a diff equal what sets make of the row-wise rule's states, for any history,
by whichever route they were found, in both directions.

`tests.properties.amounts` says how to run more than the few examples of CI.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.comparison.versions import VersionDiff, diff
from explorer.table.snapshot import Snapshot
from tests.properties.amounts import EXAMPLES
from tests.reconciliation import Action, Key, RowwiseState, logical_file, reconcile, unique_id
from tests.tables import (
    CHECKPOINT_FORMS,
    FEATURE_PROTOCOL,
    LogFolder,
    add,
    metadata,
    remove,
    vector,
)

_PATHS = ("a.parquet", "b%20c.parquet", "part=x%2Fy/ü.parquet", "/data/a", "file:///data/a")
_VECTORS = (None, vector(), vector(offset=1, cardinality=9), vector(cardinality=5))
# the column of a diff for each field of an add, and how it is read from the log
_FIELDS = {
    "size": "size",
    "modification_time": "modificationTime",
    "partition_values": "partitionValues",
    "base_row_id": "baseRowId",
    "stats": "stats",
    "tags": "tags",
}

_LISTED = ("size", "modification_time", "partition_values", "base_row_id")

Body = Mapping[str, Any]


@st.composite
def _bodies(draw: st.DrawFn) -> dict[str, Any]:
    number = draw(st.integers(0, 3))
    body = {
        "size": 1000 + number % 2,
        "modificationTime": number // 2,
        "partitionValues": draw(st.sampled_from(({}, {"part": None}, {"part": "é"}))),
        "stats": draw(st.sampled_from((None, '{"numRecords":20}', '{"numRecords":30}', "{"))),
        "baseRowId": number if number % 2 else None,
        "tags": draw(st.sampled_from((None, {"k": "1", "l": "2"}, {"l": "2", "k": "1"}))),
        "deletionVector": draw(st.sampled_from(_VECTORS)),
    }
    return {key: value for key, value in body.items() if value is not None}


@st.composite
def _actions(draw: st.DrawFn) -> Action:
    make = draw(st.sampled_from((add, add, remove)))
    action: Action = make(draw(st.sampled_from(_PATHS)), **draw(_bodies()))
    return action


_commits = st.lists(st.lists(_actions(), max_size=5), min_size=1, max_size=7).map(
    lambda later: [[FEATURE_PROTOCOL, metadata(partitionColumns=["part"])], *later]
)
_checkpoints = st.dictionaries(
    st.integers(0, 7), st.tuples(st.sampled_from(CHECKPOINT_FORMS), st.integers(0, 2)), max_size=3
)


@contextmanager
def _written(
    commits: Sequence[list[Action]], checkpoints: Mapping[int, tuple[Any, int]]
) -> Iterator[tuple[LogFolder, list[RowwiseState]]]:
    states = [reconcile(commits[: version + 1]) for version in range(len(commits))]
    with tempfile.TemporaryDirectory() as scratch:
        log = LogFolder(Path(scratch) / "t")
        for version, commit in enumerate(commits):
            log.commit(version, commit)
            if version in checkpoints:
                form, sidecars = checkpoints[version]
                actions = states[version].checkpoint_actions()
                log.checkpoint(version, actions, form=form, sidecars=sidecars, rows_per_group=2)
        yield log, states


def _plain(value: Any) -> Any:
    return tuple(sorted(dict(value or {}).items())) if isinstance(value, Mapping | list) else value


def _shown(key: Key, body: Body) -> tuple[Any, ...]:
    return (body["path"], key[1], *(_plain(body.get(_FIELDS[name])) for name in _LISTED))


def _expected(
    older: Mapping[Key, Body], newer: Mapping[Key, Body]
) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    """Added, removed and changed files, by sets of keys."""
    pairs = [(key, key) for key in older.keys() & newer.keys()]
    left: defaultdict[str, tuple[list[Key], list[Key]]] = defaultdict(lambda: ([], []))
    for side, keys in enumerate((older.keys() - newer.keys(), newer.keys() - older.keys())):
        for key in sorted(keys, key=lambda key: (key[0], key[1] or "")):
            left[key[0]][side].append(key)
    gone, came = [], []
    for before, after in left.values():
        common = min(len(before), len(after))
        pairs.extend(zip(before[:common], after[:common], strict=True))
        gone.extend(before[common:])
        came.extend(after[common:])
    changed = []
    for was, now in pairs:
        old, new = older[was], newer[now]
        names = [
            name
            for name, field in _FIELDS.items()
            if _plain(old.get(field) or None) != _plain(new.get(field) or None)
        ]
        if old.get("deletionVector") != new.get("deletionVector"):
            names.append("deletion_vector")
        if names:
            changed.append((new["path"], was[1], now[1], frozenset(names)))
    return (
        Counter(_shown(key, newer[key]) for key in came),
        Counter(_shown(key, older[key]) for key in gone),
        Counter(changed),
    )


def _id(found: Mapping[str, Any] | None) -> str | None:
    if found is None:
        return None
    log_names = {"storage_type": "storageType", "path_or_inline_dv": "pathOrInlineDv"}
    return unique_id({log_names.get(name, name): value for name, value in found.items()})


def _found(answer: VersionDiff) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    sides = []
    for table in (answer.files.added, answer.files.removed):
        table.validate(full=True)
        times = table.column("modification_time").cast("int64").to_pylist()
        sides.append(
            Counter(
                (
                    row["path"],
                    _id(row["deletion_vector"]),
                    *(
                        time if name == "modification_time" else _plain(row[name])
                        for name in _LISTED
                    ),
                )
                for row, time in zip(table.to_pylist(), times, strict=True)
            )
        )
    changed = answer.files.changed
    changed.validate(full=True)
    return (
        sides[0],
        sides[1],
        Counter(
            (
                row["path"],
                _id(row["deletion_vector_before"]),
                _id(row["deletion_vector_after"]),
                frozenset(row["changes"]),
            )
            for row in changed.to_pylist()
        ),
    )


def _check(older: Snapshot, newer: Snapshot, states: Sequence[RowwiseState]) -> str:
    answer = diff(older, newer)
    before, after = states[older.version], states[newer.version]
    assert _found(answer) == _expected(before.adds, after.adds)
    rows, known = answer.rows.net, (older.num_rows, newer.num_rows)
    if known[0] is not None and known[1] is not None and rows is not None:
        assert rows == known[1] - known[0]
    files = answer.files
    assert files.num_added - files.num_removed == newer.num_files - older.num_files
    return files.route


@settings(max_examples=EXAMPLES)
@given(commits=_commits, checkpoints=_checkpoints, data=st.data())
def test_every_route_equals_the_sets(
    commits: list[list[Action]], checkpoints: dict[int, Any], data: st.DataObject
) -> None:
    with _written(commits, checkpoints) as (log, states):
        versions = st.integers(0, len(commits) - 1)
        older, newer = data.draw(versions, "older"), data.draw(versions, "newer")
        copy = Path(shutil.copytree(log.root, log.root.with_name("copy")))
        one, other = explorer.open_table(log.root), explorer.open_table(log.root)
        before, after = one.snapshot(version=older), one.snapshot(version=newer)
        routes = {_check(before, after, states)}
        routes.add(_check(other.snapshot(version=older), after, states))
        assert "independent" not in routes
        elsewhere = explorer.open_table(copy).snapshot(version=newer)
        assert _check(before, elsewhere, states) == "independent"


@pytest.mark.parametrize("form", CHECKPOINT_FORMS)
def test_each_route_is_taken(tmp_path: Path, form: Any) -> None:
    commits: list[list[Action]] = [
        [FEATURE_PROTOCOL, metadata(), add("kept"), add("gone"), add("/again"), add("shown")],
        [remove("gone"), add("came and went"), add("came")],
        [remove("came and went"), remove("never there"), add("kept"), add("file:/again", size=7)],
        [remove("shown"), add("shown", deletionVector=vector())],
        [remove("came"), add("came")],
    ]
    with _written(commits, {0: (form, 1), 3: (form, 1)}) as (log, states):
        table = explorer.open_table(log.root)
        first, second, last = (table.snapshot(version=version) for version in (1, 2, 4))
        assert _check(first, first, states) == "same version"
        assert _check(first, second, states) == "shared checkpoint"
        assert _check(first, last, states) == "log"
        assert _check(last, first, states) == "log"
        for version in (2, 3):
            (log.log / f"{version:020}.json").unlink()
        # the commits between are gone, but both versions are held
        assert _check(first, explorer.open_table(log.root).snapshot(), states) == "independent"


def test_reference_pairs_by_key_then_by_path() -> None:
    # the reference itself
    def state(*bodies: Action) -> dict[Key, Body]:
        found = (next(iter(action.values())) for action in bodies)
        return {logical_file(body): body for body in found}

    came, gone, changed = _expected(
        state(add("a"), add("b"), add("c", deletionVector=vector())),
        state(add("a", size=5), add("d"), add("c", deletionVector=vector(offset=1))),
    )
    assert [key[0] for key in came] == ["d"]
    assert [key[0] for key in gone] == ["b"]
    assert {(path, *names) for path, _, _, names in changed} == {
        ("a", "size"),
        ("c", "deletion_vector"),
    }
