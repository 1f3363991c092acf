"""The selected commit: what it did, who did it, where that is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from widgets.markup import NOTHING, Markup, html
from widgets.text import (
    UNKNOWN,
    cut,
    format_bytes,
    format_count,
    format_many,
    format_new_vectors,
    format_signed,
    format_signed_bytes,
    format_time,
    visible,
)
from widgets.theme import lane_of
from widgets.ui.pieces import (
    BACK_TO_LIST,
    render_badge,
    render_definitions,
    render_section,
    render_snippet,
)
from widgets.ui.place_links import MAIN_WAY_LINK, WAY_LINK, PlaceLinks
from widgets.ui.plan_links import render_plan_link

VALUE_LIMIT = 2000
"""Characters of one parameter that are shown; the log line has it whole."""

_PARAMETERS = {"mode": "Mode", "partitionBy": "Partition by", "predicate": "Predicate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFigures:
    """What the timeline knows of a commit; None where it is not recorded."""

    files_added: int | None = None
    files_removed: int | None = None
    rows_added: int | None = None
    rows_removed: int | None = None
    bytes_added: int | None = None
    bytes_removed: int | None = None
    size_after: int | None = None
    files_after: int | None = None
    deletion_vectors_added: int | None = None
    changes_rows: bool = False

    @property
    def mean_after(self) -> int | None:
        """Bytes of a file of the table after it."""
        if not self.files_after or self.size_after is None:
            return None
        return self.size_after // self.files_after

    @property
    def mean_before(self) -> int | None:
        """Bytes of a file of the table before it."""
        known = (self.files_added, self.files_removed, self.bytes_added, self.bytes_removed)
        if self.size_after is None or self.files_after is None or None in known:
            return None
        files = self.files_after - (self.files_added or 0) + (self.files_removed or 0)
        size = self.size_after - (self.bytes_added or 0) + (self.bytes_removed or 0)
        return size // files if files > 0 else None


def render_commit_head(version: int, latest: int, links: PlaceLinks, *, is_alone: bool) -> Markup:
    """The buttons to older and newer commits, and the way to the commit alone and back."""
    older = NOTHING if version > 0 else html(" disabled")
    newer = NOTHING if version < latest else html(" disabled")
    way, place = ("Beside the timeline", "timeline") if is_alone else ("Open alone", "commit")
    to = {"version": version, "view": place}
    return html(
        '<header class="dx-commit-head"{}><span>Commit</span>{}{}<span class="dx-steps">'
        '<button type="button" class="dx-icon dx-previous" data-do="step" data-value="-1" '
        'data-key="ArrowLeft" aria-label="Older commit" title="Older (left arrow key)"{}>'
        "</button>"
        '<button type="button" class="dx-icon dx-next" data-do="step" data-value="1" '
        'data-key="ArrowRight" aria-label="Newer commit" title="Newer (right arrow key)"{}>'
        "</button></span></header>",
        NOTHING if is_alone else html(' data-detail="{}"', str(version)),
        NOTHING if is_alone else BACK_TO_LIST,
        links.render("place", place, html("{}", way), to=to, attributes=WAY_LINK),
        older,
        newer,
    )


def render_commit_title(version: int, info: Mapping[str, Any], sentence: str) -> Markup:
    """Version, operation, time and user, and the sentence; `info` has them under these names.
    The heading takes the focus of whoever has chosen the commit from a list that is gone."""
    operation = _text(info.get("operation"))
    badge = render_badge(cut(operation or "operation not recorded", 40), lane_of(operation))
    who = _text(info.get("user")) or "user not recorded"
    when = info.get("timestamp")
    at = format_time(when if isinstance(when, datetime) else None)
    told = (
        html('<p class="dx-sentence-of-commit">{}.</p>', visible(sentence)) if sentence else NOTHING
    )
    return html(
        '<h3 class="dx-version">Version {} {}</h3>{}<p class="dx-muted">{} \N{MIDDLE DOT} {}</p>',
        format_count(version),
        badge,
        told,
        at,
        cut(who, 120),
    )


def render_message(message: object) -> Markup:
    """What whoever made the commit wrote about it."""
    text = _text(message)
    return NOTHING if text is None else html('<p class="dx-quote">{}</p>', visible(text))


def render_commit_buttons(version: int, latest: int, links: PlaceLinks) -> Markup:
    """The ways on from a commit."""
    restore = compare = NOTHING
    place: dict[str, Any] = {"version": version, "older": None, "other": "", "view": "compare"}
    if version > 0:
        compare = links.render(
            "compare", "previous", html("Compare with previous"), to=place, attributes=MAIN_WAY_LINK
        )
        restore = render_plan_link(
            "Restore to before this commit",
            "restore",
            {"version": str(version - 1)},
            action="plan-now",
        )
    newest = links.render(
        "compare",
        "latest",
        html("with latest"),
        to=place | {"version": latest, "older": version},
        attributes=WAY_LINK + html(' aria-label="Compare with latest"'),
    )
    files = {"version": version, "view": "files"}
    return html(
        '<div class="dx-buttons">{}{}{}{}</div>',
        restore,
        compare,
        newest,
        links.render("files", "", html("Files"), to=files, attributes=WAY_LINK),
    )


def render_access(access: str) -> Markup:
    """Who can read the table after it; nothing while that is not known."""
    if not access:
        return NOTHING
    return render_section("Who can still read the table", html("<p>{}</p>", visible(access)))


def render_effect(figures: CommitFigures | None) -> Markup:
    """What the commit did to the sizes of the files."""
    if figures is None or figures.files_after is None or figures.size_after is None:
        return NOTHING
    before, after = figures.mean_before, figures.mean_after
    if after is None:
        return html('<p class="dx-muted">The table has no file after it.</p>')
    told = f"The table has {format_many(figures.files_after, 'file')} after it, "
    told += f"{format_bytes(after)} on average"
    if before is not None and before != after:
        told += f"; {format_bytes(before)} before"
    return html('<p class="dx-muted">{}.</p>', told)


def render_record(info: Mapping[str, Any], evidence: str, uri: str, version: int) -> Markup:
    """What the commit says of itself, and how its version is read."""
    return html(
        '{}{}{}<p class="dx-evidence">Recorded in <code>{}</code></p>',
        render_section("Operation", _render_operation(info)),
        _render_metrics(info.get("metrics")),
        _render_snippets(uri, version),
        evidence,
    )


def sql_snippet(uri: str, version: int) -> str:
    """Spark SQL that reads a version."""
    return f"SELECT * FROM delta.`{uri.replace('`', '``')}` VERSION AS OF {version}"


def python_snippet(uri: str, version: int) -> str:
    """Python that opens a version with this package."""
    return f"import explorer\nexplorer.open_table({uri!r}).snapshot(version={version})"


def render_commit_figures(figures: CommitFigures | None) -> Markup:
    """What the commit changed, as four small cards."""
    if figures is None:
        return html(
            '<p class="dx-muted">Files, rows and bytes of this commit are not read yet.</p>'
        )
    change = None
    if figures.bytes_added is not None and figures.bytes_removed is not None:
        change = figures.bytes_added - figures.bytes_removed
    return html(
        '<div class="dx-small-figures">{}{}{}{}</div>',
        _render_change(
            "Files",
            figures.files_added,
            figures.files_removed,
            format_new_vectors(figures.deletion_vectors_added),
        ),
        _render_change(
            "Rows",
            figures.rows_added,
            figures.rows_removed,
            _CHANGED if figures.changes_rows and figures.rows_added else "",
        ),
        _render_single("Size change", format_signed_bytes(change), format_signed(change)),
        _render_single(
            "Table size after", format_bytes(figures.size_after), format_count(figures.size_after)
        ),
    )


_CHANGED = "a changed row counts twice"


def _render_change(name: str, added: int | None, removed: int | None, beside: str = "") -> Markup:
    if added is None and removed is None:
        return _render_single(name, UNKNOWN, "not recorded in this commit")
    plus = "+?" if added is None else f"+{added:,}"
    minus = "\N{MINUS SIGN}?" if removed is None else f"\N{MINUS SIGN}{removed:,}"
    total = (added or 0) + (removed or 0)
    share = round(100 * (added or 0) / total) if total else 0
    bar = "" if total else " dx-nothing"
    return html(
        '<div class="dx-small-figure"><span>{}</span><strong>{} '
        '<em>{}</em></strong>{}<i class="dx-share-bar{}" style="--share:{}%"></i></div>',
        name,
        plus,
        minus,
        html("<small>{}</small>", beside) if beside else NOTHING,
        bar,
        share,
    )


def _render_single(name: str, value: str, exact: str) -> Markup:
    quiet = html(' class="dx-unknown"') if value == UNKNOWN else NOTHING
    return html(
        '<div class="dx-small-figure"><span>{}</span><strong{} title="{}">{}</strong></div>',
        name,
        quiet,
        exact,
        value,
    )


def _render_operation(info: Mapping[str, Any]) -> Markup:
    pairs: list[tuple[str, str]] = []
    code: list[str] = []
    parameters = info.get("parameters")
    for key, value in parameters.items() if isinstance(parameters, Mapping) else ():
        shown = plain_value(value)
        if shown in {"", "[]", "{}"}:
            continue
        name = _PARAMETERS.get(str(key), str(key))
        pairs.append((cut(name, 80), cut(shown, VALUE_LIMIT)))
        code += [] if key == "mode" else [cut(name, 80)]
    for name, key in (
        ("Isolation", "isolation_level"),
        ("Engine", "engine"),
        ("Transaction", "txn_id"),
    ):
        if text := _text(info.get(key)):
            pairs.append((name, cut(text, VALUE_LIMIT)))
    read = info.get("read_version")
    if isinstance(read, int):
        pairs.append(("Read version", format_count(read)))
    blind = info.get("is_blind_append")
    if isinstance(blind, bool):
        pairs.append(("Blind append", "yes" if blind else "no"))
    if not pairs:
        return html('<p class="dx-muted">The commit says nothing about its operation.</p>')
    return render_definitions(pairs, code=code)


def _render_metrics(metrics: object) -> Markup:
    if not isinstance(metrics, Mapping) or not metrics:
        return NOTHING
    pairs = [(cut(str(key), 80), _metric(value)) for key, value in metrics.items()]
    inner = html('<div class="dx-metrics">{}</div>', render_definitions(pairs))
    return html("<details><summary>Metrics ({})</summary>{}</details>", len(pairs), inner)


def _render_snippets(uri: str, version: int) -> Markup:
    return html(
        "<details><summary>Read this version: Spark SQL · Python</summary>"
        "<div>{}{}</div></details>",
        render_snippet("dx-sql", sql_snippet(uri, version), "Spark SQL"),
        render_snippet("dx-python", python_snippet(uri, version), "Python"),
    )


def _metric(value: object) -> str:
    text = plain_value(value)
    return (
        format_count(int(text))
        if text.isascii() and text.isdigit() and len(text) < 19
        else cut(text, 200)
    )


def plain_value(value: object) -> str:
    """A JSON value as a person reads it; writers often wrap JSON into a string."""
    if value is None:
        return ""
    if isinstance(value, str):
        return _unwrapped(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _unwrapped(text: str) -> str:
    if len(text) > VALUE_LIMIT or text[:1] not in {'"', "["}:
        return text
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(inner, str):
        return inner
    if isinstance(inner, list) and all(isinstance(part, str) for part in inner):
        return ", ".join(inner)
    return text


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
