"""Skipping never loses a row: over every table of the corpus whose rows are there, at its
latest version and for some at an older one, what a predicate matches lies in the files that
the plan keeps."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

import explorer
from explorer.rows.read import read_rows
from explorer.scan.plan import plan_scan
from explorer.scan.predicate.evaluation import evaluate
from explorer.scan.predicate.parse import parse_predicate
from explorer.table.snapshot import Snapshot
from tests.corpus import READABLE, place_table, table_name
from tests.properties.predicates import leaves, predicates

_WITH_ROWS = [table for table in READABLE if table["num_rows_live"]]
_LARGE = 20_000
"""Rows from which on a predicate takes long, so that fewer are tried."""

_OLDER = Random("older versions").sample(
    [
        (table, version["version"])
        for table in _WITH_ROWS
        if table["num_rows_live"] <= _LARGE
        for version in table.get("history") or []
        if version["version"] < table["latest_version"] and version["num_rows_live"]
    ],
    24,
)

# each a new set of predicates; by hand: DELTA_EXPLORER_SCAN_SEEDS=100
_SEEDS = range(int(os.environ.get("DELTA_EXPLORER_SCAN_SEEDS", "1")))
_PREDICATES, _FEW = 12, 3


@pytest.mark.sampled(one_in=2)
@pytest.mark.rule("older-003-stats-max-larger", "older-003-stats-min-smaller", "stats-max-wide")
@pytest.mark.rule("stats-min-wide", "stats-string-bounds-cut")
@pytest.mark.rule("stats-timestamp-bounds-milliseconds", "stats-use", "stats-wide")
@pytest.mark.parametrize("table", _WITH_ROWS, ids=table_name)
def test_no_row_that_matches_is_in_a_skipped_file(table: dict[str, Any], tmp_path: Path) -> None:
    snapshot = explorer.open_table(place_table(table, tmp_path)).snapshot()
    count = _PREDICATES if table["num_rows_live"] <= _LARGE else _FEW
    _check(snapshot, f"{table['name']} {{seed}}", count)


@pytest.mark.parametrize(
    ("table", "version"), _OLDER, ids=[f"{table['name']}-{version}" for table, version in _OLDER]
)
def test_no_row_of_an_older_version_is_in_a_skipped_file(
    table: dict[str, Any], version: int, tmp_path: Path
) -> None:
    snapshot = explorer.open_table(place_table(table, tmp_path)).snapshot(version=version)
    _check(snapshot, f"{table['name']} {version} {{seed}}", _PREDICATES)


def _check(snapshot: Snapshot, name: str, count: int) -> None:
    rows = read_rows(snapshot, metadata_columns=("_file_path",))
    files = set(snapshot.files(["path"]).column("path").to_pylist())
    assert rows.num_rows
    for seed in _SEEDS:
        random = Random(name.format(seed=seed))
        for text in predicates(leaves(snapshot.schema, rows, random), random, count):
            plan = plan_scan(snapshot, text)
            kept = set(plan.kept.column("path").to_pylist())
            mask = evaluate(parse_predicate(text, snapshot.schema).condition, rows)
            needed = set(rows.filter(mask).column("_file_path").unique().to_pylist())
            assert needed <= kept, (text, plan.reasons("skipped").to_pylist())
            gone = set(plan.skipped.column("path").to_pylist())
            assert kept | gone == files
            assert plan.num_kept + plan.num_skipped == snapshot.num_files


def test_every_table_whose_rows_are_there_is_among_them(corpus: Path) -> None:
    names = {table["name"] for table in _WITH_ROWS}
    assert {"golden-parquet-decimal-dictionaries-v2", "spark-table-with-dv-special-char"} <= names
    left_out = [table for table in READABLE if table["name"] not in names]
    assert all(not table["num_rows_live"] for table in left_out)
    assert len(names) > 100
