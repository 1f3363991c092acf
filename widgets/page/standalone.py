"""A page as one HTML document that needs no server, no kernel and no network."""

from __future__ import annotations

import io
from typing import Any

from bokeh.document import Document
from bokeh.models import UIElement
from bokeh.resources import INLINE
from panel.io.notebook import patch_inline_stylesheets
from panel.io.resources import set_resource_mode
from panel.io.save import save


def render_standalone(panel: Any, title: str) -> str:
    """The HTML of a Panel object as it is now, with all scripts and styles inside."""
    document = Document()
    with set_resource_mode("inline"):
        root = panel.get_root(document)
        # Panel links its own style sheets otherwise, from its maker's servers
        for part in root.select({"type": UIElement}):
            patch_inline_stylesheets(part)
        document.add_root(root)
    page = io.StringIO()
    save(document, page, resources=INLINE, title=title)
    return page.getvalue()
