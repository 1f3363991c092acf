"""Commits that say that they change no data."""

from __future__ import annotations

import pytest

from tests.unit.transaction.stages import (
    add,
    batch,
    features,
    metadata,
    remove,
    stage,
    texts,
    vector,
)
from tests.unit.transaction.stages import base as base_of

STATS = '{"numRecords":10,"tightBounds":false}'
TABLE = base_of(
    features("appendOnly", readers=["deletionVectors"]),
    metadata({"delta.appendOnly": "true", "delta.enableDeletionVectors": "true"}),
)


def _said(*actions: object) -> list[str]:
    return texts(stage(*actions, upon=TABLE, operation="OPTIMIZE"))  # type: ignore[arg-type]


def _goes(path: str = "r.parquet", **fields: object) -> object:
    return remove(path, data_change=False, **({"stats": STATS} | fields))


def _comes(path: str = "a.parquet", **fields: object) -> object:
    return add(path, data_change=False, **({"stats": STATS} | fields))


@pytest.mark.parametrize(
    ("actions", "lost"),
    [
        ([_goes()], 10),
        ([_goes(), _comes(stats='{"numRecords":3}')], 7),
        ([_goes(), _comes("r.parquet", deletion_vector=vector(5))], 5),
        ([_goes("r"), _goes("s"), _comes()], 10),
    ],
)
def test_rows_that_go_are_a_change_whatever_a_commit_says(actions: list, lost: int) -> None:
    assert _said(*actions) == [f"The commit says that it changes no data, but removes {lost} rows."]


@pytest.mark.parametrize(
    "actions",
    [
        [_goes(), _comes()],
        [_goes("r"), _goes("s"), _comes(stats='{"numRecords":20}')],
        [_goes(deletion_vector=vector(4)), _comes(stats='{"numRecords":6}')],
        [_comes()],
        [_goes(stats=None)],
        [_goes(), _comes(stats=None)],
    ],
    ids=["one for one", "two in one", "a purge", "again", "unknown", "unknown to be"],
)
def test_rows_that_are_rearranged_are_not(actions: list) -> None:
    assert _said(*actions) == []


def test_many_files_are_counted_as_columns() -> None:
    staged = stage(upon=TABLE, operation="OPTIMIZE")
    object.__setattr__(staged, "removes", (batch("remove", _goes("r"), _goes("s")),))
    object.__setattr__(staged, "adds", (batch("add", _comes()),))
    assert texts(staged) == ["The commit says that it changes no data, but removes 10 rows."]
