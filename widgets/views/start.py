"""Choosing a table: the picker in the sidebar, and the start page without one."""

from __future__ import annotations

from collections.abc import Callable

import panel_material_ui as pmui

from widgets.components.boxes import build_slot, build_stack
from widgets.components.live_html import LiveHtml
from widgets.components.table import Cell, Column, Row, render_table
from widgets.services.desk import Desk
from widgets.state import PageState
from widgets.text import cut_middle, esc, last_part

Open = Callable[[str], None]

_COLUMNS = (Column(key="table", label="Table", mono=True),)


def short_name(uri: str) -> str:
    """The last part of a place, for narrow lists."""
    return cut_middle(last_part(uri), 40)


class Picker:
    """The open table among those served and opened lately, and a field for another."""

    def __init__(self, desk: Desk, state: PageState, on_open: Open) -> None:
        self._desk = desk
        self._state = state
        self._on_open = on_open
        self._choice = build_slot()
        self._paste = pmui.TextInput(
            label="Open another table",
            placeholder="Path or URL, then Enter",
            size="small",
            sizing_mode="stretch_width",
            margin=(8, 12, 10, 12),
        )
        self.panels = (self._choice, self._paste)
        # The value itself also changes when the field is left, which opens nothing.
        self._paste.param.watch(lambda _: self._pasted(), "enter_pressed")
        state.param.watch(lambda *_: self._fill(), "table")
        self._fill()

    def _fill(self) -> None:
        choices = self._desk.choices()
        current = self._state.table
        self._paste.param.update(value="", value_input="")
        if current and current not in choices:
            choices = (current, *choices)
        if not current:
            self._choice[:] = []
            return
        labels = _distinct({uri: short_name(uri) for uri in choices})
        # Built anew: a Select whose options change chooses one of them by itself.
        choice = pmui.Select(
            label="Table",
            options={label: uri for uri, label in labels.items()},
            value=current,
            size="small",
            sizing_mode="stretch_width",
            margin=(16, 12, 2, 12),
        )
        choice.param.watch(lambda event: self._chosen(event.new), "value")
        self._choice[:] = [choice]

    def _chosen(self, uri: str | None) -> None:
        if uri and uri != self._state.table:
            self._on_open(uri)

    def _pasted(self) -> None:
        if text := (self._paste.value_input or "").strip():
            self._on_open(text)


class StartView:
    """What a page without a table shows."""

    def __init__(self, desk: Desk, state: PageState, on_open: Open) -> None:
        self._desk = desk
        self._field = LiveHtml(_FIELD, margin=0)
        self._recent = LiveHtml(margin=0)
        self.panel = build_stack(self._field, self._recent)
        self._typed = ""
        self._field.on("open", lambda text: self._open(text, on_open))
        self._recent.on("choose", on_open)
        state.param.watch(lambda *_: self._fill(), ["table", "opening"])
        self._fill()

    def _open(self, text: str, on_open: Open) -> None:
        if text.strip():
            on_open(text.strip())

    def _fill(self) -> None:
        choices = self._desk.choices()
        if not choices:
            self._recent.html = ""
            return
        rows = [
            Row(cells=(Cell(text=cut_middle(uri, 110), title=uri),), action="choose", value=uri)
            for uri in choices
        ]
        table = render_table("Tables to open", _COLUMNS, rows)
        self._recent.html = (
            f'<section class="dx-start dx-recent"><h3>{esc("Recent tables")}</h3>{table}</section>'
        )


_FIELD = """
<section class="dx-start"><h2>Open a Delta table</h2>
<p class="dx-muted">Paste the path of the folder that holds <code>_delta_log</code>, or a URL
such as <code>s3://bucket/orders</code>. Nothing in the table is changed.</p>
<div class="dx-head"><input type="text" data-do="open" data-when="enter"
aria-label="Path or URL of a table" placeholder="Path or URL, then Enter"
autocomplete="off" spellcheck="false"></div></section>
"""


def _distinct(labels: dict[str, str]) -> dict[str, str]:
    """Labels that differ: two tables called `orders` are told apart by their place."""
    names = list(labels.values())
    return {
        uri: label if names.count(label) == 1 else cut_middle(uri, 60)
        for uri, label in labels.items()
    }
