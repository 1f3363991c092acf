"""What may be forgotten at a time: tombstones and transactions that are past their retention."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.log.actions.columns import TIME
from explorer.log.checkpoint_content.expiry import (
    is_unexpired,
    tombstones_expire_at,
    unexpired_transactions,
)
from explorer.protocol.actions import Transaction

_NOW = datetime(2026, 11, 1, tzinfo=UTC)
_NOW_MS = 1_793_491_200_000
_WEEK_MS = 7 * 24 * 3600 * 1000
_DAY = {"delta.setTransactionRetentionDuration": "interval 1 day"}


def test_transactions_of_a_real_table_expire_as_the_manifest_says(corpus: Path) -> None:
    checked = 0
    for entry in json.loads((corpus / "manifest.json").read_text()):
        if "app_transactions_unexpired" not in entry:
            continue
        snapshot = explorer.open_table(corpus / "tables" / entry["name"]).snapshot()
        kept = unexpired_transactions(snapshot.transactions, snapshot.metadata.configuration, _NOW)
        assert {app: found.version for app, found in kept.items()} == entry[
            "app_transactions_unexpired"
        ]
        # the snapshot itself forgets none
        assert set(snapshot.transactions) == set(entry["app_transactions"])
        checked += 1
    assert checked


def test_transaction_expires_at_the_end_of_its_retention_and_not_before() -> None:
    day = 24 * 3600 * 1000
    held = {
        name: Transaction(app_id=name, version=1, last_updated=time)
        for name, time in {"at": _NOW_MS - day, "later": _NOW_MS - day + 1, "never": None}.items()
    }
    assert set(unexpired_transactions(held, _DAY, _NOW)) == {"later", "never"}
    assert unexpired_transactions(held, {}, _NOW) == held
    broken = {"delta.setTransactionRetentionDuration": "a while"}
    assert unexpired_transactions(held, broken, _NOW) == held


def _tombstones(*times: int | None) -> pa.Table:
    return pa.table({"deletion_timestamp": pa.array(times, pa.int64()).cast(TIME)})


def kept_of(tombstones: pa.Table, configuration: dict[str, str], now: datetime) -> list[int]:
    """When the files of those tombstones were deleted that are unexpired."""
    times = tombstones["deletion_timestamp"]
    kept = times.filter(is_unexpired(times, tombstones_expire_at(configuration, now)))
    found: list[int] = kept.cast(pa.int64()).to_pylist()
    return found


@pytest.mark.rule("file-tombstone-expiry", "log-vacuum-retention-default")
def test_tombstone_expires_after_a_week_unless_the_table_says_otherwise() -> None:
    found = _tombstones(_NOW_MS - _WEEK_MS, _NOW_MS - _WEEK_MS + 1, None, _NOW_MS + 5)
    assert kept_of(found, {}, _NOW) == [_NOW_MS - _WEEK_MS + 1, _NOW_MS + 5]
    longer = {"delta.deletedFileRetentionDuration": "interval 8 days"}
    assert len(kept_of(found, longer, _NOW)) == 3
    assert kept_of(_tombstones(), {}, _NOW) == []


@pytest.mark.rule("file-tombstone-expiry")
@pytest.mark.parametrize("text", ["interval 3 months", "90", ""])
def test_no_tombstone_expires_by_a_retention_that_cannot_be_read(text: str) -> None:
    found = _tombstones(1, _NOW_MS - _WEEK_MS)
    configuration = {"delta.deletedFileRetentionDuration": text}
    assert kept_of(found, configuration, _NOW) == [1, _NOW_MS - _WEEK_MS]


@pytest.mark.rule("file-tombstone-kept")
@pytest.mark.parametrize("name", ["spark44-log-compaction", "kernel-compacted-log-files-table"])
def test_snapshot_drops_no_tombstone_by_age(name: str, corpus: Path) -> None:
    snapshot = explorer.open_table(corpus / "tables" / name).snapshot()
    far = datetime(2100, 1, 1, tzinfo=UTC)
    tombstones = snapshot.tombstones()
    assert tombstones.num_rows > 0
    assert kept_of(tombstones, dict(snapshot.metadata.configuration), far) == []


@pytest.mark.slow
@pytest.mark.rule("file-tombstone-expiry")
@given(
    times=st.lists(st.one_of(st.none(), st.integers(-(2**62), 2**62))),
    now=st.datetimes(min_value=datetime(1, 1, 1)).map(lambda time: time.replace(tzinfo=UTC)),  # noqa: DTZ001  # the zone follows
    days=st.integers(0, 2_000_000),
)
def test_any_clock_divides_tombstones_in_two(
    times: list[int | None], now: datetime, days: int
) -> None:
    configuration = {"delta.deletedFileRetentionDuration": f"interval {days} days"}
    cut = tombstones_expire_at(configuration, now)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert cut == (now - epoch) // timedelta(milliseconds=1) - days * 24 * 3600 * 1000
    assert kept_of(_tombstones(*times), configuration, now) == [
        time for time in times if time is not None and time > cut
    ]
