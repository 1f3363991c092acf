"""Rows on the page: those that meet a condition, and when such rows were changed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer.inspect as look
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.rows._columns import Columns, render_columns
from widgets.screens.rows.ask import PREVIEW_ROWS, Rows, plain_rows, sort_rows
from widgets.screens.rows.parts import COLUMNS_SHOWN, Grid, render_rows, value_cell
from widgets.ui.live_html import LiveHtml


def orders(folder: Path) -> LogFolder:
    """Two files of ten rows and a large one; version 2 removes the first."""
    log = LogFolder(folder / "orders")
    sizes = {}
    for name, ids in (("a", range(10)), ("b", range(10, 20)), ("c", range(20, 1020))):
        rows = pa.table({"id": list(ids), "part": [f"row {at}" for at in ids]})
        pq.write_table(rows, log.root / f"{name}.parquet")
        sizes[name] = (log.root / f"{name}.parquet").stat().st_size
    a, b, c = (add(f"{name}.parquet", size=size) for name, size in sizes.items())
    log.commit(0, [{"commitInfo": {"operation": "WRITE"}}, PROTOCOL, metadata(), a])
    log.commit(1, [{"commitInfo": {"operation": "WRITE"}}, b])
    gone = remove("a.parquet", size=sizes["a"])
    log.commit(2, [{"commitInfo": {"operation": "DELETE", "userName": "sam"}}, gone])
    log.commit(3, [{"commitInfo": {"operation": "WRITE"}}, c])
    return log


def test_all_rows_of_a_small_version_are_shown(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", version=0)
    assert "All 10 rows of version 0." in page.html
    assert "row 7<" in page.html


def test_many_rows_are_cut_and_paged(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows")
    assert f"The first {PREVIEW_ROWS} rows of version 3." in page.html
    part = next(part for part in page.parts() if "The first" in part.html)
    part._handle_msg({"action": "page", "value": "475"})
    assert "476\N{EN DASH}500 of 500 rows" in page.html


def test_a_condition_chooses_rows_and_goes_into_the_address(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows")
    page.do("where", "id = 12")
    assert page.state.where == "id = 12"
    assert "1 row of version 3 matches." in page.html
    assert "row 12<" in page.html
    page.do("where", "id = 5000")
    assert "0 rows of version 3 match." in page.html


@pytest.mark.parametrize("where", ["idd = 3", "id =", "id = 1; drop table x"])
def test_a_condition_that_is_none_is_said_to_be_at_its_place(tmp_path: Path, where: str) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", where=where)
    assert 'class="dx-wrong" role="alert"' in page.html
    assert 'data-do="search"' not in page.html  # it would search for what is none
    page.do("where", "id = 3")
    assert 'data-do="search"' in page.html


def test_a_value_alone_is_said_to_be_no_condition(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", where="1031116")
    assert (
        "<strong>`1031116` is a value and not a condition.</strong> A condition says which rows "
        "are meant: it compares a column with a value. Compare a column with it, for example "
        "id = 1031116."
    ) in page.html


def test_the_history_of_rows_is_searched_on_demand(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", where="id = 7")
    assert "Versions that changed such rows" not in page.html
    page.do("search")
    table = page.html.partition("Versions that changed such rows")[2]
    assert 'data-value="0"' in table
    assert 'data-value="2"' in table
    assert 'data-value="1"' not in table.partition("The changed rows")[0]
    assert "sam" in table
    page.do("version", "0")  # to the commit, which shows all of it
    assert (page.state.version, page.state.view) == (0, "timeline")
    page.state.view = "rows"
    assert "Versions that changed such rows" in page.html
    page.do("where", "id = 8")
    assert "Versions that changed such rows" not in page.html


def test_without_a_condition_no_history_is_offered(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows")
    assert "Give a condition above" in page.html
    assert 'data-do="search"' not in page.html


def test_a_data_file_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    log = orders(tmp_path)
    (log.root / "b.parquet").unlink()
    page = Page().open(log.root, view="rows")
    assert 'role="alert"' in page.html


def test_numbers_stay_numbers_in_the_export_and_formulas_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: saved.update({name: file.read().decode()})
    )
    log = LogFolder(tmp_path / "t")
    rows = pa.table({"id": [-5, 6], "part": ["=1+1", None]})
    pq.write_table(rows, log.root / "a.parquet")
    size = (log.root / "a.parquet").stat().st_size
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet", size=size)])
    page = Page().open(log.root, view="rows")
    part = next(part for part in page.parts() if "All 2 rows" in part.html)
    part._handle_msg({"action": "export", "value": ""})
    assert saved["rows-0.csv"].splitlines() == ["id,part", "-5,'=1+1", "6,"]


def test_null_is_told_from_the_text_null() -> None:
    assert value_cell(None).muted
    assert not value_cell("null").muted
    assert value_cell({"a": [1]}).text == '{"a": [1]}'


def test_columns_beyond_those_shown_are_counted() -> None:
    names = [f"c{at}" for at in range(COLUMNS_SHOWN + 3)]
    html = render_rows("Rows", names, [dict.fromkeys(names, 1)])
    assert "Not shown: 3 more columns." in html
    assert f"c{COLUMNS_SHOWN - 1}<" in html
    assert f"c{COLUMNS_SHOWN}<" not in html


def rows_of(**columns: list[Any]) -> Rows:
    return plain_rows(pa.table(columns))


def test_rows_are_sorted_by_their_values_with_null_last() -> None:
    found = rows_of(n=[10, None, 9], d=[Decimal("10.5"), Decimal("9.5"), None])
    assert [row["n"] for row in sort_rows(found, "n", descending=False).rows] == [9, 10, None]
    assert [row["n"] for row in sort_rows(found, "n", descending=True).rows] == [10, 9, None]
    by_decimal = sort_rows(found, "d", descending=False)
    assert [row["d"] for row in by_decimal.rows] == ["9.5", "10.5", None]
    assert by_decimal.frame["n"].to_pylist() == [None, 10, 9]


def test_decimals_stand_right_like_all_numbers() -> None:
    found = rows_of(d=[Decimal("10.5")], name=["x"])
    html = render_rows("Rows", found.names, found.rows, Grid(numbers=found.numbers))
    assert '<td class="dx-right">10.5</td>' in html
    assert '<td class="dx-left">x</td>' in html


def test_instants_are_marked_by_their_type_and_times_without_a_zone_are_not() -> None:
    when = datetime(2026, 10, 19, 9, 56, 11, tzinfo=UTC)
    text = "2026-10-19 09:56:11 UTC"
    found = plain_rows(
        pa.table(
            {
                "at": pa.array([when], pa.timestamp("us", "UTC")),
                "wall": pa.array([when], pa.timestamp("us")),
                "day": pa.array([when.date()]),
                "said": [text],
            }
        )
    )
    assert found.instants == {"at"}
    grid = Grid(numbers=found.numbers, instants=found.instants)
    html = render_rows("Rows", found.names, found.rows, grid)
    assert f'<td class="dx-left dx-instant">{text}</td>' in html
    assert f'<td class="dx-left">{text}</td>' in html
    assert '<td class="dx-left">2026-10-19 09:56:11</td>' in html
    assert '<td class="dx-left">2026-10-19</td>' in html


def test_columns_are_found_hidden_and_pinned() -> None:
    names = [f"c{at}" for at in range(300)]
    columns = Columns().pin("c7").pin("c3").search("C29")
    assert columns.shown(names) == ["c7", "c3", "c29", *(f"c29{at}" for at in range(10))]
    assert columns.num_pinned(names) == 2
    assert Columns().toggle("c1").shown(["c0", "c1", "c2"]) == ["c0", "c2"]
    assert Columns().toggle("c1").pin("c1").shown(["c0", "c1"]) == ["c1", "c0"]
    assert columns.among(["c3", "x"]).pinned == ("c3",)


def test_a_pinned_column_is_hidden_by_one_click_and_comes_back_unpinned() -> None:
    hidden = Columns().pin("c1").toggle("c1")
    assert hidden.shown(["c0", "c1"]) == ["c0"]
    assert hidden.num_pinned(["c0", "c1"]) == 0
    assert hidden.toggle("c1") == Columns()


def test_columns_are_sorted_and_pinned_on_the_page(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", version=0)
    page.do("sort", "id")
    page.do("sort", "id")
    table = page.html.partition("<caption>Rows</caption>")[2]
    assert 'aria-sort="descending"' in table
    assert table.index(">9<") < table.index(">0<")
    page.do("pin", "part")
    head = page.html.partition("<caption>Rows</caption>")[2].partition("</thead>")[0]
    assert head.index('data-value="part"') < head.index('data-value="id"')


def test_all_columns_are_offered_where_some_are_hidden(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", version=0)
    for action, name in (("sort", "id"), ("pin", "part")):
        page.do(action, name)
        assert "Show all columns" not in page.html
    names = [f"c{at}" for at in range(20)]
    arranged = Columns().sort_by("c3").pin("c7")
    for fewer in (arranged.toggle("c1"), arranged.search("c1")):
        assert 'data-do="all"' in render_columns(fewer, names)
        assert fewer.show_all() == arranged
    assert 'data-do="all"' not in render_columns(arranged, names)
    assert 'data-do="all"' not in render_columns(arranged.search("c"), names)
    page.state.rows = "hidden=part&by=id&pinned=id"
    page.do("all")
    assert page.state.rows == "by=id&pinned=id"


def test_an_unknown_column_is_answered_with_the_nearest(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", where="prat = 'x'")
    assert "Did you mean part?" in page.html
    assert 'data-names="[&quot;id&quot;' not in page.html
    page.do("where", "id = 12")
    assert 'data-names="[&quot;id&quot;, &quot;part&quot;]"' in page.html


def test_the_values_of_a_clicked_row_lead_to_their_commits(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", version=1)
    assert "Who set the values" not in page.html
    page.do("row", "12")
    assert "<code>id = 12</code>" in page.html
    page.do("blame")
    assert "Version 1 (WRITE) inserted the row" in page.html
    page.do("key", "")
    assert "id = 12 AND part = &#x27;row 12&#x27;" in page.html
    page.do("blame")
    page.do("commit", "1")
    assert (page.state.view, page.state.version) == ("timeline", 1)


def test_rows_are_asked_for_by_what_tells_them_apart() -> None:
    day, time = date(2026, 11, 1), datetime(2026, 11, 1, 10, 22, 3, 5, tzinfo=UTC)
    table = pa.table(
        {
            "name": ["a", "it's"],
            "order_id": [1, 2],
            "day": [day, date(2026, 11, 2)],
            "time": pa.array([time, None], pa.timestamp("us", "UTC")),
            "price": [1.5, 2.5],
            "same": [1, 1],
        }
    )
    assert look.key_columns(table) == ["order_id", "name", "day"]
    assert look.row_condition(table, 1, ["name", "time"]) == "name = 'it\\'s' AND time IS NULL"
    found = look.row_condition(table, 0, ["day", "time"])
    assert found == "day = DATE '2026-11-01' AND time = TIMESTAMP '2026-11-01 10:22:03.000005Z'"
    assert look.row_condition(table, 0, ["price"]) is None
