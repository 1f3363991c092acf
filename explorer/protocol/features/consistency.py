"""What is wrong with a protocol that can still be shown (spec: Table Features)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from explorer.errors import Problem
from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    HalfListing,
    binds_readers,
    find_feature,
    half_listed_features,
    supported_features,
)
from explorer.protocol.table_properties.known_properties import COLUMN_MAPPING_MODE

_PREVIEW = "-preview"


def validate_protocol(protocol: Protocol) -> list[Problem]:
    """Every way in which a protocol breaks the rules on versions and lists.

    None of them forbids reading; `validate_reader` has those that do.
    """
    return [*_version_problems(protocol), *_list_problems(protocol), *_missing(protocol)]


def validate_unsupported_mapping(
    protocol: Protocol, configuration: Mapping[str, str]
) -> list[Problem]:
    """A property that maps columns where no version and no list has column mapping: it must not
    be honoured then, and files that were written by it come back as nulls."""
    mode = COLUMN_MAPPING_MODE.value_of(configuration)
    if mode == "none" or binds_readers(protocol, "columnMapping"):
        return []
    return [
        Problem(
            kind="log_corrupt",
            problem=f"`{COLUMN_MAPPING_MODE.name}` is {mode}, and the protocol does not have "
            "column mapping.",
            reason="The property counts only where the protocol supports the feature, so that "
            "columns are looked for by their own names; delta-spark goes by the property.",
            remedy="If the files have the physical names, write a protocol that lists "
            "columnMapping with the engine that wrote them.",
            spec="Column Mapping",
        )
    ]


def _version_problems(protocol: Protocol) -> Iterator[Problem]:
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader < 1 or writer < 1:
        yield _problem(f"The protocol ({reader}, {writer}) is below the first version, 1.")
    if reader >= READER_FEATURES_VERSION and writer < WRITER_FEATURES_VERSION:
        yield _problem(f"Reader version {reader} needs writer version 7, but has {writer}.")
    if writer > WRITER_FEATURES_VERSION:
        yield replace(
            _problem(f"Writer version {writer} is not known: the table can only be read."),
            reason=f"The newest that is known here is {WRITER_FEATURES_VERSION}; what a newer one "
            "asks of writers must not be guessed. It asks nothing of readers.",
            remedy="Write to it with a newer release, or with the engine that wrote it.",
        )
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
    yield from map(_half_listed, half_listed_features(protocol))
    for name in protocol.reader_features or ():
        item = find_feature(name)
        if item is not None and item.kind == "writer":
            yield _problem(f"`{name}` is listed for readers, but concerns writers only.")


def _half_listed(half: HalfListing) -> Problem:
    name = half.name[:120]
    text = f"`{name}` concerns readers, but is listed for writers only."
    if half.listed_for == "readers":
        text = f"`{name}` is listed for readers but not for writers."
    return replace(
        _problem(text),
        reason="Clients go by one of the lists or by the other. Here the feature counts as "
        "supported: the table is read by its rules, and nothing is committed to it.",
        remedy="Run `upgrade --writer-version 7`, which lists the feature wherever it belongs, "
        "or write the protocol again with the engine that wrote the table.",
    )


def _listed_twice(names: tuple[str, ...], whom: str) -> Iterator[Problem]:
    """Under one name or under two spellings of it."""
    entries = {name: find_feature(name) for name in names}
    counts = Counter(name if (item := entries[name]) is None else item.name for name in names)
    for name, count in counts.items():
        if count > 1:
            yield _problem(f"`{name[:120]}` is listed {count} times for {whom}.")


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
