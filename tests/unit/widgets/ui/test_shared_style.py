"""Style sheet and script: once in a page of ours, with each component anywhere else."""

from __future__ import annotations

from types import SimpleNamespace
from weakref import ref

import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from widgets.theme import read_box_style, read_style
from widgets.ui.boxes import build_card, build_filled_card
from widgets.ui.component import share_style
from widgets.ui.live_html import LiveHtml


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


@pytest.mark.parametrize("is_ours", [True, False], ids=["ours", "of somebody else"])
def test_a_box_of_our_page_asks_for_no_style_sheet_of_panel(is_ours: bool) -> None:
    document, context = Document(), Context()
    document._session_context = ref(context)  # type: ignore[assignment]
    with set_curdoc(document):
        if is_ours:
            share_style(document)
        card = build_card(LiveHtml(), LiveHtml())
        model = card.get_root(document)
        card.css_classes = ["dx-card", "dx-second"]
    assert (model.stylesheets == [read_box_style()]) is is_ours
    assert model.css_classes == ["dx-card", "dx-second"]


def test_a_part_that_is_alone_in_its_card_is_the_card() -> None:
    alone, filled = LiveHtml(css_classes=["mine"]), LiveHtml()
    assert build_card(alone, place="dx-second") is alone
    assert alone.css_classes == ["mine", "dx-card", "dx-second"]
    assert build_filled_card(filled) is filled
    assert filled.css_classes == ["dx-card", "dx-filled"]
