"""The Chromium of the browser tests."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import launched


@pytest.fixture(scope="session")
def browser() -> Browser:
    return launched()
