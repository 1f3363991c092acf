"""A protocol gains and loses features and stays as low as it can."""

from __future__ import annotations

import pytest

from explorer.protocol.actions import Protocol
from explorer.protocol.features.consistency import validate_protocol
from explorer.protocol.features.evolution import (
    dependents,
    with_features,
    with_versions,
    without_feature,
)
from explorer.protocol.features.registry import FEATURES, supported_features


def protocol(
    reader: int, writer: int, readers: str | None = None, writers: str | None = None
) -> Protocol:
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=None if readers is None else tuple(readers.split()),
        writer_features=None if writers is None else tuple(writers.split()),
    )


@pytest.mark.rule("column-check-add-needs-support")
@pytest.mark.parametrize(
    ("before", "names", "after"),
    [
        # a number that stands for exactly the wanted features
        (protocol(1, 2), "checkConstraints", protocol(1, 3)),
        (protocol(1, 3), "checkConstraints", protocol(1, 3)),
        (protocol(1, 4), "checkConstraints", protocol(1, 4)),
        # none stands for them: all are listed, those of the number included
        (protocol(1, 1), "checkConstraints", protocol(1, 7, None, "checkConstraints")),
        (
            protocol(1, 2),
            "changeDataFeed",
            protocol(1, 7, None, "appendOnly changeDataFeed invariants"),
        ),
        (
            protocol(1, 2),
            "columnMapping",
            protocol(2, 7, None, "appendOnly columnMapping invariants"),
        ),
        (
            protocol(1, 2),
            "deletionVectors",
            protocol(3, 7, "deletionVectors", "appendOnly deletionVectors invariants"),
        ),
        # what listed readers' features under a number lists them by name
        (
            protocol(2, 5),
            "v2Checkpoint",
            protocol(
                3,
                7,
                "columnMapping v2Checkpoint",
                "appendOnly changeDataFeed checkConstraints columnMapping generatedColumns "
                "invariants v2Checkpoint",
            ),
        ),
        # what a feature needs comes with it
        (
            protocol(1, 7, None, "invariants"),
            "rowTracking",
            protocol(1, 7, None, "domainMetadata invariants rowTracking"),
        ),
        # never lower than it was
        (
            protocol(3, 7, "", "appendOnly invariants"),
            "checkConstraints",
            protocol(3, 7, "", "appendOnly checkConstraints invariants"),
        ),
    ],
)
def test_features_are_added_in_the_lowest_form(
    before: Protocol, names: str, after: Protocol
) -> None:
    assert with_features(before, names.split()) == after
    assert validate_protocol(after) == []


def test_every_feature_can_be_added_and_taken_away_again() -> None:
    before = protocol(1, 2)
    for name, item in FEATURES.items():
        after = with_features(before, [name])
        assert validate_protocol(after) == []
        assert {name, *item.requires} <= {*supported_features(after)}
        if item.requires or name in supported_features(before):
            continue
        assert without_feature(after, name) == before, name


def test_numbers_are_raised_and_features_that_came_with_them_stay() -> None:
    assert with_versions(protocol(1, 2), 1, 4) == protocol(1, 4)
    assert with_versions(protocol(1, 4), 1, 2) == protocol(1, 4)
    named = with_versions(protocol(1, 3), 1, 7)
    assert named == protocol(1, 7, None, "appendOnly checkConstraints invariants")
    read = with_versions(protocol(2, 5), 3, 5)
    assert read.min_writer_version == 7
    assert read.reader_features == ("columnMapping",)


def test_feature_that_others_rest_on_is_known_by_them() -> None:
    table = protocol(1, 7, None, "clustering domainMetadata rowTracking")
    assert dependents(table, "domainMetadata") == ("rowTracking", "clustering")
    assert dependents(table, "clustering") == ()
