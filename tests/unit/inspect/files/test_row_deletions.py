"""Which files have a deletion vector, and which rows it hides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import explorer
import explorer.inspect as look
from explorer.errors import CorruptLogError, InvalidArgumentError, NotFoundError
from explorer.inspect.files.row_deletions import deletion_vectors, hidden_rows
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, vector

INLINE = render_descriptor(build_inline_descriptor([1, 2, 3, 7]))
STATS = '{"numRecords":8}'


def snapshot_of(tmp_path: Path, *actions: Any) -> explorer.Snapshot:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), *actions])
    return explorer.open_table(folder.root).snapshot()


def test_vectors_of_a_real_table(corpus: Path) -> None:
    snapshot = explorer.open_table(corpus / "tables/spark-table-with-dv-gigantic").snapshot()
    (row,) = deletion_vectors(snapshot).to_pylist()
    place = row.pop("vector_path")
    assert place.startswith("deletion_vector_")
    assert row == {
        "path": "part-00000-2bc940f0-dd3f-461d-8581-136026bf6f95-c000.snappy.parquet",
        "storage_type": "u",
        "offset": 1,
        "size_in_bytes": 4_557_136,
        "cardinality": 2_147_484,
        "num_records": 2_147_483_658,
        "fraction_deleted": 2_147_484 / 2_147_483_658,
        "problem": None,
    }
    with pytest.raises(NotFoundError, match="does not exist"):
        hidden_rows(snapshot, row["path"])


@pytest.mark.rule("dv-absolutepath-u", "dv-files-at-root")
def test_every_listed_vector_lies_where_it_is_said_to(corpus: Path) -> None:
    place = corpus / "tables/spark44-dv-random-prefix"
    frame = deletion_vectors(explorer.open_table(place).snapshot())
    assert frame.num_rows == 4
    for row in frame.to_pylist():
        size = (place / row["vector_path"]).stat().st_size
        assert row["offset"] + 4 + row["size_in_bytes"] + 4 <= size
        assert row["fraction_deleted"] == row["cardinality"] / row["num_records"]


@pytest.mark.rule("dv-storage-kinds")
@pytest.mark.parametrize(
    "table",
    ["spark44-dv-inline", "spark44-dv-random-prefix", "golden-dv-partitioned-with-checkpoint"],
)
def test_ranges_are_the_rows_that_the_peer_hides(corpus: Path, table: str) -> None:
    place = corpus / "tables" / table
    snapshot = explorer.open_table(place).snapshot()
    told = pa.table(DeltaTable(str(place)).deletion_vectors().read_all()).to_pylist()
    wanted = {
        row["filepath"].rpartition("/")[2]: {
            at for at, live in enumerate(row["selection_vector"]) if not live
        }
        for row in told
    }
    found = {}
    for row in deletion_vectors(snapshot).to_pylist():
        hidden = hidden_rows(snapshot, row["path"])
        ranges = hidden.ranges.to_pylist()
        assert hidden.cardinality == row["cardinality"] == sum(one["count"] for one in ranges)
        assert hidden.total == len(ranges)
        found[row["path"].rpartition("/")[2]] = {
            at for one in ranges for at in range(one["first"], one["last"] + 1)
        }
    assert found == wanted


def test_limit_leaves_the_first_ranges_and_the_number_of_all(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, add("a b", deletionVector=INLINE, stats=STATS))
    hidden = hidden_rows(snapshot, "a b", 1)
    assert hidden.ranges.to_pylist() == [{"first": 1, "last": 3, "count": 3}]
    assert (hidden.total, hidden.cardinality, hidden.num_records) == (2, 4, 8)


def test_file_is_found_as_it_stands_in_the_log_and_decoded(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, add("a%20b", deletionVector=INLINE))
    assert hidden_rows(snapshot, "a%20b").total == hidden_rows(snapshot, "a b").total == 2
    with pytest.raises(InvalidArgumentError, match="no file c in version 0"):
        hidden_rows(snapshot, "c")


def test_file_without_a_vector_hides_nothing(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, add("a", stats=STATS))
    assert deletion_vectors(snapshot).num_rows == 0
    hidden = hidden_rows(snapshot, "a")
    assert (hidden.total, hidden.cardinality, hidden.ranges.num_rows) == (0, 0, 0)


def test_file_that_is_live_twice_is_refused(tmp_path: Path) -> None:
    other = render_descriptor(build_inline_descriptor([5]))
    snapshot = snapshot_of(
        tmp_path, add("a", deletionVector=INLINE), add("a", deletionVector=other)
    )
    with pytest.raises(CorruptLogError, match="more than once"):
        hidden_rows(snapshot, "a")


def test_what_is_not_known_is_null_and_what_is_wrong_is_told(tmp_path: Path) -> None:
    snapshot = snapshot_of(
        tmp_path,
        add("a", deletionVector=INLINE),
        add("b", deletionVector=vector(storageType="q"), stats='{"numRecords":0}'),
        add("c", deletionVector=vector("x"), stats=STATS),
        add("d", deletionVector={"storageType": "u", "pathOrInlineDv": "x", "cardinality": 1}),
    )
    found = {row["path"]: row for row in deletion_vectors(snapshot).to_pylist()}
    unknown = [found["a"][name] for name in ("vector_path", "num_records", "fraction_deleted")]
    assert unknown == [None, None, None]
    assert (found["a"]["cardinality"], found["a"]["problem"]) == (4, None)
    assert "'q'" in found["b"]["problem"]
    assert found["b"]["fraction_deleted"] is None
    assert "holds no UUID" in found["c"]["problem"]
    assert "but not which" in found["d"]["problem"]


@pytest.mark.rule("dv-cardinality", "stats-live-rows")
@pytest.mark.parametrize(
    ("cardinality", "stats", "said"),
    [
        (-2, '{"numRecords":5}', "deletes -2 of 5 rows"),
        (9, '{"numRecords":5}', "deletes 9 of 5 rows"),
        (1, '{"numRecords":0}', "deletes 1 of 0 rows"),
        (-1, None, "deletes -1 rows"),
        (None, '{"numRecords":5}', "does not say how many"),
    ],
)
@pytest.mark.parametrize("is_stored", [False, True])
def test_number_of_hidden_rows_that_cannot_be_is_counted_as_unknown(
    tmp_path: Path, cardinality: int | None, stats: str | None, said: str, is_stored: bool
) -> None:
    folder = LogFolder(tmp_path / "table")
    files = [
        add("a", deletionVector=vector(cardinality=cardinality), stats=stats),
        add("b", deletionVector=vector(cardinality=5), stats='{"numRecords":5}'),
        add("c", deletionVector=vector(cardinality=3)),
    ]
    actions = [FEATURE_PROTOCOL, metadata(), *files]
    folder.commit(0, actions)
    if is_stored:
        folder.checkpoint(0, actions)
    table = explorer.open_table(folder.root)
    found = look.describe(table)
    unknown = [found[name] for name in ("num_rows", "num_deleted_rows")]
    assert (unknown, found["num_deletion_vectors"]) == ([None, None], 3)
    (problem,) = found["problems"]
    assert problem["problem"] == "The number of deleted rows of 1 deletion vector is impossible."
    assert (said in problem["reason"], "'a'" in problem["reason"]) == (True, True)
    rows = {row["path"]: row for row in deletion_vectors(table.snapshot()).to_pylist()}
    assert [rows[path]["fraction_deleted"] for path in "abc"] == [None, 1.0, None]
    assert rows["a"]["problem"] is not None


@pytest.mark.parametrize("cardinality", [0, 5])
def test_vector_may_hide_no_row_and_every_row(tmp_path: Path, cardinality: int) -> None:
    held = add("a", deletionVector=vector(cardinality=cardinality), stats='{"numRecords":5}')
    found = snapshot_of(tmp_path, held)
    assert (found.num_rows, found.num_deleted_rows) == (5 - cardinality, cardinality)
    assert found.problems == ()
