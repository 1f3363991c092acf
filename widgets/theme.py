"""Colours and the places of the static files.

One `Palette` per theme is the only source of colours: the style sheet reads it
as custom properties, the figures as values. Hue is kept for operations, and an
operation's name always stands beside its colour.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

LANES = (
    "WRITE",
    "MERGE",
    "UPDATE",
    "DELETE",
    "OPTIMIZE",
    "VACUUM",
    "ALTER",
    "OTHER",
    "UNKNOWN",
)
"""The families of operations, in the order of the timeline's lanes."""

_LANE_OF_WORD = {
    "WRITE": "WRITE",
    "STREAMING": "WRITE",
    "COPY": "WRITE",
    "CLONE": "WRITE",
    "MERGE": "MERGE",
    "UPDATE": "UPDATE",
    "DELETE": "DELETE",
    "TRUNCATE": "DELETE",
    "OPTIMIZE": "OPTIMIZE",
    "REORG": "OPTIMIZE",
    "COMPUTE": "OPTIMIZE",
    "VACUUM": "VACUUM",
    "ADD": "ALTER",
    "ALTER": "ALTER",
    "CHANGE": "ALTER",
    "CLUSTER": "ALTER",
    "DROP": "ALTER",
    "RENAME": "ALTER",
    "REPLACE COLUMNS": "ALTER",
    "SET": "ALTER",
    "UNSET": "ALTER",
    "UPDATE COLUMN METADATA": "ALTER",
    "UPDATE SCHEMA": "ALTER",
    "UPGRADE": "ALTER",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """The colours of one theme, as `#rrggbb`."""

    page: str
    card: str
    inset: str
    line: str
    text: str
    muted: str
    accent: str
    on_accent: str
    selected: str
    added: str
    removed: str
    risk: str
    warning: str
    warning_ground: str
    error: str
    error_ground: str
    write: str
    merge: str
    update: str
    delete: str
    optimize: str
    vacuum: str
    alter: str
    other: str
    unknown: str

    def lane(self, name: str) -> str:
        """The colour of one of `LANES`."""
        return str(getattr(self, name.lower()))


LIGHT = Palette(
    page="#f6f7f9",
    card="#ffffff",
    inset="#f1f2f4",
    line="#e2e5ea",
    text="#14171c",
    muted="#5a626e",
    accent="#2360e0",
    on_accent="#ffffff",
    selected="#edf2fe",
    added="#137537",
    removed="#c62f3c",
    risk="#c27700",
    warning="#8a5300",
    warning_ground="#fff6e5",
    error="#b3261e",
    error_ground="#fdeeed",
    write="#2a78e4",
    merge="#6d33d4",
    update="#c13fae",
    delete="#d63a48",
    optimize="#0f8a78",
    vacuum="#b36b00",
    alter="#626a76",
    other="#4f5b3a",
    unknown="#727984",
)

DARK = Palette(
    page="#0f1217",
    card="#171b22",
    inset="#20252e",
    line="#2a303a",
    text="#eef1f5",
    muted="#9aa4b2",
    accent="#6d9dff",
    on_accent="#0c1424",
    selected="#212d47",
    added="#4ade80",
    removed="#ff7a85",
    risk="#f6bd60",
    warning="#f6bd60",
    warning_ground="#2c2414",
    error="#ff8a80",
    error_ground="#331a1b",
    write="#5b9bff",
    merge="#c8acff",
    update="#ec84da",
    delete="#ff7a85",
    optimize="#35c4b0",
    vacuum="#f2ab4b",
    alter="#a3acba",
    other="#b8c58f",
    unknown="#8891a0",
)


def lane_of(operation: str | None) -> str:
    """The family of an operation as `commitInfo` names it (spec: Commit Provenance
    Information leaves the names to writers); `UNKNOWN` where none is recorded."""
    name = (operation or "").strip().upper()
    if not name:
        return "UNKNOWN"
    if name in _LANE_OF_WORD:
        return _LANE_OF_WORD[name]
    if name.startswith(("CREATE", "REPLACE")):
        return "WRITE" if "SELECT" in name else "ALTER"
    return _LANE_OF_WORD.get(name.split(maxsplit=1)[0], "OTHER")


def render_tokens(palette: Palette, selector: str) -> str:
    """The palette as custom properties (`--dx-card`) of `selector`."""
    lines = (
        f"--dx-{f.name.replace('_', '-')}:{getattr(palette, f.name)};" for f in fields(palette)
    )
    return f"{selector}{{{''.join(lines)}}}"


def static_folder() -> Path:
    """The folder of style sheet and icon: `widgets/static` when installed, `static`
    beside the packages in a checkout."""
    installed = Path(__file__).parent / "static"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "static"


@cache
def read_style() -> str:
    """The style sheet that every component carries into its shadow root."""
    return (static_folder() / "explorer.css").read_text(encoding="utf-8")


@cache
def read_box_style() -> str:
    """The part of it that boxes need, which hold components and no HTML."""
    return read_style().partition(BOXES_END)[0]


BOXES_END = "/* boxes end here */"


@cache
def read_script() -> str:
    """The module of the one component that carries HTML and its clicks."""
    return (static_folder() / "live_html.js").read_text(encoding="utf-8")
