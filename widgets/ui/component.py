"""A component whose script the browser runs as it is."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any

import panel as pn
from bokeh.document import Document


class Component(pn.custom.JSComponent):
    """A component of Panel with a script in plain JavaScript.

    Panel's own translates each script once more for each component, for it could be TypeScript or
    JSX: the first time takes the browser some tenth of a second. A bundle it takes as it is.
    """

    def _get_properties(self, doc: Document | None) -> dict[str, Any]:
        properties: dict[str, Any] = super()._get_properties(doc)
        script = self._script_of(doc) or properties["esm"]
        return properties | {"esm": script, "bundle": _name_script(script)}

    def _script_of(self, _doc: Document | None, /) -> str:
        """The script in this document, where it is not the component's own."""
        return ""


@cache
def _name_script(script: str) -> str:
    """The browser loads a script once for all components that name it alike."""
    return sha256(script.encode()).hexdigest()
