"""Colours: readable in both themes, and told apart by everybody."""

from __future__ import annotations

import itertools

import pytest

from widgets.theme import (
    DARK,
    LANES,
    LIGHT,
    Palette,
    lane_of,
    read_style,
    render_tokens,
    static_folder,
)

READABLE = 4.5  # WCAG 2.2, 1.4.3, level AA
VISIBLE = 3.0  # WCAG 2.2, 1.4.11, for what is drawn

# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB.
VISIONS = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}

BOTH = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def linear(colour: str) -> tuple[float, ...]:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@BOTH
@pytest.mark.parametrize("text", ["text", "muted", "accent", "added", "removed"])
@pytest.mark.parametrize("ground", ["card", "page", "selected"])
def test_text_is_readable_on_every_ground(palette: Palette, text: str, ground: str) -> None:
    assert contrast(getattr(palette, text), getattr(palette, ground)) >= READABLE


@BOTH
def test_notices_and_buttons_are_readable(palette: Palette) -> None:
    assert contrast(palette.warning, palette.warning_ground) >= READABLE
    assert contrast(palette.error, palette.error_ground) >= READABLE
    assert contrast(palette.text, palette.warning_ground) >= READABLE
    assert contrast(palette.text, palette.error_ground) >= READABLE
    assert contrast(palette.on_accent, palette.accent) >= READABLE


@BOTH
@pytest.mark.parametrize("lane", LANES)
def test_marks_are_visible_on_their_card(palette: Palette, lane: str) -> None:
    assert contrast(palette.lane(lane), palette.card) >= VISIBLE


@BOTH
@pytest.mark.parametrize("lane", LANES)
def test_the_name_on_a_badge_is_readable(palette: Palette, lane: str) -> None:
    """As the style sheet mixes them: 82 % of the lane with text, 15 % with the card."""
    own = palette.lane(lane)
    assert contrast(mix(own, palette.text, 0.82), mix(own, palette.card, 0.15)) >= READABLE


def mix(one: str, other: str, share: float) -> str:
    parts = ((int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in parts)


@BOTH
@pytest.mark.parametrize("vision", VISIONS)
def test_neighbouring_lanes_differ_for_the_colour_blind(palette: Palette, vision: str) -> None:
    """The name stands beside the colour, so neighbours differing is enough."""
    for one, other in itertools.pairwise(LANES[:7]):
        assert apart(palette.lane(one), palette.lane(other), vision) > 0.08, (one, other)


def apart(one: str, other: str, vision: str) -> float:
    """How far two colours lie from each other for the colour-blind."""
    seen = [
        [sum(a * b for a, b in zip(row, linear(colour), strict=True)) for row in VISIONS[vision]]
        for colour in (one, other)
    ]
    return float(sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5)


@BOTH
def test_what_the_next_vacuum_takes_differs_from_what_is_gone(palette: Palette) -> None:
    assert contrast(palette.risk, palette.card) >= VISIBLE
    for vision in VISIONS:
        assert apart(palette.risk, palette.removed, vision) > 0.15, vision
    style = read_style()
    assert ".dx-tone-risk { --tone: var(--dx-risk); }" in style
    assert ".dx-line .dx-tone-gone, .dx-legend .dx-tone-gone { --tone: repeating" in style


@pytest.mark.parametrize(
    ("operation", "lane"),
    [
        ("WRITE", "WRITE"),
        ("STREAMING UPDATE", "WRITE"),
        ("CREATE TABLE AS SELECT", "WRITE"),
        ("CREATE OR REPLACE TABLE AS SELECT", "WRITE"),
        ("CREATE TABLE", "ALTER"),
        ("merge", "MERGE"),
        ("UPDATE", "UPDATE"),
        ("UPDATE COLUMN METADATA", "ALTER"),
        ("DELETE", "DELETE"),
        ("OPTIMIZE", "OPTIMIZE"),
        ("VACUUM START", "VACUUM"),
        ("VACUUM END", "VACUUM"),
        ("SET TBLPROPERTIES", "ALTER"),
        ("ADD COLUMNS", "ALTER"),
        ("RENAME COLUMN", "ALTER"),
        ("RESTORE", "OTHER"),
        ("<script>", "OTHER"),
        ("   ", "UNKNOWN"),
        ("", "UNKNOWN"),
        (None, "UNKNOWN"),
    ],
)
def test_an_operation_has_one_lane(operation: str | None, lane: str) -> None:
    assert lane_of(operation) == lane


def test_the_style_sheet_uses_only_colours_of_the_palette() -> None:
    style = read_style()
    tokens = render_tokens(LIGHT, ":host")
    used = {part.partition(")")[0].partition(",")[0] for part in style.split("var(")[1:]}
    defined = {part.partition(":")[0] for part in tokens.partition("{")[2].split(";")}
    assert {name for name in used if name.startswith("--dx-")} <= defined | {
        "--dx-font",
        "--dx-code",
    }
    assert "#" not in style.replace("&#", "")


def test_no_static_file_names_another_host() -> None:
    for file in (one for one in static_folder().iterdir() if one.is_file()):
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, file.name
        assert "@import" not in text, file.name
