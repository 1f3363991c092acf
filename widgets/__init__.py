"""The page and the notebook view of Delta tables.

Packages, each above the next: `served` (others may look), `page` (what surrounds the screens),
`screens`, `ui` (what they are made of), `figures` and `session` (what they ask of the engine).
`app` serves a page, `notebook` shows it in Jupyter; `state` is what is chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.front_door import lazy_names

if TYPE_CHECKING:
    from widgets.app import serve
    from widgets.notebook import TableExplorer

_HOMES = {"TableExplorer": "notebook", "serve": "app"}

__all__ = ["TableExplorer", "serve"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
