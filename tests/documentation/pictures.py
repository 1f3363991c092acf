"""The pictures of the documentation, taken in a browser over the demo table.

    python -m tests.documentation.pictures            all views, light and dark
    python -m tests.documentation.pictures schema     only these

Each lies in `docs/pictures` as a PNG of few colours. Beside them `seen.json` keeps the words
that a view showed when it was taken: a test opens every view again and compares.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS, launched
from tests.browser.conftest import serving
from tests.demo_story import AUTUMN, copy_demo
from widgets.state import VIEWS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
SEEN = FOLDER / "seen.json"
SIZE = {"width": 1280, "height": 860}
COLOURS = 96
LARGEST = 80 * 1024
"""Bytes of one picture; there are two for every view, and they are part of every clone."""

SELECTED = {
    "compare": {"version": "74", "older": "52"},
    "conflicts": {"version": "70"},
    "rows": {"where": "country = 'SE' and quantity > 3"},
    "statistics": {"column": "ordered_at"},
}
"""What a view shows more of when it is selected."""

# What stays the same from one day to the next: headings and the heads of columns.
_WORDS = """
() => {
  const found = []
  const walk = (node) => {
    for (const element of node.children ?? []) {
      if (element.matches("h1, h2, h3, th, legend") && element.getClientRects().length > 0) {
        found.push(element.innerText.trim())
      }
      if (element.shadowRoot) { walk(element.shadowRoot) }
      walk(element)
    }
  }
  walk(document.body)
  return found
}
"""


def write_shop(folder: Path) -> None:
    """The demo table, always with the same commits at the same times."""
    copy_demo(folder, AUTUMN)


def open_view(page: Page, origin: str, table: Path, view: str) -> None:
    """Open one view, and wait until it has settled."""
    query = urlencode({"table": str(table), "view": view, **SELECTED.get(view, {})})
    page.goto(f"{origin}/?{query}")
    expect(page.locator("h1", has_text="shop_orders")).to_be_visible(timeout=2 * WAIT_MS)
    before: list[str] = []
    for _ in range(60):
        page.wait_for_timeout(700)
        words = read_words(page)
        busy = page.locator("[aria-busy=true], .dx-loading:visible, progress:visible").count()
        if words == before and len(words) > 2 and not busy:
            return
        before = words
    raise AssertionError(f"the view {view} does not come to rest: {before}")


def read_words(page: Page) -> list[str]:
    """The headings of what is shown; figures and sort arrows in them are left out."""
    said: list[str] = page.evaluate(_WORDS)
    return [re.sub(r"[\d.,%]+", "#", re.sub(r"[↑↓]", "", text)).strip() for text in said if text]


def take(browser: Browser, views: tuple[str, ...]) -> None:
    """Take the pictures of some views anew."""
    seen = json.loads(SEEN.read_text(encoding="utf-8")) if SEEN.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="lake-") as place:
        shop = Path(place) / "shop_orders"
        write_shop(shop)
        with serving([str(shop)], Path(place) / "state") as server:
            for theme in ("light", "dark"):
                context = browser.new_context(viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
                page = context.new_page()
                for view in views:
                    open_view(page, server.origin, shop, view)
                    (FOLDER / f"{view}-{theme}.png").write_bytes(pack(page.screenshot()))
                    seen[view] = read_words(page)
                context.close()
    kept = {view: seen[view] for view in VIEWS if view in seen}
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    SEEN.write_text(text + "\n", encoding="utf-8")


def pack(png: bytes) -> bytes:
    """The picture in so few colours that it fits."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    colours = COLOURS
    while True:
        small = image.quantize(colors=colours, dither=Image.Dither.NONE)
        packed = io.BytesIO()
        small.save(packed, format="PNG", optimize=True)
        if packed.tell() <= LARGEST or colours <= 8:
            return packed.getvalue()
        colours //= 2


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    take(launched(), tuple(sys.argv[1:]) or VIEWS)
