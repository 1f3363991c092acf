"""Rows of Arrow and pandas, written in this process and read back by ours and by a peer."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import explorer
from explorer import pipeline
from explorer.errors import ConflictError, DeltaError, InvalidArgumentError, UnsupportedError
from explorer.progress import Cancel
from explorer.protocol.filenames import render_commit_path
from explorer.storage.local import LocalStore
from tests.arrow_memory import counted_memory

ROWS = pa.table({"id": [1, 2, 3], "land": ["DE", "FR", "DE"], "price": [1.5, 2.5, float("nan")]})


def ours(place: Path, columns: list[str] | None = None) -> list[dict[str, Any]]:
    snapshot = explorer.open_table(place).snapshot()
    rows: list[dict[str, Any]] = explorer.read_rows(snapshot, columns=columns).to_pylist()
    return sorted(rows, key=str)


def ids(place: Path) -> list[int]:
    mine = sorted(row["id"] for row in ours(place, ["id"]))
    theirs = DeltaTable(str(place)).to_pyarrow_table(columns=["id"]).column("id").to_pylist()
    assert mine == sorted(theirs)
    return mine


def commits_of(place: Path) -> list[dict[str, list[dict[str, Any]]]]:
    """The actions of each commit, by their kind."""
    found = []
    for path in sorted((place / "_delta_log").glob("*.json")):
        commit: dict[str, list[dict[str, Any]]] = {}
        for line in path.read_bytes().splitlines():
            for kind, body in orjson.loads(line).items():
                commit.setdefault(kind, []).append(body)
        found.append(commit)
    return found


def data_files(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*.parquet") if path.parent.name != "_delta_log")


def test_a_table_is_created_by_the_first_write_and_grows_by_the_next(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    first = pipeline.write(ROWS, place)
    second = pipeline.write(ROWS, place)
    assert (first.version, second.version) == (0, 1)
    assert second.operation == "WRITE"
    assert second.metrics["numFiles"] == 1
    assert second.metrics["numOutputRows"] == 3
    assert second.metrics["numOutputBytes"] == sum(
        add["size"] for add in commits_of(place)[1]["add"]
    )
    assert ids(place) == [1, 1, 2, 2, 3, 3]
    info = commits_of(place)[1]["commitInfo"][0]
    assert info["isBlindAppend"] is True
    assert info["operationParameters"] == {"mode": "Append", "partitionBy": "[]"}


def test_every_kind_of_data_that_arrow_speaks_is_written(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place)
    pipeline.write(ROWS.to_batches()[0], place)
    pipeline.write(pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches()), place)
    pipeline.write(ROWS.to_pandas(), place)
    assert ids(place) == sorted([1, 2, 3] * 4)
    with pytest.raises(InvalidArgumentError, match="A dict cannot be written"):
        pipeline.write({"id": [1]}, place)
    mixed = pd.DataFrame({"id": [1, "x"], "land": ["a", "b"], "price": [1.0, 2.0]})
    with pytest.raises(InvalidArgumentError, match="several types"):
        pipeline.write(mixed, place)


def test_rows_of_any_number_are_held_in_small_parts_and_need_no_spark(tmp_path: Path) -> None:
    """However many there are, and however large the batches in which they come."""
    place, count, text = tmp_path / "t", 600_000, "x" * 200
    numbers = pa.array(np.zeros(count, np.int8))
    batch = pa.record_batch({"text": pa.DictionaryArray.from_arrays(numbers, [text])})
    pipeline.create(place, "text STRING")
    for data in (batch, pa.RecordBatchReader.from_batches(batch.schema, [batch] * 2)):
        with counted_memory() as pool:
            result = pipeline.write(data, place, engine="auto", target_file_size=2**20)
        assert pool.max_memory() < count * len(text) / 2
    assert result.metrics["numOutputRows"] == 2 * count


def test_an_overwrite_leaves_the_new_rows_and_the_old_versions(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place)
    result = pipeline.write(ROWS.slice(0, 1), place, mode="overwrite")
    assert ids(place) == [1]
    assert result.metrics["numRemovedFiles"] == 1
    assert explorer.open_table(place).snapshot(version=0).num_rows == 3


def test_a_table_without_rows_is_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS.slice(0, 0), place)
    pipeline.write(ROWS, place, mode="overwrite")
    assert ids(place) == [1, 2, 3]


def test_where_there_are_no_rows_no_cast_of_one_needs_spark(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.create(place, "id BIGINT, land STRING")
    empty = pd.DataFrame({"id": [], "land": []})  # columns of double to pandas
    result = pipeline.write(empty, place, mode="overwrite", engine="local")
    assert (result.version, ids(place)) == (1, [])
    rows = pa.table({"id": [1.5], "land": [2.5]})
    with pytest.raises(UnsupportedError, match="cannot be written in this process"):
        pipeline.write(rows, place, engine="local")


def test_the_modes_error_and_ignore_leave_a_table_that_is_there(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    assert pipeline.write(ROWS, place, mode="error").version == 0
    with pytest.raises(InvalidArgumentError, match="There is a table") as error:
        pipeline.write(ROWS, place, mode="error")
    assert error.value.kind == "already_exists"
    assert pipeline.write(ROWS, place, mode="ignore").version is None
    assert explorer.open_table(place).latest_version() == 0


def test_a_dynamic_overwrite_replaces_the_partitions_that_come(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place, partition_by="land")
    new = pa.table({"id": [9], "land": ["DE"], "price": [0.0]})
    pipeline.write(new, place, mode="overwrite", partition_overwrite="dynamic")
    assert ids(place) == [2, 9]


def test_replace_where_takes_a_partition_and_refuses_rows_outside_of_it(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place, partition_by="land")
    new = pa.table({"id": [9], "land": ["DE"], "price": [0.0]})
    before = data_files(place)
    with pytest.raises(InvalidArgumentError, match="replace_where") as error:
        pipeline.write(new, place, mode="overwrite", replace_where="land = 'FR'")
    assert error.value.kind == "rows_refused"
    assert data_files(place) == before
    pipeline.write(new, place, mode="overwrite", replace_where="land = 'DE'")
    assert ids(place) == [2, 9]
    assert (
        commits_of(place)[1]["commitInfo"][0]["operationParameters"]["predicate"] == "land = 'DE'"
    )
    pipeline.write(new, place, mode="overwrite", replace_where="id > 3")
    assert ids(place) == [2, 9]


def test_an_empty_text_of_a_partition_is_a_null_to_every_rule(tmp_path: Path) -> None:
    """As in Delta Spark: the log has the same text for both."""
    place = tmp_path / "orders"
    columns = "id BIGINT, land STRING, sign BINARY, code STRING NOT NULL"
    known = {"delta.constraints.known": "land <> 'x'"}
    pipeline.create(place, columns, partition_by=["land", "sign", "code"], properties=known)

    def rows(land: str, code: str) -> pa.Table:
        return pa.table({"id": [1], "land": [land], "sign": [b""], "code": [code]})

    for given in (rows("", "c"), rows("DE", "")):
        with pytest.raises(InvalidArgumentError) as refused:
            pipeline.write(given, place)
        assert refused.value.kind == "rows_refused"
    assert data_files(place) == []
    pipeline.write(rows("DE", "c"), place)
    assert ours(place) == [{"id": 1, "land": "DE", "sign": None, "code": "c"}]


def test_a_transaction_is_written_once(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    assert pipeline.write(ROWS, place, transaction=("load", 7)).version == 0
    again = pipeline.write(ROWS, place, transaction=("load", 7))
    older = pipeline.write(ROWS, place, transaction=("load", 6))
    assert (again.version, again.is_repeated, older.is_repeated) == (None, True, True)
    assert pipeline.write(ROWS, place, transaction=("load", 8)).version == 1
    assert explorer.open_table(place).snapshot().transactions["load"].version == 8


def test_columns_that_do_not_fit_are_refused_and_new_ones_come_with_merge_schema(
    tmp_path: Path,
) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place)
    wider = ROWS.append_column("note", pa.array(["a", None, "c"]))
    before = data_files(place)
    with pytest.raises(InvalidArgumentError, match="note") as error:
        pipeline.write(wider, place)
    assert error.value.kind == "schema_mismatch"
    assert data_files(place) == before
    pipeline.write(wider, place, merge_schema=True)
    assert [row["note"] for row in ours(place, ["id", "note"])].count(None) == 4
    assert ids(place) == [1, 1, 2, 2, 3, 3]


def test_overwrite_schema_replaces_columns_and_partitioning(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place)
    other = pa.table({"id": ["x"], "day": ["2026-01-01"]})
    pipeline.write(other, place, mode="overwrite", overwrite_schema=True, partition_by=("day",))
    snapshot = explorer.open_table(place).snapshot()
    assert snapshot.metadata.partition_columns == ("day",)
    assert ours(place) == [{"id": "x", "day": "2026-01-01"}]


def test_user_metadata_and_name_stand_in_the_history(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place, user_metadata="nightly", user_name="ana")
    info = commits_of(place)[0]["commitInfo"][0]
    assert (info["userMetadata"], info["userName"]) == ("nightly", "ana")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": "upsert"}, "no mode"),
        ({"replace_where": "id > 1"}, "needs the mode overwrite"),
        ({"overwrite_schema": True}, "needs the mode overwrite"),
        ({"partition_overwrite": "sometimes", "mode": "overwrite"}, "cannot be overwritten"),
        ({"transaction": ("", 1)}, "application id"),
        ({"transaction": ("x", 2**63)}, "application id"),
        ({"target_file_size": 10}, "too small"),
        ({"engine": "duck"}, "no engine"),
        ({"partition_by": ("land",), "cluster_by": ("id",)}, "partitioned or clustered"),
        ({"properties": {"delta.apendOnly": "true"}}, "delta.appendOnly"),
        ({"partition_by": ("nothing",)}, "nothing"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_before_a_file_is_written(
    tmp_path: Path, options: dict[str, Any], match: str
) -> None:
    place = tmp_path / "orders"
    with pytest.raises(InvalidArgumentError, match=match):
        pipeline.write(ROWS, place, **options)
    assert not place.exists() or not list(place.rglob("*"))


def test_an_append_only_table_takes_rows_and_no_overwrite(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place, properties={"delta.appendOnly": "true"})
    pipeline.write(ROWS, place)
    before = data_files(place)
    with pytest.raises(UnsupportedError):
        pipeline.write(ROWS, place, mode="overwrite")
    assert data_files(place) == before


def test_a_cancelled_write_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place)
    before = data_files(place)
    cancel = Cancel()

    def look_on(progress: Any) -> None:
        if progress.done:
            cancel.cancel()

    many = pa.Table.from_batches([batch for _ in range(5) for batch in ROWS.to_batches()])
    with pytest.raises(DeltaError) as error:
        pipeline.write(many, place, progress=look_on, cancel=cancel)
    assert error.value.kind == "cancelled"
    assert data_files(place) == before
    assert explorer.open_table(place).latest_version() == 0


def test_a_peer_goes_on_writing_and_ours_goes_on_after_it(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(ROWS, place, partition_by="land")
    write_deltalake(str(place), ROWS, mode="append")
    pipeline.write(ROWS, place)
    assert ids(place) == sorted([1, 2, 3] * 3)
    DeltaTable(str(place)).optimize.compact()
    pipeline.write(ROWS, place, mode="overwrite")
    assert ids(place) == [1, 2, 3]


def test_the_due_checkpoint_and_every_checksum_are_written(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    for _ in range(12):
        result = pipeline.write(ROWS, place)
        assert result.problems == ()
    log = place / "_delta_log"
    assert (log / f"{10:020}.checkpoint.parquet").exists()
    assert len(list(log.glob("*.crc"))) == 12
    assert explorer.open_table(place).snapshot().segment.checkpoint is not None


def test_a_checkpoint_that_fails_leaves_the_write_committed_and_is_told(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    for _ in range(10):
        pipeline.write(ROWS, place)
    (place / "_delta_log" / f"{10:020}.checkpoint.parquet").mkdir()
    result = pipeline.write(ROWS, place)
    assert result.version == 10
    assert "no checkpoint" in result.problems[0].problem
    assert ids(place) == sorted([1, 2, 3] * 11)


def test_an_open_table_is_read_on_from_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    for number in range(3):
        pipeline.write(pa.table({"id": [number]}), place)
    table = explorer.open_table(place)
    table.snapshot()
    read: list[str] = []
    real = LocalStore.read

    def counted(store: LocalStore, path: str, limit: int | None = None) -> bytes:
        read.append(path)
        return real(store, path, limit)

    monkeypatch.setattr(LocalStore, "read", counted)
    for number in range(3, 5):
        assert pipeline.write(pa.table({"id": [number]}), table).version == number
    assert not {render_commit_path(version) for version in range(3)} & set(read)
    assert (ids(place), table.snapshot().version) == ([0, 1, 2, 3, 4], 4)


def test_an_open_table_is_the_one_that_others_made_of_it(tmp_path: Path) -> None:
    place = tmp_path / "t"
    pipeline.write(pa.table({"id": [1]}), place)
    table = explorer.open_table(place)
    table.snapshot()
    write_deltalake(place, pa.table({"id": [2]}), mode="append")
    assert pipeline.write(pa.table({"id": [3]}), table).version == 2
    assert ids(place) == [1, 2, 3]

    shutil.rmtree(place)
    for other in ("x", "y", "z"):
        pipeline.write(pa.table({"other": [other]}), place)
    with pytest.raises(InvalidArgumentError) as caught:
        pipeline.write(pa.table({"id": [4]}), table)
    assert caught.value.kind == "schema_mismatch"
    assert pipeline.write(pa.table({"other": ["w"]}), table).version == 3


def test_an_empty_table_is_created_and_filled(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string())])
    created = pipeline.create(
        place, schema, properties={"delta.enableChangeDataFeed": "true"}, name="orders"
    )
    assert (created.version, created.operation) == (0, "CREATE TABLE")
    with pytest.raises(InvalidArgumentError, match="There is a table"):
        pipeline.create(place, schema)
    pipeline.write(pa.table({"id": [1]}), place)
    assert ours(place) == [{"id": 1, "note": None}]
    assert explorer.open_table(place).snapshot().metadata.name == "orders"
    with pytest.raises(InvalidArgumentError) as error:
        pipeline.write(pa.table({"id": pa.array([None], pa.int64())}), place)
    assert error.value.kind == "rows_refused"


def test_of_two_first_writers_one_creates_and_the_other_is_told(tmp_path: Path) -> None:
    place = tmp_path / "orders"

    def other(progress: Any) -> None:
        if progress.done and not (place / "_delta_log").exists():
            pipeline.write(pa.table({"other": [1]}), place)

    with pytest.raises(ConflictError):
        pipeline.write(
            pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches() * 2),
            place,
            progress=other,
        )
    assert len(data_files(place)) == 1


def test_a_partition_is_overwritten_however_its_value_was_written(tmp_path: Path) -> None:
    place = tmp_path / "times"
    kinds = {"at": pa.timestamp("us", "UTC"), "price": pa.decimal128(6, 2), "x": pa.float64()}
    times = [datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)]
    rows = pa.table(
        {
            "at": pa.array(times, kinds["at"]),
            "price": pa.array([Decimal("1.50"), Decimal(2)], kinds["price"]),
            "x": pa.array([1.0, 2.0], kinds["x"]),
            "id": [1, 2],
        }
    )
    write_deltalake(str(place), rows, partition_by=["at", "price", "x"])
    log = place / "_delta_log" / f"{0:020}.json"
    theirs = orjson.loads(
        next(line for line in log.read_bytes().splitlines() if line.startswith(b'{"add"'))
    )["add"]["partitionValues"]
    pipeline.write(
        rows.set_column(3, "id", pa.array([3, 4])).slice(0, 1),
        place,
        mode="overwrite",
        partition_overwrite="dynamic",
    )
    mine = commits_of(place)[1]["add"][0]["partitionValues"]
    assert theirs["at"] != mine["at"]  # else this would show nothing
    assert ids(place) == [2, 3]
