"""What becomes of a schema whose columns a person adds, renames, drops or changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.errors import InvalidArgumentError
from explorer.protocol.features.column_mapping import field_id, physical_name
from explorer.protocol.schema import CHARACTER_TYPE_KEY, StructType, parse_schema, render_spark_type
from explorer.protocol.schema_walk import walk_fields
from explorer.transaction.read_version import ReadVersion
from explorer.writing.columns.added_columns import parse_added_columns
from explorer.writing.columns.column_changes import (
    ChangedColumn,
    ColumnChange,
    add_columns,
    change_column,
    drop_columns,
    rename_column,
)
from explorer.writing.columns.column_places import After, First, field_at, find_column
from explorer.writing.schema.new_table import build_new_table
from explorer.writing.schema.schema_change import change_clustering, merge_schema
from explorer.writing.schema.schema_text import parse_schema_text

MAPPED = {"delta.columnMapping.mode": "name"}
WIDE = {"delta.enableTypeWidening": "true"}
COLUMNS = (
    "id BIGINT, place STRUCT<city: VARCHAR(5), tags: ARRAY<STRUCT<name: STRING, n: INT>>>, "
    "bag MAP<STRING, INT>, amount INT, day DATE"
)


def table(text: str = COLUMNS, **asked) -> ReadVersion:
    made = build_new_table(parse_schema_text(text), now_ms=1, **asked)
    domains = {item.domain: item for item in made.domains}
    return ReadVersion(
        version=3, protocol=made.protocol, metadata=made.metadata, timestamp=1, domains=domains
    )


def schema_of(found: ColumnChange) -> StructType:
    return found.change.schema


def shape(found: ColumnChange) -> str:
    return render_spark_type(schema_of(found), {})


def refused(made) -> InvalidArgumentError:
    with pytest.raises(InvalidArgumentError) as caught:
        made()
    assert caught.value.remedy
    assert caught.value.reason
    return caught.value


# --- where a column is


def test_a_column_is_found_by_its_path_whatever_the_case():
    schema = parse_schema_text(COLUMNS + ", `a.b` INT")
    assert find_column(schema, "PLACE.Tags.element.NAME") == ("place", "tags", "element", "name")
    assert find_column(schema, "bag.value") == ("bag", "value")
    assert find_column(schema, "a.b") == find_column(schema, "`A.B`") == ("a.b",)
    assert find_column(schema, ["place", "city"]) == ("place", "city")


@pytest.mark.parametrize("name", ["x", "place.x", "id.x", "place.tags.name", "bag.x", "", [], "."])
def test_a_column_that_there_is_not_is_told(name):
    schema = parse_schema_text(COLUMNS)
    refused(lambda: find_column(schema, name))


def test_a_text_that_stands_for_two_columns_is_refused():
    schema = parse_schema_text("`a.b` INT, a STRUCT<b: INT>")
    assert "two columns" in refused(lambda: find_column(schema, "a.b")).problem
    assert find_column(schema, "`a.b`") == ("a.b",)
    assert find_column(schema, ["a", "b"]) == ("a", "b")


# --- adding


def test_columns_come_last_or_where_they_are_wanted():
    found = add_columns(
        table(),
        parse_added_columns(
            "note STRING, n SMALLINT FIRST, place.zip INT COMMENT 'x' AFTER CITY, "
            "place.tags.element.z DATE FIRST, m INT AFTER note"
        ),
    )
    assert shape(found) == (
        "struct<n:smallint,id:bigint,place:struct<city:string,zip:int,tags:array<struct<z:date,"
        "name:string,n:int>>>,bag:map<string,int>,amount:int,day:date,note:string,m:int>"
    )
    zip_code = field_at(schema_of(found), ("place", "zip"))
    assert zip_code is not None
    assert zip_code.metadata == {"comment": "x"}
    assert all(place.field.nullable for place in walk_fields(schema_of(found)))


@pytest.mark.rule("mapping-new-column-guid", "mapping-new-column-id")
def test_under_mapping_a_column_gets_a_name_of_its_own_and_an_id_above_the_mark():
    base = drop_columns(table(properties=MAPPED), ["day"]).change
    version = ReadVersion(version=4, protocol=base.protocol, metadata=base.metadata, timestamp=1)
    mark = int(base.metadata.configuration["delta.columnMapping.maxColumnId"])
    found = add_columns(version, parse_added_columns("day DATE, place.zip STRUCT<a: INT>"))
    new = [("day",), ("place", "zip"), ("place", "zip", "a")]
    fields = [field_at(schema_of(found), path) for path in new]
    assert sorted(field_id(item) for item in fields) == [mark + 1, mark + 2, mark + 3]
    names = {physical_name(item, "name") for item in fields}
    assert len(names) == 3
    assert all(name.startswith("col-") and len(name) == 40 for name in names)
    told = found.change.metadata.configuration["delta.columnMapping.maxColumnId"]
    assert int(told) == mark + 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("n INT NOT NULL", "NOT NULL"),
        ("n STRUCT<a: INT NOT NULL>", "NOT NULL"),
        ("n INT DEFAULT 5", "a default"),
        ("n INT GENERATED ALWAYS AS (id + 1)", "values that the table makes"),
        ("n BIGINT GENERATED ALWAYS AS IDENTITY", "values that the table makes"),
        ("ID INT", "called `id`"),
        ("n INT, N INT", "called `n`"),
        ("place.CITY INT", "called `city`"),
        ("`a b` INT", "has a space"),
        ("amount.x INT", "has no columns"),
        ("place.tags.x INT", "has no columns"),
        ("n INT AFTER nothing", "There is no column nothing"),
        ("n INT FIRST AFTER id", "two places"),
        ("n ARRAY<VOID>", "no type"),
        ("n", "cannot be read"),
        ("", "is empty"),
        ("n INT,", "cannot be read"),
    ],
)
def test_columns_that_cannot_be_added_are_told(text, says):
    problem = refused(lambda: add_columns(table(), parse_added_columns(text))).problem
    assert says in problem


def test_names_of_the_feed_are_taken_where_it_is_enabled():
    base = table(properties={"delta.enableChangeDataFeed": "true", **MAPPED})
    refused(lambda: add_columns(base, parse_added_columns("_Change_Type STRING")))
    refused(lambda: rename_column(base, "amount", "_commit_version"))
    add_columns(table(), parse_added_columns("_change_type STRING"))


# --- renaming


@pytest.mark.rule("mapping-physical-static")
def test_a_renamed_column_keeps_its_id_and_its_name_in_files():
    base = table(
        partition_by=["day"],
        properties={**MAPPED, "delta.dataSkippingStatsColumns": "id, place.city,`amount`"},
    )
    before = field_at(parse_schema(base.metadata.schema_string), ("place", "city"))
    found = rename_column(base, "PLACE.CITY", "the town")
    after = field_at(schema_of(found), ("place", "the town"))
    assert field_id(after) == field_id(before)
    assert physical_name(after, "name") == physical_name(before, "name")
    told = found.change.metadata.configuration
    assert told["delta.dataSkippingStatsColumns"] == "id,place.`the town`,`amount`"
    assert rename_column(base, "day", "Tag").change.metadata.partition_columns == ("Tag",)
    whole = rename_column(base, "place", "spot").change.metadata.configuration
    assert whole["delta.dataSkippingStatsColumns"] == "id,spot.city,`amount`"


def test_statistics_are_kept_of_the_same_columns_however_they_are_called():
    named = "`a,b`,c"
    told = {**MAPPED, "delta.dataSkippingStatsColumns": named}
    base = table("`a,b` INT, c INT, d INT", properties=told)
    for found, listed in (
        (rename_column(base, "c", "e"), "`a,b`,e"),
        (rename_column(base, "d", "e"), named),
        (drop_columns(base, ["d"]), named),
        (drop_columns(base, ["c"]), "`a,b`"),
    ):
        assert found.change.metadata.configuration["delta.dataSkippingStatsColumns"] == listed
    # an empty list would keep none at all
    told = {**MAPPED, "delta.dataSkippingStatsColumns": "c"}
    found = drop_columns(table("`a,b` INT, c INT, d INT", properties=told), ["c"])
    assert "delta.dataSkippingStatsColumns" not in found.change.metadata.configuration


@pytest.mark.parametrize(
    ("former", "asked"), [("CHAR(5)", "CHAR(9)"), ("VARCHAR(5)", "CHAR(9)"), ("STRING", "CHAR(9)")]
)
def test_text_that_is_not_padded_does_not_become_char(former, asked):
    base = table(f"id INT, c {former}")
    told = refused(lambda: change_column(base, "c", ChangedColumn(data_type=asked)))
    assert "char(9)" in str(told)


def test_char_may_become_varchar_or_stay():
    base = table("id INT, c CHAR(5)")
    for asked in ("CHAR(5)", "VARCHAR(7)", "STRING"):
        change_column(base, "c", ChangedColumn(data_type=asked))


def test_lengths_of_text_inside_go_with_a_change_of_names():
    base = table(properties=MAPPED)
    for found, text in (
        (rename_column(base, "place.city", "town"), "struct<town:varchar(5),tags:"),
        (rename_column(base, "place.tags", "labels"), "struct<city:varchar(5),labels:"),
        (
            add_columns(base, parse_added_columns("place.zip CHAR(4) FIRST")),
            "struct<zip:char(4),city:varchar(5),tags:",
        ),
        (
            change_column(base, "place.city", ChangedColumn(data_type="VARCHAR(9)")),
            "struct<city:varchar(9),tags:",
        ),
    ):
        assert schema_of(found).fields[1].metadata[CHARACTER_TYPE_KEY].startswith(text)
    dropped = drop_columns(base, ["place.city"])
    assert CHARACTER_TYPE_KEY not in schema_of(dropped).fields[1].metadata


def test_columns_are_mapped_only_where_that_is_asked_for():
    base = table()
    assert "--map-columns" in refused(lambda: rename_column(base, "id", "key")).remedy
    assert "--map-columns" in refused(lambda: drop_columns(base, ["id"])).remedy
    found = rename_column(base, "id", "key", maps_columns=True)
    assert found.change.writes_protocol
    assert found.before.mode == "none"
    assert found.after.mode == "name"
    assert physical_name(schema_of(found).fields[0], "name") == "id"


@pytest.mark.parametrize("name", ["AMOUNT", "id", "Id"])
def test_a_name_that_is_taken_in_any_case_is_refused(name):
    found = refused(lambda: rename_column(table(properties=MAPPED), "amount", name))
    assert found.kind == "already_exists"


def test_elements_keys_and_values_have_no_name():
    base = table(properties=MAPPED)
    refused(lambda: rename_column(base, "bag.value", "x"))
    refused(lambda: drop_columns(base, ["place.tags.element"]))
    refused(lambda: change_column(base, "bag.key", ChangedColumn(comment="x")))


# --- what speaks of a column

RULES = {
    "constraint": (COLUMNS, {"delta.constraints.fine": "Amount > 0"}),
    "unread constraint": (COLUMNS, {"delta.constraints.fine": "some_function(amount) > 0"}),
    "generated": (f"{COLUMNS}, twice INT GENERATED ALWAYS AS (amount * 2)", {}),
}


@pytest.mark.parametrize("kind", ["constraint", "generated"])
def test_a_column_that_a_rule_speaks_of_is_neither_renamed_nor_dropped_nor_widened(kind):
    text, asked = RULES[kind]
    base = table(text, properties={**MAPPED, **WIDE, **asked})
    for made in (
        lambda: rename_column(base, "amount", "sum"),
        lambda: drop_columns(base, ["amount"]),
        lambda: change_column(base, "amount", ChangedColumn(data_type="BIGINT")),
    ):
        assert "may speak of it" in refused(made).problem
    rename_column(base, "id", "key")
    drop_columns(base, ["id"])
    change_column(base, "amount", ChangedColumn(comment="sum"))


def test_a_rule_that_cannot_be_read_here_may_speak_of_any_column():
    base = table(properties=MAPPED)
    told = {**base.metadata.configuration, "delta.constraints.fine": "some_function(id) > 0"}
    odd = replace(base, metadata=replace(base.metadata, configuration=told))
    refused(lambda: rename_column(odd, "amount", "sum"))


# --- dropping


@pytest.mark.rule("mapping-maxcolumnid-monotonic")
def test_dropped_columns_are_gone_from_the_schema_and_the_statistics():
    base = table(properties={**MAPPED, "delta.dataSkippingStatsColumns": "id,place.city,amount"})
    found = drop_columns(base, ["place", "AMOUNT"])
    assert schema_of(found).names == ("id", "bag", "day")
    told = found.change.metadata.configuration
    assert told["delta.dataSkippingStatsColumns"] == "id"
    # ids are never given out again
    assert told["delta.columnMapping.maxColumnId"] == "9"


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["day"], "cannot be dropped"),
        (["DAY"], "cannot be dropped"),
        (["place.city", "place.tags"], "cannot be dropped"),
        (["place", "place.city"], "no column place"),
        (["nothing"], "no column nothing"),
        (["id", "ID"], "no column ID"),
    ],
)
def test_columns_that_the_table_needs_stay(names, says):
    base = table(partition_by=["day"], properties=MAPPED)
    assert says in refused(lambda: drop_columns(base, names)).problem


def test_the_last_column_of_a_table_and_those_it_is_clustered_by_stay():
    refused(lambda: drop_columns(table("id INT", properties=MAPPED), ["id"]))
    base = table(cluster_by=["place.city"], properties=MAPPED)
    for name in ("place", "place.city"):
        assert "clustered by place.city" in refused(lambda n=name: drop_columns(base, [n])).reason
    rename_column(base, "place.city", "town")


# --- changing


@pytest.mark.parametrize(
    ("name", "text", "record"),
    [
        ("amount", "BIGINT", {"fromType": "integer", "toType": "long"}),
        ("amount", "DOUBLE", {"fromType": "integer", "toType": "double"}),
        ("amount", "DECIMAL(12,2)", {"fromType": "integer", "toType": "decimal(12,2)"}),
        ("bag.value", "BIGINT", {"fromType": "integer", "toType": "long", "fieldPath": "value"}),
        ("place.tags.element.n", "BIGINT", {"fromType": "integer", "toType": "long"}),
    ],
)
@pytest.mark.rule("newer-widening-history")
def test_a_widened_type_is_recorded_in_the_nearest_field(name, text, record):
    found = change_column(table(properties=WIDE), name, ChangedColumn(data_type=text))
    recorded = [
        place.field.metadata["delta.typeChanges"]
        for place in walk_fields(schema_of(found))
        if "delta.typeChanges" in place.field.metadata
    ]
    assert recorded == [[record]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("amount", "SMALLINT"),
        ("amount", "STRING"),
        ("amount", "DECIMAL(9,0)"),
        ("amount", "BIGINT NOT NULL"),
        ("amount", "BIGINT, other INT"),
        ("amount", "BIGINT COMMENT 'x'"),
        ("place", "STRING"),
        ("bag", "MAP<STRING, BIGINT>"),
        ("day", "TIMESTAMP"),
    ],
)
def test_a_type_that_is_not_wider_is_refused(name, text):
    refused(lambda: change_column(table(properties=WIDE), name, ChangedColumn(data_type=text)))


def test_types_widen_only_where_the_table_lets_them():
    problem = refused(lambda: change_column(table(), "amount", ChangedColumn(data_type="BIGINT")))
    assert "upgrade typeWidening" in problem.remedy


def test_type_becomes_wider_step_by_step_and_by_rows_that_come():
    base = table(properties=WIDE)
    first = change_column(base, "place.tags.element.n", ChangedColumn(data_type="BIGINT")).change
    version = ReadVersion(version=4, protocol=first.protocol, metadata=first.metadata, timestamp=1)
    second = merge_schema(version, parse_schema_text("amount BIGINT"))
    assert second is not None
    kinds = {place.names: place.field for place in walk_fields(second.schema)}
    assert "delta.typeChanges" in kinds[("amount",)].metadata
    assert "delta.typeChanges" in kinds[("place", "tags", "element", "n")].metadata


def test_comment_nulls_and_place_of_a_column():
    base = table("id BIGINT NOT NULL, a INT COMMENT 'old', b INT")
    found = change_column(base, "A", ChangedColumn(comment="new", position=First(), nullable=False))
    assert schema_of(found).names == ("a", "id", "b")
    assert schema_of(found).fields[0].metadata == {"comment": "new"}
    assert not schema_of(found).fields[0].nullable
    assert schema_of(change_column(base, "id", ChangedColumn(nullable=True))).fields[0].nullable
    moved = change_column(base, "id", ChangedColumn(position=After("B")))
    assert schema_of(moved).names == ("a", "b", "id")
    with pytest.raises(InvalidArgumentError, match="There is no column id"):
        change_column(base, "id", ChangedColumn(position=After("id")))


def test_a_default_needs_its_feature_and_an_expression_that_can_be_one():
    problem = refused(lambda: change_column(table(), "id", ChangedColumn(default="5"))).problem
    assert "allowColumnDefaults" in problem
    base = table(properties={"delta.feature.allowColumnDefaults": "supported"})
    found = change_column(base, "id", ChangedColumn(default="5 + 1"))
    assert schema_of(found).fields[0].metadata == {"CURRENT_DEFAULT": "5 + 1"}
    version = ReadVersion(
        version=4, protocol=base.protocol, metadata=found.change.metadata, timestamp=1
    )
    taken = change_column(version, "id", ChangedColumn(default=""))
    assert schema_of(taken).fields[0].metadata == {}
    for text in ("id", "(select 1)", "reflect('x', 'y')"):
        refused(lambda text=text: change_column(base, "id", ChangedColumn(default=text)))
    refused(lambda: change_column(base, "place.city", ChangedColumn(default="'x'")))


def test_identity_and_generated_columns_keep_what_makes_them():
    text = "id BIGINT GENERATED ALWAYS AS IDENTITY, a INT, b INT GENERATED ALWAYS AS (a)"
    base = table(text, properties={**MAPPED, **WIDE})
    for wanted in (
        ChangedColumn(data_type="DECIMAL(20,0)"),
        ChangedColumn(nullable=False),
        ChangedColumn(default="5"),
    ):
        refused(lambda wanted=wanted: change_column(base, "id", wanted))
    refused(lambda: change_column(base, "b", ChangedColumn(data_type="BIGINT")))
    change_column(base, "id", ChangedColumn(comment="key", position=After("a")))
    rename_column(base, "id", "key")
    drop_columns(base, ["b"])


# --- clustering


def test_clustering_brings_its_feature_and_goes_again():
    base = table()
    assert change_clustering(base, []) is None
    found = change_clustering(base, ["place.city", "id"])
    assert found is not None
    assert "clustering" in (found.protocol.writer_features or ())
    assert found.schema == parse_schema(base.metadata.schema_string)
    clustered = table(cluster_by=["id"])
    assert change_clustering(clustered, ["ID"]) is None
    none = change_clustering(clustered, [])
    assert none is not None
    assert '"clusteringColumns":[]' in none.domains[0].configuration
    refused(lambda: change_clustering(table(partition_by=["day"]), ["id"]))
    refused(lambda: change_clustering(base, ["bag"]))


@pytest.mark.parametrize("default", ["'x'", "TRUE", "DATE '2026-01-01'"])
def test_a_default_of_another_type_is_refused(default):
    base = table("id INT, c INT", properties={"delta.feature.allowColumnDefaults": "supported"})
    told = refused(lambda: change_column(base, "c", ChangedColumn(default=default)))
    assert told.kind == "schema_mismatch"
    for fine in ("5", "5L", "NULL", "1 + 1", "current_date() - DATE '2026-01-01'"):
        change_column(base, "c", ChangedColumn(default=fine))
