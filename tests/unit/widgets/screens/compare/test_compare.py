"""Two versions compared on the page: what differs is said, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.errors import Problem
from explorer.progress import Progress, Watch
from tests.change_feeds import Feed
from tests.tables import PROTOCOL, SCHEMA, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.session.asking import Question
from widgets.session.page_services import OpenTables
from widgets.session.tables import TableService
from widgets.session.work import InlineRunner
from widgets.state import Address, render_address
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages


def stats(rows: int) -> str:
    return json.dumps({"numRecords": rows, "minValues": {"id": 1}, "maxValues": {"id": rows}})


def orders(folder: Path) -> Path:
    """Five versions: a file, another in its place, a column, nothing, thirty files."""
    wider = json.loads(SCHEMA)
    wider["fields"].append({"name": "note", "type": "string", "nullable": True, "metadata": {}})
    log = LogFolder(folder / "orders")
    log.commit(0, [PROTOCOL, metadata(), add("old.parquet", stats=stats(10))])
    log.commit(1, [add("new.parquet", stats=stats(4), size=300), remove("old.parquet", size=100)])
    log.commit(
        2,
        [metadata(schemaString=json.dumps(wider), configuration={"delta.appendOnly": "true"})],
    )
    log.commit(3, [{"commitInfo": {"operation": "OPTIMIZE"}}])
    log.commit(4, [add(f"{at:02}.parquet", stats=stats(1)) for at in range(30)])
    for name in ("old", "new", *(f"{at:02}" for at in range(30))):
        (log.root / f"{name}.parquet").write_bytes(b"")
    return log.root


def test_a_comparison_says_in_a_sentence_what_differs(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=2, older=0)
    assert (
        "From version 0 to 2: 6 fewer rows; 1 file added and 1 removed; "
        "the schema differs; the properties differ; other features in use." in page.html
    )
    assert "note" in page.html
    assert "Files written before lack it" in page.html
    assert "delta.appendOnly" in page.html


def test_layers_that_are_the_same_are_called_so(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=1, older=0)
    assert "The same: schema, properties, protocol." in page.html
    assert "<h3>Schema</h3>" not in page.html
    assert "<h3>Properties and protocol</h3>" not in page.html
    assert "the schema differs" not in page.html


def test_versions_that_do_not_differ_are_said_not_to(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=3)
    assert "From version 2 to 3: no file differs." in page.html


def test_without_another_version_the_one_before_is_compared_with(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=1)
    assert "From version 0 to 1" in page.html


def test_the_first_version_has_none_to_be_compared_with(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=0)
    assert "there is none before it" in page.html


def test_a_version_is_not_compared_with_itself(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=2, older=2)
    assert "Both are the same version" in page.html


def test_typed_versions_go_into_the_address(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare")
    page.enter(older="1", version="2")
    assert (page.state.older, page.state.version) == (1, 2)
    page.do("swap")
    assert (page.state.older, page.state.version) == (2, 1)
    assert "this is what restoring version 1 would do." in page.html


@pytest.mark.parametrize("typed", ["99", "-1", "latest", ""])
def test_a_version_that_is_none_is_said_to_be_none(tmp_path: Path, typed: str) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=2)
    page.enter(older=typed)
    assert "is not a version of this table" in page.html
    assert page.state.older is None


def test_a_version_whose_log_is_gone_is_said_to_be(tmp_path: Path) -> None:
    root = orders(tmp_path)
    (root / "_delta_log" / f"{0:020}.json").unlink()
    page = Page().open(root, view="compare", version=4, older=1)
    assert 'role="alert"' in page.html


def test_the_files_that_differ_are_paged_and_told_apart_by_kind(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=4, older=0)
    assert "1\N{EN DASH}25 of 32 files" in page.html
    page.do("page", "25")
    assert "26\N{EN DASH}32 of 32 files" in page.html
    page.do("kind", "removed")
    assert "1\N{EN DASH}1 of 1 file" in page.html
    assert "old.parquet" in page.html
    page.do("kind", "everything")
    assert "1\N{EN DASH}1 of 1 file" in page.html


def test_the_exported_files_hold_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: saved.update({name: file.read().decode()})
    )
    page = Page().open(orders(tmp_path), view="compare", version=1, older=0)
    files = next(part for part in page.parts() if 'data-do="kind"' in part.html)
    files._handle_msg({"action": "export", "value": ""})
    lines = saved["files-0-to-1.csv"].splitlines()
    assert lines[1].startswith("added,new.parquet,,,300,,4,,0,")
    assert lines[2].startswith("removed,old.parquet,,100,,10,,0,,")


def test_a_restore_is_planned_on_demand_and_changes_nothing(tmp_path: Path) -> None:
    root = orders(tmp_path)
    before = sorted(root.rglob("*"))
    page = Page().open(root, view="compare", version=4, older=0)
    assert "Restores version 0" not in page.html
    page.do("plan")
    assert "At most 34 rows are removed and 10 return, 24 fewer in all" in page.html
    assert "Columns: note is removed. Restores version 0" in page.html
    assert "Take note: At most 34 rows of version 4 will no longer be in the table" in page.html
    assert "<dt>Rows removed</dt><dd>at most 34</dd>" in page.html
    assert "<dt>Columns removed</dt><dd>note</dd>" in page.html
    assert "it was not part of version 0" in page.html
    assert "RESTORE TABLE" in page.html
    assert sorted(root.rglob("*")) == before


def test_a_restore_whose_files_are_gone_is_said_to_be_refused(tmp_path: Path) -> None:
    root = orders(tmp_path)
    (root / "old.parquet").unlink()
    page = Page().open(root, view="compare", version=4, older=0)
    page.do("plan")
    assert "It is refused: 1 file of version 0 is gone" in page.html


def test_a_commit_leads_to_its_comparison(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="timeline", version=2)
    page.do("compare", "latest")
    assert (page.state.view, page.state.older, page.state.version) == ("compare", 2, 4)
    page.state.param.update(view="timeline", version=2, older=3, other="/lake/copy")
    page.do("compare", "previous")
    assert page.state.address == Address(table=page.state.table, version=2, view="compare")
    page.state.param.update(view="timeline", version=2, other="/lake/copy")
    page.do("compare", "latest")
    assert (page.state.older, page.state.version, page.state.other) == (2, 4, "")


def test_a_table_that_is_opened_is_not_compared_with_what_the_last_one_was(tmp_path: Path) -> None:
    page = Page().open(people(tmp_path), view="compare", version=1)
    page.enter(other=str(people(tmp_path, "copy")))
    page.explorer._open_beside(str(orders(tmp_path)))
    assert (page.state.view, page.state.older, page.state.other) == ("compare", None, "")
    assert "From version 3 to 4" in page.html


class Later:
    """A runner whose work waits until it is told to go on."""

    is_background = True

    def __init__(self) -> None:
        self.waiting: list[object] = []
        self.inline = InlineRunner()

    def run(self, work: object, done: object, failed: object) -> None:
        self.waiting.append((work, done, failed))

    run_planning = run

    def post(self, change: object) -> None:
        change()  # type: ignore[operator]

    def post_later(self, _: float, change: object) -> None:
        self.post(change)

    def go_on(self) -> None:
        for work, done, failed in self.waiting:  # type: ignore[misc]
            self.inline.run(work, done, failed)
        self.waiting = []


def test_the_answer_to_an_older_question_is_dropped_and_its_work_not_begun_any_more() -> None:
    runner, heard, flags = Later(), [], []
    question = Question(runner)  # type: ignore[arg-type]

    def work(name: str, watch: Watch) -> str:
        flags.append(watch.cancel is not None and watch.cancel.is_cancelled)
        return name

    def fail(problem: Problem) -> None:
        heard.append(problem.problem)

    question.ask(lambda watch: work("first", watch), heard.append, fail)
    question.ask(lambda watch: work("second", watch), heard.append, fail)
    runner.go_on()
    assert heard == ["second"]
    assert flags == [False]


def test_work_that_has_begun_for_an_older_question_is_told_to_stop() -> None:
    question = Question(InlineRunner())
    flags: list[bool] = []

    def work(watch: Watch) -> None:
        question.drop()
        flags.append(watch.cancel is not None and watch.cancel.is_cancelled)

    question.ask(work, fail_with, fail_with)
    assert flags == [True]


def fail_with(_: object) -> None:
    raise AssertionError("an answer that nobody waits for was told")


def test_progress_of_a_question_that_is_dropped_is_not_reported() -> None:
    runner, reports = Later(), []
    question = Question(runner)  # type: ignore[arg-type]

    def work(watch: Watch) -> None:
        assert watch.progress is not None
        watch.progress(Progress(done=1, total=2, label="reading"))

    question.ask(work, lambda _: None, lambda _: None, reports.append)
    question.drop()
    runner.go_on()
    assert reports == []
    question.ask(work, lambda _: None, lambda _: None, reports.append)
    runner.go_on()
    assert [report.done for report in reports] == [1]


@pytest.mark.parametrize(("turned", "offset"), [("25", 25), ("30", 25), ("999", 50), ("x", 0)])
def test_a_page_begins_where_pages_begin_and_exists(turned: str, offset: int) -> None:
    html = LiveHtml()
    pages = Pages(html, "rows", lambda: None)
    html._handle_msg({"action": "page", "value": turned})
    assert pages.span(60) == (offset, 25)


def test_an_application_that_moved_on_is_told_from_properties_that_differ(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet", stats=stats(1))])
    log.commit(1, [{"txn": {"appId": "stream", "version": 7}}])
    log.commit(2, [metadata(configuration={"owner": "ann"})])
    innocent = Page().open(log.root, view="compare", version=1, older=0)
    problem = Page().open(log.root, view="compare", version=2, older=1)
    assert "no file differs; 1 application transaction advanced." in innocent.html
    assert "the properties differ" not in innocent.html
    assert "no file differs; the properties differ." in problem.html
    assert "advanced" not in problem.html


def test_rows_of_the_same_files_are_not_offered_to_be_counted(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="compare", version=3, older=2)
    assert "The same: schema, properties, protocol, files and rows." in page.html
    assert 'data-do="exact"' not in page.html


_WITHOUT_JAVA = """
import sys
from tests.unit.widgets.page.test_explorer_view import Page
page = Page().open(sys.argv[1], view="compare", version=1, older=0)
page.do("exact")
print(page.html)
"""


@pytest.mark.slow
def test_without_java_the_exact_rows_say_what_is_missing(tmp_path: Path) -> None:
    # in a process of its own: this one may have a session
    nowhere = {"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)}
    command = [sys.executable, "-c", _WITHOUT_JAVA, str(orders(tmp_path))]
    done = subprocess.run(
        command, env=os.environ | nowhere, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "dx-error" in done.stdout
    assert "Java" in done.stdout
    assert "Count the rows that differ, and show some" in done.stdout


def people(folder: Path, name: str = "people") -> Path:
    """Version 1 has two people in two cities; 2 changes one of them and adds a third."""
    feed = Feed(folder / name, metadata(schemaString=SCHEMA, partitionColumns=["part"]))
    feed.file("a", id=[1])
    feed.file("b", id=[2])
    feed.file("c", id=[2, 3])
    where = [{"partitionValues": {"part": city}} for city in ("Oslo", "<b>")]
    feed.commit(add("a", **where[0]), add("b", **where[1]))
    feed.commit(
        remove("b", size=100, **where[1]),
        add("c", size=300, **where[1]),
        remove("a", size=100, **where[0]),
        add("a2", size=50, partitionValues={"part": "Rome"}),
    )
    shutil.copy(feed.folder.root / "a", feed.folder.root / "a2")
    return feed.folder.root


def test_rows_stand_side_by_side_with_changed_cells_marked(tmp_path: Path) -> None:
    page = Page().open(people(tmp_path), view="compare", version=2, older=1)
    assert "1 row changed, 1 row inserted. Rows are the same by id." in page.html
    assert '<td class="dx-left dx-differs" title="Oslo → Rome">' in page.html
    assert "<del>Oslo</del> <ins>Rome</ins>" in page.html


def test_rows_that_differ_are_chosen_by_kind(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "people", metadata(schemaString=SCHEMA, partitionColumns=["part"]))
    feed.file("a", id=list(range(40)))
    feed.file("b", id=list(range(30, 100)))
    here = {"partitionValues": {"part": "Oslo"}}
    feed.commit(add("a", **here))
    feed.commit(remove("a", size=100, **here), add("b", **here))
    page = Page().open(feed.folder.root, view="compare", version=2, older=1)
    named = re.findall(r'data-do="rows"[^>]*>([^<]*)<', page.html)
    assert named == ["All 90", "Inserted 60", "Deleted 30"]
    page.do("page", "75")
    assert "76\N{EN DASH}90 of 90 rows" in page.html
    page.do("rows", "deleted")
    assert "1\N{EN DASH}25 of 30 rows" in page.html
    assert 'data-value="deleted" aria-pressed="true"' in page.html
    assert ('class="dx-deleted"' in page.html, 'class="dx-inserted"' in page.html) == (True, False)
    page.do("page", "25")
    assert page.html.count('class="dx-deleted"') == 5
    for kind in ("changed", "nonsense"):  # there is none
        page.do("rows", kind)
        assert "26\N{EN DASH}30 of 30 rows" in page.html
    page.do("rows", "")
    assert "1\N{EN DASH}25 of 90 rows" in page.html
    page.do("rows", "inserted")
    assert page.html.count('class="dx-inserted"') == 25
    page.state.select_range(2, 2)
    page.state.select_range(1, 2)
    assert 'data-value="inserted" aria-pressed="true">Inserted 60' in page.html
    assert page.state.differences == "rows=inserted"
    page.state.differences = ""  # as Back leads to
    assert 'data-value="" aria-pressed="true">All 90' in page.html


def test_rows_of_one_kind_alone_have_no_choice(tmp_path: Path) -> None:
    page = Page().open(people(tmp_path), view="compare", version=1, older=0)
    assert "2 rows inserted" in page.html
    assert 'data-do="rows"' not in page.html


def test_rows_lead_and_what_is_the_same_is_said_once(tmp_path: Path) -> None:
    page = Page().open(people(tmp_path), view="compare", version=2, older=1)
    assert "From version 1 to 2: 1 row changed, 1 row inserted; 2 files added" in page.html
    figures = page.html.partition('class="dx-figures')[2].partition("What moved")[0]
    assert "1 changed" in figures
    assert "+1 \N{MINUS SIGN}0" in figures
    assert page.html.count("The same: schema, properties, protocol.") == 1
    assert "the same" not in figures


def test_what_the_log_alone_says_of_rows_leads_before_any_is_read(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a", stats=stats(1000))])
    told = {
        "operation": "UPDATE", "userName": "ann",
        "operationParameters": {"predicate": "id < 9"},
        "operationMetrics": {"numUpdatedRows": "874"},
    }  # fmt: skip
    data = [remove("a", size=1), add("b", stats=stats(1000))]
    log.commit(1, [{"commitInfo": told}, *data])  # there are no data files
    page = Page().open(log.root, view="compare", version=1)
    assert "From version 0 to 1: ann updated 874 rows where id &lt; 9; 1 file added" in page.html
    assert "Rows, net" in page.html


def test_two_tables_are_not_told_as_versions(tmp_path: Path) -> None:
    here = people(tmp_path)
    wider = json.loads(SCHEMA)
    wider["fields"].append({"name": "note", "type": "string", "nullable": True, "metadata": {}})
    log = LogFolder(tmp_path / "other")
    other = metadata(id="another", schemaString=json.dumps(wider), partitionColumns=["part"])
    txn = {"txn": {"appId": "a", "version": 3, "lastUpdated": 1}}
    log.commit(0, [PROTOCOL, other, txn, add("x", partitionValues={"part": "Rome"})])
    page = Page().open(here, view="compare", version=1)
    page.enter(other=str(log.root))
    assert "1 file only in the second table and 2 only in the first" in page.html
    assert "1 application transaction differs" in page.html
    assert "Only the second table has the column." in page.html
    for word in ("advanced", "Files written before", "as before", "Only the newer", ">Added<"):
        assert word not in page.html


def test_a_key_may_be_named_where_no_column_is_called_like_one(tmp_path: Path) -> None:
    named = SCHEMA.replace('"id"', '"name"')
    feed = Feed(tmp_path / "t", metadata(schemaString=named, partitionColumns=["part"]))
    feed.file("a", name=[1])
    shutil.copy(feed.folder.root / "a", feed.folder.root / "b")
    feed.commit(add("a", partitionValues={"part": "Oslo"}))
    feed.commit(remove("a"), add("b", partitionValues={"part": "Rome"}))
    page = Page().open(feed.folder.root, view="compare", version=2, older=1)
    assert "1 row inserted, 1 row deleted. Nothing tells which of them are the same" in page.html
    page.do("key", "nope")
    assert "nope" in page.html
    assert "is not a column of both versions" in page.html
    page.do("key", " name,")
    assert "1 row changed. Rows are the same by name." in page.html
    assert "<del>Oslo</del> <ins>Rome</ins>" in page.html
    assert "--changed-rows --key name" in page.html
    page.do("key", "")
    assert "1 row inserted, 1 row deleted." in page.html


def test_what_moved_is_drawn_by_partition(tmp_path: Path) -> None:
    page = Page().open(people(tmp_path), view="compare", version=2, older=1)
    moved = page.html.partition("What moved by partition")[2].partition("</table>")[0]
    assert moved.index("part=&lt;b&gt;") < moved.index("part=Oslo") < moved.index("part=Rome")
    assert "--share:100.0%" in moved
    assert "+300 B \N{MINUS SIGN}100 B" in moved
    assert "+1 \N{MINUS SIGN}1</td>" in moved  # files
    # these rows are counted: there is nothing left to offer but to count them otherwise
    assert "<summary>Count them again on Spark</summary>" in page.html


def test_another_table_is_compared_with_and_goes_into_the_address(tmp_path: Path) -> None:
    here, there = people(tmp_path), people(tmp_path, "copy")
    page = Page().open(here, view="compare", version=1)
    page.enter(other=str(there))
    assert page.state.address.other == str(there)
    assert "From version 1 here to version 2 of copy" in page.html
    assert "<del>Oslo</del> <ins>Rome</ins>" in page.html
    assert "What restoring version" not in page.html
    page.enter(older="1")
    assert "From version 1 here to version 1 of copy: no file differs" in page.html
    page.enter(other=str(tmp_path / "nowhere"))
    assert 'role="alert"' in page.html
    page.enter(other="")
    assert "From version 0 to 1" in page.html
    page.enter(other=str(there), older="0", version="2")
    assert "From version 2 here to version 0 of copy" in page.html
    page.enter(older="")
    assert "From version 2 here to version 2 of copy" in page.html
    page.enter(older="x")
    assert "&#x27;x&#x27; is not a version." in page.html


SECRET = "hunter2"


@pytest.mark.slow
def test_a_place_with_credentials_is_shown_without_them_and_opened_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = people(tmp_path), people(tmp_path, "copy")
    asked, opened = [], OpenTables.open

    def open_one(tables: OpenTables, target: str) -> TableService:
        asked.append(target)
        return opened(tables, str(there) if target.startswith("https:") else target)

    monkeypatch.setattr(OpenTables, "open", open_one)
    place = f"https://ann:{SECRET}@host/copy?sig={SECRET}"
    page = Page().open(here, view="compare", version=1)
    page.enter(other=place)
    assert page.state.other == "https://host/copy"
    assert "From version 1 here to version 2 of copy" in page.html
    linked = Page().open(here, view="compare", version=1, other=place)
    for one in (page, linked):
        assert SECRET not in one.html + render_address(one.state.address)
        assert "https://host/copy" in one.html
    assert {target for target in asked if target.startswith("https:")} == {place}
    page.enter(other=f"https://host/copy?sig={SECRET}2")  # the same place with another key
    assert asked[-1] == f"https://host/copy?sig={SECRET}2"
    page.enter(other="https://host/copy")
    assert asked[-1] == f"https://host/copy?sig={SECRET}2"
    assert SECRET not in page.html


def test_another_table_whose_place_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    page = Page().open(people(tmp_path), view="compare", version=2, older=1)
    page.enter(other="file://elsewhere/copy")
    assert "This file: URL names another host." in page.html
    assert (page.state.other, page.state.older) == ("", 1)
    page.open(page.state.table, view="compare", version=2, other="file://elsewhere/copy", older=9)
    assert page.state.notice is not None
    assert "no such table to compare with" in page.state.notice.reason
    assert (page.state.other, page.state.older) == ("", None)
