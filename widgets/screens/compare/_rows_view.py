"""Rows of two versions: those that differ side by side, what statistics say, and exact counts on
demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import explorer.inspect as look
from explorer.comparison.file_changes import FileChanges
from explorer.inspect.rows.row_differences import MOST_BYTES, ROW_ID
from widgets.choices import Choices
from widgets.markup import NOTHING, Markup, html
from widgets.screens.compare._ask import Files, Opened, read_row_differences
from widgets.screens.compare._difference_parts import (
    count_differences,
    render_differences,
    render_kinds,
)
from widgets.screens.compare._parts import ROW_COLUMNS, build_row_rows
from widgets.screens.rows.ask_spark import ExactRows, count_rows_exactly
from widgets.screens.rows.spark_parts import render_exact_rows
from widgets.session.page_services import PageServices
from widgets.state import LONGEST_TEXT, PageState
from widgets.text import format_bytes, split_names, visible
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_folded, render_name_offers
from widgets.ui.table import render_table
from widgets.ui.view import Offer, Pane, Request, View, Words


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of two versions; `changes` are the files that differ, `estimate` is what statistics
    say of the rows, and `num_bytes` how much these files hold. `key` are the columns that were
    typed, by which a row is the same one."""

    opened: Opened
    changes: FileChanges = field(compare=False)
    estimate: Markup
    num_bytes: int
    key: tuple[str, ...] = ()


class RowPart:
    """A card of the comparison, empty until its estimate is known."""

    def __init__(
        self, services: PageServices, state: PageState, files: View[Opened, Files]
    ) -> None:
        def rows(*_: object) -> _Rows | None:
            opened, found = files.question, files.answer
            if opened is None or found is None or not found.num_files:
                return None
            two = opened.settings.is_of_two_tables
            by = build_row_rows(found.rows, is_of_two_tables=two)
            table = render_table("Rows by what changed them", ROW_COLUMNS, by)
            key = tuple(split_names(self._chosen.get("key")))
            return _Rows(opened, found.changes, table, found.bytes_to_read, key)

        shown: Request[_Rows, look.RowDifferences] = Request(
            question=rows,
            read=lambda asked, watch, _: read_row_differences(
                asked.opened.settings, asked.changes, asked.key, watch
            ),
            words=_READING,
            offer=Offer(action="differences", render=_offer_differences),
        )

        request: Request[_Rows, ExactRows] = Request(
            question=rows,
            read=lambda asked, watch, _: count_rows_exactly(
                asked.opened.settings.older, asked.opened.settings.newer, watch
            ),
            words=_WORDS,
            offer=Offer(action="exact", render=self._offer_count),
        )
        self._chosen = Choices(state, "differences", self._choose_otherwise)
        self.differences = Pane(self._render_differences, head=_render_differences_head)
        self.pane = Pane(_render_rows, head=_render_head)
        self._differing = View(services, state, "compare", shown, self.differences, after=(files,))
        counted = View(
            services, state, "compare", request, self.pane, after=(files, self._differing)
        )
        self.views = (self._differing, counted)
        self.differences.live.on("key", self._choose_key)
        self.differences.live.on("rows", self._choose_kind)

    @property
    def found(self) -> look.RowDifferences | None:
        """The rows that differ, once they are known."""
        return self._differing.answer

    def listen(self, listener: Callable[[], object]) -> None:
        """Call `listener` whenever these rows become known, or are no longer."""
        self._differing.listen(listener)

    def _offer_count(self, _: _Rows) -> Markup:
        """The count by Spark; where the rows are counted above, for who doubts it."""
        is_counted = self.found is not None and self.found.reason is None
        return render_folded("Count them again on Spark", _OFFER) if is_counted else _OFFER

    def _choose_key(self, text: str) -> None:
        asked, key = self._differing.question, tuple(split_names(text))
        if asked is not None and key != asked.key and len(text) <= LONGEST_TEXT:
            self._differing.ask(replace(asked, key=key))
            self._chosen.choose(key=", ".join(key))

    def _choose_otherwise(self, names: frozenset[str]) -> None:
        if "rows" in names:
            self.differences.rewind()
        if "key" in names:
            self._differing.refresh()

    def _choose_kind(self, kind: str) -> None:
        found = self.found
        if found is not None and (not kind or count_differences(found).get(kind)):
            self._chosen.choose(rows=kind)

    def _render_differences(self, asked: _Rows, found: look.RowDifferences, pages: Pages) -> Markup:
        counts = count_differences(found)
        kind = self._chosen.get("rows", [name for name in counts if counts[name]])
        total = counts[kind] if kind else sum(counts.values())
        rows = render_differences(found, *pages.span(total), kind) if total else NOTHING
        return html(
            '<p class="dx-lead">{}</p>{}{}{}{}',
            visible(found.sentence),
            render_kinds(found, kind),
            rows,
            pages.render(total),
            _render_commands(asked),
        )


