"""What restoring a version would do to the newest one: planned on demand, never executed."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.maintenance import Plan, Verdict
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.compare._ask import Pair, Settings, plan_restore
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import Notice, PageState
from widgets.text import cut, cut_path, format_bytes, format_count, visible
from widgets.ui.boxes import build_card
from widgets.ui.copy_as import command_line, python_line, render_copy_as, sql_name
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_definitions, render_notice, render_section
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

FILE_COLUMNS = (
    Column(key="action", label="What"),
    Column(key="path", label="File", mono=True),
    Column(key="bytes", label="Size", align="right"),
    Column(key="reason", label="Why", wraps=True),
)
_ACTIONS = {"add": "comes back", "remove": "leaves"}


@dataclass(frozen=True, slots=True)
class _Restore:
    """A version of a table that would be the newest one again."""

    service: TableService
    version: int


class RestorePart:
    """A card at the foot of the comparison, once both versions are open."""

    def __init__(
        self, services: PageServices, state: PageState, settings: View[Pair, Settings]
    ) -> None:
        def restore(*_: object) -> _Restore | None:
            pair = settings.question
            if pair is None or settings.answer is None or pair.other:
                return None
            return _Restore(pair.service, pair.older)

        request: Request[_Restore, Plan] = Request(
            question=restore,
            read=lambda asked, watch, _: plan_restore(asked.service, asked.version, watch),
            words=_WORDS,
            offer=Offer(action="plan", render=lambda _: _OFFER),
        )
        plan, files = Pane(_render_plan, head=_render_head), Pane(_render_files, noun="files")
        self.view = View(services, state, "compare", request, plan, files, after=(settings,))
        self.panel = build_card(plan.live, files.live)
        self.panel.visible = False
        self.view.listen(self._fit_card)

    def _fit_card(self) -> None:
        self.panel.visible = self.view.question is not None


def _render_head(asked: _Restore, _: Plan | None) -> Markup:
    return html("<h3>What restoring version {} would do</h3>", format_count(asked.version))


def _render_plan(asked: _Restore, plan: Plan, _: Pages) -> Markup:
    version, effect = asked.version, plan.effect
    pairs = [
        ("Rows removed", _rows(effect["rows_removed"], at_most=effect["rows_at_most"])),
        ("Rows returned", _rows(effect["rows_returned"], at_most=effect["rows_at_most"])),
        *(
            (label, cut(", ".join(effect[key]), 400))
            for label, key in _COLUMN_MOVES
            if effect[key]
        ),
        ("Comes back", _files_and_bytes(effect["files_added_again"],
                                        effect["bytes_added_again"])),
        ("Leaves", _files_and_bytes(effect["files_removed"], effect["bytes_removed"])),
        ("Schema and properties", "come back too" if effect["changes_metadata"]
         else "stay as they are"),
        ("Protocol", "stays as it is; it never gets lower"),
        ("Planned on", f"version {format_count(plan.anchor.version)}, the newest"),
        ("Undo", f"restore version {format_count(plan.anchor.version)}"),
    ]  # fmt: skip
    uri = asked.service.uri
    commands = {
        "CLI": command_line("restore", uri, ["--version", str(version)]),
        "Python": python_line(
            uri,
            f"from explorer import maintenance\nplan = maintenance.plan_restore(table, {version})",
        ),
        "Spark SQL": f"RESTORE TABLE {sql_name(uri)} TO VERSION AS OF {version}",
    }
    guards = [(verdict.guard, verdict.message) for verdict in plan.verdicts]
    return html(
        '<p class="dx-lead">{}</p>{}{}{}{}',
        visible(plan.summary),
        join(_render_verdict(verdict) for verdict in plan.verdicts),
        render_definitions(pairs),
        render_section("What was looked at", render_definitions(guards)),
        render_copy_as("restore", commands),
    )


def _render_files(_: _Restore, plan: Plan, pages: Pages) -> Markup:
    total = plan.files.num_rows
    rows = [_row(entry) for entry in read_records(plan.files.slice(*pages.span(total)))]
    table = render_table("Files of the plan", FILE_COLUMNS, rows, empty="No file is touched.")
    return table + pages.render(total)


def _render_verdict(verdict: Verdict) -> Markup:
    """What keeps the plan from being carried out, or should be known before."""
    if verdict.outcome == "allow":
        return NOTHING
    level = "error" if verdict.outcome == "refuse" else "warning"
    word = "It is refused" if verdict.outcome == "refuse" else "Take note"
    return render_notice(
        Notice(
            level=level,  # type: ignore[arg-type]
            problem=f"{word}: {cut(verdict.message, 600)}",
            remedy=cut(verdict.remedy, 600),
        )
    )


_COLUMN_MOVES = (
    ("Columns removed", "columns_removed"),
    ("Columns returned", "columns_returned"),
    ("Columns changed back", "columns_changed"),
)


def _rows(number: int | None, *, at_most: bool) -> str:
    if number is None:
        return "not known"
    return f"at most {format_count(number)}" if at_most and number else format_count(number)


def _files_and_bytes(files: int, size: int) -> str:
    return f"{format_count(files)} {'file' if files == 1 else 'files'}, {format_bytes(size)}"


def _row(entry: dict[str, object]) -> Row:
    path, size = str(entry["path"]), entry["bytes"]
    known = size if isinstance(size, int) else None
    return Row(
        cells=(
            Cell(text=_ACTIONS.get(str(entry["action"]), str(entry["action"]))),
            Cell(text=cut_path(path, 60), title=cut(path, 1000)),
            Cell(text=format_bytes(known), title=format_count(known)),
            Cell(text=cut(str(entry["reason"]), 200)),
        )
    )


_OFFER = html(
    "<p>Whether each file of that version is still there is looked up; "
    'nothing is changed.</p><div class="dx-buttons"><button type="button" '
    'class="dx-outlined" data-do="plan" data-value="">Show what it would do</button></div>'
)
_WORDS = Words(
    label="Looking at the files of both versions",
    stopped="Stopped before the files of both versions were looked at.",
    again="Show what it would do",
)
