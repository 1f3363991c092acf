"""HTML from values: everything that comes from a table is escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from markupsafe import Markup

from explorer.errors import Problem
from widgets.screens.commit._parts import (
    CommitFigures,
    plain_value,
    python_snippet,
    render_access,
    render_commit_figures,
    render_commit_title,
    render_message,
    render_record,
    sql_snippet,
)
from widgets.screens.files._ask import Origin
from widgets.screens.files.parts import (
    build_file_row,
    render_facts,
    render_origin,
    render_partition,
    render_statistics,
)
from widgets.session.tables import FileDetails
from widgets.state import Notice
from widgets.ui.live_html import LiveHtml, parse_fields
from widgets.ui.pieces import (
    KeyFigure,
    render_chips,
    render_definitions,
    render_dismissible_notice,
    render_key_figures,
    render_problems,
    render_snippet,
)
from widgets.ui.table import Cell, Column, Row, render_pager, render_table

EVIL = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>"

COLUMNS = (
    Column(key="name", label="Name", sortable=True),
    Column(key="size", label="Size", align="right"),
)


class Tags(HTMLParser):
    """The elements and attributes of a piece of HTML, as a browser would read it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: dict[str, list[str | None]] = {}
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value)

    def handle_data(self, data: str) -> None:
        self.text += data


def file(**known: Any) -> dict[str, Any]:
    row = {
        "path": "part-0.parquet",
        "size": 2048,
        "modification_time": datetime(2026, 1, 1, tzinfo=UTC),
        "partition_values": [("day", "2026-01-01")],
        "num_records": 10,
        "deletion_vector": None,
    }
    return row | known


def file_html(entry: dict[str, Any], details: FileDetails) -> str:
    origin = Origin(version=3, operation=EVIL, first=0)
    link = Markup("version 3")
    return render_facts(entry, details) + render_origin(origin, link) + render_statistics(details)


EVERYTHING = {
    "table": render_table(EVIL, COLUMNS, [Row(cells=(Cell(text=EVIL, title=EVIL), Cell(text=EVIL)),
                                              action="open", value=EVIL)]),
    "notice": render_dismissible_notice(
        Notice(level="error", problem=EVIL, reason=EVIL, remedy=EVIL)
    ),
    "figures": render_key_figures([KeyFigure(name=EVIL, value=EVIL, remark=EVIL, exact=EVIL)]),
    "chips": render_chips([EVIL]),
    "definitions": render_definitions([(EVIL, EVIL)], code=(EVIL,)),
    "snippet": render_snippet("id", EVIL, EVIL),
    "problems": render_problems([Problem(kind="log_corrupt", problem=EVIL, reason=EVIL,
                                         remedy=EVIL, place=EVIL)]),
    "commit": render_commit_title(3, {"operation": EVIL, "user": EVIL}, EVIL),
    "message": render_message(EVIL) + render_access(EVIL),
    "record": render_record(
        {"engine": EVIL, "txn_id": EVIL, "isolation_level": EVIL,
         "parameters": {EVIL: EVIL, "mode": EVIL}, "metrics": {EVIL: EVIL}},
        EVIL, EVIL, 3),
    "file": file_html(
        file(path=EVIL, partition_values=[(EVIL, EVIL)],
             deletion_vector={"storage_type": EVIL, "path_or_inline_dv": EVIL, "cardinality": 1}),
        FileDetails(stats='{"minValues":{"%s":"%s"}}' % (("<img src=x onerror=alert(1)>",) * 2),
                    tags=[(EVIL, EVIL)])),
    "mapped file": file_html(
        file(), FileDetails(stats='{"minValues":{"c-1":1}}', columns={("c-1",): (EVIL, EVIL)})),
}  # fmt: skip


@pytest.mark.parametrize("html", EVERYTHING.values(), ids=EVERYTHING)
def test_no_string_of_a_table_becomes_an_element(html: str) -> None:
    tags = Tags(html)
    assert not {"img", "script"} & set(tags.names)
    assert not [name for name in tags.attributes if name.startswith("on") or name == "src"]
    assert "alert(1)" in tags.text + str(tags.attributes)


def test_a_sorted_column_says_so_to_a_screen_reader() -> None:
    tags = Tags(render_table("Files", COLUMNS, [], sort=("name", True)))
    assert tags.attributes["aria-sort"] == ["descending"]
    assert tags.attributes["scope"] == ["col", "col"]


def test_an_empty_table_says_so() -> None:
    assert (
        "No file matches" in Tags(render_table("Files", COLUMNS, [], empty="No file matches")).text
    )


def test_a_row_with_an_action_can_be_reached_by_keyboard() -> None:
    row = Row(cells=(Cell(text="a"), Cell(text="b")), action="open", value="7", selected=True)
    tags = Tags(render_table("Files", COLUMNS, [row]))
    assert tags.attributes["tabindex"] == ["0"]
    assert tags.attributes["aria-current"] == ["true"]


@pytest.mark.parametrize(
    ("offset", "total", "disabled"), [(0, 10, 4), (0, 60, 2), (25, 60, 0), (50, 60, 2)]
)
def test_a_pager_leads_only_to_pages_that_exist(offset: int, total: int, disabled: int) -> None:
    tags = Tags(render_pager("files", offset, total))
    assert len(tags.attributes.get("disabled", [])) == disabled


