"""What an optimize would write again, and what refuses it: nothing is read but the log."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import explorer.inspect as look
from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.maintenance import Plan, plan_optimize
from explorer.maintenance.plan.step_types import RewriteFiles, WriteCheckpoint, WriteChecksum
from tests.tables import PROTOCOL, add, metadata, vector
from tests.unit.maintenance.lake import Lake, outcome

MIB = 2**20
FEATURES = ("deletionVectors", "domainMetadata", "clustering", "rowTracking", "columnMapping")
CLUSTERED = {
    "domainMetadata": {
        "domain": "delta.clustering",
        "configuration": '{"clusteringColumns":[["id"],["part"]]}',
        "removed": False,
    }
}
MARK = '{"columns":[["id"],["part"]],"curve":"hilbert"}'


def protocol(*more: str) -> dict[str, Any]:
    readers = ["deletionVectors", "columnMapping"]
    body = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": readers}
    return {"protocol": {**body, "writerFeatures": [*FEATURES, *more]}}


def stats(rows: int = 100, low: int = 0, high: int = 9) -> str:
    bounds = {"minValues": {"id": low, "part": "a"}, "maxValues": {"id": high, "part": "z"}}
    return json.dumps({"numRecords": rows, **bounds, "nullCount": {"id": 0, "part": 0}})


def file(path: str, mib: float = 1, **fields: Any) -> dict[str, Any]:
    return add(path, size=int(mib * MIB), **{"stats": stats(), **fields})


def table_of(lake: Lake, *actions: Any, first: Any = None, **fields: Any) -> Lake:
    lake.commit(0, [first or protocol(), metadata(**fields), *actions], age_days=9)
    return lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def plan_of(lake: Lake, **options: Any) -> Plan:
    return plan_optimize(lake.table, clock=lake.clock, **options)


def rewrites(plan: Plan) -> list[RewriteFiles]:
    return [step for step in plan.steps if isinstance(step, RewriteFiles)]


def groups_of(plan: Plan) -> list[list[str]]:
    """The paths of each group, as the plan's reasons say it."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in plan.files.to_pylist():
        assert row["action"] == "remove"
        found[row["reason"].partition(":")[0]].append(row["path"])
    return sorted(found.values())


def reasons_of(plan: Plan) -> dict[str, str]:
    return {row["path"]: row["reason"].partition(": ")[2] for row in plan.files.to_pylist()}


def hidden(rows: int, **fields: Any) -> dict[str, Any]:
    return {"deletionVector": vector(cardinality=rows), "stats": stats(), **fields}


def test_small_files_fill_one_file_up_to_the_target(lake: Lake) -> None:
    sizes = {"a": 30, "b": 40, "c": 50, "d": 60, "e": 99}
    table_of(lake, *(file(path, size) for path, size in sizes.items()))
    plan = plan_of(lake, target_size="100mb")
    # from the smallest on; what is left alone in its bin stays as it is
    assert groups_of(plan) == [["a", "b"]]
    assert plan.summary.startswith("Rewrites 2 files (70.0 MiB) as about 1 file in 1 commit.")
    step = plan.steps[0]
    assert (step.kind, step.num_files, step.num_bytes) == ("rewrite_files", 2, 70 * MIB)
    assert [step.kind for step in plan.steps[1:]] == ["write_checksum", "write_checkpoint"]
    assert plan.files["bytes"].to_pylist() == [30 * MIB, 40 * MIB]
    assert plan.effect["undo"] == "restore to version 0"


def test_files_of_the_target_and_above_stay(lake: Lake) -> None:
    table_of(lake, *(file(path, 100) for path in "abc"), file("d", 300))
    plan = plan_of(lake, target_size=100 * MIB)
    assert plan.steps == ()
    assert plan.summary.endswith("There is nothing to do.")


def test_single_small_file_is_left_alone(lake: Lake) -> None:
    table_of(lake, file("a"))
    assert plan_of(lake).steps == ()


def test_target_of_the_table_counts_unless_another_is_given(lake: Lake) -> None:
    conf = {"delta.targetFileSize": "10mb"}
    table_of(lake, *(file(path, 4) for path in "abcd"), configuration=conf)
    assert groups_of(plan_of(lake)) == [["a", "b"], ["c", "d"]]
    assert plan_of(lake).parameters["target_size"] == 10 * MIB
    assert groups_of(plan_of(lake, target_size="1gb")) == [["a", "b", "c", "d"]]


