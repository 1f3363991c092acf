"""Restore brings data, schema and properties of an earlier version back as a new one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from explorer.errors import CancelledError, InvalidArgumentError, NotFoundError
from explorer.maintenance import Plan, plan_restore
from explorer.maintenance.steps import files_coming_back
from explorer.progress import Cancel, Progress
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, metadata, vector
from tests.unit.maintenance.lake import Lake, ms_ago, outcome, planned

OTHER_SCHEMA = (
    '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"part","type":"string","nullable":true,"metadata":{}},'
    '{"name":"later","type":"string","nullable":true,"metadata":{}}]}'
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def restore(lake: Lake, version: int | None = None, **options: Any) -> Plan:
    return plan_restore(lake.table, version, clock=lake.clock, **options)


def test_data_schema_and_properties_come_back(lake: Lake) -> None:
    old = {"owner": "me", "delta.appendOnly": "false"}
    lake.commit(
        0, [FEATURE_PROTOCOL, metadata(configuration=old), lake.add("a"), lake.add("b")], age_days=9
    )
    new = metadata(schemaString=OTHER_SCHEMA, configuration={"owner": "you"})
    lake.commit(1, [new, lake.remove("a", age_days=5), lake.add("c")], age_days=5)
    before = lake.table.snapshot(version=0)
    plan = restore(lake, 0)
    assert (planned(plan, "add"), planned(plan, "remove")) == (
        {"a": "it was part of version 0"},
        {"c": "it was not part of version 0"},
    )
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    assert receipt.undo == "restore to version 1"
    after = lake.table.snapshot()
    assert after.version == 2
    assert set(after.files(["path"])["path"].to_pylist()) == {"a", "b"}
    assert after.schema == before.schema
    assert after.metadata.configuration == old
    (entry,) = lake.table.history(1).to_pylist()
    assert entry["operation"] == "RESTORE"
    assert dict(entry["operation_metrics"]) == {
        "tableSizeAfterRestore": "200",
        "numOfFilesAfterRestore": "2",
        "numRemovedFiles": "1",
        "numRestoredFiles": "1",
        "removedFilesSize": "100",
        "restoredFilesSize": "100",
    }
    assert (lake.log.log / f"{2:020}.crc").is_file()


def test_file_comes_back_with_the_vector_that_it_had(lake: Lake) -> None:
    first, second = vector(), vector("ab^-aqEH.-t@S}K{vb[*k]")
    for found in (first, second):
        lake.file(parse_relative_place(found["pathOrInlineDv"]))
    stats = '{"numRecords":5}'
    lake.commit(
        0,
        [FEATURE_PROTOCOL, metadata(), lake.add("a", deletionVector=first, stats=stats)],
        age_days=9,
    )
    lake.commit(
        1,
        [
            lake.remove("a", age_days=5, deletionVector=first),
            lake.add("a", deletionVector=second, stats=stats),
        ],
        age_days=5,
    )
    plan = restore(lake, 0)
    reason = "in version 0 it had another deletion vector"
    assert planned(plan, "add") == {"a": reason}
    assert planned(plan, "remove") == {"a": f"replaced: {reason}"}
    assert lake.execute(plan).status == "completed"
    (row,) = lake.table.snapshot().files(["path", "deletion_vector"]).to_pylist()
    assert row["deletion_vector"]["path_or_inline_dv"] == first["pathOrInlineDv"]


@pytest.mark.parametrize("is_hidden_now", [True, False])
def test_file_that_gets_or_loses_a_vector_is_not_told_as_another_file(
    lake: Lake, is_hidden_now: bool
) -> None:
    known, hidden = lake.add("a"), lake.add("a", deletionVector=vector())
    lake.file(parse_relative_place(vector()["pathOrInlineDv"]))
    first, second = (known, hidden) if is_hidden_now else (hidden, known)
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), first], age_days=9)
    gone = {} if is_hidden_now else {"deletionVector": vector()}
    lake.commit(1, [lake.remove("a", age_days=5, **gone), second, lake.add("b")], age_days=5)
    plan = restore(lake, 0)
    which = "in version 0 it had " + ("no" if is_hidden_now else "a") + " deletion vector"
    assert planned(plan, "add") == {"a": which}
    assert planned(plan, "remove") == {
        "a": f"replaced: {which}",
        "b": "it was not part of version 0",
    }


@pytest.mark.parametrize("missing", ["data", "vector"])
def test_missing_file_is_found_before_the_commit(lake: Lake, missing: str) -> None:
    file = lake.file(parse_relative_place(vector()["pathOrInlineDv"]))
    lake.commit(
        0, [FEATURE_PROTOCOL, metadata(), lake.add("a b", deletionVector=vector())], age_days=9
    )
    lake.commit(1, [lake.remove("a b", age_days=5, deletionVector=vector())], age_days=5)
    assert outcome(restore(lake, 0), "files") == "allow"
    os.unlink(lake.root / ("a b" if missing == "data" else file))
    plan = restore(lake, 0)
    assert outcome(plan, "files") == "refuse"
    (said,) = (found.message for found in plan.refusals)
    assert said.startswith("1 file of version 0 is gone: ")
    assert "vacuum" not in said, "nobody knows who deleted it"
    assert lake.execute(plan).status == "refused"
    assert lake.table.latest_version() == 1


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table has so many files that they are listed, and none is asked for first."""
    for name in ("_FEW", "_FEW_REQUESTS"):
        monkeypatch.setattr(files_coming_back, name, 0)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("missing", ["data", "vector", None])
