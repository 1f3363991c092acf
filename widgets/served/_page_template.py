"""The document around a page's components: landmarks, colours and fonts, there before any script.

Its template, style sheet and script lie in `static`. No text of a table is in it, only the
title of the page and what is made of the palettes.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import panel as pn
from tornado.web import StaticFileHandler

from widgets.theme import DARK, LIGHT, read_script, read_style, render_tokens, static_folder
from widgets.ui.component import share_style

TITLE = "Delta Explorer"

FONTS = r"/fonts/([a-z0-9-]+\.woff2)"
"""Where the fonts are served. The digest of what is in one stands behind the question mark, so
that a browser never has to ask again."""

_RANGES = {
    "latin": "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,"
    "U+0329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD",
    "latin-ext": "U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+1D00-1DBF,"
    "U+1E00-1E9F,U+1EF2-1EFF,U+2020,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF",
    "cyrillic": "U+0301,U+0400-045F,U+0490-0491,U+04B0-04B1,U+2116",
    "greek": "U+0370-0377,U+037A-037F,U+0384-038A,U+038C,U+038E-03A1,U+03A3-03FF",
}
"""Roboto in parts by its characters: a browser asks for those that a page shows."""

_UNUSED = re.compile(r"/bokeh-(?:gl|mathjax)\.min\.js\b|es-module-shims|esms-options")
"""Nothing here is drawn by WebGL, no text is a formula, and every browser that is let in loads
modules by itself: `static/page.js` takes the place of what does it for older ones."""

_TABLES = re.compile(r"/bokeh-tables\.min\.js\b")
_BOKEH = re.compile(r"/bokeh\.min\.js\b")
_TAKEN = re.compile(r'"models/\w+"')
"""Of Panel's script what `static/plugins.js` takes, by the names that these modules have there."""


def build_template(roots: Mapping[str, Any]) -> pn.Template:
    """The page of these components by their places; with `main` alone it says one thing."""
    share_style(pn.state.curdoc)
    template = _Page(_read("page.html"), items=dict(roots), design=pn.theme.Native)
    variables = {
        "is_whole": len(roots) > 1,
        "icon": _icon(),
        "style": _style(),
        "script": _read("page.js"),
        "component_style": read_style(),
        "component_script": read_script(),
        "needed": _needed,
        "plugins": _read("plugins.js"),
    }
    for name, value in variables.items():
        template.add_variable(name, value)
    return template


class _Page(pn.Template):
    """Says its name alone: Panel asks for it after each component, and would write down all of
    them each time, which is a quarter of what a session takes to be built."""

    def __repr__(self) -> str:
        return TITLE


class Fonts(StaticFileHandler):
    """A font, which its address names by what is in it."""

    def get_cache_time(self, path: str, modified: Any, mime_type: str) -> int:
        """Ten years, for one that is asked for with its digest."""
        del path, modified, mime_type
        return 315_360_000 if self.get_argument("d", "") else 0


def _needed(scripts: str) -> list[str]:
    """The scripts of Bokeh and Panel, each on a line of its own, without those that nothing here
    needs: those before `static/plugins.js` and those after it, or all where that is not to run."""
    lines = [line for line in scripts.splitlines() if not _UNUSED.search(line)]
    if not (_can_take_few_models() and any(map(_BOKEH.search, lines))):
        return ["\n".join(lines)]
    lines = [line for line in lines if not _TABLES.search(line)]
    end = 1 + max(at for at, line in enumerate(lines) if _BOKEH.search(line))
    return ["\n".join(part) for part in (lines[:end], lines[end:])]


@cache
def _can_take_few_models() -> bool:
    """Whether Panel's script names its modules as we know them; another Panel may not."""
    script = (Path(pn.__file__).parent / "dist" / "panel.min.js").read_text(encoding="utf-8")
    return all(f"{name}:" in script for name in _TAKEN.findall(_read("plugins.js")))


def _read(name: str) -> str:
    return (static_folder() / name).read_text(encoding="utf-8")


@cache
def _icon() -> str:
    data = (static_folder() / "favicon.svg").read_bytes()
    return f"data:image/svg+xml;base64,{b64encode(data).decode('ascii')}"


@cache
def _style() -> str:
    tokens = render_tokens(LIGHT, ":root") + render_tokens(DARK, ":root[data-theme=dark]")
    return tokens + _fonts() + _read("page.css")


def _fonts() -> str:
    return "".join(
        "@font-face{font-family:Roboto;font-display:swap;"
        f"font-weight:{weight};unicode-range:{ranges};"
        f"src:url(./fonts/roboto-{part}-{weight}.woff2?d={digest}) format('woff2')}}"
        for part, ranges in _RANGES.items()
        for weight, digest in _digests(part)
    )


def _digests(part: str) -> list[tuple[int, str]]:
    folder = static_folder() / "fonts"
    return [(weight, _digest(folder / f"roboto-{part}-{weight}.woff2")) for weight in (400, 700)]


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16]
