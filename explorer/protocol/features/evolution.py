"""How a protocol gains and loses features (spec: Protocol Evolution, Table Features).

A protocol stays as low as it can: up to writer version 6 numbers stand for features, and
only where no number stands for exactly the wanted ones does the protocol list them all by
name, those that came with its number included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    entry_name,
    find_feature,
    half_listed_features,
    supported_features,
)

_NUMBERS_FROM: Final = 1


def with_features(protocol: Protocol, names: Iterable[str]) -> Protocol:
    """The protocol with further features and what these require; the same one where it has
    them all, and lists each wherever it belongs. Its versions never get lower."""
    held = supported_features(protocol)
    wanted = _closure([*held, *names])
    if wanted == frozenset(held) and not half_listed_features(protocol):
        return protocol
    reader, writer = _least_versions(wanted)
    return _written(
        protocol,
        max(reader, protocol.min_reader_version),
        max(writer, protocol.min_writer_version),
        wanted,
    )


def with_versions(protocol: Protocol, reader: int, writer: int) -> Protocol:
    """The protocol with these numbers, none lower than it has: what a number stands for is
    supported from then on, and version 7 lists by name what was supported so far."""
    reader = max(reader, protocol.min_reader_version)
    writer = max(writer, protocol.min_writer_version)
    if reader >= READER_FEATURES_VERSION:
        writer = WRITER_FEATURES_VERSION
    if (reader, writer) == (protocol.min_reader_version, protocol.min_writer_version):
        return protocol
    if writer < WRITER_FEATURES_VERSION:
        return replace(protocol, min_reader_version=reader, min_writer_version=writer)
    return _listed(protocol, reader, frozenset(supported_features(protocol)))


def without_feature(protocol: Protocol, name: str) -> Protocol:
    """The protocol without one feature, in the lowest form that has all the others."""
    left = frozenset(supported_features(protocol)) - {name}
    reader, writer = _least_versions(left)
    return _written(protocol, reader, writer, left)


def implied_features(before: Protocol, after: Protocol) -> tuple[str, ...]:
    """The features that `before` has by its number alone and that `after` lists by name."""
    if before.min_writer_version >= WRITER_FEATURES_VERSION or after.writer_features is None:
        return ()
    return supported_features(before)


def without_unused(protocol: Protocol, names: Collection[str]) -> Protocol:
    """A protocol that lists features by name, without these; its versions stay."""
    left = frozenset(supported_features(protocol)) - frozenset(names)
    return _listed(protocol, protocol.min_reader_version, left)


def dependents(protocol: Protocol, name: str) -> tuple[str, ...]:
    """The supported features that require `name`."""
    return tuple(
        other
        for other in supported_features(protocol)
        if (item := find_feature(other)) is not None and name in item.requires
    )


def _closure(names: Iterable[str]) -> frozenset[str]:
    found: dict[str, None] = {}
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found[name] = None
        item = find_feature(name)
        pending.extend(() if item is None else item.requires)
    return frozenset(found)


def _least_versions(names: Collection[str]) -> tuple[int, int]:
    readers, writers = [_NUMBERS_FROM], [_NUMBERS_FROM]
    for name in names:
        item = find_feature(name)
        if item is None or item.legacy_min_writer is None:
            writers.append(WRITER_FEATURES_VERSION)
            readers.append(READER_FEATURES_VERSION if _is_read(name) else _NUMBERS_FROM)
        else:
            writers.append(item.legacy_min_writer)
            readers.append(item.legacy_min_reader or _NUMBERS_FROM)
    return max(readers), max(writers)


def _written(protocol: Protocol, reader: int, writer: int, names: frozenset[str]) -> Protocol:
    if writer < WRITER_FEATURES_VERSION and reader < READER_FEATURES_VERSION:
        numbered = Protocol(min_reader_version=reader, min_writer_version=writer)
        if frozenset(supported_features(numbered)) == names:
            return replace(numbered, unknown_fields=protocol.unknown_fields)
    return _listed(protocol, reader, names)


def _listed(protocol: Protocol, reader: int, names: frozenset[str]) -> Protocol:
    """Version 7 with all names; with reader version 3 those that readers must support, too."""
    spelled = {
        entry_name(name): name
        for name in (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    }
    reads = [name for name in names if _is_read(name)]
    return Protocol(
        min_reader_version=reader,
        min_writer_version=WRITER_FEATURES_VERSION,
        reader_features=tuple(sorted(spelled.get(name, name) for name in reads))
        if reader >= READER_FEATURES_VERSION
        else None,
        writer_features=tuple(sorted(spelled.get(name, name) for name in names)),
        unknown_fields=protocol.unknown_fields,
    )


def _is_read(name: str) -> bool:
    item = find_feature(name)
    return item is None or item.kind == "reader-writer"
