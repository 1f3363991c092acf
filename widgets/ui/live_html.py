"""The one component that shows HTML and tells what a person does in it.

The HTML is built by `widgets.markup`, which escapes every string of a table.
"""

from __future__ import annotations

import base64
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO
from uuid import uuid4

import param
from bokeh.document import Document

from widgets.markup import NOTHING, Markup
from widgets.text import well_formed
from widgets.theme import read_script, read_style
from widgets.ui.component import Component, is_shared

LOG = logging.getLogger(__name__)
Handler = Callable[[str], object]
FieldsHandler = Callable[[Mapping[str, str]], object]

LONGEST_FIELDS = 200_000
"""Characters of what the fields of a form hold together, as a page sends it."""

PIECE_BYTES = 512 * 1024
"""Of a file on its way to the browser, which asks for the next piece when it has one:
no more than this of it lies in memory."""

MEDIA = {"csv": "text/csv;charset=utf-8", "parquet": "application/vnd.apache.parquet"}
"""The media type of each kind of file, by the end of its name."""

FILES_KEPT = 4
"""Files on their way at once; one that the browser has forgotten must not stay."""


def parse_fields(text: str) -> dict[str, str]:
    """The fields of a form as a page sends them, by name; empty for what is none."""
    if len(text) > LONGEST_FIELDS:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        well_formed(name): well_formed(value)
        for name, value in found.items()
        if isinstance(value, str)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Download:
    name: str
    kind: str
    content: BinaryIO


class StyledComponent(Component):
    """A component in the look of the page. In a notebook, or in a Panel app of somebody else, it
    carries style sheet and script; a page of ours has both once, see `static/page.html`: `_here`
    is the script that finds it."""

    _here = ""

    @classmethod
    @cache
    def _render_esm(cls, compiled: Any = True, server: bool = False) -> str:  # noqa: FBT001, FBT002 - Panel's signature
        """Panel takes the script's margin away once more for each component."""
        return str(super()._render_esm(compiled, server))

    def _script_of(self, doc: Document | None, /) -> str:
        return self._here if is_shared(doc) else ""

    def _own_sheets(self) -> list[str]:
        return [one for one in super()._own_sheets() if one != read_style()]


# a page has some twenty of them, each with its own copy of thirty parameters else
@param.parameterized.no_instance_params
class LiveHtml(StyledComponent):
    """Escaped HTML; elements with `data-do` call the handler of that name.

    A message is from whoever sits at the browser: an action without a
    handler is ignored, and handlers check the value, which is text.
    """

    html: Markup = param.String(default=NOTHING, doc="HTML with every foreign string escaped.")  # type: ignore[assignment]

    _esm = read_script()
    _here = "export const render = (given) => globalThis.dxLiveHtml(given)"
    _linked_properties = ()  # the browser tells by messages alone

    def __init__(self, html: Markup = NOTHING, **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        params.setdefault("stylesheets", [read_style()])
        super().__init__(html=html, **params)
        self._handlers: dict[str, Handler] = {}
        self._files: OrderedDict[str, _Download] = OrderedDict()

    def on(self, action: str, handler: Handler) -> None:
        """Call `handler` with the value of elements that do `action`."""
        self._handlers[action] = handler

    def on_together(self, action: str, handler: FieldsHandler) -> None:
        """Call `handler` with the fields of the group `data-together="action"` in which Enter was
        pressed: by `data-do`, the one with Enter and those that hold something else than they
        were given."""

        def handle(text: str) -> None:
            if fields := parse_fields(text):
                handler(fields)

        self._handlers[action] = handle

    def download(self, name: str, content: BinaryIO) -> None:
        """Save what an open file holds, from where it stands, in the person's browser.

        `name` is ours, never a table's; how it ends says what kind of file it is. The file
        is closed when it has arrived.
        """
        key, kind = uuid4().hex, MEDIA.get(name.rpartition(".")[2], "application/octet-stream")
        self._files[key] = _Download(name=name, kind=kind, content=content)
        while len(self._files) > FILES_KEPT:
            self._files.popitem(last=False)[1].content.close()
        self._send_piece(key)

    def _send_piece(self, key: str) -> None:
        file = self._files.get(key)
        if file is None:
            return
        data = file.content.read(PIECE_BYTES)
        is_last = len(data) < PIECE_BYTES
        if is_last:
            self._files.pop(key).content.close()
        self._send_msg(
            {
                "file": key,
                "name": file.name,
                "type": file.kind,
                "data": base64.b64encode(data).decode("ascii"),
                "is_last": is_last,
            }
        )

    def _handle_msg(self, data: Any) -> None:
        if not isinstance(data, dict):
            return
        action, value = data.get("action"), data.get("value")
        if not (isinstance(action, str) and isinstance(value, str)):
            return
        if action == "piece":
            self._send_piece(value)
        elif action in self._handlers:
            self._handlers[action](well_formed(value))
