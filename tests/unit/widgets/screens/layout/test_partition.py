"""The partition that is chosen on *Layout*: what is said of it, and where it leads."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from tests.data_tables import mapped, struct
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from tests.unit.widgets.screens.layout.test_layout import days, orders
from widgets.state import (
    PageState,
    name_partition,
    parse_address,
    parse_partition,
    render_address,
    render_list,
)

HOSTILE = ("it's", "a/b=c&d", "null", "", "<b>x</b>", "50%", "\\'", "\u202eab", " a", "x\ny")


def chosen(**values: str | None) -> str:
    return render_list("layout", {"partition": name_partition(values)})


def detail_of(page: Page) -> str:
    return next((part.html for part in page.parts() if "<h3>Partition</h3>" in part.html), "")


def table_of(folder: Path, *values: str | None) -> Path:
    """Two files for each value."""
    log = LogFolder(folder / "t")
    files = [
        add(f"{at}-{half}.parquet", size=500 + at, partitionValues={"part": value})
        for at, value in enumerate(values)
        for half in (0, 1)
    ]
    log.commit(0, [PROTOCOL, metadata(partitionColumns=["part"]), *files])
    return log.root


def test_a_row_opens_its_partition_and_closes_it_again(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="layout")
    assert detail_of(page) == ""
    assert "click one for its files" in page.html
    page.do("partition", "part=a")
    assert page.state.layout == chosen(part="a")
    detail = detail_of(page)
    assert 'data-detail="part=a"' in detail
    for name, value in [
        ("part", "a"), ("Bytes", "105.0 MiB (110,100,480 B)"), ("Rows", "100"),
        ("Soft-deleted", "0"), ("Average file", "10.5 MiB"), ("Median file", "10.0 MiB"),
        ("Smallest file", "10.0 MiB (10,485,760 B)"), ("Largest file", "15.0 MiB (15,728,640 B)"),
    ]:  # fmt: skip
        assert f"<dt>{name}</dt><dd>{value}</dd>" in detail
    assert "10 of 10 files are below the target of 100.0 MiB. Rewriting 105.0 MiB turns" in detail
    assert 'class="dx-across">size of a file<' in detail
    selected = re.findall(r'data-do="partition" data-value="(.*?)" aria-current', page.html)
    assert selected == ["part=a"]
    page.do("partition", "part=b")
    assert "<dt>Files</dt><dd>1. " in detail_of(page)
    page.do("partition", "part=b")
    assert (page.state.layout, detail_of(page)) == ("", "")
    page.do("partition", "part=a")
    page.do("close")
    assert (page.state.layout, detail_of(page)) == ("", "")
    assert "aria-current" not in page.html.partition("Partitions, best gain first")[2]


def test_an_address_keeps_the_partition_and_turns_to_its_page(tmp_path: Path) -> None:
    page = Page().open(days(tmp_path, 60).root, view="layout")
    page.do("partition", "part=day+0059")
    address, complaints = parse_address(render_address(page.state.address))
    assert complaints == []
    linked = Page()
    linked.explorer.open(address)
    assert 'data-value="part=day+0059" aria-current="true"' in linked.html
    assert "51\N{EN DASH}60 of 60 partitions" in linked.html
    linked.state.layout = ""  # as Back leads to
    assert detail_of(linked) == ""


@pytest.mark.parametrize("value", HOSTILE)
def test_every_value_is_chosen_planned_and_listed(tmp_path: Path, value: str) -> None:
    at = HOSTILE.index(value)
    page = Page().open(table_of(tmp_path, *HOSTILE), view="layout")
    rows = [
        unescape(row) for row in re.findall('data-do="partition" data-value="(.*?)"', page.html)
    ]
    assert len(rows) == len(HOSTILE)
    name = next(row for row in rows if dict(parse_partition(row)) == {"part": value or None})
    page.do("partition", name)
    detail = detail_of(page)
    assert "<dt>Files</dt><dd>2. " in detail
    assert f"{500 + at} B" in detail
    assert "<b>" not in detail
    assert ('<span class="dx-muted">null</span>' in detail) == (value == "")
    page.do("files", name)
    assert page.state.view == "files"
    assert re.findall(r'data-do="file" data-value="(.*?)"', page.html) == [
        f"{at}-{half}.parquet" for half in (0, 1)
    ]
    page.do("partition")
    assert page.state.files == ""
    assert "of 20 files" in page.html
    page.state.view = "layout"
    (request,) = re.findall(r'data-do="plan-request" data-value="(.*?)"', detail)
    page.do("plan-request", unescape(request))
    assert (page.state.view, page.state.operation) == ("maintenance", "optimize")
    (where,) = re.findall(r'name="where" [^>]*? value="(.*?)" spellcheck', page.html)
    assert unescape(where) == json.loads(unescape(request))[1]["where"]
    assert "\n" not in unescape(where)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (chosen(part="c"), "Version 3 has no files in this partition."),
        (chosen(day="a"), "These values name no partition of the table."),
        (chosen(part="a", day="a"), "It is partitioned by part."),
    ],
)
def test_an_address_of_no_partition_says_so(tmp_path: Path, layout: str, said: str) -> None:
    page = Page().open(orders(tmp_path).root, view="layout", layout=layout)
    assert said in detail_of(page)
    assert "plan-request" not in detail_of(page)


def test_a_partition_that_is_gone_is_told_by_version(tmp_path: Path) -> None:
    log = orders(tmp_path)
    log.commit(4, [remove("large.parquet")])
    page = Page().open(log.root, view="layout", layout=chosen(part="b"))
    assert "Version 4 has no files in this partition." in detail_of(page)
    page.state.version = 3
    assert "<dt>Files</dt><dd>1. " in detail_of(page)
    assert "The only file is not below the target" in detail_of(page)
    assert "plan-request" not in detail_of(page)  # there is nothing to put together


def test_of_a_table_without_partitions_nothing_is_chosen(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "whole")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    page = Page().open(log.root, view="layout")
    assert "the whole table" in page.html
    assert 'data-do="partition"' not in page.html
    assert (
        "click one"
        not in page.html.partition("Bytes and rows by partition")[2].partition("</h3>")[0]
    )
    page.state.layout = chosen(part="a")
    assert "It has no partition columns." in detail_of(page)


def test_unknown_rows_stay_unknown(tmp_path: Path) -> None:
    page = Page().open(table_of(tmp_path, "a"), view="layout", layout=chosen(part="a"))
    assert "<dt>Rows</dt><dd>unknown</dd>" in detail_of(page)
    assert "<dt>Soft-deleted</dt><dd>0</dd>" in detail_of(page)


def test_a_partition_of_mapped_columns_has_their_logical_names(tmp_path: Path) -> None:
    schema = struct(mapped("id", "long", "col-1", 1), mapped("the day", "string", "col-2", 2))
    described = metadata(
        schemaString=json.dumps(schema),
        partitionColumns=["the day"],
        configuration={"delta.columnMapping.mode": "name"},
    )
    log = LogFolder(tmp_path / "mapped")
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    files = [add(f"{at}.parquet", partitionValues={"col-2": "monday"}) for at in range(2)]
    log.commit(0, [protocol, described, *files])
    page = Page().open(log.root, view="layout")
    page.do("partition", "the+day=monday")
    assert "<dt>the day</dt><dd>monday</dd>" in detail_of(page)
    assert "`the day` = &#x27;monday&#x27;" in detail_of(page)
    assert "col-2" not in detail_of(page)


def test_a_value_that_no_condition_can_name_has_no_plan(tmp_path: Path) -> None:
    schema = struct(
        {"name": "part", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
    )
    log = LogFolder(tmp_path / "t")
    files = [add(f"{at}.parquet", partitionValues={"part": "1 OR true"}) for at in range(2)]
    described = metadata(schemaString=json.dumps(schema), partitionColumns=["part"])
    log.commit(0, [PROTOCOL, described, *files])
    page = Page().open(log.root, view="layout", layout=chosen(part="1 OR true"))
    assert "No condition can name it" in detail_of(page)
    assert "plan-request" not in detail_of(page)
    assert "WHERE" not in detail_of(page)


def test_a_partition_in_an_address_is_read_back() -> None:
    for value in HOSTILE:
        values = {"part": value or None, "it's & = more": "b"}
        assert dict(parse_partition(name_partition(values))) == values
    assert parse_partition("") == ()
    assert PageState().layout == ""
