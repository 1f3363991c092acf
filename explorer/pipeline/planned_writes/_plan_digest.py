"""What names a plan that is not stored: the digest of all that it follows from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

import orjson

from explorer.errors import ConflictError, InvalidArgumentError
from explorer.protocol.features.column_rules import IDENTITY_KEYS
from explorer.protocol.schema import StructField, parse_schema, render_schema
from explorer.protocol.schema_walk import map_fields
from explorer.table.snapshot import Snapshot

SHORTEST: Final = 12
"""Characters of a digest that are enough to name it."""

_MARK: Final = f"{IDENTITY_KEYS}highWaterMark"


def digest_of(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document, whatever the order of its keys."""
    return hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


def check_digest(given: str, digest: str) -> None:
    """Raise `InvalidArgumentError` for what is no digest, and `ConflictError` of the kind
    `plan_stale` where it is not this one."""
    if len(given) < SHORTEST:
        raise InvalidArgumentError(
            f"{given[:SHORTEST]!r} is not a plan's digest.",
            reason=f"A digest is named by its first {SHORTEST} characters or more.",
            remedy="Plan without --apply, and copy the digest that is printed.",
        )
    if not digest.startswith(given):
        raise ConflictError(
            "The plan is out of date.",
            reason="A file, an option or the table is not what it was when the plan was made.",
            remedy="Plan again without --apply, and look at what would happen now.",
            kind="plan_stale",
        )


def table_document(snapshot: Snapshot | None) -> dict[str, Any] | None:
    """What of a table counts for a plan: what it asks of writers, but not which files it has."""
    if snapshot is None:
        return None
    protocol = asdict(snapshot.protocol)
    metadata = snapshot.metadata
    return {
        "id": metadata.id,
        "protocol": {name: protocol[name] for name in protocol if name != "unknown_fields"},
        "schema": render_schema(map_fields(parse_schema(metadata.schema_string), _without_mark)),
        "partition_columns": metadata.partition_columns,
        "configuration": dict(metadata.configuration),
    }


def _without_mark(field: StructField) -> StructField:
    # identity columns of an append go on where others stopped
    kept = {key: value for key, value in field.metadata.items() if key != _MARK}
    return replace(field, metadata=kept)