def test_of_many_files_those_that_a_listing_lacks_are_gone(lake: Lake, missing: str | None) -> None:
    file = lake.file(parse_relative_place(vector()["pathOrInlineDv"]))
    stats = '{"numRecords":5}'
    known = lake.add("part=x%20y/a%25b", deletionVector=vector(), stats=stats)
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), known, lake.add("b")], age_days=9)
    gone = lake.remove("part=x%20y/a%25b", age_days=5, deletionVector=vector())
    lake.commit(1, [gone], age_days=5)
    if missing is not None:
        os.unlink(lake.root / ("part=x y/a%b" if missing == "data" else file))
    plan = restore(lake, 0)
    assert outcome(plan, "files") == ("allow" if missing is None else "refuse")
    assert lake.execute(plan).status == ("completed" if missing is None else "refused")


@pytest.mark.usefixtures("many")
def test_file_below_a_link_is_there_although_no_listing_follows_it(
    lake: Lake, tmp_path: Path
) -> None:
    lake.commit(0, [PROTOCOL, metadata(), lake.add("sub/a"), lake.add("b")], age_days=9)
    lake.commit(1, [lake.add("c")], age_days=5)
    (lake.root / "sub").rename(tmp_path / "elsewhere")
    (lake.root / "sub").symlink_to(tmp_path / "elsewhere")
    assert outcome(restore(lake, 0), "files") == "allow"
    (tmp_path / "elsewhere" / "a").unlink()
    assert outcome(restore(lake, 0), "files") == "refuse"


