"""The page in headless Chromium: seconds from an address to its drawing, and bytes that travel.

    python -m benchmarks.page                 the demo table: seconds and bytes of a warm server
    python -m benchmarks.page --large         1,000,000 files and 100,000 commits, logs alone
    python -m benchmarks.page --rounds 3

The browser reaches the server through a relay that counts what travels to the browser: HTML,
scripts and the socket, compressed as they are, headers included. Each round of the demo table is
a new browser with nothing in its cache. A view change is a click in the navigation of an open
page; it ends with the last change of the text that is shown, before 0.7 s in which nothing
changes and nothing is waited for. The first look at a view reads what it shows and the second finds
it read, so both are told. Needs Chromium, as the tests do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks.comparing import ROOT
from benchmarks.load import serving
from benchmarks.logs import classic, commits, write_table
from benchmarks.page_relay import Relay, relaying
from benchmarks.report import render_machine
from explorer.demo.write import write_demo
from widgets.state import VIEW_TITLES

WIDE = {"width": 1440, "height": 980}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
LONGEST_MS = 60_000

# The text of the page, in shadow roots too, and whether something is waited for.
_READ = """
const read = (node, found) => {
  if (node.classList?.contains("dx-waiting")) { found.waits = true }
  if (node.tagName === "CANVAS") { found.drawn = true }
  if (node.ariaCurrent === "page") { found.current = node.textContent }
  if (node.shadowRoot) { read(node.shadowRoot, found) }
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) { found.text += child.data } else { read(child, found) }
  }
  return found
}
"""

# From now on until the text of the page has what is asked for, in milliseconds.
_HAS = f"""async ([text, drawn]) => {{
  {_READ}
  const begun = performance.now()
  for (;;) {{
    const found = read(document.body, {{text: "", waits: false, drawn: false}})
    if (found.text.includes(text) && (found.drawn || !drawn)) {{ return performance.now() }}
    if (performance.now() - begun > {LONGEST_MS}) {{ throw new Error("not there: " + text) }}
    await new Promise(requestAnimationFrame)
  }}
}}"""

_FIND = """
const find = (node, view) => {
  const here = node.querySelector?.(`a[data-value="${view}"], a[href*="view=${view}"]`)
  if (here) { return here }
  for (const child of node.querySelectorAll("*")) {
    const inner = child.shadowRoot && find(child.shadowRoot, view)
    if (inner) { return inner }
  }
  return null
}
"""

# Click a link of the navigation, and tell when the page changed last, in milliseconds.
_GO = f"""async ([view, title]) => {{
  {_READ}
  {_FIND}
  const link = find(document, view)
  const begun = performance.now()
  link.click()
  let last = begun, before = null, is_there = false
  for (;;) {{
    const found = read(document.body, {{text: "", waits: false, drawn: false, current: ""}})
    const now = performance.now()
    if (found.text !== before || found.waits) {{ before = found.text; last = now }}
    is_there ||= found.current.includes(title)
    if (is_there && now - last > 700) {{ return last - begun }}
    if (now - begun > {LONGEST_MS}) {{ throw new Error("no end: " + view) }}
    await new Promise(requestAnimationFrame)
  }}
}}"""

# Click a link of the navigation, and tell when a plot is painted, in milliseconds: a message to
# oneself comes after the frame that is being made.
_DRAW = f"""async (view) => {{
  {_READ}
  {_FIND}
  const link = find(document, view)
  const begun = performance.now()
  link.click()
  while (!read(document.body, {{text: "", drawn: false}}).drawn) {{
    if (performance.now() - begun > {LONGEST_MS}) {{ throw new Error("no plot: " + view) }}
    await new Promise(requestAnimationFrame)
  }}
  const channel = new MessageChannel()
  const painted = new Promise((done) => {{ channel.port1.onmessage = done }})
  channel.port2.postMessage(0)
  await painted
  return performance.now() - begun
}}"""


@dataclass
class Told:
    """What was measured, in the order of the first time; `unit` of each name."""

    values: dict[str, list[float]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: float, unit: str = "s", asked: str = "") -> None:
        """One measurement."""
        self.values.setdefault(name, []).append(value)
        self.units[name], self.asked[name] = unit, asked

    def print(self) -> None:
        """All of them, as a table of Markdown."""
        print("\n| What | Median | Slowest | Asked for |\n|---|---|---|---|")
        for name, values in self.values.items():
            shown = [
                _render(one, self.units[name]) for one in (statistics.median(values), max(values))
            ]
            print(f"| {name} | {shown[0]} | {shown[1]} | {self.asked[name]} |", flush=True)


def main() -> int:
    """Measures and prints."""
    options = _parse()
    print(render_machine(), flush=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=ARGUMENTS)
        told = Told()
        if options.large:
            _measure_large(browser, options, Path(place), told)
        else:
            _measure_demo(browser, options, Path(place), told)
        browser.close()
    told.print()
    return 0


def _measure_demo(browser: Browser, options: argparse.Namespace, place: Path, told: Told) -> None:
    table = place / "tables" / "shop_orders"
    table.parent.mkdir()
    write_demo(table, now=datetime(2026, 11, 1, tzinfo=UTC), seed=0)
    with (
        relaying() as relay,
        serving(table.parent, 256, ["--origin", f"localhost:{relay.port}"]) as server,
    ):
        relay.target = server.port
        for turn in range(options.rounds + 1):
            context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
            found = Told() if turn == 0 else told  # the first warms the server
            _visit(context, relay, table, found)
            context.close()


def _visit(context: BrowserContext, relay: Relay, table: Path, told: Told) -> None:
    page = context.new_page()
    address = f"http://localhost:{relay.port}/?{urlencode({'table': table, 'view': 'timeline'})}"
    for name, asked in (("cold", "≤ 2 MB"), ("reload", "≤ 200 KB")):
        before = relay.received
        begun = time.time() * 1000
        page.goto(address, wait_until="commit")
        drawn = _wait_for(page, "The log has 75 commits.", drawn=True)
        told.add(f"address to drawn timeline, {name}", (drawn - begun) / 1000, "s", "< 2 s")
        relay.wait_until_quiet()
        told.add(f"bytes to the browser, {name}", relay.received - before, "B", asked)
    for look in ("first", "second"):
        for view in VIEW_TITLES:
            if view in {"timeline", "maintenance", "commit"}:
                continue
            before = relay.received
            seconds = page.evaluate(_GO, [view, VIEW_TITLES[view]]) / 1000
            told.add(f"{VIEW_TITLES[view]}, {look} look", seconds, "s", "< 0.3 s")
            told.add(f"{VIEW_TITLES[view]}, {look} look, bytes", relay.received - before, "B")
    address = address.replace("view=timeline", "view=overview")
    page.goto(address, wait_until="commit")
    _wait_for(page, "What to do first")
    relay.wait_until_quiet()
    for look in ("first", "second"):
        seconds = page.evaluate(_DRAW, "timeline") / 1000
        told.add(f"Timeline, {look} look: the plot of its commits", seconds, "s", "< 0.3 s")
        page.evaluate(_GO, ["files", VIEW_TITLES["files"]])


def _measure_large(browser: Browser, options: argparse.Namespace, place: Path, told: Told) -> None:
    files = write_table(options.folder, classic(1_000_000))
    versions = write_table(options.folder, commits(100_000))
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    for table, view, steps in (
        (files, "overview", _OVERVIEW),
        (files, "files", _FILES),
        (files, "layout", _LAYOUT),
        (versions, "overview", _OVERVIEW_OF_VERSIONS),
        (versions, "timeline", _TIMELINE),
    ):
        for _ in range(options.rounds):
            # a server of its own: nothing of the table has been read
            state = Path(tempfile.mkdtemp(dir=place))
            with serving(state, 256, [str(table)]) as server:
                page = context.new_page()
                page.goto(f"http://localhost:{server.port}/no-such")  # imports what it serves
                warm = urlencode({"table": write_table(state / "warm", commits(5)), "view": view})
                page.goto(f"http://localhost:{server.port}/?{warm}")
                page.wait_for_timeout(3000)
                query = urlencode({"table": table, "view": view})
                begun = time.time() * 1000
                page.goto(f"http://localhost:{server.port}/?{query}", wait_until="commit")
                for name, text, asked in steps:
                    seconds = (_wait_for(page, text) - begun) / 1000
                    told.add(name, seconds, "s", asked)
                    print(f"{name}: {seconds:.2f} s", flush=True)
                page.close()


def _wait_for(page: Page, text: str, *, drawn: bool = False) -> float:
    """When the page has this text, in milliseconds since the epoch."""
    at: float = page.evaluate(_HAS, [text, drawn])
    origin: float = page.evaluate("performance.timeOrigin")
    return origin + at


def _render(value: float, unit: str) -> str:
    if unit == "B":
        return f"{value / 1e6:,.2f} MB" if value >= 1e6 else f"{value / 1e3:,.0f} KB"
    return f"{value:.2f} s"


_SENTENCE = "The data files were not checked."
_OVERVIEW = (
    ("1,000,000 files: figures of the overview", "Active files", "1.5 s"),
    ("1,000,000 files: last commits", "version 110,", "1.5 s"),
    ("1,000,000 files: what to do first, by the log", _SENTENCE, "4.5 s"),
)
_FILES = (("1,000,000 files: first page of files", "999,990 files", "2 s"),)
_LAYOUT = (("1,000,000 files: layout", "999,990 files", ""),)
_OVERVIEW_OF_VERSIONS = (
    ("100,000 versions: figures of the overview", "Active files", "1.5 s"),
    ("100,000 versions: last commits", "version 99,999,", "1.5 s"),
    ("100,000 versions: what to do first, by the log", _SENTENCE, "4.5 s"),
)
_TIMELINE = (("100,000 versions: timeline", "The log has 100,000 commits.", "5 s"),)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--large", action="store_true", help="logs of known size instead")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chromium", default=None, help="the executable (default: on the path)")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "benchmarks")
    options = parser.parse_args()
    options.chromium = (
        options.chromium or os.environ.get("DELTA_EXPLORER_CHROMIUM") or shutil.which("chromium")
    )
    return options


if __name__ == "__main__":
    raise SystemExit(main())
