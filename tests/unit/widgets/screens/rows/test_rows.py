"""Rows on the page: those that meet a condition, and when such rows were changed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.rows.ask import PREVIEW_ROWS
from widgets.screens.rows.parts import COLUMNS_SHOWN, render_rows, value_cell
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


def test_the_history_of_rows_is_searched_on_demand(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="rows", where="id = 7")
    assert "Versions that changed such rows" not in page.html
    page.do("search")
    table = page.html.partition("Versions that changed such rows")[2]
    assert 'data-value="0"' in table
    assert 'data-value="2"' in table
    assert 'data-value="1"' not in table.partition("The changed rows")[0]
    assert "sam" in table
    page.do("version", "0")
    assert page.state.version == 0
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
    assert "3 more columns are not shown." in html
    assert f"c{COLUMNS_SHOWN - 1}<" in html
    assert f"c{COLUMNS_SHOWN}<" not in html
