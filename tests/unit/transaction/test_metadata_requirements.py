"""How the metadata of a table may change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.protocol.actions import Metadata
from explorer.transaction.read_set import WHOLE_TABLE
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.rules.row_rules import not_null_rule
from explorer.transaction.staged import Promises, ValidatedRule
from tests.unit.transaction.stages import (
    MAPPED,
    METADATA,
    PLAIN,
    base,
    features,
    field,
    mapped,
    metadata,
    numbered,
    only,
    replacing,
    schema,
    stage,
    texts,
)


def test_metadata_that_cannot_be_read_is_not_written() -> None:
    assert texts(stage(metadata(schema_string="{")))
    assert texts(stage(metadata(schema_string=schema(field("a"), field("A")))))


def test_a_property_that_cannot_be_read_is_not_set() -> None:
    broken = {"delta.checkpointInterval": "often"}
    assert "delta.checkpointInterval" in only(stage(metadata(broken)))
    # but one that was there before stands in no one's way
    assert texts(stage(metadata(broken | {"x": "y"}), upon=base(PLAIN, metadata(broken)))) == []


def test_rows_are_not_hidden_from_readers_of_manifests() -> None:
    both = {
        "delta.enableDeletionVectors": "true",
        "delta.compatibility.symlinkFormatManifest.enabled": "true",
    }
    listed = features(readers=["deletionVectors"])
    assert "both true" in only(stage(listed, metadata(both), upon=NO_TABLE))
    assert "both true" in only(stage(metadata(both), upon=base(listed)))
    # one that hides them already stands in no one's way
    assert texts(stage(metadata(both | {"x": "y"}), upon=base(listed, metadata(both)))) == []


@pytest.mark.rule("metadata-format-parquet-only")
def test_tables_are_of_parquet() -> None:
    assert texts(stage(PLAIN, metadata(format_provider="orc"), upon=NO_TABLE))


def test_a_table_keeps_its_id() -> None:
    assert "another id" in only(stage(metadata(id="other")))


@pytest.mark.rule("older-003-metadata-consistent", "newer-variant-no-partition")
def test_partition_columns_are_columns_and_stay() -> None:
    assert "changes the partition columns" in only(stage(metadata(partition_columns=("day",))))
    assert texts(replacing(stage(metadata(partition_columns=("day",))))) == []
    new = stage(PLAIN, metadata(partition_columns=("nowhere",)), upon=NO_TABLE)
    assert "not in the schema" in only(new)
    nested = schema(field("id"), field("s", {"type": "struct", "fields": []}))
    whole = metadata(partition_columns=("s",), schema_string=nested)
    assert "partitioned by `s`" in only(stage(PLAIN, whole, upon=NO_TABLE))
    variant = replace(whole, schema_string=schema(field("id"), field("s", "variant")))
    listed = features(readers=["variantType"])
    assert "partitioned by `s`" in only(stage(listed, variant, upon=NO_TABLE))


MAPPING = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
TWO = metadata(MAPPING, schema_string=schema(mapped("id", 1), mapped("day", 2)))


@pytest.mark.rule("mapping-new-column-id", "mapping-maxcolumnid", "mapping-maxcolumnid-monotonic")
@pytest.mark.rule("mapping-physicalname", "mapping-id", "mapping-enable-5-6")
def test_ids_of_columns_are_told_and_never_given_out_twice() -> None:
    read = base(MAPPED, TWO)
    assert texts(stage(TWO, upon=read)) == []
    three = schema(mapped("id", 1), mapped("day", 2), mapped("new", 3))
    assert "maxColumnId" in only(stage(replace(TWO, schema_string=three), upon=read))
    grown = {**MAPPING, "delta.columnMapping.maxColumnId": "3"}
    assert texts(stage(metadata(grown, schema_string=three), upon=read)) == []
    shrunk = {**MAPPING, "delta.columnMapping.maxColumnId": "1"}
    one = metadata(shrunk, schema_string=schema(mapped("id", 1)))
    assert "maxColumnId" in only(stage(one, upon=read))
    unnamed = replace(TWO, schema_string=schema(mapped("id", 1), field("day")))
    assert any("has no physical name" in text for text in texts(stage(unnamed, upon=read)))


@pytest.mark.rule("mapping-physical-static")
def test_the_name_of_a_column_in_files_stays() -> None:
    moved = replace(TWO, schema_string=schema(mapped("id", 1, "elsewhere"), mapped("day", 2)))
    assert "physical name of `id`" in only(stage(moved, upon=base(MAPPED, TWO)))


def test_mapping_is_switched_on_by_name_alone() -> None:
    named = replace(
        TWO, schema_string=schema(mapped("id", 1, "id"), mapped("day", 2, "day", "date"))
    )
    assert texts(stage(named, upon=base(MAPPED))) == []
    by_id = replace(named, configuration={**MAPPING, "delta.columnMapping.mode": "id"})
    assert "from none to id" in only(stage(by_id, upon=base(MAPPED)))
    assert texts(stage(MAPPED, by_id, upon=NO_TABLE)) == []
    off = replace(named, configuration={})
    assert any("from name to none" in text for text in texts(stage(off, upon=base(MAPPED, named))))


def test_elements_are_not_made_required_unseen() -> None:
    def lists(*, nulls: bool) -> str:
        kind = {"type": "array", "elementType": "long", "containsNull": nulls}
        return schema(field("list", kind))

    read = base(PLAIN, metadata(schema_string=lists(nulls=True)))
    strict = metadata(schema_string=lists(nulls=False))
    assert "`list.element` may no longer be null" in only(stage(strict, upon=read))


def test_a_column_is_not_made_required_unseen() -> None:
    strict = metadata(schema_string=schema(field("id", nullable=False), field("day", "date")))
    staged = stage(strict)
    assert "may no longer be null" in only(staged)
    # a null may come meanwhile, or stand in a file that nobody writes anew
    promised = Promises(validated=frozenset({ValidatedRule(key="id nullable", expression="")}))
    seen = replace(staged, reads=WHOLE_TABLE, promises=promised)
    assert "may no longer be null" in only(seen)
    found = Promises(validated=frozenset({not_null_rule("id")}))
    assert "may no longer be null" in only(replace(staged, promises=found))
    assert texts(replace(seen, promises=found)) == []
    assert texts(replacing(staged)) == []
    late = schema(field("id"), field("day", "date"), field("new", nullable=False))
    assert "`new` may no longer be null" in only(stage(metadata(schema_string=late)))
    assert texts(stage(PLAIN, strict, upon=NO_TABLE)) == []


@pytest.mark.rule("column-identity-high-water-mark", "column-identity-new-unique")
@pytest.mark.parametrize(
    ("step", "before", "after", "refused"),
    [
        (1, 5, 9, False),
        (1, 5, 4, True),
        (-1, -5, -9, False),
        (-1, -5, -4, True),
        (1, 5, None, True),
    ],
)
def test_numbers_that_were_given_out_stay_given_out(
    step: int, before: int, after: int | None, refused: bool
) -> None:
    read = base(features("identityColumns"), metadata(schema_string=numbered(before, step)))
    found = texts(stage(metadata(schema_string=numbered(after, step)), upon=read))
    assert [("goes back" in text) for text in found] == [True] * refused


@pytest.mark.rule("column-identity-start", "column-identity-step", "column-identity-allow")
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"delta.identity.start": 2},
        {"delta.identity.step": 3},
        {"delta.identity.allowExplicitInsert": True},
    ],
    ids=str,
)
def test_how_numbers_are_made_stays(change: dict[str, object]) -> None:
    def counted(**keys: object) -> Metadata:
        made = {f"delta.identity.{key}": value for key, value in _COUNTED.items()}
        return metadata(schema_string=schema(field("n", **{**made, **keys})))

    read = base(features("identityColumns"), counted())
    found = texts(stage(counted(**change), upon=read))
    assert ["how the numbers" in text for text in found] == [True] * bool(change)


_COUNTED = {"start": 1, "step": 1, "highWaterMark": 5, "allowExplicitInsert": False}


@pytest.mark.rule("column-identity-step")
def test_numbers_do_not_stand_still() -> None:
    listed, still = features("identityColumns"), metadata(schema_string=numbered(None, 0))
    assert "step of 0" in only(stage(listed, still, upon=NO_TABLE))
    # where it is so already, it is not this commit's doing
    assert texts(stage(replace(still, name="other"), upon=base(listed, still))) == []


def test_protected_checkpoints_stay_protected() -> None:
    name = "delta.requireCheckpointProtectionBeforeVersion"
    read = base(features("checkpointProtection"), metadata({name: "9"}))
    assert "from 9 to 0" in only(stage(METADATA, upon=read))
    assert texts(stage(metadata({name: "12"}), upon=read)) == []


ROWS = features("rowTracking", "domainMetadata")
COUNTED = Promises(
    validated=frozenset({ValidatedRule(key="delta.enableRowTracking", expression="")})
)
NAMES = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-1",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version-1",
}


@pytest.mark.rule("row-write-enable-names", "row-write-names-unique")
@pytest.mark.parametrize(
    "change",
    [
        {"delta.rowTracking.materializedRowIdColumnName": "ID"},
        {"delta.rowTracking.materializedRowIdColumnName": "_row-version-1"},
        {"delta.rowTracking.materializedRowIdColumnName": ""},
    ],
    ids=["a column", "the other one", "none"],
)
def test_row_tracking_needs_names_of_its_own(change: dict) -> None:
    seen = {"promises": COUNTED, "reads": WHOLE_TABLE}
    assert texts(stage(metadata(NAMES), upon=base(ROWS), **seen)) == []
    wrong = stage(metadata(NAMES | change), upon=base(ROWS), **seen)
    assert "names of its own" in only(wrong)


@pytest.mark.rule("row-write-names-unique")
@pytest.mark.parametrize("name", ["_row-id-1", "_ROW-VERSION-1"])
def test_no_later_column_takes_a_name_of_row_tracking(name: str) -> None:
    later = schema(field("id"), field("day", "date"), field(name))
    read = base(ROWS, metadata(NAMES))
    assert "names of its own" in only(stage(metadata(NAMES, schema_string=later), upon=read))
    inner = {"type": "struct", "fields": [field(name)]}
    nested = schema(field("id"), field("day", "date"), field("s", inner))
    assert "names of its own" in only(stage(metadata(NAMES, schema_string=nested), upon=read))
    both = features("rowTracking", "domainMetadata", readers=["columnMapping"])
    one = {**MAPPING, "delta.columnMapping.maxColumnId": "1"}
    held = metadata(NAMES | one, schema_string=schema(mapped("id", 1)))
    two = schema(mapped("id", 1), mapped("n", 2, name))
    taken = metadata(NAMES | MAPPING, schema_string=two)
    assert "names of its own" in only(stage(taken, upon=base(both, held)))


@pytest.mark.rule("row-enabled-all-have-base", "row-write-enable-all-set", "row-write-backfill")
@pytest.mark.rule("row-enabled")
def test_row_tracking_begins_when_every_file_has_ids() -> None:
    assert "nobody checked that every file has row ids" in only(
        stage(metadata(NAMES), upon=base(ROWS))
    )
    # a file without ids may come meanwhile, after everybody has looked
    promised = stage(metadata(NAMES), upon=base(ROWS), promises=COUNTED)
    assert "nobody checked that every file has row ids" in only(promised)
    assert texts(replace(promised, reads=WHOLE_TABLE)) == []
    known = base(ROWS, metadata(NAMES))
    assert texts(stage(metadata(NAMES, description="d"), upon=known)) == []
    assert texts(stage(ROWS, metadata(NAMES), upon=NO_TABLE)) == []


def test_row_tracking_is_not_relied_on_while_it_is_suspended() -> None:
    both = NAMES | {"delta.rowTrackingSuspended": "true"}
    staged = stage(metadata(both), upon=base(ROWS), promises=COUNTED, reads=WHOLE_TABLE)
    assert "both true" in only(staged)
