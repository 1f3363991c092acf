"""A note in the notebook view for when no kernel answers what is clicked."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import param

from widgets.theme import read_style, static_folder
from widgets.ui.component import Component


def _fonts() -> list[tuple[str, str]]:
    """Those of the served page, as far as Latin goes: a notebook has no server to ask."""
    folder = static_folder() / "fonts"
    read = {weight: (folder / f"roboto-latin-{weight}.woff2").read_bytes() for weight in (400, 700)}
    return [
        (str(weight), f"data:font/woff2;base64,{b64encode(data).decode('ascii')}")
        for weight, data in read.items()
    ]


class KernelNote(Component):
    """Empty while a kernel answers; `picture` where none ever did, `gone` where one stopped.

    Both are HTML with every foreign string escaped. `on_theme` is called once, with
    `dark` or `light`, the theme of the notebook around.
    """

    picture = param.String(default="", doc="Shown in a page that no kernel has answered.")
    fonts = param.List(default=[], doc="Weight and data address of each font of the page.")
    gone = param.String(default="", doc="Shown where an answer stays away later.")

    _esm = (static_folder() / "kernel_note.js").read_text(encoding="utf-8")

    def __init__(self, on_theme: Callable[[str], None], **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        params.setdefault("stylesheets", [read_style()])
        params.setdefault("fonts", _fonts())
        super().__init__(margin=0, **params)
        self._on_theme: Callable[[str], None] | None = on_theme

    def _handle_msg(self, data: Any) -> None:
        if not isinstance(data, dict) or not isinstance(data.get("ask"), int):
            return
        self._send_msg({"answer": data["ask"]})
        if self._on_theme is not None:
            on_theme, self._on_theme = self._on_theme, None
            on_theme(data.get("theme", ""))
