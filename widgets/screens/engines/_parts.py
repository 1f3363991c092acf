"""Engines as rows, and what one of them rests on. What sources say is told as they say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from widgets.text import UNKNOWN, cut, esc, format_count
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.pieces import render_definitions, render_section
from widgets.ui.table import Cell, Column, Row
from widgets.ui.wishes import render_wish

Verb = Literal["read", "write"]

COLUMNS = (
    Column(key="name", label="Engine"),
    Column(key="read", label="Reads"),
    Column(key="write", label="Writes"),
    Column(key="evidence", label="Evidence"),
    Column(key="why", label="Because of", wraps=True),
    Column(key="release", label="Release looked at", wide=True),
)
VERDICTS = {"yes": "yes", "conditional": "if", "no": "no", "unknown": UNKNOWN}
"""The verdicts in words."""

EXPORTED = (
    "name",
    "kind",
    "release",
    "can_read",
    "read_evidence",
    "read_blockers",
    "read_unknowns",
    "read_needs",
    "readable_since",
    "can_write",
    "write_evidence",
    "write_blockers",
    "write_unknowns",
    "write_needs",
    "writable_since",
    "source",
    "as_of",
)
"""Columns of the CSV."""

_TITLES = {"yes": "can", "conditional": "can, if", "no": "cannot", "unknown": "not known"}
_SINCE = {"read": "readable_since", "write": "writable_since"}
_MOST = 8


def render_engines_head(
    rows: Sequence[Mapping[str, Any]], verb: Verb, verdict: str, sentence: str
) -> str:
    """The answer first, then what to look at; `verdict` is empty for all."""
    counts = Counter(row[f"can_{verb}"] for row in rows)
    verbs = _segments(
        "verb", verb, [("read", "Reading", None), ("write", "Writing", None)], "Reading or writing"
    )
    shown = [("", "all", len(rows)), *((key, _TITLES[key], counts[key]) for key in VERDICTS)]
    return (
        f'<p class="dx-lead dx-answer">{esc(cut(sentence, 600))}</p>'
        f'<p class="dx-muted">{esc(_writers(rows))} Verdicts follow the protocol, the properties '
        "and the schema: that an engine has no reason to refuse, not that it makes no mistake.</p>"
        f'<div class="dx-head">{verbs}{_segments("verdict", verdict, shown, "Verdict")}'
        '<input type="search" data-do="filter" aria-label="Filter engines" '
        'placeholder="Filter by engine or feature">'
        f"{EXPORT_BUTTONS}</div>"
    )


def _writers(rows: Sequence[Mapping[str, Any]]) -> str:
    proven = sum(row["can_write"] == "yes" and row["write_evidence"] == "proven" for row in rows)
    others = sum(row["can_write"] == "yes" for row in rows) - proven
    on_terms = sum(row["can_write"] == "conditional" for row in rows)
    text = f"{proven} of {len(rows)} are proven to write it"
    text += f", {others} more are documented or reported to" if others else ""
    return text + (f", {on_terms} can on a condition." if on_terms else ".")


def _segments(
    action: str, current: str, options: Sequence[tuple[str, str, int | None]], label: str
) -> str:
    buttons = "".join(
        f'<button type="button" data-do="{action}" data-value="{esc(key)}" '
        f'aria-pressed="{"true" if key == current else "false"}">{esc(title)}'
        f"{'' if count is None else f' {format_count(count)}'}</button>"
        for key, title, count in options
    )
    return f'<span class="dx-segments" role="group" aria-label="{label}">{buttons}</span>'


def build_engine_row(row: Mapping[str, Any], verb: Verb, selected: str | None) -> Row:
    """One engine, its newest release."""
    return Row(
        action="engine",
        value=str(row["engine"]),
        selected=row["engine"] == selected,
        cells=(
            Cell(text=cut(str(row["name"]), 48), title=str(row["name"])),
            _verdict_cell(row["can_read"]),
            _verdict_cell(row["can_write"]),
            Cell(text=row[f"{verb}_evidence"], muted=row[f"{verb}_evidence"] == "unknown"),
            Cell(text=cut(tell_why(row, verb), 220), title=cut(tell_why(row, verb), 1000)),
            Cell(text=cut(str(row["release"] or UNKNOWN), 28), muted=not row["release"]),
        ),
    )


def _verdict_cell(verdict: str) -> Cell:
    return Cell(text=VERDICTS[verdict], lane=f"can-{verdict}", muted=verdict == "unknown")


def tell_why(row: Mapping[str, Any], verb: Verb) -> str:
    """What stops or hinders an engine, or since when it can."""
    verdict = row[f"can_{verb}"]
    if verdict == "no":
        stopped = _names(row[f"{verb}_blockers"])
        prefix = "reading: " if verb == "read" else "writing: "
        told = [note.removeprefix(prefix) for note in row["notes"] if note.startswith(prefix)]
        return stopped or "; ".join(told)
    if verdict == "unknown":
        unknowns = row[f"{verb}_unknowns"]
        nothing = any(" version " in name for name in unknowns)
        return "no source says" if nothing else f"no source says of {_names(unknowns)}"
    if verdict == "conditional":
        return "; ".join(row[f"{verb}_needs"])
    since = row[_SINCE[verb]]
    return "" if since is None else f"since {_since(row, verb)}"


def _since(row: Mapping[str, Any], verb: Verb) -> str:
    since = str(row[_SINCE[verb]])
    exact = row[f"{_SINCE[verb]}_exact"]
    return since if exact else f"{since} or before"


def _names(names: Sequence[str]) -> str:
    shown = [cut(name, 80) for name in names[:_MOST]]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(shown) + more


def matches(row: Mapping[str, Any], text: str) -> bool:
    """Whether a row speaks of `text`."""
    named = [row["name"], row["engine"], row["kind"], *row["read_blockers"], *row["write_blockers"]]
    named += [*row["read_unknowns"], *row["write_unknowns"]]
    return any(text.casefold() in str(name).casefold() for name in named)


def build_export_row(row: Mapping[str, Any]) -> list[object]:
    """One release as a line of CSV, in the order of `EXPORTED`."""
    return [
        "; ".join(value) if isinstance(value, list) else value
        for value in (row[name] for name in EXPORTED)
    ]


def render_engine(releases: Sequence[Mapping[str, Any]]) -> str:
    """All that is known of one engine; the first release is the newest."""
    newest = releases[0]
    parts = [
        f'<h3 class="dx-version">{esc(newest["name"])}</h3>',
        f'<p class="dx-muted">{esc(_release(newest))}</p>',
        _render_verb(newest, "read", "Reading"),
        _render_verb(newest, "write", "Writing"),
        _render_removal(newest),
        _render_source(newest),
        _render_notes(newest["notes"]),
    ]
    parts += [
        f"<details><summary>{esc(_release(older))}</summary><div>"
        f"{_render_verb(older, 'read', 'Reading')}{_render_verb(older, 'write', 'Writing')}"
        f"{_render_source(older)}</div></details>"
        for older in releases[1:]
    ]
    return "".join(parts)


def _render_removal(row: Mapping[str, Any]) -> str:
    """A plan for each feature that stops the engine: it says whether the feature can go."""
    names = dict.fromkeys([*row["read_blockers"], *row["write_blockers"]])
    features = [name for name in names if " " not in name][:_MOST]
    if not features:
        return ""
    buttons = "".join(
        render_wish(f"Plan dropping {name}", "drop-feature", {"feature": name}) for name in features
    )
    return render_section("What would let it in", f'<div class="dx-buttons">{buttons}</div>')


def _release(row: Mapping[str, Any]) -> str:
    release = row["release"]
    if release is None:
        return f"{row['kind']}; the sources name no release"
    when = f", {row['released']}" if row["released"] else ""
    return f"{row['kind']}, release {release}{when}"


def _render_verb(row: Mapping[str, Any], verb: Verb, title: str) -> str:
    verdict = row[f"can_{verb}"]
    pairs = [("Verdict", _TITLES[verdict]), ("Evidence", row[f"{verb}_evidence"])]
    for label, key in (
        ("Stopped by", "blockers"),
        ("Not known of", "unknowns"),
        ("It takes", "needs"),
    ):
        if row[f"{verb}_{key}"]:
            pairs.append((label, cut("; ".join(row[f"{verb}_{key}"]), 1500)))
    if row[_SINCE[verb]] is not None:
        pairs.append(("Since", _since(row, verb)))
    return render_section(title, render_definitions(pairs))


def _render_source(row: Mapping[str, Any]) -> str:
    source, day = row["source"], row["as_of"]
    if not source:
        return ""
    shown = f"<code>{esc(source)}</code>"
    if str(source).startswith("https://"):
        shown = (
            f'<a href="{esc(source)}" target="_blank" rel="noopener noreferrer">{esc(source)}</a>'
        )
    when = f" As of {esc(day)}." if day else ""
    return render_section("Source", f'<p class="dx-source">{shown}.{when}</p>')


def _render_notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "".join(f"<li>{esc(cut(note, 1000))}</li>" for note in notes)
    return (
        f"<details><summary>Notes of the sources ({len(notes)})</summary>"
        f'<div><ul class="dx-notes">{items}</ul></div></details>'
    )
