"""Actions that are few per table (spec: Actions).

Protocol, metadata, transaction identifiers and domain metadata are values of
their own. Adds and removes are not here: they are many, and live as columns of
Arrow (`explorer.log.actions.columns`).

`parse_*` take the JSON object of one action, already decoded, and raise
`CorruptLogError` where a field has the wrong type. Fields that the specification
does not name mean nothing here (spec: Protocol Evolution); they are kept as
`unknown_fields`, so that an action that is written again loses none (but those that
are nested more than 100 deep).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeAlias

from explorer.errors import CorruptLogError, brief
from explorer.records import record

FieldPath: TypeAlias = tuple[str, ...]
"""The names from the root of a schema, or of an action, to a field inside it."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""What the log counts milliseconds from."""

_MAX_DEPTH = 100


@record
class Protocol:
    """Versions and features that a reader or writer must know (spec: Protocol Evolution).

    The feature lists are None where the action has none, which is not the
    same as an empty list.
    """

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None
    unknown_fields: Mapping[str, Any] = field(default_factory=dict, hash=False)


@record
class Metadata:
    """What a table is (spec: Change Metadata). `schema_string` is kept as in the log; a
    `created_time` beyond the years 1 to 9999 is None, and stands among the `unknown_fields`."""

    id: str
    name: str | None = None
    description: str | None = None
    format_provider: str = "parquet"
    format_options: Mapping[str, str] = field(default_factory=dict)
    schema_string: str | None = None
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    created_time: datetime | None = None
    unknown_fields: Mapping[str, Any] = field(default_factory=dict, hash=False)


@record
class Transaction:
    """Progress of one application (spec: Transaction Identifiers); `last_updated`
    is in milliseconds since the epoch."""

    app_id: str
    version: int
    last_updated: int | None = None
    unknown_fields: Mapping[str, Any] = field(default_factory=dict, hash=False)


@record
class DomainMetadata:
    """Configuration of one metadata domain (spec: Domain Metadata)."""

    domain: str
    configuration: str
    removed: bool
    unknown_fields: Mapping[str, Any] = field(default_factory=dict, hash=False)


_KNOWN_FIELDS = {
    "protocol": {"minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"},
    "metaData": {
        "id",
        "name",
        "description",
        "format",
        "schemaString",
        "partitionColumns",
        "configuration",
        "createdTime",
    },
    "txn": {"appId", "version", "lastUpdated"},
    "domainMetadata": {"domain", "configuration", "removed"},
}


def parse_protocol(action: Any, place: str) -> Protocol:
    """The `protocol` action found at `place`."""
    body = _require_object(action, "protocol", place)
    return Protocol(
        min_reader_version=_require_int(body, "minReaderVersion", "protocol", place),
        min_writer_version=_require_int(body, "minWriterVersion", "protocol", place),
        reader_features=_optional_strings(body, "readerFeatures", "protocol", place),
        writer_features=_optional_strings(body, "writerFeatures", "protocol", place),
        unknown_fields=_unknown_fields(body, "protocol"),
    )


def parse_metadata(action: Any, place: str) -> Metadata:
    """The `metaData` action found at `place`."""
    body = _require_object(action, "metaData", place)
    provider = "parquet"
    options: Mapping[str, str] = {}
    if (form := body.get("format")) is not None:
        form = _require_object(form, "metaData.format", place)
        provider = _optional_string(form, "provider", "metaData.format", place) or provider
        options = _string_map(form.get("options"), "metaData.format.options", place)
    created = _optional_int(body, "createdTime", "metaData", place)
    known_time = None if created is None else _time_of(created)
    unknown = _unknown_fields(body, "metaData")
    if created is not None and known_time is None:
        unknown["createdTime"] = created
    return Metadata(
        id=_require_string(body, "id", "metaData", place),
        name=_optional_string(body, "name", "metaData", place),
        description=_optional_string(body, "description", "metaData", place),
        format_provider=provider,
        format_options=options,
        schema_string=_optional_string(body, "schemaString", "metaData", place),
        partition_columns=_optional_strings(body, "partitionColumns", "metaData", place) or (),
        configuration=_string_map(body.get("configuration"), "metaData.configuration", place),
        created_time=known_time,
        unknown_fields=unknown,
    )


