"""What statistics cover on the page, how ranges lie over files, and what a condition leaves."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.statistics._parts import example_conditions
from widgets.screens.statistics.ask import BINS, measure_ranges
from widgets.ui.live_html import LiveHtml

BOUNDS = st.lists(
    st.one_of(
        st.none(),
        st.tuples(st.integers(-50, 50), st.integers(0, 30)).map(lambda at: (at[0], sum(at))),
    ),
    max_size=30,
)


def sized(least: object, most: object, **more: object) -> str:
    body = {"numRecords": 10, "minValues": {"id": least}, "maxValues": {"id": most}}
    return json.dumps(body | more)


def measurements(folder: Path) -> Path:
    """Forty files of ten ids each, one after the other, and two without statistics."""
    log = LogFolder(folder / "measurements")
    files = [
        add(f"{at:02}.parquet", stats=sized(at * 10, at * 10 + 9), size=100) for at in range(40)
    ]
    log.commit(0, [PROTOCOL, metadata(), *files, add("x.parquet"), add("y.parquet")])
    return log.root


def column(values: list[object], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


@given(BOUNDS)
def test_a_part_counts_every_file_whose_range_reaches_into_it(
    bounds: list[tuple[int, int] | None],
) -> None:
    least = column([pair and pair[0] for pair in bounds], pa.int64())
    most = column([pair and pair[1] for pair in bounds], pa.int64())
    ranges = measure_ranges(least, most)
    known = [pair for pair in bounds if pair is not None]
    assert ranges.unbounded == len(bounds) - len(known)
    assert bool(ranges.parts) == bool(known)
    assert len(ranges.parts) <= BINS
    for part in ranges.parts:
        first, last = int(part.first), int(part.last)
        meeting = sum(low <= last and high >= first for low, high in known)
        assert part.num_files == meeting + ranges.unbounded


def test_files_in_order_are_told_from_files_that_overlap() -> None:
    in_order = measure_ranges(
        column([0, 10, 20, 30], pa.int64()), column([9, 19, 29, 39], pa.int64())
    )
    mixed = measure_ranges(column([0] * 4, pa.int64()), column([39] * 4, pa.int64()))
    assert in_order.mean_files == 1
    assert mixed.mean_files == 4


def test_ranges_of_text_are_laid_out_by_the_order_of_their_bounds() -> None:
    ranges = measure_ranges(
        column(["ant", "bee", "cow"], pa.string()), column(["ape", "bug", "cub"], pa.string())
    )
    assert (ranges.parts[0].first, ranges.parts[-1].last) == ("ant", "cub")
    assert {part.num_files for part in ranges.parts} <= {1, 2}


def test_text_that_is_as_long_as_writers_cut_it_is_counted() -> None:
    whole, cut = "a" * 31, "b" * 32
    ranges = measure_ranges(
        column([whole, whole, cut], pa.string()), column([whole, cut + "c", cut], pa.string())
    )
    assert ranges.cut == 2


@pytest.mark.parametrize(
    ("kind", "values", "shown"),
    [
        (pa.date32(), [0, 365], ("1970-01-01", "1971-01-01")),
        (pa.timestamp("us", "UTC"), [datetime(2026, 1, 1, tzinfo=UTC)] * 2, ("2026-01-01",) * 2),
        (pa.bool_(), [False, True], ("0", "1")),
        (pa.float64(), [0.5, 1.5], ("0.5", "1.5")),
        (pa.date32(), [-(2**31), 2**31 - 1], ("-5877641-06-23", "+5881580-07-11")),
    ],
)
def test_every_type_with_an_order_is_laid_out(
    kind: pa.DataType, values: list[object], shown: tuple[str, str]
) -> None:
    ranges = measure_ranges(column(values[:1], kind), column(values[1:], kind))
    assert ranges.parts[0].first.startswith(shown[0])
    assert ranges.parts[-1].last.startswith(shown[1])


def test_the_coverage_of_statistics_is_said_in_a_sentence(tmp_path: Path) -> None:
    page = Page().open(measurements(tmp_path), view="statistics")
    assert (
        "0 of 2 columns have a range in every one of the 42 files, 1 in some of them, 1 in none: "
        "a condition on these skips nothing; 2 files do not say how many rows they have."
    ) in page.html
    assert "40 of 42" in page.html


def test_a_table_without_files_is_said_to_have_no_statistics(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "empty")
    log.commit(0, [PROTOCOL, metadata()])
    page = Page().open(log.root, view="statistics", where="id = 1")
    assert "This version holds no files, and so no statistics." in page.html
    assert "There is no file to be read in this version." in page.html


def test_the_simulator_counts_what_plan_scan_keeps(tmp_path: Path) -> None:
    root = measurements(tmp_path)
    page = Page().open(root, view="statistics", where="id >= 385")
    plan = explorer.plan_scan(explorer.open_table(root).snapshot(), "id >= 385")
    assert plan.num_kept == 4
    assert "4 of 42 files have to be read" in page.html
    assert "39.parquet" in page.html
    assert "id has no statistics" in page.html
    page.do("which", "skipped")
    assert "1\N{EN DASH}25 of 38 files" in page.html
    assert "id &gt;= 385 cannot be true: id is between 0 and 9" in page.html


def test_a_condition_that_is_typed_goes_into_the_address(tmp_path: Path) -> None:
    page = Page().open(measurements(tmp_path), view="statistics")
    page.do("where", " id < 10 ")
    assert page.state.address.where == "id < 10"
    assert "3 of 42 files have to be read" in page.html
    page.do("where", "")
    assert "have to be read" not in page.html


def test_a_condition_that_rules_nothing_out_is_said_to(tmp_path: Path) -> None:
    page = Page().open(measurements(tmp_path), view="statistics", where="part = 'x'")
    assert "All 42 files have to be read: the statistics rule none out." in page.html


@pytest.mark.parametrize("where", ["idd > 3", "id >", "id = 1; drop", "x'"])
def test_a_condition_that_is_none_is_said_to_be_at_its_place(tmp_path: Path, where: str) -> None:
    page = Page().open(measurements(tmp_path), view="statistics", where=where)
    assert 'class="dx-wrong" role="alert"' in page.html
    assert "columns have a range" in page.html


def test_examples_are_made_of_the_columns_and_can_be_asked(tmp_path: Path) -> None:
    root = measurements(tmp_path)
    page = Page().open(root, view="statistics")
    assert 'data-do="where" data-value="id &gt;= 399"' in page.html
    page.do("where", "id >= 399")
    assert "3 of 42 files have to be read" in page.html


def test_an_example_of_text_quotes_its_value() -> None:
    entry = {"path": "name", "type": "string", "min": "O'Hara", "max": "z"}
    assert example_conditions([entry]) == ["name = 'O''Hara'"]


def test_a_column_opens_with_its_ranges_and_closes_again(tmp_path: Path) -> None:
    page = Page().open(measurements(tmp_path), view="statistics", column="id")
    assert "One value may be in 3.0 of 42 files on average" in page.html
    assert "2 files have no range: they are always read." in page.html
    page.do("column", "part")
    assert page.state.column == "part"
    assert "No file has a range of this column" in page.html
    page.do("column", "part")
    assert page.state.column == ""
    assert "Ranges of a column" not in page.html


def test_a_column_that_there_is_not_is_said_not_to_be_there(tmp_path: Path) -> None:
    page = Page().open(measurements(tmp_path), view="statistics", column="nowhere")
    assert "No statistics can speak of a column" in page.html


def test_reasons_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: saved.update({name: file.read().decode()})
    )
    page = Page().open(measurements(tmp_path), view="statistics", where="id < 10")
    files = next(part for part in page.parts() if 'data-do="which"' in part.html)
    files._handle_msg({"action": "export", "value": ""})
    lines = saved["files-of-a-query-0.csv"].splitlines()
    assert lines[0] == "path,size,kept,reason"
    assert lines[1].startswith("00.parquet,100,true,")
    assert len(lines) == 4
