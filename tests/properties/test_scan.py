"""Skipping never loses a row: over every table of the corpus that has rows, what a
predicate matches lies in the files that the plan keeps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

import explorer
from explorer.rows.read import read_rows
from explorer.scan.plan import plan_scan
from explorer.scan.predicate import parse_predicate
from tests.conftest import CORPUS
from tests.properties.predicates import leaves, predicates

_MANIFEST = CORPUS / "manifest.json"
_TABLES: list[dict[str, Any]] = json.loads(_MANIFEST.read_text()) if _MANIFEST.is_file() else []
_MAX_ROWS = 20_000
_WITH_ROWS = [
    table["name"]
    for table in _TABLES
    if table["expect"] == "ok"
    and 0 < (table["num_rows_live"] or 0) <= _MAX_ROWS
    and "archive" not in table
    and "template" not in table
]

# each a new set of predicates; by hand: DELTA_EXPLORER_SCAN_SEEDS=100
_SEEDS = range(int(os.environ.get("DELTA_EXPLORER_SCAN_SEEDS", "1")))
_PREDICATES = 12


@pytest.mark.rule("older-003-stats-max-larger", "older-003-stats-min-smaller", "stats-max-wide")
@pytest.mark.rule("stats-min-wide", "stats-string-bounds-cut")
@pytest.mark.rule("stats-timestamp-bounds-milliseconds", "stats-use", "stats-wide")
@pytest.mark.parametrize("name", _WITH_ROWS)
def test_no_row_that_matches_is_in_a_skipped_file(corpus: Path, name: str) -> None:
    snapshot = explorer.open_table(corpus / "tables" / name).snapshot()
    rows = read_rows(snapshot, metadata_columns=("_file_path",))
    files = set(snapshot.files(["path"]).column("path").to_pylist())
    for seed in _SEEDS:
        random = Random(f"{name} {seed}")
        for text in predicates(leaves(snapshot.schema, rows, random), random, _PREDICATES):
            plan = plan_scan(snapshot, text)
            kept = set(plan.kept.column("path").to_pylist())
            mask = parse_predicate(text, snapshot.schema).mask(rows)
            needed = set(rows.filter(mask).column("_file_path").to_pylist())
            assert needed <= kept, (text, plan.reasons("skipped").to_pylist())
            gone = set(plan.skipped.column("path").to_pylist())
            assert kept | gone == files
            assert plan.num_kept + plan.num_skipped == snapshot.num_files


def test_the_corpus_has_tables_to_skip_in(corpus: Path) -> None:
    assert len(_WITH_ROWS) > 100
