"""Reachability as a sentence: what can be read, what not and why, and what is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from explorer.inspect.reach._frames import (
    GONE,
    NOT_ENABLED,
    PROMISED,
    READABLE,
    READABLE_UNPROTECTED,
    REFUSED,
    UNPROTECTED,
)
from explorer.inspect.reach._retention_windows import UNREAD
from explorer.table.retention import SHORTEST_RETENTION, milliseconds

_STATES = {
    PROMISED: "kept",
    UNPROTECTED: "not protected",
    READABLE_UNPROTECTED: "readable, not protected",
}
_STATES_OF_FILES = {
    PROMISED: "files kept",
    READABLE: "files there",
    READABLE_UNPROTECTED: "files there, not protected",
}
"""Where an engine refuses the version all the same, `readable` would mislead."""

_LEFT = (PROMISED, UNPROTECTED, READABLE, READABLE_UNPROTECTED)
_SHOWN = 3
_NO_END = "no end"


def reach_sentence(
    ranges: pa.Table,
    windows: pa.Table,
    latest: int,
    *,
    has_listed: bool,
) -> str:
    """The answer first; the arguments as in `Reachability`."""
    feed = _states_of(ranges, "change feed")
    parts = [
        travel_sentence(ranges, windows, latest, has_listed=has_listed),
        spark_sentence(ranges, windows),
        _feed(feed, latest, has_listed=has_listed),
    ]
    window, log = windows.select(["value", "source"]).to_pylist()
    if window["source"] == UNREAD:
        parts.append(
            "How long removed files are kept is unknown: delta.deletedFileRetentionDuration "
            "cannot be read."
        )
    if log["source"] == UNREAD:
        parts.append(
            "How long the log is kept is unknown: delta.logRetentionDuration cannot be read."
        )
    return " ".join(part for part in parts if part)


def travel_sentence(ranges: pa.Table, windows: pa.Table, latest: int, *, has_listed: bool) -> str:
    """Which versions can be read; the arguments as in `Reachability`."""
    own_ms = windows.column("duration_ms")[0].as_py()
    return _travel(
        _states_of(ranges, "time travel"),
        latest,
        has_listed=has_listed,
        keeps_longer=own_ms < milliseconds(SHORTEST_RETENTION),
        is_known=windows.column("source")[0].as_py() != UNREAD,
    )


def spark_sentence(ranges: pa.Table, windows: pa.Table) -> str:
    """What Delta Spark refuses though nothing is missing, and why; empty where that is nothing."""
    clause = _spark_clause(ranges)
    window = windows.select(["value", "source"]).to_pylist()[0]
    return clause and (
        f"{clause}, because of delta.deletedFileRetentionDuration "
        f"({window['value']}, {window['source']})."
    )


def _spark_clause(ranges: pa.Table) -> str:
    rows = ranges.select(["what", "first", "last", "state", "spark_refuses"]).to_pylist()
    left = [row for row in rows if row["what"] == "time travel" and row["state"] in _LEFT]
    if not any(row["spark_refuses"] for row in left):
        return ""
    read = joined_ranges((row["first"], row["last"]) for row in left if not row["spark_refuses"])
    which = f"only {versions_in_words(read)}" if read else "none of them"
    return f"Delta Spark 4.1 and newer reads {which}"


def reach_headline(ranges: pa.Table, latest: int, *, has_listed: bool) -> str:
    """Which versions can be read, and which of them Delta Spark reads, in one short sentence
    without the reasons."""
    found = _states_of(ranges, "time travel")
    spark = _spark_clause(ranges)
    risky = found.get(READABLE_UNPROTECTED, [])
    safe = _joined(found, (PROMISED, READABLE))
    lost = _joined(found, (*GONE, REFUSED))
    parts = []
    # whoever reads with Delta Spark must not take `can be read` for a promise
    if [(0, latest)] in (safe, risky):
        parts.append("every version has all its files" if spark else "every version can be read")
    elif safe or risky:
        which = safe or risky
        verb = ("has all its files" if _is_one(which) else "have all their files") if spark else ""
        parts.append(f"{versions_in_words(which)} {verb or 'can be read'}")
    if risky and safe:
        parts.append(f"{versions_in_words(risky)} only until the next vacuum")
    elif risky:
        parts[-1] += ", but only until the next vacuum"
    if maybe := found.get(UNPROTECTED):
        parts.append(f"{versions_in_words(maybe)} may have lost files")
    if lost:
        parts.append(f"{versions_in_words(lost)} cannot be read")
    text = "; ".join(parts)
    if lost and len(parts) == 1:
        text = "No version can be read"
    if (safe or risky) and not has_listed:
        text = f"by the log {text}"
    if spark:
        text += f", but {spark}" if len(parts) == 1 and not risky else f"; {spark}"
    return f"{_first_letter(text)}." if text else ""


def until_in_words(
    state: str,
    until: datetime | None,
    now: datetime,
    render: Callable[[datetime], str],
) -> str:
    """Until when a version stays at least: a time, or what may end it from now on; empty for one
    that cannot be read. A version past its time was left by every vacuum and cleanup so far."""
    if state in (UNPROTECTED, READABLE_UNPROTECTED):
        return "the next vacuum"
    if state in (*GONE, REFUSED, NOT_ENABLED):
        return ""
    if until is None:
        return _NO_END
    # files that are not within retention make it unprotected
    return render(until) if until > now else "the next log cleanup"


def range_in_words(row: Mapping[str, Any], now: datetime, render: Callable[[datetime], str]) -> str:
    """The same for a row of `ranges`: that of its first version, and of its last."""
    first, last = (
        until_in_words(row["state"], row[f"{side}_until"], now, render)
        for side in ("first", "last")
    )
    return first if first == last else f"{first} to {last}"


def joined_ranges(found: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of versions in their order, neighbours joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(found):
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _states_of(ranges: pa.Table, what: str) -> dict[str, list[tuple[int, int]]]:
    # no times: one may lie where no calendar reaches
    rows = ranges.select(["what", "first", "last", "state"]).to_pylist()
    return _by_state([row for row in rows if row["what"] == what])


def state_in_words(state: str, *, spark_refuses: bool | None = None) -> str:
    """What a state is called beside the time until which the version is kept."""
    words = {**_STATES, **_STATES_OF_FILES} if spark_refuses else _STATES
    return words.get(state, state)


def versions_in_words(found: list[tuple[int, int]]) -> str:
    """`version 3`, `versions 0–4, 7 and others`."""
    shown = [str(a) if a == b else f"{a:,}–{b:,}" for a, b in found[:_SHOWN]]
    more = " and others" if len(found) > _SHOWN else ""
    single = len(found) == 1 and found[0][0] == found[0][1]
    return f"version{'' if single else 's'} {', '.join(shown)}{more}"


def _by_state(rows: list[dict[str, object]]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        first, last = row["first"], row["last"]
        if isinstance(first, int) and isinstance(last, int):
            found.setdefault(str(row["state"]), []).append((first, last))
    return {state: joined_ranges(ranges) for state, ranges in found.items()}


def _travel(
    found: dict[str, list[tuple[int, int]]],
    latest: int,
    *,
    has_listed: bool,
    keeps_longer: bool,
    is_known: bool,
) -> str:
    gone = [
        f"{versions_in_words(found[state])} ({state})"
        for state in (*GONE, REFUSED)
        if state in found
    ]
    lost = f"{'; '.join(gone)} cannot be read" if gone else ""
    if has_listed:
        there = _joined(found, (READABLE, READABLE_UNPROTECTED))
        whole = not gone and there == [(0, latest)]
        text = "Every version can be read" if whole else ""
        if not whole:
            there = found.get(READABLE, [])  # what is at risk is named by itself
            can = f"{versions_in_words(there)} can{'' if lost else ' be read'}" if there else ""
            text = _first_letter("; ".join(part for part in (lost, can) if part))
        if risky := found.get(READABLE_UNPROTECTED):
            verb = "stays" if _is_one(risky) else "stay"
            if not is_known:
                verb = "may stay"
            stays = f"{versions_in_words(risky)} {verb} only until the next vacuum"
            text = f"{text}, and {stays}" if text else _first_letter(stays)
            if keeps_longer:
                text += " in Delta Spark (VACUUM here keeps removed files for 7 days at least)"
        return f"{text}."
    promised = found.get("promised", [])
    text = f"{_first_letter(lost)}. " if lost else ""
    if promised == [(0, latest)]:
        return f"{text}Every version can be read, as far as the log says."
    if promised:
        text += f"{_first_letter(versions_in_words(promised))} can be read, as far as the log says"
    if risky := found.get("unprotected"):
        text += "; " if promised else ""
        words = versions_in_words(risky)
        text += f"{words if promised else _first_letter(words)} may have lost files to a vacuum, "
        text += "which only a listing of the files shows"
    return f"{text}." if text and not text.endswith(". ") else text.strip()


def _feed(found: dict[str, list[tuple[int, int]]], latest: int, *, has_listed: bool) -> str:
    if found.get("not enabled") == [(0, latest)]:
        return "The change feed is not enabled."
    if "not read yet" in found:
        return "Read the commits to see since when the change feed is enabled."
    there = _joined(found, ("readable", "readable, unprotected", "promised", "unprotected"))
    gone = [
        f"{versions_in_words(found[state])} ({state})"
        for state in (*GONE, REFUSED, NOT_ENABLED)
        if state in found
    ]
    if not there:
        return f"The change feed cannot be read: {'; '.join(gone)}."
    left = f", not of {'; '.join(gone)}" if gone else ""
    if has_listed:
        return f"The change feed of {versions_in_words(there)} can be read{left}."
    text = f"The change feed is recorded for {versions_in_words(there)}{left}"
    if risky := found.get("unprotected"):
        text += f"; a vacuum may have deleted files of {versions_in_words(risky)}"
    return f"{text}."


def _joined(
    found: dict[str, list[tuple[int, int]]], states: tuple[str, ...]
) -> list[tuple[int, int]]:
    """The ranges of several states, neighbours joined."""
    return joined_ranges(item for state in states for item in found.get(state, []))


def _is_one(found: list[tuple[int, int]]) -> bool:
    return len(found) == 1 and found[0][0] == found[0][1]


def _first_letter(text: str) -> str:
    return text[:1].upper() + text[1:]
