"""What protocol, metadata and schema of a version say against the specification."""

from __future__ import annotations

from explorer.errors import CorruptLogError, Problem
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_mapping import column_mapping_mode, validate_mapping
from explorer.protocol.features.consistency import (
    validate_protocol,
    validate_unsupported_mapping,
)
from explorer.protocol.file_format import validate_format
from explorer.protocol.schema import StructType, parse_schema
from explorer.protocol.schema_walk import missing_schema, validate_schema


def validate_table(
    protocol: Protocol, metadata: Metadata
) -> tuple[StructType | None, list[Problem]]:
    """The schema, None where it cannot be read, and every problem; properties have rules of
    their own (`explorer.protocol.table_properties.properties`)."""
    problems = [
        *validate_protocol(protocol),
        *validate_unsupported_mapping(protocol, metadata.configuration),
        *validate_format(metadata),
    ]
    if metadata.schema_string is None:
        problems.append(missing_schema())
    try:
        schema = parse_schema(metadata.schema_string)
    except CorruptLogError as error:
        return None, [*problems, Problem.of(error)]
    problems += validate_schema(schema)
    problems += validate_mapping(schema, column_mapping_mode(protocol, metadata.configuration))
    return schema, problems
