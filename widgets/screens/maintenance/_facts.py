"""What a plan rests on, in words: what was asked for, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from explorer.maintenance.plan.plan import Plan
from widgets.text import (
    cut,
    format_bytes,
    format_count,
    format_many,
    format_time,
    read_moment,
)

_NAMES = {
    "unreadable_versions": "Versions that become unreadable",
    "unreadable_changes": "Change feed that is lost",
    "readable_from": "Readable from version",
    "left": "Files listed and left alone",
    "reference_deletes_also": "Delta Spark would delete also",
    "retention_ms": "Files are kept for",
    "retention_from": "That retention comes from",
    "mode": "Looks at",
    "before": "Opening reads now",
    "after": "Opening reads then",
    "what": "What is repaired",
    "undo": "Undo",
    "cutoff": "The retention reaches back to",
    "earliest_version_before": "Time travel now from version",
    "earliest_version_after": "Time travel then from version",
    "earliest_time_before": "Time travel now from",
    "earliest_time_after": "Time travel then from",
    "earliest_changes_before": "Change feed now from version",
    "earliest_changes_after": "Change feed then from version",
    "purge": "Only files with soft-deleted rows",
    "is_clustering": "Ordered as the table is clustered",
    "drops": "Drops the feature now",
    "truncate_history": "Cuts the history first",
    "rows_deleted_for_good": "Soft-deleted rows left out",
    "only_used": "Only features that were used",
}
_OWN_NAMES = {("clean-log", "retention_ms"): "The log is kept for"}
"""Where a fact of one operation means something else than that of the others."""

_MODES = {"full": "everything in the table's folder", "lite": "only what the log names"}
_IN_SUMMARY = {
    "num_files",
    "num_bytes",
    "files_added_again",
    "files_removed",
    "rows_at_most",
    "rows_unknown",
    "columns_unknown",
}
"""What the first sentence says already."""

_AT_MOST = {"rows_removed", "rows_returned"}
"""Upper bounds where the effect says so."""

_SHOWN = 400
_LONGEST = 20


def list_facts(plan: Plan) -> list[tuple[str, str]]:
    """What a plan was asked for and what comes of it: names and values, not yet escaped."""
    pairs = [("Made on version", format_count(plan.anchor.version))]
    pairs.append(("Made at", format_time(read_moment(plan.planned_at))))
    for source in (plan.parameters, plan.effect):
        for key, value in source.items():
            if key not in _IN_SUMMARY and (shown := _fact(key, value)):
                is_most = plan.effect.get("rows_at_most") and key in _AT_MOST and value
                pairs.append((_name(plan.operation, key), f"at most {shown}" if is_most else shown))
    return pairs


def _name(operation: str, key: str) -> str:
    plain = cut(key.replace("_", " ").capitalize(), 60)
    return _OWN_NAMES.get((operation, key)) or _NAMES.get(key, plain)


def _fact(key: str, value: Any) -> str:
    """A value in words; empty where it says nothing, which 0 and no do not."""
    if key == "undo" and "`" in str(value):
        return ""  # it speaks of the plan's document
    if _is_nothing(value):
        return ""
    if key in _IN_WORDS:
        return _IN_WORDS[key](value)
    if key.endswith("_ms") and isinstance(value, int):
        return _duration(value)
    return _plain(key, value)


def _is_nothing(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(one is None for one in value.values())
    return value is None or (isinstance(value, str | Sequence) and not value)


def _mode(value: Any) -> str:
    return _MODES.get(str(value), _plain("", value))


def _source(value: Any) -> str:
    return "what was asked for" if value == "the caller" else _plain("", value)


def _moment(value: Any) -> str:
    try:
        return format_time(datetime.fromisoformat(value))
    except (TypeError, ValueError):  # see `_range`
        return _plain("", value)


def _listed(value: Any) -> str:
    if not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        return _plain("", value)  # see `_range`
    more = f" and {len(value) - _LONGEST:,} more" if len(value) > _LONGEST else ""
    return cut(", ".join(value[:_LONGEST]), _SHOWN) + more


def _files_more(value: Any) -> str:
    number = value.get("num_files") if isinstance(value, Mapping) else None
    if not isinstance(number, int):
        return _plain("", value)
    if not number:
        return "nothing more"
    size = value.get("num_bytes")
    return format_many(number, "file") + (f", {format_bytes(size)}" if size is not None else "")


def _plain(key: str, value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        is_size = "bytes" in key or key.endswith("_size")
        return format_bytes(value) if is_size else format_count(value)
    if isinstance(value, Mapping):
        parts = [f"{name.replace('_', ' ')} {_plain(name, one)}" for name, one in value.items()]
        return cut(", ".join(parts[:_LONGEST]), _SHOWN)
    if isinstance(value, str):
        return cut(value, _SHOWN)
    return cut(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)


def _ranges(found: Any) -> str:
    ends = [_range(one) for one in found[:_LONGEST]] if isinstance(found, Sequence) else [None]
    shown = [one for one in ends if one is not None]
    if len(shown) < len(ends):
        return _plain("", found)
    more = f" and {len(found) - _LONGEST:,} more ranges" if len(found) > _LONGEST else ""
    return ", ".join(shown) + more


def _range(found: Any) -> str | None:
    """None where it is no range: a document that was kept may hold anything."""
    if not isinstance(found, Mapping):
        return None
    first, last = found.get("first"), found.get("last")
    if not (isinstance(first, int) and isinstance(last, int)):
        return None
    if first == last:
        return format_count(first)
    return f"{format_count(first)}\N{EN DASH}{format_count(last)}"


_IN_WORDS: Mapping[str, Callable[[Any], str]] = {
    "mode": _mode,
    "retention_from": _source,
    "cutoff": _moment,
    "earliest_time_before": _moment,
    "earliest_time_after": _moment,
    "unreadable_versions": _ranges,
    "unreadable_changes": _ranges,
    "reference_deletes_also": _files_more,
    "columns_removed": _listed,
    "columns_returned": _listed,
    "columns_changed": _listed,
}
"""What needs words of its own."""


def _duration(milliseconds: int) -> str:
    for unit, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000)):
        if milliseconds and milliseconds % size == 0:
            return format_many(milliseconds // size, unit)
    whole, rest = divmod(milliseconds, 1000)
    return f"{milliseconds / 1000:,} seconds" if rest else format_many(whole, "second")
