"""Style sheet and script: once in a page of ours, with each component anywhere else."""

from __future__ import annotations

from types import SimpleNamespace
from weakref import ref

import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from widgets.theme import read_style
from widgets.ui.live_html import LiveHtml, share_style


class Context:
    """Stands for the session of a served document."""

    server_context, session = object(), None
    request = SimpleNamespace(arguments={}, cookies={}, headers={})


@pytest.mark.parametrize("is_ours", [True, False], ids=["ours", "of somebody else"])
def test_a_served_page_has_the_style_once_and_an_app_of_somebody_else_with_each_component(
    is_ours: bool,
) -> None:
    document, context = Document(), Context()
    document._session_context = ref(context)  # type: ignore[assignment]
    with set_curdoc(document):
        if is_ours:
            share_style(document)
        model = LiveHtml().get_root(document)
    assert (read_style() in model.stylesheets) is not is_ours
    assert ("dxLiveHtml" in model.esm) is is_ours


def test_a_script_is_named_by_what_it_is_so_that_a_browser_runs_it_as_it_stands() -> None:
    names = []
    for is_ours in (True, True, False):
        document, context = Document(), Context()
        document._session_context = ref(context)  # type: ignore[assignment]
        with set_curdoc(document):
            if is_ours:
                share_style(document)
            names.append(LiveHtml().get_root(document).bundle)
    assert names[0] == names[1] != names[2]
    assert None not in names
