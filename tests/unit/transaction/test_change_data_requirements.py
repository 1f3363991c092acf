"""Change data files of a commit, and the columns that the feed keeps for itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.protocol.actions import Protocol
from explorer.protocol.file_actions import AddCDCFile
from explorer.transaction.read_version import NO_TABLE
from tests.unit.transaction.stages import (
    PLAIN,
    add,
    base,
    features,
    field,
    mapped,
    metadata,
    only,
    remove,
    schema,
    stage,
    texts,
    vector,
)

LEGACY = Protocol(min_reader_version=1, min_writer_version=4)
LISTED = features("changeDataFeed")
ON = {"delta.enableChangeDataFeed": "true"}
FEED = base(LISTED, metadata(ON))


def cdc(path: str = "_change_data/cdc-0.parquet", **fields: object) -> AddCDCFile:
    given = {"partition_values": {}, "size": 1}
    return AddCDCFile(path=path, **(given | fields))  # type: ignore[arg-type]


UPDATE = (remove("a"), add("b"))
DV = features(readers=["deletionVectors"])
WIDE = '{"numRecords":10,"tightBounds":false}'


@pytest.mark.parametrize(
    ("protocol", "properties", "told"),
    [
        (LEGACY, ON, None),
        (LISTED, ON, None),
        (LISTED, {}, "feed is not enabled"),
        (LEGACY, {"delta.enableChangeDataFeed": "false"}, "feed is not enabled"),
        (PLAIN, {}, "does not support the feed"),
        (PLAIN, ON, "does not support the feed"),
        (features("appendOnly"), ON, "does not support the feed"),
    ],
)
def test_change_data_is_written_where_the_feed_is_in_use(
    protocol: Protocol, properties: dict, told: str | None
) -> None:
    read = base(protocol, metadata(properties))
    found = texts(stage(*UPDATE, cdc(), upon=read))
    assert found == [] if told is None else told in found[0]
    assert texts(stage(*UPDATE, upon=read)) == []


def test_a_commit_that_enables_the_feed_may_write_change_data() -> None:
    assert texts(stage(metadata(ON), *UPDATE, cdc(), upon=base(LISTED))) == []
    off = stage(metadata(), *UPDATE, cdc(), upon=FEED)
    assert "feed is not enabled" in only(off)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("_change_data/cdc-0.parquet", None),
        ("_change_data/day=2026-01-01%2000%253A00/cdc-0.parquet", None),
        ("./_change_data/é", None),
        ("s3://bucket/t/_change_data/cdc-0.parquet", None),
        ("file:///t/_change_data/cdc-0.parquet", None),
        ("cdc-0.parquet", "not in `_change_data`"),
        ("x/_change_data/cdc-0.parquet", "not in `_change_data`"),
        ("_change_data", "not in `_change_data`"),
        ("_change_data/../a", "leads to no data file"),
        ("_delta_log/0.json", "leads to no data file"),
        ("../../etc/x", "leads to no data file"),
        ("", "leads to no data file"),
        ("_change_data/a b", "is not a URI"),
        ("_change_data/50%", "is not a URI"),
    ],
)
def test_change_data_lies_in_its_folder(path: str, told: str | None) -> None:
    staged = stage(*UPDATE, cdc(path), upon=FEED)
    assert (texts(staged) == []) if told is None else told in only(staged)


def test_a_change_data_file_stands_once_in_a_commit() -> None:
    assert "1 cdc action has a path that another one has" in only(stage(cdc(), cdc(), upon=FEED))
    assert texts(stage(cdc(), cdc("_change_data/cdc-1.parquet"), upon=FEED)) == []
    # the same path may be added, or removed, and hold changes (spec: Add File and Remove File)
    assert texts(stage(cdc(), add("_change_data/cdc-0.parquet"), upon=FEED)) == []
    assert texts(stage(cdc(), remove("_change_data/cdc-0.parquet"), upon=FEED)) == []


def test_the_size_of_change_data_is_no_less_than_nothing() -> None:
    assert "below zero" in only(stage(cdc(size=-1), upon=FEED))
    assert texts(stage(cdc(size=0), upon=FEED)) == []


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"col-2": "2026-01-01"}, None),
        ({"col-2": None}, None),
        ({}, "not complete"),
        ({"day": "2026-01-01"}, "not complete"),
        ({"col-2": "2026-01-01", "nope": "1"}, "not complete"),
        ({"col-2": "yesterday"}, "not readable"),
    ],
)
def test_change_data_says_a_value_of_each_partition_column(values: dict, told: str | None) -> None:
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    table = metadata(
        ON | mapping,
        schema_string=schema(mapped("id", 1), mapped("day", 2, kind="date")),
        partition_columns=("day",),
    )
    read = base(features("changeDataFeed", readers=["columnMapping"]), table)
    staged = stage(cdc(partition_values=values), upon=read)
    assert (texts(staged) == []) if told is None else told in only(staged)


NAMES = ["_change_type", "_commit_version", "_commit_timestamp", "_CHANGE_TYPE"]


@pytest.mark.parametrize("name", NAMES)
def test_the_feed_is_not_enabled_over_columns_of_its_names(name: str) -> None:
    columns = schema(field("id"), field("day", "date"), field(name, "string"))
    plain = metadata(schema_string=columns)
    fed = replace(plain, configuration=ON)
    told = f"would have columns called `{name}`"
    assert told in only(stage(fed, upon=base(LISTED, plain)))
    assert told in only(stage(LISTED, fed, upon=NO_TABLE))
    assert told in only(stage(fed, upon=FEED))
    # a property without its feature means nothing, until the feature comes
    both = features("appendOnly", "changeDataFeed")
    assert told in only(stage(both, upon=base(features("appendOnly"), fed)))


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_these_names_stay_where_they_are(name: str) -> None:
    columns = schema(field("id"), field(name, "string"))
    plain = metadata(schema_string=columns)
    fed = replace(plain, configuration=ON)
    assert texts(stage(LISTED, plain, upon=NO_TABLE)) == []
    assert texts(stage(add(), upon=base(LISTED, fed))) == []
    assert texts(stage(replace(fed, description="x"), upon=base(LISTED, fed))) == []
    assert texts(stage(plain, upon=base(LISTED, fed))) == []
    inside = field("r", {"type": "struct", "fields": [field(name)]})
    nested = metadata(ON, schema_string=schema(field("id"), inside))
    assert texts(stage(LISTED, nested, upon=NO_TABLE)) == []


WHOLE = (remove("a"),)
HIDDEN = (remove("a"), add("a", deletion_vector=vector(), stats=WIDE))


@pytest.mark.rule("cdf-writer-must-produce", "cdf-writer-4-to-6")
@pytest.mark.rule("cdf-files-pure-add-or-remove-needs-none")
@pytest.mark.parametrize(
    ("operation", "actions", "needed"),
    [
        ("UPDATE", UPDATE, True),
        ("UPDATE", (*HIDDEN, add("b")), True),
        ("UPDATE", HIDDEN, True),
        ("UPDATE", (remove("a", data_change=False), add("b", data_change=False)), True),
        ("MERGE", UPDATE, True),
        ("MERGE", (*HIDDEN, add("b")), True),
        ("MERGE", (add("b"),), False),
        ("MERGE", WHOLE, False),
        ("DELETE", UPDATE, True),
        ("DELETE", WHOLE, False),
        ("DELETE", HIDDEN, False),
        ("WRITE", UPDATE, False),
        ("OPTIMIZE", (remove("a", data_change=False), add("b", data_change=False)), False),
        ("merge ", UPDATE, True),
    ],
)
def test_who_changes_rows_says_which_where_the_feed_is_in_use(
    operation: str, actions: tuple, needed: bool
) -> None:
    rights = {"delta.enableDeletionVectors": "true"}
    listed = features("changeDataFeed", readers=["deletionVectors"])
    read = base(listed, metadata(ON | rights))
    found = texts(stage(*actions, upon=read, operation=operation))
    assert ["brings no change data" in text for text in found] == [True] * needed
    assert texts(stage(*actions, cdc(), upon=read, operation=operation)) == []
    for other in (base(listed, metadata(rights)), base(DV, metadata(ON | rights))):
        assert texts(stage(*actions, upon=other, operation=operation)) == []
    if actions is UPDATE:
        legacy = base(LEGACY, metadata(ON))
        assert len(texts(stage(*actions, upon=legacy, operation=operation))) == needed
        # in the commit that switches the feed on, too
        both = stage(metadata(ON | rights), *actions, upon=base(listed), operation=operation)
        assert len(texts(both)) == needed
        off = stage(metadata(rights), *actions, upon=read, operation=operation)
        assert texts(off) == []
