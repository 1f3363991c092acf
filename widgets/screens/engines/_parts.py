"""Engines as rows, and what one of them rests on. What sources say is told as they say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.engines.ask import EngineAnswer
from widgets.text import UNKNOWN, cut, format_count, format_many
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.pieces import render_definitions, render_section, render_segments
from widgets.ui.plan_links import render_plan_link
from widgets.ui.table import Cell, Column, Row

Verb = Literal["read", "write"]

DASH = "\N{EN DASH}"

COLUMNS = (
    Column(key="name", label="Engine"),
    Column(key="read", label="Reads"),
    Column(key="write", label="Writes"),
    Column(key="evidence", label="Evidence"),
    Column(key="stopped", label="Stopped by", wraps=True),
    Column(key="notes", label="Notes", wraps=True),
    Column(key="release", label="Release looked at", wide=True),
)
VERDICTS = {"yes": "yes", "conditional": "on a condition", "no": "no", "unknown": UNKNOWN}
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

_TITLES = {"yes": "can", "conditional": "on a condition", "no": "cannot", "unknown": "not known"}
_SINCE = {"read": "readable_since", "write": "writable_since"}
_MOST = 8


def render_engines_head(answer: EngineAnswer, verb: Verb, verdict: str, text: str) -> Markup:
    """The answer first, then what to look at; `verdict` is empty for all, `text` is what the list
    is filtered by."""
    rows = answer.newest
    counts = Counter(row[f"can_{verb}"] for row in rows)
    verbs = render_segments(
        "verb", verb, [("read", "Reading", None), ("write", "Writing", None)], "Reading or writing"
    )
    shown = [("", "all", len(rows)), *((key, _TITLES[key], counts[key]) for key in VERDICTS)]
    return html(
        '<p class="dx-lead dx-answer">{}</p>{}'
        '<p class="dx-muted">{} A verdict says whether the protocol, the '
        "properties or the schema of this table give an engine a reason to refuse it; not that "
        "it makes no mistake.</p>"
        '<div class="dx-head">{}{}'
        '<input type="search" data-do="filter" aria-label="Filter engines" '
        'placeholder="Filter by engine or feature" value="{}">'
        "{}</div>",
        cut(answer.sentence, 600),
        _render_used(answer),
        _writers(rows),
        verbs,
        render_segments("verdict", verdict, shown, "Verdict"),
        text,
        EXPORT_BUTTONS,
    )


def _writers(rows: Sequence[Mapping[str, Any]]) -> str:
    can = [row["write_evidence"] for row in rows if row["can_write"] == "yes"]
    on_terms = sum(row["can_write"] == "conditional" for row in rows)
    text = f"{len(can)} of {len(rows)} can write it, {can.count('proven')} of them proven"
    return text + (f", {on_terms} can on a condition." if on_terms else ".")


def _render_used(answer: EngineAnswer) -> Markup:
    """The engines that wrote commits, the newest first, each with its verdicts."""
    if not answer.used:
        return NOTHING
    items = join(_render_user(row, answer) for row in answer.used[:_MOST])
    return html(
        '<p class="dx-muted">Wrote commits of this table:</p><ul class="dx-users">{}</ul>', items
    )


def _render_user(row: Mapping[str, Any], answer: EngineAnswer) -> Markup:
    known = next(iter(answer.releases(str(row["engine"]))), None)
    name = known["name"] if known is not None else row["engine_info"] or "engine not recorded"
    told = "not known to this release"
    if known is not None:
        reads, writes = VERDICTS[known["can_read"]], VERDICTS[known["can_write"]]
        if known["can_write"] == "unknown":
            writes = "no source says whether it still can"
        if reason := _whatever_table(known, "read"):
            reads = f"no ({reason})"
        told = f"reads: {reads}, writes: {writes}"
    if row["engine_info"] is None:
        told = "the commits do not say"
    return html(
        '<li title="{}"><strong>{}</strong> {}, last in version {}; {}</li>',
        cut(str(row["engine_info"] or ""), 300),
        cut(str(name), 80),
        format_many(row["num_commits"], "commit"),
        format_count(row["last_version"]),
        told,
    )


def build_engine_row(
    row: Mapping[str, Any],
    verb: Verb,
    selected: str | None,
    num_commits: int = 0,
    last_version: int | None = None,
) -> Row:
    """One engine, its newest release; `num_commits` of the newest commits are its own, the
    newest of them `last_version`."""
    used = f" ({format_many(num_commits, 'commit')} here)" if num_commits else ""
    stopped, note = tell_stoppers(row, verb), tell_note(row, verb)
    return Row(
        action="engine",
        value=str(row["engine"]),
        selected=row["engine"] == selected,
        cells=(
            Cell(text=f"{cut(str(row['name']), 48)}{used}", title=str(row["name"])),
            _verdict_cell(row, "read"),
            _write_cell(row, last_version),
            Cell(text=row[f"{verb}_evidence"], muted=row[f"{verb}_evidence"] == "unknown"),
            Cell(text=cut(stopped, 220) or DASH, title=cut(stopped, 1000), muted=not stopped),
            Cell(text=cut(note, 220) or DASH, title=cut(note, 1000), muted=True),
            Cell(
                text=cut(str(row["release"] or UNKNOWN), 28),
                title=str(row["release"] or "the sources name no release"),
                muted=not row["release"],
            ),
        ),
    )


def _verdict_cell(row: Mapping[str, Any], verb: Verb) -> Cell:
    verdict = row[f"can_{verb}"]
    if reason := _whatever_table(row, verb):
        # nothing of this table stops it, so that nothing can be done about it either
        return Cell(text=VERDICTS[verdict], title=f"Of no table: {reason}.", muted=True)
    return Cell(text=VERDICTS[verdict], lane=f"can-{verdict}", muted=verdict == "unknown")


def _write_cell(row: Mapping[str, Any], last_version: int | None) -> Cell:
    """Of whom no source tells whether it can write, the log may tell that it did."""
    if row["can_write"] != "unknown" or last_version is None:
        return _verdict_cell(row, "write")
    told = f"wrote version {format_count(last_version)}"
    title = "No source says whether it can write the table as it is now; the log says it did."
    return Cell(text=told, title=title, lane="can-unknown")


def _whatever_table(row: Mapping[str, Any], verb: Verb) -> str:
    """Why an engine reads, or writes, no table at all, such as `sink only`; empty where it is
    this table that stops it, or nothing does."""
    if row[f"can_{verb}"] != "no" or row[f"{verb}_blockers"]:
        return ""
    return cut(_own_notes(row, verb), 80)


def _own_notes(row: Mapping[str, Any], verb: Verb) -> str:
    prefix = "reading: " if verb == "read" else "writing: "
    return "; ".join(note.removeprefix(prefix) for note in row["notes"] if note.startswith(prefix))


def tell_stoppers(row: Mapping[str, Any], verb: Verb) -> str:
    """The features and versions that stop an engine; beside one that reads, what stops it from
    writing."""
    if row[f"can_{verb}"] == "no":
        return _names(row[f"{verb}_blockers"]) or _whatever_table(row, verb)
    stopped = row["can_write"] == "no" and row["write_blockers"]
    return f"writing: {_names(row['write_blockers'])}" if stopped else ""


def tell_note(row: Mapping[str, Any], verb: Verb) -> str:
    """What else is known: since when it can, on what condition, what no source tells."""
    verdict = row[f"can_{verb}"]
    if verdict == "no":
        return "" if _whatever_table(row, verb) else _own_notes(row, verb)
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


def render_engine(releases: Sequence[Mapping[str, Any]]) -> Markup:
    """All that is known of one engine; the first release is the newest."""
    newest = releases[0]
    parts = [
        html('<h3 class="dx-version">{}</h3>', newest["name"]),
        html('<p class="dx-muted">{}</p>', _release(newest)),
        _render_verb(newest, "read", "Reading"),
        _render_verb(newest, "write", "Writing"),
        _render_removal(newest),
        _render_source(newest),
        _render_notes(newest["notes"]),
    ]
    parts += [
        html(
            "<details><summary>{}</summary><div>{}{}{}</div></details>",
            _release(older),
            _render_verb(older, "read", "Reading"),
            _render_verb(older, "write", "Writing"),
            _render_source(older),
        )
        for older in releases[1:]
    ]
    return join(parts)


def _render_removal(row: Mapping[str, Any]) -> Markup:
    """A plan for each feature that stops the engine: it says whether the feature can go."""
    names = dict.fromkeys([*row["read_blockers"], *row["write_blockers"]])
    features = [name for name in names if " " not in name][:_MOST]
    if not features:
        return NOTHING
    buttons = join(
        render_plan_link(f"Choose how to drop {name}", "drop-feature", {"feature": name})
        for name in features
    )
    return render_section("What would let it in", html('<div class="dx-buttons">{}</div>', buttons))


def _release(row: Mapping[str, Any]) -> str:
    release = row["release"]
    if release is None:
        return f"{row['kind']}; the sources name no release"
    when = f", {row['released']}" if row["released"] else ""
    return f"{row['kind']}, release {release}{when}"


def _render_verb(row: Mapping[str, Any], verb: Verb, title: str) -> Markup:
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


def _render_source(row: Mapping[str, Any]) -> Markup:
    source, day = row["source"], row["as_of"]
    if not source:
        return NOTHING
    shown = html("<code>{}</code>", source)
    if str(source).startswith("https://"):
        shown = html(
            '<a href="{}" target="_blank" rel="noopener noreferrer">{}</a>', source, source
        )
    when = html(" As of {}.", day) if day else NOTHING
    return render_section("Source", html('<p class="dx-source">{}.{}</p>', shown, when))


def _render_notes(notes: Sequence[str]) -> Markup:
    if not notes:
        return NOTHING
    items = join(html("<li>{}</li>", cut(note, 1000)) for note in notes)
    return html(
        "<details><summary>Notes of the sources ({})</summary>"
        '<div><ul class="dx-notes">{}</ul></div></details>',
        len(notes),
        items,
    )