def test_a_pager_of_nothing_is_nothing() -> None:
    assert render_pager("files", 0, 0) == ""


def test_unknown_figures_of_a_commit_are_not_shown_as_zero() -> None:
    tags = Tags(render_commit_figures(CommitFigures()))
    assert tags.text.count("unknown") == 4
    assert "+0" not in tags.text


def test_a_commit_that_is_not_read_yet_says_so() -> None:
    assert "not read yet" in Tags(render_commit_figures(None)).text


def test_snippets_quote_the_place_of_the_table() -> None:
    assert sql_snippet("/a`b", 3) == "SELECT * FROM delta.`/a``b` VERSION AS OF 3"
    namespace: dict[str, Any] = {}
    line = (
        python_snippet('/it\'s "x"\n', 3).splitlines()[1].replace("explorer.open_table", "record")
    )
    exec(line, {"record": lambda uri: namespace.update(uri=uri) or Recorder()})
    assert namespace["uri"] == '/it\'s "x"\n'


class Recorder:
    def snapshot(self, version: int) -> None:
        assert version == 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ('["a","b"]', "a, b"),
        ('"text"', "text"),
        ("[", "["),
        ("[" * 1900, "[" * 1900),
        ({"a": 1}, '{"a": 1}'),
        (None, ""),
        (True, "true"),
    ],
)
def test_json_within_json_is_unwrapped(value: object, shown: str) -> None:
    assert plain_value(value) == shown


def test_a_null_partition_is_told_from_the_text_null() -> None:
    assert render_partition([("a", None), ("b", "")]) == "a=null, b="


def test_a_file_without_a_vector_has_no_deleted_rows_to_tell() -> None:
    assert build_file_row(file(), None).cells[4].text == "–"
    vector = {"storage_type": "u", "path_or_inline_dv": "x", "cardinality": 4}
    assert build_file_row(file(deletion_vector=vector), None).cells[4].text == "4"


def test_statistics_that_are_not_json_are_shown_as_stored() -> None:
    assert "not readable as JSON" in render_statistics(FileDetails(stats="{"))
    assert "no statistics" in render_statistics(FileDetails())


def test_statistics_are_told_by_the_names_of_the_schema() -> None:
    stats = json.dumps(
        {"minValues": {"c-1": 7, "c-2": {"c-3": "a"}, "c-9": 1}, "nullCount": {"c-2": {"c-4": 5}}}
    )
    columns = {
        ("c-1",): ("order id",),
        ("c-2", "c-3"): ("buyer", "name"),
        ("c-2", "c-4"): ("buyer", "tags"),
    }
    html = render_statistics(FileDetails(stats=stats, columns=columns))
    told = html.partition("<table>")[2].partition("</table>")[0]
    for name in (">`order id`<", ">buyer.name<", ">buyer.tags<"):
        assert name in told
    assert "c-1" not in told
    assert 'title="`c-9`: not a column of this version">`c-9`<' in told
    assert "c-1" in html.partition("Statistics as stored")[2]


def test_statistics_nested_without_end_are_shown() -> None:
    deep = '{"minValues":' + '{"a":' * 400 + "1" + "}" * 400 + "}"
    assert "a.a.a" in render_statistics(FileDetails(stats=deep))


def test_messages_that_nobody_asked_for_are_ignored() -> None:
    html = LiveHtml()
    heard: list[str] = []
    html.on("open", heard.append)
    nobody_asked: list[object] = [None, [], {}, {"action": "close", "value": "x"}]
    not_meant: list[object] = [{"action": "open"}, {"action": "open", "value": 3}]
    for message in (*nobody_asked, *not_meant, {"action": ["open"], "value": "x"}):
        html._handle_msg(message)
    assert heard == []
    html._handle_msg({"action": "open", "value": "7"})
    # half a character, as a browser may send it, could not be written anywhere
    html._handle_msg({"action": "open", "value": "a\ud800b"})
    assert heard == ["7", "a\N{REPLACEMENT CHARACTER}b"]


def test_fields_of_a_form_are_texts_that_can_be_written() -> None:
    half = parse_fields(json.dumps({"where": "a\ud800", "\udc00": "b", "version": 3}))
    assert half == {"where": "a\N{REPLACEMENT CHARACTER}", "\N{REPLACEMENT CHARACTER}": "b"}
    html, heard = LiveHtml(), list[Mapping[str, str]]()
    html.on_together("sides", heard.append)
    for nothing in ("{}", "[1]", "junk", "[" * 100_000):
        html._handle_msg({"action": "sides", "value": nothing})
    assert heard == []
    html._handle_msg({"action": "sides", "value": '{"older": "3"}'})
    assert heard == [{"older": "3"}]


def test_times_of_a_column_can_be_shown_by_another_clock() -> None:
    when = Column(key="when", label="Committed (UTC)")
    said = Column(key="said", label="Says", sortable=True)
    text = "2026-10-20 21:25:56 UTC"
    shown = render_table("Times", [when, said], [Row(cells=(Cell(text=text), Cell(text=text)))])
    assert shown.count("<time ") == 1
    assert '<time datetime="2026-10-20T21:25:56Z" title="2026-10-20 21:25:56 UTC">' in shown
    assert shown.count("data-zone") == 1
    other = render_table("Times", [when], [Row(cells=(Cell(text="unknown"),))])
    assert "<time" not in other
