"""What the commits between two versions did together, below the timeline."""

from __future__ import annotations

from collections.abc import Mapping

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
        self._wrong = ""
        self.panel.on_together("range", self._pick)
        self.panel.on("compare", lambda _: state.compare(state.version, older=state.since))
        self.panel.on("clear", lambda _: state.select_range(None, state.version))
        history.param.watch(lambda *_: self._draw(), "commits")
        state.param.watch(self._follow, ["version", "older", "other", "latest", "view", "table"])

    def _pick(self, typed: Mapping[str, str]) -> None:
        ends = {"older": self._state.since, "newer": self._state.version}
        self._wrong = ""
        for name in ends.keys() & typed.keys():
            ends[name] = self._state.find_version(typed[name])
            # without its first version there is no range, and an empty field says so
            if ends[name] is None and (name == "newer" or typed[name].strip()):
                self._wrong = self._state.tell_no_version(typed[name])
                self._draw()
                return
        self._state.select_range(ends["older"], ends["newer"])
        self._draw()

    def _follow(self, *_: object) -> None:
        self._wrong = ""
        self._draw()

    def _draw(self) -> None:
        commits: Commits | None = self._history.commits
        older, newer = self._state.since, self._state.version
        if commits is None or newer is None:
            self.panel.html = NOTHING
            return
        fields = join(
            (
                _render_field("older", "Sum up the commits after version", older),
                _render_field("newer", "up to version", newer),
            )
        )
        wrong = NOTHING
        if self._wrong:
            wrong = html('<span class="dx-wrong" role="alert">{}</span>', self._wrong)
        if older is None or older == newer:
            self.panel.html = html(
                '<div class="dx-head dx-range" data-together="range">{}{}'
                '<span class="dx-hint">press Enter</span></div>',
                fields, wrong,
            )  # fmt: skip
            return
        first, last = min(older, newer), max(older, newer)
        self.panel.html = html(
            '<div class="dx-head dx-range" data-together="range">{}{}<span class="dx-hint"></span>'
            '<button type="button" class="dx-outlined" data-do="compare" data-value="">Compare'
            '</button><button type="button" data-do="clear" data-value="">Clear</button></div>'
            "{}",
            fields,
            wrong,
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