def _render_head(asked: _Rows, found: ExactRows | None) -> Markup:
    return html("<h3>Row counts</h3>{}", asked.estimate if found is None else NOTHING)


def _render_differences_head(asked: _Rows, found: look.RowDifferences | None) -> Markup:
    """With a field for the key, where one may make a row of both sides the same one."""
    return html(
        '<div class="dx-head"><h3>Rows that differ</h3>'
        '<span class="dx-hint">changed cells show both values</span>{}</div>',
        _render_key(asked, found),
    )


def _render_key(asked: _Rows, found: look.RowDifferences | None) -> Markup:
    key, names = asked.key, list[str]()
    if found is not None:
        is_both = found.inserted.num_rows and found.deleted.num_rows
        if found.key == (ROW_ID,) or not (key or is_both):
            return NOTHING
        key, names = found.key, found.after.column_names
    elif not key:
        return NOTHING
    return html(
        '<label class="dx-picker dx-other">same row by <input type="text" class="dx-code" '
        'data-do="key" data-when="enter" value="{}" placeholder="{}"{}></label>',
        ", ".join(key),
        f"{names[0][:40]}, then Enter" if names else "Columns, then Enter",
        render_name_offers(names),
    )


def _offer_differences(asked: _Rows) -> Markup | None:
    if asked.num_bytes <= FREE_BYTES:
        return None
    return html(
        '<p class="dx-muted">{} of files would be read for it, {} at most.</p>'
        '<div class="dx-buttons"><button type="button" class="dx-outlined" '
        'data-do="differences" data-value="">Show the rows that differ</button></div>',
        format_bytes(asked.num_bytes),
        format_bytes(MOST_BYTES),
    )


def _render_commands(asked: _Rows) -> Markup:
    settings = asked.opened.settings
    older, newer = settings.older, settings.newer
    arguments = [str(older.version), str(newer.version)]
    other = [] if older.uri == newer.uri else ["--against", newer.uri]
    keys = [word for name in asked.key for word in ("--key", name)]
    commands = {
        "CLI": command_line("diff", older.uri, [*arguments, *other, "--changed-rows", *keys]),
        "Python": python_line(
            older.uri,
            "import explorer.inspect as look\n"
            f"look.row_differences(table.snapshot({older.version}), "
            f"{'table' if not other else f'explorer.open_table({newer.uri!r})'}"
            f".snapshot({newer.version}){f', key={list(asked.key)!r}' if asked.key else ''})",
        ),
    }
    return render_copy_as("row-differences", commands)


def _render_rows(asked: _Rows, found: ExactRows, _: Pages) -> Markup:
    older, newer = (side.version for side in (asked.opened.settings.older,
                                              asked.opened.settings.newer))  # fmt: skip
    commands = {
        "Python": python_line(
            asked.opened.pair.service.uri,
            "from explorer import pipeline\n"
            f"found = pipeline.diff_rows(table.snapshot(version={older}), "
            f"table.snapshot(version={newer}))\nfound.inserted, found.deleted, found.updated",
        ),
    }
    return html(
        "{}<h4>By statistics</h4>{}{}",
        render_exact_rows(found),
        asked.estimate,
        render_copy_as("exact-rows", commands),
    )


FREE_BYTES = 8 * 2**20
"""Bytes of files that are read without being asked for: they take about a second."""

_READING = Words(
    label="Reading the files that differ",
    stopped="Stopped before the rows were compared.",
    again="Show the rows that differ",
)
_WORDS = Words(
    label="Starting Spark",
    stopped="Stopped before the rows were counted.",
    again="Count the rows that differ, and show some",
)
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="exact" '
    'data-value="">Count the rows that differ, and show some</button></div>'
    '<p class="dx-muted">Files that only one version has are read, on Spark in this machine.</p>'
)
