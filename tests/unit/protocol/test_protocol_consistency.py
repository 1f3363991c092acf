"""A protocol that contradicts itself is shown with its problems."""

from __future__ import annotations

import pytest

from explorer.protocol.actions import Protocol
from explorer.protocol.features.consistency import validate_protocol


def protocol(reader=3, writer=7, readers=(), writers=()):
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=None if readers is None else tuple(readers),
        writer_features=None if writers is None else tuple(writers),
    )


def by_number(reader, writer):
    return protocol(reader, writer, None, None)


def listing(*names):
    return protocol(readers=names, writers=names)


@pytest.mark.rule("action-protocol-readerfeatures", "action-protocol-writerfeatures", "dv-protocol")
@pytest.mark.rule("feature-new-3-below-7", "feature-not-only-reader-list")
@pytest.mark.rule("feature-reader-in-both-lists", "feature-reader-version-3-writer-7")
@pytest.mark.rule("feature-supported-version-only", "feature-writer-or-both")
@pytest.mark.rule("feature-writer7-requires-list")
@pytest.mark.parametrize(
    ("odd", "text"),
    [
        (by_number(0, 2), "below the first version"),
        (protocol(3, 5, [], None), "needs writer version 7, but has 5"),
        (protocol(1, 8, None, []), "Writer version 8 is not known"),
        (protocol(1, 7, [], []), "Reader version 1 has a list"),
        (protocol(1, 2, None, []), "Writer version 2 has a list"),
        (by_number(1, 7), "has no list of features"),
        (protocol(readers=["deletionVectors"]), "`deletionVectors` is listed for readers but not"),
        (listing("appendOnly"), "`appendOnly` is listed for readers, but concerns writers only"),
        (protocol(writers=["deletionVectors"]), "`deletionVectors` concerns readers"),
        (protocol(1, 7, None, ["columnMapping"]), "`columnMapping` concerns readers"),
        (protocol(1, 7, None, ["mystery"] * 3), "`mystery` is listed 3 times for writers"),
        (
            protocol(1, 7, None, ["invariants", "columnInvariants"]),
            "`invariants` is listed 2 times for writers",
        ),
        (listing("timestampNtz", "timestampNTZ"), "`timestampNtz` is listed 2 times for readers"),
        (protocol(writers=["rowTracking"]), "`rowTracking` needs `domainMetadata`"),
    ],
    ids=str,
)
def test_a_protocol_that_contradicts_itself_has_a_problem(odd, text):
    assert [item.problem for item in validate_protocol(odd) if text in item.problem]


def test_newer_writer_version_is_no_contradiction():
    (problem,) = validate_protocol(protocol(3, 8))
    assert "The newest that is known here is 7" in problem.reason
    assert "newer release" in problem.remedy
    assert "follows the specification" not in problem.remedy


@pytest.mark.rule("action-protocol-reader2-mapping-equivalent", "feature-new-2-7")
@pytest.mark.parametrize(
    "sound",
    [
        by_number(1, 1),
        by_number(2, 5),
        protocol(1, 7, None, ["appendOnly", "mystery"]),
        protocol(2, 7, None, ["columnMapping"]),
        protocol(readers=["columnMapping"], writers=["columnMapping", "identityColumns"]),
        listing("variantType-preview", "variantShredding"),
    ],
    ids=str,
)
def test_a_protocol_as_the_specification_has_it_has_none(sound):
    assert validate_protocol(sound) == []
