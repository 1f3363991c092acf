"""Tables as we would create them, and as delta-spark creates them: the same protocol, metadata and
domains; what it refuses, we refuse."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType as SparkStruct

import explorer
from explorer.errors import InvalidArgumentError
from explorer.protocol.features.column_mapping import physical_name
from explorer.protocol.schema import VARIANT, StructType, parse_schema
from explorer.protocol.schema_walk import walk_fields
from explorer.storage.open import open_write_store
from explorer.table.snapshot import Snapshot
from explorer.table.times import system_clock
from explorer.transaction.commit import Committed, commit
from explorer.transaction.read_set import NOTHING
from explorer.transaction.read_version import NO_TABLE, ReadVersion, read_version_of
from explorer.transaction.staged import Provenance, StagedCommit
from explorer.writing.schema.new_table import (
    NewTable,
    build_new_table,
    build_replaced_table,
    build_table_of_rows,
)
from explorer.writing.schema.schema_change import SchemaChange, merge_schema, overwrite_schema
from tests.interop.described import described
from tests.interop.twins import REFUSED, sql

pytestmark = pytest.mark.spark

_COLUMNS = (
    "id bigint not null comment 'the key', day date, place struct<city: string, tags: "
    "array<struct<name: string>>>, paid map<string, decimal(10,2)>, amount double"
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A statement; `special` are columns that only SQL can describe."""

    properties: dict[str, str] = field(default_factory=dict)
    columns: str = _COLUMNS
    special: str = ""
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    description: str | None = None

    @property
    def statement(self) -> str:
        columns = ", ".join(part for part in (self.columns, self.special) if part)
        parts = [f"create table T ({columns}) using delta"]
        if self.partition_by:
            parts.append(f"partitioned by ({', '.join(self.partition_by)})")
        if self.cluster_by:
            parts.append(f"cluster by ({', '.join(self.cluster_by)})")
        if self.description is not None:
            parts.append(f"comment '{self.description}'")
        if self.properties:
            told = ", ".join(f"'{name}' = '{value}'" for name, value in self.properties.items())
            parts.append(f"tblproperties ({told})")
        return " ".join(parts)

    def build(self, schema: StructType) -> NewTable:
        return build_new_table(
            schema,
            now_ms=0,
            partition_by=self.partition_by,
            cluster_by=self.cluster_by,
            properties=self.properties,
            description=self.description,
        )


def on(*names: str, **more: str) -> dict[str, str]:
    return {**{f"delta.{name}": "true" for name in names}, **more}


