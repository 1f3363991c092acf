"""Pages that are opened and closed all day long: each gives back all that it held, and the
log is not told of it."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from benchmarks.load_page import Page
from tests.served.conftest import WAIT, Server, wait_for
from tests.tables import PROTOCOL, LogFolder, add, metadata
from widgets.served._transfer import SEAM
from widgets.session.work import WORKERS

SESSIONS = 12
VIEWS = ("files", "health", "protocol", "log", "reach", "rows", "statistics", "schema", "compare")

# One signal writes down what is alive, the other one makes a task fail as a bug would.
COUNTED = """
import asyncio, gc, json, logging, os, signal, sys, threading
from pathlib import Path
from tornado.ioloop import IOLoop
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError
from widgets.served import assembly
# longer than a page takes to connect while five others are being made
assembly._UNUSED_SECONDS, assembly._LOOK_SECONDS = 15, 2
# now and then a ping finds a browser gone before its socket does
assembly._PING_SECONDS = 0.02
target = Path(__file__).with_suffix(".json")
PAGES = ("widgets.screens.", "widgets.page.", "widgets.ui.",
         "widgets.served._session_page", "widgets.state",
         "panel.template.")
def count(*_):
    gc.collect()
    alive = {}
    for one in gc.get_objects():
        kind = type(one)
        home = kind.__module__
        ours = isinstance(home, str) and home.startswith(PAGES)
        if ours or kind.__name__ == "Document":
            alive[kind.__qualname__] = alive.get(kind.__qualname__, 0) + 1
    found = {"alive": alive, "threads": threading.active_count(),
             "files": len(os.listdir("/proc/self/fd"))}
    target.with_suffix(".part").write_text(json.dumps(found))
    target.with_suffix(".part").rename(target)
async def fail(error):
    raise error
def break_down(*_):
    loop = asyncio.get_running_loop()
    for error in (WebSocketClosedError(), StreamClosedError(), ValueError("a real one")):
        loop.create_task(fail(error))
        IOLoop.current().add_callback(fail, error)
    teller = logging.getLogger("panel.io.document")
    teller.warning("Failed sending message as connection was closed")
    loop.call_soon_threadsafe(loop.call_later, 1, gc.collect)
signal.signal(signal.SIGUSR1, count)
signal.signal(signal.SIGUSR2, break_down)
from explorer.cli.main import main
sys.exit(main())
"""


class CountedServer(Server):
    """A server that gives sessions up soon, and can be asked what is alive in it."""

    def __init__(self, state: Path, *words: str) -> None:
        script = state / "counted.py"
        script.write_text(COUNTED)
        self._target = script.with_suffix(".json")
        super().__init__(state, *words, script=script)

    def count(self) -> Mapping[str, Any]:
        """The objects of pages by class, threads, and open files."""
        self._target.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        wait_for(self._target.exists, "the server counts what is alive")
        found: dict[str, Any] = json.loads(self._target.read_text())
        return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tables."""
    lake = tmp_path_factory.mktemp("lake")
    for name in ("orders", "events", "people"):
        log = LogFolder(lake / name)
        log.commit(0, [PROTOCOL, metadata(name=name), add("a.parquet", size=10)])
        log.commit(1, [add("b.parquet", size=20)])
    return lake


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CountedServer]:
    running = CountedServer(tmp_path_factory.mktemp("state"), "--scan", str(folder))
    yield running
    running.stop()


async def visit(port: int, table: Path, number: int) -> None:
    """Look at a table; every second visitor leaves in the middle of an answer."""
    dice = random.Random(number)
    page = Page(port, urlencode({"table": str(table)}))
    await page.open()
    await page.go(urlencode({"table": str(table), "view": dice.choice(VIEWS)}))
    if number % 2:
        going = asyncio.create_task(page.go(urlencode({"table": str(table), "view": "timeline"})))
        await asyncio.sleep(dice.uniform(0, 0.2))
        going.cancel()
        page.vanish()
    page.close()


def visit_all(server: Server, folder: Path, count: int) -> None:
    """So many visitors at once."""
    tables = sorted(folder.iterdir())

    async def run() -> None:
        visitors = (
            visit(server.port, tables[number % len(tables)], number) for number in range(count)
        )
        await asyncio.gather(*visitors)

    # a browser that Playwright drives has a loop running in this thread
    with ThreadPoolExecutor(1) as beside:
        beside.submit(lambda: asyncio.run(run())).result()


@pytest.mark.turns(one_in=2)
def test_a_page_that_is_closed_gives_back_all_it_held(server: CountedServer, folder: Path) -> None:
    last: list[Mapping[str, Any]] = []

    def is_left_by_all() -> bool:
        time.sleep(1)  # to count keeps the server from giving back
        last[:] = [server.count()]
        return last[0]["alive"].keys().isdisjoint({"Explorer", "LiveHtml", "Page", "PageState"})

    documents = server.count()["alive"]["Document"]
    # the first pages load what every page needs, and open the tables
    visit_all(server, folder, 4)
    wait_for(is_left_by_all, "the first pages are given back", 3 * WAIT)
    (before,) = last
    assert before["alive"]["Document"] == documents  # the very first page is given back too
    visit_all(server, folder, SESSIONS)
    wait_for(is_left_by_all, "the pages are given back", 3 * WAIT)
    (after,) = last
    assert after["alive"] == before["alive"]
    assert after["threads"] <= before["threads"] + WORKERS  # those of the pool come one by one
    assert after["files"] <= before["files"]


def test_the_log_is_silent_about_pages_that_were_closed_and_not_about_errors(
    server: CountedServer, folder: Path
) -> None:
    visit_all(server, folder, 6)
    server.process.send_signal(signal.SIGUSR2)
    wait_for(lambda: server.said.count("ValueError: a real one") == 2, "errors are in the log")
    assert server.said.count("Traceback") == 2, server.said
    assert "ClosedError" not in server.said
    assert "Failed sending message" not in server.said


@pytest.mark.turns(one_in=2)
def test_a_page_at_rest_is_pinged(server: CountedServer, folder: Path) -> None:
    """What lies between would cut a connection on which nothing is said for long."""
    table = min(folder.iterdir())

    async def rest() -> None:
        page = Page(server.port, urlencode({"table": str(table)}))
        await page.open()
        await asyncio.wait_for(page.wait_for_ping(), WAIT)
        page.close()

    with ThreadPoolExecutor(1) as beside:
        beside.submit(lambda: asyncio.run(rest())).result()


def test_a_page_begins_with_its_scripts_before_its_session_is_there(
    server: CountedServer,
) -> None:
    pages = [server.ask("/") for _ in range(3)]
    bodies = {re.sub(r'nonce="[^"]*"', "", page.body.partition(SEAM.decode())[0]) for page in pages}
    assert len(bodies) == 1
    assert all(page.headers["Transfer-Encoding"] == "chunked" for page in pages)
    assert "bokeh.min.js" in bodies.pop()
    assert all(page.body.count("bokeh.min.js") == 1 for page in pages)
    assert all(page.body.count("</html>") == 1 for page in pages)
    # whoever names a session is answered at once, with a refusal that is one
    assert server.ask("/?bokeh-session-id=made-up").status == 403
