"""A note in the notebook view for when no kernel answers what is clicked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
import param

from widgets.theme import read_style, static_folder


class KernelNote(pn.custom.JSComponent):
    """Empty while a kernel answers; `picture` where none ever did, `gone` where one stopped.

    Both are HTML with every foreign string escaped. `on_theme` is called once, with
    `dark` or `light`, the theme of the notebook around.
    """

    picture = param.String(default="", doc="Shown in a page that no kernel has answered.")
    gone = param.String(default="", doc="Shown where an answer stays away later.")

    _esm = (static_folder() / "kernel_note.js").read_text(encoding="utf-8")

    def __init__(self, on_theme: Callable[[str], None], **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        params.setdefault("stylesheets", [read_style()])
        super().__init__(margin=0, **params)
        self._on_theme: Callable[[str], None] | None = on_theme

    def _handle_msg(self, data: Any) -> None:
        if not isinstance(data, dict) or not isinstance(data.get("ask"), int):
            return
        self._send_msg({"answer": data["ask"]})
        if self._on_theme is not None:
            on_theme, self._on_theme = self._on_theme, None
            on_theme(data.get("theme", ""))