@pytest.mark.slow
@pytest.mark.rule("file-remove-stats", "file-remove-tags", "file-add-tags")
@pytest.mark.parametrize("at", ["newest", "target", "both"])
def test_a_checkpoint_changes_no_word_of_what_is_restored(lake: Lake, at: str) -> None:
    tags = {"tags": {"made": "by hand"}}
    first = [lake.add(f"f{n}", stats=f'{{"numRecords":{n}}}', **tags) for n in range(8)]
    late = [lake.add(f"g{n}", stats=f'{{"numRecords":{n}}}', **tags) for n in range(5)]
    lake.commit(0, [PROTOCOL, metadata(), *first], age_days=9)
    gone = [lake.remove(f"f{n}", age_days=5) for n in (1, 6)]
    lake.commit(1, [*gone, *late], age_days=5)
    by_commits = restore(lake, 0, seed=UUID(int=1))
    left = [action for action in first if action["add"]["path"] not in {"f1", "f6"}]
    if at in {"target", "both"}:
        lake.log.checkpoint(0, [PROTOCOL, metadata(), *first], rows_per_group=3)
    if at in {"newest", "both"}:
        lake.log.checkpoint(1, [PROTOCOL, metadata(), *left, *late, *gone], rows_per_group=3)
    plan = restore(lake, 0, seed=UUID(int=1))
    assert plan.document == by_commits.document
    assert lake.execute(plan).status == "completed"
    lines = [json.loads(line) for line in (lake.log.log / f"{2:020}.json").read_text().splitlines()]
    assert sorted(line["add"]["path"] for line in lines if "add" in line) == ["f1", "f6"]
    bodies = [body for line in lines for kind, body in line.items() if kind in {"add", "remove"}]
    assert len(bodies) == 7
    for body in bodies:
        assert body["stats"] == f'{{"numRecords":{body["path"][1:]}}}'
        assert body["tags"] == {"made": "by hand"}


def test_planning_is_told_and_can_be_stopped_at_every_step(lake: Lake) -> None:
    lake.commit(0, [PROTOCOL, metadata(), lake.add("a")], age_days=9)
    lake.commit(1, [lake.remove("a", age_days=5), lake.add("b")], age_days=5)
    seen: list[Progress] = []
    restore(lake, 0, progress=seen.append)
    labels = {step.label for step in seen}
    assert labels >= {
        "Reading commits",
        "Comparing the files of both versions",
        "Reading the files that differ",
        "Looking for the files that come back",
        "Asking the rules of writers",
    }
    for label in labels:
        cancel = Cancel()

        def stop(step: Progress, at: str = label, cancel: Cancel = cancel) -> None:
            if step.label == at:
                cancel.cancel()

        with pytest.raises(CancelledError):
            restore(lake, 0, progress=stop, cancel=cancel)


def test_rows_that_came_since_make_the_plan_stale(lake: Lake) -> None:
    lake.commit(0, [PROTOCOL, metadata(), lake.add("a")], age_days=9)
    lake.commit(1, [lake.remove("a", age_days=5)], age_days=5)
    plan = restore(lake, 0)
    lake.commit(2, [lake.add("b")], age_days=0)
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert lake.table.latest_version() == 2


def test_append_only_table_is_not_restored(lake: Lake) -> None:
    conf = {"delta.appendOnly": "true"}
    lake.commit(0, [PROTOCOL, metadata(configuration=conf), lake.add("a")], age_days=9)
    lake.commit(1, [lake.add("b")], age_days=5)
    plan = restore(lake, 0)
    assert outcome(plan, "commit") == "refuse"


def test_feature_that_was_dropped_since_refuses(lake: Lake) -> None:
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), lake.add("a")], age_days=9)
    lake.commit(1, [PROTOCOL, lake.add("b")], age_days=5)
    assert outcome(restore(lake, 0), "protocol") == "refuse"


def test_restore_by_time_takes_the_version_of_that_time(lake: Lake) -> None:
    for version in range(3):
        first = [PROTOCOL, metadata()] if version == 0 else []
        lake.commit(version, [*first, lake.add(str(version))], age_days=9 - version)
    moment = "2026-05-20T12:00:00Z"
    lake.log.time(0, 1_779_000_000_000)
    assert ms_ago(8) > 1_779_000_000_000
    plan = restore(lake, timestamp=moment)
    assert plan.parameters["version"] == 0
    with pytest.raises(InvalidArgumentError, match="nothing to restore to"):
        restore(lake)
    with pytest.raises(NotFoundError):
        restore(lake, 17)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["a"], "0 files return, 1 file is removed."),
        (["a", "b"], "0 files return, 2 files are removed."),
    ],
)
def test_summary_counts_files_in_plain_english(lake: Lake, names: list[str], says: str) -> None:
    lake.commit(0, [PROTOCOL, metadata()], age_days=9)
    lake.commit(1, [lake.add(name) for name in names], age_days=5)
    assert says in restore(lake, 0).summary


