"""Actions as the lines of a commit that is written (spec: Delta Log Entries, Actions).

One JSON object per line, each with a single key that names the action. They are read by
`explorer.log.commits.commit_file`, and `filenames` has the names of commits.
Optional fields without a value are left out, as the reference does; fields that nobody
here knows come back as they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import orjson

from explorer.protocol.actions import EPOCH, DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.file_actions import AddCDCFile, AddFile, RemoveFile
from explorer.protocol.vectors.deletion_vectors import render_descriptor

Action = Protocol | Metadata | Transaction | DomainMetadata | AddFile | RemoveFile | AddCDCFile
ActionLine = Mapping[str, Any]
"""One action as its JSON object: `{"add": {...}}`."""


def render_lines(lines: Iterable[ActionLine]) -> bytes:
    """The bytes of a commit file."""
    return b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)


def render_action(action: Action) -> ActionLine:
    """The JSON object of one action."""
    match action:
        case AddFile():
            return {"add": _render_add(action)}
        case RemoveFile():
            return {"remove": _render_remove(action)}
        case AddCDCFile():
            return {"cdc": _render_cdc(action)}
        case Metadata():
            return {"metaData": _render_metadata(action)}
        case Protocol():
            return {"protocol": _render_protocol(action)}
        case Transaction():
            return {"txn": _render_transaction(action)}
        case DomainMetadata():
            return {
                "domainMetadata": {
                    "domain": action.domain,
                    "configuration": action.configuration,
                    "removed": action.removed,
                    **action.unknown_fields,
                }
            }


def render_milliseconds(time: datetime) -> int:
    """An aware time as the milliseconds since the epoch that logs hold."""
    return (time - EPOCH) // timedelta(milliseconds=1)


def _render_add(add: AddFile) -> dict[str, Any]:
    body: dict[str, Any] = {
        "path": add.path,
        "partitionValues": add.partition_values,
        "size": add.size,
        "modificationTime": add.modification_time,
        "dataChange": add.data_change,
    }
    body |= _render_optional(add)
    if add.clustering_provider is not None:
        body["clusteringProvider"] = add.clustering_provider
    return body


def _render_remove(remove: RemoveFile) -> dict[str, Any]:
    body = {
        "path": remove.path,
        "deletionTimestamp": remove.deletion_timestamp,
        "dataChange": remove.data_change,
        "extendedFileMetadata": True,
        "partitionValues": remove.partition_values,
        "size": remove.size,
    }
    return body | _render_optional(remove)


def _render_optional(file: AddFile | RemoveFile) -> dict[str, Any]:
    vector = file.deletion_vector
    values = {
        "stats": file.stats,
        "tags": file.tags,
        "deletionVector": None if vector is None else render_descriptor(vector),
        "baseRowId": file.base_row_id,
        "defaultRowCommitVersion": file.default_row_commit_version,
    }
    return {name: value for name, value in values.items() if value is not None}


def _render_cdc(cdc: AddCDCFile) -> dict[str, Any]:
    return {
        "path": cdc.path,
        "partitionValues": cdc.partition_values,
        "size": cdc.size,
        "dataChange": False,
    }


def _render_protocol(protocol: Protocol) -> dict[str, Any]:
    body: dict[str, Any] = {
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
    }
    if protocol.reader_features is not None:
        body["readerFeatures"] = list(protocol.reader_features)
    if protocol.writer_features is not None:
        body["writerFeatures"] = list(protocol.writer_features)
    return {**body, **protocol.unknown_fields}


def _render_metadata(metadata: Metadata) -> dict[str, Any]:
    body: dict[str, Any] = {"id": metadata.id}
    if metadata.name is not None:
        body["name"] = metadata.name
    if metadata.description is not None:
        body["description"] = metadata.description
    body |= {
        "format": {"provider": metadata.format_provider, "options": dict(metadata.format_options)},
        "schemaString": metadata.schema_string,
        "partitionColumns": list(metadata.partition_columns),
        "configuration": dict(metadata.configuration),
    }
    if metadata.created_time is not None:
        body["createdTime"] = render_milliseconds(metadata.created_time)
    return {**body, **metadata.unknown_fields}


def _render_transaction(transaction: Transaction) -> dict[str, Any]:
    body: dict[str, Any] = {"appId": transaction.app_id, "version": transaction.version}
    if transaction.last_updated is not None:
        body["lastUpdated"] = transaction.last_updated
    return {**body, **transaction.unknown_fields}
