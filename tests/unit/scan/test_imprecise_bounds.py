"""A file that stays because its bounds may say less than its values says so, and whether the
reference, which takes them as they are, skips it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.cli.main import run
from explorer.scan.plan import ScanPlan, plan_scan
from tests.tables import PROTOCOL, LogFolder, add, metadata
from widgets.screens.statistics._parts import scan_sentence

NAN = "a row may be NaN, which bounds may leave out"
CUT = "the greatest x may be cut to a part of the text"
TIMES = "bounds of x may be cut to milliseconds, and early ones be of the former calendar"
THEIRS = "Delta Spark takes the bounds as they are, and skips it"


def folder_of(root: Path, kind: str, low: Any, high: Any, **fields: Any) -> LogFolder:
    schema = {
        "type": "struct",
        "fields": [
            {"name": name, "type": type_, "nullable": True, "metadata": {}}
            for name, type_ in (("x", kind), ("y", "double"), ("p", "string"))
        ],
    }
    stats = {
        "numRecords": 10,
        "minValues": {"x": low, "y": 1.0},
        "maxValues": {"x": high, "y": 3.0},
        "nullCount": {"x": 0, "y": 0},
    }
    folder = LogFolder(root / "table")
    file = add("a", stats=json.dumps(stats), **fields)
    action = metadata(schemaString=json.dumps(schema), partitionColumns=["p"])
    folder.commit(0, [PROTOCOL, action, file])
    return folder


def plan_of(root: Path, kind: str, low: Any, high: Any, where: str, **fields: Any) -> ScanPlan:
    folder = folder_of(root, kind, low, high, **fields)
    return plan_scan(explorer.open_table(folder.root).snapshot(), where)


def reason(plan: ScanPlan) -> str:
    (row,) = plan.reasons().to_pylist()
    assert row["kept"], row
    return str(row["reason"])


CASES = [
    # bounds leave NaN out, and NaN is greater than every number
    ("double", 1.0, 3.0, "x > 5", NAN, True),
    ("float", 1.0, 3.0, "x > 5", NAN, True),
    ("double", 1.0, 3.0, "NOT (x < 5)", NAN, True),
    ("double", 1.0, 3.0, "x = CAST('NaN' AS DOUBLE)", NAN, True),
    ("double", 1.0, 3.0, "x > 2", None, False),
    # the reference asks no such condition of statistics
    ("double", 1.0, 3.0, "(x > 5) IS TRUE", NAN, False),
    # a maximum of text may be a part of it
    ("string", "a", "abc", "x = 'abcd'", CUT, True),
    ("string", "a", "abc", "x > 'abc'", CUT, True),
    ("string", "a", "abc", "x LIKE 'abcd%'", CUT, True),
    ("string", "a", "abc", "x = 'abc'", None, False),
    ("string", "a", "b\ufffd", "x = 'bz'", None, False),
    # times are cut to milliseconds, for which the reference allows
    (
        "timestamp",
        "2024-01-01T00:00:00.000Z",
        "2024-01-01T00:00:01.000Z",
        "x = TIMESTAMP '2024-01-01 00:00:01.000500Z'",
        TIMES,
        False,
    ),
    ("long", 1, 3, "x > 2", None, False),
]


@pytest.mark.parametrize("case", CASES)
def test_a_file_says_for_what_it_is_kept(tmp_path: Path, case: tuple[Any, ...]) -> None:
    kind, low, high, where, why, skips = case
    plan = plan_of(tmp_path, kind, low, high, where)
    said = reason(plan)
    assert said.startswith("may match: x is between ")
    assert (f"kept because {why}" in said) if why else ("kept because" not in said), said
    assert (THEIRS in said) == skips, said
    assert plan.num_reference_skips == int(skips)


def test_what_takes_several_of_them_is_said(tmp_path: Path) -> None:
    """Either of the two alone would keep it."""
    plan = plan_of(tmp_path, "string", "a", "abc", "x = 'abcd' OR y > 5")
    assert "kept because a row may be NaN, and bounds may be cut; Delta Spark" in reason(plan)
    # both are needed: the first is told
    plan = plan_of(tmp_path / "both", "string", "a", "abc", "x = 'abcd' AND y > 5")
    assert f"kept because {NAN}; Delta Spark" in reason(plan)


def test_a_partition_that_rules_nothing_out_does_not_hide_it(tmp_path: Path) -> None:
    fields = {"partitionValues": {"p": "q"}}
    plan = plan_of(tmp_path, "double", 1.0, 3.0, "p = 'q' AND x > 5", **fields)
    assert f"kept because {NAN}" in reason(plan)
    assert "p is 'q'" in reason(plan)
    plan = plan_of(tmp_path / "other", "double", 1.0, 3.0, "p = 'r' AND x > 5", **fields)
    assert (plan.num_kept, plan.num_reference_skips) == (0, 0)
    assert "kept because" not in plan.reasons().to_pylist()[0]["reason"]


def test_a_file_without_bounds_is_kept_for_want_of_them(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "double", None, None, "x > 5")
    assert "kept because" not in reason(plan)
    assert plan.num_reference_skips == 0


def test_page_command_line_and_json_say_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(tmp_path, "double", 1.0, 3.0)
    plan = plan_scan(explorer.open_table(folder.root).snapshot(), "x > 5")
    both = f"; kept because {NAN}; {THEIRS}"
    assert reason(plan).endswith(both)
    assert "Delta Spark would skip 1 of them" in scan_sentence(plan)
    assert run(["skip", str(folder.root), "x > 5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["num_reference_skips"] == 1
    assert document["files"][0]["reason"].endswith(both)
    assert run(["skip", str(folder.root), "x > 5"]) == 0
    assert "Delta Spark would skip 1 of them" in " ".join(capsys.readouterr().out.split())
    assert run(["skip", str(folder.root), "x > 2"]) == 0
    assert "Delta Spark" not in capsys.readouterr().out


def test_one_file_is_not_counted_as_many(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "long", 1, 3, "x > 2")
    assert scan_sentence(plan) == (
        "The only file has to be read: the statistics do not rule it out."
    )
    plan = plan_of(tmp_path / "none", "long", 1, 3, "x > 5")
    assert scan_sentence(plan).startswith("0 of 1 file have to be read, 0 B of ")
    assert scan_sentence(plan).endswith("; none holds such a row.")
