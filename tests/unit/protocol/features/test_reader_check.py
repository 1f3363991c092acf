"""Which protocols may be read here, and how the others are refused."""

from __future__ import annotations

import pytest

from explorer.errors import UnsupportedError
from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import check_reader, validate_reader

URI = "file:/tmp/t"


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


@pytest.mark.rule("feature-reader-all", "newer-vacuum-check-reader-name", "newer-variant-features")
@pytest.mark.rule("newer-widening-feature")
@pytest.mark.parametrize(
    "allowed",
    [
        by_number(1, 1),
        by_number(2, 6),
        protocol(1, 7, None, ["mystery", "liquid"]),
        protocol(2, 7, None, ["columnMapping"]),
        protocol(1, 99, None, ["mystery"]),
        listing("typeWidening-preview", "variantType-preview", "variantShredding-preview"),
        listing("geospatial", "geospatial-dev", "timestampNtz", "timestampNanos"),
        listing("vacuumProtocolCheck", "v2Checkpoint", "deletionVectors", "columnMapping"),
    ],
    ids=str,
)
def test_a_known_protocol_may_be_read_whatever_writers_must_know(allowed):
    assert validate_reader(allowed) == []
    check_reader(allowed, URI)


@pytest.mark.rule("action-protocol-excludes-old-clients", "action-protocol-features-decide")
@pytest.mark.rule("action-protocol-minreaderversion", "action-protocol-unsupported-error")
@pytest.mark.rule("feature-reader-all", "feature-reader-version-3", "feature-reader3-requires-list")
@pytest.mark.rule("newer-catalog-feature", "newer-catalog-no-snapshot", "newer-unknown-blocks")
@pytest.mark.parametrize(
    ("refused", "kind", "text"),
    [
        (protocol(99), "unsupported_feature", "unsupported reader version 99"),
        (protocol(4), "unsupported_feature", "unsupported reader version 4"),
        (
            listing("catalogOwned"),
            "unsupported_feature",
            "unsupported reader feature catalogOwned",
        ),
        (
            listing("deletionVectors", "alpha", "beta"),
            "unsupported_feature",
            "unsupported reader feature alpha, beta",
        ),
        (
            listing("adaptiveMetadata-preview"),
            "unsupported_feature",
            "unsupported reader feature adaptiveMetadata-preview",
        ),
        (
            protocol(1, 7, ["mystery"], ["mystery"]),
            "unsupported_feature",
            "unsupported reader feature mystery",
        ),
        (
            listing("catalogManaged"),
            "catalog_managed",
            "catalog-managed table: cannot be read without its catalog",
        ),
        (
            listing("catalogOwned-preview"),
            "catalog_managed",
            "catalog-managed table: cannot be read without its catalog",
        ),
        (protocol(3, 7, None, []), "log_corrupt", "without a list of reader features"),
    ],
    ids=str,
)
def test_what_must_not_be_read_is_refused_by_name(refused, kind, text):
    (problem,) = validate_reader(refused)
    assert (problem.kind, text in problem.problem) == (kind, True)
    with pytest.raises(UnsupportedError) as caught:
        check_reader(refused, URI)
    assert caught.value.kind == kind
    assert text in caught.value.problem
    assert URI in caught.value.problem
    assert caught.value.reason
    assert caught.value.remedy


def test_all_obstacles_are_named_at_once():
    both = protocol(99, 7, ["mystery", "catalogManaged"], ["mystery", "catalogManaged"])
    assert [item.kind for item in validate_reader(both)] == [
        "unsupported_feature",
        "unsupported_feature",
        "catalog_managed",
    ]
    with pytest.raises(UnsupportedError) as caught:
        check_reader(both, URI)
    assert "version 99" in caught.value.problem
    assert "mystery" in caught.value.problem
    assert "catalog" in caught.value.problem


@pytest.mark.rule("action-protocol-unsupported-error", "newer-open-and-name")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("catalogManaged", ["Commits that only the catalog knows", "delta-spark 4.0.1 or newer"]),
        ("catalogOwned-preview", ["delta-spark 4.0.0 or newer"]),
        ("adaptiveMetadata", ["manifests", "Files would be missing", "the engine that wrote it"]),
        ("redirectReaderWriter-preview", ["left behind"]),
        ("mystery", ["mystery: not known here", "wrong rows", "the engine that wrote it"]),
    ],
)
def test_refusal_says_what_a_feature_would_change_and_who_can_read_it(name, words):
    (problem,) = validate_reader(listing("deletionVectors", name))
    told = f"{problem.reason} {problem.remedy}"
    assert [word for word in words if word not in told] == []
    assert "deletionVectors" not in told


def test_refusal_tells_the_known_from_the_unknown():
    (problem,) = validate_reader(listing("adaptiveMetadata", "alpha", "beta"))
    assert "adaptiveMetadata, alpha, beta" in problem.problem
    assert "alpha, beta: not known here" in problem.reason
    assert "adaptiveMetadata: The list of files" in problem.reason
