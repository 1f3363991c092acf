"""Table properties: defaults, values, and what is malformed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from explorer.protocol.table_properties import known_properties as known
from explorer.protocol.table_properties.intervals import parse_interval
from explorer.protocol.table_properties.properties import (
    PROPERTIES,
    check_constraints,
    validate_properties,
)
from explorer.protocol.table_properties.table_property import TableProperty


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interval 30 days", timedelta(days=30)),
        ("interval 1 week", timedelta(weeks=1)),
        ("30 days", timedelta(days=30)),
        ("INTERVAL 2 Weeks", timedelta(weeks=2)),
        ("  interval   1 day  ", timedelta(days=1)),
        ("interval 1 day 12 hours 30 minutes", timedelta(days=1, hours=12, minutes=30)),
        ("1.5 seconds", timedelta(seconds=1.5)),
        ("interval 10 milliseconds 5 microseconds", timedelta(milliseconds=10, microseconds=5)),
        ("interval 2 days -1 hour", timedelta(days=2, hours=-1)),
        ("interval 0 hours", timedelta(0)),
        ("interval -1 days 24 hours", timedelta(0)),
    ],
)
def test_an_interval_is_read_as_the_reference_reads_it(text, expected):
    assert parse_interval(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("interval", "like"),
        ("interval ", "like"),
        ("30", "like"),
        ("days 30", "like"),
        ("interval '30' days", "like"),
        ("interval 30days", "like"),
        ("interval 1 month", "no fixed length"),
        ("interval 2 years", "no fixed length"),
        ("interval 3 fortnights", "not a unit"),
        ("interval 1.5 days", "fraction"),
        ("interval -1 day", "negative"),
        ("interval -1 microsecond", "negative"),
        ("interval 999999999999 weeks", "longer"),
        ("interval ٣ days", "like"),
    ],
)
def test_what_is_no_interval_is_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_interval(text)


def test_a_very_long_hostile_interval_is_refused_quickly():
    with pytest.raises(ValueError, match="like"):
        parse_interval("interval " + "1 " * 200_000)


@pytest.mark.parametrize("item", PROPERTIES.values(), ids=lambda item: item.name)
def test_every_default_can_be_read_and_every_entry_is_described(item):
    assert item.default is None or item.validate({item.name: item.default}) is None
    assert item.value_of({}) == (None if item.default is None else item.parse(item.default))
    assert item.description.endswith(".")
    assert item.name.startswith("delta.")


def test_no_known_property_is_left_out_of_the_registry():
    defined = [item for item in vars(known).values() if isinstance(item, TableProperty)]
    assert len(defined) == len(PROPERTIES)
    assert {item.name for item in defined} == set(PROPERTIES)


@pytest.mark.rule("checkpoint-stats-json", "log-vacuum-retention-default", "newer-property-codec")
@pytest.mark.rule("newer-property-format-version", "older-003-checkpoint-every-10")
@pytest.mark.parametrize(
    ("item", "default"),
    [
        (known.CHECKPOINT_INTERVAL, 10),
        (known.LOG_RETENTION, timedelta(days=30)),
        (known.DELETED_FILE_RETENTION, timedelta(weeks=1)),
        (known.TRANSACTION_RETENTION, None),
        (known.INDEXED_COLUMNS, 32),
        (known.CHECKPOINT_STATS_AS_JSON, True),
        (known.CHECKPOINT_STATS_AS_STRUCT, True),
        (known.COLUMN_MAPPING_MODE, "none"),
        (known.COMPRESSION, "zstd"),
        (known.PARQUET_VERSION, "1.0.0"),
        (known.APPEND_ONLY, False),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_the_defaults_are_those_of_specification_and_reference(item, default):
    assert item.value_of({}) == default


@pytest.mark.rule("mapping-mode-property")
@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (known.APPEND_ONLY, "TRUE", True),
        (known.COLUMN_MAPPING_MODE, "Name", "name"),
        (known.CHECKPOINT_INTERVAL, "2", 2),
        (known.INDEXED_COLUMNS, "-1", -1),
        (known.ISOLATION_LEVEL, "serializable", "Serializable"),
        (known.PARQUET_VERSION, "2.12.0", "2.12.0"),
        (known.COMPRESSION, "SNAPPY", "snappy"),
        (known.TRANSACTION_RETENTION, "interval 1 days", timedelta(days=1)),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_value_that_is_set_counts(item, text, expected):
    assert item.value_of({item.name: text}) == expected
    assert item.validate({item.name: text}) is None


@pytest.mark.rule("mapping-mode-property")
@pytest.mark.parametrize(
    ("item", "text"),
    [
        (known.APPEND_ONLY, "yes"),
        (known.APPEND_ONLY, ""),
        (known.CHECKPOINT_INTERVAL, "0"),
        (known.CHECKPOINT_INTERVAL, "1_000"),
        (known.CHECKPOINT_INTERVAL, "9" * 30),
        (known.INDEXED_COLUMNS, "-2"),
        (known.COLUMN_MAPPING_MODE, "ID-ish"),
        (known.LOG_RETENTION, "interval 1 month"),
        (known.PARQUET_VERSION, "3.0.0"),
        (known.CHECKPOINT_POLICY, "v3"),
    ],
    ids=lambda value: getattr(value, "name", str(value)[:20]),
)
def test_a_malformed_value_is_a_problem_and_the_default_counts(item, text):
    configuration = {item.name: text}
    assert item.value_of(configuration) == item.value_of({})
    (problem,) = validate_properties(configuration)
    assert item.name in problem.problem
    assert problem.reason
    assert problem.remedy


def test_an_older_name_counts_until_the_newer_one_is_set():
    old = {"delta.enableChangeDataCapture": "true"}
    assert known.CHANGE_DATA_FEED.value_of(old) is True
    assert known.CHANGE_DATA_FEED.value_of({**old, "delta.enableChangeDataFeed": "false"}) is False


@pytest.mark.rule("column-check-key")
def test_check_constraints_are_found_by_name():
    found = check_constraints({"delta.constraints.day sane": "d > 0", "delta.appendOnly": "true"})
    assert found == {"day sane": "d > 0"}