def parse_transaction(action: Any, place: str) -> Transaction:
    """The `txn` action found at `place`."""
    body = _require_object(action, "txn", place)
    return Transaction(
        app_id=_require_string(body, "appId", "txn", place),
        version=_require_int(body, "version", "txn", place),
        last_updated=_optional_int(body, "lastUpdated", "txn", place),
        unknown_fields=_unknown_fields(body, "txn"),
    )


def parse_domain(action: Any, place: str) -> DomainMetadata:
    """The `domainMetadata` action found at `place`.

    An older revision kept `configuration` as a map of strings; it is rendered
    as the JSON text that the newer one stores.
    """
    body = _require_object(action, "domainMetadata", place)
    configuration = body.get("configuration")
    if isinstance(configuration, Mapping):
        configuration = _render_json(configuration)
    removed = body.get("removed", False)
    if not isinstance(removed, bool):
        _refuse("domainMetadata.removed", "true or false", removed, place)
    if not isinstance(configuration, str):
        _refuse("domainMetadata.configuration", "a string", configuration, place)
    return DomainMetadata(
        domain=_require_string(body, "domain", "domainMetadata", place),
        configuration=configuration,
        removed=removed,
        unknown_fields=_unknown_fields(body, "domainMetadata"),
    )


def _time_of(milliseconds: int) -> datetime | None:
    """Milliseconds since the epoch as an aware UTC time; None beyond the years 1 to 9999."""
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def _unknown_fields(body: Mapping[str, Any], action: str) -> dict[str, Any]:
    # a column of a checkpoint that has no value here is not there
    return {
        key: value
        for key, value in body.items()
        if value is not None and key not in _KNOWN_FIELDS[action] and _is_shallow(value)
    }


def _is_shallow(value: Any) -> bool:
    """Whether a value is nested so little that it can be compared and written again."""
    pending = [(value, 0)]
    while pending:
        current, depth = pending.pop()
        if isinstance(current, Mapping | list | tuple):
            if depth == _MAX_DEPTH:
                return False
            inner = current.values() if isinstance(current, Mapping) else current
            pending.extend((item, depth + 1) for item in inner)
    return True


def _render_json(value: Mapping[str, Any]) -> str:
    import json  # noqa: PLC0415  # only tables of an old revision need it

    return json.dumps(dict(value), separators=(",", ":"))


def _refuse(name: str, wanted: str, found: Any, place: str) -> NoReturn:
    raise CorruptLogError(
        f"The log is not readable at {place}.",
        reason=f"`{name}` must be {wanted}, but is {brief(found)}.",
        remedy="Restore this log file from a backup, or ask the writer that made it for a fix.",
        spec="Actions",
    )


def _require_object(value: Any, name: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _refuse(name, "an object", value, place)
    return value


def _require_string(body: Mapping[str, Any], key: str, name: str, place: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        _refuse(f"{name}.{key}", "a string", value, place)
    return value


def _optional_string(body: Mapping[str, Any], key: str, name: str, place: str) -> str | None:
    return None if body.get(key) is None else _require_string(body, key, name, place)


def _require_int(body: Mapping[str, Any], key: str, name: str, place: str) -> int:
    value = body.get(key)
    # bool is an int to Python, not to the specification
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        _refuse(f"{name}.{key}", "a 64-bit integer", value, place)
    return value


def _optional_int(body: Mapping[str, Any], key: str, name: str, place: str) -> int | None:
    return None if body.get(key) is None else _require_int(body, key, name, place)


def _optional_strings(
    body: Mapping[str, Any], key: str, name: str, place: str
) -> tuple[str, ...] | None:
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        _refuse(f"{name}.{key}", "an array of strings", value, place)
    return tuple(value)


def _string_map(value: Any, name: str, place: str) -> dict[str, str]:
    if value is None:
        return {}
    # a Parquet map arrives as tuples, which JSON has none of
    if isinstance(value, list) and all(isinstance(pair, tuple) for pair in value):
        value = dict(value)
    body = _require_object(value, name, place)
    for key, item in body.items():
        if item is not None and not isinstance(item, str):
            _refuse(f"{name}.{key}", "a string", item, place)
    return {key: item for key, item in body.items() if item is not None}
