"""What keeps a table convertible to Iceberg: rules for its protocol, schema and files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.protocol.actions import Metadata
from explorer.transaction.read_set import WHOLE_TABLE
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.staged import Promises, ValidatedRule
from tests.unit.transaction.stages import (
    add,
    base,
    features,
    mapped,
    metadata,
    only,
    replacing,
    schema,
    stage,
    texts,
    vector,
)

ICEBERG = features("icebergCompatV1", "icebergCompatV2", readers=["columnMapping"])
MAPPING = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
LIST = {"type": "array", "elementType": "long", "containsNull": True}
MAP = {"type": "map", "keyType": "integer", "valueType": LIST, "valueContainsNull": True}

for_each_version = pytest.mark.parametrize("version", [1, 2])


def compatible(version: int, *fields: dict, **properties: str) -> Metadata:
    enabled = {f"delta.enableIcebergCompatV{version}": "true"}
    if not fields:  # so that others may come
        enabled["delta.columnMapping.maxColumnId"] = "1"
    return metadata(MAPPING | enabled | properties, schema_string=schema(mapped("id", 1), *fields))


def off(enabled: Metadata) -> Metadata:
    """The same, where nobody switched the rules on."""
    held = enabled.configuration.items()
    return replace(enabled, configuration={k: v for k, v in held if "Iceberg" not in k})


def changed(version: int, *fields: dict) -> list[str]:
    """What is wrong with such columns in a table that had none of them."""
    return texts(stage(compatible(version, *fields), upon=base(ICEBERG, compatible(version))))


@pytest.mark.rule("iceberg-v1-numrecords", "iceberg-v2-numrecords", "iceberg-v1-enabled")
@pytest.mark.rule("iceberg-v2-enabled")
@for_each_version
def test_iceberg_counts_the_rows_of_every_file(version: int) -> None:
    read = base(ICEBERG, compatible(version))
    assert texts(stage(add(stats='{"numRecords":10}'), upon=read)) == []
    for promises in (Promises(), Promises(recommits=True)):
        found = only(stage(add(stats=None), upon=read, promises=promises))
        assert "numRecords" in found
    without = base(ICEBERG, off(compatible(version)))
    assert texts(stage(add(stats=None), upon=without)) == []


@pytest.mark.rule("iceberg-v1-mapping-mode", "iceberg-v2-mapping-mode", "iceberg-v1-needs-mapping")
@pytest.mark.rule("iceberg-v2-needs-mapping")
@for_each_version
def test_iceberg_needs_mapped_columns(version: int) -> None:
    enabled = compatible(version)
    unmapped = metadata({f"delta.enableIcebergCompatV{version}": "true"})
    told = "Column mapping is off"
    assert told in only(stage(add(), upon=base(ICEBERG, unmapped)))
    assert told in only(stage(ICEBERG, unmapped, upon=NO_TABLE))
    # a mode means nothing where the protocol does not support it
    alone = features(f"icebergCompatV{version}")
    assert told in only(stage(add(), upon=base(alone, enabled)))
    assert any(told in text for text in texts(stage(alone, enabled, upon=NO_TABLE)))
    by_id = replace(enabled, configuration=enabled.configuration | {**MAPPING, **BY_ID})
    for mode in (enabled, by_id):
        assert texts(stage(ICEBERG, mode, upon=NO_TABLE)) == []


BY_ID = {"delta.columnMapping.mode": "id"}


@pytest.mark.rule("iceberg-v1-enabled", "iceberg-v2-enabled")
@for_each_version
def test_iceberg_begins_where_the_files_that_are_there_were_looked_at(version: int) -> None:
    enabled = compatible(version)
    read = base(ICEBERG, off(enabled))
    assert "nobody checked that" in only(stage(enabled, upon=read))
    assert "nobody checked that" in only(stage(enabled, upon=read, reads=WHOLE_TABLE))
    looked = ValidatedRule(key=f"delta.enableIcebergCompatV{version}", expression="")
    found = Promises(validated=frozenset({looked}))
    assert texts(stage(enabled, upon=read, reads=WHOLE_TABLE, promises=found)) == []
    assert texts(stage(ICEBERG, enabled, upon=NO_TABLE)) == []
    assert texts(stage(replace(enabled, name="n"), upon=base(ICEBERG, enabled))) == []
    assert texts(stage(off(enabled), upon=base(ICEBERG, enabled))) == []


@pytest.mark.rule("iceberg-v1-no-dv", "iceberg-v2-no-active-dv", "iceberg-v2-not-v1")
def test_iceberg_does_without_deletion_vectors() -> None:
    both = features(
        "icebergCompatV1", "icebergCompatV2", readers=["columnMapping", "deletionVectors"]
    )
    new = add(stats='{"numRecords":10}')
    assert "rule set 1 forbids" in only(stage(new, upon=base(both, compatible(1))))
    assert texts(stage(new, upon=base(both, compatible(2)))) == []
    on = {"delta.enableDeletionVectors": "true"}
    assert "rule set 2 forbids" in only(stage(new, upon=base(both, compatible(2, **on))))
    wide = '{"numRecords":10,"tightBounds":false}'
    old = add("a", deletion_vector=vector(), stats=wide, data_change=False)
    assert "has a deletion vector" in only(stage(old, upon=base(both, compatible(2))))
    twice = compatible(1, **{"delta.enableIcebergCompatV2": "true"})
    assert "Both sets" in only(stage(new, upon=base(ICEBERG, twice)))


@pytest.mark.rule("iceberg-v1-block-types")
@pytest.mark.parametrize(("kind", "name"), [(LIST, "array"), (MAP, "map"), ("void", "void")])
def test_the_first_rules_for_iceberg_take_no_type_without_a_counterpart(
    kind: object, name: str
) -> None:
    (found,) = changed(1, mapped("x", 2, kind=kind))
    assert f"`{name}`" in found
    inner = {"type": "struct", "fields": [mapped("y", 3, kind=kind)]}
    (found,) = changed(1, mapped("x", 2, kind=inner))
    assert f"`{name}`" in found


SIMPLE = "byte short integer long float double decimal(9,2) string binary boolean timestamp date"


@pytest.mark.rule("iceberg-v2-type-allowlist")
@pytest.mark.parametrize("kind", [*SIMPLE.split(), "timestamp_ntz", "void", "variant"])
def test_the_second_rules_for_iceberg_take_the_types_of_their_list(kind: str) -> None:
    listed = features(
        *("icebergCompatV1", "icebergCompatV2"),
        readers=["columnMapping", "timestampNtz", "variantType"],
    )
    read = base(listed, compatible(2))
    inner = {"type": "struct", "fields": [mapped("y", 3, kind=kind)]}
    for column in (mapped("x", 2, kind=kind), mapped("x", 2, kind=inner)):
        found = texts(stage(compatible(2, column), upon=read))
        assert [f"`{kind}`" in text for text in found] == [True] * (kind in {"void", "variant"})


@pytest.mark.rule("iceberg-v2-nested-ids", "iceberg-v2-nested-ids-storage")
def test_elements_have_ids_beside_the_field_around_them() -> None:
    bare, named = (mapped("x", 2, kind=LIST) for _ in range(2))
    (found,) = changed(2, bare)
    assert "have no ids" in found
    ids = {"parquet.field.nested.ids": {"x.element": 3}}
    named["metadata"] |= ids
    assert changed(2, named) == []
    # around a struct the ids of what lies in its fields do not count
    inner = {"type": "struct", "fields": [bare]}
    around = mapped("s", 4, kind=inner)
    around["metadata"] |= ids
    (found,) = changed(2, around)
    assert "have no ids" in found


@pytest.mark.rule("iceberg-v2-nested-ids", "iceberg-v2-nested-ids-keys")
@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ({"x.key": 3, "x.value": 4, "x.value.element": 5}, None),
        ({"col-2.key": 3, "col-2.value": 4, "col-2.value.element": 5}, None),
        ({"x.key": 3, "x.value": 4}, "have no ids"),
        ({"x.key": 3, "x.value": 4, "col-2.value.element": 5}, "have no ids"),
        ({"x.key": 3, "x.value": 4, "x.element": 5}, "have no ids"),
        ({"key": 3, "value": 4, "value.element": 5}, "have no ids"),
        ({"x.key": 3, "x.value": 4, "x.value.element": 4}, "given out twice: `4`"),
        ({"x.key": 1, "x.value": 4, "x.value.element": 5}, "given out twice: `1`"),
        ({"x.key": 2**31, "x.value": 4, "x.value.element": 5}, "not an id of 32 bits"),
        ({"x.key": "3", "x.value": 4, "x.value.element": 5}, "not an id of 32 bits"),
    ],
)
def test_what_lies_in_arrays_and_maps_has_ids_of_its_own_by_the_way_to_it(
    ids: dict[str, object], told: str | None
) -> None:
    # by the specification, and as the reference writes them
    for key in ("parquet.field.nested.ids", "delta.columnMapping.nested.ids"):
        column = mapped("x", 2, kind=MAP)
        column["metadata"][key] = ids
        found = changed(2, column)
        assert found == [] if told is None else told in found[0]


@pytest.mark.rule("iceberg-v1-materialize-partitions", "iceberg-v2-materialize-partitions")
@for_each_version
def test_files_for_iceberg_hold_the_partition_columns(version: int) -> None:
    read = base(ICEBERG, replace(compatible(version), partition_columns=("id",)))
    new = add(partition_values={"col-1": "5"})
    staged = stage(new, upon=read)
    assert "hold the partition columns" in only(staged)
    assert texts(replace(staged, promises=Promises(holds_partition_columns=True))) == []
    assert texts(replace(staged, promises=Promises(recommits=True))) == []


@pytest.mark.rule("iceberg-v1-block-partition-rename", "iceberg-v2-block-partition-rename")
@for_each_version
def test_a_table_for_iceberg_keeps_its_partition_columns_also_when_it_is_replaced(
    version: int,
) -> None:
    two = compatible(version, mapped("day", 2))
    held = replace(two, partition_columns=("id",))
    read = base(ICEBERG, held)
    other = replacing(stage(replace(two, partition_columns=("day",)), upon=read))
    assert "partitions the table by other columns" in only(other)
    retyped = schema(mapped("id", 1, kind="integer"), mapped("day", 2))
    same = replace(held, schema_string=retyped)
    assert texts(replacing(stage(same, upon=read))) == []
