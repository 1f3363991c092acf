"""What a table requires of its readers and writers (spec: Reader Version Requirements,
Writer Version Requirements, Table Features)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from explorer.inspect.table_features.feature_states import readable_schema
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    active_features,
)
from explorer.protocol.table_properties.known_properties import MappingMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What is asked in one direction: the version, and features as the protocol spells them.

    `by_number` are those of `names` that the version stands for. `newest` is the newest known
    version, the one that lists features by name; `lacks_list` says that it comes without its
    list. `in_use` are the features that are active; None where the schema cannot be read,
    which says so of some.
    """

    role: Literal["reader", "writer"]
    version: int
    newest: int
    names: tuple[str, ...]
    by_number: frozenset[str]
    lacks_list: bool
    in_use: frozenset[str] | None
    mapping_mode: MappingMode


def build_needs(protocol: Protocol, metadata: Metadata) -> tuple[Needs, Needs]:
    """What a table asks of readers, and of writers.

    A version that names no features stands for those of its number, also where the
    specification gives the table less (column mapping by writer version 5 with reader
    version 1): an engine goes by the number. A writer has to support what readers must support.
    """
    schema = readable_schema(metadata)
    in_use = None if schema is None else frozenset(active_features(protocol, metadata, schema))
    mode = column_mapping_mode(protocol, metadata.configuration)
    listed = protocol.reader_features or ()
    mapped = ("columnMapping",) if protocol.min_reader_version == 2 else ()
    reader = Needs(
        role="reader",
        version=protocol.min_reader_version,
        newest=READER_FEATURES_VERSION,
        names=_once(*mapped, *listed),
        by_number=frozenset(mapped),
        lacks_list=protocol.min_reader_version == READER_FEATURES_VERSION
        and protocol.reader_features is None,
        in_use=in_use,
        mapping_mode=mode,
    )
    numbered = tuple(_by_number(protocol.min_writer_version))
    writer = Needs(
        role="writer",
        version=protocol.min_writer_version,
        newest=WRITER_FEATURES_VERSION,
        names=_once(*numbered, *(protocol.writer_features or ()), *reader.names),
        by_number=frozenset(numbered),
        lacks_list=protocol.min_writer_version == WRITER_FEATURES_VERSION
        and protocol.writer_features is None,
        in_use=in_use,
        mapping_mode=mode,
    )
    return reader, writer


def _by_number(version: int) -> Iterator[str]:
    for name, item in FEATURES.items():
        since = item.legacy_min_writer
        if since is not None and since <= version < WRITER_FEATURES_VERSION:
            yield name


def _once(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
