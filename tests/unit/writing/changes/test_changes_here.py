"""Deletes and updates in this process, each held against a model of what it means: rows, row ids,
the feed, and what another reader finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

import explorer
from tests.changed_tables import (
    FORMS,
    changes,
    counted,
    expected,
    feed_of,
    ids_of,
    make_table,
    rows_of,
    run,
)
from tests.sampling import sample

CHANGES = changes()
CASES = sample([(form, name) for form in FORMS for name in CHANGES], 6, "changes here")


@pytest.mark.slow
@pytest.mark.rule("row-stable-id", "row-stable-commit-version", "cdf-files-pre-and-postimage")
@pytest.mark.rule("cdf-only-changed-data", "cdf-writer-must-produce")
@pytest.mark.parametrize(("form", "name"), CASES)
def test_rows_ids_and_feed_are_those_of_the_model(tmp_path: Path, form: str, name: str) -> None:
    place, change = tmp_path / "t", CHANGES[name]
    make_table(place, form)
    before = rows_of(place)
    ids = ids_of(place) if form in {"ids", "ids-vectors", "all"} else {}
    after, feed = expected(before, change)

    result = run(place, change, engine="local")

    assert counted(rows_of(place)) == counted(after)
    if not feed:
        assert result.version is None
        return
    assert result.version == 4
    matched = {row["key"] for row in feed}
    count = "numDeletedRows" if change.becomes is None else "numUpdatedRows"
    assert result.metrics[count] == len(matched)
    if "delta.enableChangeDataFeed" in FORMS[form][0]:
        assert counted(feed_of(place, 4)) == counted(feed)
    for key, (row_id, version) in (ids_of(place) if ids else {}).items():
        assert row_id == ids[key][0]
        assert version == (4 if key in matched else ids[key][1])
    _others_agree(place, form, len(after))


def _others_agree(place: Path, form: str, count: int) -> None:
    snapshot = explorer.open_table(place).snapshot()
    assert snapshot.num_rows == count
    assert not snapshot.problems
    if not FORMS[form][0].keys() & {"delta.enableDeletionVectors", "delta.columnMapping.mode"}:
        assert DeltaTable(str(place)).to_pyarrow_table().num_rows == count
