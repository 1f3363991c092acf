"""The page and the notebook view of Delta tables.

Packages, each above the next: `served` (others may look), `page` (what surrounds the screens),
`screens`, `ui` (what they are made of), `figures` and `session` (what they ask of the engine).
`app` serves a page, `notebook` shows it in Jupyter; `state` is what is chosen.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from widgets.app import serve
    from widgets.notebook import TableExplorer

_HOMES = {"TableExplorer": "widgets.notebook", "serve": "widgets.app"}

__all__ = ["TableExplorer", "serve"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
