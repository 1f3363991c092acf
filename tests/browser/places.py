"""Going from place to place within one open page, as Back and Forward do: to load a page takes
ten times as long as to draw a view of it."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from widgets.state import VIEW_TITLES

_LEAD = """search => {
  history.pushState(null, "", search)
  dispatchEvent(new PopStateEvent("popstate"))
}"""

# The text of the page, in shadow roots too, once it has stayed as it is for a while.
_STILL = """async () => {
  const read = (node) => {
    let text = node.shadowRoot ? read(node.shadowRoot) : ""
    for (const child of node.childNodes) {
      text += child.nodeType === Node.TEXT_NODE ? child.data : read(child)
    }
    return text
  }
  const wait = () => new Promise((resolve) => setTimeout(resolve, 120))
  let before = null
  for (let same = 0; same < 3;) {
    const now = read(document.body)
    same = now === before ? same + 1 : 0
    before = now
    await wait()
  }
}"""


def lead(page: Page, **query: object) -> None:
    """Lead an open page to another place of the same table, and wait until it stands."""
    view = query["view"]
    page.evaluate(_LEAD, f"?{urlencode(query)}")
    chosen = page.locator("nav [aria-current=page]")
    expect(chosen).to_have_text(re.compile(re.escape(VIEW_TITLES[str(view)])))
    expect(page.locator(".dx-waiting")).to_have_count(0, timeout=60_000)
    page.evaluate(_STILL)
    expect(page.locator(".dx-waiting")).to_have_count(0, timeout=60_000)
