"""The rules of the reference's conflict checker: what may follow what, and what both touch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import explorer
from explorer.protocol.actions import DomainMetadata, Transaction
from explorer.transaction.concurrent_commit import ConcurrentCommit
from explorer.transaction.conflicts import Conflict, find_conflict, find_conflicts
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE, ReadSet, read_set_of, read_set_where
from explorer.transaction.staged import IsolationLevel, Promises, StagedCommit
from tests.tables import LogFolder
from tests.unit.transaction.stages import (
    METADATA,
    PLAIN,
    add,
    base,
    batch,
    metadata,
    remove,
    stage,
    vector,
    winner,
)


def rules(staged: StagedCommit, won: ConcurrentCommit) -> list[str]:
    return [conflict.rule for conflict in find_conflicts(staged, won)]


def only(staged: StagedCommit, won: ConcurrentCommit) -> Conflict:
    (found,) = find_conflicts(staged, won)
    return found


def test_conflict_tells_who_won_and_what_both_touch() -> None:
    won = winner(
        remove("x.parquet"),
        operation="DELETE",
        userName="ann",
        engineInfo="Other/1.0",
        timestamp=17,
    )
    found = only(stage(remove("x.parquet"), isolation_level="SnapshotIsolation"), won)
    assert (found.version, found.rule) == (5, "concurrent delete-delete")
    who = found.commit
    assert (who.operation, who.user_name, who.engine_info) == ("DELETE", "ann", "Other/1.0")
    assert who.timestamp == 17
    assert (found.overlap.kind, found.overlap.values) == ("paths", ("x.parquet",))
    assert found.isolation_level == "SnapshotIsolation"
    assert found.spec == "Add File and Remove File"


def test_long_overlap_is_cut_and_counted() -> None:
    files = [remove(f"{number}.parquet") for number in range(100)]
    found = only(stage(*files), winner(*files))
    assert len(found.overlap.values) == 20
    assert found.overlap.total == 100


def test_files_in_batches_conflict_as_files_that_stand_alone() -> None:
    staged = replace(stage(), removes=(batch("remove", remove("x"), remove("y")),))
    assert rules(staged, winner(remove("y"))) == ["concurrent delete-delete"]
    staged = replace(stage(), adds=(batch("add", add("x"), add("y")),))
    assert rules(staged, winner(remove("y"))) == ["same file"]


# what a reader of the whole table, or an UPDATE, meets at each isolation level
@pytest.mark.parametrize(
    ("level", "blind", "changes_metadata", "expected"),
    [
        ("Serializable", True, False, ["concurrent append"]),
        ("Serializable", False, False, ["concurrent append"]),
        ("WriteSerializable", True, False, []),
        ("WriteSerializable", True, True, ["concurrent append"]),
        ("WriteSerializable", False, False, ["concurrent append"]),
        ("SnapshotIsolation", True, False, []),
        ("SnapshotIsolation", False, False, []),
    ],
)
def test_appended_rows_conflict_by_isolation_level(
    level: IsolationLevel, blind: bool, changes_metadata: bool, expected: list[str]
) -> None:
    actions = (METADATA,) if changes_metadata else ()
    staged = stage(*actions, reads=WHOLE_TABLE, isolation_level=level)
    assert rules(staged, winner(add("new"), isBlindAppend=blind)) == expected


@pytest.mark.parametrize("level", ["Serializable", "WriteSerializable", "SnapshotIsolation"])
def test_files_that_were_read_and_went_conflict_at_every_level(level: IsolationLevel) -> None:
    staged = stage(reads=read_set_of(["a", "b"]), isolation_level=level)
    found = only(staged, winner(remove("b"), remove("c")))
    assert (found.rule, found.overlap.values) == ("concurrent delete-read", ("b",))
    assert rules(staged, winner(remove("c"))) == []


def test_rearranged_rows_are_no_new_ones_but_their_files_went() -> None:
    optimized = winner(remove("a", data_change=False), add("z", data_change=False))
    assert rules(stage(reads=WHOLE_TABLE), optimized) == ["concurrent delete-read"]
    assert rules(stage(reads=read_set_of(["b"])), optimized) == []


def test_a_vector_that_grows_removes_the_file_as_it_was() -> None:
    deleted = winner(remove("a"), add("a", deletion_vector=vector()))
    mine = stage(remove("a"), add("a", deletion_vector=vector(place="0" * 20)))
    assert "concurrent delete-delete" in rules(mine, deleted)
    assert rules(stage(remove("b")), deleted) == []


def test_adding_a_file_again_brings_no_file_back() -> None:
    again = stage(add("a", data_change=False))
    assert rules(again, winner(remove("a"))) == ["same file"]
    assert rules(again, winner(add("a", data_change=False))) == ["same file"]


def test_application_ids_that_were_asked_for_count_too() -> None:
    won = winner(Transaction(app_id="app", version=3))
    found = only(stage(reads=ReadSet(application_ids=frozenset({"app"}))), won)
    assert (found.rule, found.overlap.values) == ("concurrent transaction", ("app",))
    assert rules(stage(Transaction(app_id="other", version=1)), won) == []


@pytest.mark.rule("action-domain-conflict")
def test_row_ids_are_given_anew_and_no_conflict() -> None:
    mark = DomainMetadata(domain="delta.rowTracking", configuration="{}", removed=False)
    other = replace(mark, domain="mine")
    won = winner(mark, other)
    assert rules(stage(mark), won) == []
    assert only(stage(mark, other), won).overlap.values == ("mine",)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"configuration": {"delta.appendOnly": "true"}}, ("properties",)),
        ({"schema_string": "{}"}, ("schema",)),
        ({"partition_columns": ("day",)}, ("partition columns",)),
        ({"name": "n", "description": "d"}, ("name", "description")),
    ],
)
def test_changed_metadata_is_told_by_its_parts(change: dict, expected: tuple) -> None:
    found = only(stage(add()), winner(replace(METADATA, **change)))
    assert (found.rule, found.overlap.values) == ("metadata changed", expected)


def test_the_same_metadata_written_again_is_no_change() -> None:
    assert rules(stage(add()), winner(METADATA, PLAIN)) == []
    assert rules(stage(METADATA), winner(METADATA)) == ["metadata changed"]


@pytest.mark.rule("column-identity-high-water-mark-update")
def test_numbers_that_were_given_out_do_not_stand_in_the_way() -> None:
    def numbered(mark: int) -> str:
        return (
            '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":'
            f'{{"delta.identity.start":1,"delta.identity.step":1,'
            f'"delta.identity.highWaterMark":{mark}}}}}]}}'
        )

    read = base(metadata=metadata(schema_string=numbered(3)))
    won = winner(metadata(schema_string=numbered(9)), add("new"))
    assert rules(stage(remove("r"), upon=read), won) == []
    assert rules(stage(METADATA, upon=read), won) == ["metadata changed"]


def test_what_means_the_same_under_any_schema_follows_a_change_of_it() -> None:
    staged = stage(reads=replace(NOTHING, metadata=False))
    other = replace(PLAIN, min_writer_version=3)
    assert rules(staged, winner(metadata({"a": "b"}), other)) == []
    assert rules(replace(staged, actions=(METADATA,)), winner(METADATA)) == ["metadata changed"]
    assert rules(replace(staged, actions=(PLAIN,)), winner(other)) == ["protocol changed"]


SCHEMA = (
    '{"type":"struct","fields":['
    '{"name":"region","type":"string","nullable":true,"metadata":{}},'
    '{"name":"amount","type":"long","nullable":true,"metadata":{}}]}'
)


def sales(region: str | None, low: int, high: int) -> dict:
    bounds = f'"minValues":{{"amount":{low}}},"maxValues":{{"amount":{high}}}'
    return {
        "partition_values": {"region": region},
        "stats": f'{{"numRecords":5,{bounds},"nullCount":{{"amount":0}}}}',
    }


@pytest.fixture
def sold(tmp_path: Path) -> explorer.Snapshot:
    log = LogFolder(tmp_path / "t")
    files = [("emea-low", "emea", 0, 9), ("emea-high", "emea", 50, 99), ("apac", "apac", 0, 99)]
    log.commit(
        0,
        [
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
            {
                "metaData": {
                    "id": "t",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": SCHEMA,
                    "partitionColumns": ["region"],
                    "configuration": {},
                }
            },
            *(
                {
                    "add": {
                        "path": path,
                        "partitionValues": {"region": region},
                        "size": 1,
                        "modificationTime": 1,
                        "dataChange": True,
                        "stats": sales(region, low, high)["stats"],
                    }
                }
                for path, region, low, high in files
            ),
        ],
    )
    return explorer.open_table(log.root).snapshot()


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        (sales("emea", 20, 60), ["concurrent append"]),
        (sales("emea", 0, 39), []),
        (sales("apac", 20, 60), []),
        (sales(None, 20, 60), []),
        (sales("emea", 20, 60) | {"stats": None}, ["concurrent append"]),
        (sales("emea", 20, 60) | {"stats": "broken"}, ["concurrent append"]),
    ],
    ids=["may match", "bounds", "partition", "null partition", "no statistics", "broken"],
)
def test_predicate_decides_by_partition_values_and_statistics(
    sold: explorer.Snapshot, came: dict, expected: list[str]
) -> None:
    staged = stage(reads=read_set_where(sold, "region = 'emea' AND amount > 40"))
    won = winner(add("new", **came))
    assert rules(staged, won) == expected
    if expected:
        found = only(staged, won)
        assert found.overlap.values == ("new",)
        assert found.overlap.predicate == "region = 'emea' AND amount > 40"


def test_files_that_a_predicate_found_must_still_be_there(sold: explorer.Snapshot) -> None:
    staged = stage(reads=read_set_where(sold, "region = 'emea' AND amount > 40"))
    assert rules(staged, winner(remove("emea-high"))) == ["concurrent delete-read"]
    assert rules(staged, winner(remove("emea-low"), remove("apac"))) == []


def test_without_named_files_a_predicate_speaks_of_those_that_went(
    sold: explorer.Snapshot,
) -> None:
    reads = replace(read_set_where(sold, "region = 'emea'"), paths=None)
    staged = stage(reads=reads)
    gone = remove("x", partition_values={"region": "emea"})
    assert rules(staged, winner(gone)) == ["concurrent delete-read"]
    assert rules(staged, winner(replace(gone, partition_values={"region": "apac"}))) == []
    # a remove without its values may have been any file
    assert rules(staged, winner({"remove": {"path": "x"}})) == ["concurrent delete-read"]


def test_rules_come_in_the_order_of_the_reference() -> None:
    won = winner(
        replace(PLAIN, min_writer_version=3),
        metadata({"x": "y"}),
        Transaction(app_id="app", version=1),
        DomainMetadata(domain="dom", configuration="", removed=False),
        add("new"),
        remove("old"),
    )
    staged = stage(
        Transaction(app_id="app", version=1),
        DomainMetadata(domain="dom", configuration="", removed=False),
        remove("old"),
        add("new"),
        reads=WHOLE_TABLE,
    )
    assert rules(staged, won) == [
        "protocol changed",
        "metadata changed",
        "domain metadata",
        "concurrent transaction",
        "concurrent append",
        "concurrent delete-read",
        "concurrent delete-delete",
        "same file",
    ]
    first = find_conflict(staged, won)
    assert first is not None
    assert first.rule == "protocol changed"


def test_what_a_restore_brings_back_conflicts_with_a_vacuum_that_began() -> None:
    won = winner(operation="VACUUM START")
    coming_back = stage(add("old.parquet"), promises=Promises(recommits=True))
    assert rules(coming_back, won) == ["vacuum began"]
    assert only(coming_back, won).overlap.values == ("old.parquet",)
    assert rules(stage(add("new.parquet")), won) == []
    assert rules(coming_back, winner(operation="VACUUM END")) == []


def test_protocol_that_nobody_could_read_is_another_one() -> None:
    won = replace(winner(), changes_protocol=True, protocol=None)
    staged = stage(reads=replace(NOTHING, metadata=True))
    assert rules(staged, won) == ["protocol changed"]
