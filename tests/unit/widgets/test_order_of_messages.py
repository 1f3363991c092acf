"""A browser that is slow to take what it is sent still gets the plot before its changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.models import ColumnDataSource
from panel.io import document as sending
from panel.io.state import set_curdoc

from tests.unit.widgets.page.test_explorer_view import Page, shop


class SlowBrowser:
    """A session's connection whose socket is busy: what is sent to it is recorded."""

    def __init__(self, document: Document) -> None:
        self.queued: list[DocumentPatchedEvent] = []
        self.overtaking: list[object] = []
        busy = SimpleNamespace(_block=SimpleNamespace(_value=0))
        self._socket = SimpleNamespace(write_lock=busy)
        self.protocol = SimpleNamespace(create=self._queue)
        session = SimpleNamespace(_subscribed_connections=[self])
        self.context = SimpleNamespace(session=session, id="slow", request=None)
        document._session_context = lambda: self.context
        document.on_change(self.overtaking.append)

    def _queue(self, _kind: str, events: list[DocumentPatchedEvent]) -> object:
        self.queued += events
        return object()


@pytest.fixture
def document() -> Iterator[Document]:
    made = Document()
    pn.state._loaded[made] = pn.state._connected[made] = True
    pn.state._thread_id_[made] = threading.get_ident()
    with set_curdoc(made):
        yield made
    for kept in (sending._WRITE_MSGS, sending._WRITE_BLOCK):
        kept.pop(made, None)


@pytest.mark.slow
def test_changes_of_the_plot_never_overtake_the_plot(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the messages are looked at where they are queued; nothing is to be written
    monkeypatch.setattr(sending, "_dispatch_write_task", lambda *_: None)
    page = Page()
    document.add_root(page.explorer.panel.get_root(document))
    browser = SlowBrowser(document)
    page.open(shop(tmp_path), view="timeline")
    page.do("range", "7d")
    page.state.version = 3
    sources = document.select({"type": ColumnDataSource})
    changed: set[Any] = {getattr(event, "model", None) for event in browser.queued}
    assert changed & set(sources)
    assert [event for event in browser.overtaking if isinstance(event, DocumentPatchedEvent)] == []
