"""What the commits between two versions did together, below the timeline."""

from __future__ import annotations

from widgets.figures.commits import MEASURES, Commits, Measure, RangeSums, build_range_sums
from widgets.markup import NOTHING, Markup, html, join
from widgets.state import HistoryState, PageState
from widgets.text import UNKNOWN, format_bytes_change, format_change, format_count, visible
from widgets.ui.live_html import LiveHtml


class RangePart:
    """The sums of the selected range; the two versions can be typed, too."""

    def __init__(self, state: PageState, history: HistoryState) -> None:
        self._state = state
        self._history = history
        self.panel = LiveHtml(margin=0)
        self.panel.on("older", self._begin_at)
        self.panel.on("newer", self._end_at)
        self.panel.on("compare", lambda _: state.compare(state.version, older=state.since))
        self.panel.on("clear", lambda _: state.select_range(None, state.version))
        history.param.watch(lambda *_: self._draw(), "commits")
        state.param.watch(lambda *_: self._draw(), ["version", "older", "other", "latest", "view"])

    def _begin_at(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            self._state.select_range(version, self._state.version)

    def _end_at(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            self._state.select_range(self._state.since, version)

    def _draw(self) -> None:
        commits: Commits | None = self._history.commits
        older, newer = self._state.since, self._state.version
        if commits is None or newer is None:
            self.panel.html = NOTHING
            return
        fields = join(
            (_render_field("older", "After version", older), _render_field("newer", "up to", newer))
        )
        if older is None or older == newer:
            hint = html('<span class="dx-hint">what these commits did together</span>')
            self.panel.html = html('<div class="dx-head dx-range">{}{}</div>', fields, hint)
            return
        first, last = min(older, newer), max(older, newer)
        self.panel.html = html(
            '<div class="dx-head dx-range">{}<span class="dx-hint"></span>'
            '<button type="button" class="dx-outlined" data-do="compare" data-value="">Compare'
            '</button><button type="button" data-do="clear" data-value="">Clear</button></div>'
            "{}",
            fields,
            _render_sums(build_range_sums(commits, first, last)),
        )


def _render_field(action: str, label: str, version: int | None) -> Markup:
    value = "" if version is None else str(version)
    return html(
        '<label class="dx-picker">{} <input type="text" inputmode="numeric" '
        'data-do="{}" data-when="enter" value="{}"></label>',
        label,
        action,
        value,
    )


def _render_sums(found: RangeSums) -> Markup:
    noun = "commit" if found.count == 1 else "commits"
    counted = ", ".join(f"{format_count(count)} {name}" for name, count in found.operations)
    said = (
        f"{format_count(found.count)} {noun}: {counted}." if found.count else "No commit is read."
    )
    if found.missing:
        said += f" {format_count(found.missing)} more are not read or gone from the log."
    parts = [f"{measure} {_change(found, measure)}" for measure in MEASURES]
    return html('<p class="dx-lead">{} Together: {}.</p>', visible(said), ", ".join(parts))


def _change(found: RangeSums, measure: Measure) -> str:
    added, removed = found.sums[f"{measure}_added"], found.sums[f"{measure}_removed"]
    if added is None and removed is None:
        return UNKNOWN
    return (format_bytes_change if measure == "bytes" else format_change)(added, removed)
