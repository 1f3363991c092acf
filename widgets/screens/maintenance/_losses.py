"""What a plan takes from those who read the table: rows, bytes, versions and change feed, in this
order whatever the operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from explorer.maintenance.plan.plan import Plan
from explorer.protocol.table_properties.known_properties import CHANGE_DATA_FEED
from widgets.markup import NOTHING, Markup, html, join
from widgets.text import format_bytes, format_count, format_many

_MOST_RANGES = 20
_UNKNOWN = "unknown"
_KEEPS_ROWS = ("vacuum", "clean-log")
"""What deletes files that no row of the newest version is in, which people ask first."""


def list_losses(plan: Plan) -> list[tuple[str, str]]:
    """What is lost by a plan that does something, by its name; empty where nothing is."""
    if not plan.steps:
        return []
    tellers = {"Rows": _rows, "Bytes": _bytes, "Versions": _versions, "Change feed": _feed}
    found = ((name, _told(plan, teller)) for name, teller in tellers.items())
    return [(name, text) for name, text in found if text]


def _told(plan: Plan, teller: Callable[[Plan], str]) -> str:
    """A document that was kept may hold anything."""
    try:
        return teller(plan)
    except (AttributeError, LookupError, TypeError, ValueError):
        return _UNKNOWN


def render_losses(plan: Plan) -> Markup:
    """Beside the button that approves the plan."""
    found = list_losses(plan)
    if not found:
        return NOTHING
    shown = join(html("<div><dt>{}</dt><dd>{}</dd></div>", *pair) for pair in found)
    return html('<section aria-label="What is lost"><h4>What is lost</h4>'
                '<dl class="dx-facts dx-losses">{}</dl></section>', shown)  # fmt: skip


def _rows(plan: Plan) -> str:
    if plan.operation == "repair" and plan.parameters.get("what") == "files":
        return _count_rows(plan.effect.get("rows"))
    if plan.operation in _KEEPS_ROWS:
        return f"none of version {format_count(plan.anchor.version)}"
    if plan.operation != "restore":
        return ""
    most = "at most " if plan.effect.get("rows_at_most") else ""
    rows = _count_rows(plan.effect.get("rows_removed"))
    if rows in {"", _UNKNOWN}:
        return rows
    return f"{most}{rows} of version {format_count(plan.anchor.version)}"


def _count_rows(number: Any) -> str:
    if not isinstance(number, int):
        return _UNKNOWN
    return format_many(number, "row") if number else ""


def _bytes(plan: Plan) -> str:
    deleted = [step for step in plan.steps if step.kind == "delete_files"]
    sizes = [step.num_bytes for step in deleted]
    if not deleted:
        return ""
    files = format_many(sum(step.num_files for step in deleted), "file")
    if plan.operation == "repair":
        return f"{files} that no reader can use"
    known = [size for size in sizes if size is not None]
    return f"{format_bytes(sum(known))} in {files}" if len(known) == len(sizes) else files


def _versions(plan: Plan) -> str:
    effect = plan.effect
    if lost := _ranges(effect.get("lost_versions")):
        return f"{lost}, which cannot be opened now either"
    return _ranges(effect.get("unreadable_versions")) or _until(effect, "earliest_version")


def _feed(plan: Plan) -> str:
    effect = plan.effect
    if effect.get("breaks_change_feed"):
        return "of the new version"
    if plan.operation == "set-properties" and _ends_feed(effect.get("changed")):
        return "of the new version and later ones"
    if "unreadable_changes" in effect:
        return _ranges(effect["unreadable_changes"])
    return _until(effect, "earliest_changes")  # of a plan that was kept before that was told


def _ends_feed(changed: Any) -> bool:
    """Whether properties that change switch the change feed off."""
    if not isinstance(changed, Mapping):
        return False
    before, after = (
        {name: str(one[side]) for name, one in changed.items() if one[side] is not None}
        for side in ("before", "after")
    )
    return CHANGE_DATA_FEED.value_of(before) and not CHANGE_DATA_FEED.value_of(after)


def _until(effect: Mapping[str, Any], name: str) -> str:
    """From the first version that is there now up to the one before the first that is left."""
    before, after = effect.get(f"{name}_before"), effect.get(f"{name}_after")
    if not isinstance(before, int) or before == after:
        return ""
    if not isinstance(after, int):
        return f"from version {format_count(before)} on"
    return _range(before, after - 1)


def _ranges(found: Any) -> str:
    """Documents with `first` and `last`, or pairs of them."""
    if not isinstance(found, Sequence) or not found:
        return ""
    ends = [
        (one["first"], one["last"]) if isinstance(one, Mapping) else (one[0], one[-1])
        for one in found[:_MOST_RANGES]
    ]
    more = len(found) - _MOST_RANGES
    shown = ", ".join(_range(*pair) for pair in ends)
    return f"{shown} and {more:,} more ranges" if more > 0 else shown


def _range(first: int, last: int) -> str:
    if first == last:
        return format_count(first)
    return f"{format_count(first)}\N{EN DASH}{format_count(last)}"
