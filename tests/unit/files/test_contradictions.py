"""A checkpoint that contradicts the commits is told with both files, and mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer.inspect as look
from explorer.cli.main import run
from explorer.files.contradictions import find_contradictions
from explorer.log.folder.listing import list_log
from explorer.maintenance import plan_repair, plan_vacuum
from explorer.table.times import utc_time
from tests.tables import FEATURE_PROTOCOL, Action, CheckpointForm, add, metadata, remove
from tests.unit.maintenance.lake import Lake

START: list[Action] = [FEATURE_PROTOCOL, metadata()]
FINDING = "checkpoint that contradicts the commits"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """`a` is added and removed, `b` and `c` stay."""
    lake = Lake(tmp_path)
    lake.commit(0, [*START, lake.add("a")], age_days=40)
    lake.commit(1, [lake.add("b")], age_days=39)
    lake.commit(2, [lake.remove("a", age_days=38)], age_days=38)
    lake.commit(3, [lake.add("c")], age_days=37)
    return lake


def found(lake: Lake) -> dict[str, dict[str, Any]]:
    rows = look.files_health(lake.table, now=lake_time(lake)).findings.to_pylist()
    return {row["finding"]: row for row in rows}


def lake_time(lake: Lake) -> Any:
    return utc_time(lake.now_ms)


@pytest.mark.parametrize("form", ["classic", "v2-json", "v2-parquet", "multi-part"])
def test_file_that_it_lacks_and_file_that_it_revives_are_both_named(
    lake: Lake, form: CheckpointForm, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.log.checkpoint(2, [*START, add("a")], form=form)
    row = found(lake)[FINDING]
    assert (row["severity"], row["repair"]) == ("error", "repair checkpoint")
    assert row["problem"] == (
        "The checkpoint of version 2 contradicts the commits: it lacks 1 live file and it has 1 "
        "file that is not live."
    )
    assert f"It lacks 'b', which {1:020}.json, line 1, adds and no later commit" in row["reason"]
    assert f"It still has 'a', which {2:020}.json, line 1, removes." in row["reason"]
    assert "checkpoint" in row["evidence"]
    assert run(["health", str(lake.root), "--files", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert FINDING in [row["finding"] for row in document["findings"]]
    # it is not looked for where nothing is asked of the files
    assert FINDING not in [
        row["finding"] for row in look.log_health(lake.table).findings.to_pylist()
    ]


def test_repair_replaces_it_and_says_why(lake: Lake) -> None:
    lake.log.checkpoint(2, [*START, add("a")])
    assert lake.table.snapshot().num_files == 2
    plan = plan_repair(lake.table, "checkpoint", clock=lake.clock)
    reasons = plan.files.column("reason").to_pylist()
    assert any("it lacks 1 live file" in str(reason) for reason in reasons)
    assert "nothing is lost" in plan.summary
    receipt = lake.execute(plan)
    assert all(check.holds for check in receipt.checks)
    assert sorted(lake.table.snapshot().files(["path"]).column("path").to_pylist()) == ["b", "c"]
    assert FINDING not in found(lake)
    assert plan_repair(lake.table, "checkpoint", clock=lake.clock).steps == ()


def test_sound_checkpoints_and_those_without_their_commits_are_not_accused(lake: Lake) -> None:
    lake.log.checkpoint(2, [*START, add("b")])
    lake.log.checkpoint(3, [*START, add("b"), add("c")], form="v2-json", sidecars=2)
    assert FINDING not in found(lake)
    # what the log no longer says contradicts nothing
    lake.log.checkpoint(2, [*START, add("x")])
    for version in (0, 1, 2):
        (lake.log.log / f"{version:020}.json").unlink()
    for place in lake.log.log.glob(f"{3:020}.checkpoint.*"):
        place.unlink()
    assert FINDING not in found(lake)


def test_later_checkpoint_is_held_against_the_older_one_where_the_commits_begin_there(
    lake: Lake,
) -> None:
    lake.log.checkpoint(2, [*START, add("b")])
    lake.log.checkpoint(3, [*START, add("b")])
    for version in (0, 1):
        (lake.log.log / f"{version:020}.json").unlink()
    row = found(lake)[FINDING]
    assert "the checkpoint of version 2 and the commits after it" in row["reason"]
    assert f"It lacks 'c', which {3:020}.json, line 1, adds" in row["reason"]


@pytest.mark.parametrize("form", ["classic", "v2-json", "v2-parquet", "multi-part"])
def test_live_file_with_another_size_or_number_of_rows_is_named(
    tmp_path: Path, form: CheckpointForm
) -> None:
    lake = Lake(tmp_path)
    stats = ['{"numRecords":3}', '{"numRecords":4}']
    lake.commit(
        0, [*START, add("a", size=7, stats=stats[0]), add("b", stats=stats[0])], age_days=40
    )
    lake.log.checkpoint(
        0, [*START, add("a", size=8, stats=stats[0]), add("b", stats=stats[1])], form=form
    )
    lake.commit(1, [lake.add("c")], age_days=39)
    row = found(lake)[FINDING]
    assert row["problem"].endswith(
        "contradicts the commits: it has 2 live files with another size or number of rows."
    )
    assert "It says 8 bytes of 'a', and they say 7." in row["reason"] or (
        "It says 4 rows of 'b', and they say 3." in row["reason"]
    )
    # the newest add of a file counts, and a checkpoint need not have statistics
    lake.commit(2, [add("a", size=8), add("b", stats=stats[1])], age_days=38)
    lake.log.checkpoint(2, [*START, add("a", size=8), add("b"), add("c")])
    contradicting = find_contradictions(lake.table.store, list_log(lake.table.store))
    assert [item.checkpoint.version for item in contradicting] == [0]


def test_other_settings_are_told(lake: Lake) -> None:
    other = metadata(configuration={"delta.appendOnly": "true"})
    lake.log.checkpoint(2, [FEATURE_PROTOCOL, other, add("b")])
    store = lake.table.store
    (one,) = find_contradictions(store, list_log(store))
    assert one.settings == ("metadata (properties)",)
    assert one.problem.endswith("contradicts the commits: its metadata (properties) differs.")


def test_same_schema_in_another_spelling_is_no_other_setting(lake: Lake) -> None:
    right = metadata()["metaData"]["schemaString"]
    other = json.dumps(json.loads(right), indent=1)
    assert other != right
    lake.log.checkpoint(2, [FEATURE_PROTOCOL, metadata(schemaString=other), add("b")])
    assert FINDING not in found(lake)
    named_otherwise = right.replace('"long"', '"string"')
    assert named_otherwise != right
    lake.log.checkpoint(2, [FEATURE_PROTOCOL, metadata(schemaString=named_otherwise), add("b")])
    assert "its metadata (schema) differs" in found(lake)[FINDING]["problem"]
    lake.log.checkpoint(2, [FEATURE_PROTOCOL, metadata(schemaString="no JSON"), add("b")])
    assert "its metadata (schema) differs" in found(lake)[FINDING]["problem"]


def test_why_invents_no_removal(lake: Lake) -> None:
    lake.log.checkpoint(2, [*START, add("a")])
    lost = look.why_here(lake.table, "b", now=lake_time(lake))
    assert lost.kind == "lost data file"
    assert "1970" not in lost.sentence
    assert f"version 1 ({1:020}.json, line 1); no commit removes it" in lost.sentence
    assert "the checkpoint of version 2 contradicts the commits" in lost.sentence
    assert lost.deletable_from is None
    revived = look.why_here(lake.table, "a", now=lake_time(lake))
    assert revived.kind == "live data file, removed by a commit"
    assert f"But version 2 ({2:020}.json, line 1) removes it" in revived.sentence


def test_why_says_what_it_does_not_know_where_commits_are_gone(lake: Lake) -> None:
    lake.log.checkpoint(3, [*START, add("c")])
    (lake.log.log / f"{2:020}.json").unlink()
    reason = look.why_here(lake.table, "b", now=lake_time(lake))
    assert reason.kind == "data file without a removal"
    assert "a missing commit may have removed it" in reason.sentence
    assert "1970" not in reason.sentence
    assert reason.deletable_from is not None


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        ([add("b"), remove("a"), add("c")], ""),
        ([add("b"), remove("a")], "It lacks 'c', which its commits add."),
        ([add("b"), remove("a"), add("c"), add("x")], "It adds 'x', which is not live"),
        ([add("b"), add("c")], "It does not remove 'a', which its commits remove."),
    ],
)
def test_compaction_is_held_against_its_commits(
    lake: Lake, actions: list[Action], says: str
) -> None:
    lines = "".join(json.dumps(action) + "\n" for action in actions)
    lake.log.write(f"{1:020}.{3:020}.compacted.json", lines)
    row = found(lake).get("log compaction that contradicts the commits")
    assert (row is not None) == bool(says)
    if row is not None:
        assert says in row["reason"]
        assert row["severity"] == "error"


def test_checkpoint_without_removals_is_told_while_the_retention_keeps_them(
    lake: Lake,
) -> None:
    """Vacuum is blocked by it; the twin's removal is older than the retention."""
    lake.commit(4, [lake.remove("b", age_days=3)], age_days=3)
    files = [*START, add("c")]
    lake.log.checkpoint(4, files)
    row = found(lake)["checkpoint without removals"]
    assert (row["severity"], row["repair"]) == ("warning", None)
    assert row["problem"] == ("The checkpoint of version 4 lacks 1 removal within the retention.")
    assert f"It lacks 'b', which {4:020}.json, line 1, removes." in row["reason"]
    assert "two independent computations" in plan_vacuum(lake.table, clock=lake.clock).summary
    lake.log.checkpoint(4, [*files, remove("b", deletionTimestamp=lake.now_ms - 3 * 86_400_000)])
    assert "checkpoint without removals" not in found(lake)
    lake.log.checkpoint(4, files)
    lake.commit(4, [lake.remove("b", age_days=30)], age_days=30)
    assert "checkpoint without removals" not in found(lake)
