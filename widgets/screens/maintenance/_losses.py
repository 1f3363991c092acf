"""What a plan takes from those who read the table: rows, bytes, versions and change feed, in this
order whatever the operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.maintenance.plan.plan import Plan
from widgets.markup import NOTHING, Markup, html, join
from widgets.text import format_bytes, format_count, format_many

_MOST_RANGES = 20


def list_losses(plan: Plan) -> list[tuple[str, str]]:
    """What is lost by a plan that does something, by its name; empty where nothing is."""
    if not plan.steps:
        return []
    found = (
        ("Rows", _rows(plan)),
        ("Bytes", _bytes(plan)),
        ("Versions", _versions(plan)),
        ("Change feed", _feed(plan)),
    )
    return [(name, text) for name, text in found if text]


def render_losses(plan: Plan) -> Markup:
    """Beside the button that approves the plan."""
    found = list_losses(plan)
    if not found:
        return NOTHING
    shown = join(html("<div><dt>{}</dt><dd>{}</dd></div>", *pair) for pair in found)
    return html('<section aria-label="What is lost"><h4>What is lost</h4>'
                '<dl class="dx-facts dx-losses">{}</dl></section>', shown)  # fmt: skip


def _rows(plan: Plan) -> str:
    effect = plan.effect
    if plan.operation == "repair" and plan.parameters.get("what") == "files":
        rows = effect.get("rows")
        return "unknown" if rows is None else format_many(rows, "row")
    if plan.operation != "restore":
        return ""
    if effect.get("rows_unknown"):
        return "unknown"
    removed = effect.get("rows_removed")
    if not removed:
        return ""
    most = "up to " if effect.get("rows_at_most") else ""
    return f"{most}{format_many(removed, 'row')} of version {format_count(plan.anchor.version)}"


def _bytes(plan: Plan) -> str:
    deleted = [step for step in plan.steps if step.kind == "delete_files"]
    sizes = [step.num_bytes for step in deleted]
    if not deleted:
        return ""
    files = format_many(sum(step.num_files for step in deleted), "file")
    known = [size for size in sizes if size is not None]
    return f"{format_bytes(sum(known))} in {files}" if len(known) == len(sizes) else files


def _versions(plan: Plan) -> str:
    effect = plan.effect
    ranges = effect.get("unreadable_versions") or effect.get("lost_versions")
    return _ranges(ranges) or _until(effect, "earliest_version")


def _feed(plan: Plan) -> str:
    if plan.effect.get("breaks_change_feed"):
        return f"of version {format_count(plan.anchor.version + 1)}, which this makes"
    return _ranges(plan.effect.get("unreadable_changes")) or _until(plan.effect, "earliest_changes")


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
