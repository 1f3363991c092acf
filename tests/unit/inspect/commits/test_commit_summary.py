"""The figures of one commit, from its bytes."""

from __future__ import annotations

import gc
import json
from typing import Any

import orjson
import pytest

from explorer.inspect.commits._commit_summary import CommitSummary, parse_summary
from tests.tables import Action, add, remove, vector

NAME = "00000000000000000007.json"


def summary_of(*actions: Action) -> CommitSummary:
    return parse_summary("".join(json.dumps(action) + "\n" for action in actions).encode(), NAME)


def info(operation: str, **metrics: Any) -> Action:
    return {"commitInfo": {"operation": operation, "operationMetrics": metrics}}


def records(count: int) -> str:
    return json.dumps({"numRecords": count, "minValues": {"numRecords": 3}})


def test_an_append_counts_files_bytes_and_rows_of_its_adds() -> None:
    found = summary_of(
        info("WRITE"),
        add("a", size=10, stats=records(4)),
        add("b", size=20, stats=records(5)),
    )
    assert (found.files_added, found.bytes_added, found.rows_added) == (2, 30, 9)
    assert (found.files_removed, found.bytes_removed, found.rows_removed) == (0, 0, 0)
    assert found.problem is None


def test_rows_without_statistics_are_unknown_and_not_zero() -> None:
    found = summary_of(info("WRITE"), add("a", stats=records(4)), add("b"))
    assert found.rows_added is None


def test_rows_beyond_64_bits_are_unknown() -> None:
    """What a column of the timeline cannot hold would keep all of it from being read."""
    most = 2**63 - 1
    found = summary_of(
        remove("a", stats=records(most)),
        remove("b"),
        add("b", stats=records(9), deletionVector=vector("new", cardinality=1)),
    )
    assert found.rows_removed is None
    assert found.problem is None
    merged = info(
        "MERGE", numTargetRowsInserted=most, numTargetRowsUpdated=1, numTargetRowsDeleted=0
    )
    assert summary_of(merged, add("c", stats=records(4))).rows_added == 4


def test_rows_without_statistics_are_those_that_the_writer_recorded() -> None:
    assert summary_of(info("WRITE", numOutputRows="40"), add("a")).rows_added == 40


@pytest.mark.rule("file-remove-size", "older-003-remove-fields")
def test_bytes_of_a_remove_without_size_are_unknown_and_not_zero() -> None:
    found = summary_of(info("DELETE"), remove("a", size=10), remove("b"))
    assert (found.files_removed, found.bytes_removed, found.rows_removed) == (2, None, None)


@pytest.mark.rule("file-add-and-remove-same-path")
def test_a_new_deletion_vector_is_no_new_file_and_removes_the_rows_it_hides_more() -> None:
    found = summary_of(
        remove("a", size=10, deletionVector=vector("old", cardinality=2)),
        add("a", size=10, stats=records(9), deletionVector=vector("new", cardinality=5)),
    )
    assert (found.files_added, found.files_removed) == (0, 0)
    assert (found.bytes_added, found.bytes_removed) == (0, 0)
    assert (found.rows_added, found.rows_removed) == (0, 3)
    assert found.deletion_vectors_added == 1


def test_taking_a_deletion_vector_away_adds_its_rows_back() -> None:
    found = summary_of(
        remove("a", deletionVector=vector(cardinality=2)), add("a", stats=records(9))
    )
    assert (found.rows_added, found.rows_removed, found.deletion_vectors_added) == (2, 0, 0)


def test_a_file_added_with_a_vector_adds_only_its_visible_rows() -> None:
    found = summary_of(add("a", stats=records(9), deletionVector=vector(cardinality=2)))
    assert (found.rows_added, found.deletion_vectors_added) == (7, 1)


@pytest.mark.rule("file-datachange-false")
def test_rearranged_files_add_and_remove_no_rows() -> None:
    found = summary_of(
        info("OPTIMIZE"),
        remove("a", dataChange=False, size=10),
        add("b", dataChange=False, size=9, stats=records(4)),
    )
    assert (found.files_added, found.files_removed) == (1, 1)
    assert (found.rows_added, found.rows_removed) == (0, 0)


