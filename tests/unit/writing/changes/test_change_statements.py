"""What holds of deletes and updates whatever they find: other writers, rules, options, files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import ConflictError, DeltaError, InvalidArgumentError, UnsupportedError
from explorer.pipeline.changing import delete as deletes
from explorer.pipeline.changing import update as updates
from explorer.progress import Cancel, Progress
from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor
from explorer.writing.changes import hidden_rows
from explorer.writing.statements.change_statement import ChangeStatement
from tests.changed_tables import FORMS, make_table, rows_from, rows_of

ROWS = pa.table({"id": list(range(10)), "v": [1.5, None] * 5})


def _racing(monkeypatch: pytest.MonkeyPatch, *others: Callable[[], object]) -> list[int]:
    """Before each commit of a statement of ours another writer commits, once for each of
    `others`."""
    left, tries = list(others), [0]
    commit = ChangeStatement.commit

    def late(self: ChangeStatement, *args: object, **options: object) -> object:
        tries[0] += 1
        if left:
            other = left.pop(0)
            monkeypatch.setattr(ChangeStatement, "commit", commit)
            other()
            monkeypatch.setattr(ChangeStatement, "commit", late)
        return commit(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(ChangeStatement, "commit", late)
    return tries


def _data_files(place: Path) -> set[str]:
    return {path.name for path in place.rglob("*") if path.suffix in {".parquet", ".bin"}}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["plain", "all"])
@pytest.mark.parametrize("mine", ["delete", "update"])
def test_a_statement_that_lost_runs_again_on_the_newer_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, mine: str
) -> None:
    place = tmp_path / "t"
    make_table(place, form)
    told: list[Progress] = []
    tries = _racing(
        monkeypatch,
        lambda: pipeline.delete(place, "key = 4"),
        lambda: pipeline.write(rows_from(36, 12), place),
    )
    if mine == "delete":
        result = pipeline.delete(place, "n = 2 OR key = 4", progress=told.append)
    else:
        result = pipeline.update(place, {"n": "77"}, "n = 2 OR key = 4", progress=told.append)
    assert tries[0] == 3 if form == "plain" else tries[0] >= 2
    assert result.version == 6
    again = [step.label for step in told if step.label.startswith("Running again")]
    assert again
    assert "version 4" in again[0]
    found = rows_of(place)
    assert 4 not in {row["key"] for row in found}
    # rows that came meanwhile are of the newer version
    assert not [row for row in found if row["n"] == 2]
    count = [row for row in found if row["n"] == 77]
    twos = [row for row in rows_from(0, 48).to_pylist() if row["n"] == 2 and row["key"] != 4]
    assert len(count) == (0 if mine == "delete" else len(twos))


def test_who_loses_again_and_again_gets_the_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    make_table(place, "vectors")
    tries = _racing(
        monkeypatch,
        *(lambda key=key: pipeline.delete(place, f"key = {key}") for key in (12, 13, 14, 15, 16)),
    )
    before = _data_files(place)
    with pytest.raises(ConflictError) as caught:
        pipeline.update(place, {"n": "0"}, "key >= 12 AND key < 24")
    assert "DELETE" in caught.value.problem
    assert tries[0] == 4
    assert {row["n"] for row in rows_of(place)} != {0}
    assert _data_files(place) == before, "what was written in vain is gone"


def test_an_append_of_rows_that_do_not_match_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    make_table(place, "vectors")
    tries = _racing(monkeypatch, lambda: pipeline.write(rows_from(100, 3), place))
    assert pipeline.delete(place, "key < 5").version == 5
    assert tries[0] == 1


def test_an_optimize_in_between_is_told_or_followed_by_another_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    make_table(place, "ids-vectors")
    tries = _racing(monkeypatch, lambda: pipeline.update(place, {"n": "9"}, "key = 30"))
    assert pipeline.delete(place, "key IN (1, 30)").version == 5
    assert tries[0] == 2
    assert not {1, 30} & {row["key"] for row in rows_of(place)}


def test_a_transaction_is_carried_out_once(tmp_path: Path) -> None:
    place = tmp_path / "t"
    make_table(place, "vectors")
    once = ("nightly", 7)
    assert pipeline.delete(place, "key = 1", transaction=once).version == 4
    again = pipeline.delete(place, "key = 2", transaction=once)
    assert (again.version, again.is_repeated) == (None, True)
    assert pipeline.update(place, {"n": "1"}, transaction=("nightly", 6)).is_repeated
    assert len(rows_of(place)) == 35


def test_append_only_refuses_before_rows_are_read(tmp_path: Path) -> None:
    place = tmp_path / "t"
    pipeline.write(ROWS, place, properties={"delta.appendOnly": "true"})
    for path in place.glob("*.parquet"):
        path.unlink()
    for run in (
        lambda: pipeline.delete(place),
        lambda: pipeline.delete(place, "id = 3"),
        lambda: pipeline.update(place, {"v": "1"}, "id = 3"),
    ):
        with pytest.raises(UnsupportedError) as caught:
            run()
        assert "append" in str(caught.value)


def test_whole_files_and_partitions_go_without_a_row_read(tmp_path: Path) -> None:
    place = tmp_path / "t"
    make_table(place, "partitioned")
    for path in place.rglob("*.parquet"):
        if path.parent.name != "_delta_log":
            path.unlink()
    result = pipeline.delete(place, "land = 'DE' OR (key >= 12 AND key < 24)")
    assert result.metrics["numDeletedRows"] == 18
    assert pipeline.delete(place).metrics["numDeletedRows"] == 18
    assert explorer.open_table(place).snapshot().num_files == 0


CHECKED = {"delta.constraints.small": "v < 10"}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"v": "v * 100"}, "rows_refused"),
        ({"v": "NULL"}, "rows_refused"),
        ({"id": "NULL"}, "rows_refused"),
        ({"id": "id + 9223372036854775807"}, "rows_refused"),
        ({"id": "1.5"}, "rows_refused"),
        ({"c": "'long'"}, "rows_refused"),
        ({"id": "TRUE"}, "schema_mismatch"),
        ({"nobody": "1"}, "invalid_argument"),
        ({"id": "1", "ID": "2"}, "invalid_argument"),
        ({"id": "(SELECT 1)"}, "invalid_argument"),
        ({"id": 1}, "invalid_argument"),
        ({}, "invalid_argument"),
    ],
    ids=str,
)
def test_an_update_keeps_the_rules_of_the_table(
    tmp_path: Path, values: dict[str, str], kind: str
) -> None:
    place = tmp_path / "t"
    pipeline.create(place, "id BIGINT NOT NULL, v DOUBLE, c VARCHAR(3)", properties={**CHECKED})
    pipeline.write(pa.table({"id": [1, 2], "v": [1.0, 2.0], "c": ["a", "b"]}), place)
    before = _data_files(place)
    with pytest.raises(InvalidArgumentError) as caught:
        pipeline.update(place, values, "id > 0")
    assert caught.value.kind == kind
    assert _data_files(place) == before
    assert explorer.open_table(place).latest_version() == 1


@pytest.mark.rule("column-default-keyword", "column-default-writes-use")
def test_generated_columns_are_computed_and_defaults_set(tmp_path: Path) -> None:
    place = tmp_path / "t"
    pipeline.create(
        place,
        "id BIGINT, d INT DEFAULT 42, g BIGINT GENERATED ALWAYS AS (id * 2), "
        "n BIGINT GENERATED ALWAYS AS IDENTITY",
        properties={"delta.feature.allowColumnDefaults": "supported"},
    )
    pipeline.write(pa.table({"id": [1, 2], "d": pa.array([1, 2], pa.int32())}), place)
    pipeline.write(pa.table({"id": [3]}), place)
    pipeline.update(place, {"id": "id + 10", "d": "DEFAULT"}, "id = 2")
    found = explorer.read_rows(explorer.open_table(place).snapshot()).to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 1, "d": 1, "g": 2, "n": 1},
        {"id": 3, "d": 42, "g": 6, "n": 3},
        {"id": 12, "d": 42, "g": 24, "n": 2},
    ]
    with pytest.raises(UnsupportedError, match="identity"):
        pipeline.update(place, {"n": "7"})


def test_many_vectors_share_files_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    pipeline.create(
        place, pa.schema([("id", pa.int64())]), properties={"delta.enableDeletionVectors": "true"}
    )
    for start in range(6):
        pipeline.write(pa.table({"id": range(start * 1000, start * 1000 + 1000)}), place)
    monkeypatch.setattr(hidden_rows, "_FILE_BYTES", 150)
    monkeypatch.setattr(hidden_rows, "_INLINE_BYTES", 100)
    where = " OR ".join(f"id = {number}" for number in range(0, 6000, 100))
    assert pipeline.delete(place, where).metrics["numDeletionVectorsAdded"] == 6
    files = [*place.glob("deletion_vector_*.bin")]
    assert 1 < len(files) < 6
    assert all(path.stat().st_size < 250 for path in files)
    assert explorer.read_rows(explorer.open_table(place).snapshot()).num_rows == 5940


def test_few_vectors_stand_in_the_log_and_are_added_to(tmp_path: Path) -> None:
    place = tmp_path / "t"
    make_table(place, "vectors")
    for key in (3, 5):
        pipeline.delete(place, f"key = {key}")
    assert not [*place.rglob("*.bin")]
    vectors = explorer.open_table(place).snapshot().files(["deletion_vector"]).column(0)
    (vector,) = [item for item in vectors.to_pylist() if item is not None]
    assert (vector["storage_type"], vector["cardinality"]) == ("i", 2)
    assert DeletionVectorDescriptor(**vector).offset is None


@pytest.mark.parametrize("form", sorted({"plain", "feed"} & FORMS.keys()))
def test_nothing_is_left_of_a_statement_that_is_cancelled(tmp_path: Path, form: str) -> None:
    place = tmp_path / "t"
    make_table(place, form)
    before = _data_files(place)
    cancel, seen = Cancel(), []

    def look(step: Progress) -> None:
        seen.append(step.label)
        if step.label in {"Copying the rows that stay", "Writing change data"}:
            cancel.cancel()

    with pytest.raises(DeltaError) as caught:
        pipeline.delete(place, "key IN (1, 20)", progress=look, cancel=cancel)
    assert caught.value.kind == "cancelled"
    assert seen
    assert _data_files(place) == before


@pytest.mark.rule("cdf-path", "cdf-size", "cdf-partitionvalues")
@pytest.mark.rule("cdf-files-partition-dirs-recommended")
def test_files_of_changes_are_told_as_they_lie(tmp_path: Path) -> None:
    place = tmp_path / "t"
    make_table(place, "feed-partitioned")
    pipeline.update(place, {"n": "1"}, "key < 4")
    log = (place / "_delta_log" / f"{4:020}.json").read_text().splitlines()
    told = [body["cdc"] for body in map(json.loads, log) if "cdc" in body]
    assert {item["partitionValues"]["land"] for item in told} == {"DE", "a/b=%20 ü", None, "it's"}
    for item in told:
        path = unquote(item["path"])
        assert path.startswith("_change_data/land=")
        assert (place / path).stat().st_size == item["size"]


@pytest.mark.rule("stats-delete-fills-numrecords")
@pytest.mark.parametrize("stats", [None, '{"minValues":{"id":0},"maxValues":{"id":9}}'])
def test_a_vector_brings_the_number_of_rows_where_it_lacks(
    tmp_path: Path, stats: str | None
) -> None:
    place = tmp_path / "t"
    pipeline.write(ROWS, place, properties={"delta.enableDeletionVectors": "true"})
    log = place / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["stats"] = stats
            if stats is None:
                del line["add"]["stats"]
    log.write_text("\n".join(map(json.dumps, lines)))
    (place / "_delta_log" / f"{0:020}.crc").unlink()
    assert pipeline.delete(place, "id = 3").metrics["numDeletedRows"] == 1
    (text,) = explorer.open_table(place).snapshot().files(["stats"]).column(0).to_pylist()
    found = json.loads(text)
    assert (found["numRecords"], found["tightBounds"]) == (10, False)
    assert found.get("maxValues") == (None if stats is None else {"id": 9})


def test_names_of_the_front_door_are_these_functions() -> None:
    assert pipeline.delete is deletes.delete
    assert pipeline.update is updates.update


# --- what SET may say, and what a statement leaves


def _table(place: Path, columns: str, rows: pa.Table, **properties: str) -> Path:
    pipeline.create(place, columns, properties=properties)
    pipeline.write(rows, place)
    return place


def _rows(place: Path) -> list[dict[str, object]]:
    found = explorer.read_rows(explorer.open_table(place).snapshot())
    return found.to_pylist()  # type: ignore[no-any-return]


def test_a_struct_that_lacks_a_field_of_the_table_is_refused(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "s": [{"a": 1, "b": "x"}], "t": [{"a": 7}]})
    place = _table(tmp_path / "t", "id INT, s STRUCT<a: INT, b: STRING>, t STRUCT<a: INT>", rows)
    before = _data_files(place)
    with pytest.raises(InvalidArgumentError, match="has no field") as caught:
        pipeline.update(place, {"s": "t"}, "id = 1")
    assert caught.value.kind == "schema_mismatch"
    assert _rows(place)[0]["s"] == {"a": 1, "b": "x"}
    assert _data_files(place) == before


def test_a_name_with_a_dot_is_first_a_column_of_its_own(tmp_path: Path) -> None:
    rows = pa.table({"a.b": [1], "a": [{"b": 2}], "my col": [3]})
    columns, mapped = "`a.b` INT, a STRUCT<b: INT>, `my col` INT", "delta.columnMapping.mode"
    place = _table(tmp_path / "t", columns, rows, **{mapped: "name"})
    pipeline.update(place, {"a.b": "9", "my col": "8"})
    pipeline.update(place, {"`a`.b": "7"})
    assert _rows(place) == [{"a.b": 9, "a": {"b": 7}, "my col": 8}]


def test_a_column_of_nulls_alone_is_not_set(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "v": pa.nulls(1)})
    pipeline.write(rows, tmp_path / "t")
    with pytest.raises(InvalidArgumentError, match="cannot be set"):
        pipeline.update(tmp_path / "t", {"v": "5"})


def test_a_transaction_is_known_though_no_row_was_met(tmp_path: Path) -> None:
    place = _table(tmp_path / "t", "id INT, v DOUBLE", ROWS)
    first = pipeline.update(place, {"v": "0"}, "id = 100", transaction=("app", 1))
    pipeline.write(pa.table({"id": [100], "v": [5.0]}), place)
    again = pipeline.update(place, {"v": "0"}, "id = 100", transaction=("app", 1))
    assert (first.is_repeated, again.is_repeated, again.version) == (False, True, None)
    assert {"id": 100, "v": 5.0} in _rows(place)


def test_files_that_would_be_too_small_are_refused(tmp_path: Path) -> None:
    place = _table(tmp_path / "t", "id INT, v DOUBLE", ROWS)
    with pytest.raises(InvalidArgumentError, match="too small"):
        pipeline.update(place, {"v": "0"}, target_file_size=-1)
