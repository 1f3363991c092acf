"""The timeline comes to the front: what of it is there by then, and what of it comes first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import panel as pn
import pytest
from bokeh.models import LayoutDOM, Spacer
from fsspec.implementations.memory import MemoryFileSystem

import explorer
import widgets.page.explorer
from tests.unit.widgets.page.test_explorer_view import Page, shop
from widgets.figures.spare import SPARE
from widgets.session.tables import TableService


def read_plot(page: Page) -> LayoutDOM | None:
    """What is drawn of the timeline, in front or not."""
    (pane,) = page.explorer._front.select(pn.pane.Bokeh)
    return pane.object


class Drawn(Page):
    """A page that a browser has drawn; what it is sent later waits."""

    def __init__(self) -> None:
        super().__init__(has_address=True)
        self._waiting: list[Callable[[], None]] = []
        runner = self.explorer._services.runner
        runner.has_drawn = True  # type: ignore[misc]
        runner.post_later = self._keep  # type: ignore[method-assign]

    def _keep(self, seconds: float, change: Callable[[], None]) -> None:
        assert seconds > 0
        self._waiting.append(change)

    def wait(self) -> None:
        """What waits comes."""
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            change()


def test_a_short_timeline_is_built_for_whoever_points_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_surprises: None
) -> None:
    place = shop(tmp_path, versions=3)
    page = Page(has_address=True).open(place, view="files")
    assert read_plot(page) is None
    page.state.param.trigger("ahead")
    drawn = read_plot(page)
    assert drawn is not None
    assert page.state.view == "files"
    page.state.view = "timeline"
    assert read_plot(page) is drawn
    # that of the next table waits until somebody points at it again
    page.open(shop(tmp_path / "other", versions=3), view="commit")
    assert read_plot(page) is None
    # a longer one is read when somebody looks at it
    monkeypatch.setattr(widgets.page.explorer, "READ_AHEAD", 2)
    monkeypatch.setattr(widgets.page.explorer, "UNASKED", 2)
    page = Page(has_address=True).open(place, view="files")
    page.state.param.trigger("ahead")
    assert read_plot(page) is None


def test_a_short_history_is_read_unasked_and_its_plot_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_surprises: None
) -> None:
    page = Page(has_address=True).open(shop(tmp_path, versions=3), view="files")
    history = page.explorer._timeline._history
    assert history.commits.version.tolist() == [0, 1, 2]
    assert read_plot(page) is None
    # so that whoever comes reads nothing more
    monkeypatch.setattr(TableService, "read_timeline", None)
    page.state.view = "timeline"
    assert read_plot(page) is not None
    assert "The log has 3 commits." in page.html


def test_a_history_that_takes_time_is_read_when_somebody_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_surprises: None
) -> None:
    place = shop(tmp_path, versions=3)
    monkeypatch.setattr(widgets.page.explorer, "UNASKED_BYTES", 100)
    page = Page(has_address=True).open(place, view="files")
    assert page.explorer._timeline._history.commits is None
    page.state.view = "timeline"
    assert page.explorer._timeline._history.commits is not None


def test_a_table_of_an_object_store_is_asked_for_nothing_unasked(
    tmp_path: Path, no_surprises: None
) -> None:
    place = shop(tmp_path, versions=3)
    sizes = sum(found.stat().st_size for found in (place / "_delta_log").iterdir())
    assert TableService(explorer.open_table(place)).local_log_bytes() == sizes > 0
    memory = MemoryFileSystem()
    memory.put(str(tmp_path / "shop"), "/quick/shop", recursive=True)
    try:
        assert TableService(explorer.open_table("memory://quick/shop")).local_log_bytes() is None
    finally:
        memory.rm("/quick", recursive=True)


@pytest.mark.parametrize("is_ahead", [False, True])
def test_the_lanes_come_before_what_stands_above_them(
    tmp_path: Path, no_surprises: None, is_ahead: bool
) -> None:
    page = Drawn().open(shop(tmp_path, versions=3), view="files")
    if is_ahead:
        page.state.param.trigger("ahead")
        page.wait()  # as long as nobody comes, nothing more is sent
    page.state.view = "timeline"
    layout = read_plot(page)
    assert layout is not None
    space, lanes, overview = layout.children
    assert isinstance(space, Spacer)
    page.wait()
    size, flow, *rest = layout.children
    assert rest == [lanes, overview]
    assert space.height == size.height + flow.height
    # what has been drawn once stays whole: in other colours, and when somebody comes back
    page.state.dark = True
    dark = read_plot(page)
    assert dark is not layout
    assert dark is not None
    assert len(dark.children) == 4
    page.state.view = "files"
    page.state.view = "timeline"
    assert read_plot(page) is dark
    assert len(dark.children) == 4


def test_what_waited_for_a_plot_that_is_no_longer_there_changes_nothing(
    tmp_path: Path, no_surprises: None
) -> None:
    page = Drawn().open(shop(tmp_path, versions=3), view="timeline")
    page.state.dark = True
    plot = read_plot(page)
    assert plot is not None
    parts = list(plot.children)
    page.wait()
    assert plot.children == parts
    assert len(parts) == 4


def test_the_next_plot_is_built_when_this_one_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_surprises: None
) -> None:
    filled: list[object] = []
    monkeypatch.setattr(SPARE, "fill", lambda *kind: filled.append(kind))
    page = Drawn().open(shop(tmp_path, versions=3), view="timeline")
    assert not filled
    page.wait()
    assert len(filled) == 1
