"""`preview`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.cli.main import run
from explorer.rows.row_values import row_objects
from tests.data_tables import DataTable, field, struct
from tests.sampling import sample

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    kind = struct(field("id", "long"), field("name", "string"), field("tip", "double"))
    table = DataTable(tmp_path / "orders", kind)
    rows = {"id": list(range(60)), "name": ["", None, "\x1b[2Jx"] * 20, "tip": [1.5] * 60}
    table.add("a.parquet", pa.table(rows))
    return table.write()


def document(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert run(["preview", *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    (line,) = out.splitlines()
    found: dict[str, Any] = json.loads(line)
    assert found["format"] == 1
    return found


def test_json_is_one_document_that_says_whether_it_is_cut(orders: Path, capsys: Capture) -> None:
    whole = document(capsys, str(orders))
    assert (whole["version"], whole["is_cut"], len(whole["rows"])) == (0, False, 60)
    assert whole["columns"][0] == {"name": "id", "type": "int64"}
    assert whole["rows"][1] == {"id": 1, "name": None, "tip": 1.5}
    cut = document(capsys, str(orders), "--limit", "2", "--column", "id", "--where", "id >= 10")
    assert (cut["is_cut"], cut["rows"]) == (True, [{"id": 10}, {"id": 11}])


def test_people_see_the_first_rows_nulls_and_that_there_are_more(
    orders: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["preview", str(orders)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "name", "tip"]
    assert lines[1].split() == ["0", '""', "1.5"]
    assert lines[2].split() == ["1", "null", "1.5"]
    assert lines[3].split() == ["2", "\\x1b[2Jx", "1.5"]
    assert lines[-1] == "first 50 rows; more with --limit N"


def test_narrow_terminal_shows_fewer_columns_and_says_so(
    orders: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "14")
    assert run(["preview", str(orders), "--limit", "60"]) == 0
    out = capsys.readouterr().out
    assert "tip" not in out
    assert "1 more column;" in " ".join(out.split())
    assert "more with" not in out


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["--column", "nmae"], 2, "invalid_argument"),
        (["--where", "id >"], 2, "invalid_argument"),
        (["--version", "9"], 1, "version_not_found"),
    ],
)
def test_what_cannot_be_answered_ends_in_an_error(
    orders: Path, capsys: Capture, arguments: list[str], code: int, kind: str
) -> None:
    assert run(["preview", str(orders), *arguments, "--json"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err)["error"]["kind"] == kind


def test_table_without_rows_says_so(tmp_path: Path, capsys: Capture) -> None:
    assert run(["preview", str(DataTable(tmp_path / "t", struct(field("a", "long"))).write())]) == 0
    assert capsys.readouterr().out.strip() == "no rows"


def test_every_value_has_a_form_in_json() -> None:
    instants = pa.array([2**62, None], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.table(
        {
            "far": instants,
            "local": pa.array([5, None], pa.int64()).cast(pa.timestamp("us")),
            "day": pa.array([10**7, None], pa.int32()).cast(pa.date32()),
            "number": [float("nan"), float("-inf")],
            "exact": pa.array(["1.50", None]).cast(pa.decimal128(5, 2)),
            "bytes": [b"\x00\xff", None],
            "words": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "pairs": pa.array([[(1, None)], []], pa.map_(pa.int64(), pa.date32())),
            "deep": [[{"x": None}], None],
        }
    )
    assert list(row_objects(rows)) == [
        {
            "far": "+148108-07-06T14:00:27.387904Z",
            "local": "1970-01-01T00:00:00.000005",
            "day": "+29349-01-26",
            "number": "NaN",
            "exact": "1.50",
            "bytes": "00ff",
            "words": {"k": 1},
            "pairs": [{"key": 1, "value": None}],
            "deep": [{"x": None}],
        },
        {
            "far": None,
            "local": None,
            "day": None,
            "number": "-Infinity",
            "exact": None,
            "bytes": None,
            "words": None,
            "pairs": [],
            "deep": None,
        },
    ]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("us", "-290308-12-21T19:59:05.224192Z"), ("ns", "1677-09-21T00:12:43.145224192Z")],
)
def test_the_least_time_of_a_unit_is_shown_as_such(unit: Any, expected: str) -> None:
    least = pa.array([-(2**63)], pa.int64()).cast(pa.timestamp(unit, "UTC"))
    assert list(row_objects(pa.table({"t": least}))) == [{"t": expected}]


def test_every_table_of_the_corpus_can_be_shown(corpus: Path, capsys: Capture) -> None:
    for place in sample(sorted((corpus / "tables").iterdir()), 4, "previews"):
        assert run(["preview", str(place), "--json"]) in (0, 1), place.name
        out, err = capsys.readouterr()
        assert "internal_error" not in err, place.name
        assert not out or json.loads(out)["format"] == 1


def test_page_of_a_file_that_pyarrow_wrote_is_what_pyarrow_reads(
    orders: Path, capsys: Capture
) -> None:
    stored = pq.read_table(orders / "a.parquet").to_pylist()
    assert document(capsys, str(orders))["rows"] == stored
