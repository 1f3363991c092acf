"""An explorer made for a notebook that a server shows instead: whoever asks is nobody known."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from tests.unit.widgets.orders import Orders
from widgets import TableExplorer
from widgets.ui.live_html import LiveHtml


class Context:
    """Stands for the session of a served document."""

    request = SimpleNamespace(arguments={}, cookies={}, headers={})


def html(page: TableExplorer) -> str:
    return "".join(part.html for part in page._page.select(LiveHtml))


def test_an_explorer_that_is_served_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    page = TableExplorer(Orders(tmp_path).root, maintenance=True)
    right = page._explorer._services.maintenance
    assert right.is_unlocked
    document, context = Document(), Context()
    document._session_context = weakref.ref(context)  # type: ignore[assignment]
    with set_curdoc(document):
        assert not right.is_unlocked
        page._state.view = "maintenance"
        assert "This page is read-only." in html(page)
    assert right.is_unlocked
