"""The overview as pieces of the page: chips, key figures, sentences of commits."""

from __future__ import annotations

from datetime import UTC, datetime

from explorer.table.counts import count as things
from widgets.markup import NOTHING, Markup, html
from widgets.screens.overview._ask import TableFacts
from widgets.session.tables import Identity, RowFigures
from widgets.text import (
    UNKNOWN,
    cut,
    format_age,
    format_bytes,
    format_count,
    format_share,
    format_short,
    format_time,
)
from widgets.ui.pieces import KeyFigure, render_chips, render_key_figures

PENDING = "\N{HORIZONTAL ELLIPSIS}"
CHIPS = 8


def render_facts(facts: TableFacts, version: int, rows: RowFigures | None) -> Markup:
    """What the table is; `rows` is None while they are counted."""
    metadata = facts.identity.metadata
    about = metadata.description if metadata else None
    described = html('<p class="dx-about">{}</p>', cut(about, 400)) if about else NOTHING
    figures = [
        _version_figure(facts, version),
        *_file_figures(facts),
        _row_figure(facts, rows),
        _log_figure(facts),
    ]
    return html(
        "{}{}{}", described, render_chips(_chips(facts.identity)), render_key_figures(figures)
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
        chips.append(cut(f"by {', '.join(metadata.partition_columns)}", 60))
    if len(names) > CHIPS:
        chips.append(f"{len(names) - CHIPS} more")
    return chips


def _version_figure(facts: TableFacts, version: int) -> KeyFigure:
    when = None if facts.figures is None else facts.figures.timestamp
    latest = facts.listed.latest
    remark = "the latest" if version == latest else f"the latest is {format_count(latest)}"
    if when is not None:
        remark += f", {format_age(when, datetime.now(UTC))}"
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


def _row_figure(facts: TableFacts, rows: RowFigures | None) -> KeyFigure:
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
        remark = f"{format_short(deleted)} soft-deleted ({share})"
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
    return KeyFigure(name="To read", value=f"{format_count(count)} {unit}", remark=remark)
