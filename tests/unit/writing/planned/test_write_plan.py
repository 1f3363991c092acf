"""A plan of a write: it changes nothing, says what would happen, and counts for nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer import maintenance, pipeline
from explorer.errors import ConflictError, InvalidArgumentError
from explorer.pipeline.planned_writes.create_plan import (
    NewTableRequest,
    carry_out_create,
    plan_create,
)
from explorer.pipeline.planned_writes.write_plan import WritePlan, carry_out_write, plan_write
from explorer.progress import Progress, Watch
from explorer.writing.schema.schema_text import parse_schema_text
from explorer.writing.statements.options import WriteOptions

ROWS = pa.table({"id": [1, 2, 3], "land": ["DE", "FR", "DE"]})
APPEND = WriteOptions()
OVERWRITE = WriteOptions(mode="overwrite")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def given(tmp_path: Path) -> Path:
    pq.write_table(ROWS, tmp_path / "given.parquet")
    return tmp_path / "given.parquet"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    pipeline.write(ROWS, tmp_path / "t", partition_by="land")
    return tmp_path / "t"


def everything(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def count_rows(place: Path) -> int:
    return explorer.read_rows(explorer.open_table(place).snapshot()).num_rows


def apply(plan: Any) -> None:
    receipt = maintenance.execute(plan, maintenance.Approval(plan.digest))
    assert receipt.status == "completed"


def set_property(place: Path) -> None:
    table = explorer.open_table(place)
    apply(maintenance.plan_set_properties(table, {"delta.targetFileSize": "64mb"}))


def upgrade(place: Path) -> None:
    table = explorer.open_table(place)
    apply(maintenance.plan_upgrade(table, features=["deletionVectors"]))


def stale(given: Path, place: Path, plan: WritePlan, options: WriteOptions = APPEND) -> None:
    before = everything(place)
    with pytest.raises(ConflictError) as caught:
        carry_out_write([given], place, options, plan.digest)
    assert caught.value.kind == "plan_stale"
    assert everything(place) == before


def test_planning_changes_nothing_and_says_what_would_be_created(
    tmp_path: Path, given: Path
) -> None:
    plan = plan_write([given], tmp_path / "new", replace(APPEND, partition_by=("land",)))
    assert not (tmp_path / "new").exists()
    assert (plan.version, plan.num_rows, plan.partition_columns) == (None, 3, ("land",))
    assert [(item.name, item.before, item.after) for item in plan.column_changes] == [
        ("id", None, "long"),
        ("land", None, "string"),
    ]
    result = carry_out_write(
        [given], tmp_path / "new", replace(APPEND, partition_by=("land",)), plan.digest[:12]
    )
    assert result.version == 0
    assert count_rows(tmp_path / "new") == 3


def test_an_append_may_follow_others_and_an_overwrite_may_not(given: Path, place: Path) -> None:
    append, overwrite = (plan_write([given], place, item) for item in (APPEND, OVERWRITE))
    assert (overwrite.removed_files, overwrite.num_rows) == (2, 3)
    pipeline.write(ROWS, place)
    stale(given, place, overwrite, OVERWRITE)
    assert carry_out_write([given], place, APPEND, append.digest).version == 2


def test_an_overwrite_is_carried_out_as_it_was_planned(given: Path, place: Path) -> None:
    plan = plan_write([given], place, OVERWRITE)
    result = carry_out_write([given], place, OVERWRITE, plan.digest)
    assert result.metrics["numRemovedFiles"] == plan.removed_files
    assert result.metrics["numRemovedBytes"] == plan.removed_bytes
    assert count_rows(place) == 3


def test_an_approved_overwrite_takes_no_file_that_came_while_it_was_written(
    given: Path, place: Path
) -> None:
    plan = plan_write([given], place, OVERWRITE)
    others: list[Any] = []

    def meanwhile(progress: Progress) -> None:
        if progress.label == "Writing rows" and progress.done and not others:
            others.append(pipeline.write(ROWS, place))

    with pytest.raises(ConflictError) as caught:
        carry_out_write([given], place, OVERWRITE, plan.digest, watch=Watch(progress=meanwhile))
    assert caught.value.kind == "commit_conflict"
    assert [found.version for found in others] == [1]
    assert count_rows(place) == 6


@pytest.mark.parametrize(
    "other",
    [
        {"mode": "overwrite"},
        {"merge_schema": True},
        {"partition_by": ("land",)},
        {"transaction": ("load", 1)},
        {"user_metadata": "why"},
        {"user_name": "ann"},
        {"target_file_size": 2**20},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_option_is_another_plan(given: Path, place: Path, other: dict[str, Any]) -> None:
    stale(given, place, plan_write([given], place, APPEND), replace(APPEND, **other))


def test_other_ways_to_overwrite_are_other_plans(given: Path, place: Path) -> None:
    only_german = ROWS.filter(pa.compute.equal(ROWS["land"], "DE"))
    pq.write_table(only_german, given)
    ways = [
        OVERWRITE,
        replace(OVERWRITE, replace_where="land = 'DE'"),
        replace(OVERWRITE, partition_overwrite="dynamic"),
        replace(OVERWRITE, overwrite_schema=True),
        replace(OVERWRITE, overwrite_schema=True, cluster_by=("id",)),
    ]
    plans = [plan_write([given], place, way) for way in ways]
    assert len({plan.digest for plan in plans}) == len(ways)
    assert [plan.removed_files for plan in plans] == [2, 1, None, 2, 2]
    stale(given, place, plans[0], ways[1])


def test_other_bytes_and_another_order_of_files_are_another_plan(
    tmp_path: Path, given: Path, place: Path
) -> None:
    plan = plan_write([given], place, APPEND)
    pq.write_table(ROWS, given, compression="none")
    stale(given, place, plan)
    pq.write_table(ROWS, tmp_path / "b.parquet")
    one = plan_write([given, tmp_path / "b.parquet"], place, APPEND)
    other = plan_write([tmp_path / "b.parquet", given], place, APPEND)
    assert one.digest != other.digest


@pytest.mark.parametrize(
    "change",
    [
        set_property,
        upgrade,
        lambda place: pipeline.write(
            ROWS.append_column("new", pa.array([1, 2, 3])), place, merge_schema=True
        ),
    ],
    ids=["property", "protocol", "columns"],
)
def test_a_plan_for_another_table_is_stale(given: Path, place: Path, change: Any) -> None:
    plan = plan_write([given], place, APPEND)
    change(place)
    stale(given, place, plan)


def test_a_table_that_came_meanwhile_is_not_the_one_that_was_to_be_created(
    tmp_path: Path, given: Path
) -> None:
    plan = plan_write([given], tmp_path / "t", APPEND)
    pipeline.write(ROWS, tmp_path / "t")
    stale(given, tmp_path / "t", plan)


def test_an_append_follows_others_that_took_identity_numbers(tmp_path: Path) -> None:
    pipeline.create(tmp_path / "t", "k BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT")
    rows = pa.table({"id": [1, 2]})
    pq.write_table(rows, tmp_path / "g.parquet")
    plan = plan_write([tmp_path / "g.parquet"], tmp_path / "t", APPEND)
    pipeline.write(rows, tmp_path / "t")
    carry_out_write([tmp_path / "g.parquet"], tmp_path / "t", APPEND, plan.digest)
    found = explorer.read_rows(explorer.open_table(tmp_path / "t").snapshot())
    assert sorted(found.column("k").to_pylist()) == [1, 2, 3, 4]


def test_a_row_that_breaks_a_rule_is_told_and_nothing_is_left(tmp_path: Path, given: Path) -> None:
    place = tmp_path / "t"
    pipeline.create(place, "id BIGINT NOT NULL, land VARCHAR(2)")
    pq.write_table(pa.table({"id": [7, 8], "land": ["DE", "FRA"]}), given)
    plan = plan_write([given], place, APPEND)
    before = everything(place)
    with pytest.raises(InvalidArgumentError, match="FRA") as caught:
        carry_out_write([given], place, APPEND, plan.digest)
    assert caught.value.kind == "rows_refused"
    assert everything(place) == before


def test_what_would_do_nothing_says_why(given: Path, place: Path) -> None:
    ignore = plan_write([given], place, replace(APPEND, mode="ignore"))
    assert ignore.nothing == "There is a table, and the mode is ignore."
    pipeline.write(ROWS, place, transaction=("load", 7))
    done = plan_write([given], place, replace(APPEND, transaction=("load", 7)))
    assert done.nothing is not None
    assert "load" in done.nothing


def test_overwritten_columns_are_shown_with_their_rules(tmp_path: Path, given: Path) -> None:
    place = tmp_path / "t"
    pipeline.create(place, "id BIGINT NOT NULL, old INT, land VARCHAR(3)")
    options = replace(OVERWRITE, overwrite_schema=True)
    plan = plan_write([given], place, options)
    assert {item.name: (item.before, item.after) for item in plan.column_changes} == {
        "id": ("long, not null", "long"),
        "old": ("integer", None),
        "land": ("string, varchar(3)", "string"),
    }


def test_the_tables_own_files_are_not_rows_for_it(place: Path) -> None:
    own = next(place.rglob("*.parquet"))
    with pytest.raises(InvalidArgumentError, match="lies in the table's own folder"):
        plan_write([own], place, APPEND)
    (place.parent / "link").symlink_to(place)
    with pytest.raises(InvalidArgumentError, match="lies in the table's own folder"):
        plan_write([own], place.parent / "link", APPEND)


def test_a_digest_has_to_be_long_enough(given: Path, place: Path) -> None:
    plan = plan_write([given], place, APPEND)
    with pytest.raises(InvalidArgumentError, match="is not a plan's digest"):
        carry_out_write([given], place, APPEND, plan.digest[:11])


_REQUEST = NewTableRequest(
    schema=parse_schema_text("id BIGINT NOT NULL COMMENT 'key', land STRING"),
    properties={"delta.enableRowTracking": "true", "delta.columnMapping.mode": "name"},
)


def test_a_new_table_is_created_as_planned(tmp_path: Path) -> None:
    plan = plan_create(tmp_path / "t", _REQUEST)
    assert not (tmp_path / "t").exists()
    assert plan.columns == (("id", "long, not null", "key"), ("land", "string", None))
    assert carry_out_create(tmp_path / "t", _REQUEST, plan.digest).version == 0
    snapshot = explorer.open_table(tmp_path / "t").snapshot()
    assert snapshot.protocol == plan.protocol
    assert snapshot.schema.names == ("id", "land")
    with pytest.raises(InvalidArgumentError) as caught:
        carry_out_create(tmp_path / "t", _REQUEST, plan.digest)
    assert caught.value.kind == "already_exists"


@pytest.mark.parametrize(
    "other",
    [
        {"schema": parse_schema_text("id BIGINT NOT NULL COMMENT 'other', land STRING")},
        {"partition_by": ("land",)},
        {"cluster_by": ("land",)},
        {"properties": {}},
        {"name": "n"},
        {"description": "d"},
        {"user_name": "ann"},
        {"user_metadata": "why"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_request_is_another_plan(tmp_path: Path, other: dict[str, Any]) -> None:
    plan = plan_create(tmp_path / "t", _REQUEST)
    with pytest.raises(ConflictError) as caught:
        carry_out_create(tmp_path / "t", replace(_REQUEST, **other), plan.digest)
    assert caught.value.kind == "plan_stale"
    assert not (tmp_path / "t").exists()
