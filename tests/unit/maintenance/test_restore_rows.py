"""A restore says first what becomes of rows and columns, and asks for the table's name where
rows are removed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from explorer import maintenance
from explorer.maintenance import Approval, Plan, plan_restore
from explorer.maintenance import _restore_effect as restore_effect
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from explorer.table.table import Table
from tests.data_tables import field, mapped, struct
from tests.tables import FEATURE_PROTOCOL, Action, metadata, vector
from tests.unit.maintenance.lake import Lake, outcome


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def restore(lake: Lake, version: int = 0) -> Plan:
    return plan_restore(lake.table, version, clock=lake.clock)


MAPPED = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping"],
        "writerFeatures": ["columnMapping"],
    }
}


def moved(plan: Plan) -> tuple[Any, ...]:
    """Rows removed and returned, and whether these are upper bounds."""
    return tuple(plan.effect[f"rows_{name}"] for name in ("removed", "returned", "at_most"))


def rows(number: int) -> str:
    return json.dumps({"numRecords": number})


def hides(positions: Iterable[int]) -> dict[str, Any]:
    return render_descriptor(build_inline_descriptor(positions))


def start(lake: Lake, *actions: Action) -> None:
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), *actions], age_days=9)


def test_rows_come_first_and_the_name_alone_is_asked_for_where_some_are_removed(
    lake: Lake,
) -> None:
    start(lake, lake.add("a", stats=rows(5)))
    more = [lake.add("b", stats=rows(1000)), lake.add("c", stats=rows(200))]
    lake.commit(1, more, age_days=5)
    plan = restore(lake)
    assert plan.summary.startswith("1,200 rows are removed and 0 return. Restores version 0")
    assert moved(plan) == (1200, 0, False)
    assert outcome(plan, "rows") == "warn"
    assert (plan.asks_for_name, plan.asks_for_reason) == (True, False)
    for approval in (Approval(plan.digest), Approval(plan.digest, table_name="order", reason="x")):
        receipt = lake.execute(plan, approval=approval)
        assert receipt.status == "refused"
        assert receipt.problem is not None
        assert receipt.problem.reason.endswith("the table's name, orders.")
        assert "--reason" not in receipt.problem.remedy
        assert lake.table.latest_version() == 1
    approval = Approval(plan.digest, table_name="orders")
    assert lake.execute(plan, approval=approval).status == "completed"
    assert lake.table.snapshot().num_rows == 5


def test_rows_that_only_return_ask_for_nothing(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(5)), lake.add("b", stats=rows(7)))
    lake.commit(1, [lake.remove("b", age_days=5)], age_days=5)
    plan = restore(lake)
    assert plan.summary.startswith("0 rows are removed and 7 return. ")
    assert outcome(plan, "rows") == "allow"
    assert not plan.asks_for_name


@pytest.mark.parametrize(
    ("then", "now", "removed", "returned"),
    [
        (None, [1, 2], 0, 2),
        ([1, 2], None, 2, 0),
        ([1, 2, 3], [3, 4], 2, 1),
        ([1], [1, 5], 0, 1),
    ],
)
def test_vectors_of_one_file_are_compared_row_by_row(
    lake: Lake,
    then: list[int] | None,
    now: list[int] | None,
    removed: int,
    returned: int,
) -> None:
    # `then` hides rows that are shown now: these are removed
    fields = [{} if hidden is None else {"deletionVector": hides(hidden)} for hidden in (then, now)]
    start(lake, lake.add("a", stats=rows(10), **fields[0]))
    gone = lake.remove("a", age_days=5, **fields[0])
    lake.commit(1, [gone, lake.add("a", stats=rows(10), **fields[1])], age_days=5)
    plan = restore(lake)
    assert moved(plan) == (removed, returned, False)
    assert plan.asks_for_name == bool(removed)


def test_rows_written_again_in_between_make_the_counts_upper_bounds(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(10)))
    lake.commit(1, [lake.remove("a", age_days=5), lake.add("b", stats=rows(9))], age_days=5)
    plan = restore(lake)
    assert moved(plan) == (9, 10, True)
    assert plan.summary.startswith(
        "At most 9 rows are removed and 10 return, 1 more in all: rows that were written again in "
        "between count on both sides. "
    )
    assert plan.asks_for_name


def test_rows_that_a_vector_hid_and_another_file_got_make_the_counts_upper_bounds(
    lake: Lake,
) -> None:
    """An UPDATE with deletion vectors: no file leaves the table, and yet no row is lost."""
    start(lake, lake.add("a", stats=rows(10)))
    hidden = lake.add("a", stats=rows(10), deletionVector=hides([1, 2, 3]))
    written = lake.add("b", stats=rows(3))
    lake.commit(1, [lake.remove("a", age_days=5), hidden, written], age_days=5)
    plan = restore(lake)
    assert moved(plan) == (3, 3, True)
    assert plan.summary.startswith("At most 3 rows are removed and 3 return")
    # rows that were only added, and none that return, are counted
    lake.commit(2, [lake.add("c", stats=rows(4))], age_days=4)
    assert moved(restore(lake, 1)) == (4, 0, False)


def test_undoing_an_optimize_removes_no_row(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(10)), lake.add("b", stats=rows(5)))
    moves = {"dataChange": False}
    gone = [lake.remove(name, age_days=5, **moves) for name in "ab"]
    lake.commit(1, [*gone, lake.add("c", stats=rows(15), **moves)], age_days=5)
    plan = restore(lake)
    assert moved(plan) == (0, 0, False)
    assert not plan.asks_for_name


def test_rows_appended_before_an_optimize_are_not_taken_for_rearranged(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(10)))
    lake.commit(1, [lake.add("b", stats=rows(5)), lake.remove("a", age_days=5)], age_days=5)
    moves = {"dataChange": False}
    both = [lake.remove("b", age_days=4, **moves), lake.add("c", stats=rows(10), **moves)]
    lake.commit(2, both, age_days=4)
    assert moved(restore(lake)) == (10, 10, True)


def test_what_nobody_counted_is_told_as_unknown_with_the_reason(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(10)), lake.add("x", stats=rows(3)))
    lake.commit(1, [lake.add("b"), lake.remove("x", age_days=5)], age_days=5)
    plan = restore(lake)
    assert plan.effect["rows_removed"] is None
    assert plan.effect["rows_returned"] == 3
    assert plan.summary.startswith(
        "3 rows return. How many rows are removed is not known: 1 file does not say how many rows "
        "there are, such as 'b'. "
    )
    assert plan.asks_for_name


def test_vector_that_cannot_be_read_makes_the_rows_unknown(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(10), deletionVector=vector()))
    gone = lake.remove("a", age_days=5, deletionVector=vector())
    new = lake.add("a", stats=rows(10), deletionVector=hides([1]))
    lake.commit(1, [gone, new], age_days=5)
    plan = restore(lake)
    assert (plan.effect["rows_removed"], plan.effect["rows_returned"]) == (None, None)
    assert plan.effect["rows_unknown"] == "A deletion vector's file does not exist."
    assert plan.asks_for_name


def test_vectors_too_many_to_read_make_the_rows_unknown(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore_effect, "MOST_VECTORS", 0)
    start(lake, lake.add("a", stats=rows(10), deletionVector=hides([1])))
    gone = lake.remove("a", age_days=5, deletionVector=hides([1]))
    lake.commit(1, [gone, lake.add("a", stats=rows(10), deletionVector=hides([2]))], age_days=5)
    plan = restore(lake)
    assert (plan.effect["rows_removed"], plan.effect["rows_returned"]) == (None, None)
    assert plan.effect["rows_unknown"] == (
        "1 file has another deletion vector, too many to compare."
    )
    assert plan.asks_for_name


def test_columns_that_are_removed_and_that_return_are_named(lake: Lake) -> None:
    before = struct(
        field("id", "long"), field("old", "string"), field("s", struct(field("x", "long")))
    )
    after = struct(
        field("id", "long"), field("new.er", "long"), field("s", struct(field("y", "long")))
    )
    for version, schema in enumerate((before, after)):
        first = [FEATURE_PROTOCOL] if not version else []
        lake.commit(version, [*first, metadata(schemaString=json.dumps(schema))], age_days=5)
    plan = restore(lake)
    assert plan.effect["columns_removed"] == ["`new.er`", "s.y"]
    assert plan.effect["columns_returned"] == ["s.x", "old"]
    assert "Columns: `new.er`, s.y are removed; s.x, old return. " in plan.summary


@pytest.mark.rule("mapping-id")
def test_a_column_that_was_dropped_and_added_again_since_is_removed_and_returns(
    lake: Lake,
) -> None:
    before = struct(field("id", "long"), field("v", "long"))
    after = struct(mapped("id", "long", "id", 1), mapped("v", "long", "col-1", 3))
    conf = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    for version, (schema, configuration) in enumerate(((before, {}), (after, conf))):
        body = metadata(schemaString=json.dumps(schema), configuration=configuration)
        lake.commit(version, [MAPPED, body], age_days=5)
    plan = restore(lake)
    assert (plan.effect["columns_removed"], plan.effect["columns_returned"]) == (["v"], ["v"])


def test_column_that_was_renamed_and_one_that_was_widened_are_as_before(lake: Lake) -> None:
    before = struct(mapped("a", "long", "p", 1), mapped("w", "integer", "q", 2))
    after = struct(mapped("b", "long", "p", 1), mapped("w", "long", "q", 2))
    conf = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    for version, schema in enumerate((before, after)):
        first = [] if version else [MAPPED]
        body = metadata(schemaString=json.dumps(schema), configuration=conf)
        lake.commit(version, [*first, body], age_days=5)
    plan = restore(lake)
    assert plan.effect["columns_changed"] == ["a", "w"]
    assert "Columns: w has its former type again; b is called a again. " in plan.summary
    both = struct(mapped("b", "long", "p", 1), mapped("v", "long", "q", 2))
    lake.commit(2, [metadata(schemaString=json.dumps(both), configuration=conf)], age_days=4)
    assert (
        "Columns: w has its former type again; b is called a again, v is called w again. "
        in restore(lake).summary
    )


def test_schema_that_cannot_be_read_does_not_stop_the_way_back(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(5)))
    lake.commit(1, [metadata(schemaString="{")], age_days=5)
    plan = restore(lake)
    assert plan.effect["columns_unknown"] == "The schema of the table cannot be read."
    assert "Which columns are removed or return is not known" in plan.summary


def test_repair_that_takes_rows_out_asks_for_the_name(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(5)), lake.add("b", stats=rows(7)))
    (lake.root / "b").unlink()
    plan = maintenance.plan_repair(lake.table, "files", clock=lake.clock)
    assert outcome(plan, "rows") == "warn"
    assert lake.execute(plan, approval=Approval(plan.digest)).status == "refused"
    assert lake.table.latest_version() == 0
    assert lake.execute(plan).status == "completed"
    assert lake.table.snapshot().num_rows == 5


def _by(name: str, operation: str) -> Action:
    return {"commitInfo": {"operation": operation, "userName": name}}


def test_the_commits_that_are_undone_are_named_with_who_made_them(lake: Lake) -> None:
    start(lake, lake.add("a", stats=rows(5)))
    for version in range(1, 8):
        lake.commit(version, [_by(f"user{version}", "WRITE"), lake.add(f"b{version}")], age_days=1)
    plan = plan_restore(lake.table, 0, clock=lake.clock)
    (found,) = (verdict for verdict in plan.verdicts if verdict.guard == "commits")
    assert found.outcome == "warn"
    assert found.message == (
        "Undoes 7 commits: version 7, WRITE by user7; version 6, WRITE by user6; version 5, WRITE "
        "by user5; version 4, WRITE by user4; version 3, WRITE by user3; 2 more."
    )
    plan = plan_restore(lake.table, 6, clock=lake.clock)
    (found,) = (verdict for verdict in plan.verdicts if verdict.guard == "commits")
    assert (found.outcome, found.message) == (
        "allow",
        "Undoes 1 commit: version 7, WRITE by user7.",
    )


def test_a_commit_that_comes_while_a_restore_is_planned_is_not_among_the_undone(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(lake, lake.add("a", stats=rows(5)))
    lake.commit(1, [_by("ann", "WRITE"), lake.add("b")], age_days=1)
    history = Table.history

    def late(table: Table, *given: Any, **named: Any) -> Any:
        lake.commit(2, [_by("mallory", "MERGE"), lake.add("c")], age_days=1)
        return history(table, *given, **named)

    monkeypatch.setattr(Table, "history", late)
    plan = plan_restore(lake.table, 0, clock=lake.clock)
    (found,) = (verdict for verdict in plan.verdicts if verdict.guard == "commits")
    assert found.message == "Undoes 1 commit."
