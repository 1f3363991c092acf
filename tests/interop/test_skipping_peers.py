"""The files that a predicate leaves are those that another reader would open."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
from deltalake import DeltaTable

import explorer
from explorer.scan.plan import plan_scan

CASES = [
    ("dat-column_mapping", "letter = 'zz'"),
    ("deltars-cdf-table", "birthday = '2023-12-22'"),
    ("deltars-cdf-table", "birthday > '2023-12-22' AND id > 3"),
    ("deltars-errlog-table_b", "id > 90"),
    ("golden-basic-with-inserts-overwrite-restore", "id = 170"),
    ("golden-dv-partitioned-with-checkpoint", "part = 3"),
    ("golden-dv-partitioned-with-checkpoint", "col1 > 30"),
    ("golden-multi-part-checkpoint", "id >= 20"),
    ("golden-multi-part-checkpoint", "id = 7 OR id > 100"),
    ("kernel-v2-checkpoints-json-with-sidecars", "id BETWEEN 5 AND 9"),
    ("kernel-v2-json-sidecars-struct-stats-only", "id = 3"),
    ("spark44-clustering", "id < 0"),
    ("spark44-log-compaction", "k = 1 AND id < 12"),
    ("spark44-multi-part-checkpoint-struct-stats", "x > 6 AND d = '2020-02-29'"),
    ("spark44-type-widening", "i > 40"),
]


@pytest.mark.rule("stats-use")
@pytest.mark.parametrize(("name", "where"), CASES)
def test_as_many_files_stay_as_with_deltalake(corpus: Path, name: str, where: str) -> None:
    place = corpus / "tables" / name
    plan = plan_scan(explorer.open_table(place).snapshot(), where)
    theirs = DeltaTable(str(place)).file_uris(file_pruning_predicate=where)
    ours = plan.kept.column("path").to_pylist()
    assert sorted(_name(path) for path in ours) == sorted(_name(uri) for uri in theirs)


def _name(path: str) -> str:
    return unquote(path).rpartition("/")[2]