@pytest.mark.parametrize("text", [None, "16mb", "1gb", "33554432"])
def test_target_is_the_one_that_the_layout_is_held_against(lake: Lake, text: str | None) -> None:
    conf = {} if text is None else {"delta.targetFileSize": text}
    table_of(lake, file("a"), file("b"), configuration=conf)
    shown = look.file_layout(lake.table.snapshot()).target
    assert plan_of(lake).parameters["target_size"] == shown


def test_no_file_is_written_by_a_target_of_the_table_that_cannot_be_read(lake: Lake) -> None:
    table_of(lake, file("a"), file("b"), configuration={"delta.targetFileSize": "huge"})
    with pytest.raises(InvalidArgumentError, match="'huge' is not a valid file size") as caught:
        plan_of(lake)
    assert "delta.targetFileSize" in caught.value.remedy
    assert plan_of(lake, target_size="1gb").steps


def test_target_is_a_gibibyte_where_nobody_says(lake: Lake) -> None:
    table_of(lake, file("a", 500), file("b", 524), file("c", 900))
    assert groups_of(plan_of(lake)) == [["a", "b"]]


@pytest.mark.parametrize("size", ["many", "", "-1", 0, "1.5gb", "99999999999tb"])
def test_size_that_is_none_is_told(lake: Lake, size: Any) -> None:
    table_of(lake, file("a"), file("b"))
    with pytest.raises(InvalidArgumentError, match="file size"):
        plan_of(lake, target_size=size)


def test_partitions_do_not_mix_and_null_is_the_empty_text(lake: Lake) -> None:
    values = {"a": "x", "b": "y", "c": "x", "d": None, "e": "", "f": "y", "g": "z"}
    files = [file(path, partitionValues={"part": value}) for path, value in values.items()]
    table_of(lake, *files, partitionColumns=["part"])
    assert groups_of(plan_of(lake)) == [["a", "c"], ["b", "f"], ["d", "e"]]


def test_only_files_that_may_match_are_looked_at(lake: Lake) -> None:
    files = [
        file(path, partitionValues={"part": path[0]}, stats=stats(low=int(path[1]), high=5))
        for path in ("x1", "x2", "x5", "y1", "y2")
    ]
    table_of(lake, *files, partitionColumns=["part"])
    assert groups_of(plan_of(lake, where="part = 'x'")) == [["x1", "x2", "x5"]]
    assert groups_of(plan_of(lake, where="part = 'x' and id < 3")) == [["x1", "x2"]]
    plan = plan_of(lake, where="id = 4")
    assert groups_of(plan) == [["x1", "x2"], ["y1", "y2"]]
    assert rewrites(plan)[0].parameters["predicate"] == '["id = 4"]'
    nothing = "No file may hold a matching row. There is nothing to do."
    assert plan_of(lake, where="part = 'z'").summary == nothing
    with pytest.raises(InvalidArgumentError):
        plan_of(lake, where="nope = 1")


def test_file_with_many_deleted_rows_is_worth_it_alone(lake: Lake) -> None:
    table_of(lake, file("many", 2000, **hidden(6)), file("few", 2000, **hidden(5)))
    plan = plan_of(lake)
    assert reasons_of(plan) == {"many": "more than 5% of its rows are deleted"}
    assert plan.effect["rows_deleted_for_good"] == 6


def test_purge_takes_every_file_with_a_vector_and_no_other(lake: Lake) -> None:
    table_of(lake, file("a", **hidden(1)), file("b"), file("c", 2000, **hidden(2)), file("d"))
    plan = plan_of(lake, purge=True)
    assert groups_of(plan) == [["a"], ["c"]]
    assert "without 3 soft-deleted rows" in plan.summary
    assert "No live row changes" in plan.summary


def test_batches_are_commits_of_their_own(lake: Lake) -> None:
    table_of(lake, *(file(path, 4) for path in "abcdef"))
    plan = plan_of(lake, target_size="8mb", batch_size=16 * MIB)
    steps = rewrites(plan)
    assert [(step.num_files, step.num_groups) for step in steps] == [(4, 2), (2, 1)]
    assert len({step.transaction_id for step in steps}) == 2
    checksums = [step.of for step in plan.steps if isinstance(step, WriteChecksum)]
    checkpoints = [step.of for step in plan.steps if isinstance(step, WriteCheckpoint)]
    for followed in (checksums, checkpoints):
        assert all(one is other for one, other in zip(followed, steps, strict=True))


