"""The health of a log as pieces of the page: what opening costs, findings, bytes by kind."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from explorer.table.counts import count
from widgets.markup import NOTHING, Markup, html
from widgets.text import (
    UNKNOWN,
    cut,
    cut_middle,
    format_age,
    format_bytes,
    format_count,
    format_minute,
    format_moment,
    format_time,
)
from widgets.ui.bars import Axes, Bar, render_bars
from widgets.ui.pieces import SEVERITY_TONES, KeyFigure
from widgets.ui.plan_links import plan_request_of_repair, render_step_link
from widgets.ui.table import Cell, Column, Row, render_table

DASH = "\N{EN DASH}"

BYTES_COLUMNS = (
    Column(key="kind", label="Kind"),
    Column(key="files", label="Files", align="right"),
    Column(key="bytes", label="Bytes", align="right"),
    Column(key="oldest", label="Oldest (UTC)"),
    Column(key="newest", label="Newest (UTC)"),
)
MISSING_COLUMNS = (
    Column(key="what", label="Missing"),
    Column(key="file", label="File", mono=True),
    Column(key="records", label="Rows lost", align="right"),
    Column(key="bytes", label="Bytes", align="right"),
)


def health_figures(found: Any, now: datetime) -> list[KeyFigure]:
    """What opening the latest version costs; unknown where it cannot be reconstructed."""
    findings = found.findings.column("severity").to_pylist()
    worst = [f"{findings.count(word)} {word}{'s' if findings.count(word) != 1 else ''}"
             for word in ("error", "warning", "note") if word in findings]  # fmt: skip
    log_bytes = sum(found.log_bytes.column("bytes").to_pylist())
    num_files = sum(found.log_bytes.column("num_files").to_pylist())
    cost = found.cost or {}
    checkpoint = cost.get("checkpoint_version")
    age = format_age(cost.get("checkpoint_time"), now)
    kind = str(cost.get("checkpoint_kind") or "")
    return [
        KeyFigure(name="Findings", value=format_count(len(findings)),
                  remark=", ".join(worst) or "nothing is wrong"),
        KeyFigure(name="Opening reads", value=format_count(cost.get("commits")),
                  remark=_commits_read(cost)),
        KeyFigure(name="Checkpoint", value="none" if cost and checkpoint is None
                  else format_count(checkpoint),
                  remark=f"{kind}, {age}" if checkpoint is not None else ""),
        KeyFigure(name="Checkpoint reads",
                  value=format_bytes(cost["checkpoint_bytes"] + cost["sidecar_bytes"])
                  if cost else UNKNOWN, remark=_checkpoint_read(cost)),
        KeyFigure(name="Log", value=format_bytes(log_bytes),
                  remark=f"{format_count(num_files)} files"),
    ]  # fmt: skip


def _commits_read(cost: Mapping[str, Any]) -> str:
    """The unit of the number of commits, and what is read beside them."""
    commits = "commit" if cost.get("commits") == 1 else "commits"
    if not cost or not cost["compactions"]:
        return f"{commits}, {format_bytes(cost.get('commit_bytes'))}"
    compactions = count(cost["compactions"], "log compaction")
    size = format_bytes(cost["commit_bytes"] + cost["compaction_bytes"])
    return f"{commits} and {compactions}, {size}"


def _checkpoint_read(cost: Mapping[str, Any]) -> str:
    if not cost or not cost["sidecars"]:
        return "of its files"
    return f"of its files, {count(cost['sidecars'], 'sidecar')} among them"


def render_finding(row: Mapping[str, Any]) -> Markup:
    """One finding: what, why, where that stands, and what mends it."""
    severity = str(row["severity"])
    evidence = (
        html("<code>{}</code>", cut(str(row["evidence"]), 300)) if row["evidence"] else NOTHING
    )
    about = []
    if evidence:
        about.append(html("Evidence: {}", evidence))
    if row["spec"]:
        about.append(html("Section of the specification: {}", row["spec"]))
    repair = NOTHING
    if row["repair"]:
        repair = html(' Command: <span class="dx-chip">{}</span>', row["repair"])
    request = plan_request_of_repair(str(row["repair"] or ""))
    plan = NOTHING if request is None else render_step_link(*request)
    return html(
        '<li><p><i class="dx-dot dx-tone-{}"></i>'
        "<strong>{}</strong> "
        '<span class="dx-muted">{}: {}</span></p>'
        "<p>{}</p>"
        "<p>{}{}</p>"
        '<p class="dx-evidence">{}</p>{}</li>',
        SEVERITY_TONES.get(severity, "none"),
        cut(str(row["problem"]), 600),
        severity,
        row["finding"],
        cut(str(row["reason"] or ""), 1000),
        cut(str(row["remedy"] or ""), 600),
        repair,
        html(" \N{MIDDLE DOT} ").join(about),
        plan,
    )


def build_bytes_row(row: Mapping[str, Any], total: int) -> Row:
    """One kind of log file."""
    return Row(
        cells=(
            Cell(text=str(row["kind"])),
            Cell(text=format_count(row["num_files"])),
            Cell(text=format_bytes(row["bytes"]), title=format_count(row["bytes"]),
                 share=row["bytes"] / total if total else 0.0),
            Cell(text=format_minute(row["oldest"]), title=format_time(row["oldest"])),
            Cell(text=format_minute(row["newest"]), title=format_time(row["newest"])),
        )
    )  # fmt: skip


def build_missing_row(row: Mapping[str, Any]) -> Row:
    """A live file that is not there; a click asks why."""
    file = str(row["file"])
    return Row(
        action="file",
        value=str(row["path"]),
        cells=(
            Cell(text=str(row["what"]), tone="gone"),
            Cell(text=cut_middle(file, 60), title=cut(file, 1000)),
            Cell(text=format_count(row["num_rows"]), muted=row["num_rows"] is None),
            Cell(text=format_bytes(row["bytes"]), muted=row["bytes"] is None),
        ),
    )


GROWTH_COLUMNS = (
    Column(key="from", label="From (UTC)"),
    Column(key="kind", label="Kind"),
    Column(key="files", label="Files", align="right"),
    Column(key="bytes", label="Bytes", align="right"),
)
GROWTH_LISTED = 200


def render_growth(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """The bytes that were added to the log in each span of time, and a table of them by kind."""
    rows = [row for row in rows if row["from"] is not None]
    if len({row["from"] for row in rows}) < 2:
        return NOTHING
    spans: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        spans.setdefault(row["from"], []).append(row)
    moments = list(spans)
    step = min(late - early for early, late in itertools.pairwise(moments))
    bars, at = [], moments[0]
    while at <= moments[-1]:
        some = spans.get(at, [])
        told = ", ".join(f"{format_bytes(row['bytes'])} of {row['kind']}" for row in some)
        bars.append(
            Bar(
                value=sum(row["bytes"] for row in some),
                title=f"from {format_moment(at)}: {told or 'nothing'}",
            )
        )
        at += step
    listed = [
        Row(cells=(Cell(text=format_minute(row["from"])), Cell(text=str(row["kind"])),
                   Cell(text=format_count(row["num_files"])),
                   Cell(text=format_bytes(row["bytes"]), title=format_count(row["bytes"]))))
        for row in rows[-GROWTH_LISTED:]
    ]  # fmt: skip
    table = render_table("Bytes added to the log, by kind", GROWTH_COLUMNS, listed)
    ends = (format_moment(moments[0]), format_moment(moments[-1]))
    most = max((bar.value for bar in bars), default=0)
    axes = Axes(
        across="Added (UTC)", up="Bytes", ticks=((0.0, ends[0]), (1.0, ends[1])),
        heights=("0 B", format_bytes(int(most))),
    )  # fmt: skip
    return html(
        "<h4>Bytes of the log that is left, by the time at which they were added</h4>"
        "{}"
        "<details><summary>As a table</summary><div>{}</div></details>",
        render_bars("Bytes of the log over time", bars, axes=axes),
        table,
    )
