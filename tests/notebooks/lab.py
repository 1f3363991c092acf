"""One JupyterLab of a test module, without a network and without news."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import nbformat
from nbformat.reader import NotJSONError
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import Guard
from tests.listening import Listener

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "secret"
EXTENSION = "@jupyterlab/apputils-extension"


class Lab:
    """A running server, whose notebooks lie in `folder`."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._settings = home / "settings" / EXTENSION
        self._settings.mkdir(parents=True)
        self._set("notification", fetchNews="false", checkForUpdates=False)
        options = [
            f"--IdentityProvider.token={TOKEN}",
            f"--ServerApp.root_dir={folder}",
            f"--LabApp.user_settings_dir={home / 'settings'}",
            "--ServerApp.port=0",
            "--ServerApp.ip=127.0.0.1",
        ]
        places = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "RUNTIME")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *options],
            cwd=folder,
            env={
                **os.environ,
                **places,
                "PYTHONPATH": str(ROOT),
                "IPYTHONDIR": str(home / "ipython"),
                "XDG_STATE_HOME": str(home / "state"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._heard = Listener(self._process, r"http://(127\.0\.0\.1|localhost):\d+")
        self.origin = self._heard.found.group().replace("localhost", "127.0.0.1")
        self._wait()

    def _wait(self) -> None:
        """Until it answers: it names its address before it does."""
        for _ in range(2 * WAIT_MS // 100):
            with suppress(URLError):
                self._ask("GET", "status")
                return
            time.sleep(0.1)
        raise AssertionError("the lab does not answer:\n" + self._heard.said)

    def _set(self, plugin: str, **settings: object) -> None:
        file = self._settings / f"{plugin}.jupyterlab-settings"
        file.write_text(json.dumps(settings), encoding="utf-8")

    def use_theme(self, name: str) -> None:
        """The theme of pages that are opened from now on."""
        self._set("themes", theme=name)

    def write(self, name: str, *cells: str) -> None:
        """A notebook of code cells."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, self.folder / name)

    def run(self, browser: Browser, name: str) -> tuple[Page, Guard]:
        """A page in which all cells of a notebook are being run."""
        # with a kernel that runs already the page has none to ask a person for
        session = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "python3"}}
        self._ask("POST", "sessions", session)
        page = browser.new_page(viewport={"width": 1300, "height": 1000})
        page.set_default_timeout(2 * WAIT_MS)
        guard = Guard(self.origin)
        guard.watch(page)
        page.goto(f"{self.origin}/doc/tree/{name}?token={TOKEN}&reset")
        idle = page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")
        expect(idle).to_be_attached(timeout=2 * WAIT_MS)
        started = page.locator(".jp-InputPrompt", has_text=re.compile(r"\[[*1]\]"))
        for _ in range(10):
            choose(page, "Run", "Run All Cells")
            # a lab that is still putting itself together loses it, or asks for a kernel
            with suppress(NotInTime):
                page.locator(".jp-Dialog .jp-mod-accept").click(timeout=1000)
            with suppress(NotInTime):
                started.first.wait_for(timeout=5000)
                return page, guard
        raise AssertionError(f"{name} does not run")

    def save(self, page: Page, name: str) -> nbformat.NotebookNode:
        """The notebook with its outputs, saved from the menu of a page."""
        choose(page, "File", "Save Notebook")
        for _ in range(2 * WAIT_MS // 200):
            # while it is being written it is no whole document
            with suppress(NotJSONError):
                saved = nbformat.read(self.folder / name, as_version=4)
                if saved.cells[0].outputs:
                    return saved
            page.wait_for_timeout(200)
        raise AssertionError(f"{name} was not saved")

    def end_kernels(self) -> None:
        """Shut every kernel down, as a person does in the list of running ones."""
        for kernel in json.loads(self._ask("GET", "kernels")):
            self._ask("DELETE", f"kernels/{kernel['id']}")

    def _ask(self, method: str, what: str, body: object = None) -> bytes:
        headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.origin}/api/{what}", data, headers, method=method)
        with urlopen(request, timeout=60) as response:
            answer: bytes = response.read()
        return answer

    def stop(self) -> None:
        """Stop the server with its kernels."""
        self.end_kernels()
        # not by a signal that it may answer: its own cleanup waits for ever, now and then, for
        # kernels that a page is connected to; one that is left ends with its parent
        self._process.kill()
        self._process.wait(timeout=60)
        self._heard.wait()


def choose(page: Page, menu: str, entry: str) -> None:
    """An entry of the lab's menu."""
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.locator(".lm-Menu-item").get_by_text(entry, exact=True).click()


@contextmanager
def running(folder: Path, home: Path) -> Iterator[Lab]:
    """A lab, stopped at the end."""
    lab = Lab(folder, home)
    try:
        yield lab
    finally:
        lab.stop()
