"""What people do to the table itself: create it, set properties, add and rename columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import orjson

from explorer.demo._orders import FIRST_SCHEMA, PARTITION_COLUMN
from explorer.demo._shop_table import Outcome, ShopTable, Work
from explorer.protocol.actions import EPOCH, Metadata, Protocol
from explorer.protocol.features.column_mapping import FIELD_ID_KEY, PHYSICAL_NAME_KEY
from explorer.protocol.schema import STRING, StructField, StructType, render_schema

_MAX_ID = "delta.columnMapping.maxColumnId"
_FIRST_PROPERTIES = {"delta.enableInCommitTimestamps": "true"}
_READER_FEATURES = frozenset({"columnMapping", "deletionVectors"})


def create(shop: ShopTable, work: Work) -> Outcome:
    """Version 0: in-commit timestamps from the start, everything else comes later."""
    protocol = Protocol(
        min_reader_version=1,
        min_writer_version=7,
        writer_features=("appendOnly", "inCommitTimestamp", "invariants"),
    )
    metadata = replace(
        shop.metadata,
        name="shop_orders",
        description="Orders of the online shop, one row per order",
        schema_string=render_schema(FIRST_SCHEMA),
        partition_columns=(PARTITION_COLUMN,),
        configuration=_FIRST_PROPERTIES,
        created_time=EPOCH + timedelta(milliseconds=work.at - 40),
    )
    return Outcome(
        operation="CREATE TABLE",
        parameters={
            "partitionBy": orjson.dumps([PARTITION_COLUMN]).decode(),
            "clusterBy": "[]",
            "description": metadata.description,
            "isManaged": "false",
            "properties": orjson.dumps(_FIRST_PROPERTIES).decode(),
        },
        actions=(metadata, protocol),
    )


def set_properties(shop: ShopTable, properties: Mapping[str, str], feature: str) -> Outcome:
    """Set properties, and support the feature that they switch on."""
    configuration = {**shop.metadata.configuration, **properties}
    return Outcome(
        operation="SET TBLPROPERTIES",
        parameters={"properties": orjson.dumps(dict(properties)).decode()},
        actions=(
            replace(shop.metadata, configuration=configuration),
            _with_feature(shop.protocol, feature),
        ),
    )


def map_columns(shop: ShopTable) -> Outcome:
    """Map columns by name: what files call a column stays, what people call it may change."""
    fields = tuple(
        replace(column, metadata={FIELD_ID_KEY: number, PHYSICAL_NAME_KEY: column.name})
        for number, column in enumerate(shop.schema.fields, start=1)
    )
    properties = {"delta.columnMapping.mode": "name"}
    switched = set_properties(shop, properties | {_MAX_ID: str(len(fields))}, "columnMapping")
    metadata, protocol = switched.actions
    if not isinstance(metadata, Metadata):
        raise TypeError("the metadata comes first")
    mapped = replace(metadata, schema_string=render_schema(StructType(fields=fields)))
    parameters = {"properties": orjson.dumps(properties).decode()}
    return replace(switched, parameters=parameters, actions=(mapped, protocol))


def rename_column(shop: ShopTable, old: str, new: str) -> Outcome:
    """Call a column by another name; no file is touched."""
    fields = tuple(
        replace(column, name=new) if column.name == old else column for column in shop.schema.fields
    )
    return Outcome(
        operation="RENAME COLUMN",
        parameters={"oldColumnPath": old, "newColumnPath": new},
        actions=(_with_fields(shop.metadata, fields),),
    )


def add_text_column(shop: ShopTable, name: str, comment: str) -> Outcome:
    """Add a column of strings; older rows read as null."""
    kind = STRING
    shown = StructField(name=name, data_type=kind, metadata={"comment": comment})
    metadata, stored = shop.metadata, shown
    if shop.mapping_mode != "none":
        number = int(metadata.configuration[_MAX_ID]) + 1
        mapping = {FIELD_ID_KEY: number, PHYSICAL_NAME_KEY: f"col-{shop.new_uuid()}"}
        stored = replace(shown, metadata={**shown.metadata, **mapping})
        metadata = replace(metadata, configuration={**metadata.configuration, _MAX_ID: str(number)})
    column = {"name": name, "type": "string", "nullable": True, "metadata": {"comment": comment}}
    return Outcome(
        operation="ADD COLUMNS",
        parameters={"columns": orjson.dumps([{"column": column}]).decode()},
        actions=(_with_fields(metadata, (*shop.schema.fields, stored)),),
    )


def _with_fields(metadata: Metadata, fields: tuple[StructField, ...]) -> Metadata:
    return replace(metadata, schema_string=render_schema(StructType(fields=fields)))


def _with_feature(protocol: Protocol, feature: str) -> Protocol:
    writer = tuple(sorted({*(protocol.writer_features or ()), feature}))
    if feature not in _READER_FEATURES:
        return replace(protocol, writer_features=writer)
    reader = tuple(sorted({*(protocol.reader_features or ()), feature}))
    return Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=reader,
        writer_features=writer,
    )
