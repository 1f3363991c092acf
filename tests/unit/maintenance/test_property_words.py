"""A change of properties says in its first sentence what it sets, and what becomes impossible."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from explorer.maintenance import plan_set_properties
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake

HARMLESS = "nothing is lost"


def summary_of(
    scratch: Path,
    held: Mapping[str, str],
    wanted: Mapping[str, str],
    unset: tuple[str, ...] = (),
) -> str:
    lake = Lake(scratch)
    first = [FEATURE_PROTOCOL, metadata(configuration=dict(held)), lake.add("a")]
    lake.commit(0, first, age_days=9)
    return plan_set_properties(lake.table, wanted, unset, clock=lake.clock).summary


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("delta.appendOnly", "false", "true", "rows can no longer be deleted or updated"),
        ("delta.enableChangeDataFeed", "true", "false", "no longer be read as a change feed"),
        ("delta.enableChangeDataFeed", "true", None, "no longer be read as a change feed"),
        ("delta.enableChangeDataCapture", "true", None, "no longer be read as a change feed"),
        ("delta.enableInCommitTimestamps", "true", "false", "have the times of their files"),
        ("delta.rowTrackingSuspended", None, "true", "have no ids"),
        ("delta.enableTypeWidening", "true", "false", "can no longer be widened"),
        ("delta.enableIcebergCompatV2", "true", "false", "readable as Iceberg"),
        ("delta.enableExpiredLogCleanup", "false", "true", "past its retention"),
        (
            "delta.deletedFileRetentionDuration",
            None,
            "interval 2 days",
            "delete files 2 days after their removal",
        ),
        (
            "delta.deletedFileRetentionDuration",
            "interval 30 days",
            None,
            "delete files 7 days after their removal",
        ),
        ("delta.logRetentionDuration", None, "interval 1 hour", "feed older than 1 hour"),
        (
            "delta.setTransactionRetentionDuration",
            None,
            "interval 1 day",
            "writes nothing for 1 day is forgotten",
        ),
    ],
)
def test_sentence_says_what_becomes_impossible_and_the_way_back_is_harmless(
    tmp_path: Path, name: str, before: str | None, after: str | None, said: str
) -> None:
    sides = [{} if value is None else {name: value} for value in (before, after)]
    there = summary_of(tmp_path / "there", *sides, unset=() if after else (name,))
    assert said in there
    assert HARMLESS not in there
    back = summary_of(tmp_path / "back", sides[1], sides[0], unset=() if before else (name,))
    assert said not in back
    assert back.endswith(f"{HARMLESS}.")


def test_sentence_names_what_is_set_and_to_which_value(tmp_path: Path) -> None:
    held = {"owner": "me", "delta.checkpointInterval": "7"}
    wanted = {"delta.checkpointInterval": "20", "team": "x"}
    assert summary_of(tmp_path, held, wanted, ("owner",)) == (
        "Sets delta.checkpointInterval to '20', 'team' to 'x' and unsets 'owner': nothing is lost."
    )


JSON_OFF = {"delta.checkpoint.writeStatsAsJson": "false"}
STRUCT_OFF = {"delta.checkpoint.writeStatsAsStruct": "false"}


@pytest.mark.parametrize(
    ("held", "wanted", "unset", "goes"),
    [
        ({}, {**JSON_OFF, **STRUCT_OFF}, (), True),
        (STRUCT_OFF, JSON_OFF, (), True),
        (JSON_OFF, STRUCT_OFF, (), True),
        ({}, JSON_OFF, (), False),
        ({}, STRUCT_OFF, (), False),
        ({**JSON_OFF, **STRUCT_OFF}, {"owner": "me"}, (), False),
        ({**JSON_OFF, **STRUCT_OFF}, {}, tuple(STRUCT_OFF), False),
    ],
)
def test_statistics_that_no_checkpoint_keeps_any_more_are_told(
    tmp_path: Path,
    held: Mapping[str, str],
    wanted: Mapping[str, str],
    unset: tuple[str, ...],
    goes: bool,
) -> None:
    text = summary_of(tmp_path, held, wanted, unset)
    assert ("drops the statistics of every file" in text) is goes
    assert (HARMLESS in text) is (not goes)


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        ("iceberg", None, ["Iceberg"]),
        ("iceberg", "", ["Iceberg"]),
        ("Iceberg, hudi", "hudi", ["Iceberg"]),
        ("iceberg,hudi", "", ["Iceberg", "Hudi"]),
        ("iceberg, hudi", "hudi,iceberg", []),
        ("other", "", []),
    ],
)
def test_formats_that_are_no_longer_written_are_told(
    tmp_path: Path, before: str, after: str | None, gone: list[str]
) -> None:
    name = "delta.universalFormat.enabledFormats"
    wanted = {} if after is None else {name: after}
    text = summary_of(tmp_path, {name: before}, wanted, () if wanted else (name,))
    told = [each for each in ("Iceberg", "Hudi") if f"readers of {each} no longer see" in text]
    assert told == gone
    assert (HARMLESS in text) is (not gone)


def test_vectors_that_are_switched_off_stay_and_nothing_is_lost(tmp_path: Path) -> None:
    name = "delta.enableDeletionVectors"
    text = summary_of(tmp_path, {name: "true"}, {name: "false"})
    assert text.endswith(f"existing deletion vectors stay; {HARMLESS}.")


def test_hostile_names_and_values_are_quoted_and_cut(tmp_path: Path) -> None:
    name = "\x1b[2J<script>\n" + "n" * 10_000
    wanted = {name: "\x1b[31m\n" + "v" * 10_000, **{f"p{number}": "x" for number in range(50)}}
    text = summary_of(tmp_path, {}, wanted)
    assert len(text) < 500
    assert not set(text) & {"\x1b", "\n"}
    assert "and 47 others" in text


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("delta.deletedFileRetentionDuration", "any vacuum may delete files 90 days after"),
        ("delta.logRetentionDuration", "any log cleanup may delete"),
    ],
)
def test_a_retention_that_can_be_read_at_last_lets_things_go(
    tmp_path: Path, name: str, says: str
) -> None:
    held = {name: "interval 3 months"}
    assert says in summary_of(tmp_path / "set", held, {name: "interval 90 days"})
    assert HARMLESS in summary_of(tmp_path / "other", held, {"owner": "me"})
    assert HARMLESS not in summary_of(tmp_path / "unset", held, {}, (name,))
