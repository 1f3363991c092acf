"""Values of statistics that there cannot be: every reader of them leaves them out, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.inspect.files.statistics import column_statistics
from explorer.scan.statistics.live_files import parsed_statistics
from tests.tables import COLUMNS, PROTOCOL, LogFolder, add, metadata, write_parquet

KINDS = {
    "l": "long",
    "s": "short",
    "b": "byte",
    "i": "integer",
    "d": "double",
    "f": "float",
    "t": "string",
    "day": "date",
    "at": "timestamp",
    "yes": "boolean",
}
LEAST = {"l": 1, "s": 1, "b": 1, "i": 1, "d": 1.5, "f": 1.5, "t": "b", "day": "2021-01-02"}
LEAST |= {"at": "2021-01-02T00:00:00.000Z", "yes": False}
GREATEST = {"l": 9, "s": 9, "b": 9, "i": 9, "d": 9.5, "f": 9.5, "t": "d", "day": "2021-02-02"}
GREATEST |= {"at": "2021-02-02T00:00:00.000Z", "yes": True}
SOUND = {
    "numRecords": 10,
    "minValues": LEAST,
    "maxValues": GREATEST,
    "nullCount": dict.fromkeys(KINDS, 3),
}

# where the value stands, the value as JSON, what is lost, and a row that the file may hold
IMPOSSIBLE = [
    ("nullCount", "l", "-1", ["null_count.l"], "l IS NULL"),
    ("nullCount", "l", "11", ["null_count.l"], "l IS NOT NULL"),
    ("minValues", "l", "50", ["min.l", "max.l"], "l = 70"),
    ("maxValues", "t", '"a"', ["min.t", "max.t"], "t = 'zz'"),
    ("maxValues", "day", '"2020-01-01"', ["min.day", "max.day"], "day = DATE '2022-01-01'"),
    ("maxValues", "d", "1e999", ["max.d"], "d = 1e300"),
    ("minValues", "d", "-1e999", ["min.d"], "d = -1e300"),
    ("minValues", "d", "1e999", ["min.d"], "d = -7"),
    ("maxValues", "f", "1e39", ["max.f"], "f = 1e30"),
    ("maxValues", "s", "70000", ["max.s"], "s = 30000"),
    ("minValues", "b", "-129", ["min.b"], "b = -128"),
    ("minValues", "i", "-2147483649", ["min.i"], "i = -2147483648"),
    ("maxValues", "day", '"2021-02-29"', ["max.day"], "day = DATE '2021-03-01'"),
    ("maxValues", "at", '"2021-99-01T00:00:00.000Z"', ["max.at"], "at = '2022-01-01'"),
]


def body_with(group: str, name: str, value: str) -> str:
    text = json.dumps(SOUND | {group: SOUND[group] | {name: "HERE"}})  # type: ignore[operator]
    return text.replace('"HERE"', value)


def snapshot_of(place: Path, *texts: str) -> explorer.Snapshot:
    folder = LogFolder(place)
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in KINDS.items()
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    files = [add(f"f{at}", stats=text) for at, text in enumerate(texts)]
    folder.commit(0, [PROTOCOL, metadata(schemaString=schema), *files])
    return explorer.open_table(folder.root).snapshot()


@pytest.mark.rule("stats-use")
@pytest.mark.parametrize("case", IMPOSSIBLE, ids=lambda case: f"{case[1]}-{case[2]}")
@pytest.mark.parametrize("others", [1, 400])
def test_value_that_cannot_be_is_left_out_alone_and_told_by_every_reader(
    tmp_path: Path, case: tuple[str, str, str, list[str], str], others: int
) -> None:
    group, name, value, lost, where = case
    sound = json.dumps(SOUND)
    snapshot = snapshot_of(tmp_path / "t", body_with(group, name, value), *[sound] * others)
    told = ["The statistics of 'f0' cannot be read."]
    first, second, *_ = parsed_statistics(snapshot).to_pylist()
    assert [column for column in first if first[column] is None] == lost
    assert None not in second.values()
    plan = explorer.plan_scan(snapshot, where)
    assert "f0" in plan.kept["path"].to_pylist()
    assert [problem.problem for problem in plan.problems] == told
    report = column_statistics(snapshot)
    assert [problem.problem for problem in report.problems] == told
    (row,) = [row for row in report.columns.to_pylist() if row["path"] == name]
    assert row["files_with_null_count"] == others + (group != "nullCount")
    # how many rows there are does not hang on it
    assert (snapshot.num_rows, snapshot.problems) == (10 * (others + 1), ())


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_text_that_stands_for_no_number_bounds_nothing_and_is_no_problem(
    tmp_path: Path, text: str
) -> None:
    snapshot = snapshot_of(tmp_path / "t", body_with("maxValues", "d", f'"{text}"'))
    assert parsed_statistics(snapshot)["max.d"].to_pylist() == [None]
    assert column_statistics(snapshot).problems == ()


@pytest.mark.parametrize("value", ["32767", "-32768"])
def test_greatest_and_least_number_of_a_type_is_one(tmp_path: Path, value: str) -> None:
    group, side = ("minValues", "min.s") if value.startswith("-") else ("maxValues", "max.s")
    snapshot = snapshot_of(tmp_path / "t", body_with(group, "s", value))
    assert parsed_statistics(snapshot)[side].to_pylist() == [int(value)]
    assert column_statistics(snapshot).problems == ()


def test_columns_of_a_checkpoint_are_looked_at_likewise(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    values = pa.struct([("id", pa.int64())])
    kind = pa.struct(
        [
            ("numRecords", pa.int64()),
            ("minValues", values),
            ("maxValues", values),
            ("nullCount", values),
        ]
    )

    def stored(path: str, rows: int, low: int, high: int, nulls: int) -> Any:
        inner = {"minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": nulls}}
        return add(path, stats_parsed={"numRecords": rows} | inner)

    files = [stored("a", 5, 1, 9, 0), stored("b", 5, 9, 1, 0), stored("c", 5, 1, 9, 6)]
    files += [stored("d", 5, 1, 9, -2), stored("e", -5, 1, 9, 0)]
    place = folder.log / f"{0:020}.checkpoint.parquet"
    folder.commit(0, [PROTOCOL, metadata()])
    columns = COLUMNS | {"add": pa.struct([*COLUMNS["add"], pa.field("stats_parsed", kind)])}
    write_parquet(place, [PROTOCOL, metadata(), *files], columns=columns)
    snapshot = explorer.open_table(folder.root).snapshot()
    found = parsed_statistics(snapshot, ["id"])
    assert found["min.id"].to_pylist() == [1, None, 1, 1, 1]
    assert found["null_count.id"].to_pylist() == [0, 0, None, None, 0]
    assert found["num_records"].to_pylist() == [5, 5, 5, 5, None]
    problems = [problem.problem for problem in column_statistics(snapshot).problems]
    assert problems == [f"The statistics of {path!r} cannot be read." for path in "bcde"]