def test_restoring_what_is_there_has_no_steps(lake: Lake) -> None:
    lake.commit(0, [PROTOCOL, metadata(), lake.add("a")], age_days=9)
    lake.commit(1, [{"commitInfo": {"operation": "VACUUM END"}}], age_days=5)
    assert restore(lake, 0).steps == ()


def test_checkpoint_that_is_due_is_a_step_of_the_plan(lake: Lake) -> None:
    conf = {"delta.checkpointInterval": "2"}
    lake.commit(0, [PROTOCOL, metadata(configuration=conf), lake.add("a")], age_days=9)
    lake.commit(1, [lake.add("b")], age_days=5)
    plan = restore(lake, 0)
    assert [step.kind for step in plan.steps] == ["commit", "write_checksum", "write_checkpoint"]
    assert lake.execute(plan).status == "completed"
    segment = lake.table.snapshot().segment
    assert segment.checkpoint is not None
    assert segment.checkpoint.version == 2


def clustered_by(*columns: str) -> dict[str, Any]:
    body = json.dumps({"clusteringColumns": [[name] for name in columns]})
    found = {"domain": "delta.clustering", "configuration": body, "removed": False}
    return {"domainMetadata": found}


CLUSTERED = {
    "protocol": {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["clustering", "domainMetadata"],
    }
}
COUNTED = '{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0}}'


@pytest.mark.rule("clustering-new-column-stats", "clustering-domain", "clustering-config-json")
@pytest.mark.parametrize(
    ("stats", "said"), [(COUNTED, "allow"), ('{"numRecords":2}', "refuse"), (None, "refuse")]
)
def test_clustering_comes_back_where_every_file_has_statistics_of_its_columns(
    lake: Lake, stats: str | None, said: str
) -> None:
    kept = lake.add("kept", **({} if stats is None else {"stats": stats}))
    lake.commit(0, [CLUSTERED, metadata(), clustered_by("id"), kept], age_days=9)
    lake.commit(1, [clustered_by(), lake.add("later")], age_days=5)
    plan = restore(lake, 0)
    # the file that has none, or has them, is part of both versions: no action speaks of it
    assert planned(plan, "add") == {}
    assert outcome(plan, "commit") == said
    receipt = lake.execute(plan)
    assert receipt.status == ("completed" if said == "allow" else "refused")
    found = json.loads(lake.table.snapshot().domains["delta.clustering"].configuration)
    assert found == {"clusteringColumns": [["id"]] if said == "allow" else []}


@pytest.mark.rule("action-domain-removed-preimage")
def test_clustering_that_a_version_did_not_have_goes_and_says_what_it_was(lake: Lake) -> None:
    lake.commit(0, [CLUSTERED, metadata(), lake.add("a", stats=COUNTED)], age_days=9)
    lake.commit(1, [clustered_by("id")], age_days=5)
    plan = restore(lake, 0)
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    assert lake.table.snapshot().domains == {}
    (line,) = (
        json.loads(line)
        for line in (lake.log.log / f"{2:020}.json").read_text().splitlines()
        if "domainMetadata" in line
    )
    was = clustered_by("id")["domainMetadata"]["configuration"]
    assert line["domainMetadata"]["configuration"] == was
    assert line["domainMetadata"]["removed"] is True


TRACKED = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors", "rowTracking", "domainMetadata"],
    }
}
MARK = {"domainMetadata": {"domain": "delta.rowTracking", "removed": False}}


