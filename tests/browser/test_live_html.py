"""What a person does outlasts that the page is drawn anew meanwhile.

The component alone, without a server: its module gets a model that can be told to change.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from widgets.theme import read_script

START = """
async (source) => {
  const module = await import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})))
  const handlers = {}
  window.heard = []
  window.model = {
    html: "",
    on: (name, handler) => { handlers[name] = handler },
    send_msg: (message) => window.heard.push(message),
  }
  window.redraw = (html) => { window.model.html = html; handlers.html() }
  window.deliver = (message) => handlers["msg:custom"](message)
  document.body.append(module.render({model: window.model}))
}
"""


@pytest.fixture
def part(browser: Browser) -> Iterator[Page]:
    """A blank page with one such component in it."""
    page = browser.new_page()
    page.evaluate(START, read_script())
    yield page
    page.close()


def redraw(page: Page, html: str) -> None:
    # a turn later: after a click, what is drawn waits until the end of the button's own turn
    page.evaluate(
        "html => new Promise((done) => setTimeout(() => { window.redraw(html); done() }, 0))", html
    )


def heard(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate("window.heard")
    return found


def button(label: str, *, value: str = "7") -> str:
    return f'<button data-do="open" data-value="{value}" style="width:200px">{label}</button>'


def press_on(page: Page, selector: str) -> None:
    box = page.locator(selector).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    page.mouse.down()


def test_a_click_outlasts_a_redraw_between_mouse_down_and_mouse_up(part: Page) -> None:
    redraw(part, f"<p>first</p>{button('Open')}")
    press_on(part, "button")
    redraw(part, f"<p>second</p><p>third</p>{button('Open it')}<table></table>")
    assert part.get_by_text("third").count() == 0
    part.mouse.up()
    part.wait_for_function("document.body.textContent.includes('third')")
    assert heard(part) == [{"action": "open", "value": "7"}]


def test_a_click_means_what_stood_there_when_the_button_went_down(part: Page) -> None:
    redraw(part, button("Version 7"))
    press_on(part, "button")
    redraw(part, button("Version 8", value="8"))
    part.mouse.up()
    part.wait_for_function("document.body.textContent.includes('Version 8')")
    assert heard(part) == [{"action": "open", "value": "7"}]


def test_what_is_drawn_while_nothing_is_pressed_is_there_at_once(part: Page) -> None:
    redraw(part, button("Open"))
    press_on(part, "button")
    part.mouse.up()
    part.wait_for_timeout(50)
    redraw(part, "<p>next</p>")
    assert part.evaluate("document.body.textContent") == "next"


def test_typing_focus_and_selection_outlast_a_redraw(part: Page) -> None:
    field = '<input type="search" data-do="filter" aria-label="Filter">'
    redraw(part, f"<h3>of 1</h3>{field}<p>a</p>")
    part.get_by_label("Filter").fill("hello")
    part.evaluate("document.activeElement.setSelectionRange(1, 3)")
    redraw(part, f"<h3>of 2</h3><p>more</p>{field}<p>b</p><p>c</p>")
    assert part.evaluate(
        "[document.activeElement.value, document.activeElement.selectionStart, "
        "document.activeElement.selectionEnd]"
    ) == ["hello", 1, 3]


def test_a_form_keeps_what_was_filled_in_while_its_fields_are_the_same(part: Page) -> None:
    def form(expected: str) -> str:
        return (
            f'<div data-form><input name="typed" data-expected="{expected}">'
            '<button data-do="go" data-submit>Go</button></div>'
        )

    redraw(part, form("drop") + "<p>1</p>")
    part.locator("input").fill("drop")
    assert part.locator("button").is_enabled()
    part.evaluate("document.activeElement.blur()")
    redraw(part, form("drop") + "<p>2</p>")
    assert part.locator("button").is_enabled()
    redraw(part, form("something else") + "<p>3</p>")
    assert part.locator("input").input_value() == ""
    assert part.locator("button").is_disabled()


def test_what_is_typed_outlasts_that_examples_and_offers_come_later(part: Page) -> None:
    def form(more: str, offers: str = "") -> str:
        chosen = '<select name="s"><option value="a" selected></option><option value="b"></option>'
        return (
            f'<div id="f" data-form><input name="typed" value=""{more}>{offers}{chosen}</select>'
            '<textarea name="t"></textarea></div>'
        )

    redraw(part, form(' placeholder="name"'))
    part.locator("textarea").fill("x=1")
    part.locator("select").select_option("b")
    part.locator("input").fill("deletionVec")
    offers = '<datalist id="l"><option value="deletionVectors"></option></datalist>'
    redraw(part, form(' placeholder="such as deletionVectors" list="l"', offers))
    assert part.locator("input").input_value() == "deletionVec"
    assert part.locator("select").input_value() == "b"
    assert part.locator("textarea").input_value() == "x=1"
    redraw(part, form("").replace('value=""', 'value="given"'))
    assert part.locator("input").input_value() == "given"
    part.locator("input").fill("mine")
    redraw(part, form("").replace('id="f"', 'id="other"'))
    assert part.locator("input").input_value() == ""


def test_a_field_that_clears_holds_nothing_once_it_was_sent(part: Page) -> None:
    field = '<input type="text" data-do="open" data-when="enter" data-as="{}"{}>'
    redraw(part, field.format("a", " data-clears") + field.format("b", ""))
    for at in range(2):
        part.locator("input").nth(at).fill("s3://lake?sig=x")
        part.keyboard.press("Enter")
    assert [one["value"] for one in heard(part)] == ["s3://lake?sig=x"] * 2
    assert part.locator("input").first.input_value() == ""
    assert part.locator("input").last.input_value() == "s3://lake?sig=x"


def test_a_menu_stays_open_while_it_tells_that_its_text_is_copied(part: Page) -> None:
    menu = (
        '<details data-menu><summary>Place</summary><code id="p">/lake/a</code>'
        '<button data-copy="p">Copy</button><button data-do="go" data-value="1">Go</button>'
        "</details>"
    )
    redraw(part, menu)
    part.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " {value: {writeText: async (text) => { window.copied = text }}})"
    )
    part.get_by_text("Place").click()
    part.get_by_text("Copy", exact=True).click()
    part.get_by_text("Copied", exact=True).wait_for()
    assert part.evaluate("window.copied") == "/lake/a"
    part.get_by_text("Go").click()
    assert part.evaluate("document.querySelector('details').open") is False
    assert heard(part) == [{"action": "go", "value": "1"}]


def test_the_way_back_out_of_a_field_takes_no_name_over(part: Page) -> None:
    field = "<input data-do='where' data-when='enter' data-names='[\"region\"]'>"
    redraw(part, f"<button>before</button>{field}")
    part.locator("input").press_sequentially("reg")
    part.get_by_role("option", name="region").wait_for()
    part.keyboard.press("Shift+Tab")
    assert part.locator("input").input_value() == "reg"
    assert part.evaluate("document.activeElement.textContent") == "before"
    part.keyboard.press("Tab")
    part.keyboard.press("End")
    part.keyboard.press("Backspace")
    part.get_by_role("option", name="region").wait_for()
    part.keyboard.press("Tab")
    assert part.locator("input").input_value() == "region "


def test_what_is_unfolded_and_how_far_it_is_scrolled_outlast_a_redraw(part: Page) -> None:
    def html(number: int) -> str:
        rows = f"{number}<br>" * 200
        return f"<p>{number}</p><details><summary>More</summary><pre style='height:90px;overflow:auto'>{rows}</pre></details>"  # noqa: E501 - one element

    redraw(part, html(1))
    part.get_by_text("More").click()
    part.evaluate("document.querySelector('pre').scrollTop = 60")
    redraw(part, html(2))
    assert part.evaluate(
        "[document.querySelector('details').open, document.querySelector('pre').scrollTop]"
    ) == [True, 60]
    assert part.evaluate("document.querySelector('pre').textContent").startswith("22")


def test_a_row_keeps_the_focus_where_rows_come_before_it(part: Page) -> None:
    def table(*versions: int) -> str:
        rows = "".join(
            f'<tr tabindex="0" data-do="select" data-value="{v}"><td>{v}</td></tr>'
            for v in versions
        )
        return f"<table><tbody>{rows}</tbody></table>"

    redraw(part, table(3, 2, 1))
    part.locator("tr").nth(1).focus()
    redraw(part, table(5, 4, 3, 2, 1))
    assert part.evaluate("document.activeElement.dataset.value") == "2"
    assert part.locator("tr").all_text_contents() == ["5", "4", "3", "2", "1"]
    redraw(part, table(1, 5))
    assert part.locator("tr").all_text_contents() == ["1", "5"]
    redraw(part, "<p>none</p>")
    assert part.evaluate("document.body.innerHTML").count("<tr") == 0


def test_a_file_is_put_together_from_its_pieces(part: Page) -> None:
    piece = {"file": "f", "name": "a.csv", "type": "text/csv"}
    part.evaluate("m => window.deliver(m)", {**piece, "data": "YSxi", "is_last": False})
    assert heard(part) == [{"action": "piece", "value": "f"}]
    with part.expect_download() as download:
        part.evaluate("m => window.deliver(m)", {**piece, "data": "DQo=", "is_last": True})
    assert download.value.suggested_filename == "a.csv"
    assert download.value.path().read_bytes() == b"a,b\r\n"


LINKED_ROWS = (
    "<table style='width:400px'><tbody>"
    + "".join(
        f'<tr tabindex="0" data-do="select" data-value="{version}">'
        f'<td><a href="about:blank#{version}" tabindex="-1" draggable="false" '
        'style="user-select: text">'
        f"version {version}</a></td>"
        f"<td>what version {version} did</td></tr>"
        for version in (3, 2, 1)
    )
    + "</tbody></table><input aria-label='after'>"
)


@pytest.fixture
def rows(part: Page) -> Iterator[Page]:
    """Rows that lead to a place, each with the link of it."""
    redraw(part, LINKED_ROWS)
    yield part
    for tab in part.context.pages:
        if tab is not part:
            tab.close()


@pytest.mark.parametrize("place", ["a", "td:last-child"])
@pytest.mark.parametrize(
    "how",
    [{"modifiers": ["Control"]}, {"modifiers": ["Meta"]}, {"modifiers": ["Shift"]},
     {"button": "middle"}],
    ids=["Ctrl", "Cmd", "Shift", "middle"],
)  # fmt: skip
def test_a_row_opens_one_tab_wherever_in_it_one_clicks(
    rows: Page, place: str, how: dict[str, Any]
) -> None:
    if place == "a" and how == {"modifiers": ["Meta"]} and not is_mac(rows):
        pytest.skip("the browser itself takes Cmd for this on a Mac alone")
    rows.locator("tr").nth(2).locator("td:last-child").click()  # from here Shift would select
    assert heard(rows) == [{"action": "select", "value": "1"}]
    with rows.context.expect_page() as opened:
        rows.locator("tr").nth(1).locator(place).click(**how)
    assert opened.value.url == "about:blank#2"
    rows.wait_for_timeout(300)
    assert len(rows.context.pages) == 2
    assert len(heard(rows)) == 1
    assert rows.evaluate("getSelection().type") != "Range"


def is_mac(page: Page) -> bool:
    return bool(page.evaluate("navigator.platform.startsWith('Mac')"))


@pytest.mark.parametrize("place", ["a", "td:last-child"])
def test_a_plain_click_on_a_row_with_a_link_stays_here(rows: Page, place: str) -> None:
    rows.locator("tr").nth(1).locator(place).click()
    assert heard(rows) == [{"action": "select", "value": "2"}]
    assert rows.evaluate("[location.href, document.activeElement.dataset.value]") == [
        "about:blank", "2",
    ]  # fmt: skip
    rows.keyboard.press("j")
    assert rows.evaluate("document.activeElement.dataset.value") == "1"
    assert len(rows.context.pages) == 1


def test_text_in_a_row_with_a_link_is_selected_as_elsewhere(rows: Page) -> None:
    for at, place in ((0, "a"), (1, "td:last-child")):
        box = rows.locator("tr").nth(at).locator(place).bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        rows.mouse.move(box["x"] + 1, middle)
        with holding(rows, "Control", at == 1):
            rows.mouse.down()
            rows.mouse.move(box["x"] + 60, middle, steps=4)
            rows.mouse.up()
        assert rows.evaluate("getSelection().toString()").strip()
    rows.wait_for_timeout(300)
    assert len(rows.context.pages) == 1


@contextlib.contextmanager
def holding(page: Page, key: str, is_held: bool) -> Iterator[None]:
    if is_held:
        page.keyboard.down(key)
    yield
    if is_held:
        page.keyboard.up(key)


def test_rows_with_links_are_one_stop_of_the_tab_key(rows: Page) -> None:
    rows.locator("tr").first.focus()
    rows.keyboard.press("ArrowDown")
    rows.keyboard.press("Enter")
    assert heard(rows) == [{"action": "select", "value": "2"}]
    with rows.context.expect_page() as opened:
        rows.keyboard.press("Control+Enter")
    assert opened.value.url == "about:blank#2"
    assert len(heard(rows)) == 1
    rows.bring_to_front()
    rows.keyboard.press("Tab")
    assert rows.evaluate("document.activeElement.ariaLabel") == "after"
