"""What is wrong with a protocol that can still be shown (spec: Table Features)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from explorer.errors import Problem
from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    find_feature,
    supported_features,
)

_PREVIEW = "-preview"


def validate_protocol(protocol: Protocol) -> list[Problem]:
    """Every way in which a protocol breaks the rules on versions and lists.

    None of them forbids reading; `validate_reader` has those that do.
    """
    return [*_version_problems(protocol), *_list_problems(protocol), *_missing(protocol)]


def _version_problems(protocol: Protocol) -> Iterator[Problem]:
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader < 1 or writer < 1:
        yield _problem(f"The protocol ({reader}, {writer}) is below the first version, 1.")
    if reader >= READER_FEATURES_VERSION and writer < WRITER_FEATURES_VERSION:
        yield _problem(f"Reader version {reader} needs writer version 7, but has {writer}.")
    if writer > WRITER_FEATURES_VERSION:
        yield _problem(f"Writer version {writer} is not known: the table can only be read.")
    if reader < READER_FEATURES_VERSION and protocol.reader_features is not None:
        yield _problem(f"Reader version {reader} has a list of features; only 3 may have one.")
    if writer < WRITER_FEATURES_VERSION and protocol.writer_features is not None:
        yield _problem(f"Writer version {writer} has a list of features; only 7 may have one.")
    if reader >= READER_FEATURES_VERSION and protocol.reader_features is None:
        yield _problem(f"Reader version {reader} has no list of features, but must have one.")
    if writer >= WRITER_FEATURES_VERSION and protocol.writer_features is None:
        yield _problem(f"Writer version {writer} has no list of features, but must have one.")


def _list_problems(protocol: Protocol) -> Iterator[Problem]:
    yield from _listed_twice(protocol.reader_features or (), "readers")
    yield from _listed_twice(protocol.writer_features or (), "writers")
    readers = set(protocol.reader_features or ())
    writers = set(protocol.writer_features or ())
    for name in sorted(readers - writers):
        yield _problem(f"`{name[:120]}` is listed for readers but not for writers.")
    for name in sorted(readers & writers):
        item = find_feature(name)
        if item is not None and item.kind == "writer":
            yield _problem(f"`{name}` is listed for readers, but concerns writers only.")
    if protocol.min_reader_version < READER_FEATURES_VERSION:
        readers.update(_readable_by_number(protocol))
    for name in sorted(writers - readers):
        item = find_feature(name)
        if item is not None and item.kind == "reader-writer":
            yield _problem(f"`{name}` concerns readers, but is listed for writers only.")


def _listed_twice(names: tuple[str, ...], whom: str) -> Iterator[Problem]:
    """Under one name or under two spellings of it."""
    entries = {name: find_feature(name) for name in names}
    counts = Counter(name if (item := entries[name]) is None else item.name for name in names)
    for name, count in counts.items():
        if count > 1:
            yield _problem(f"`{name[:120]}` is listed {count} times for {whom}.")


def _readable_by_number(protocol: Protocol) -> Iterator[str]:
    for name in protocol.writer_features or ():
        item = find_feature(name)
        needed = None if item is None else item.legacy_min_reader
        if needed is not None and needed <= protocol.min_reader_version:
            yield name


def _missing(protocol: Protocol) -> Iterator[Problem]:
    supported = set(supported_features(protocol))
    for name in supported_features(protocol):
        item = find_feature(name)
        for needed in () if item is None else item.requires:
            if supported.isdisjoint({needed, needed + _PREVIEW}):
                yield _problem(f"`{name}` needs `{needed}`, which the protocol does not have.")


def _problem(text: str) -> Problem:
    return Problem(
        kind="log_corrupt",
        problem=text,
        reason="The lists and versions of a protocol must agree, so that nobody guesses.",
        remedy="Write the protocol again with an engine that follows the specification.",
        spec="Table Features",
    )
