"""What the checkpoints of generated logs look like, as Spark writes them."""

from __future__ import annotations

import pyarrow as pa

_STRINGS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("tags", _STRINGS),
        ("deletionVector", _VECTOR),
        ("stats", pa.string()),
    ]
)
_REMOVE = pa.struct(
    [
        ("path", pa.string()),
        ("deletionTimestamp", pa.int64()),
        ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("deletionVector", _VECTOR),
    ]
)
_FORMAT = pa.struct([("provider", pa.string()), ("options", _STRINGS)])
_METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("format", _FORMAT),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", _STRINGS),
        ("createdTime", pa.int64()),
    ]
)
_PROTOCOL = pa.struct(
    [
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("readerFeatures", pa.list_(pa.string())),
        ("writerFeatures", pa.list_(pa.string())),
    ]
)
_TXN = pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])
_SIDECAR = pa.struct(
    [
        ("path", pa.string()),
        ("sizeInBytes", pa.int64()),
        ("modificationTime", pa.int64()),
        ("tags", _STRINGS),
    ]
)
_CHECKPOINT_METADATA = pa.struct([("version", pa.int64()), ("tags", _STRINGS)])

FILE_ACTIONS = pa.schema([("add", _ADD), ("remove", _REMOVE)])
CLASSIC = pa.schema(
    [
        ("txn", _TXN),
        ("add", _ADD),
        ("remove", _REMOVE),
        ("metaData", _METADATA),
        ("protocol", _PROTOCOL),
    ]
)
V2 = pa.schema([*CLASSIC, ("sidecar", _SIDECAR), ("checkpointMetadata", _CHECKPOINT_METADATA)])

_BOUNDS = pa.struct(
    [
        ("order_id", pa.int64()),
        ("customer", pa.string()),
        ("amount", pa.float64()),
        ("ordered_at", pa.timestamp("us", "UTC")),
        ("note", pa.string()),
    ]
)
_PARSED = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", _BOUNDS),
        ("maxValues", _BOUNDS),
        ("nullCount", pa.struct([(field.name, pa.int64()) for field in _BOUNDS])),
    ]
)
_ADD_WITH_STRUCTS = pa.struct([*_ADD, pa.field("stats_parsed", _PARSED)])
WITH_STRUCTS = pa.schema(
    [pa.field("add", _ADD_WITH_STRUCTS) if field.name == "add" else field for field in CLASSIC]
)
