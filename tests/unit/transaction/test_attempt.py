"""What is filled in when the version is known: times, row ids, commit versions."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from explorer.protocol.actions import Metadata, Transaction
from explorer.protocol.commit_json import render_action
from explorer.transaction.attempt import Attempt, build_attempt
from explorer.transaction.concurrent_commit import version_after
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.staged import Promises, StagedCommit
from tests.unit.transaction.stages import (
    METADATA,
    READ_AT,
    add,
    base,
    batch,
    features,
    metadata,
    remove,
    stage,
    texts,
    winner,
)

TIMES = features("inCommitTimestamp")
TIMED = metadata({"delta.enableInCommitTimestamps": "true"})
TRACKED = features("rowTracking", "domainMetadata")
NOW = 5_000


def lines(attempt: Attempt) -> list[dict]:
    return [orjson.loads(line) for line in b"".join(attempt).splitlines()]


def of(kind: str, attempt: Attempt) -> list[dict]:
    return [line[kind] for line in lines(attempt) if kind in line]


def mark(attempt: Attempt) -> int | None:
    domains = of("domainMetadata", attempt)
    if not domains:
        return None
    (body,) = domains
    assert body["domain"] == "delta.rowTracking"
    ((key, value),) = orjson.loads(body["configuration"]).items()
    assert key == "rowIdHighWaterMark"
    return int(value)


@pytest.mark.rule("newer-commit-timestamp-first-action")
def test_commit_info_comes_first_and_tells_who_did_what() -> None:
    staged = stage(add(), user_name="ann", metrics={"n": "1"}, tags={"t": "u"})
    first, *_ = lines(build_attempt(staged, NOW))
    assert first["commitInfo"] == {
        "timestamp": NOW,
        "userName": "ann",
        "operation": "WRITE",
        "operationParameters": {},
        "readVersion": READ_AT,
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {"n": "1"},
        "tags": {"t": "u"},
        "engineInfo": "test",
        "txnId": "mine",
    }


@pytest.mark.rule("newer-commit-timestamp-monotonic")
@pytest.mark.parametrize(("now", "expected"), [(500, 1_001), (1_000, 1_001), (5_000, 5_000)])
def test_in_commit_timestamp_is_later_than_the_one_before(now: int, expected: int) -> None:
    attempt = build_attempt(stage(add(), upon=base(TIMES, TIMED)), now)
    assert of("commitInfo", attempt)[0]["inCommitTimestamp"] == attempt.timestamp == expected


@pytest.mark.rule("newer-commit-timestamp-monotonic", "file-tombstone-expiry")
@pytest.mark.parametrize(
    ("now", "expected"), [(500, [1_001, 1_001, 2_000]), (1_500, [700, None, 2_000])]
)
def test_what_goes_at_a_time_ahead_of_this_clock_is_as_old_as_its_commit(
    now: int, expected: list[int | None]
) -> None:
    removes = [
        remove(name, deletion_timestamp=time)
        for name, time in (("a", 700), ("b", None), ("c", 2_000))
    ]
    few = stage(*removes, add(), upon=base(TIMES, TIMED))
    many = replace(stage(add(), upon=base(TIMES, TIMED)), removes=(batch("remove", *removes),))
    for staged in (few, many):
        attempt = build_attempt(staged, now)
        assert [body.get("deletionTimestamp") for body in of("remove", attempt)] == expected
        assert [body["path"] for body in of("remove", attempt)] == ["a", "b", "c"]
    # without times of their own commits go by this clock
    (plain,) = of("remove", build_attempt(stage(removes[0]), 500))
    assert plain["deletionTimestamp"] == 700


@pytest.mark.rule("newer-commit-timestamp-enablement-properties")
def test_timestamps_that_are_enabled_later_say_since_when() -> None:
    staged = stage(TIMES, TIMED)
    (body,) = of("metaData", build_attempt(staged, NOW))
    assert body["configuration"] == {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": str(READ_AT + 1),
        "delta.inCommitTimestampEnablementTimestamp": str(NOW),
    }


def test_the_version_since_when_follows_the_winners() -> None:
    staged = stage(TIMES, TIMED)
    staged = staged.upon(version_after(staged.base, winner(add("x")), 9_000))
    attempt = build_attempt(staged, NOW)
    (body,) = of("metaData", attempt)
    assert body["configuration"]["delta.inCommitTimestampEnablementVersion"] == str(READ_AT + 2)
    assert body["configuration"]["delta.inCommitTimestampEnablementTimestamp"] == "9001"
    assert of("commitInfo", attempt)[0]["inCommitTimestamp"] == 9_001
    assert of("commitInfo", attempt)[0]["readVersion"] == READ_AT


def test_a_feature_for_a_property_that_was_set_before_says_since_when_too() -> None:
    staged = stage(TIMES, upon=base(features("appendOnly"), TIMED))
    (body,) = of("metaData", build_attempt(staged, NOW))
    assert body["configuration"]["delta.inCommitTimestampEnablementVersion"] == str(READ_AT + 1)


def test_a_new_table_need_not_say_since_when() -> None:
    attempt = build_attempt(stage(TIMES, TIMED, upon=NO_TABLE), NOW)
    assert of("metaData", attempt)[0]["configuration"] == TIMED.configuration
    assert of("commitInfo", attempt)[0]["inCommitTimestamp"] == NOW
    assert "readVersion" not in of("commitInfo", attempt)[0]


@pytest.mark.rule(
    "row-write-unique-fresh",
    "row-write-set-base",
    "row-write-base-above-high-water-mark",
    "row-write-fresh-commit-version",
    "row-write-track-high-water-mark",
    "older-001-row-base-above-high-water-mark",
)
@pytest.mark.rule("row-write-default-commit-version", "row-write-high-water-mark-domain")
@pytest.mark.rule("row-write-high-water-mark-include", "row-high-water-mark-spellings")
@pytest.mark.rule("row-supported")
@pytest.mark.parametrize(("before", "first"), [(None, 0), (99, 100)])
def test_new_files_get_row_ids_above_the_mark(before: int | None, first: int) -> None:
    read = base(TRACKED, row_id_high_water_mark=before)
    staged = stage(add("a"), add("b"), upon=read)
    staged = replace(staged, adds=(batch("add", add("c"), add("d")), batch("add", add("e"))))
    attempt = build_attempt(staged, NOW)
    ids = {body["path"]: body["baseRowId"] for body in of("add", attempt)}
    assert ids == {name: first + 10 * at for at, name in enumerate("abcde")}
    assert {body["defaultRowCommitVersion"] for body in of("add", attempt)} == {READ_AT + 1}
    assert mark(attempt) == first + 49


@pytest.mark.rule("row-write-recommit-base", "row-write-recommit-commit-version")
def test_a_file_that_comes_with_row_ids_keeps_them() -> None:
    known = add("a", base_row_id=7, default_row_commit_version=2)
    staged = stage(known, upon=base(TRACKED, row_id_high_water_mark=99))
    staged = replace(staged, adds=(batch("add", known, add("b")),))
    attempt = build_attempt(staged, NOW)
    assert [body["baseRowId"] for body in of("add", attempt)] == [7, 7, 100]
    assert [body["defaultRowCommitVersion"] for body in of("add", attempt)] == [2, 2, READ_AT + 1]
    assert mark(attempt) == 109


@pytest.mark.rule("older-001-row-high-water-mark-whenever")
def test_the_mark_is_written_in_its_domain_and_as_no_action_of_its_own() -> None:
    staged = stage(add("a"), upon=base(TRACKED, row_id_high_water_mark=9))
    kinds = [kind for line in lines(build_attempt(staged, NOW)) for kind in line]
    assert kinds == ["commitInfo", "domainMetadata", "add"]


def test_without_new_rows_the_mark_stays() -> None:
    staged = stage(remove(), upon=base(TRACKED, row_id_high_water_mark=99))
    assert mark(build_attempt(staged, NOW)) is None
    assert mark(build_attempt(stage(remove(), upon=base(TRACKED)), NOW)) is None


@pytest.mark.rule("row-write-no-duplicates", "row-write-high-water-mark-at-least")
@pytest.mark.rule("older-001-row-high-water-mark-at-least")
def test_row_ids_are_given_anew_above_the_winners_mark() -> None:
    staged = stage(add("a"), upon=base(TRACKED, row_id_high_water_mark=9))
    domain = {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":29}'}
    won = winner({"domainMetadata": domain | {"removed": False}}, add("x"), add("y"))
    attempt = build_attempt(staged.upon(version_after(staged.base, won, None)), NOW)
    assert [body["baseRowId"] for body in of("add", attempt)] == [30]
    assert [body["defaultRowCommitVersion"] for body in of("add", attempt)] == [READ_AT + 2]
    assert mark(attempt) == 39


@pytest.mark.rule("row-supported")
@pytest.mark.parametrize(
    ("protocol", "properties"),
    [
        (features("domainMetadata"), {}),
        (TRACKED, {"delta.rowTrackingSuspended": "true"}),
    ],
    ids=["not supported", "suspended"],
)
def test_no_row_ids_where_none_are_given_out(protocol, properties: dict) -> None:
    attempt = build_attempt(stage(add(), upon=base(protocol, metadata(properties))), NOW)
    assert "baseRowId" not in of("add", attempt)[0]
    assert mark(attempt) is None


@pytest.mark.parametrize("in_batches", [False, True], ids=["actions", "batches"])
def test_a_file_comes_back_without_its_row_ids_while_row_tracking_is_suspended(
    *, in_batches: bool
) -> None:
    """Nobody but the commit can take them from it: it is one that a restore brings back."""
    had = {"base_row_id": 1, "default_row_commit_version": 1}
    files = [add("held", **had), add("other")]
    read = base(TRACKED, metadata({"delta.rowTrackingSuspended": "true"}), row_id_high_water_mark=9)
    staged = stage(*([] if in_batches else files), remove("r", **had), upon=read)
    staged = replace(staged, adds=(batch("add", *files),) if in_batches else ())
    assert texts(staged) == []
    attempt = build_attempt(staged, NOW)
    assert [body["path"] for body in of("add", attempt)] == ["held", "other"]
    for body in of("add", attempt):
        assert not {"baseRowId", "defaultRowCommitVersion"} & body.keys()
    (gone,) = of("remove", attempt)
    assert (gone["baseRowId"], gone["defaultRowCommitVersion"]) == (1, 1)
    assert mark(attempt) is None


def test_small_actions_stay_in_their_order_before_files_in_batches() -> None:
    txn = Transaction(app_id="a", version=1)
    staged = replace(stage(txn, METADATA), removes=(batch("remove", remove()),))
    kinds = [next(iter(line)) for line in lines(build_attempt(staged, NOW))]
    assert kinds == ["commitInfo", "txn", "metaData", "remove"]


def test_an_attempt_knows_its_own_bytes() -> None:
    staged = replace(stage(add()), adds=(batch("add", add("b"), add("c")),))
    attempt = build_attempt(staged, NOW)
    data = b"".join(attempt)
    assert attempt.is_content_of(data)
    assert b"".join(attempt) == data  # it may be gone through again
    for other in (data[:-1], data + b"\n", data.replace(b"c", b"d"), b""):
        assert not attempt.is_content_of(other)


def test_protection_of_checkpoints_reaches_up_to_the_commit_that_drops_a_feature() -> None:
    protocol = features("checkpointProtection")
    name = "delta.requireCheckpointProtectionBeforeVersion"
    dropping = Promises(dropped_features=frozenset({"deletionVectors"}))
    staged = stage(metadata({name: str(READ_AT + 1)}), upon=base(protocol), promises=dropping)
    staged = staged.upon(version_after(staged.base, winner(add("x")), None))
    (body,) = of("metaData", build_attempt(staged, NOW))
    assert body["configuration"][name] == str(READ_AT + 2)


def test_actions_of_a_kind_are_found() -> None:
    staged: StagedCommit = stage(METADATA, add())
    assert staged.of(Metadata) == [METADATA]
    assert render_action(METADATA) in lines(build_attempt(staged, NOW))
