"""The change data feed of every table of the corpus, against its manifest, against
shipped rows, and against the rows of the versions that it leads from and to."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import UnsupportedError
from explorer.rows.changes.feed import read_changes
from explorer.rows.read import read_rows
from tests.conftest import CORPUS
from tests.corpus import READABLE, shared_table, table_name
from tests.row_values import counted_rows

_FED = [table for table in READABLE if table.get("change_feed")]
_SHIPPED = [table for table in _FED if "changes" in table.get("expected", {})]
_ADDED = ("_change_type", "_commit_version", "_commit_timestamp")

_MANY_ROWS = 50_000


def _has_steps(table: dict[str, Any]) -> bool:
    history = table.get("history") or []
    rows = [version["num_rows_live"] for version in history]
    steps = [None not in pair for pair in pairwise(rows)]
    return any(steps) and max(count or 0 for count in rows) < _MANY_ROWS


_WITH_STEPS = [table for table in READABLE if _has_steps(table) and "archive" not in table]


def test_the_corpus_is_whole() -> None:
    assert (len(_FED), len(_SHIPPED), len(_WITH_STEPS)) == (12, 2, 83)


@pytest.mark.rule("cdf-absent-adds-removes", "cdf-exclusive", "cdf-files-change-type-values")
@pytest.mark.rule("cdf-reader-commit-timestamp", "cdf-reader-commit-version")
@pytest.mark.parametrize("expected", _FED, ids=table_name)
def test_changes_are_as_many_as_the_manifest_says(expected: dict[str, Any], tmp_path: Path) -> None:
    table = explorer.open_table(shared_table(expected, tmp_path))
    feed = expected["change_feed"]
    changes = read_changes(table, feed["from_version"], feed["to_version"])
    changes.validate(full=True)
    found = Counter(changes.column("_change_type").to_pylist())
    assert found == feed["rows_by_change_type"]
    assert tuple(changes.column_names[-3:]) == _ADDED
    for version in set(changes.column("_commit_version").to_pylist()):
        rows = changes.filter(pc.equal(changes.column("_commit_version"), version))
        times = set(rows.column("_commit_timestamp").to_pylist())
        assert times == {table.snapshot(version=version).timestamp}


@pytest.mark.rule("cdf-exclusive", "cdf-files-change-type-values", "cdf-files-directory")
@pytest.mark.rule("cdf-files-pre-and-postimage", "cdf-reader-commit-version", "row-not-from-cdc")
@pytest.mark.parametrize("expected", _SHIPPED, ids=table_name)
def test_changes_are_the_rows_that_were_shipped(expected: dict[str, Any], tmp_path: Path) -> None:
    table = explorer.open_table(shared_table(expected, tmp_path))
    feed = expected["change_feed"]
    changes = read_changes(table, feed["from_version"], feed["to_version"])
    shipped = pq.read_table(CORPUS / expected["expected"]["changes"])
    assert changes.column_names == shipped.column_names
    # their times are those of commit files before they were copied
    columns = changes.column_names[:-1]
    assert counted_rows(changes, columns) == counted_rows(shipped, columns)


def _enable_feed(place: Path, target: Path) -> Path:
    """A copy whose log says that the feed has been enabled from the start; without files
    of changes, so that adds and removes have to tell them."""
    shutil.copytree(place, target)
    for commit in (target / "_delta_log").glob("*.json"):
        if not commit.stem.isdigit():
            continue
        lines = []
        for line in commit.read_text(encoding="utf-8").splitlines():
            action = json.loads(line) if line.strip() else {}
            if "metaData" in action:
                action["metaData"].setdefault("configuration", {})
                action["metaData"]["configuration"]["delta.enableChangeDataFeed"] = "true"
            if action and "cdc" not in action:
                lines.append(json.dumps(action))
        commit.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target


@pytest.mark.rule("cdf-absent-adds-removes", "cdf-valid-rows-only", "file-datachange-tail-skip")
@pytest.mark.parametrize("expected", _WITH_STEPS, ids=table_name)
def test_changes_lead_from_one_version_to_the_next(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    """What adds, removes and deletion vectors say, applied to the rows of one version, gives
    those of the next; where files are only rearranged, that is nothing."""
    known = {version["version"]: version["num_rows_live"] for version in expected["history"]}
    copy = _enable_feed(shared_table(expected, tmp_path), tmp_path / "enabled")
    table = explorer.open_table(copy)
    proven, others = 0, 0
    for before, after in pairwise(known):
        if after != before + 1 or None in (known[before], known[after]):
            continue
        if table.metadata(after).configuration.get("delta.enableChangeDataFeed") != "true":
            # its metadata stands in a checkpoint, which was left as it is
            with pytest.raises(UnsupportedError) as refusal:
                read_changes(table, after, after)
            assert refusal.value.kind == "change_feed_unavailable"
            others += 1
            continue
        rows = [read_rows(table.snapshot(version=version)) for version in (before, after)]
        changes = read_changes(table, after, after)
        if rows[0].schema != rows[1].schema:
            others += 1
            continue
        balance = counted_rows(rows[0])
        for kind, sign in (("delete", -1), ("insert", 1)):
            part = changes.filter(pc.equal(changes.column("_change_type"), pa.scalar(kind)))
            for row, count in counted_rows(part, rows[0].column_names).items():
                balance[row] += sign * count
        assert +balance == counted_rows(rows[1]), (before, after)
        assert not -balance, (before, after)
        proven += 1
    assert proven + others
