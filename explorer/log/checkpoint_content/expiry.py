"""What a writer may leave out because it is too old (spec: Checkpoints, Action
Reconciliation; table properties of the reference).

A reader shows all tombstones and all transactions; when they may go depends on the
clock, which comes in as a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import int64_scalar
from explorer.log.plain_arrays import FALSE
from explorer.protocol.actions import Transaction
from explorer.protocol.commit_json import render_milliseconds
from explorer.protocol.table_properties.known_properties import (
    DELETED_FILE_RETENTION,
    TRANSACTION_RETENTION,
)

Times = TypeVar("Times", pa.Array, pa.ChunkedArray)

# by way of an array: a plain value would make pyarrow import pandas
_BEFORE_ALL = -(2**62)


def tombstones_expire_at(configuration: Mapping[str, str], now: datetime) -> int:
    """The time, in milliseconds since the epoch, at or before which a file must have been
    deleted for its tombstone to be expired (`delta.deletedFileRetentionDuration`). Where that
    cannot be read, none is: what was to be kept for longer would be gone for good."""
    if DELETED_FILE_RETENTION.validate(configuration) is not None:
        return _BEFORE_ALL
    return _before(now, DELETED_FILE_RETENTION.value_of(configuration))


def is_unexpired(deletion_timestamps: Times, expire_at: int) -> Times:
    """Which tombstones are kept. One that does not say when its file was deleted counts,
    as in the reference, as deleted long ago."""
    times = pc.cast(deletion_timestamps, pa.int64())
    return pc.coalesce(pc.greater(times, int64_scalar(expire_at)), FALSE)


def unexpired_transactions(
    transactions: Mapping[str, Transaction], configuration: Mapping[str, str], now: datetime
) -> dict[str, Transaction]:
    """The transactions that are remembered (`delta.setTransactionRetentionDuration`): all
    without that property, and always those that do not say when they were updated."""
    retention = TRANSACTION_RETENTION.value_of(configuration)
    if retention is None:
        return dict(transactions)
    expire_at = _before(now, retention)
    return {
        app_id: found
        for app_id, found in transactions.items()
        if found.last_updated is None or found.last_updated > expire_at
    }


def _before(now: datetime, retention: timedelta) -> int:
    # not `now - retention`: that may be before the year 1
    return render_milliseconds(now) - retention // timedelta(milliseconds=1)
