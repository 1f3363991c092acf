"""A feature that only one of the two lists of a protocol has: what it means, for every feature."""

from __future__ import annotations

import pytest

from explorer.protocol.actions import Protocol
from explorer.protocol.features.consistency import (
    validate_protocol,
    validate_unsupported_mapping,
)
from explorer.protocol.features.evolution import with_features
from explorer.protocol.features.registry import (
    FEATURES,
    half_listed_features,
    is_supported,
    validate_reader,
)

FOR_READERS = [name for name, item in FEATURES.items() if item.kind == "reader-writer"]


Names = tuple[str, ...] | None


def protocol(reader: int, writer: int, readers: Names = None, writers: Names = None) -> Protocol:
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=readers,
        writer_features=writers,
    )


def whole(name: str) -> Protocol:
    """A protocol that lists a feature, and what it requires, wherever they belong."""
    return with_features(protocol(3, 7, (), ()), [name])


def without(names: Names, name: str) -> tuple[str, ...]:
    return tuple(held for held in names or () if held != name)


def halves(name: str) -> dict[str, Protocol]:
    """The protocols that have it in one list."""
    given = whole(name)
    readers, writers = given.reader_features, given.writer_features
    return {
        "readers": protocol(3, 7, readers, without(writers, name)),
        "writers": protocol(3, 7, without(readers, name), writers),
        "writers of reader version 1": protocol(1, 7, None, writers),
    }


@pytest.mark.rule("feature-reader-in-both-lists", "feature-not-only-reader-list")
@pytest.mark.parametrize("name", FOR_READERS)
def test_feature_in_one_list_is_supported_and_read_as_in_both_and_a_problem_names_it(name: str):
    assert half_listed_features(whole(name)) == ()
    refusal = [found.kind for found in validate_reader(whole(name))]
    assert bool(refusal) is not FEATURES[name].reads
    for where, given in halves(name).items():
        assert is_supported(given, name), where
        assert [found.kind for found in validate_reader(given)] == refusal, where
        told = [found.problem for found in validate_protocol(given) if f"`{name}`" in found.problem]
        only = "for readers but not for writers" if where == "readers" else "for writers only"
        assert any(only in text for text in told), (where, told)


@pytest.mark.parametrize("name", FOR_READERS)
def test_upgrade_lists_a_feature_in_both_lists_whichever_had_it(name: str):
    for where, given in halves(name).items():
        mended = with_features(given, ())
        assert half_listed_features(mended) == (), where
        if mended.min_reader_version == 3:  # the number 2 stands for column mapping
            assert mended.reader_features == whole(name).reader_features, where
        assert mended.writer_features == whole(name).writer_features, where
        assert not [found for found in validate_protocol(mended) if "list" in found.problem], where


@pytest.mark.parametrize(
    "sound",
    [
        protocol(2, 5),
        protocol(2, 7, None, ("columnMapping",)),
        protocol(1, 7, None, ("appendOnly", "mystery")),
        protocol(3, 7, ("timestampNTZ",), ("timestampNtz",)),
    ],
    ids=str,
)
def test_list_of_writers_alone_is_whole_where_a_number_stands_for_readers(sound: Protocol):
    assert half_listed_features(sound) == ()
    assert with_features(sound, ()) is sound


@pytest.mark.rule("mapping-honored-only-if-supported")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (protocol(1, 2), True),
        (protocol(3, 7, (), ("icebergCompatV1",)), True),
        (protocol(2, 5), False),
        (protocol(3, 7, (), ("columnMapping",)), False),
    ],
    ids=str,
)
def test_mode_that_no_list_and_no_number_supports_is_a_problem(given: Protocol, *, told: bool):
    mapped = {"delta.columnMapping.mode": "name"}
    found = [item.problem for item in validate_unsupported_mapping(given, mapped)]
    assert any("does not have column mapping" in text for text in found) is told
    assert validate_unsupported_mapping(given, {}) == []
