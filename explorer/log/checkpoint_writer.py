"""Writing checkpoints (spec: Checkpoints, Checkpoint Schema, Last Checkpoint File).

The classic name with V1 content: one row per action, each kind of action a
struct column of its own. Rows are written group by group as they come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from explorer.errors import (
    CorruptLogError,
    InvalidArgumentError,
    NotFoundError,
    UnsupportedError,
    brief,
)
from explorer.log.columns import ADD_COLUMNS, REMOVE_COLUMNS, STRING_MAP, ColumnRule
from explorer.log.expiry import is_unexpired
from explorer.progress import Cancel
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.commit_json import render_action
from explorer.protocol.filenames import (
    LAST_CHECKPOINT,
    LOG_FOLDER,
    render_classic_checkpoint_name,
    render_commit_path,
)
from explorer.protocol.known_properties import (
    CHECKPOINT_STATS_AS_JSON,
    CHECKPOINT_STATS_AS_STRUCT,
)
from explorer.protocol.last_checkpoint import (
    LastCheckpoint,
    parse_last_checkpoint,
    render_last_checkpoint,
)
from explorer.storage.ports import WriteStore

_ROWS_PER_GROUP = 100_000
_HINT = f"{LOG_FOLDER}/{LAST_CHECKPOINT}"

_DELETION_VECTOR = pa.struct(
    [
        pa.field("storageType", pa.string()),
        pa.field("pathOrInlineDv", pa.string()),
        pa.field("offset", pa.int32()),
        pa.field("sizeInBytes", pa.int32()),
        pa.field("cardinality", pa.int64()),
    ]
)
_SMALL_ACTIONS: dict[str, pa.DataType] = {
    "txn": pa.struct(
        [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", STRING_MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", STRING_MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "domainMetadata": pa.struct(
        [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
    ),
}
# in the order of the reference; every action here is a tombstone or already in the table
_ADD_NAMES = (
    "path",
    "partition_values",
    "size",
    "modification_time",
    "data_change",
    "tags",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "clustering_provider",
    "stats",
)
# statistics and tags of tombstones serve nobody (spec: Checkpoints)
_REMOVE_NAMES = (
    "path",
    "deletion_timestamp",
    "data_change",
    "extended_file_metadata",
    "partition_values",
    "size",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointContent:
    """The reconciled state of one version.

    `adds` and `removes` are batches with columns named as in `ADD_COLUMNS` and
    `REMOVE_COLUMNS` of `explorer.log.columns`, a missing one being null in
    every row; partition values go by physical names. Tombstones deleted at or
    before `tombstones_after` (milliseconds since the epoch) are left out.
    """

    version: int
    protocol: Protocol
    metadata: Metadata
    transactions: tuple[Transaction, ...] = ()
    domains: tuple[DomainMetadata, ...] = ()
    adds: Iterable[pa.RecordBatch] = ()
    removes: Iterable[pa.RecordBatch] = ()
    tombstones_after: int


def write_classic_checkpoint(
    store: WriteStore, content: CheckpointContent, *, cancel: Cancel | None = None
) -> LastCheckpoint:
    """Write `N.checkpoint.parquet`, then `_last_checkpoint` unless that is already newer.

    Raises `InvalidArgumentError` where the version is not committed, and
    `UnsupportedError` where the table wants statistics as structs.
    """
    _check_writable(store, content)
    data, num_adds, num_rows = _render_parquet(content, cancel or Cancel())
    store.write(f"{LOG_FOLDER}/{render_classic_checkpoint_name(content.version)}", data)
    last = LastCheckpoint(
        version=content.version, size=num_rows, size_in_bytes=len(data), num_of_add_files=num_adds
    )
    if _hinted_version(store) <= content.version:
        store.write(_HINT, render_last_checkpoint(last))
    return last


def _check_writable(store: WriteStore, content: CheckpointContent) -> None:
    try:
        store.stat(render_commit_path(content.version))
    except NotFoundError as error:
        raise InvalidArgumentError(
            f"Version {content.version} cannot be checkpointed.",
            reason="A checkpoint may only follow its commit, and there is no such commit.",
            remedy="Choose a version whose commit is in the log.",
            spec="Checkpoints",
        ) from error
    configuration = content.metadata.configuration
    # absent it means no to the specification, and "as you like" to the reference
    wants_structs = CHECKPOINT_STATS_AS_STRUCT.name in configuration
    if wants_structs and CHECKPOINT_STATS_AS_STRUCT.value_of(configuration):
        raise UnsupportedError(
            "A checkpoint of this table cannot be written.",
            reason="The table wants statistics as structs in its checkpoints "
            "(delta.checkpoint.writeStatsAsStruct), and only JSON is written here.",
            remedy="Set that property to false, or let the engine that wrote the table do it.",
            spec="Checkpoints",
        )


def _hinted_version(store: WriteStore) -> int:
    try:
        return parse_last_checkpoint(store.read(_HINT)).version
    except (NotFoundError, CorruptLogError):
        return -1


def _render_parquet(content: CheckpointContent, cancel: Cancel) -> tuple[bytes, int, int]:
    """The file, the number of adds in it, and of all its rows."""
    import pyarrow.parquet as pq  # not needed to open a small table

    schema, num_adds, num_rows = _schema(content), 0, 0
    sink = pa.BufferOutputStream()
    writer = pq.ParquetWriter(
        sink, schema, compression="zstd", store_schema=False, write_page_checksum=True
    )
    with writer:
        for batch in _batches(content, schema):
            cancel.check()
            writer.write_batch(batch, row_group_size=_ROWS_PER_GROUP)
            num_adds += batch.num_rows - batch.column("add").null_count
            num_rows += batch.num_rows
    return sink.getvalue().to_pybytes(), num_adds, num_rows


def _schema(content: CheckpointContent) -> pa.Schema:
    adds = list(_ADD_NAMES)
    if not CHECKPOINT_STATS_AS_JSON.value_of(content.metadata.configuration):
        adds.remove("stats")
    small = _small_types(content)
    return pa.schema(
        {
            "txn": small["txn"],
            "add": _file_type(ADD_COLUMNS, adds),
            "remove": _file_type(REMOVE_COLUMNS, _REMOVE_NAMES),
        }
        | {name: small[name] for name in ("metaData", "protocol", "domainMetadata")}
    )


def _small_types(content: CheckpointContent) -> dict[str, pa.DataType]:
    """The columns of the actions that are few, with those fields that only their
    writer knows (spec: "all information regarding the following actions")."""
    types = dict(_SMALL_ACTIONS)
    unknown: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for action in _small_actions(content):
        (kind,) = render_action(action)
        for name, value in action.unknown_fields.items():
            unknown[kind, name].append(value)
    for (kind, name), values in unknown.items():
        fields = [*types[kind], pa.field(name, _type_of(values, kind, name))]
        types[kind] = pa.struct(fields)
    return types


def _type_of(values: list[Any], kind: str, name: str) -> pa.DataType:
    import pyarrow.parquet as pq  # not needed to open a small table

    try:
        found = pa.array(values)
        # Parquet has not all that Arrow has
        pq.write_table(pa.table({"x": found}), pa.BufferOutputStream())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise UnsupportedError(
            "A checkpoint of this table cannot be written.",
            reason=f"The field {brief(name)} of {kind}, which is not known here, cannot be "
            "stored in a column, and would be lost.",
            remedy="Let the engine that wrote the table write its checkpoints.",
            spec="Checkpoints",
        ) from error
    return found.type


def _file_type(rules: Mapping[str, ColumnRule], names: Iterable[str]) -> pa.DataType:
    fields = []
    for name in names:
        log_name, _, kind = rules[name]
        if name == "deletion_vector":
            kind = _DELETION_VECTOR
        fields.append((log_name, pa.int64() if pa.types.is_timestamp(kind) else kind))
    return pa.struct(fields)


def _batches(content: CheckpointContent, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    yield _small_batch(content, schema)
    for batch in content.adds:
        yield _widen(schema, "add", _file_structs(batch, ADD_COLUMNS, schema.field("add").type))
    for batch in content.removes:
        deleted = batch.column("deletion_timestamp")
        kept = batch.filter(is_unexpired(deleted, content.tombstones_after))
        kind = schema.field("remove").type
        yield _widen(schema, "remove", _file_structs(kept, REMOVE_COLUMNS, kind))


def _small_batch(content: CheckpointContent, schema: pa.Schema) -> pa.RecordBatch:
    rows = [render_action(action) for action in _small_actions(content)]
    return pa.RecordBatch.from_arrays(
        [pa.array([_pairs(row.get(field.name)) for row in rows], field.type) for field in schema],
        schema=schema,
    )


def _small_actions(
    content: CheckpointContent,
) -> list[Protocol | Metadata | Transaction | DomainMetadata]:
    return [
        _with_features(content.protocol),
        content.metadata,
        *content.transactions,
        # a removed domain only hides older ones, of which a checkpoint has none
        *(domain for domain in content.domains if not domain.removed),
    ]


def _with_features(protocol: Protocol) -> Protocol:
    """The protocol with feature lists exactly where its versions have them."""
    lists_readers, lists_writers = (
        protocol.min_reader_version == 3,
        protocol.min_writer_version == 7,
    )
    return replace(
        protocol,
        reader_features=(protocol.reader_features or ()) if lists_readers else None,
        writer_features=(protocol.writer_features or ()) if lists_writers else None,
    )


def _pairs(body: Any) -> Any:
    """The body of a small action with its maps as Arrow takes them: lists of pairs."""
    if not isinstance(body, Mapping):
        return body
    found = dict(body)
    if isinstance(configuration := body.get("configuration"), Mapping):
        found["configuration"] = list(configuration.items())
    if isinstance(form := body.get("format"), Mapping):
        found["format"] = {**form, "options": list(form["options"].items())}
    return found


def _widen(schema: pa.Schema, name: str, structs: pa.StructArray) -> pa.RecordBatch:
    """A batch whose only column with values is `name`."""
    return pa.RecordBatch.from_arrays(
        [structs if field.name == name else pa.nulls(len(structs), field.type) for field in schema],
        schema=schema,
    )


def _file_structs(
    batch: pa.RecordBatch, rules: Mapping[str, ColumnRule], kind: pa.StructType
) -> pa.StructArray:
    public_names = {log_name: name for name, (log_name, _, _) in rules.items()}
    children = []
    for field in kind:
        name = public_names[field.name]
        if name == "data_change":
            children.append(pa.repeat(pa.scalar(False), batch.num_rows))  # noqa: FBT003  # a value
        elif name not in batch.schema.names:
            children.append(pa.nulls(batch.num_rows, field.type))
        elif name == "deletion_vector":
            children.append(_rename_children(batch.column(name), field.type))
        else:
            children.append(batch.column(name).cast(field.type))
    return pa.StructArray.from_arrays(children, fields=list(kind))


def _rename_children(structs: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    return pa.StructArray.from_arrays(structs.flatten(), fields=list(kind), mask=structs.is_null())
