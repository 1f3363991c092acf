"""What a commit did, in one sentence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from explorer.inspect.commits._operation_words import _TOLD, CommitCounts
from tests.tables import PROTOCOL, LogFolder, metadata


def told(
    operation: str | None,
    parameters: dict[str, str | None] | None = None,
    metrics: dict[str, str | None] | None = None,
    counts: CommitCounts | None = None,
) -> str:
    return look.commit_sentence(operation, parameters, metrics, None, counts).did


RANGE = '["((customer_id#62L >= 16576) AND (customer_id#62L < 16696))"]'
MERGE = '["(s.order_id = t.order_id)"]'


@pytest.mark.parametrize(
    ("operation", "parameters", "metrics", "sentence"),
    [
        (
            "DELETE",
            {"predicate": RANGE},
            {"numDeletedRows": "505"},
            "deleted 505 rows where customer_id is between 16576 and 16695",
        ),
        # of a number that need not be whole the last one below the bound is not known
        (
            "DELETE",
            {"predicate": '["((amount#6 >= 1) AND (amount#6 < 9))"]'},
            {"numDeletedRows": "1"},
            "deleted 1 row where amount is at least 1 and below 9",
        ),
        ("DELETE", {"predicate": '["(id#1 = 3)"]'}, {}, "deleted rows where id = 3"),
        ("DELETE", {"predicate": "[]"}, {"numDeletedRows": "7"}, "deleted all 7 rows"),
        ("DELETE", {"predicate": '["true"]'}, {}, "deleted all rows"),
        ("TRUNCATE", {}, {}, "deleted all rows"),
        (
            "UPDATE",
            {"predicate": '["((a#1 = x) AND ((b#2 = y) OR (c#3 = z)))"]'},
            {"numUpdatedRows": "0"},
            "updated no rows where a = x and ((b = y) OR (c = z))",
        ),
        (
            "MERGE",
            {"predicate": MERGE},
            {
                "numTargetRowsInserted": "66",
                "numTargetRowsUpdated": "379",
                "numTargetRowsDeleted": "1",
            },
            "inserted 66, updated 379 and deleted 1 row by a merge on s.order_id = t.order_id",
        ),
        ("MERGE", {}, {}, "changed rows by a merge"),
        ("WRITE", {"mode": "Append"}, {"numOutputRows": "1"}, "added 1 row"),
        ("WRITE", {"mode": "Append"}, {"num_added_rows": "2"}, "added 2 rows"),
        (
            "WRITE",
            {"mode": "Overwrite", "predicate": "day = '2026-11-01'"},
            {"numOutputRows": "6"},
            "overwrote the rows where day = '2026-11-01' with 6 rows",
        ),
        (
            "UPDATE",
            {"predicate": '["((at#6 >= 2026-10-26 16:47:42) AND (at#6 < 2026-10-28 16:47:42))"]'},
            {"numUpdatedRows": "8"},
            (
                "updated 8 rows where at is at least 2026-10-26 16:47:42 and below "
                "2026-10-28 16:47:42 (time zone not recorded)"
            ),
        ),
        (
            "UPDATE",
            {"predicate": "at >= '2026-10-26 16:47:42Z'"},
            {"numUpdatedRows": "8"},
            "updated 8 rows where at >= '2026-10-26 16:47:42Z'",
        ),
        ("WRITE", {"mode": "Overwrite"}, {}, "overwrote the table with rows"),
        (
            "STREAMING UPDATE",
            {"outputMode": "Append", "epochId": "26"},
            {"numOutputRows": "332"},
            "added 332 rows from a stream, batch 26",
        ),
        (
            "OPTIMIZE",
            {"predicate": "[]", "zOrderBy": '["day","id"]'},
            {"numRemovedFiles": "71", "numAddedFiles": "6"},
            "rewrote 71 files into 6 without changing rows, ordered by day and id",
        ),
        (
            "VACUUM END",
            {"status": "FAILED"},
            {},
            "vacuumed files from storage, which ended as FAILED",
        ),
        (
            "RESTORE",
            {"version": "4", "timestamp": None},
            {"numRestoredFiles": "7", "numRemovedFiles": "2"},
            "restored version 4: 7 files restored, 2 removed",
        ),
        (
            "SET TBLPROPERTIES",
            {"properties": '{"a":"1","b":"2","c":"3","d":"4"}'},
            {},
            "set a = 1, b = 2, c = 3 and 1 more property",
        ),
        (
            "ADD COLUMNS",
            {"columns": '[{"column":{"name":"channel","type":"string"}}]'},
            {},
            "added the column channel",
        ),
        (
            "CLUSTER BY",
            {"oldClusteringColumns": "id", "newClusteringColumns": ""},
            {},
            "changed the clustering columns from id to none",
        ),
        (
            "CREATE TABLE",
            {"partitionBy": '["country"]'},
            {},
            "created the table, partitioned by country",
        ),
        (
            "CREATE TABLE",
            {"partitionBy": '["p q", "r"]'},
            {},
            "created the table, partitioned by `p q` and r",
        ),
        (
            "UPGRADE PROTOCOL",
            {"newProtocol": '{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["x"]}'},
            {},
            "changed the protocol to reader 1, writer 7 with x",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_commit_is_told_by_what_its_writer_recorded(
    operation: str, parameters: dict[str, str | None], metrics: dict[str, str | None], sentence: str
) -> None:
    assert told(operation, parameters, metrics) == sentence


def test_counts_of_the_actions_take_the_place_of_metrics_that_are_missing() -> None:
    counts = CommitCounts(rows_added=0, rows_removed=12, files_added=1, files_removed=2)
    where = {"predicate": '["(id#1 = 3)"]'}
    assert told("DELETE", where, {}, counts) == "deleted 12 rows where id = 3"
    assert told("DELETE", where, {"numDeletedRows": "-1"}, counts) == "deleted 12 rows where id = 3"
    assert told("POLISH", {}, {}, counts) == (
        "ran POLISH: 12 rows removed, 1 file added, 2 files removed"
    )
    assert told(None, {}, {}, counts).startswith("committed 12 rows removed, 1 file added")


def test_rows_of_files_that_were_rewritten_are_not_told_as_rows_that_changed() -> None:
    where = {"predicate": '["(id#1 = 3)"]'}
    counts = CommitCounts(rows_added=97, rows_removed=100, files_added=1, files_removed=1)
    assert told("DELETE", where, {}, counts) == "deleted 3 rows where id = 3"
    assert told("UPDATE", where, {}, counts) == "updated rows where id = 3"
    assert told("UPDATE", {}, {}, counts) == "updated all rows"
    half = CommitCounts(rows_removed=100)
    assert told("DELETE", where, {}, half) == "deleted rows where id = 3"
    assert told("TRUNCATE", {}, {}, half) == "deleted all rows"
    more = CommitCounts(rows_added=9, rows_removed=1)
    assert told("DELETE", where, {}, more) == "deleted rows where id = 3"


def test_every_operation_is_told_without_parameters_metrics_or_counts() -> None:
    """Nothing of them is promised, and what is there may be of any form."""
    for operation in [*_TOLD, "SOMETHING NEW"]:
        for text in (None, "", "null", "[", "{}", "[]", "[1]", '{"a":[]}', "7" * 40):
            names = ("predicate", "columns", "properties", "newProtocol", "version", "zOrderBy")
            did = told(operation, dict.fromkeys(names, text), {"numDeletedRows": text})
            assert did, operation
            assert did.split()[0].islower(), did


@pytest.mark.parametrize("features", ["5", "true", '"abc"', '{"a": 1}', "[5, [1]]"])
def test_features_that_are_no_list_of_names_are_not_told(features: str) -> None:
    asked = f'{{"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": {features}}}'
    did = told("UPGRADE PROTOCOL", {"newProtocol": asked})
    assert did == "changed the protocol to reader 3, writer 7"
    asked = asked.replace("3", "true")
    assert told("UPGRADE PROTOCOL", {"newProtocol": asked}) == "changed the protocol"


def test_the_user_is_named_before_the_sign_of_an_address() -> None:
    def sentence(user: str | None) -> str:
        return look.commit_sentence("TRUNCATE", {}, {}, user).text

    assert sentence("ben.osei@shop.example") == "ben.osei deleted all rows"
    assert sentence("nightly @ work") == "nightly @ work deleted all rows"
    assert sentence(None) == "Deleted all rows"


def test_a_long_condition_is_cut() -> None:
    where = {"predicate": f'["(name#1 = {"x" * 5_000})"]'}
    assert len(told("DELETE", where)) <= 400


def test_a_condition_of_very_many_brackets_is_told_as_it_was_written() -> None:
    """Taking each apart would look through all of it as often."""
    many = "(" * 1_500 + "a#1 = 1" + ")" * 1_500
    start = time.process_time()
    assert look.commit_condition({"predicate": many}) == many.replace("#1", "")
    assert told("DELETE", {"predicate": many}).startswith("deleted rows where (((((")
    assert time.process_time() - start < 0.1
    few = "(" * 50 + "a#1 = 1" + ")" * 50
    assert look.commit_condition({"predicate": few}) == "a = 1"


@pytest.mark.parametrize(
    ("predicate", "condition"),
    [
        ("ref#7 = 'order#12' AND b#3L = 1", "ref = 'order#12' AND b = 1"),
        ('ref = "a#1" OR `col#2`#5L > 3', 'ref = "a#1" OR `col#2` > 3'),
        ("name#1 = O'Brien AND b#2 = 1", "name = O'Brien AND b = 1"),
        ("((a#1 >= 1 OR b#2 = 3) AND (a#1 < 9))", "(a >= 1 OR b = 3) and a < 9"),
        ("((a#1 >= 1) AND (a#1 < 9 OR b#2 = 3))", "a >= 1 and (a < 9 OR b = 3)"),
    ],
)
def test_quoted_text_stays_and_an_or_is_no_part_of_a_bound(predicate: str, condition: str) -> None:
    assert told("DELETE", {"predicate": predicate}) == f"deleted rows where {condition}"


def test_history_and_timeline_hold_conditions_without_ids(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    info = {
        "operation": "DELETE",
        "operationParameters": {"predicate": RANGE},
        "operationMetrics": {"numDeletedRows": "505"},
        "userName": "ben.osei",
        "userMetadata": "asked by support",
    }
    folder.commit(0, [PROTOCOL, metadata(), {"commitInfo": info}])
    table = explorer.open_table(folder.root)
    (sentence,) = look.history_sentences(table.history())
    assert sentence.text == "ben.osei deleted 505 rows where customer_id is between 16576 and 16695"
    row = look.timeline(table)
    assert row["predicate"].to_pylist() == ["((customer_id >= 16576) AND (customer_id < 16696))"]
    assert row["message"].to_pylist() == ["asked by support"]
    assert look.commit_condition(info["operationParameters"]) == (
        "customer_id >= 16576 AND customer_id < 16696"
    )
