"""The first commit of a table."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import UUID

import orjson
import pyarrow as pa
import pytest

import explorer
from explorer.errors import InvalidArgumentError
from explorer.protocol.arrow_types import delta_schema
from explorer.protocol.features.column_mapping import field_id, physical_name
from explorer.protocol.features.registry import supported_features
from explorer.protocol.schema import (
    LONG,
    ArrayType,
    StructField,
    StructType,
    parse_schema,
    render_schema,
)
from explorer.protocol.schema_walk import walk_fields
from explorer.storage.open import open_write_store
from explorer.transaction.commit import Committed, commit
from explorer.transaction.read_set import NOTHING
from explorer.transaction.read_version import NO_TABLE, ReadVersion
from explorer.transaction.staged import Provenance, StagedCommit
from explorer.writing.schema.new_table import (
    NewTable,
    build_new_table,
    build_replaced_table,
    build_table_of_rows,
)
from explorer.writing.schema.schema_change import merge_schema

NOW = 1_700_000_000_000
ORDERS = delta_schema(
    pa.schema(
        [
            ("id", pa.int64()),
            ("day", pa.date32()),
            ("place", pa.struct([("city", pa.string()), ("tags", pa.list_(pa.string()))])),
            ("paid", pa.map_(pa.string(), pa.struct([("amount", pa.decimal128(10, 2))]))),
        ]
    )
)


def columns(*fields: str) -> StructType:
    """A schema of fields in JSON without the braces, nullable and without metadata by default."""
    texts = []
    for text in fields:
        given = orjson.loads("{" + text + "}")
        texts.append({"nullable": True, "metadata": {}, **given})
    return parse_schema(orjson.dumps({"type": "struct", "fields": texts}).decode())


def ids():
    numbers = count(1)
    return lambda: UUID(int=next(numbers))


def new(schema: StructType = ORDERS, **asked) -> NewTable:
    return build_new_table(schema, now_ms=NOW, ids=ids(), **asked)


def refused(schema: StructType = ORDERS, **asked) -> InvalidArgumentError:
    with pytest.raises(InvalidArgumentError) as caught:
        new(schema, **asked)
    assert caught.value.reason
    assert caught.value.remedy
    return caught.value


def opened(table: NewTable, place: Path) -> explorer.Table:
    """The table as it is read once the commit is made."""
    staged = StagedCommit(
        base=NO_TABLE,
        reads=NOTHING,
        provenance=Provenance(operation="CREATE TABLE", transaction_id="t", engine_info="tests"),
        actions=table.actions,
        promises=table.promises,
    )
    made = commit(open_write_store(place), staged, clock=lambda: NOW)
    assert isinstance(made, Committed)
    return explorer.open_table(place)


EVERYTHING = {
    "delta.enableDeletionVectors": True,
    "delta.enableChangeDataFeed": True,
    "delta.enableRowTracking": True,
    "delta.columnMapping.mode": "name",
    "delta.enableInCommitTimestamps": True,
    "delta.checkpointPolicy": "v2",
    "delta.enableTypeWidening": True,
    "delta.appendOnly": True,
    "delta.constraints.positive": "id > 0",
    "delta.feature.vacuumProtocolCheck": "supported",
    "owner": "shop",
}


def test_a_table_with_everything_is_committed_and_read(tmp_path):
    made = new(cluster_by=["ID", "place.city"], properties=EVERYTHING, description="orders")
    table = opened(made, tmp_path / "table")
    snapshot = table.snapshot()
    assert snapshot.schema == made.schema
    assert snapshot.metadata == made.metadata
    assert {*supported_features(snapshot.protocol)} >= {"clustering", "domainMetadata"}
    assert snapshot.num_files == 0
    assert explorer.read_rows(snapshot).num_rows == 0
    assert snapshot.metadata.configuration["owner"] == "shop"
    assert int(snapshot.metadata.created_time.timestamp() * 1000) == NOW


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, (1, 2, None, None)),
        ({"delta.appendOnly": True}, (1, 2, None, None)),
        ({"delta.constraints.a": "id > 0"}, (1, 3, None, None)),
        ({"delta.enableChangeDataFeed": "true"}, (1, 7, None, {"changeDataFeed"})),
        ({"delta.columnMapping.mode": "id"}, (2, 7, None, {"columnMapping"})),
        ({"delta.enableRowTracking": "true"}, (1, 7, None, {"rowTracking", "domainMetadata"})),
        (
            {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"},
            (3, 7, {"columnMapping", "deletionVectors"}, {"columnMapping", "deletionVectors"}),
        ),
        ({"delta.minReaderVersion": 2, "delta.minWriterVersion": 5}, (2, 5, None, None)),
        ({"delta.minReaderVersion": 1, "delta.minWriterVersion": 5}, (1, 4, None, None)),
        ({"delta.ignoreProtocolDefaults": True}, (1, 1, None, None)),
        ({"DELTA.FEATURE.rowtracking": "enabled"}, (1, 7, None, {"rowTracking", "domainMetadata"})),
    ],
)
def test_the_protocol_is_the_lowest_with_what_is_asked_for(asked, expected):
    found = new(properties=asked).protocol
    reader, writer, read, written = expected
    assert (found.min_reader_version, found.min_writer_version) == (reader, writer)
    assert found.reader_features is None if read is None else {*found.reader_features} == read
    usual = {"appendOnly", "invariants"}
    assert (
        found.writer_features is None
        if written is None
        else {*found.writer_features} == written | usual
    )


def test_names_of_delta_are_written_as_readers_ask_for_them_and_others_stay():
    asked = {"DELTA.ENABLECHANGEDATAFEED": "true", "Owner": "x", "delta.Constraints.Big": "id > 9"}
    found = new(properties=asked).metadata.configuration
    assert found == {
        "delta.enableChangeDataFeed": "true",
        "Owner": "x",
        "delta.constraints.Big": "id > 9",
    }


@pytest.mark.rule("mapping-id", "mapping-maxcolumnid", "mapping-new-column-guid")
@pytest.mark.rule("mapping-physicalname")
def test_mapped_columns_get_ids_in_order_and_names_of_their_own():
    table = new(properties={"delta.columnMapping.mode": "name"})
    places = list(walk_fields(table.schema))
    assert [field_id(place.field) for place in places] == [*range(1, len(places) + 1)]
    names = [physical_name(place.field, "name") for place in places]
    assert len({*names}) == len(names)
    assert all(name.startswith("col-") for name in names)
    assert table.metadata.configuration["delta.columnMapping.maxColumnId"] == str(len(places))


def test_ids_of_another_table_do_not_come_with_its_schema():
    mapped = new(properties={"delta.columnMapping.mode": "name"}).schema
    assert new(mapped).schema == ORDERS
    again = build_new_table(
        mapped, now_ms=NOW, properties={"delta.columnMapping.mode": "id"}
    ).schema
    assert physical_name(again.fields[0], "id") != physical_name(mapped.fields[0], "id")


def test_a_new_table_has_no_former_types_and_no_numbers_given_out():
    schema = columns(
        '"name":"k","type":"long","metadata":{"delta.identity.start":1,"delta.identity.step":1,'
        '"delta.identity.allowExplicitInsert":false,"delta.identity.highWaterMark":7}',
        '"name":"v","type":"long","metadata":{"comment":"c","delta.typeChanges":'
        '[{"fromType":"integer","toType":"long"}]}',
    )
    key, value = new(schema).schema.fields
    assert "delta.identity.highWaterMark" not in key.metadata
    assert value.metadata == {"comment": "c"}


def test_clustering_columns_are_named_by_their_physical_path():
    table = new(cluster_by=["`Place`.city"], properties={"delta.columnMapping.mode": "name"})
    place = table.schema.fields[2]
    path = [physical_name(field, "name") for field in (place, place.data_type.fields[0])]
    (domain,) = table.domains
    assert orjson.loads(domain.configuration)["clusteringColumns"] == [path]


def test_partition_columns_are_spelled_as_the_schema_has_them():
    assert new(partition_by=["DAY"]).metadata.partition_columns == ("day",)


@pytest.mark.rule("clustering-no-partition", "mapping-maxcolumnid-internal")
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"partition_by": ["dai"]}, "Did you mean day"),
        ({"partition_by": ["day", "Day"]}, "twice"),
        ({"partition_by": ["place"]}, "No table can be partitioned by `place`"),
        ({"partition_by": ["place.city"]}, "not in the schema"),
        ({"partition_by": ["day"], "cluster_by": ["id"]}, "same time"),
        ({"cluster_by": ["place"]}, "not in the schema"),
        ({"cluster_by": ["place.tags"]}, "array<string>"),
        ({"cluster_by": ["id", "ID"]}, "twice"),
        ({"cluster_by": ["id"] * 5}, "5 columns"),
        (
            {"cluster_by": ["day"], "properties": {"delta.dataSkippingNumIndexedCols": 1}},
            "No statistics",
        ),
        ({"properties": {"delta.enablChangeDataFeed": "true"}}, "mean delta.enableChangeDataFeed"),
        ({"properties": {"delta.appendOnly": "perhaps"}}, "true or false"),
        ({"properties": {"delta.appendOnly": "true", "DELTA.appendonly": "false"}}, "set twice"),
        ({"properties": {"delta.feature.rowTraking": "supported"}}, "delta.feature.rowTracking"),
        ({"properties": {"delta.feature.rowTracking": "on"}}, "supported or not mentioned"),
        ({"properties": {"delta.feature.catalogManaged": "supported"}}, "catalog decides"),
        ({"properties": {"delta.minWriterVersion": 8}}, "versions 1 to 7"),
        ({"properties": {"delta.columnMapping.maxColumnId": 8}}, "Writers keep it"),
        ({"properties": {"delta.enableIcebergCompatV3": "true"}}, "Iceberg"),
        ({"properties": {"delta.universalFormat.enabledFormats": "iceberg"}}, "Iceberg"),
        ({"properties": {"delta.coordinatedCommits.tableConf-preview": "{}"}}, "service"),
        ({"properties": {"delta.constraints.c": "nothing > 1"}}, "nothing"),
        ({"properties": {"delta.constraints.c": "reflect('a', 'b') > 1"}}, "reflect"),
        ({"properties": {"delta.dataSkippingStatsColumns": "id,colour"}}, "colour"),
        ({"properties": {"a": "\ud800"}}, "cannot be read"),
    ],
    ids=str,
)
def test_what_no_table_may_have_is_refused_with_the_way_out(asked, words):
    error = refused(**asked)
    assert words in f"{error.problem} {error.reason} {error.remedy}"


@pytest.mark.rule("column-default-sql", "column-generated-sql")
@pytest.mark.parametrize(
    ("schema", "asked", "words"),
    [
        (
            columns('"name":"a","type":"long","metadata":{"delta.generationExpression":"1 +"}'),
            {},
            "cannot be read",
        ),
        (
            columns('"name":"a","type":"long","metadata":{"CURRENT_DEFAULT":"1 +"}'),
            {"properties": {"delta.feature.allowColumnDefaults": "supported"}},
            "cannot be read",
        ),
        (columns(), {}, "no columns"),
        (columns('"name":"a","type":"long"', '"name":"A","type":"long"'), {}, "called `a`"),
        (columns('"name":"a b","type":"long"'), {}, "delta.columnMapping.mode"),
        (columns('"name":"","type":"long"'), {}, "no name"),
        (columns('"name":"a","type":"money"'), {}, "money"),
        (
            columns('"name":"a","type":{"type":"array","elementType":"void","containsNull":true}'),
            {},
            "no type in an array",
        ),
        (columns('"name":"a","type":"interval day to second"'), {}, "types that the table cannot"),
        (
            columns(
                '"name":"a","type":{"type":"array","containsNull":true,"elementType":'
                '{"type":"struct","fields":[]}}'
            ),
            {},
            "struct without fields",
        ),
        (
            columns('"name":"a","type":"long","metadata":{"CURRENT_DEFAULT":"1"}'),
            {},
            "delta.feature.allowColumnDefaults",
        ),
        (
            columns(
                '"name":"a","type":"long","metadata":{"CURRENT_DEFAULT":"1",'
                '"delta.generationExpression":"b"}',
                '"name":"b","type":"long"',
            ),
            {},
            "Only one can be",
        ),
        (
            columns(
                '"name":"a","type":"long","metadata":{"delta.generationExpression":"b"}',
                '"name":"b","type":"long","metadata":{"delta.generationExpression":"c"}',
                '"name":"c","type":"long"',
            ),
            {},
            "made from b",
        ),
        (
            columns('"name":"a","type":"long","metadata":{"delta.generationExpression":"x + 1"}'),
            {},
            "no column x",
        ),
        (
            columns(
                '"name":"a","type":"string","metadata":'
                "{\"CURRENT_DEFAULT\":\"reflect('java.lang.System', 'exit', 0)\"}"
            ),
            {"properties": {"delta.feature.allowColumnDefaults": "supported"}},
            "reflect",
        ),
        (
            columns(
                '"name":"a","type":"long","metadata":{"CURRENT_DEFAULT":"b"}',
                '"name":"b","type":"long"',
            ),
            {"properties": {"delta.feature.allowColumnDefaults": "supported"}},
            "no column b",
        ),
        (
            columns('"name":"a","type":"long","metadata":{"delta.identity.start":1}'),
            {},
            "does not say how",
        ),
        (
            columns(
                '"name":"a","type":"integer","metadata":{"delta.identity.start":1,'
                '"delta.identity.step":1,"delta.identity.allowExplicitInsert":true}'
            ),
            {},
            "not a column of longs",
        ),
        (
            columns(
                '"name":"a","type":{"type":"array","containsNull":true,"elementType":{"type":'
                '"struct","fields":[{"name":"b","type":"long","nullable":false,"metadata":{}}]}}'
            ),
            {},
            "may not be null, in an array",
        ),
        (
            columns('"name":"_change_type","type":"long"', '"name":"a","type":"long"'),
            {"properties": {"delta.enableChangeDataFeed": "true"}},
            "_change_type",
        ),
    ],
    ids=str,
)
def test_columns_that_no_table_may_have_are_refused(schema, asked, words):
    error = refused(schema, **asked)
    assert words in f"{error.problem} {error.reason} {error.remedy}"


@pytest.mark.parametrize("deep", [99, 100, 3_000])
def test_types_are_nested_as_deep_as_they_can_be_read(deep):
    kind = LONG
    for _ in range(deep):
        kind = ArrayType(element_type=kind, contains_null=True)
    schema = StructType(fields=(StructField(name="a", data_type=kind),))
    if deep < 100:
        assert new(schema).schema == schema
        assert merge_schema(base_of(new()), schema).schema.fields[-1] == schema.fields[0]
        return
    assert "100 types deep" in refused(schema).problem
    with pytest.raises(InvalidArgumentError, match="100 types deep"):
        merge_schema(base_of(new()), schema)


def test_odd_names_are_allowed_where_files_have_others():
    schema = columns('"name":"a b","type":"long"', '"name":"ä","type":"long"')
    mapped = new(schema, properties={"delta.columnMapping.mode": "name"}, partition_by=["A B"])
    assert mapped.metadata.partition_columns == ("a b",)


def test_expressions_may_say_what_tables_say():
    schema = columns(
        '"name":"t","type":"timestamp","metadata":{"CURRENT_DEFAULT":"current_timestamp()"}',
        '"name":"u","type":"string","metadata":{"CURRENT_DEFAULT":"uuid()"}',
        '"name":"l","type":{"type":"array","elementType":"long","containsNull":true}',
    )
    found = new(
        schema,
        properties={
            "delta.feature.allowColumnDefaults": "supported",
            "delta.constraints.c": "exists(l, x -> x > 0)",
            "delta.constraints.d": 'u <> "none"',
        },
    )
    assert {*supported_features(found.protocol)} >= {"allowColumnDefaults", "checkConstraints"}


def test_rules_of_columns_bring_their_features(tmp_path):
    schema = columns(
        '"name":"k","type":"long","nullable":false,"metadata":{"delta.identity.start":5,'
        '"delta.identity.step":-1,"delta.identity.allowExplicitInsert":true}',
        '"name":"g","type":"long","metadata":{"delta.generationExpression":"d + 1"}',
        '"name":"d","type":"long","metadata":{"CURRENT_DEFAULT":"7","EXISTS_DEFAULT":"7"}',
        '"name":"n","type":"timestamp_ntz"',
        '"name":"v","type":"variant"',
        '"name":"c","type":"char(3)"',
        '"name":"i","type":"long","metadata":{"delta.invariants":'
        '"{\\"expression\\":{\\"expression\\":\\"i > 0\\"}}"}',
    )
    table = new(schema, properties={"delta.feature.allowColumnDefaults": "supported"})
    assert {*supported_features(table.protocol)} == {
        "appendOnly",
        "invariants",
        "generatedColumns",
        "identityColumns",
        "allowColumnDefaults",
        "timestampNtz",
        "variantType",
    }
    found = opened(table, tmp_path / "table").snapshot()
    assert "EXISTS_DEFAULT" not in found.schema.fields[2].metadata
    assert found.schema.fields[0].nullable is False
    assert explorer.read_rows(found).num_rows == 0


# --- tables that begin again


def base_of(table: NewTable, **fields) -> ReadVersion:
    return ReadVersion(
        version=4,
        protocol=table.protocol,
        metadata=table.metadata,
        timestamp=NOW,
        domains={item.domain: item for item in table.domains},
        **fields,
    )


def test_a_replaced_table_keeps_what_older_versions_rest_on():
    before = new(
        properties={**EVERYTHING, "delta.feature.timestampNtz": "supported"}, cluster_by=["id"]
    )
    table = build_replaced_table(
        base_of(before),
        columns('"name":"id","type":"long"', '"name":"x","type":"string"'),
        now_ms=NOW + 1,
        properties={"delta.columnMapping.mode": "name", "a": "b"},
        partition_by=["x"],
    )
    held, found = before.metadata, table.metadata
    assert found.id == held.id
    assert set(supported_features(table.protocol)) == set(supported_features(before.protocol))
    names = {name for name in held.configuration if "materialized" in name}
    assert len(names) == 2
    assert found.configuration == {
        **{name: held.configuration[name] for name in names},
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": str(len(list(walk_fields(before.schema))) + 1),
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.checkpointPolicy": "v2",
        "a": "b",
    }
    assert table.schema.fields[0] == before.schema.fields[0]
    assert orjson.loads(table.domains[0].configuration)["clusteringColumns"] == []
    assert table.promises.removes_every_live_file


def test_rules_and_descriptions_go_with_a_replaced_table():
    before = new(
        properties={"delta.constraints.c": "id > 0", "delta.appendOnly": "true"},
        name="n",
        description="d",
        partition_by=["day"],
    )
    table = build_replaced_table(base_of(before), columns('"name":"v","type":"variant"'), now_ms=1)
    assert table.metadata.configuration == {}
    assert (table.metadata.name, table.metadata.description) == (None, None)
    assert table.metadata.partition_columns == ()
    assert set(table.protocol.writer_features) == {
        "appendOnly",
        "invariants",
        "checkConstraints",
        "variantType",
    }


def test_ids_are_not_given_out_twice_by_a_replacement():
    before = new(properties={"delta.columnMapping.mode": "id"})
    highest = max(field_id(place.field) for place in walk_fields(before.schema))
    table = build_replaced_table(
        base_of(before),
        columns('"name":"id","type":"string"'),
        now_ms=1,
        properties={"delta.columnMapping.mode": "id"},
    )
    assert field_id(table.schema.fields[0]) == highest + 1


def test_rows_begin_a_table_without_what_they_say_of_another():
    schema = columns(
        '"name":"a","type":"long","nullable":false,"metadata":'
        '{"comment":"c","delta.generationExpression":"1","delta.columnMapping.id":4}'
    )
    table = build_table_of_rows(schema, now_ms=1)
    assert table.schema == columns('"name":"a","type":"long","metadata":{"comment":"c"}')
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (1, 2)


def test_an_identity_column_goes_on_counting_in_a_replaced_table():
    counted = (
        '"name":"{}","type":"long","metadata":{{"delta.identity.start":1,"delta.identity.step":1,'
        '"delta.identity.allowExplicitInsert":false{}}}'
    )
    before = base_of(new(columns(counted.format("k", ""))))
    held = columns(counted.format("k", ',"delta.identity.highWaterMark":7'))
    before = replace(before, metadata=replace(before.metadata, schema_string=render_schema(held)))
    table = build_replaced_table(
        before, columns(counted.format("K", ""), counted.format("other", "")), now_ms=1
    )
    marks = [item.metadata.get("delta.identity.highWaterMark") for item in table.schema.fields]
    assert marks == [7, None]


def test_a_replaced_table_vouches_for_the_rules_that_no_row_can_break():
    before = new(properties={"delta.constraints.c": "id > 0"})
    table = build_replaced_table(
        base_of(before), ORDERS, now_ms=1, properties={"delta.constraints.d": "id > 1"}
    )
    assert [rule.key for rule in table.promises.validated] == ["delta.constraints.d"]