@pytest.mark.parametrize(
    ("operation", "metrics", "rows"),
    [
        ("DELETE", {"numDeletedRows": "3", "numCopiedRows": "90"}, (0, 3)),
        ("DELETE", {"num_deleted_rows": 3}, (0, 3)),
        ("UPDATE", {"numUpdatedRows": "2"}, (2, 2)),
        (
            "MERGE",
            {
                "numTargetRowsInserted": "5",
                "numTargetRowsUpdated": "2",
                "numTargetRowsDeleted": "1",
            },
            (7, 3),
        ),
    ],
    ids=["delete", "delete by delta-rs", "update", "merge"],
)
def test_rows_of_a_rewrite_are_those_that_changed(
    operation: str, metrics: dict[str, Any], rows: tuple[int, int]
) -> None:
    rewritten = add("b", stats=records(90))
    found = summary_of(info(operation, **metrics), remove("a", size=1), rewritten)
    assert (found.rows_added, found.rows_removed) == rows


@pytest.mark.parametrize("value", ["-1", "many", "9" * 30, True, None, [1], -4])
def test_a_metric_that_is_no_count_is_not_believed(value: Any) -> None:
    found = summary_of(info("DELETE", numDeletedRows=value), remove("a", size=1))
    assert found.rows_removed is None


def test_kinds_of_actions_and_provenance_are_noted() -> None:
    body = {"operation": "WRITE", "userName": "ana", "engineInfo": "E", "inCommitTimestamp": 5}
    found = summary_of(
        {"commitInfo": body}, {"protocol": {}}, {"metaData": {}}, {"cdc": {}}, {"future": {}}
    )
    assert (found.operation, found.user_name, found.engine_info) == ("WRITE", "ana", "E")
    assert found.in_commit_timestamp == 5
    assert (found.has_protocol, found.has_metadata, found.has_cdc) == (True, True, True)


def test_provenance_of_the_wrong_type_is_unknown() -> None:
    found = summary_of(
        {"commitInfo": {"operation": 7, "userName": ["x"], "operationMetrics": "no"}}, add("a")
    )
    assert (found.operation, found.user_name, found.problem) == (None, None, None)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"add":{"path":"b"', "not JSON"),
        (b"[1,2]", "not an object"),
        (b'{"add":{"path":"b","size":"12"}}', "`add.size`"),
        (b'{"add":{"path":"b"}}', "`add.size`"),
        (b'{"add":{"path":7,"size":1}}', "no path"),
        (b'{"remove":{"path":"b","size":true}}', "`remove.size`"),
        (b"[" * 100_000, "not JSON"),
    ],
    ids=["cut", "array", "text size", "no size", "path", "bool size", "deep"],
)
def test_a_broken_line_leaves_figures_unknown_and_names_its_place(line: bytes, says: str) -> None:
    first = json.dumps(info("WRITE")).encode()
    found = parse_summary(first + b"\n" + line + b"\n", NAME)
    assert found.problem is not None
    assert f"{NAME}:2" in found.problem
    assert says in found.problem
    assert found.operation == "WRITE"
    assert (found.files_added, found.rows_added, found.bytes_removed) == (None, None, None)


@pytest.mark.parametrize("data", [b"", b"\n\n", b" " * 200])
def test_a_commit_without_any_action_is_a_problem(data: bytes) -> None:
    assert "no action" in str(parse_summary(data, NAME).problem)


@pytest.mark.slow
def test_a_commit_of_many_actions_leaves_no_objects_behind() -> None:
    lines = [json.dumps(add(f"file-{at}", stats=records(1))) for at in range(20_000)]
    data = "\n".join(lines).encode()
    parse_summary(b"{}", NAME)
    gc.collect()
    before = len(gc.get_objects())
    found = parse_summary(data, NAME)
    gc.collect()
    assert found.files_added == 20_000
    assert len(gc.get_objects()) - before < 50


def test_commits_with_metadata_tell_their_schemas_apart() -> None:
    def fingerprint(**metadata: object) -> str | None:
        line = orjson.dumps({"metaData": {"id": "t", **metadata}})
        return parse_summary(line, "0.json").schema_fingerprint

    assert fingerprint(schemaString="a") == fingerprint(schemaString="a", name="other")
    assert fingerprint(schemaString="a") != fingerprint(schemaString="b")
    assert fingerprint() is None
    assert parse_summary(b'{"txn":{"appId":"a","version":1}}', "0.json").schema_fingerprint is None
