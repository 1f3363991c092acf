"""The properties that somebody asks for with a new table (spec: Table Properties)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    find_feature,
    supported_features,
)
from explorer.protocol.table_properties.known_properties import (
    COLUMN_MAPPING_MODE,
    ICEBERG_COMPAT_V1,
    ICEBERG_COMPAT_V2,
    ICEBERG_COMPAT_V3,
    ICEBERG_WRITER_COMPAT_V1,
    ICEBERG_WRITER_COMPAT_V3,
    UNIVERSAL_FORMATS,
)
from explorer.protocol.table_properties.properties import validate_properties
from explorer.protocol.table_properties.property_names import (
    CONSTRAINT_PREFIX,
    DELTA_PREFIX,
    FEATURE_PREFIX,
    KEPT_BY_WRITERS,
    known_name,
    nearest_name,
)
from explorer.protocol.values.unicode_text import check_unicode

READER_VERSION: Final = "delta.minReaderVersion"
WRITER_VERSION: Final = "delta.minWriterVersion"
_WITHOUT_DEFAULTS: Final = "delta.ignoreProtocolDefaults"
_OF_THE_PROTOCOL: Final = (READER_VERSION, WRITER_VERSION, _WITHOUT_DEFAULTS)
"""They say what the protocol is to be, and are no properties of the table afterwards."""

_USUAL_VERSIONS: Final = (1, 2)
"""What the reference creates tables with."""

_ON: Final = ("supported", "enabled")
_BY_A_SERVICE: Final = "delta.coordinatedcommits."
_CONVERTIBLE: Final = (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2)
_NOT_WRITTEN: Final = (
    ICEBERG_COMPAT_V3,
    ICEBERG_WRITER_COMPAT_V1,
    ICEBERG_WRITER_COMPAT_V3,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedProperties:
    """`configuration` is what the metadata keeps, under the names that readers ask for;
    `features` are those that the protocol is to support whatever the metadata says."""

    configuration: Mapping[str, str]
    features: tuple[str, ...]


def parse_properties(properties: Mapping[str, str | bool | int]) -> AskedProperties:
    """The properties of a new table. Names of Delta may be in any case, and truth values and
    numbers may come as such.

    Raises `InvalidArgumentError` for a name of Delta that is not known, with the nearest one
    that is; for a value that its property cannot have; and for what writers keep themselves.
    """
    configuration: dict[str, str] = {}
    features: list[str] = []
    versions: dict[str, str] = {}
    for given, value in properties.items():
        name, text = _spelled(given), _text(value)
        check_unicode(text, f"The value of the property {given[:120]!r} cannot be read.")
        if name.startswith(FEATURE_PREFIX):
            features.append(_feature(name, text))
        elif name in _OF_THE_PROTOCOL:
            versions[name] = text
        elif name in configuration:
            raise _refused(f"{name[:120]} is set twice.", "Only one of the two can be meant.")
        else:
            configuration[name] = text
    for problem in validate_properties(configuration):
        raise _refused(problem.problem, problem.reason, problem.remedy)
    _check_formats(configuration)
    if any(item.value_of(configuration) for item in _CONVERTIBLE):
        # as in the reference: both sets of rules ask for it, and names are what others expect
        configuration.setdefault(COLUMN_MAPPING_MODE.name, "name")
    features += _features_of_versions(versions)
    return AskedProperties(configuration=configuration, features=tuple(dict.fromkeys(features)))


def _text(value: str | bool | int) -> str:  # noqa: FBT001  # what a property is set to
    return str(value).lower() if isinstance(value, bool) else str(value)


def _spelled(name: str) -> str:
    """The name as readers ask for it."""
    check_unicode(name, f"The name of the property {name[:120]!a} cannot be read.")
    lowered = name.lower()
    for prefix in (CONSTRAINT_PREFIX, FEATURE_PREFIX):
        if lowered.startswith(prefix) and len(name) > len(prefix):
            return f"{prefix}{name[len(prefix) :]}"
    if not lowered.startswith(DELTA_PREFIX):
        return name
    if lowered.startswith(_BY_A_SERVICE):
        raise _refused(
            f"{name[:120]} cannot be set here.",
            "A service would decide about commits, and others could not even read the table.",
            "Leave it out.",
        )
    own = next((each for each in _OF_THE_PROTOCOL if each.lower() == lowered), None)
    found = own or known_name(name)
    if found is None:
        near = nearest_name(name, _OF_THE_PROTOCOL)
        raise _refused(
            f"{name[:120]} is no known property.",
            "Names with delta. are Delta's own.",
            _NAMES if near is None else f"Did you mean {near}?",
        )
    if found in KEPT_BY_WRITERS:
        raise _refused(
            f"{found} cannot be set.", "Writers keep it, and the log rests on it.", "Leave it out."
        )
    return found


def _feature(name: str, status: str) -> str:
    given = name[len(FEATURE_PREFIX) :]
    item = find_feature(given)
    if item is None:
        near = nearest_name(name, (f"{FEATURE_PREFIX}{each}" for each in FEATURES))
        raise _refused(
            f"There is no table feature {given[:120]}.",
            "What it would ask of readers and writers is not known here.",
            "Leave it out." if near is None else f"Did you mean {near}?",
        )
    if status.lower() not in _ON:
        raise _refused(
            f"{name[:120]} is `{status[:120]}`.",
            "A feature of a new table is supported or not mentioned.",
            "Set it to supported, or leave it out.",
        )
    return item.name


def _features_of_versions(versions: Mapping[str, str]) -> tuple[str, ...]:
    """What the wanted versions stand for by their numbers alone; those that list features by
    name stand for none. Without a wish it is what the reference takes."""
    plain = versions.get(_WITHOUT_DEFAULTS, "false").lower()
    if plain not in {"true", "false"}:
        raise _refused(f"{_WITHOUT_DEFAULTS} is `{plain[:120]}`.", "It must be true or false.")
    usual = (1, 1) if plain == "true" else _USUAL_VERSIONS
    reader = _version(versions, READER_VERSION, usual[0], READER_FEATURES_VERSION)
    writer = _version(versions, WRITER_VERSION, usual[1], WRITER_FEATURES_VERSION)
    if writer < WRITER_FEATURES_VERSION:  # below it no reader version lists features either
        reader = min(reader, READER_FEATURES_VERSION - 1)
    return supported_features(Protocol(min_reader_version=reader, min_writer_version=writer))


def _version(versions: Mapping[str, str], name: str, usual: int, highest: int) -> int:
    text = versions.get(name, str(usual))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:4]) <= highest):
        raise _refused(
            f"{name} is `{text[:120]}`.", f"There are the versions 1 to {highest}.", "Name one."
        )
    return int(text)


def _check_formats(configuration: Mapping[str, str]) -> None:
    asked = [item.name for item in _NOT_WRITTEN if item.value_of(configuration)]
    if UNIVERSAL_FORMATS.value_of(configuration).strip():
        asked.append(UNIVERSAL_FORMATS.name)
    if asked:
        raise _refused(
            f"{asked[0]} cannot be set on a new table here.",
            "The metadata of other formats is not written here, nor what this asks of files.",
            "Leave it out, or create the table with an engine that writes Iceberg beside Delta.",
        )


_NAMES: Final = "See the table properties of the documentation for names and values."


def _refused(problem: str, reason: str, remedy: str = _NAMES) -> InvalidArgumentError:
    return InvalidArgumentError(problem, reason=reason, remedy=remedy, spec="Table Properties")
