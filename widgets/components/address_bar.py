"""The browser's address, kept equal to the page's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
import param

from widgets.theme import static_folder


class AddressBar(pn.custom.JSComponent):
    """Invisible. `search` goes to the browser; its Back button comes back.

    Panel's own location splits the address at every question mark and fails
    where a link has two; this one takes it as it is.
    """

    search = param.String(default="", doc="The query string with its question mark.")

    _esm = (static_folder() / "address_bar.js").read_text(encoding="utf-8")

    def __init__(self, on_back: Callable[[str], None], **params: Any) -> None:
        super().__init__(width=0, height=0, margin=0, visible=True, **params)
        self._on_back = on_back

    def _handle_msg(self, data: Any) -> None:
        search = data.get("search") if isinstance(data, dict) else None
        if isinstance(search, str):
            self._on_back(search)
