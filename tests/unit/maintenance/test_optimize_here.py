"""An optimize of a few small files, which takes no session: what it does to rows, and what it
leaves when it does not come to its end."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import StorageError
from explorer.maintenance import Approval, Plan, Receipt, execute, plan_optimize
from explorer.progress import Cancel, Progress
from explorer.storage.local import LocalStore
from tests.data_tables import DataTable, field, struct
from tests.row_values import counted_rows
from tests.tables import LogFolder, add, commit_name, metadata

_SCHEMA = struct(field("id", "long"), field("part", "string"))


def simple(root: Path) -> Path:
    table = DataTable(root, _SCHEMA, partitionColumns=["part"])
    for number in range(6):
        part = "ab"[number % 2]
        rows = pa.table({"id": pa.array(range(number * 10, number * 10 + 5), pa.int64())})
        table.add(f"part={part}/{number}.parquet", rows, partitionValues={"part": part})
    return table.write()


def carry_out(plan: Plan, scratch: Path, **options: Any) -> Receipt:
    return execute(plan, Approval(plan.digest), state_dir=scratch / "state", **options)


def rows_of(place: Path) -> Any:
    return counted_rows(explorer.read_rows(explorer.open_table(place).snapshot()))


def data_files(place: Path) -> set[str]:
    return {found.relative_to(place).as_posix() for found in place.glob("*/*.parquet")}


@pytest.mark.slow
@pytest.mark.rule("file-add-datachange-false-contained", "file-remove-datachange-false-contained")
def test_few_small_files_are_written_again_without_a_session(tmp_path: Path) -> None:
    place = simple(tmp_path / "t")
    before = rows_of(place)
    script = (
        "import sys, explorer\n"
        "from explorer.maintenance import Approval, execute, plan_optimize\n"
        "table = explorer.open_table(sys.argv[1])\n"
        "plan = plan_optimize(table, zorder_by=['id'], target_size=250)\n"
        "receipt = execute(plan, Approval(plan.digest), state_dir=sys.argv[2])\n"
        "assert receipt.status == 'completed', receipt.problem\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    command = [sys.executable, "-c", script, str(place), str(tmp_path / "state")]
    subprocess.run(command, check=True, timeout=120)
    table = explorer.open_table(place)
    assert table.latest_version() == 1
    assert table.snapshot().num_files == 4
    assert rows_of(place) == before
    lines = (place / "_delta_log" / commit_name(1)).read_text().splitlines()
    files = [
        body for line in lines for name, body in json.loads(line).items() if "Info" not in name
    ]
    assert len(files) == 10
    assert not any(body["dataChange"] for body in files)


class _Told(LocalStore):
    """Keeps in mind in which order things became visible."""

    def __init__(self, place: Path) -> None:
        super().__init__(str(place))
        self.order: list[str] = []

    @contextmanager
    def open_output(self, path: str) -> Iterator[Any]:
        with super().open_output(path) as sink:
            yield sink
        self.order.append(path)

    def put_if_absent(self, path: str, data: Any) -> Any:
        self.order.append(path)
        return super().put_if_absent(path, data)


@pytest.mark.rule("log-two-phase-write", "log-columns-in-metadata")
@pytest.mark.rule("schema-type-timestamp-adjusted", "schema-type-ntz-adjusted")
def test_files_are_whole_before_the_commit_that_names_them_and_hold_the_tables_columns(
    tmp_path: Path,
) -> None:
    schema = struct(field("at", "timestamp"), field("local", "timestamp_ntz"))
    table = DataTable(tmp_path / "t", schema, features=("timestampNtz",))
    rows = pa.table(
        {
            "at": pa.array([1, 2], pa.timestamp("us", "UTC")),
            "local": pa.array([1, 2], pa.timestamp("us")),
            "_hidden": [1, 2],  # of another engine, and no column of the table
        }
    )
    for name in ("a", "b"):
        table.add(f"{name}.parquet", rows)
    place = table.write()
    store = _Told(place)
    plan = plan_optimize(explorer.open_table(place))
    assert carry_out(plan, tmp_path, table=explorer.Table(store)).status == "completed"
    new, commit = store.order[:2]
    assert commit == f"_delta_log/{commit_name(1)}"
    assert new in (place / commit).read_text()
    written = pq.read_schema(place / new)
    assert written.names == ["at", "local"]
    kinds = pq.ParquetFile(place / new).schema
    adjusted = [json.loads(kinds.column(at).logical_type.to_json()) for at in range(2)]
    assert [kind["isAdjustedToUTC"] for kind in adjusted] == [True, False]


def clustered(root: Path) -> Path:
    log = LogFolder(root)
    nan = math.nan
    files = {"a": [3.0, nan, 1.0], "b": [nan, None, 2.0], "c": [0.5, -1.0, 7.0]}
    columns = json.dumps({"clusteringColumns": [["x"]]})
    writer = ["clustering", "domainMetadata"]
    actions: list[Any] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writer}},
        metadata(schemaString=json.dumps(struct(field("x", "double")))),
        {"domainMetadata": {"domain": "delta.clustering", "configuration": columns}},
    ]
    actions[2]["domainMetadata"]["removed"] = False
    for name, values in files.items():
        pq.write_table(pa.table({"x": pa.array(values, pa.float64())}), root / f"{name}.parquet")
        stats = json.dumps({"numRecords": 3, "nullCount": {"x": values.count(None)}})
        actions.append(add(f"{name}.parquet", stats=stats))
    log.commit(0, actions)
    return root


def test_nan_comes_after_every_number_and_its_file_alone_has_no_bounds(tmp_path: Path) -> None:
    place = clustered(tmp_path / "t")
    before = rows_of(place)
    plan = plan_optimize(explorer.open_table(place), target_size=100)
    assert not plan.refusals
    receipt = carry_out(plan, tmp_path)
    assert receipt.status == "completed", receipt.problem
    assert rows_of(place) == before
    files = explorer.open_table(place).snapshot().files(["path", "stats"]).to_pylist()
    lows: list[float] = []
    without: list[list[float | None]] = []
    for file in files:
        said = json.loads(file["stats"])
        values = pq.read_table(place / file["path"]).column("x").to_pylist()
        assert said["nullCount"]["x"] == values.count(None)
        if "x" in said["maxValues"]:
            lows.append(said["minValues"]["x"])
            assert said["maxValues"]["x"] == max(values)
        else:
            without.append(values)
    assert lows == [-1.0, 2.0]
    (last,) = without
    assert [str(value) for value in last] == ["nan", "nan", "None"]
    assert plan_optimize(explorer.open_table(place), target_size=100).steps == ()


class _Failing(LocalStore):
    """Writes `good` data files, and fails at the next one; it deletes them, or does not."""

    def __init__(self, place: Path, good: int, *, deletes: bool = True) -> None:
        super().__init__(str(place))
        self.good, self.deletes = good, deletes

    def open_output(self, path: str) -> Any:
        self.good -= 1
        if self.good < 0:
            raise _failure(path)
        return super().open_output(path)

    def delete(self, path: str) -> None:
        if not self.deletes:
            raise _failure(path)
        super().delete(path)


def _failure(path: str) -> StorageError:
    return StorageError(f"{path} failed.", reason="A test says so.", remedy="None.")


def test_what_a_failed_run_wrote_is_removed_at_once(tmp_path: Path) -> None:
    place = simple(tmp_path / "t")
    old = data_files(place)
    plan = plan_optimize(explorer.open_table(place))
    receipt = carry_out(plan, tmp_path, table=explorer.Table(_Failing(place, 1)))
    assert receipt.status == "failed"
    assert receipt.steps[0].result == {"staged_removed": 1}
    assert data_files(place) == old
    assert carry_out(plan, tmp_path).status == "completed"


@pytest.mark.rule("log-data-files-unique")
def test_what_a_failed_run_could_not_remove_is_named_and_goes_with_the_next_one(
    tmp_path: Path,
) -> None:
    place = simple(tmp_path / "t")
    old = data_files(place)
    plan = plan_optimize(explorer.open_table(place))
    store = _Failing(place, 1, deletes=False)
    receipt = carry_out(plan, tmp_path, table=explorer.Table(store))
    assert receipt.status == "failed"
    (left,) = data_files(place) - old
    content = (place / left).read_bytes()
    assert receipt.steps[0].result == {
        "staged_removed": 0,
        "num_staged_left": 1,
        "staged_left": [left],
    }
    store.good = 1
    other = carry_out(plan, tmp_path / "another machine", table=explorer.Table(store))
    assert other.status == "failed"
    assert len(data_files(place) - old) == 2
    assert (place / left).read_bytes() == content
    assert carry_out(plan, tmp_path).status == "completed"
    assert left not in data_files(place)


def test_cancelled_run_leaves_no_file(tmp_path: Path) -> None:
    place = simple(tmp_path / "t")
    old = data_files(place)
    cancel = Cancel()

    def look(report: Progress) -> None:
        if data_files(place) != old:
            cancel.cancel()

    plan = plan_optimize(explorer.open_table(place))
    receipt = carry_out(plan, tmp_path, progress=look, cancel=cancel)
    assert receipt.status == "cancelled"
    assert receipt.steps[0].result == {"staged_removed": 2}
    assert data_files(place) == old


@pytest.mark.parametrize("answer", ["lost", "none"])
def test_files_of_a_commit_that_may_be_there_stay_and_are_named(
    tmp_path: Path, answer: str
) -> None:
    place = simple(tmp_path / "t")
    old = data_files(place)

    class Unanswered(LocalStore):
        def put_if_absent(self, path: str, data: Any) -> Any:
            if path.endswith(".json") and answer == "lost":
                super().put_if_absent(path, data)
            raise _failure(path)

        def read(self, path: str, limit: int | None = None) -> bytes:
            if path.endswith("1.json") and limit is not None:  # whether it is ours
                raise _failure(path)
            return super().read(path, limit)

    plan = plan_optimize(explorer.open_table(place))
    receipt = carry_out(plan, tmp_path, table=explorer.Table(Unanswered(str(place))))
    assert receipt.status == ("partly" if answer == "lost" else "failed")
    (result,) = (step.result for step in receipt.steps if step.result)
    assert result.get("version") == (1 if answer == "lost" else None)
    assert set(result["staged_left"]) == data_files(place) - old
    assert len(result["staged_left"]) == 2
    again = carry_out(plan, tmp_path)
    assert again.status == "completed", again.problem
    live = explorer.open_table(place).snapshot().files(["path"]).column("path").to_pylist()
    assert all((place / path).is_file() for path in live)
    assert explorer.open_table(place).latest_version() == 1


_FIRST_PAGE = {"1.0": b"\x15\x00", "2.0": b"\x15\x06"}
"""How the header of a data page begins: the first field of a compact struct is its type, 0 for
a data page and 3 for one of version 2."""


@pytest.mark.rule("newer-property-codec", "newer-property-format-version")
@pytest.mark.parametrize(
    ("configuration", "codec", "page"),
    [
        ({}, "ZSTD", "1.0"),
        ({"delta.parquet.compression.codec": "snappy"}, "SNAPPY", "1.0"),
        ({"delta.parquet.format.version": "1.0.0"}, "ZSTD", "1.0"),
        (
            {
                "delta.parquet.compression.codec": "uncompressed",
                "delta.parquet.format.version": "2.12.0",
            },
            "UNCOMPRESSED",
            "2.0",
        ),
    ],
    ids=["defaults", "codec", "format", "both"],
)
def test_new_files_have_the_codec_and_the_pages_that_the_table_asks_for(
    tmp_path: Path, configuration: dict[str, str], codec: str, page: str
) -> None:
    table = DataTable(tmp_path / "t", _SCHEMA, configuration=configuration)
    for name in ("a", "b"):
        rows = pa.table({"id": pa.array(range(5), pa.int64()), "part": pa.array(["x"] * 5)})
        table.add(f"{name}.parquet", rows)
    place = table.write()
    before = rows_of(place)
    assert carry_out(plan_optimize(explorer.open_table(place)), tmp_path).status == "completed"
    (path,) = explorer.open_table(place).snapshot().files(["path"]).column("path").to_pylist()
    column = pq.read_metadata(place / path).row_group(0).column(0)
    assert column.compression == codec
    start = column.data_page_offset
    assert (place / path).read_bytes()[start : start + 2] == _FIRST_PAGE[page]
    assert rows_of(place) == before
