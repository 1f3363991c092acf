"""The pictures show the views as they are: the words of each are compared with those then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Server, serving
from tests.documentation.pictures import SEEN, SIZE, open_view, read_words, write_shop
from tests.sampling import sample
from widgets.state import VIEWS


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    shop = tmp_path_factory.mktemp("pictures") / "shop_orders"
    write_shop(shop)
    with serving([str(shop)], tmp_path_factory.mktemp("state")) as server:
        yield server, shop


def test_the_views_look_as_in_their_pictures(browser: Browser, shown: tuple[Server, Path]) -> None:
    """Where this fails: python -m tests.documentation.pictures VIEW, and look at them."""
    server, shop = shown
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    now = {}
    for view in sample(VIEWS, 8, "pictures"):
        open_view(page, server.origin, shop, view)
        now[view] = read_words(page)
    page.close()
    seen = json.loads(SEEN.read_text(encoding="utf-8"))
    assert seen.keys() == {*VIEWS}
    assert now == {view: seen[view] for view in now}
