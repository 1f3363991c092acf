"""The lines of a commit: the files that it touched, and every action as the log has it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.commit._ask import ACTIONS_HELD, OneCommit, read_some_actions
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import Notice, PageState, parse_version
from widgets.text import (
    UNKNOWN,
    cut,
    cut_middle,
    cut_path,
    format_bytes,
    format_count,
    format_many,
)
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_notice
from widgets.ui.records import read_records
from widgets.ui.table import PAGE_ROWS, Cell, Column, Row, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

SCREENS = ("timeline", "commit")
"""Where a commit is looked at."""

FILES_SHOWN = 10
"""Files that are named without being asked for; the actions name all."""

RAW_SHOWN = 50
"""Lines of raw JSON at once; the table pages through the rest."""

ACTION_COLUMNS = (
    Column(key="line", label="Line", align="right"),
    Column(key="action", label="Action"),
    Column(key="path", label="What", mono=True),
    Column(key="size", label="Size", align="right"),
    Column(key="num_records", label="Rows", align="right"),
)
FILE_COLUMNS = (
    Column(key="what", label="What"),
    Column(key="path", label="File", mono=True),
    Column(key="size", label="Size", align="right"),
    Column(key="num_records", label="Rows", align="right"),
)


class ActionsView:
    """Two places that show the lines of one commit: `files` and `actions`."""

    def __init__(
        self,
        services: PageServices,
        state: PageState,
        question: Callable[[TableService, PageState], OneCommit | None],
    ) -> None:
        self._mode: str | None = None
        self._line: int | None = None
        request: Request[OneCommit, pa.Table] = Request(
            question=question,
            read=lambda asked, _, __: read_some_actions(asked),
            words=_WORDS,
            offer=Offer(render=_render_offer, action="list"),
        )
        self._files = Pane(_render_files, head=_FILES_HEAD)
        self._lines = Pane(self._render_lines, noun="lines", export=_export)
        self._view = View(services, state, SCREENS, request, self._files, self._lines)
        self.files, self.actions = self._files.live, self._lines.live
        self.actions.on("line", self._choose)
        self.actions.on("mode", self._open)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._mode = None
        self._view.show(service)

    def refresh(self) -> None:
        """What is asked of the selected commit may have become known."""
        self._line = None
        self._view.refresh()

    def _open(self, mode: str) -> None:
        """Show the actions as a table, as raw JSON, or not at all."""
        self._mode, self._line = mode if mode in {"table", "raw"} else None, None
        self._lines.rewind()

    def _choose(self, line: str) -> None:
        chosen = parse_version(line)
        self._line = None if chosen == self._line else chosen
        self._lines.redraw()

    def _render_lines(self, _: OneCommit, frame: pa.Table, pages: Pages) -> Markup:
        head = self._render_head(frame.num_rows)
        if self._mode is None:
            return head
        pages.limit = RAW_SHOWN if self._mode == "raw" else PAGE_ROWS
        page = read_records(frame.slice(*pages.span(frame.num_rows)))
        body = _render_raw(page) if self._mode == "raw" else self._render_rows(page)
        return head + body + pages.render(frame.num_rows)

    def _render_head(self, number: int) -> Markup:
        ways = {"table": "Show actions", "raw": "Raw JSON", "": "Hide"}
        offered = [
            html('<button type="button" data-do="mode" data-value="{}">{}</button>', mode, label)
            for mode, label in ways.items()
            if mode != (self._mode or "")
        ]
        told = format_many(number, "line")
        if number >= ACTIONS_HELD:
            told = f"the first {told}"
        return html(
            '<div class="dx-head"><h4>Actions</h4><span class="dx-hint">{} of the log file</span>'
            "{}{}</div>",
            told,
            join(offered),
            EXPORT_BUTTONS if self._mode else NOTHING,
        )

    def _render_rows(self, page: list[dict[str, Any]]) -> Markup:
        rows = [_action_row(entry, self._line) for entry in page]
        table = render_table("Actions of the commit", ACTION_COLUMNS, rows)
        chosen = next((entry for entry in page if entry["line"] == self._line), None)
        return table + (_render_line(chosen) if chosen else NOTHING)


_WORDS = Words(
    label="Reading the commit",
    stopped="Stopped before the commit was read.",
    again="Read the commit",
)
_FILES_HEAD = html("<h4>Files touched</h4>")


def _render_offer(asked: OneCommit) -> Markup | None:
    if asked.is_free:
        return None
    return html(
        '<p class="dx-muted">The commit has many files, or does not say how many.</p>'
        '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="list" '
        'data-value="">List the files and actions</button></div>'
    )


def _render_files(_: OneCommit, frame: pa.Table, __: Pages) -> Markup:
    """The first files, each once: one that is removed and added again has another deletion
    vector."""
    held = f"first {format_many(frame.num_rows, 'line')}"
    is_cut = frame.num_rows >= ACTIONS_HELD
    kinds = frame["action"]
    is_file = pc.is_in(kinds, value_set=pa.array(["add", "remove", "cdc"]))
    files = frame.select(["action", "path", "size", "num_records"]).filter(is_file)
    if not files.num_rows:
        said = f"The {held} touch no file." if is_cut else "It touched no file."
        return html('<p class="dx-muted">{}</p>', said)
    paths = files["path"].unique()  # in the order of the lines
    first = paths.slice(0, FILES_SHOWN)
    entries: dict[str, dict[str, Any]] = {}
    for entry in read_records(files.filter(pc.is_in(files["path"], value_set=first))):
        path = str(entry["path"])
        before = entries.get(path)
        if before is not None and before["action"] != entry["action"]:
            known = entry if entry["action"] == "add" else before
            entries[path] = {**known, "action": "vector"}
        else:
            entries[path] = entry
    rows = [_file_row(one) for one in entries.values()]
    table = render_table("Files of the commit", FILE_COLUMNS, rows)
    left = len(paths) - len(first)
    if not left and not is_cut:
        return table
    more = format_many(left, "more file") + (f" of the {held}" if is_cut else "")
    return table + html('<p class="dx-muted">{}: show the actions.</p>', more)


_KINDS = {
    "add": ("added", "good"),
    "remove": ("removed", "gone"),
    "cdc": ("change data", "window"),
    "vector": ("deletion vector", "risk"),
}


def _file_row(entry: Mapping[str, Any]) -> Row:
    word, tone = _KINDS.get(str(entry["action"]), (str(entry["action"]), "none"))
    path = str(entry["path"])
    return Row(
        cells=(
            Cell(text=word, tone=tone),
            Cell(text=cut_path(path, 44), title=cut(path, 500)),
            _number_cell(entry["size"], format_bytes(entry["size"])),
            _number_cell(entry["num_records"], format_count(entry["num_records"])),
        )
    )


def _export(asked: OneCommit, frame: pa.Table) -> Export:
    names = ["line", "action", "path", "size", "num_records", "json", "file"]
    return Export.of(f"version-{asked.version}", frame.select(names))


def _action_row(entry: Mapping[str, Any], chosen: int | None) -> Row:
    what = str(entry["path"] or entry.get("summary") or "")
    return Row(
        action="line",
        value=str(entry["line"]),
        selected=entry["line"] == chosen,
        cells=(
            Cell(text=format_count(entry["line"])),
            Cell(text=cut(str(entry["action"]), 40)),
            Cell(text=cut_middle(what, 60), title=cut(what, 500)),
            _number_cell(entry["size"], format_bytes(entry["size"])),
            _number_cell(entry["num_records"], format_count(entry["num_records"])),
        ),
    )


def _number_cell(value: int | None, text: str) -> Cell:
    if value is None:
        return Cell(text="\N{EN DASH}", title=UNKNOWN, muted=True)
    return Cell(text=text, title=format_count(value))


def _render_line(entry: Mapping[str, Any]) -> Markup:
    pretty = _pretty(str(entry["json"]))
    place = f"{entry['file']}, line {entry['line']}"
    return html(
        '<p class="dx-evidence" data-reveal="{}"><code>{}</code></p>'
        '<pre tabindex="0" aria-label="JSON of the action">{}</pre>',
        place,
        place,
        pretty,
    )


def _render_raw(page: list[dict[str, Any]]) -> Markup:
    if not page:
        return render_notice(Notice(level="info", problem="The commit holds no line."))
    lines = "\n".join(str(entry["json"]) for entry in page)
    return html('<pre tabindex="0" aria-label="Raw lines of the log file">{}</pre>', lines)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text  # cut at the limit, or no JSON: shown as it is