@pytest.mark.rule("file-add-tags", "file-add-baserowid", "file-add-defaultrowcommitversion")
@pytest.mark.rule("file-remove-tags", "file-remove-baserowid", "file-remove-deletionvector")
@pytest.mark.rule("file-remove-defaultrowcommitversion", "row-write-recommit-base")
@pytest.mark.rule("row-write-recommit-commit-version", "row-stable-id", "row-stable-commit-version")
def test_files_come_back_and_leave_with_everything_that_was_known_of_them(lake: Lake) -> None:
    hidden = vector()
    lake.file(parse_relative_place(hidden["pathOrInlineDv"]))
    known = {"tags": {"made": "by hand"}, "defaultRowCommitVersion": 0}
    old = lake.add("old", stats='{"numRecords":5}', baseRowId=0, **known)
    stats = '{"numRecords":5,"tightBounds":false}'
    new = lake.add("new", stats=stats, baseRowId=5, deletionVector=hidden, **known)
    mark = {**MARK["domainMetadata"], "configuration": '{"rowIdHighWaterMark":9}'}
    lake.commit(0, [TRACKED, metadata(), {"domainMetadata": mark}, old], age_days=9)
    gone = lake.remove("old", age_days=5, baseRowId=0, **known)
    lake.commit(1, [new, gone], age_days=5)
    receipt = lake.execute(restore(lake, 0))
    assert receipt.status == "completed", receipt.problem
    lines = (lake.log.log / f"{2:020}.json").read_text().splitlines()
    (back,) = (json.loads(line)["add"] for line in lines if line.startswith('{"add"'))
    (left,) = (json.loads(line)["remove"] for line in lines if line.startswith('{"remove"'))
    assert (back["path"], left["path"]) == ("old", "new")
    for body, ids in ((back, 0), (left, 5)):
        assert body["tags"] == {"made": "by hand"}
        assert (body["baseRowId"], body["defaultRowCommitVersion"]) == (ids, 0)
    assert left["deletionVector"] == hidden
    assert left["extendedFileMetadata"] is True
    assert left["size"] == 100


@pytest.mark.rule("row-write-unique-fresh", "row-write-no-duplicates")
@pytest.mark.parametrize("again", [False, True], ids=["tracked all along", "tracked anew"])
def test_rows_that_come_back_have_no_id_that_others_have_by_now(lake: Lake, again: bool) -> None:
    """Where row tracking was dropped and enabled again in between, ids began anew."""

    def tracked(name: str) -> dict[str, Any]:
        names = {
            "delta.rowTracking.materializedRowIdColumnName": f"_id-{name}",
            "delta.rowTracking.materializedRowCommitVersionColumnName": f"_version-{name}",
        }
        return metadata(configuration={"delta.enableRowTracking": "true", **names})

    def marked(mark: int) -> dict[str, Any]:
        said = {"configuration": json.dumps({"rowIdHighWaterMark": mark})}
        return {"domainMetadata": {**MARK["domainMetadata"], **said}}

    stats, version = '{"numRecords":5}', {"defaultRowCommitVersion": 0}
    old = lake.add("old", stats=stats, baseRowId=0, **version)
    stays = lake.add("stays", stats=stats, baseRowId=5, **version)
    lake.commit(0, [TRACKED, tracked("first"), marked(9), old, stays], age_days=9)
    lake.commit(1, [lake.remove("old", age_days=5, baseRowId=0, **version)], age_days=5)
    if again:
        anew = {"add": {**stays["add"], "baseRowId": 0, "dataChange": False}}
        lake.commit(2, [tracked("second"), marked(4), anew], age_days=4)
    receipt = lake.execute(restore(lake, 0))
    assert receipt.status == "completed", receipt.problem
    files = lake.table.snapshot().files(["path", "base_row_id"])
    ids = dict(zip(*files.to_pydict().values(), strict=True))
    assert ids == ({"old": 5, "stays": 0} if again else {"old": 0, "stays": 5})