def test_same_seed_and_clock_make_the_same_plan(lake: Lake) -> None:
    table_of(lake, file("a"), file("b"))
    seed = UUID(int=7)
    assert plan_of(lake, seed=seed).digest == plan_of(lake, seed=seed).digest
    assert plan_of(lake, seed=seed).digest != plan_of(lake, seed=UUID(int=8)).digest


def test_clustered_table_is_ordered_by_its_columns_along_a_hilbert_curve(lake: Lake) -> None:
    table_of(lake, CLUSTERED, file("a"), file("b"))
    plan = plan_of(lake)
    assert set(reasons_of(plan).values()) == {"its rows are in no order, or in another one"}
    assert "Hilbert" in plan.effect["order"]
    parameters = rewrites(plan)[0].parameters
    assert (parameters["clusterBy"], parameters["zOrderBy"]) == ('["id","part"]', "[]")
    assert not plan.refusals


def test_named_columns_are_ordered_too(lake: Lake) -> None:
    table_of(lake, file("a"), file("b"))
    plan = plan_of(lake, zorder_by=["PART", "id"])
    assert rewrites(plan)[0].parameters["zOrderBy"] == '["part","id"]'
    assert "Hilbert" in plan.effect["order"]
    single = plan_of(lake, zorder_by="part")
    assert single.parameters["names"] == ["part"]
    assert single.effect["order"].startswith("by a single column")


def test_ordered_files_wait_until_new_ones_come(lake: Lake) -> None:
    done = {"tags": {"delta-explorer.order": MARK}, "clusteringProvider": "delta-explorer"}
    files = [file("full", 90, **done), file("half", 40, **done)]
    table_of(lake, CLUSTERED, *files)
    assert plan_of(lake, target_size="100mb").steps == ()
    lake.commit(1, [file("new", 5)], age_days=1)
    plan = plan_of(lake, target_size="100mb")
    assert groups_of(plan) == [["half", "new"]]
    # in an order of other columns they count as new
    lake.commit(
        2, [{"domainMetadata": {**CLUSTERED["domainMetadata"], "configuration": OTHER}}], age_days=1
    )
    assert groups_of(plan_of(lake, target_size="100mb")) == [["full", "half", "new"]]


OTHER = '{"clusteringColumns":[["id"]]}'


@pytest.mark.rule("clustering-recluster-own")
def test_files_that_another_implementation_clustered_stay(lake: Lake) -> None:
    theirs = {"clusteringProvider": "liquid"}
    table_of(lake, CLUSTERED, file("t", **theirs), file("a"), file("b"))
    plan = plan_of(lake)
    assert groups_of(plan) == [["a", "b"]]
    assert plan.effect["files_of_other_implementations"] == 1


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (["nope"], "no such column"),
        (["part"], "partitions the table"),
        (["flag"], "no bounds for its type"),
        (["late"], "It has no statistics"),
        (["s"], "no such column"),
        (["id", "ID"], "named twice"),
    ],
)
def test_column_that_no_file_could_be_skipped_by_is_told(
    lake: Lake, columns: list[str], why: str
) -> None:
    inner = {
        "type": "struct",
        "fields": [{"name": "d", "type": "long", "nullable": True, "metadata": {}}],
    }
    kinds = {"id": "long", "part": "string", "flag": "boolean", "s": inner, "late": "long"}
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in kinds.items()
    ]
    table_of(
        lake,
        file("a", partitionValues={"part": "x"}),
        file("b", partitionValues={"part": "x"}),
        schemaString=json.dumps({"type": "struct", "fields": fields}),
        partitionColumns=["part"],
        configuration={"delta.dataSkippingNumIndexedCols": "3"},
    )
    with pytest.raises(InvalidArgumentError) as caught:
        plan_of(lake, zorder_by=columns)
    assert why in caught.value.reason
    assert groups_of(plan_of(lake, zorder_by=["s.d"])) == [["a", "b"]]


def test_wishes_that_do_not_go_together_are_told(lake: Lake) -> None:
    table_of(lake, CLUSTERED, file("a"), file("b"))
    with pytest.raises(InvalidArgumentError, match="ordered"):
        plan_of(lake, zorder_by=["id"])
    with pytest.raises(InvalidArgumentError, match="ordered"):
        plan_of(lake, zorder_by=["id"], purge=True)


