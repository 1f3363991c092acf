"""Text becomes HTML by its type: what is not markup is escaped."""

from __future__ import annotations

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.markup import NOTHING, Markup, esc, html, join, style_sheet

EVIL = "<img src=x onerror=alert(1)>\"'&"


@given(st.text())
def test_escaped_text_holds_no_markup_and_says_the_same(text: str) -> None:
    shown = esc(text)
    assert not set(shown) & set("<>\"'")
    assert unescape(shown).replace("\r", "") == text.replace("\r", "") or "\x00" in text


def test_escaping_survives_a_lone_surrogate() -> None:
    assert esc("a\ud800b").encode("utf-8") == b"a?b"


@given(st.text(), st.text())
def test_values_of_a_template_are_escaped_once(text: str, title: str) -> None:
    inner = html('<b title="{}">{}</b>', title, text)
    assert html("<p>{}</p>", inner) == f'<p><b title="{esc(title)}">{esc(text)}</b></p>'


def test_values_have_the_format_that_the_template_gives_them() -> None:
    shown = html('<i style="--share:{:.1%}">{:,}</i>{{}}', 0.5, 1234)
    assert shown == '<i style="--share:50.0%">1,234</i>{}'
    assert html("{:>4}", "<") == "   &lt;"


def test_a_value_is_no_template() -> None:
    assert html("{}", "{0.__class__}") == "{0.__class__}"


@pytest.mark.parametrize("made", [html("{}", EVIL), join([EVIL]), esc(EVIL), NOTHING + EVIL])
def test_nothing_of_a_text_becomes_an_element(made: Markup) -> None:
    assert isinstance(made, Markup)
    assert "<" not in made


def test_parts_that_are_markup_are_joined_as_they_are() -> None:
    assert join(html("<b>{}</b>", at) for at in range(2)) == "<b>0</b><b>1</b>"
    assert join([]) == NOTHING


def test_a_style_sheet_keeps_its_quotes() -> None:
    assert style_sheet('a{font:"b"}') == '<style>a{font:"b"}</style>'