_MAPPED = {"delta.columnMapping.mode": "name"}
_BY_ID = {"delta.columnMapping.mode": "id"}
_SUPPORTED = {
    name: Asked(properties={f"delta.feature.{name}": "supported"})
    for name in (
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "checkpointProtection",
        "columnMapping",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "identityColumns",
        "inCommitTimestamp",
        "invariants",
        "rowTracking",
        "timestampNtz",
        "typeWidening",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantType",
    )
}
_CREATED = {
    "plain": Asked(description="orders of a shop"),
    "partitioned": Asked(partition_by=("DAY", "id")),
    "clustered": Asked(cluster_by=("day", "place.city")),
    "clustered and mapped": Asked(cluster_by=("id",), properties=_MAPPED),
    "vectors": Asked(properties=on("enableDeletionVectors")),
    "feed": Asked(properties=on("enableChangeDataFeed")),
    "row tracking": Asked(properties=on("enableRowTracking")),
    "mapped by name": Asked(properties=_MAPPED, columns=f"{_COLUMNS}, `odd name` int"),
    "mapped by id": Asked(properties={**_BY_ID, **on("enableDeletionVectors")}),
    "times": Asked(properties=on("enableInCommitTimestamps")),
    "v2 checkpoints": Asked(properties={"delta.checkpointPolicy": "v2"}),
    "widening": Asked(properties=on("enableTypeWidening")),
    "append only": Asked(properties=on("appendOnly")),
    "constraint": Asked(properties={"delta.constraints.positive": "id > 0"}),
    "everything": Asked(
        properties={
            **_MAPPED,
            **on(
                "enableDeletionVectors",
                "enableChangeDataFeed",
                "enableRowTracking",
                "enableInCommitTimestamps",
                "enableTypeWidening",
                "appendOnly",
            ),
            "delta.checkpointPolicy": "v2",
            "shop": "north",
        },
        cluster_by=("id",),
    ),
    "property in capitals": Asked(properties={"DELTA.ENABLECHANGEDATAFEED": "TRUE"}),
    "property of no one": Asked(properties={"Owner": "shop", "some.thing": "1"}),
    "iceberg 1": Asked(
        columns="id int, s struct<d: date>, t timestamp, p string",
        partition_by=("p",),
        properties=on("enableIcebergCompatV1"),
    ),
    "iceberg 2": Asked(
        columns="id int, l array<struct<m: map<string, array<int>>>>, k map<int, int>, p string",
        partition_by=("p",),
        properties=on("enableIcebergCompatV2"),
    ),
    "variant": Asked(columns="id int, v variant, s struct<w: variant>"),
    "shredded variant": Asked(columns="v variant", properties=on("enableVariantShredding")),
    "timestamp without zone": Asked(columns="id int, t array<timestamp_ntz>"),
    "characters": Asked(
        properties=_MAPPED,
        columns="a char(3), b varchar(5), d string, s struct<c: varchar(2), "
        "od: int, l: bigint>, l array<varchar(2)>, m map<char(1), struct<x: array<varchar(9)>>>",
    ),
    "void": Asked(columns="a void, b int"),
    "every type": Asked(
        columns="a byte, b short, c int, d long, e float, f double, g decimal(38,18), h boolean, "
        "i binary, j date, k timestamp, l string, m map<int, array<struct<x: int, y: date>>>"
    ),
    "nulls forbidden inside": Asked(
        columns="s struct<x: int not null>",
        properties={"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"},
    ),
    "only nulls": Asked(
        columns="a int", properties={"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"}
    ),
    "shredding without a variant": Asked(properties=on("enableVariantShredding")),
    "materialized partitions": Asked(properties=on("enableMaterializePartitionColumnsFeature")),
    "generated": Asked(
        special="doubled double generated always as (amount * 2)", partition_by=("doubled",)
    ),
    "identity": Asked(
        special="k bigint generated by default as identity (start with 5 increment by -2)"
    ),
    "identity always": Asked(special="k bigint generated always as identity"),
    "default": Asked(
        special="v int default 3", properties={"delta.feature.allowColumnDefaults": "supported"}
    ),
    "versions 1, 1": Asked(
        properties={"delta.minReaderVersion": "1", "delta.minWriterVersion": "1"}
    ),
    "versions 1, 4": Asked(
        properties={"delta.minReaderVersion": "1", "delta.minWriterVersion": "4"}
    ),
    "versions 2, 5": Asked(
        properties={"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
    ),
    "versions 1, 6": Asked(
        properties={"delta.minReaderVersion": "1", "delta.minWriterVersion": "6"}
    ),
    "versions 1, 7": Asked(
        properties={"delta.minReaderVersion": "1", "delta.minWriterVersion": "7"}
    ),
    "versions 3, 7": Asked(
        properties={"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"}
        | on("enableDeletionVectors")
    ),
    "writer version alone": Asked(properties={"delta.minWriterVersion": "5"}),
    "no defaults": Asked(properties=on("ignoreProtocolDefaults")),
    **{f"supported {name}": asked for name, asked in _SUPPORTED.items()},
}
_NEVER = {
    "unknown property": Asked(properties={"delta.enablChangeDataFeed": "true"}),
    "unknown feature": Asked(properties={"delta.feature.rowTraking": "supported"}),
    "feature that is off": Asked(properties={"delta.feature.rowTracking": "off"}),
    "value that cannot be": Asked(properties={"delta.appendOnly": "perhaps"}),
    "number that cannot be": Asked(properties={"delta.checkpointInterval": "0"}),
    "id of writers": Asked(properties={"delta.columnMapping.maxColumnId": "7"}),
    "vectors and manifests": Asked(
        properties=on("enableDeletionVectors", "compatibility.symlinkFormatManifest.enabled")
    ),
    "missing partition column": Asked(partition_by=("dai",)),
    "every column partitions": Asked(columns="a int, b int", partition_by=("a", "b")),
    "partitioned by a struct": Asked(partition_by=("place",)),
    "clustered and partitioned": Asked(partition_by=("day",), cluster_by=("id",)),
    "clustered by a struct": Asked(cluster_by=("place",)),
    "clustered by an array": Asked(cluster_by=("place.tags",)),
    "clustered by a boolean": Asked(columns="a boolean, b int", cluster_by=("a",)),
    "clustered by five": Asked(columns="a int, b int, c int, d int, e int", cluster_by=(*"abcde",)),
    "clustered without statistics": Asked(
        cluster_by=("amount",), properties={"delta.dataSkippingNumIndexedCols": "1"}
    ),
    "statistics of no column": Asked(properties={"delta.dataSkippingStatsColumns": "colour"}),
    "two of one name": Asked(columns="a int, A int"),
    "a space in a name": Asked(columns="`a b` int"),
    "a comma in a name inside": Asked(columns="s struct<`a,b`: int>"),
    "nulls forbidden in an array": Asked(columns="a array<struct<x: int not null>>"),
    "iceberg without mapping": Asked(
        properties={**on("enableIcebergCompatV2"), "delta.columnMapping.mode": "none"}
    ),
    "a column of the feed": Asked(
        columns="_change_type int", properties=on("enableChangeDataFeed")
    ),
}


# --- tables that we create and others use

_USED = {
    name: _CREATED[name]
    for name in (
        "plain",
        "partitioned",
        "clustered and mapped",
        "mapped by id",
        "everything",
        "characters",
        "iceberg 1",
        "iceberg 2",
        "variant",
        "versions 2, 5",
    )
}


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("asked", _USED.values(), ids=_USED)
def test_others_read_and_write_a_table_that_we_created(
    spark: SparkSession, tmp_path: Path, asked: Asked
) -> None:
    place = tmp_path / "table"
    schema = parse_schema(SparkStruct.fromDDL(asked.columns).json())
    made = asked.build(schema)
    staged = StagedCommit(
        base=NO_TABLE,
        reads=NOTHING,
        provenance=Provenance(operation="CREATE TABLE", transaction_id="t", engine_info="tests"),
        actions=made.actions,
        promises=made.promises,
    )
    assert isinstance(commit(open_write_store(place), staged, clock=system_clock), Committed)
    names = [item.name for item in schema.fields if item.data_type != VARIANT]
    assert sql(spark, place, "select * from T").columns == [item.name for item in schema.fields]
    sql(spark, place, f"insert into T (`{names[0]}`) values (1)")
    (row,) = sql(spark, place, f"select `{names[0]}` from T").collect()
    assert str(row[0]).strip() == "1"
    snapshot = explorer.open_table(place).snapshot()
    assert snapshot.schema == made.schema
    assert str(explorer.read_rows(snapshot)[names[0]][0].as_py()).strip() == "1"
    if not (made.protocol.reader_features or made.protocol.min_reader_version > 1):
        fields = json.loads(DeltaTable(place).schema().to_json())["fields"]
        assert [item["name"] for item in fields] == [*schema.names]


# --- columns that change with the rows that come


@dataclass(frozen=True, kw_only=True)
class Written:
    """A table, the columns of the rows that come, and how they are laid out."""

    columns: str
    incoming: str
    properties: dict[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    then_by: tuple[str, ...] = ()

    def create(self, spark: SparkSession, place: Path) -> ReadVersion:
        asked = Asked(
            columns=self.columns, properties=self.properties, partition_by=self.partition_by
        )
        sql(spark, place, asked.statement)
        return read_version_of(explorer.open_table(place).snapshot())

    def write(self, spark: SparkSession, place: Path, mode: str, option: str) -> Snapshot:
        rows = spark.createDataFrame([], SparkStruct.fromDDL(self.incoming))
        writer = rows.write.format("delta").mode(mode).option(option, "true")
        if self.then_by:
            writer = writer.partitionBy(*self.then_by)
        writer.save(str(place))
        return explorer.open_table(place).snapshot()

    @property
    def schema(self) -> StructType:
        return parse_schema(SparkStruct.fromDDL(self.incoming).json())


_BEGUN = {
    "plain": Written(columns="", incoming="id int not null comment 'key', d date"),
    "partitioned": Written(columns="", incoming="id int, d date, s string", then_by=("D",)),
    "nested": Written(
        columns="", incoming="v void, s struct<x: int not null>, l array<struct<y: int>>"
    ),
    "variant": Written(columns="", incoming="v variant, t timestamp_ntz"),
}


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("written", _BEGUN.values(), ids=_BEGUN)
def test_rows_begin_a_table_as_they_do_with_the_reference(
    spark: SparkSession, tmp_path: Path, written: Written
) -> None:
    theirs = written.write(spark, tmp_path / "table", "append", "mergeSchema")
    ours = build_table_of_rows(written.schema, now_ms=0, partition_by=written.then_by)
    assert described(ours.protocol, ours.metadata, ours.domains) == described(
        theirs.protocol, theirs.metadata, theirs.domains.values()
    )


_WIDENS = on("enableTypeWidening")
_NESTED = "id int, s struct<x: int, t: array<struct<y: int>>>, m map<string, struct<z: int>>"
_MERGED = {
    "a column": Written(columns="id int", incoming="id int, b string"),
    "columns in another order": Written(columns="id int, b int", incoming="C int, B int, ID int"),
    "fewer columns": Written(columns="id int, b int", incoming="b int, c date"),
    "a column that may not be null": Written(
        columns="id int not null", incoming="id int, b int not null"
    ),
    "inside structs, arrays and maps": Written(
        columns=_NESTED,
        incoming="S struct<T: array<struct<n: int, Y: int>>, w: int>, "
        "m map<string, struct<k: array<int>>>, id int",
    ),
    "mapped": Written(
        columns=_NESTED,
        incoming="id int, s struct<x: int, `odd name`: struct<k: int>>, n array<struct<k: int>>",
        properties=_MAPPED,
    ),
    "mapped by id": Written(columns="id int", incoming="id int, b int", properties=_BY_ID),
    "a void column": Written(columns="id int, v void", incoming="id int, v struct<x: int>"),
    "a void column comes": Written(columns="id int", incoming="id int, v void"),
    "a variant": Written(columns="id int", incoming="id int, v variant"),
    "a comment": Written(columns="id int comment 'a'", incoming="id int comment 'b', c int"),
    "with vectors and feed": Written(
        columns="id int",
        incoming="id int, c int",
        properties=on("enableDeletionVectors", "enableChangeDataFeed", "enableRowTracking"),
    ),
    "widened": Written(
        columns="a byte, b short, c int, f float, d decimal(6,2), s struct<x: int>, "
        "l array<map<int, byte>>",
        incoming="a int, b long, c long, f double, d decimal(9,3), s struct<x: long>, "
        "l array<map<long, short>>, n int",
        properties=_WIDENS,
    ),
    "widened and mapped": Written(
        columns="a byte, s struct<x: int>",
        incoming="a long, s struct<x: long, y: int>",
        properties={**_WIDENS, **_MAPPED},
    ),
    "a date becomes a timestamp": Written(
        columns="a date",
        incoming="a timestamp_ntz",
        properties={**_WIDENS, "delta.feature.timestampNtz": "supported"},
    ),
}
_NOT_MERGED = {
    "a timestamp without zone": Written(columns="id int", incoming="id int, t timestamp_ntz"),
    "a struct for a number": Written(columns="a int", incoming="a struct<x: int>"),
    "an array for a map": Written(columns="a map<int, int>", incoming="a array<int>"),
    "a space in a name": Written(columns="a int", incoming="a int, `b c` int"),
    "a widened column of a constraint": Written(
        columns="a int",
        incoming="a long",
        properties={**_WIDENS, "delta.constraints.c": "a > 0"},
    ),
    "two of one name": Written(columns="a int", incoming="b int, B int"),
}
_OVERWRITTEN = {
    "other columns": Written(columns="id int, b int", incoming="c string, id long"),
    "other partitions": Written(
        columns="id int, b int", incoming="id int, b int", partition_by=("b",), then_by=("id",)
    ),
    "no partitions": Written(
        columns="id int, b int", incoming="id int, c int", partition_by=("b",)
    ),
    "rules that go": Written(
        columns="id int not null comment 'x', b int", incoming="id int comment 'y', b int"
    ),
    "mapped": Written(
        columns="id int, b int, l array<int>",
        incoming="ID int, n int, b string, l array<int>",
        properties=_MAPPED,
    ),
    "a variant": Written(columns="id int", incoming="v variant", properties=_MAPPED),
    "widened before": Written(columns="id int", incoming="id long", properties=_WIDENS),
}
_NOT_OVERWRITTEN = {
    "a timestamp without zone": Written(columns="id int", incoming="t timestamp_ntz"),
    "a space in a name": Written(columns="a int", incoming="`b c` int"),
    "a column that partitions": Written(columns="a int, b int", incoming="a int", then_by=("b",)),
    "every column": Written(columns="a int, b int", incoming="a int", then_by=("a",)),
}


def changed(base: ReadVersion, change: SchemaChange | None) -> dict[str, Any]:
    """What a table is afterwards."""
    if change is None:
        return described(base.protocol, base.metadata, ())
    return described(change.protocol, change.metadata, change.domains)


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("written", _MERGED.values(), ids=_MERGED)
def test_columns_are_merged_as_the_reference_merges_them(
    spark: SparkSession, tmp_path: Path, written: Written
) -> None:
    base = written.create(spark, tmp_path / "table")
    ours = changed(base, merge_schema(base, written.schema))
    theirs = written.write(spark, tmp_path / "table", "append", "mergeSchema")
    assert ours == described(theirs.protocol, theirs.metadata, ())


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("written", _OVERWRITTEN.values(), ids=_OVERWRITTEN)
def test_columns_are_overwritten_as_the_reference_overwrites_them(
    spark: SparkSession, tmp_path: Path, written: Written
) -> None:
    base = written.create(spark, tmp_path / "table")
    change = overwrite_schema(base, written.schema, partition_by=written.then_by)
    theirs = written.write(spark, tmp_path / "table", "overwrite", "overwriteSchema")
    assert changed(base, change) == described(theirs.protocol, theirs.metadata, ())
    if written.properties == _MAPPED:
        kept = [
            {
                place.path.lower(): physical_name(place.field, "name")
                for place in walk_fields(parse_schema(metadata.schema_string))
            }
            for metadata in (base.metadata, change.metadata, theirs.metadata)
        ]
        before, ours, others = [
            {path for path in kept[0].keys() & each.keys() if kept[0][path] == each[path]}
            for each in kept
        ]
        assert ours == others <= before


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("written", _NOT_MERGED.values(), ids=_NOT_MERGED)
def test_columns_that_the_reference_does_not_merge_are_refused(
    spark: SparkSession, tmp_path: Path, written: Written
) -> None:
    base = written.create(spark, tmp_path / "table")
    with pytest.raises(REFUSED):
        written.write(spark, tmp_path / "table", "append", "mergeSchema")
    with pytest.raises(InvalidArgumentError):
        merge_schema(base, written.schema)


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("written", _NOT_OVERWRITTEN.values(), ids=_NOT_OVERWRITTEN)
def test_columns_by_which_the_reference_overwrites_nothing_are_refused(
    spark: SparkSession, tmp_path: Path, written: Written
) -> None:
    base = written.create(spark, tmp_path / "table")
    with pytest.raises(REFUSED):
        written.write(spark, tmp_path / "table", "overwrite", "overwriteSchema")
    with pytest.raises(InvalidArgumentError):
        overwrite_schema(base, written.schema, partition_by=written.then_by)


# --- new tables

_REPLACED = {
    "everything goes": (
        Asked(properties={"shop": "north", **on("appendOnly")}, partition_by=("day",)),
        Asked(columns="a string, b int", description="others", partition_by=("b",)),
    ),
    "mapped columns stay": (
        Asked(columns=_NESTED, properties=_MAPPED),
        Asked(columns="id int, n array<int>, m map<string, struct<z: int>>", properties=_MAPPED),
    ),
    "mapped from now on": (Asked(columns=_NESTED), Asked(columns=_NESTED, properties=_MAPPED)),
    "mapped no longer": (Asked(columns=_NESTED, properties=_BY_ID), Asked(columns=_NESTED)),
    "features stay": (
        Asked(properties=on("enableDeletionVectors", "enableTypeWidening")),
        Asked(properties=on("enableChangeDataFeed"), columns="v variant"),
    ),
    "tracked before": (Asked(properties=on("enableRowTracking")), Asked()),
    "tracked before and after": (
        Asked(properties=on("enableRowTracking")),
        Asked(properties=on("enableRowTracking")),
    ),
    "timed before and after": (
        Asked(properties=on("enableInCommitTimestamps")),
        Asked(properties=on("enableInCommitTimestamps")),
    ),
    "clustered otherwise": (Asked(cluster_by=("id",)), Asked(cluster_by=("day", "amount"))),
    "clustered from now on": (Asked(), Asked(cluster_by=("id",))),
    "clustered no longer": (Asked(cluster_by=("id",)), Asked()),
}


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize(("before", "after"), _REPLACED.values(), ids=_REPLACED)
def test_a_table_is_replaced_as_the_reference_replaces_it(
    spark: SparkSession, tmp_path: Path, before: Asked, after: Asked
) -> None:
    place = tmp_path / "table"
    sql(spark, place, before.statement)
    base = read_version_of(explorer.open_table(place).snapshot())
    sql(spark, place, after.statement.replace("create", "replace", 1))
    theirs = explorer.open_table(place).snapshot()
    ours = build_replaced_table(
        base,
        parse_schema(SparkStruct.fromDDL(after.columns).json()),
        now_ms=0,
        partition_by=after.partition_by,
        cluster_by=after.cluster_by,
        properties=after.properties,
        description=after.description,
    )
    assert ours.metadata.id == base.metadata.id  # delta-spark gives it another one
    domains = {**base.domains, **{item.domain: item for item in ours.domains}}
    assert described(ours.protocol, ours.metadata, domains.values()) == described(
        theirs.protocol, theirs.metadata, theirs.domains.values()
    )


@pytest.mark.sampled(one_in=12)
@pytest.mark.parametrize("asked", _CREATED.values(), ids=_CREATED)
def test_a_table_is_created_as_the_reference_creates_it(
    spark: SparkSession, tmp_path: Path, asked: Asked
) -> None:
    place = tmp_path / "table"
    sql(spark, place, asked.statement)
    theirs = explorer.open_table(place).snapshot()
    schema = theirs.schema  # without ids and physical names, which do not count
    if not asked.special:
        schema = parse_schema(SparkStruct.fromDDL(asked.columns).json())
    ours = asked.build(schema)
    assert described(ours.protocol, ours.metadata, ours.domains) == described(
        theirs.protocol, theirs.metadata, theirs.domains.values()
    )


@pytest.mark.sampled(one_in=12)
@pytest.mark.parametrize("asked", _NEVER.values(), ids=_NEVER)
def test_what_the_reference_refuses_is_refused(
    spark: SparkSession, tmp_path: Path, asked: Asked
) -> None:
    with pytest.raises(REFUSED):
        sql(spark, tmp_path / "table", asked.statement)
    schema = parse_schema(SparkStruct.fromDDL(asked.columns).json())
    with pytest.raises(InvalidArgumentError):
        asked.build(schema)
