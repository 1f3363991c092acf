"""A table whose every string is an attack, in every view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import WIDE, Guard, Server, serving
from tests.browser.places import lead
from tests.tables import LogFolder, add, metadata, remove, vector
from widgets.state import VIEWS

# that no text of a table becomes an element, unit tests hold for each view and part
pytestmark = pytest.mark.turns(one_in=3)

# Each sets a mark if it runs, and asks for something if it is taken for an element.
ATTACKS = (
    "<img src=/evil onerror=window.ran=1>",
    "\"'><svg onload=window.ran=2>",
    "</script><script>window.ran=3</script>",
    "</style></textarea></title><iframe srcdoc='<script>parent.ran=4</script>'></iframe>",
    "![a](https://evil.example/a.png) [b](javascript:window.ran=5)",
    "<style>@import url(https://evil.example/a.css);*{background:url(/evil)}</style>",
    "$$\\href{javascript:window.ran=6}{x}$$ <a href=javascript:window.ran=7 autofocus>x</a>",
    "{{constructor.constructor('window.ran=8')()}} ${window.ran=9} <%= ran %>",
    "<details open ontoggle=window.ran=10><input onfocus=window.ran=11 autofocus>",
    "=HYPERLINK(evil) \u202egnp.exe\u202c \u2066a\u2069 \x1b[31mred\x07\x7f",
)
EVIL = " ".join(ATTACKS)
FOLDER = "<img src=evil onerror=window.ran=12>"
PROTOCOL = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors", "domainMetadata", EVIL],
    }
}


def hostile(folder: Path) -> Path:
    """The table; its own folder is an attack too."""
    fields = [
        {"name": f"{EVIL}{n}", "type": "string", "nullable": True, "metadata": {"comment": EVIL}}
        for n in range(3)
    ]
    said = metadata(
        id=EVIL,
        name=EVIL,
        description=EVIL,
        schemaString=json.dumps({"type": "struct", "fields": fields}),
        partitionColumns=[f"{EVIL}0"],
        configuration={
            EVIL: EVIL,
            "delta.enableDeletionVectors": "true",
            "delta.enableChangeDataFeed": "true",
            f"delta.constraints.{EVIL}": EVIL,
        },
        format={"provider": EVIL, "options": {EVIL: EVIL}},
    )
    info = {
        "operation": EVIL,
        "userName": EVIL,
        "userId": EVIL,
        "engineInfo": EVIL,
        "isolationLevel": EVIL,
        "txnId": EVIL,
        "operationParameters": {EVIL: EVIL, "predicate": json.dumps([EVIL]), "mode": EVIL},
        "operationMetrics": {EVIL: EVIL, "numOutputRows": EVIL},
    }
    stats = {
        "numRecords": 9,
        "minValues": {f"{EVIL}1": EVIL},
        "maxValues": {f"{EVIL}1": EVIL},
        "nullCount": {f"{EVIL}1": 1},
    }
    table = LogFolder(folder / FOLDER)
    files = [
        add(
            quote(EVIL) if n % 2 else f"{n}{EVIL}",
            partitionValues={f"{EVIL}0": EVIL},
            stats=json.dumps(stats),
            tags={EVIL: EVIL},
            deletionVector=vector(EVIL),
        )
        for n in range(3)
    ]
    others = [
        {"txn": {"appId": EVIL, "version": 1}},
        {"domainMetadata": {"domain": EVIL, "configuration": EVIL, "removed": False}},
    ]
    table.commit(0, [{"commitInfo": info}, PROTOCOL, said, *files, *others])
    table.commit(1, [{"commitInfo": info}, remove(files[0]["add"]["path"]), {EVIL: {"path": EVIL}}])
    (table.log / "<img src=evil onerror=window.ran=13>").write_text(EVIL)
    return table.root


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def evil_server(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # a list of tables to choose from takes two
    other = hostile(tmp_path_factory.mktemp("beside"))
    with serving([str(table), str(other)], tmp_path_factory.mktemp("state")) as running:
        yield running


@contextmanager
def opened(browser: Browser, server: Server, theme: str = "light") -> Iterator[tuple[Page, Guard]]:
    """A page; afterwards nothing has run and nothing was asked for."""
    guard = Guard(server.origin)
    context = browser.new_context(
        viewport=WIDE,  # type: ignore[arg-type]
        color_scheme="dark" if theme == "dark" else "light",
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    guard.watch(page)
    yield page, guard
    context.close()


def nothing_ran(page: Page, guard: Guard) -> None:
    page.wait_for_timeout(300)  # what loads by itself does so now
    assert page.evaluate("window.ran") is None
    assert guard.dialogs == []
    assert guard.foreign == []
    assert [url for url in guard.requests if "/evil" in url] == []


@pytest.fixture
def evil_page(browser: Browser, evil_server: Server) -> Iterator[tuple[Page, Guard]]:
    """A page of its own; afterwards nothing has run and nothing was asked for."""
    with opened(browser, evil_server) as (page, guard):
        yield page, guard
        nothing_ran(page, guard)


@pytest.fixture(scope="module", params=["light", "dark"])
def evil_tour(
    request: pytest.FixtureRequest, browser: Browser, evil_server: Server, table: Path
) -> Iterator[tuple[Page, Guard]]:
    """One page in one theme, for all views."""
    with opened(browser, evil_server, request.param) as (page, guard):
        page.goto(evil_server.address(table=table))
        expect(page.locator(".dx-figure").nth(4)).to_be_visible()
        expect(page.locator(".dx-page.dx-dark")).to_have_count(int(request.param == "dark"))
        yield page, guard


def visible_attack(page: Page) -> None:
    """The text is there, as text, and no character of it turns its order around."""
    expect(page.get_by_text("window.ran=1", exact=False).first).to_be_visible()
    assert page.evaluate(_UNSEEN) == []


# Text of the page, in shadow roots too, with characters that nobody sees or that turn others.
_UNSEEN = r"""() => {
  const found = []
  const walk = (node) => {
    if (node.shadowRoot) { walk(node.shadowRoot) }
    for (const child of node.childNodes) {
      if (["STYLE", "SCRIPT"].includes(child.tagName)) { continue }
      if (child.nodeType === Node.TEXT_NODE
          && /[\u202a-\u202e\u2066-\u2069\u0007\u001b\u007f]/.test(child.data)) {
        found.push(child.parentNode.outerHTML ?? child.data)
      }
      walk(child)
    }
  }
  walk(document.body)
  return found
}"""


@pytest.mark.daily
@pytest.mark.sampled(one_in=10)
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_of_a_hostile_table_runs_in_a_view(
    evil_tour: tuple[Page, Guard], table: Path, view: str
) -> None:
    page, guard = evil_tour
    lead(page, table=table, view=view)
    visible_attack(page)
    nothing_ran(page, guard)


def test_nothing_runs_in_the_details_of_a_commit(
    evil_page: tuple[Page, Guard], evil_server: Server, table: Path
) -> None:
    page, _ = evil_page
    page.goto(evil_server.address(table=table, version=0))
    page.get_by_role("button", name="Show actions").click()
    for row in range(4):
        page.locator("tr[data-do=line]").nth(row).click()
    expect(page.get_by_label("JSON of the action")).to_be_visible()
    page.get_by_role("button", name="Raw JSON").first.click()
    expect(page.get_by_label("Raw lines of the log file")).to_contain_text("window.ran=1")
    page.locator("summary", has_text="Metrics").click()
    page.get_by_role("searchbox", name="Filter commits").fill(EVIL)
    page.keyboard.press("Enter")


def test_nothing_runs_where_the_plot_tells_of_a_commit(
    evil_page: tuple[Page, Guard], evil_server: Server, table: Path
) -> None:
    page, _ = evil_page
    page.goto(evil_server.address(table=table, view="timeline"))
    lanes = page.get_by_role("img", name="Commits by operation", exact=False)
    expect(lanes).to_be_visible()
    expect(page.get_by_text("The log has 2 commits.")).to_be_visible()
    box = lanes.bounding_box()
    assert box is not None
    told = page.locator(".bk-Tooltip")
    # Of two versions the second stands at three quarters; its lane is the last but one.
    across = box["x"] + 88 + 0.75 * (box["width"] - 98)
    for up in range(40, 90, 2):
        page.mouse.move(across, box["y"] + box["height"] - up)
        page.wait_for_timeout(30)
        if told.count():
            break
    expect(told.first).to_contain_text("window.ran=1")


def test_nothing_runs_in_the_details_of_a_file(
    evil_page: tuple[Page, Guard], evil_server: Server, table: Path
) -> None:
    page, _ = evil_page
    page.goto(evil_server.address(table=table, version=0, view="files"))
    for row in range(3):
        page.locator("tr[data-do=file]").nth(row).click()
        expect(page.get_by_text("Rows that are live")).to_be_visible()
    page.get_by_text("Statistics as stored").click()
    page.get_by_role("searchbox", name="Filter files").fill(EVIL)
    expect(
        page.get_by_text("No file matches").or_(page.locator("tr[data-do=file]")).first
    ).to_be_visible()


def test_nothing_runs_in_the_details_of_a_partition(
    evil_page: tuple[Page, Guard], evil_server: Server, table: Path
) -> None:
    page, _ = evil_page
    page.goto(evil_server.address(table=table, version=0, view="layout"))
    page.locator("tr[data-do=partition]").first.click()
    expect(page.locator("[data-detail]")).to_be_visible()
    visible_attack(page)
    page.get_by_role("link", name="List them").click()
    expect(page.get_by_text("1\N{EN DASH}3 of 3 files")).to_be_visible()


def test_nothing_runs_where_tables_are_chosen(
    evil_page: tuple[Page, Guard], evil_server: Server, table: Path
) -> None:
    page, _ = evil_page
    page.goto(evil_server.address(table=table))
    expect(page.locator("h1")).to_contain_text("window.ran=1")
    page.locator("summary", has_text="Place").click()
    expect(page.locator("#dx-place")).to_be_visible()
    options = page.get_by_role("combobox", name="Table", exact=True).locator("option")
    expect(options.first).to_contain_text("window.ran=12")
    page.get_by_role("link", name="All tables").click()
    expect(page.locator("tr", has_text="window.ran=12").first).to_be_visible()


@pytest.mark.parametrize("part", ["table", "version", "view"])
def test_nothing_runs_where_an_address_is_wrong(
    evil_page: tuple[Page, Guard], evil_server: Server, table: Path, part: str
) -> None:
    page, _ = evil_page
    wanted = {"table": str(table), part: EVIL}
    page.goto(evil_server.address(**wanted))
    expect(page.locator(".dx-notice").first).to_be_visible()


def test_exports_hold_no_cell_that_a_spreadsheet_would_run(
    evil_page: tuple[Page, Guard], evil_server: Server, tmp_path: Path
) -> None:
    page, _ = evil_page
    log = LogFolder(tmp_path / "table")
    formula = "=HYPERLINK(1)"
    log.commit(
        0,
        [{"commitInfo": {"operation": formula, "userName": "@x"}}, PROTOCOL, metadata(),
         add("=1+1")],
    )  # fmt: skip
    page.goto(evil_server.address(table=log.root, view="timeline"))
    expect(page.locator("tr[data-do=select]")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    target = tmp_path / "commits.csv"
    download.value.save_as(target)
    text = target.read_text(encoding="utf-8")
    assert f"'{formula}" in text
    assert f",{formula}" not in text
    assert ",@x" not in text


@pytest.mark.daily
@pytest.mark.sampled(one_in=10)
@pytest.mark.parametrize(
    ("view", "more", "buttons"),
    [
        ("compare", {"version": 1, "older": 0}, ["Show what it would do"]),
        ("statistics", {"where": f"`{EVIL}1` = '<img src=/evil onerror=window.ran=14>'"}, []),
        ("statistics", {"where": EVIL, "column": f"`{EVIL}1`"}, []),
        ("vectors", {"version": 0, "file": f"0{EVIL}"}, []),
        ("vectors", {"file": EVIL}, []),
        ("reach", {"file": EVIL}, ["Look at the files themselves", "List the folder"]),
        ("health", {}, ["Look at the files too"]),
        ("schema", {}, ["Read the footers of the files"]),
        ("conflicts", {"version": 0}, []),
        ("conflicts", {"version": 0, "where": EVIL}, []),
        ("feed", {"version": 1, "older": 0}, []),
    ],
)
def test_nothing_runs_in_what_a_view_shows_on_demand(
    evil_tour: tuple[Page, Guard],
    table: Path,
    view: str,
    more: dict[str, object],
    buttons: list[str],
) -> None:
    page, guard = evil_tour
    lead(page, table=table, view=view, **more)
    for name in buttons:
        page.get_by_role("button", name=name).click()
    expect(page.locator(".dx-waiting")).to_have_count(0)
    # all at once: an answer that comes meanwhile draws its part of the view anew
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    visible_attack(page)
    nothing_ran(page, guard)


def test_nothing_runs_or_is_misread_in_the_palette(
    evil_page: tuple[Page, Guard], evil_server: Server, table: Path
) -> None:
    page, _ = evil_page
    page.goto(evil_server.address(table=table, version=0))
    expect(page.locator(".dx-version")).to_be_visible()
    palette = page.get_by_role("dialog", name="Command palette")
    for kind, view in (("Column", "statistics"), ("File", "files")):
        page.keyboard.press("Control+k")
        expect(palette.get_by_role("combobox")).to_be_focused()
        page.keyboard.insert_text("window.ran=1")
        found = palette.get_by_role("option").filter(
            has=page.locator(".dx-palette-kind", has_text=kind),
            has_text="<img src=/evil onerror=window.ran=1>",
        )
        expect(found.first).to_be_visible()
        assert palette.locator("li img, li svg, li style, li iframe, li script").count() == 0
        shown = "".join(palette.get_by_role("option").all_text_contents())
        assert not set("\u202e\u202c\u2066\u2069\x1b\x07\x7f") & set(shown)
        found.first.click()
        expect(palette).to_be_hidden()
        page.wait_for_url(f"**view={view}**")
        expect(page.locator(".dx-waiting")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.insert_text(EVIL[:150])
    expect(palette).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
