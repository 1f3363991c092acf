"""Deletion vectors on the page: density, positions, the commits behind them, the rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

import explorer
from explorer.progress import Watch
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from tests.conftest import CORPUS
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, metadata, remove, vector
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.vectors._ask import (
    BINS,
    build_bins,
    read_file_vector,
    read_hiding_commits,
    read_vectors,
)
from widgets.screens.vectors._parts import vectors_sentence
from widgets.session.tables import TableService
from widgets.ui.live_html import LiveHtml

STATS = json.dumps({"numRecords": 1000})
PATH = "a.parquet"
LATEST = (1, 3, *range(500, 600))


def inline(positions: Iterable[int]) -> dict[str, Any]:
    """A vector in the log itself."""
    return render_descriptor(build_inline_descriptor(positions))


def hiding(positions: Iterable[int]) -> Action:
    """A file whose vector hides these rows."""
    return add(PATH, stats=STATS, size=10_000, deletionVector=inline(positions))


def no_longer(positions: Iterable[int]) -> Action:
    """The same file leaves."""
    return remove(PATH, deletionVector=inline(positions))


def orders(folder: Path) -> LogFolder:
    """A file of a thousand rows, of which versions 1 and 3 hide some."""
    log = LogFolder(folder / "orders")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add(PATH, stats=STATS), add("b.parquet")])
    log.commit(1, [{"commitInfo": {"operation": "DELETE"}}, remove(PATH), hiding([1, 3])])
    log.commit(2, [{"commitInfo": {"operation": "WRITE"}}, add("c.parquet")])
    merge = {"commitInfo": {"operation": "MERGE"}}
    log.commit(3, [merge, no_longer([1, 3]), hiding(LATEST)])
    rows = pa.table({"id": range(1000), "part": [f"row {at}" for at in range(1000)]})
    pq.write_table(rows, log.root / PATH, row_group_size=100)
    return log


def commits_behind(root: Path, version: int | None = None) -> list[tuple[int, int, set[int]]]:
    service = TableService(explorer.open_table(root))
    latest = service.table.latest_version() if version is None else version
    file = read_file_vector(service, latest, PATH)
    found = read_hiding_commits(service, file, Watch())
    return [(one.since, one.version, set(one.hidden)) for one in found]


@given(st.sets(st.integers(0, 3000), max_size=200), st.integers(0, 2500), st.integers(0, 2500))
def test_bins_count_each_hidden_row_of_their_window_once(
    hidden: set[int], first: int, count: int
) -> None:
    last = first + count
    bins = build_bins(BitMap64(hidden), first, last)
    assert len(bins) == min(BINS, count + 1)
    assert (bins[0].first, bins[-1].last) == (first, last)
    for part, following in pairwise(bins):
        assert part.last + 1 == following.first
    for part in bins:
        assert part.hidden == sum(part.first <= position <= part.last for position in hidden)


def test_rows_are_told_with_the_commit_that_first_hid_them(tmp_path: Path) -> None:
    root = orders(tmp_path).root
    assert commits_behind(root) == [(1, 1, {1, 3}), (3, 3, set(range(500, 600)))]
    assert commits_behind(root, 2) == [(1, 1, {1, 3})]


def test_a_file_that_went_and_came_again_begins_anew(tmp_path: Path) -> None:
    log = orders(tmp_path)
    log.commit(4, [no_longer(LATEST)])
    log.commit(5, [hiding([1])])
    assert commits_behind(log.root) == [(5, 5, {1})]


def test_rows_of_a_vector_that_is_gone_are_told_of_with_the_range_of_versions(
    tmp_path: Path,
) -> None:
    log = orders(tmp_path)
    log.commit(4, [no_longer(LATEST), add(PATH, stats=STATS, deletionVector=vector(offset=1))])
    log.commit(5, [remove(PATH, deletionVector=vector(offset=1)), hiding([*LATEST, 7])])
    assert commits_behind(log.root)[-1] == (4, 5, {7})


def test_what_was_hidden_before_the_log_begins_is_told_so(tmp_path: Path) -> None:
    log = orders(tmp_path)
    known = [FEATURE_PROTOCOL, metadata(), hiding([1, 3]), add("b.parquet")]
    log.checkpoint(1, known)
    for version in (0, 1):
        (log.log / f"{version:020}.json").unlink()
    assert commits_behind(log.root) == [(0, 1, {1, 3}), (3, 3, set(range(500, 600)))]
    page = Page().open(log.root, view="vectors", file=PATH)
    assert "1 or before" in page.html


def test_the_view_says_how_much_is_hidden_and_what_a_purge_would_free(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="vectors")
    assert "1 of 3 files has a deletion vector: 102 rows are soft-deleted." in page.html
    assert "10.2%" in page.html
    assert "1020 B" in page.html


def test_a_version_without_vectors_says_so(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="vectors", version=0)
    assert "No file of this version has a deletion vector" in page.html


def test_the_file_of_the_address_opens_and_zooms_to_single_rows(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="vectors", file=PATH)
    assert "102 of 1,000 rows are soft-deleted (10.20%)." in page.html
    page.do("zoom", "500-504")
    assert "Rows 500 to 504 of 1,000: 5 soft-deleted" in page.html
    assert "row 502: soft-deleted" in page.html
    page.do("zoom", "left")
    assert "Rows 499 to 503 of 1,000: 4 soft-deleted" in page.html
    page.do("zoom", "all")
    assert "Rows 0 to 999 of 1,000: 102 soft-deleted" in page.html


@pytest.mark.slow
@pytest.mark.parametrize("move", ["5", "-", "9-x", "", "900-99999999999", "in", "out", "right"])
def test_no_zoom_leaves_the_file(tmp_path: Path, move: str) -> None:
    page = Page().open(orders(tmp_path).root, view="vectors", file=PATH)
    for _ in range(20):
        page.do("zoom", move)
    strip = next(part.html for part in page.parts() if "Which rows" in part.html)
    first, last = strip.split("Rows ")[1].split(" of ")[0].split(" to ")
    assert 0 <= int(first) <= int(last.replace(",", "")) <= 999


def test_hidden_rows_are_shown_as_they_were_with_the_version_that_hid_them(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="vectors", file=PATH)
    page.do("rows")
    assert "row 3<" in page.html
    assert "row 4<" not in page.html
    assert "version 1" in page.html
    rows = next(part for part in page.parts() if "The rows as they were" in part.html)
    rows._handle_msg({"action": "page", "value": "75"})
    assert "row 597<" in page.html
    assert "76\N{EN DASH}100 of 102 soft-deleted rows" in page.html


def test_a_row_leads_to_the_commit_that_hid_it_in_two_clicks(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="vectors")
    page.do("file", PATH)
    page.do("rows")
    rows = page.html.partition("Soft-deleted rows as they were")[2]
    assert "version 1" in rows
    assert "version 3" in rows


def test_the_rows_of_one_commit_are_shown_alone(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="vectors", file=PATH)
    page.do("by", "3")
    assert "Rows 0 to 999 of 1,000: 100 soft-deleted by version 3" in page.html
    page.do("rows")
    assert "row 3<" not in page.html
    assert "row 500<" in page.html


def test_a_file_that_is_not_live_is_said_not_to_be(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="vectors", file="nowhere.parquet")
    assert "There is no file nowhere.parquet in version 3." in page.html


def test_a_data_file_that_is_gone_keeps_the_strip(tmp_path: Path) -> None:
    log = orders(tmp_path)
    (log.root / PATH).unlink()
    page = Page().open(log.root, view="vectors", file=PATH)
    page.do("rows")
    assert 'role="alert"' in page.html
    assert "102 of 1,000 rows are soft-deleted" in page.html


def test_vectors_are_exported_with_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: saved.update({name: file.read().decode()})
    )
    page = Page().open(orders(tmp_path).root, view="vectors")
    page.do("sort", "path")
    view = next(part for part in page.parts() if "Deletion vectors of version" in part.html)
    view._handle_msg({"action": "export", "value": ""})
    lines = saved["deletion-vectors-3.csv"].splitlines()
    assert lines[1].startswith("a.parquet,102,1000,0.102,10000,1020,i,")


def test_rows_that_spark_hid_are_shown_as_they_were() -> None:
    root = CORPUS / "tables" / "kernel-table-with-dv-small"
    (path,) = explorer.open_table(root).snapshot().files(["path"]).column("path").to_pylist()
    page = Page().open(root, view="vectors", file=path)
    page.do("rows")
    assert "2 of 10 rows are soft-deleted" in page.html
    assert "1\N{EN DASH}2 of 2 soft-deleted rows" in page.html


@pytest.mark.parametrize("cardinality", [-2, 2000])
def test_hidden_rows_that_there_cannot_be_are_unknown(tmp_path: Path, cardinality: int) -> None:
    log = LogFolder(tmp_path / "orders")
    wrong = add(PATH, stats=STATS, deletionVector=vector(cardinality=cardinality))
    log.commit(0, [FEATURE_PROTOCOL, metadata(), wrong])
    service = TableService(explorer.open_table(log.root))
    told: list[str] = []
    found = read_vectors(service, 0, Watch(), told.append)
    assert (found.num_hidden, found.num_rows) == (None, None)
    assert "an unknown number of rows" in vectors_sentence(found)
    assert (f"{cardinality:,}" in told[0]) is (cardinality > 0)  # before rows are counted
