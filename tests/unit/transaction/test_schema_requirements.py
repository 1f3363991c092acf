"""How schema, partitioning and the properties beside them may change over files that are there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from explorer.protocol.actions import Metadata, Protocol
from explorer.transaction.live_files import EarlierVersion
from explorer.transaction.read_set import WHOLE_TABLE
from explorer.transaction.read_version import NO_TABLE, ReadVersion
from explorer.transaction.staged import IsolationLevel, Promises, StagedCommit, ValidatedRule
from tests.unit.transaction.stages import (
    MAPPED,
    PLAIN,
    add,
    base,
    features,
    field,
    live,
    mapped,
    metadata,
    numbered,
    only,
    replacing,
    schema,
    stage,
    texts,
    vector,
)

AGAIN = Promises(recommits=True)


def looking(staged: StagedCommit, level: IsolationLevel = "Serializable") -> StagedCommit:
    """The same by one who read the whole table."""
    provenance = replace(staged.provenance, isolation_level=level)
    return replace(staged, reads=WHOLE_TABLE, provenance=provenance)


def going_back(staged: StagedCommit, to: EarlierVersion | None = None) -> StagedCommit:
    """The same by a restore, to a version with these metadata and no file."""
    if to is None and staged.metadata is not None:
        to = EarlierVersion(metadata=staged.metadata, files=live())
    return looking(replace(staged, promises=AGAIN, live=live(), restored_version=to))


NARROW = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (metadata(schema_string=schema(field("id", "string"), field("day", "date"))), "cannot go"),
        (metadata(schema_string=schema(field("id"))), "drops `day`"),
        (metadata(partition_columns=("day",)), "changes the partition columns"),
        (
            metadata(schema_string=schema(field("id", nullable=False), field("day", "date"))),
            "may no longer be null",
        ),
        (
            metadata(NARROW, schema_string=schema(mapped("id", 1), mapped("day", 2, kind="date"))),
            "drops `id`",
        ),
    ],
    ids=["another type", "an unmapped drop", "partitioning", "not null", "other names in files"],
)
def test_other_columns_come_only_where_every_live_file_goes(wanted: Metadata, told: str) -> None:
    staged = stage(wanted, upon=base(MAPPED))
    for seen in (staged, looking(staged), looking(staged, "WriteSerializable")):
        assert any(told in text or "physical name" in text for text in texts(seen))
    assert texts(replacing(staged)) == []
    assert texts(replacing(staged, add("a"), add("b", deletion_vector=vector()))) == []
    # a restore brings the files back that were written so
    assert texts(going_back(staged)) == []
    deaf = replace(staged.provenance, isolation_level="SnapshotIsolation")
    assert texts(replace(going_back(staged), provenance=deaf))


def test_only_who_looked_and_hears_of_new_files_makes_a_table_convertible() -> None:
    listed = features("icebergCompatV1", readers=["columnMapping"])
    enabled = {"delta.enableIcebergCompatV1": "true"}
    staged = stage(ids(1, mapped("id", 1), **enabled), upon=base(listed, ids(1, mapped("id", 1))))
    told = Promises(validated=frozenset({ValidatedRule(key=next(iter(enabled)), expression="")}))
    seen = replace(staged, promises=told)
    assert texts(looking(seen)) == texts(replacing(staged)) == texts(going_back(staged)) == []
    for unseen in (staged, seen, looking(staged), looking(seen, "SnapshotIsolation")):
        assert "nobody checked that" in only(unseen)


def ids(highest: int, *fields: dict[str, Any], mode: str = "name", **more: str) -> Metadata:
    """A table whose columns are mapped, ids given out up to `highest`."""
    told = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": str(highest)}
    return metadata(told | more, schema_string=schema(*fields))


@pytest.mark.parametrize("mode", ["name", "id"])
def test_no_new_column_gets_the_id_of_one_that_was_dropped(mode: str) -> None:
    read = base(MAPPED, ids(2, mapped("id", 1), mode=mode))
    late = stage(ids(2, mapped("id", 1), mapped("bonus", 2, "col-b"), mode=mode), upon=read)
    assert "`bonus` is new and has the id 2; ids up to 2 were given out" in only(late)
    # older versions, and the change feed, still lead to files with the other column
    assert "`bonus` is new and has the id 2" in only(replacing(late))
    fresh = stage(ids(3, mapped("id", 1), mapped("bonus", 3), mode=mode), upon=read)
    assert texts(fresh) == texts(replacing(fresh)) == []
    inner = {"type": "struct", "fields": [mapped("bonus", 2, "col-b")]}
    nested = stage(ids(3, mapped("id", 1), mapped("s", 3, kind=inner), mode=mode), upon=read)
    assert "`s.bonus` is new and has the id 2" in only(nested)
    assert "`s.bonus` is new and has the id 2" in only(replacing(nested))
    # a struct in place of a number has columns that were not there
    inside = stage(ids(3, mapped("id", 1, kind=inner), mode=mode), upon=read)
    assert "`id.bonus` is new and has the id 2" in only(replacing(inside))
    assert texts(going_back(late)) == []


def test_no_new_column_gets_an_id_below_those_in_use_where_nobody_kept_the_mark() -> None:
    unmarked = metadata({"delta.columnMapping.mode": "name"}, schema_string=schema(mapped("id", 7)))
    late = stage(ids(7, mapped("id", 7), mapped("new", 3)), upon=base(MAPPED, unmarked))
    assert "`new` is new and has the id 3; ids up to 7" in only(late)


def test_a_column_keeps_its_id() -> None:
    read = base(MAPPED, ids(2, mapped("id", 1), mapped("pay", 2, "pay"), mode="id"))
    moved = stage(ids(3, mapped("id", 1), mapped("pay", 3, "pay"), mode="id"), upon=read)
    assert "changes the id of `pay` from 2 to 3" in only(moved)
    assert texts(replacing(moved)) == []
    called = stage(ids(2, mapped("id", 1), mapped("wages", 2, "pay"), mode="id"), upon=read)
    assert texts(called) == []
    swapped = stage(ids(2, mapped("id", 2, "col-1"), mapped("pay", 1, "pay"), mode="id"), upon=read)
    assert len(texts(swapped)) == len(texts(replacing(swapped))) == 2
    lower = stage(ids(1, mapped("id", 1), mode="id"), upon=read)
    assert "`delta.columnMapping.maxColumnId` is 1" in only(replacing(lower))
    dropped = stage(ids(2, mapped("id", 1), mode="id"), upon=read)
    assert texts(dropped) == []


def test_mapping_that_begins_keeps_the_names_that_files_have() -> None:
    read = base(MAPPED, metadata(schema_string=schema(field("id"), field("day"))))
    kept = stage(ids(2, mapped("id", 1, "id"), mapped("day", 2, "day")), upon=read)
    assert texts(kept) == []
    lost = stage(ids(2, mapped("id", 1, "id"), mapped("day", 2)), upon=read)
    assert "physical name of `day`" in only(lost)


INNER = {"type": "struct", "fields": [field("a"), field("b")]}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ([field("id"), field("s", INNER)], None),
        ([field("s", INNER), field("id"), field("new")], None),
        ([field("s", INNER)], "drops `id`"),
        ([field("number"), field("s", INNER)], "drops `id`"),
        ([field("ID"), field("s", INNER)], "renames a column to `ID`"),
        ([field("id"), field("s", {"type": "struct", "fields": [field("a")]})], "drops `s.b`"),
        ([field("id")], "drops `s`"),
    ],
)
def test_a_table_without_mapping_keeps_its_columns(fields: list[dict], told: str | None) -> None:
    read = base(PLAIN, metadata(schema_string=schema(field("id"), field("s", INNER))))
    staged = stage(metadata(schema_string=schema(*fields)), upon=read)
    if told is None:
        assert texts(staged) == []
    else:
        assert told in only(staged)
    # where every file is written anew, no file holds what is gone
    assert texts(replacing(staged)) == []
    # and a table that maps its columns may drop and rename them
    names = {"id": 1, "s": 2}
    before = ids(2, *(mapped(name, number, name) for name, number in names.items()))
    after = ids(2, mapped("number", 1, "id"))
    assert texts(stage(after, upon=base(MAPPED, before))) == []


def test_a_schema_that_cannot_be_read_is_told_once() -> None:
    assert "cannot be read" in only(stage(metadata(schema_string="{")))


WIDENING = features("icebergCompatV2", readers=["typeWidening", "columnMapping", "timestampNtz"])
ENABLED = {"delta.enableTypeWidening": "true"}


def change(before: str, after: str) -> dict[str, str]:
    return {"fromType": before, "toType": after}


def widened(kind: str, *changes: dict[str, str], name: str = "n", **more: str) -> Metadata:
    """A table of one mapped column, which records these changes of its type."""
    column = mapped(name, 1, kind=kind)
    if changes:
        column["metadata"]["delta.typeChanges"] = list(changes)
    return ids(1, column, **ENABLED, **more)


FIRST, SECOND = change("short", "integer"), change("integer", "long")


@pytest.mark.parametrize(
    ("told", "refused"),
    [
        ([FIRST, SECOND], False),
        ([], True),
        ([FIRST], True),
        ([SECOND], True),
        ([SECOND, FIRST], True),
        ([change("byte", "long"), SECOND], True),
    ],
)
def test_what_was_recorded_of_a_type_stays_so(told: list[dict], refused: bool) -> None:
    read = base(WIDENING, widened("long", FIRST, SECOND))
    for name in ("n", "m"):  # a renamed column, too
        staged = stage(widened("long", *told, name=name), upon=read)
        assert ["takes back what is recorded" in text for text in texts(staged)] == [True] * refused
        assert texts(replacing(staged)) == []
    # without the feature nobody reads it
    unsupported = base(features(readers=["columnMapping"]), widened("long", FIRST))
    plain = ids(1, mapped("n", 1, kind="long"))
    assert texts(stage(plain, upon=unsupported)) == []


@pytest.mark.parametrize("feature", ["typeWidening", "typeWidening-preview"])
def test_a_type_is_widened_only_where_that_is_switched_on(feature: str) -> None:
    listed = features(readers=[feature, "columnMapping"])
    read = base(listed, widened("integer", FIRST))
    assert texts(stage(widened("long", FIRST, SECOND), upon=read)) == []
    wide = widened("long", FIRST, SECOND)
    off = replace(wide, configuration=wide.configuration | {"delta.enableTypeWidening": "false"})
    assert "changes without being recorded" in only(stage(off, upon=read))


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ("byte", "long", True),
        ("float", "double", True),
        ("decimal(6,2)", "decimal(8,2)", True),
        ("byte", "double", False),
        ("integer", "double", False),
        ("date", "timestamp_ntz", False),
        ("decimal(6,2)", "decimal(10,4)", False),
        ("short", "decimal(10,0)", False),
        ("long", "decimal(20,0)", False),
    ],
)
def test_a_table_for_iceberg_makes_no_change_that_iceberg_does_not_know(
    before: str, after: str, known: bool
) -> None:
    step = change(before, after)
    read = base(WIDENING, widened(before))
    # supported is enough, and a file that is written anew changes nothing of what is recorded
    staged = stage(widened(after, step), upon=read)
    for made in (staged, replacing(staged)):
        assert ["Iceberg does not know" in text for text in texts(made)] == [True] * (not known)
    assert texts(going_back(staged)) == []
    other = features(readers=["typeWidening", "columnMapping", "timestampNtz"])
    assert texts(stage(widened(after, step), upon=base(other, widened(before)))) == []
    # what was made before its rules stands in the way of these, and of nothing else
    held = base(WIDENING, widened(after, step))
    assert texts(stage(widened(after, step, name="m"), upon=held)) == []
    begun = replacing(stage(widened(after, step, **ICEBERG), upon=held))
    assert ["Iceberg does not know" in text for text in texts(begun)] == [True] * (not known)
    active = base(WIDENING, widened(after, step, **ICEBERG))
    assert texts(stage(widened(after, step, name="m", **ICEBERG), upon=active)) == []


ICEBERG = {"delta.enableIcebergCompatV2": "true"}

POINTS = features(readers=["geospatial"])


@pytest.mark.parametrize(
    "kind",
    ["interval year", "interval day to second", "geometry(OGC:CRS84)", "timestamp_nanos"],
)
def test_a_column_of_a_type_that_nothing_brings_is_not_added(kind: str) -> None:
    id_and = metadata(schema_string=schema(field("id"), field("day", "date"), field("v", kind)))
    told = "types that the table cannot have: `v: "
    assert told in only(stage(id_and))
    assert told in only(replacing(stage(id_and)))
    assert told in only(stage(PLAIN, id_and, upon=NO_TABLE))
    array = {"type": "array", "elementType": kind, "containsNull": True}
    inner = {"type": "struct", "fields": [field("x", array)]}
    deep = metadata(schema_string=schema(field("id"), field("day", "date"), field("v", inner)))
    assert told in only(stage(deep))
    nothing = metadata(schema_string=schema(field("id"), field("day", "date"), field("v", "void")))
    assert told in only(stage(id_and, upon=base(PLAIN, nothing)))
    # one that is there, or comes back, is no doing of this commit
    assert texts(stage(replace(id_and, name="n"), upon=base(PLAIN, id_and))) == []
    assert texts(stage(id_and, promises=AGAIN)) == []


def test_a_type_is_added_where_its_feature_is_supported() -> None:
    shapes = metadata(
        schema_string=schema(field("id"), field("day", "date"), field("v", "geometry"))
    )
    # which nobody can write here at all yet
    assert "features that cannot be written here" in only(stage(shapes, upon=base(POINTS)))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (("day",), None),
        (("day", "day"), "named twice: `day`"),
        (("id", "day"), "Every column of the table is a partition column"),
        (("day", "id"), "Every column of the table is a partition column"),
    ],
)
def test_partition_columns_are_told_once_and_leave_one_to_the_files(
    columns: tuple[str, ...], told: str | None
) -> None:
    wanted = metadata(partition_columns=columns)
    for staged in (replacing(stage(wanted)), stage(PLAIN, wanted, upon=NO_TABLE)):
        if told is None:
            assert texts(staged) == []
        else:
            assert told in only(staged)
    # who has such a table already may do everything else with it, and restore it
    more = replace(wanted, schema_string=schema(field("id"), field("day", "date"), field("x")))
    for other in (replace(wanted, name="n"), more):
        assert texts(stage(other, upon=base(PLAIN, wanted))) == []
    assert texts(going_back(stage(wanted))) == []


def test_the_last_column_of_the_files_is_not_dropped() -> None:
    held = replace(ids(2, mapped("id", 1), mapped("day", 2)), partition_columns=("day",))
    left = replace(ids(2, mapped("day", 2)), partition_columns=("day",))
    assert "Every column of the table" in only(stage(left, upon=base(MAPPED, held)))


ROWS = features("rowTracking", "domainMetadata")
ROW_ID = "delta.rowTracking.materializedRowIdColumnName"
NAMES = {
    "delta.enableRowTracking": "true",
    ROW_ID: "_row-id-1",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version-1",
}


@pytest.mark.parametrize("name", [*NAMES][1:])
def test_the_columns_that_keep_row_ids_are_called_as_before(name: str) -> None:
    read = base(ROWS, metadata(NAMES))
    assert f"changes `{name}`" in only(stage(metadata(NAMES | {name: "_other"}), upon=read))
    assert texts(stage(metadata(NAMES, name="n"), upon=read)) == []
    off = NAMES | {"delta.enableRowTracking": "false"}
    assert texts(stage(metadata(off | {name: "_other"}), upon=base(ROWS, metadata(off)))) == []


TIMED = features("inCommitTimestamp")
ON = {"delta.enableInCommitTimestamps": "true"}
VERSION = "delta.inCommitTimestampEnablementVersion"
SINCE = {VERSION: "1", "delta.inCommitTimestampEnablementTimestamp": "5"}


@pytest.mark.parametrize("held", [ON, ON | SINCE], ids=["from the start", "later"])
@pytest.mark.parametrize(
    "wanted",
    [SINCE, {}, {VERSION: "1"}, SINCE | {VERSION: "2"}],
    ids=["both", "none", "one", "another version"],
)
def test_nobody_says_afterwards_since_when_commits_carry_their_time(
    held: dict[str, str], wanted: dict[str, str]
) -> None:
    found = texts(stage(metadata(ON | wanted), upon=base(TIMED, metadata(held))))
    refused = ON | wanted != held
    assert ["by hand" in text for text in found] == [True] * refused
    # they mean nothing once they are off
    assert texts(stage(metadata(wanted), upon=base(TIMED, metadata(held)))) == []


def test_a_table_says_both_of_since_when_commits_carry_their_time_or_neither() -> None:
    for told, refused in (({}, False), (SINCE, False), ({VERSION: "1"}, True)):
        found = texts(stage(TIMED, metadata(ON | told), upon=NO_TABLE))
        assert ["by hand" in text for text in found] == [True] * refused
    # a commit that begins with them fills in what is true
    assert texts(stage(metadata(ON | {VERSION: "1"}), upon=base(TIMED))) == []


def identity(kind: str) -> Metadata:
    keys = {"delta.identity.start": 1, "delta.identity.step": 1}
    return metadata(schema_string=schema(field("n", kind, **keys)))


def test_numbers_of_their_own_are_longs() -> None:
    listed = features("identityColumns")

    def created(wanted: Metadata) -> list[str]:
        return texts(stage(listed, wanted, upon=NO_TABLE))

    assert created(identity("long")) == created(metadata(schema_string=numbered(None))) == []
    for kind in ("integer", "string"):
        (told,) = created(identity(kind))
        assert "`n` would be filled with numbers, and is not a column of longs" in told
        assert texts(stage(replace(identity(kind), name="o"), upon=held(listed, kind))) == []


def held(protocol: Protocol, kind: str) -> ReadVersion:
    return base(protocol, identity(kind))


LENGTH = "__CHAR_VARCHAR_TYPE_STRING"


def text(kind: str | None, name: str = "t", number: int = 1) -> dict[str, Any]:
    """A mapped column of text, declared as `kind`."""
    column = mapped(name, number, kind="string")
    return column if kind is None else column | {"metadata": column["metadata"] | {LENGTH: kind}}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, "varchar(3)", "`t` is varchar(3) from now on"),
        ("varchar(9)", "varchar(3)", "`t` is varchar(3) from now on"),
        ("varchar(9)", "char(3)", "`t` is char(3) from now on"),
        ("varchar(3)", "varchar(9)", None),
        ("char(3)", "varchar(3)", None),
        ("varchar(3)", None, None),
        ("varchar(3)", "varchar(", None),
    ],
)
def test_text_gets_no_shorter_over_old_files(
    before: str | None, after: str | None, told: str | None
) -> None:
    read = base(MAPPED, ids(1, text(before)))
    for name in ("t", "other"):  # also where the column is renamed
        staged = looking(stage(ids(1, text(after, name)), upon=read))
        if told is None:
            assert texts(staged) == []
        else:
            assert only(staged) == told.replace("`t`", f"`{name}`") + "."
        assert texts(replacing(staged)) == texts(going_back(staged)) == []
    # a column that comes has no old text
    assert texts(stage(ids(2, text(before), text(after, "u", 2)), upon=read)) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {LENGTH: "array<varchar(2)>"}, "`t.element` is varchar(2)"),
        ({LENGTH: "array<varchar(9)>"}, {LENGTH: "array<varchar(8)>"}, "`t.element` is varchar(8)"),
        ({LENGTH: "array<varchar(8)>"}, {LENGTH: "array<varchar(9)>"}, None),
    ],
)
def test_text_inside_a_column_gets_no_shorter_either(
    before: dict[str, str], after: dict[str, str], told: str | None
) -> None:
    kind = {"type": "array", "elementType": "string", "containsNull": True}
    read = base(PLAIN, metadata(schema_string=schema(field("t", kind, **before))))
    found = texts(stage(metadata(schema_string=schema(field("t", kind, **after))), upon=read))
    assert [said.removesuffix(" from now on.") for said in found] == ([told] if told else [])


GENERATED, OTHERWISE = ({"delta.generationExpression": rule} for rule in ("id * 2", "id * 3"))
COUNTED = {"delta.identity.start": 1, "delta.identity.step": 1}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, GENERATED, "`n` is filled by a rule from now on"),
        (GENERATED, OTHERWISE, "`n` is filled by a rule from now on"),
        (None, GENERATED, "`n` is filled by a rule from now on"),
        ({}, COUNTED, "`n` is filled by numbers of its own from now on"),
        (None, COUNTED, "`n` is filled by numbers of its own from now on"),
        (GENERATED, GENERATED, None),
        (GENERATED, {}, None),
        (COUNTED, {}, None),
    ],
)
def test_no_rule_fills_a_column_over_old_files(
    before: dict[str, Any] | None, after: dict[str, Any], told: str | None
) -> None:
    old = [] if before is None else [field("n", **before)]
    all_features = features("generatedColumns", "identityColumns")
    read = base(all_features, metadata(schema_string=schema(field("id"), *old)))
    staged = stage(metadata(schema_string=schema(field("id"), field("n", **after))), upon=read)
    assert texts(looking(staged)) == ([f"{told}."] if told else [])
    assert texts(replacing(staged)) == texts(going_back(staged)) == []
