"""The partition that is chosen of the list: its values, its files, what to do about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import explorer.inspect as look
from explorer.progress import Watch
from widgets.markup import Markup, html
from widgets.screens.layout._ask import read_partition
from widgets.screens.layout._partition_parts import (
    render_partition_commands,
    render_partition_facts,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import (
    PageState,
    Partition,
    name_partition,
    parse_list,
    parse_partition,
    render_list,
)
from widgets.ui.boxes import build_card
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_detail_head
from widgets.ui.place_links import CELL_LINK, LINKED, PlaceLinks
from widgets.ui.plan_navigation import open_plan_form
from widgets.ui.view import Pane, Request, View, Words


@dataclass(frozen=True, slots=True)
class _OnePartition:
    """A partition of a version, by its values."""

    service: TableService
    version: int
    values: Partition


def chosen_partition(state: PageState) -> Partition:
    """The values of the partition that the address names; empty where it names none."""
    return parse_partition(parse_list("layout", state.layout).get("partition", ""))


class PartitionPart:
    """The card of the chosen partition; hidden while none is."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        detail = Pane(self._render, head=_render_head)
        self._view = View(services, state, "layout", _PARTITION, detail)
        self.panel = build_card(detail.live, place="dx-beside")
        self.panel.visible = False
        self._view.listen(self._fit_card)
        detail.live.on("close", lambda _: self.choose(""))
        detail.live.on("files", self._list_files)
        detail.live.on("plan-request", partial(open_plan_form, state))

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._view.show(service)

    def choose(self, name: str) -> None:
        """Choose a partition as `name_partition` has it, or none where it is chosen already."""
        is_chosen = dict(parse_partition(name)) == dict(chosen_partition(self._state))
        self._state.layout = "" if is_chosen else render_list("layout", {"partition": name})

    def _fit_card(self) -> None:
        self.panel.visible = self._view.question is not None

    def _list_files(self, name: str) -> None:
        self._state.param.update(view="files", **_files_of(name))

    def _render(self, asked: _OnePartition, found: look.PartitionLayout, _: Pages) -> Markup:
        name = name_partition(found.partition)
        link = self._links.render(
            "files",
            name,
            html("List them"),
            to={"view": "files", **_files_of(name)},
            attributes=CELL_LINK,
        )
        return html(
            "{}{}",
            render_partition_facts(found, link),
            render_partition_commands(asked.service.uri, found),
        )


def _files_of(name: str) -> dict[str, str]:
    """What the page is told to list the files of a partition, none of them opened."""
    return {"files": render_list("files", {"partition": name}), "file": ""}


def _render_head(asked: _OnePartition, _: look.PartitionLayout | None) -> Markup:
    return render_detail_head(name_partition(dict(asked.values)), html("<h3>Partition</h3>"))


def _partition(service: TableService, state: PageState) -> _OnePartition | None:
    values = chosen_partition(state)
    if state.version is None or not values:
        return None
    return _OnePartition(service, state.version, values)


def _read(asked: _OnePartition, watch: Watch, _: object) -> look.PartitionLayout:
    return read_partition(asked.service, asked.version, dict(asked.values), watch)


_PARTITION: Request[_OnePartition, look.PartitionLayout] = Request(
    question=_partition,
    read=_read,
    words=Words(
        label="Reading the files of the partition",
        stopped="Stopped before the files of the partition were read.",
        again="Read the partition",
    ),
    follows=LINKED,
)
