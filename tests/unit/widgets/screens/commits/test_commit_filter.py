"""Which commits are shown, what they did together, and how they are marked."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bokeh.document import Document
from panel.io import document as panel_document

from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page, shop
from tests.unit.widgets.screens.commits.test_commits import SCHEMA, commit, frame
from widgets.figures.cells import Stretch
from widgets.figures.commits import build_changes, build_range_sums, read_commits
from widgets.figures.filters import build_shown, list_effects, list_values
from widgets.figures.marks import EVENTS, build_events, build_log_files, find_events, find_shapes
from widgets.figures.timeline import (
    History,
    build_timeline,
    fill_timeline,
    find_between,
    find_versions,
    show_range,
)
from widgets.session.work import free_stuck_messages
from widgets.state import parse_filter, render_filter
from widgets.theme import LIGHT

MARKED = pa.schema(
    [*SCHEMA, ("has_protocol", pa.bool_()), ("has_metadata", pa.bool_()),
     ("schema_fingerprint", pa.string())]
)  # fmt: skip


def said(*rows: dict[str, Any]) -> Any:
    return read_commits(
        pa.Table.from_pylist([dict.fromkeys(MARKED.names) | row for row in rows], schema=MARKED)
    )


WRITES = read_commits(
    frame(
        commit(0, user_name="ann", files_added=1, files_removed=0),
        commit(1, user_name="bob", operation="MERGE", files_added=2, files_removed=1),
        commit(2, operation=None, files_added=4, files_removed=0),
        commit(4, user_name="Annie", operation="MERGE"),
    )
)


@pytest.mark.parametrize(
    ("wanted", "versions"),
    [
        ({}, [0, 1, 2, 4]),
        ({"operation": "MERGE"}, [1, 4]),
        ({"operation": ""}, [2]),
        ({"operation": "MERGE", "user": "bob"}, [1]),
        ({"text": "ANN"}, [0, 4]),
        ({"engine": "none of them"}, []),
    ],
)
def test_a_filter_lets_through_what_meets_all_of_it(
    wanted: dict[str, str], versions: list[int]
) -> None:
    assert WRITES.version[build_shown(WRITES, wanted)].tolist() == versions


def test_commits_that_deleted_rows_are_found_whatever_they_are_called() -> None:
    commits = said(
        {"version": 0, "operation": "WRITE", "rows_added": 9, "rows_removed": 0},
        {"version": 1, "operation": "MERGE", "rows_added": 2, "rows_removed": 3},
        {"version": 2, "operation": "DELETE", "rows_added": 0, "rows_removed": 4},
        # one that does not say how many rows its files had, one that moved them, one cut off
        {"version": 3, "operation": "WRITE", "rows_added": 5, "files_removed": 2},
        {"version": 4, "operation": "OPTIMIZE", "rows_added": 0, "rows_removed": 0,
         "files_added": 1, "files_removed": 6},
        {"version": 5},
        # a vector that does not say how many rows it hides
        {"version": 6, "operation": "DELETE", "rows_added": 0, "deletion_vectors_added": 1},
    )  # fmt: skip
    assert list_effects(commits) == [("removed", 4), ("added", 3)]
    assert commits.version[build_shown(commits, {"effect": "removed"})].tolist() == [1, 2, 3, 6]
    assert commits.version[build_shown(commits, {"effect": "added"})].tolist() == [0, 1, 3]
    assert build_shown(commits, {"effect": "eaten"}).all()  # an address may say anything
    assert render_filter(parse_filter("effect=removed")) == "effect=removed"


def test_values_to_choose_from_are_counted_and_the_most_frequent_first() -> None:
    assert list_values(WRITES, "operation") == [("MERGE", 2), ("", 1), ("WRITE", 1)]


@pytest.mark.parametrize("text", ["operation=MERGE&user=a%26b", "text=%3Cb%3E", "operation="])
def test_a_filter_comes_back_from_the_address_as_it_was(text: str) -> None:
    assert render_filter(parse_filter(text)) == text


def test_parts_of_a_filter_that_mean_nothing_are_left_out() -> None:
    assert parse_filter("nonsense=1&user=ann&&%%%") == {"user": "ann"}


def test_the_sums_of_a_range_begin_after_its_older_version() -> None:
    found = build_range_sums(WRITES, 0, 2)
    assert (found.count, found.missing) == (2, 0)
    assert (found.sums["files_added"], found.sums["files_removed"]) == (6, 1)
    assert found.sums["rows_added"] is None
    assert dict(found.operations) == {"MERGE": 1, "UNKNOWN": 1}


def test_a_range_with_versions_that_are_not_read_has_no_sums() -> None:
    found = build_range_sums(WRITES, 1, 4)
    assert (found.count, found.missing) == (2, 1)
    assert found.sums["files_added"] is None


def test_changes_are_summed_by_slice_and_only_of_what_is_shown() -> None:
    low, high = WRITES.bounds()
    every = np.ones(4, dtype=np.bool_)
    changes = build_changes(WRITES, "files", low, high, every)
    assert changes.added.sum() == 7
    assert changes.removed.sum() == -1
    only = build_changes(WRITES, "files", low, high, build_shown(WRITES, {"user": "bob"}))
    assert (only.added.tolist(), only.removed.tolist()) == ([2], [-1])
    assert not len(build_changes(WRITES, "rows", low, high, every).left)


def test_schema_changes_are_told_from_other_metadata() -> None:
    commits = said(
        commit(0, has_protocol=True, has_metadata=True, schema_fingerprint="a"),
        commit(1),
        commit(2, has_metadata=True, schema_fingerprint="a"),
        commit(3, has_metadata=True, schema_fingerprint="b"),
        commit(4, operation="restore"),
    )
    found = {
        kind: commits.version[chosen].tolist() for kind, chosen in find_events(commits).items()
    }
    assert found == {"protocol": [0], "schema": [3], "properties": [0, 2], "restore": [4]}
    every = np.ones(5, dtype=np.bool_)
    assert find_shapes(commits, every) == ["protocol", "schema", "properties", "restore"]
    assert find_shapes(commits, commits.version == 2) == ["properties"]
    # the legend names no shape that the plot does not have
    first = said(commit(0, has_protocol=True, has_metadata=True, schema_fingerprint="a"))
    assert find_shapes(first, every[:1]) == ["protocol"]


def test_only_changes_by_commits_that_the_filter_lets_through_are_marked() -> None:
    commits = said(commit(0, has_protocol=True), commit(9, has_metadata=True))
    low, high = commits.bounds()
    drawn = build_events(commits, Stretch(low=low, high=high), np.array([False, True]))
    assert drawn["what"] == ["9"]


def test_changes_of_the_table_have_a_lane_only_where_there_are_some() -> None:
    for rows, there in (([commit(0)], False), ([commit(0, has_metadata=True)], True)):
        commits = said(*rows, commit(9))
        plot = build_timeline(LIGHT, commits.axis)
        low, high = commits.bounds()
        plot.x_range.update(start=low, end=high)
        fill_timeline(plot, History(commits=commits))
        assert (EVENTS in plot.lanes.y_range.factors) is there


def test_log_compactions_stand_at_their_last_commit() -> None:
    low, high = WRITES.bounds()
    drawn = build_log_files(WRITES, [(0, 2), (2, 3)], Stretch(low=low, high=high))
    assert drawn["compaction"] == ["0 to 2"]
    assert drawn["x"] == [WRITES.x[2]]
    hidden = np.array([True, True, False, True])
    drawn = build_log_files(WRITES, [(0, 2), (0, 1)], Stretch(low=low, high=high), hidden)
    assert drawn["compaction"] == ["0 to 1"]


def test_a_range_is_shaded_from_one_version_to_the_other() -> None:
    plot = build_timeline(LIGHT, WRITES.axis)
    show_range(plot, WRITES, 2, 1)
    assert {(box.left, box.right) for box in plot.ranges} == {(WRITES.x[1], WRITES.x[2])}
    assert all(box.visible for box in plot.ranges)
    show_range(plot, WRITES, None, 1)
    assert not any(box.visible for box in plot.ranges)
    assert find_between(WRITES, 7, 9) is None
    assert find_versions(WRITES, float(WRITES.x[1]) - 1, float(WRITES.x[2]) + 1) == (1, 2)
    assert find_versions(WRITES, -2.0, -1.0) is None


@pytest.mark.slow
def test_a_hundred_thousand_commits_with_marks_are_a_thousand_glyphs_in_each_layer() -> None:
    rows = 100_000
    versions = np.arange(rows)
    commits = read_commits(
        pa.table(
            {
                **{name: pa.nulls(rows, MARKED.field(name).type) for name in MARKED.names},
                "version": versions,
                "timestamp": pa.array(versions * 60_000, pa.timestamp("ms", "UTC")),
                "operation": pa.array(["WRITE", "RESTORE"] * (rows // 2)),
                "files_added": versions,
                "files_removed": versions,
                "has_protocol": [True] * rows,
                "has_metadata": [True] * rows,
                "is_checkpoint": [True] * rows,
                "schema_fingerprint": pa.array([str(n) for n in range(rows)]),
            },
            schema=MARKED,
        )
    )
    plot = build_timeline(LIGHT, commits.axis, "files")
    low, high = commits.bounds()
    plot.x_range.update(start=low, end=high)
    live = versions.astype(np.float64)
    pairs = [(at, at + 1) for at in range(0, rows, 2)]
    fill_timeline(plot, History(commits=commits, live=live, compactions=pairs))
    for name, source in plot.sources.items():
        for values in source.data.values():
            assert len(values) <= 1000, name


def test_a_filter_is_shared_by_plot_table_and_address(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path), view="timeline")
    page.do("operation", "=MERGE")
    assert page.state.address.only == "operation=MERGE"
    assert "1\N{EN DASH}25 of 29 commits" in page.html
    page.do("filter", "user 1")
    assert parse_filter(page.state.only) == {"operation": "MERGE", "text": "user 1"}
    assert "25 of 29 commits" not in page.html
    page.do("operation", "any")
    assert parse_filter(page.state.only) == {"text": "user 1"}
    page.do("clear")
    assert page.state.only == ""


def test_a_range_is_typed_summed_up_and_compared(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path), view="timeline")
    page.enter(older="10")
    page.enter(newer="12")
    assert (page.state.older, page.state.version) == (10, 12)
    assert "2 commits: " in page.html
    assert "files +2 \N{MINUS SIGN}0" in page.html
    for wrong in ("60", "x"):
        page.enter(older=wrong, newer="11")
        assert (page.state.older, page.state.version) == (10, 12)
        assert f"&#x27;{wrong}&#x27; is not a version of this table: the latest is 59." in page.html
    page.do("clear")
    assert page.state.older is None
    assert "is not a version" not in page.html
    page.enter(older="3", newer="20")
    assert (page.state.older, page.state.version) == (3, 20)
    page.enter(older="")
    assert page.state.older is None


def test_a_version_of_another_table_begins_no_range_of_this_one(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path), view="timeline", version=12, older=3, other="/lake/copy")
    assert "9 commits: " not in page.html
    page.enter(older="10")
    assert (page.state.older, page.state.other) == (10, "")
    assert "2 commits: " in page.html
    page.state.other = "/lake/copy"
    page.enter(older="13", newer="14")
    page.do("compare")
    assert (page.state.older, page.state.version, page.state.other) == (13, 14, "")


def test_rows_that_a_commit_does_not_record_say_how_to_learn_them(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(), add("a", stats='{"numRecords":38}')])
    info = {"commitInfo": {"operation": "WRITE", "operationParameters": {"mode": "Overwrite"}}}
    # of a file whose add is not in the log
    gone = {"remove": {"path": "elsewhere", "dataChange": True, "deletionTimestamp": 1}}
    log.commit(1, [info, gone, add("b", stats='{"numRecords":6}')])
    page = Page().open(log.root, view="timeline")
    said = "The commit does not record how many rows it removed: open it to count them."
    assert f'title="{said}">+6 \N{MINUS SIGN}?<' in page.html
    assert page.html.count("does not record how many rows") == 1
    log.commit(2, [info, add("c")])
    page.explorer.reload()
    assert "how many rows it added: open it" in page.html


def test_a_queue_of_messages_that_panel_forgot_is_sent() -> None:
    class Socket:
        """A connection's end that takes messages."""

    class Connection:
        _socket = Socket()

    sent: list[Any] = []

    def take(_: Any, events: Any = None, msg: Any = None) -> list[Any]:
        sent.append(msg)
        return []

    async def wait() -> None:
        document = Document()
        panel_document._WRITE_MSGS[document] = {Connection(): ["first", "second"]}
        free_stuck_messages()
        for _ in range(100):
            await asyncio.sleep(0.01)
            if len(sent) == 2:
                break
        assert document not in panel_document._WRITE_MSGS

    panel_document.extra_socket_handlers[Socket] = take
    try:
        # a browser that Playwright drives has a loop running in this thread
        with ThreadPoolExecutor(1) as beside:
            beside.submit(lambda: asyncio.run(wait())).result()
    finally:
        del panel_document.extra_socket_handlers[Socket]
    assert sent == ["first", "second"]


def test_the_queue_of_a_browser_that_has_gone_holds_no_page() -> None:
    class Socket:
        """A socket that was closed while it wrote: what waits for it waits for ever."""

        ws_connection = None

    class Connection:
        _socket = Socket()

    document = Document()
    panel_document._WRITE_MSGS[document] = {Connection(): ["first"]}
    free_stuck_messages()
    assert document not in panel_document._WRITE_MSGS
