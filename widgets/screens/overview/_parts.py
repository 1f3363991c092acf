"""The overview as pieces of the page: chips, key figures, sentences of commits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from explorer.inspect import Advice
from explorer.inspect.advice.ranking import Step
from explorer.protocol.schema_walk import render_path
from explorer.table.counts import count as things
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.overview._ask import TableFacts, ToldCommit
from widgets.session.tables import Identity, RowFigures
from widgets.state import VIEW_OF_A_VERSION, render_filter
from widgets.text import (
    UNKNOWN,
    cut,
    format_age,
    format_bytes,
    format_count,
    format_share,
    format_short,
    format_time,
    visible,
)
from widgets.theme import lane_of
from widgets.ui.pieces import SEVERITY_TONES, KeyFigure, render_chips, render_key_figures
from widgets.ui.place_links import CELL_LINK, PlaceLinks
from widgets.ui.plan_links import render_step_link

PENDING = "\N{HORIZONTAL ELLIPSIS}"
CHIPS = 8


def render_facts(
    facts: TableFacts, version: int, rows: RowFigures | None, links: PlaceLinks
) -> Markup:
    """What the table is; `rows` is None while they are counted."""
    metadata = facts.identity.metadata
    about = metadata.description if metadata else None
    described = html('<p class="dx-about">{}</p>', cut(about, 400)) if about else NOTHING
    figures = [
        _version_figure(facts, version),
        *_file_figures(facts),
        _row_figure(facts, rows, links),
        _log_figure(facts),
    ]
    return html(
        '<div class="dx-title"><h2>Overview{}</h2>{}</div>{}{}',
        "" if version == facts.listed.latest else f" of version {format_count(version)}",
        render_chips(_chips(facts.identity)),
        described,
        render_key_figures(figures),
    )


def render_commits(commits: Sequence[ToldCommit], links: PlaceLinks, now: datetime) -> Markup:
    """A sentence each, with its version and time; the newest first."""
    if not commits:
        return html('<p class="dx-muted">The log has no commit of these versions any more.</p>')
    items = join(_render_commit(commit, links, now) for commit in commits)
    to = {"view": VIEW_OF_A_VERSION, "only": _THAT_REMOVED}
    inner = html("Who removed or changed rows?")
    removed = links.render("removed", _THAT_REMOVED, inner, to=to, attributes=CELL_LINK)
    return html('<ol class="dx-told">{}</ol><p class="dx-below">{}</p>', items, removed)


_THAT_REMOVED = render_filter({"effect": "removed"})


def _render_commit(commit: ToldCommit, links: PlaceLinks, now: datetime) -> Markup:
    text = commit.problem or commit.text or "recorded nothing of itself"
    inner = html(
        '<i class="dx-dot dx-{}"></i><span>{}</span>',
        lane_of(commit.operation).lower(),
        cut(text, 300),
    )
    to = {"view": VIEW_OF_A_VERSION, "version": commit.version}
    when = format_age(commit.timestamp, now)
    return html(
        '<li>{}<small title="{}">version {}, {}</small></li>',
        links.render("commit", str(commit.version), inner, to=to),
        format_time(commit.timestamp),
        format_count(commit.version),
        when,
    )


def render_advice(found: Advice, links: PlaceLinks) -> Markup:
    """At most three steps, the others on demand, and what has not been asked yet."""
    steps = join(_render_step(step, links) for step in found.first)
    further = NOTHING
    if found.further:
        further = html(
            '<details><summary>Show all {}</summary><div><ol class="dx-steps-first">{}</ol></div>'
            "</details>",
            format_count(len(found.steps)),
            join(_render_step(step, links) for step in found.further),
        )
    unasked = join(
        html("<li>{}: {}</li>", _SOURCES[source], visible(problem.problem))
        for source, problem in found.unasked
    )
    return html(
        '<p class="dx-lead">{}</p>{}{}{}{}',
        visible(found.sentence),
        html('<ol class="dx-steps-first">{}</ol>', steps) if steps else NOTHING,
        further,
        html('<ul class="dx-notes">{}</ul>', unasked) if unasked else NOTHING,
        NOTHING if found.has_listed else _OFFER,
    )


def _render_step(step: Step, links: PlaceLinks) -> Markup:
    others = NOTHING
    if step.others:
        others = html(' <span class="dx-muted">and {}</span>', things(step.others, "more finding"))
    plan = NOTHING
    if step.operation is not None:
        plan = render_step_link(step.operation, step.arguments)
    by_hand = NOTHING
    if step.by_hand:
        by_hand = html("<dt>By hand</dt><dd>{}</dd>", cut(step.by_hand, 400))
    why = links.view(
        step.source, html("Why"), html(' class="dx-why" aria-label="Why: {}"', step.problem)
    )
    return html(
        '<li><p><i class="dx-dot dx-tone-{}"></i><strong>{}</strong>{}</p>'
        "<dl><dt>Cost</dt><dd>{}</dd><dt>Benefit</dt><dd>{}</dd>{}</dl>"
        '<div class="dx-buttons">{}{}</div></li>',
        SEVERITY_TONES[step.severity],
        cut(step.problem, 400),
        others,
        cut(step.cost, 400),
        cut(step.benefit, 400),
        by_hand,
        plan,
        why,
    )


_SOURCES = {
    "health": "Health",
    "layout": "Layout",
    "vectors": "Deletion vectors",
    "reach": "Time travel",
}
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="files" '
    'data-value="">Look at the files too</button></div>'
    '<p class="dx-muted">The folder is listed for it, and every commit is read.</p>'
)


def _chips(identity: Identity) -> list[str]:
    protocol = identity.protocol
    if protocol is None:
        return ["protocol unknown"]
    chips = [
        f"reader {protocol.min_reader_version} \N{MIDDLE DOT} writer {protocol.min_writer_version}"
    ]
    names = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    chips += [cut(name, 48) for name in names[:CHIPS]]
    metadata = identity.metadata
    if metadata is not None and metadata.partition_columns:
        chips.append(cut(f"by {', '.join(map(_written, metadata.partition_columns))}", 60))
    if len(names) > CHIPS:
        chips.append(f"{len(names) - CHIPS} more")
    return chips


def _written(column: str) -> str:
    """As in SQL: `p q` is not taken for two columns."""
    return render_path((column,))


def _version_figure(facts: TableFacts, version: int) -> KeyFigure:
    when = None if facts.figures is None else facts.figures.timestamp
    latest = facts.listed.latest
    age = "" if when is None else format_age(when, datetime.now(UTC))
    if version == latest:
        remark = ", ".join(part for part in ("the latest", age) if part)
    else:  # the age is of the chosen version, and stands away from the number of the other
        remark = "; ".join(part for part in (age, f"the latest is {format_count(latest)}") if part)
    return KeyFigure(
        name="Version",
        value=format_count(version),
        remark=remark,
        exact=format_time(when) if when else "",
    )


def _file_figures(facts: TableFacts) -> list[KeyFigure]:
    if facts.figures is None:
        return [
            KeyFigure(name=name, value=UNKNOWN, remark="files not readable")
            for name in ("Table size", "Active files")
        ]
    files, size = facts.figures.num_files, facts.figures.size_in_bytes
    average = f"{format_bytes(size // files)} on average" if files else "the table is empty"
    return [
        KeyFigure(
            name="Table size",
            value=format_bytes(size),
            remark="live files, by the log",
            exact=f"{format_count(size)} bytes",
        ),
        KeyFigure(name="Active files", value=format_count(files), remark=average),
    ]


def _row_figure(facts: TableFacts, rows: RowFigures | None, links: PlaceLinks) -> KeyFigure:
    name = "Rows"
    if facts.figures is None:
        return KeyFigure(name=name, value=UNKNOWN, remark="files not readable")
    if rows is None:
        return KeyFigure(name=name, value=PENDING, remark="counting\N{HORIZONTAL ELLIPSIS}")
    if rows.num_rows is None:
        return KeyFigure(name=name, value=UNKNOWN, remark="statistics do not say")
    deleted = rows.num_deleted
    if deleted is None:
        remark = "soft-deleted rows unknown"
    elif deleted:
        share = format_share(deleted, rows.num_rows + deleted)
        inner = html("{} soft-deleted ({})", format_short(deleted), share)
        remark = links.view("vectors", inner, CELL_LINK)
    else:
        remark = "none soft-deleted"
    return KeyFigure(
        name=name,
        value=format_short(rows.num_rows),
        remark=remark,
        exact=f"{format_count(rows.num_rows)} rows, by statistics",
    )


def _log_figure(facts: TableFacts) -> KeyFigure:
    """By the listing, and, once the version is read, by what it was read from."""
    known = facts.listed if facts.figures is None else facts.figures
    count = known.commits_since_checkpoint
    if known.checkpoint is None:
        has_one = facts.listed.checkpoint is not None
        remark = "no checkpoint is usable" if has_one else "no checkpoint yet"
    else:
        remark = f"since checkpoint {format_count(known.checkpoint)}"
    unit = "commit" if count == 1 else "commits"
    figures = facts.figures
    if figures is not None and figures.compactions_read:
        read = things(figures.compactions_read, "log compaction")
        remark += f"; {format_count(figures.commits_read)} and {read} read"
    return KeyFigure(name="Read to open", value=f"{format_count(count)} {unit}", remark=remark)
