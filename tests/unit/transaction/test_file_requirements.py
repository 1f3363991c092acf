"""What the files of a commit must say, and the rows in them must meet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.staged import Promises, StagedCommit
from tests.unit.transaction.stages import (
    MAPPED,
    PLAIN,
    add,
    base,
    batch,
    features,
    field,
    live,
    mapped,
    metadata,
    only,
    remove,
    schema,
    stage,
    texts,
    vector,
)

AGAIN = Promises(recommits=True)
HIDDEN = {"deletion_vector": vector(), "stats": '{"numRecords":10,"tightBounds":false}'}


def in_batches(staged: StagedCommit) -> StagedCommit:
    """The same commit with its files as columns."""
    adds = [item for item in staged.actions if hasattr(item, "modification_time")]
    removes = [item for item in staged.actions if hasattr(item, "deletion_timestamp")]
    others = tuple(item for item in staged.actions if item not in [*adds, *removes])
    return replace(
        staged,
        actions=others,
        adds=(batch("add", *adds),) if adds else (),
        removes=(batch("remove", *removes),) if removes else (),
    )


@pytest.mark.rule("log-no-same-key-files", "file-one-action-per-type-and-key")
@pytest.mark.rule("file-one-action-per-type-and-path", "log-no-reconciling-pairs")
@pytest.mark.parametrize(
    ("files", "told"),
    [
        ([add("a"), add("a")], "1 add action has a path that another one has"),
        ([add("a"), add("a", deletion_vector=None, size=2)], "a path that another one has"),
        ([add("/t/a"), add("file:///t/a")], "a path that another one has"),
        (
            [add("a", deletion_vector=vector()), add("a", deletion_vector=None)],
            "a path that another one has",
        ),
        ([remove("a"), remove("a")], "a path that another one has"),
        ([remove("a"), remove("a", deletion_vector=vector())], "a path that another one has"),
        ([add("a"), remove("a")], "both added and removed"),
    ],
)
def test_a_logical_file_stands_once_in_a_commit(files: list, told: str) -> None:
    staged = stage(*files)
    assert any(told in text for text in texts(staged))
    assert texts(in_batches(staged)) == texts(staged)


def test_a_new_vector_replaces_the_file_under_the_old_one() -> None:
    read = base(DV, DV_ON)
    assert texts(stage(remove("a"), add("a", **hidden()), upon=read)) == []


@pytest.mark.rule("log-data-files-location")
@pytest.mark.parametrize("path", ["_delta_log/a.parquet", "../a.parquet", "x/../../a", ""])
def test_data_files_lie_in_the_table(path: str) -> None:
    assert "leads to no data file" in only(stage(add(path)))


@pytest.mark.parametrize("name", ["size", "modification_time", "partition_values"])
def test_an_add_says_what_readers_need(name: str) -> None:
    whole = batch("add", add())
    lacking = whole.select([item for item in whole.schema.names if item != name])
    staged = replace(stage(), adds=(lacking,))
    assert f"1 add action has no {name.replace('_', ' ')}." in only(staged)


def test_a_size_is_no_less_than_nothing() -> None:
    assert "below zero" in only(stage(add(size=-1)))


PARTITIONED = metadata(partition_columns=("day",))


@pytest.mark.rule("log-partition-values")
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"day": "2026-11-01"}, None),
        ({"day": None}, None),
        ({"day": ""}, None),
        ({}, "not complete"),
        ({"id": "1"}, "not complete"),
        ({"day": "2026-11-01", "id": "1"}, "not complete"),
        ({"day": "yesterday"}, "not readable"),
    ],
)
def test_a_file_says_a_value_of_each_partition_column(values: dict, told: str | None) -> None:
    staged = stage(add(partition_values=values), upon=base(PLAIN, PARTITIONED))
    found = texts(staged)
    assert found == [] if told is None else told in found[0]
    assert texts(in_batches(staged)) == found
    # whatever stands before it in the batch
    sound = add("sound", partition_values={"day": "2026-11-01"})
    many = stage(sound, *staged.actions, upon=staged.base)
    assert bool(texts(in_batches(many))) == (told is not None)


def test_a_plain_table_has_no_partition_values() -> None:
    assert "not complete" in only(stage(add(partition_values={"day": "2026-11-01"})))


def test_a_required_partition_column_has_a_value() -> None:
    strict = schema(field("id"), field("day", "date", nullable=False))
    read = base(PLAIN, replace(PARTITIONED, schema_string=strict))
    staged = stage(add(partition_values={"day": None}, data_change=False), upon=read)
    assert "no value of the partition column `day`" in only(staged)


@pytest.mark.parametrize("values", [{"id": None}, {"id": "x"}, {}])
def test_odd_partition_values_of_others_may_come_back_and_be_completed(
    values: dict[str, str | None],
) -> None:
    required = schema(field("id", nullable=False), field("day", "date"))
    read = base(PLAIN, metadata(schema_string=required, partition_columns=("id",)))
    told = add(partition_values=values, data_change=False)
    assert texts(stage(told, upon=read))
    assert texts(stage(told, upon=read, promises=AGAIN)) == []
    known = live(add(partition_values=values, stats=None))
    assert texts(replace(stage(told, upon=read), live=known)) == []
    # under another vector it is another logical file
    hidden = replace(stage(told, remove("a.parquet", data_change=False), upon=read), live=known)
    assert texts(replace(hidden, live=live(add(partition_values=values, **HIDDEN))))


@pytest.mark.rule("mapping-log-physical")
def test_partition_values_go_by_physical_names() -> None:
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    table = metadata(properties, schema_string=schema(mapped("day", 1)), partition_columns=("day",))
    read = base(MAPPED, table)
    assert texts(stage(add(partition_values={"col-1": "5"}), upon=read)) == []
    assert "not complete" in only(stage(add(partition_values={"day": "5"}), upon=read))


DV = features(readers=["deletionVectors"])
DV_ON = metadata({"delta.enableDeletionVectors": "true"})
WIDE = '{"numRecords":10,"tightBounds":false}'


def hidden(stats: str | None = WIDE, **fields: object) -> dict:
    return {"deletion_vector": vector(**fields), "stats": stats}  # type: ignore[arg-type]


@pytest.mark.rule("dv-property-gates-writing", "dv-protocol", "stats-delete-fills-numrecords")
@pytest.mark.rule("stats-wide")
@pytest.mark.parametrize(
    ("read", "file", "told"),
    [
        (base(DV, DV_ON), hidden(), None),
        (base(DV), hidden(), "allows no new ones"),
        (base(PLAIN, DV_ON), hidden(), "does not support them"),
        (base(DV, DV_ON), hidden(None), "and no numRecords"),
        (base(DV, DV_ON), hidden('{"tightBounds":false}'), "and no numRecords"),
        (base(DV, DV_ON), hidden('{"numRecords":10}'), "`tightBounds` false"),
        (base(DV, DV_ON), hidden('{"numRecords":10,"tightBounds":true}'), "`tightBounds` false"),
        (base(DV, DV_ON), hidden(cardinality=11), "more rows than its file has"),
        (base(DV, DV_ON), hidden(cardinality=-1), "more rows than its file has"),
    ],
)
def test_a_deletion_vector_keeps_its_rules(read: ReadVersion, file: dict, told: str | None) -> None:
    staged = stage(remove("a"), add("a", **file), upon=read)
    found = texts(staged)
    assert found == [] if told is None else any(told in text for text in found)
    assert texts(in_batches(staged)) == found


def test_a_restore_brings_vectors_back_as_they_were() -> None:
    file = hidden('{"numRecords":10}')
    assert texts(stage(add("a", **file), upon=base(DV), promises=AGAIN)) == []
    assert texts(stage(add("a", **file), upon=base(DV)))
    nothing_new = add("a", **hidden(WIDE), data_change=False)
    assert texts(stage(nothing_new, upon=base(DV))) == []


def test_a_vector_too_large_for_any_reader_is_refused() -> None:
    descriptor = DeletionVectorDescriptor(
        storage_type="u",
        path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^",
        offset=1,
        size_in_bytes=2**30,
        cardinality=1,
    )
    staged = stage(add(deletion_vector=descriptor, stats=WIDE), upon=base(DV, DV_ON))
    assert texts(staged)


ROWS = features("rowTracking", "domainMetadata")


@pytest.mark.rule("row-supported", "row-write-set-base")
def test_a_file_that_needs_row_ids_says_how_many_rows_it_has() -> None:
    staged = stage(add(stats=None), upon=base(ROWS))
    assert "no numRecords, which row ids need" in only(staged)
    assert texts(in_batches(staged)) == texts(staged)
    assert texts(stage(add(stats=None), upon=base(PLAIN))) == []


@pytest.mark.rule("row-write-high-water-mark-domain", "older-001-row-high-water-mark-whenever")
def test_no_row_gets_an_id_where_the_mark_has_no_domain() -> None:
    old = base(features("rowTracking"), row_id_high_water_mark=9)
    assert "does not support the domain" in only(stage(add(), upon=old))
    known = add(base_row_id=7, default_row_commit_version=2, data_change=False)
    assert texts(stage(known, remove(), upon=old)) == []


@pytest.mark.rule("row-write-no-duplicates", "row-write-recommit-base")
@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ({"base_row_id": 7, "default_row_commit_version": 2}, None),
        ({"base_row_id": 100, "default_row_commit_version": 2}, "never given out"),
        ({"base_row_id": -1, "default_row_commit_version": 2}, "never given out"),
        ({"base_row_id": 7}, "not with the version"),
        ({"base_row_id": 7, "default_row_commit_version": 6}, "not with the version"),
    ],
)
def test_row_ids_that_a_file_comes_with_were_given_out(ids: dict, told: str | None) -> None:
    staged = stage(add(**ids, data_change=False), upon=base(ROWS, row_id_high_water_mark=99))
    found = texts(staged)
    assert found == [] if told is None else told in found[0]
