"""A timeline that lies ready is given away once, and only to who wants one like it."""

from __future__ import annotations

import pytest
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.document import Document
from bokeh.themes import built_in_themes

from widgets.figures.known_defaults import remember_defaults
from widgets.figures.spare import Spare
from widgets.figures.timeline import build_timeline
from widgets.theme import DARK, LIGHT


def test_what_lies_ready_is_given_away_once() -> None:
    spare = Spare()
    spare.fill(LIGHT, "time", "bytes")
    first, second = (spare.take(LIGHT, "time", "bytes") for _ in range(2))
    assert not first.layout.references() & second.layout.references()


@pytest.mark.parametrize(
    "kind", [(DARK, "time", "bytes"), (LIGHT, "version", "bytes"), (LIGHT, "time", "rows")]
)
def test_who_wants_another_gets_another(kind: tuple) -> None:  # type: ignore[type-arg]
    spare = Spare()
    spare.fill(LIGHT, "time", "bytes")
    found = spare.take(*kind)
    assert (found.palette, found.axis, found.measure) == kind


def test_it_lies_ready_until_somebody_takes_it() -> None:
    spare = Spare()
    spare.fill(LIGHT, "time", "bytes")
    spare.take(DARK, "time", "bytes")
    (ready,) = spare._built.values()
    assert spare.take(LIGHT, "time", "bytes") is ready


@pytest.fixture
def _bokeh_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was remembered in this process before."""
    now = PropertyDescriptor._get_default
    monkeypatch.setattr(PropertyDescriptor, "_get_default", getattr(now, "__wrapped__", now))


@pytest.mark.usefixtures("_bokeh_as_it_was")
@pytest.mark.parametrize("theme", [None, "dark_minimal"])
def test_a_page_is_sent_the_same_whether_defaults_are_remembered(theme: str | None) -> None:
    plot = build_timeline(LIGHT, "time")
    document = Document(theme=built_in_themes[theme]) if theme else Document()
    document.add_root(plot.layout)
    before = document.to_json()
    remember_defaults()
    assert document.to_json() == before  # and learns them
    assert document.to_json() == before


@pytest.mark.usefixtures("_bokeh_as_it_was")
def test_what_is_set_after_its_default_was_remembered_is_what_counts() -> None:
    remember_defaults()
    one, other = build_timeline(LIGHT, "time").size, build_timeline(LIGHT, "time").size
    assert one.visible
    assert other.visible
    one.visible = False
    assert not one.visible
    assert other.visible
    one.tags.append("one's own")
    assert other.tags == []


@pytest.mark.usefixtures("_bokeh_as_it_was")
def test_asking_twice_remembers_once() -> None:
    remember_defaults()
    first = PropertyDescriptor._get_default
    remember_defaults()
    assert PropertyDescriptor._get_default is first
