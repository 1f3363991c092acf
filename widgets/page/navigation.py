"""The navigation: every view in its group, each a link to what is chosen now in that view."""

from __future__ import annotations

from widgets.markup import NOTHING, Markup, html, join
from widgets.state import ADDRESSED, BESIDE, GROUPS, VIEW_OF_A_VERSION, VIEWS, PageState
from widgets.ui.live_html import LiveHtml
from widgets.ui.place_links import PlaceLinks


class Navigation:
    """Shows nothing while no table is open."""

    def __init__(self, state: PageState, *, has_address: bool) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=has_address)
        self.panel = LiveHtml(margin=0)
        self.panel.on("view", self._choose)
        self.panel.on("ahead", lambda _: state.param.trigger("ahead"))
        state.param.watch(lambda *_: self._draw(), [*ADDRESSED, "latest"])
        self._draw()

    def _choose(self, view: str) -> None:
        if view in VIEWS:
            self._state.view = view

    def _draw(self) -> None:
        if not self._state.table:
            self.panel.html = NOTHING
            return
        groups = join(self._render_group(name, views) for name, views in GROUPS)
        self.panel.html = html('<nav class="dx-nav" aria-label="Views">{}</nav>', groups)

    def _render_group(self, name: str, views: tuple[tuple[str, str], ...]) -> Markup:
        items = join(html("<li>{}</li>", self._render_link(*view)) for view in views)
        if not name:
            return html("<div><ul>{}</ul></div>", items)
        return html('<div><h2>{}</h2><ul aria-label="{}">{}</ul></div>', name, name, items)

    def _render_link(self, view: str, title: str) -> Markup:
        shown = BESIDE.get(self._state.view, self._state.view)
        attributes = html(' aria-current="page"') if view == shown else NOTHING
        if view == VIEW_OF_A_VERSION != shown:
            # once for each table, and again after a refresh
            attributes = html(' data-ahead="{} {}"', self._state.table, self._state.latest)
        return self._links.view(view, html("{}", title), attributes)
