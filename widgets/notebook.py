"""The explorer in a notebook."""

from __future__ import annotations

import os
import shlex
from typing import Any

import panel as pn

from explorer.maintenance.state_folder import StateFolder
from explorer.storage.location import parse_location
from explorer.table.table import Table
from widgets.components.live_html import LiveHtml
from widgets.services.access import Access
from widgets.services.desk import Desk, Shelf, adopt
from widgets.services.maintenance import Maintenance
from widgets.services.recents import Recents
from widgets.services.work import InlineRunner
from widgets.state import VIEW_TITLES, VIEWS, Address, PageState
from widgets.text import esc
from widgets.views.explorer import Explorer


class TableExplorer(pn.viewable.Viewer):
    """The explorer of one table, shown as a cell's result.

    `table` is a path, a URL or an open `explorer.Table`. It works in a first and
    only cell: what the page needs is put into the notebook itself, so that an
    exported notebook shows it without a network too. With `maintenance` plans can be
    carried out from it; whoever reaches the kernel may do that anyway.
    """

    def __init__(
        self,
        table: str | os.PathLike[str] | Table,
        *,
        version: int | None = None,
        storage_options: dict[str, Any] | None = None,
        maintenance: bool = False,
    ) -> None:
        super().__init__()
        # The default comm: with ipywidgets the first cell races its extension.
        pn.extension(inline=True)
        self._state = PageState()
        desk = Desk(
            runner=InlineRunner(),
            shelf=Shelf(storage_options),
            access=Access(),
            recents=Recents(),
            maintenance=Maintenance(
                is_unlocked=lambda: maintenance and not _is_served(),
                state=StateFolder(),
                storage_options=storage_options,
            ),
        )
        self._explorer = Explorer(desk, self._state)
        self._tabs = LiveHtml(margin=0)
        self._tabs.on("view", self._choose)
        self._tabs.on("dark", lambda _: self._toggle())
        self._tabs.on("reload", lambda _: self._explorer.reload())
        self._state.param.watch(lambda *_: self._draw_tabs(), ["view", "table"])
        self._draw_tabs()
        self._foot = LiveHtml(_render_foot(table), margin=0)
        self._foot.on("greet", self._answer)
        self._page = self._explorer.panel
        self._page.insert(0, self._tabs)
        self._page.append(self._foot)
        # The colours are the explorer's own; the notebook's design would overlay them.
        self._page.param.update(
            css_classes=[*self._page.css_classes, "dx-framed"], design=pn.theme.Native
        )
        if isinstance(table, Table):
            self._explorer.show(adopt(table))
        else:
            self._explorer.open(Address(table=os.fspath(table), version=version))

    def __panel__(self) -> Any:
        return self._page

    def _answer(self, theme: str) -> None:
        """The browser reaches the kernel: this is no dead copy."""
        self._foot.visible = False
        self._state.dark = theme == "dark"

    def _choose(self, view: str) -> None:
        if view in VIEWS:
            self._state.view = view

    def _toggle(self) -> None:
        self._state.dark = not self._state.dark

    def _draw_tabs(self) -> None:
        tabs = ""
        for view in VIEWS:
            current = ' aria-current="page"' if view == self._state.view else ""
            tabs += (
                f'<button type="button" data-do="view" data-value="{view}"{current}>'
                f"{VIEW_TITLES[view]}</button>"
            )
        self._tabs.html = (
            f'<nav class="dx-tabs" aria-label="Views">{tabs}'
            '<button type="button" class="dx-icon dx-reload dx-rest" data-do="reload" '
            'aria-label="Look at the table anew" title="Look at the table anew"></button>'
            '<button type="button" class="dx-icon dx-mode" data-do="dark" '
            'aria-label="Light or dark" title="Light or dark"></button></nav>'
        )


def _is_served() -> bool:
    """Whether a server shows this explorer to whoever asks, instead of a kernel to its owner."""
    document = pn.state.curdoc
    return document is not None and document.session_context is not None


def _render_foot(table: str | os.PathLike[str] | Table) -> str:
    """What stands below the page until a kernel answers."""
    shown = table.uri if isinstance(table, Table) else parse_location(table).shown
    line = f"delta-explorer serve {shlex.quote(shown)}"
    return (
        '<p class="dx-muted" data-greet="">No kernel answers here, so this is a picture of the '
        f"table as the cell left it. The live page: <code>{esc(line)}</code></p>"
    )
