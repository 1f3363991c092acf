"""The one Chromium of a test process, shared by all that look at pages."""

from __future__ import annotations

import atexit
import os
import shutil
from functools import cache

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

WAIT_MS = 30_000
"""For two loaded cores; what is waited for takes one second."""

# Headless Chromium asks its maker for updates by itself; here it must not.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # nothing but this machine can be reached, by a name or by a number
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]


def launched() -> Browser:
    """The browser; skips where there is none, which fails in CI."""
    found = os.environ.get("DELTA_EXPLORER_CHROMIUM") or shutil.which("chromium")
    if not found:
        pytest.skip("no Chromium: install the package `chromium` or set DELTA_EXPLORER_CHROMIUM")
    return _launch(found)


@cache
def _launch(executable: str) -> Browser:
    # A second Playwright in the same thread is refused, so there is no closing in between.
    playwright = sync_playwright().start()
    atexit.register(playwright.stop)
    expect.set_options(timeout=WAIT_MS)
    return playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
