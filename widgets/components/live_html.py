"""The one component that shows HTML and tells what a person does in it.

The HTML is built by the other modules of this package, which pass every string
of a table through `widgets.text.esc`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import panel as pn
import param

from widgets.theme import read_script, read_style

LOG = logging.getLogger(__name__)
Handler = Callable[[str], None]


class LiveHtml(pn.custom.JSComponent):
    """Escaped HTML; elements with `data-do` call the handler of that name.

    A message is a wish of whoever sits at the browser: an action without a
    handler is ignored, and handlers check the value, which is text.
    """

    html = param.String(default="", doc="HTML with every foreign string escaped.")

    _esm = read_script()

    def __init__(self, html: str = "", **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        params.setdefault("stylesheets", [read_style()])
        super().__init__(html=html, **params)
        self._handlers: dict[str, Handler] = {}

    def on(self, action: str, handler: Handler) -> None:
        """Call `handler` with the value of elements that do `action`."""
        self._handlers[action] = handler

    def download(self, name: str, text: str) -> None:
        """Save `text` as a file in the person's browser."""
        self._send_msg({"download": name, "text": text})

    def _handle_msg(self, data: Any) -> None:
        if not isinstance(data, dict):
            return
        action, value = data.get("action"), data.get("value")
        if isinstance(action, str) and isinstance(value, str) and action in self._handlers:
            self._handlers[action](value)
