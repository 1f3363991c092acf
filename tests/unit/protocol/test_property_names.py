"""Names under which properties of Delta are set."""

from __future__ import annotations

import pytest

from explorer.protocol.table_properties.properties import PROPERTIES
from explorer.protocol.table_properties.property_names import (
    KEPT_BY_WRITERS,
    known_name,
    nearest_name,
)


def test_every_property_is_known_in_any_letters():
    for item in PROPERTIES.values():
        for name in (item.name, *item.aliases):
            assert known_name(name.upper()) == name
            assert nearest_name(name[:-1]) is not None


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("delta.enablChangeDataFeed", "delta.enableChangeDataFeed"),
        ("enableChangeDataFeed", "delta.enableChangeDataFeed"),
        ("DELTA.APPENDONLI", "delta.appendOnly"),
        ("delta.logRetention", "delta.logRetentionDuration"),
        ("colour", None),
        ("", None),
        ("x" * 100_000, None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_nearest_name_is_found_where_one_is_like_it(name, near):
    assert nearest_name(name) == near
    assert known_name(name) is None


def test_others_may_be_meant_too():
    assert nearest_name("delta.feature.rowTraking", ["delta.feature.rowTracking"]) == (
        "delta.feature.rowTracking"
    )


def test_what_writers_keep_is_known():
    assert set(PROPERTIES) >= KEPT_BY_WRITERS
