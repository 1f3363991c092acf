"""What a table is by its protocol, metadata and domains, in a form in which ours and the
reference's are the same."""

from __future__ import annotations

import re
from typing import Any

import orjson

_OWN = re.compile(
    r"(col|_row-id-col|_row-commit-version-col)-"
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)


def _without_second_ids(kind: Any) -> None:
    """Ids of elements, keys and values stand under the reference's key alone there, also where
    there are none, and under that of the specification too in ours."""
    if isinstance(kind, dict):
        metadata = kind.get("metadata", {})
        metadata.pop("parquet.field.nested.ids", None)
        if not metadata.get("delta.columnMapping.nested.ids", True):
            del metadata["delta.columnMapping.nested.ids"]
        kind = list(kind.values())
    for part in kind if isinstance(kind, list) else ():
        _without_second_ids(part)


def described(protocol: Any, metadata: Any, domains: Any) -> dict[str, Any]:
    """What a table is, with generated names left out."""
    schema = orjson.loads(_OWN.sub(r"\1", metadata.schema_string))
    _without_second_ids(schema)
    configuration = {name: _OWN.sub(r"\1", value) for name, value in metadata.configuration.items()}
    # that whoever commits converts the table to Iceberg in the same moment, which we never do
    configuration.pop("delta.universalFormat.iceberg.atomicConversion.supported", None)
    return {
        "versions": (protocol.min_reader_version, protocol.min_writer_version),
        "readers": None if protocol.reader_features is None else {*protocol.reader_features},
        "writers": None if protocol.writer_features is None else {*protocol.writer_features},
        "schema": schema,
        "partitioned": metadata.partition_columns,
        "properties": configuration,
        "name": metadata.name,
        "description": metadata.description,
        "domains": {
            item.domain: orjson.loads(_OWN.sub(r"\1", item.configuration)) for item in domains
        },
    }
