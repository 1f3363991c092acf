"""The files of a version: a page at a time, sorted, filtered, one opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import explorer.inspect as look
from explorer.progress import Watch
from widgets.choices import LONGEST_FILTER, name_sort, read_sort
from widgets.markup import NOTHING, Markup, html
from widgets.screens.files._ask import (
    FREE_COMMITS,
    FileFacts,
    OneFile,
    Origin,
    read_facts,
    read_origin,
)
from widgets.screens.files.parts import (
    COLUMNS,
    EXPORTED,
    build_export_row,
    build_file_row,
    render_facts,
    render_origin,
    render_partition,
    render_statistics,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import FileQuery, TableService
from widgets.state import (
    PageState,
    Partition,
    name_partition,
    parse_list,
    parse_partition,
    parse_version,
    render_list,
)
from widgets.text import cut, format_count
from widgets.ui.boxes import build_card, build_split, close_side, open_side
from widgets.ui.copy_as import render_copy_as, view_commands
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS, convert
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_detail_head, render_problem_below
from widgets.ui.place_links import CELL_LINK, LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import render_above_list, render_pager, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

EVERY_FILE = 2**31
"""More than a version can hold."""

_SORTABLE = {column.key for column in COLUMNS if column.sortable}
_FIRST = ("path", False)
"""How files are sorted where nobody has asked for another order."""


@dataclass(frozen=True, slots=True)
class _Files:
    """A page of the files of a table."""

    service: TableService
    query: FileQuery


class FilesView:
    """Live files by the log; nothing of them is opened."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        table, detail = (
            Pane(self._render_table, export=_export),
            Pane(self._render_facts, head=_head),
        )
        origin, statistics = Pane(self._render_origin), Pane(_render_statistics)
        self._files = View(services, state, "files", _FILES, table)
        self._file = View(services, state, "files", _FILE, detail, statistics)
        request: Request[OneFile, Origin] = Request(
            question=self._found,
            read=lambda asked, watch, _: read_origin(asked, watch),
            words=_READING,
            follows=LINKED,
            offer=Offer(action="origin", render=_offer_origin),
        )
        self._origin = View(services, state, "files", request, origin, after=(self._file,))
        self._side = build_card(detail.live, origin.live, statistics.live, place="dx-beside")
        self.panel = build_split(build_card(self._files.top, table.live), self._side)
        self._fit_side()
        self._file.listen(self._fit_side)
        self._files.top.on("filter", self._set_filter)
        self._files.top.on("partition", lambda _: self._list(partition=None))
        table.live.on("page", self._turn)
        table.live.on("sort", self._sort)
        table.live.on("file", self._open)
        detail.live.on("close", lambda _: self._open(""))
        detail.live.on("vectors", lambda _: state.param.update(view="vectors"))
        origin.live.on("commit", self._open_commit)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._files.show(service)
        self._file.show(service)
        self._origin.show(service)

    def _found(self, *_: object) -> OneFile | None:
        """The selected file, where the version holds it."""
        facts = self._file.answer
        return None if facts is None or facts.entry is None else self._file.question

    def _open_commit(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            self._state.param.update(version=version, view="commit")

    def _render_facts(self, _: OneFile, facts: FileFacts, __: Pages) -> Markup:
        if facts.entry is None:
            return html('<p class="dx-muted">This version does not hold the file.</p>')
        shown, to = html("See the soft-deleted rows"), {"view": "vectors"}
        link = self._links.render("vectors", "", shown, to=to, attributes=CELL_LINK)
        return render_facts(facts.entry, facts.details, link)

    def _render_origin(self, _: OneFile, origin: Origin, __: Pages) -> Markup:
        version = origin.version
        if version is None:
            return render_origin(origin, NOTHING)
        shown = html("version {}", format_count(version))
        to = {"view": "commit", "version": version}
        link = self._links.render("commit", str(version), shown, to=to, attributes=CELL_LINK)
        return render_origin(origin, link)

    def _fit_side(self) -> None:
        fit = close_side if self._file.question is None else open_side
        fit(self.panel, self._side)

    def _set_filter(self, text: str) -> None:
        self._list(contains=text.strip()[:LONGEST_FILTER] or None)

    def _turn(self, offset: str) -> None:
        at = parse_version(offset)
        asked = self._files.question
        if at is not None and asked is not None:
            self._files.ask(replace(asked, query=replace(asked.query, offset=at)))

    def _sort(self, key: str) -> None:
        if key in _SORTABLE and self._files.question is not None:
            query = self._files.question.query
            # Names begin at A, numbers at the largest: what is looked for comes first.
            descending = not query.descending if key == query.sort_by else key != "path"
            self._list(sort_by=key, descending=descending)

    def _list(self, **other: Any) -> None:
        """List files as it is asked for; the address then says so."""
        asked = self._files.question
        if asked is None:
            return
        listed = replace(asked, query=replace(asked.query, offset=0, **other))
        self._files.ask(listed)
        self._files.top.html = _render_top(listed)
        self._state.files = _render_query(listed.query)

    def _open(self, path: str) -> None:
        self._state.file = "" if path == self._state.file else path

    def _render_table(self, asked: _Files, page: look.FilesPage, _: Pages) -> Markup:
        query = asked.query
        rows = self._links.rows(
            [build_file_row(entry, self._state.file) for entry in read_records(page.rows)],
            lambda path: {"file": path},
        )
        return html(
            "{}{}",
            render_above_list(
                render_copy_as("files", view_commands("files", asked.service.uri, query.version)),
                render_pager("files", query.offset, page.total),
            ),
            render_table(
                "Files of the version",
                COLUMNS,
                rows,
                sort=(query.sort_by, query.descending),
                empty="No file matches the filter."
                if query.contains or query.partition
                else "This version holds no files.",
            ),
        )


def _export(asked: _Files, _: look.FilesPage) -> Export:
    everything = replace(asked.query, offset=0, limit=EVERY_FILE)

    def read(watch: Watch) -> Iterator[pa.Table]:
        found = asked.service.read_files(everything, watch)
        return convert(found.rows, EXPORTED, build_export_row)

    return Export(stem=f"files-{everything.version}", read=read)


def _render_statistics(_: OneFile, facts: FileFacts, __: Pages) -> Markup:
    return NOTHING if facts.entry is None else render_statistics(facts.details)


def _offer_origin(asked: OneFile) -> Markup | None:
    """The commits of a short log are read without being asked for."""
    return None if asked.latest < FREE_COMMITS else _ORIGIN_OFFER


def _head(asked: OneFile, _: FileFacts | None) -> Markup:
    return render_detail_head(asked.path, html("<h3>File</h3>"))


def _render_top(asked: _Files) -> Markup:
    return html(
        '<div class="dx-head"><h3>Files of version {}</h3>'
        '<input type="search" data-do="filter" aria-label="Filter files" '
        'placeholder="Filter by path or partition value" value="{}">'
        "{}</div>{}",
        format_count(asked.query.version),
        asked.query.contains or "",
        EXPORT_BUTTONS,
        NOTHING if asked.query.partition is None else _render_partition(asked.query.partition),
    )


def _render_partition(partition: Partition) -> Markup:
    """Which partition the files are of, and a button that lists all."""
    name = cut(render_partition(dict(partition)), 300)
    return html(
        '<p class="dx-muted">Only files of the partition <code>{}</code> '
        '<button type="button" class="dx-cell-link" data-do="partition" data-value="">'
        "Show those of all partitions</button></p>",
        name,
    )


def _files(service: TableService, state: PageState) -> _Files | None:
    if state.version is None:
        return None
    wanted = parse_list("files", state.files)
    by, descending = read_sort(wanted, _SORTABLE, _FIRST)
    query = FileQuery(
        version=state.version,
        contains=wanted.get("text", "").strip()[:LONGEST_FILTER] or None,
        partition=parse_partition(wanted.get("partition", "")) or None,
        sort_by=by,
        descending=descending,
    )
    return _Files(service, query)


def _render_query(query: FileQuery) -> str:
    """Which files are listed, as it stands in an address; empty for all by their path."""
    sort = name_sort((query.sort_by, query.descending), _FIRST)
    partition = name_partition(dict(query.partition or ()))
    return render_list("files", {"text": query.contains or "", "partition": partition, **sort})


def _file(service: TableService, state: PageState) -> OneFile | None:
    """The file that the address names, whichever page of the table it is on."""
    if state.version is None or not state.file:
        return None
    latest = state.version if state.latest is None else state.latest
    return OneFile(service, state.version, state.file, latest)


_FILES: Request[_Files, look.FilesPage] = Request(
    question=_files,
    read=lambda asked, watch, _: asked.service.read_files(asked.query, watch),
    words=lambda asked: Words(
        label=f"Reading the files of version {format_count(asked.query.version)}",
        stopped="Stopped before the files were read.",
        again="Read the files",
    ),
    follows=LINKED,
    top=_render_top,
    failed=render_problem_below,
)
_FILE: Request[OneFile, FileFacts] = Request(
    question=_file,
    read=lambda asked, watch, _: read_facts(asked, watch),
    words=Words(
        label="Reading statistics",
        stopped="Stopped before the file was read.",
        again="Read the file",
    ),
    follows=LINKED,
)
_READING = Words(
    label="Reading the commits",
    stopped="Stopped before the commit was found.",
    again="Find the commit that wrote it",
)
_ORIGIN_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="origin" '
    'data-value="">Find the commit that wrote it</button></div>'
    '<p class="dx-muted">Every commit of the log is read for it.</p>'
)