def test_clustering_columns_without_statistics_refuse(lake: Lake) -> None:
    conf = {"delta.dataSkippingNumIndexedCols": "1"}
    table_of(lake, CLUSTERED, file("a"), file("b"), configuration=conf)
    plan = plan_of(lake)
    assert outcome(plan, "order") == "refuse"
    assert lake.execute(plan).status == "refused"


@pytest.mark.parametrize(
    ("more", "conf", "guard"),
    [
        (("somethingNew",), {}, "features"),
        (("icebergCompatV3",), {"delta.enableIcebergCompatV3": "true"}, "data files"),
        ((), {"delta.parquet.compression.codec": "lzo"}, "data files"),
        ((), {"delta.enableRowTracking": "true"}, "data files"),
    ],
    ids=["unknown", "iceberg", "codec", "row ids"],
)
def test_what_cannot_be_honoured_refuses_by_name(
    lake: Lake, more: tuple[str, ...], conf: dict[str, str], guard: str
) -> None:
    files = [file(path, partitionValues={"part": "x"}) for path in "ab"]
    first = protocol(*more)
    table_of(lake, *files, first=first, configuration=conf, partitionColumns=["part"])
    plan = plan_of(lake)
    assert outcome(plan, guard) == "refuse"
    assert lake.execute(plan).status == "refused"
    assert lake.table.latest_version() == 0


@pytest.mark.rule("newer-catalog-maintenance")
def test_table_of_a_catalog_is_not_touched(lake: Lake) -> None:
    first = protocol("catalogManaged")
    first["protocol"]["readerFeatures"].append("catalogManaged")
    table_of(lake, file("a"), file("b"), first=first)
    with pytest.raises(UnsupportedError, match="catalog"):
        plan_of(lake)


def test_append_only_table_may_be_optimized(lake: Lake) -> None:
    conf = {"delta.appendOnly": "true"}
    table_of(lake, file("a"), file("b"), first=PROTOCOL, configuration=conf)
    plan = plan_of(lake)
    assert not plan.refusals
    assert plan.steps


def test_rows_with_ids_in_files_without_them_refuse(lake: Lake) -> None:
    conf = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version-col",
    }
    known = {"baseRowId": 0, "defaultRowCommitVersion": 0}
    table_of(lake, file("a", **known), file("b"), configuration=conf)
    plan = plan_of(lake)
    assert outcome(plan, "commit") == "refuse"
    (found,) = (v for v in plan.verdicts if v.guard == "commit")
    assert "1 of the files do not say which ids" in found.message


def test_paths_of_the_plan_are_decoded_and_a_change_of_one_makes_it_stale(lake: Lake) -> None:
    table_of(lake, file("a%20b"), file("c"), file("d"))
    plan = plan_of(lake, where=None)
    assert plan.files["path"].to_pylist() == ["a b", "c", "d"]
    lake.commit(1, [lake.remove("a%20b", age_days=0)], age_days=0)
    receipt = lake.execute(plan)
    assert (receipt.status, receipt.problem and receipt.problem.kind) == ("refused", "plan_stale")


@pytest.mark.slow
def test_many_files_are_planned_without_many_objects(lake: Lake) -> None:
    files = [
        file(f"part={at % 7}/{at:06}", partitionValues={"part": str(at % 7)})
        for at in range(20_000)
    ]
    table_of(lake, *files, partitionColumns=["part"])
    plan = plan_of(lake, target_size="10mb")
    groups = groups_of(plan)
    assert sum(map(len, groups)) == plan.files.num_rows >= 19_900
    assert all(len({path[:6] for path in group}) == 1 and len(group) <= 10 for group in groups)


def test_sizes_that_cannot_be_true_make_no_endless_work(lake: Lake) -> None:
    table_of(lake, file("a"), add("b", size=2**62, stats=stats()), file("c", -5))
    plan = plan_of(lake, zorder_by=["id"], target_size=1)
    assert plan.effect["files_added_about"] == 2000
    assert plan_of(lake).effect["files_added_about"] == 1


def test_one_file_is_not_spoken_of_as_several(lake: Lake) -> None:
    table_of(lake, file("a"))
    for options, why in (
        ({}, "is not worth writing again."),
        ({"purge": True}, "has no deletion vector."),
        ({"zorder_by": ["id"]}, "is not worth ordering: it is in order, or too small."),
    ):
        plan = plan_of(lake, **options)
        assert not plan.steps
        assert f"The only file {why}" in plan.summary
    layout = look.file_layout(lake.table.snapshot(), 1)
    assert layout.sentence.startswith("The only file is not below the target of 1 B")
