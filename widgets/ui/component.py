"""What all components of the page are: they bring no look but their own, and the browser runs a
script as it is."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any, ClassVar
from weakref import WeakSet

import panel as pn
from bokeh.document import Document
from param.parameterized import Event

from widgets.session.work import in_order

_OURS: WeakSet[Document] = WeakSet()


def share_style(document: Document | None) -> None:
    """The page of this document has the style sheet and the script of all components; to be
    called before they are made."""
    if document is not None:
        _OURS.add(document)


def is_shared(document: Document | None) -> bool:
    """Whether a document is a page of ours, and neither a notebook nor somebody else's app."""
    return document in _OURS


class _NoDesign(pn.theme.Design):
    """Adds nothing: a design of Panel brings every component the style sheets of its widgets."""

    modifiers: ClassVar[dict[type[pn.viewable.Viewable], dict[str, Any]]] = {}


class OwnLook:
    """Before a class of Panel: in a page of ours a component has no style sheet but those that it
    is made with, `_own_sheets`, since nothing in it is one of Panel's own components. Three files
    fewer are asked for, after which the browser would lay out the page once more."""

    def __init__(self, *children: Any, **params: Any) -> None:
        if is_shared(pn.state.curdoc):
            params.setdefault("design", _NoDesign)
        super().__init__(*children, **params)

    def _own_sheets(self) -> list[str]:
        return list(self.stylesheets)  # type: ignore[attr-defined]

    def _process_param_change(self, params: dict[str, Any]) -> dict[str, Any]:
        properties: dict[str, Any] = super()._process_param_change(params)  # type: ignore[misc]
        if "stylesheets" in properties and is_shared(pn.state.curdoc):
            properties["stylesheets"] = self._own_sheets()
        return properties


class Component(OwnLook, pn.custom.JSComponent):
    """A component of Panel with a script in plain JavaScript.

    Panel's own translates each script once more for each component, for it could be TypeScript or
    JSX: the first time takes the browser some tenth of a second. A bundle it takes as it is.
    """

    def _get_properties(self, doc: Document | None) -> dict[str, Any]:
        properties: dict[str, Any] = super()._get_properties(doc)
        script = self._script_of(doc) or properties["esm"]
        return properties | {"esm": script, "bundle": _name_script(script)}

    def _update_properties(self, *events: Event, doc: Document) -> dict[str, Any]:
        # what a design adds are style sheets: it need not be asked at every other change
        if any(event.name == "stylesheets" for event in events):
            return dict(super()._update_properties(*events, doc=doc))
        return dict(self._process_param_change({event.name: event.new for event in events}))

    def _process_event(self, event: Any) -> None:
        with in_order():  # all that follows from it in one message
            super()._process_event(event)

    def _script_of(self, _doc: Document | None, /) -> str:
        """The script in this document, where it is not the component's own."""
        return ""


@cache
def _name_script(script: str) -> str:
    """The browser loads a script once for all components that name it alike."""
    return sha256(script.encode()).hexdigest()
