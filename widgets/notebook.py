"""The explorer in a notebook."""

from __future__ import annotations

import os
import sys
from typing import Any

import panel as pn

from explorer.maintenance.documents.state_folder import StateFolder
from explorer.storage.location import parse_location
from explorer.table.table import Table
from widgets.markup import Markup, html
from widgets.page.explorer import Explorer
from widgets.page.kernel_note import KernelNote
from widgets.page.navigation import Navigation
from widgets.page.standalone import render_standalone
from widgets.session.access import Access
from widgets.session.maintenance import Maintenance
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.work import InlineRunner
from widgets.state import Address, PageState
from widgets.text import shell_word
from widgets.ui.boxes import build_box


class TableExplorer(pn.viewable.Viewer):
    """The explorer of one table, shown as a cell's result.

    `table` is a path, a URL or an open `explorer.Table`. It works in a first and
    only cell: what the page needs is put into the notebook itself, so that an
    exported notebook shows it without a network too. With `maintenance` plans can be
    carried out from it; whoever reaches the kernel may do that anyway. `by` is who does so:
    receipts and commits carry the name.

    Some hosts pass no messages between a cell's output and the kernel. There the cell
    shows a picture of the table with the reason, as one document of its own. Known hosts
    are recognised; `live=False` asks for the picture anywhere.
    """

    def __init__(
        self,
        table: str | os.PathLike[str] | Table,
        *,
        version: int | None = None,
        storage_options: dict[str, Any] | None = None,
        maintenance: bool = False,
        by: str | None = None,
        live: bool = True,
    ) -> None:
        super().__init__()
        self._dead_because = _find_missing_link() if live else "It was asked for: live=False."
        if not self._dead_because:
            # The default comm: with ipywidgets the first cell races its extension.
            pn.extension(inline=True)
        self._state = PageState()
        services = PageServices(
            runner=InlineRunner(),
            tables=OpenTables(storage_options),
            access=Access(),
            recents=Recents(),
            maintenance=Maintenance(
                is_unlocked=lambda: maintenance and not _is_served(),
                state=StateFolder(),
                storage_options=storage_options,
                person=by,
            ),
        )
        self._explorer = Explorer(services, self._state)
        self._navigation = Navigation(self._state, has_address=False)
        line = f"delta-explorer serve {shell_word(_shown(table))}"
        self._note = KernelNote(
            self._follow_theme,
            picture=_render_note(
                "No kernel answers here, so this is a picture of the table as the cell left it.",
                self._dead_because or "Run the cell to make it live.",
                line,
            ),
            gone=_render_note(
                "The kernel has not answered for some seconds.",
                "It is busy, or it is gone. A busy one does later what was clicked; "
                "after a restart run the cell again.",
                line,
            ),
        )
        # The colours are the explorer's own; the notebook's design would overlay them.
        self._page = self._explorer.panel
        self._page.param.update(
            css_classes=[*self._page.css_classes, "dx-framed"], design=pn.theme.Native
        )
        view = build_box("dx-view", *self._page)
        self._page[:] = [
            build_box("dx-bar", self._explorer.header, self._explorer.tools),
            self._note,
            build_box("dx-beside-views", build_box("dx-views", self._navigation.panel), view),
        ]
        if isinstance(table, Table):
            self._explorer.show(services.adopt(table), version)
        else:
            self._explorer.open(Address(table=os.fspath(table), version=version))

    def __panel__(self) -> Any:
        return self._page

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if not self._dead_because:
            return super()._repr_mimebundle_(include, exclude)
        return {"text/html": self._render_picture(), "text/plain": self._dead_because}, {}

    def _render_picture(self) -> Markup:
        """The page as one frame that needs nothing else of the notebook around it."""
        page = render_standalone(self._page, "delta-explorer")
        return html(
            '<iframe title="delta-explorer" srcdoc="{}" '
            'style="width: 100%; height: 1100px; border: 0"></iframe>',
            page,
        )

    def _follow_theme(self, theme: str) -> None:
        self._state.dark = theme == "dark"


def _is_served() -> bool:
    """Whether a server shows this explorer to whoever asks, instead of a kernel to its owner."""
    document = pn.state.curdoc
    return document is not None and document.session_context is not None


def _find_missing_link() -> str:
    """Why clicks cannot reach this kernel, as a sentence; empty where they can."""
    if os.environ.get("DATABRICKS_RUNTIME_VERSION"):
        return "A Databricks notebook passes no messages between this view and its kernel."
    if "google.colab" in sys.modules and pn.config.comms != "colab":
        return "Colab needs jupyter_bokeh for a live view: pip install jupyter_bokeh."
    shell = sys.modules.get("IPython")
    session = shell.get_ipython() if shell is not None else None
    if session is not None and getattr(session, "kernel", None) is None:
        return "This IPython runs without a Jupyter kernel, so nothing can answer a click."
    return ""


def _shown(table: str | os.PathLike[str] | Table) -> str:
    return table.uri if isinstance(table, Table) else parse_location(table).shown


def _render_note(problem: str, reason: str, line: str) -> Markup:
    """What stands above the page while no kernel answers."""
    return html(
        '<div class="dx-notice dx-warning" role="status"><div><strong>{}</strong>'
        "<p>{} A page that lives without a notebook: <code>{}</code></p>"
        "</div></div>",
        problem,
        reason,
        line,
    )
