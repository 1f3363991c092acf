"""What all open tables keep is bounded together, and their secrets stay where they are."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from explorer.maintenance.documents.state_folder import StateFolder
from tests.tables import PROTOCOL, LogFolder, add, metadata
from widgets.session.access import Access
from widgets.session.catalog import Offered
from widgets.session.maintenance import Consent, Maintenance
from widgets.session.operations import find_operation
from widgets.session.page_services import TABLES_KEPT, OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.runs import Runs
from widgets.session.table_summaries import TableSummaries
from widgets.session.work import InlineRunner

SECRET = "hunter2"


def make_table(place: Path, files: int = 200) -> str:
    log = LogFolder(place)
    stats = json.dumps({"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 2}})
    adds = [add(f"{number:06}.parquet", stats=stats) for number in range(files)]
    log.commit(0, [PROTOCOL, metadata(), *adds])
    log.commit(1, [add("newer.parquet", stats=stats)])
    log.checkpoint(0, [PROTOCOL, metadata(), *adds])
    return str(log.root)


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    return [make_table(tmp_path / f"table-{number}") for number in range(6)]


def test_tables_asked_longest_ago_give_back_what_they_keep(places: list[str]) -> None:
    one = OpenTables()
    service = one.open(places[0])
    assert service.read_rows(1).num_rows == 201
    size = service.held_bytes
    assert size > 0
    tables = OpenTables(most_bytes=3 * size)
    services = [tables.open(place) for place in places]
    for asked in services:
        asked.read_rows(1)
        asked.snapshot(1)
        assert tables.held_bytes <= 3 * size
    assert services[0].held_bytes == 0
    assert services[-1].held_bytes > 0
    # and answer as before
    assert services[0].read_rows(1).num_rows == 201


def test_one_table_alone_may_take_more(places: list[str]) -> None:
    tables = OpenTables(most_bytes=1)
    service = tables.open(places[0])
    service.read_rows(1)
    service.snapshot(1)
    assert service.held_bytes > 1
    assert service.snapshot(1) is service.snapshot(1)


def test_a_table_that_no_page_looks_at_any_more_is_given_up(places: list[str]) -> None:
    tables = OpenTables()
    gone = weakref.ref(tables.open(places[0]))
    for number in range(TABLES_KEPT):
        tables.open(places[1 + number % 5] + "/" * number)
    gc.collect()
    assert gone() is None
    assert tables.num_tables == TABLES_KEPT


@pytest.fixture
def remote() -> Iterator[str]:
    """A table on a store that takes any option."""
    files = fsspec.filesystem("memory")
    lines = [json.dumps(action) for action in (PROTOCOL, metadata(name="t"), add("a.parquet"))]
    files.pipe_file("/shelf/t/_delta_log/00000000000000000000.json", "\n".join(lines).encode())
    files.pipe_file("/shelf/t/a.parquet", b"x")
    yield "memory://shelf/t"
    files.rm("/shelf", recursive=True)


def services_of(
    target: str, tables: OpenTables, summaries: TableSummaries, state: StateFolder, **named: Any
) -> PageServices:
    return PageServices(
        runner=InlineRunner(),
        tables=tables,
        access=Access(),
        recents=Recents(state.place / "recent.json"),
        summaries=summaries,
        maintenance=Maintenance(is_unlocked=lambda: True, runs=Runs(), state=state, **named),
    )


def test_options_of_a_catalog_open_their_table_and_are_written_nowhere(
    remote: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Offered(target=remote, storage_options={"key": SECRET})
    summaries = TableSummaries([table])
    tables = OpenTables(options_of=summaries.options_of)
    services = services_of(
        remote, tables, summaries, StateFolder(tmp_path / "state"), person="anna"
    )
    service = services.open(remote)
    assert service.storage_options == {"key": SECRET}
    operation = find_operation("checkpoint")
    assert operation is not None
    plan = services.maintenance.plan(service, operation, {})
    services.maintenance.show(plan)
    run = services.maintenance.approve(service, Consent(digest=plan.digest))
    services.maintenance.begin(run, in_background=False)
    receipt: Any = run.outcome
    assert receipt.status == "completed"
    assert receipt.approved_by == "anna"
    services.recents.add(service.uri)
    written = b"".join(
        place.read_bytes() for place in (tmp_path / "state").rglob("*") if place.is_file()
    )
    assert b"memory://shelf/t" in written
    assert SECRET.encode() not in written
    for said in (repr(table), repr(service), repr(service.table), repr(plan), repr(receipt),
                 repr(services.choices()), caplog.text):  # fmt: skip
        assert SECRET not in said


def test_a_place_without_options_of_its_own_gets_none_of_another(
    remote: str, tmp_path: Path, places: list[str]
) -> None:
    summaries = TableSummaries([Offered(target=remote, storage_options={"key": SECRET})])
    tables = OpenTables(options_of=summaries.options_of)
    assert tables.open(places[0]).storage_options == {}


@pytest.mark.parametrize("read", [lambda service: service.read_rows(1)])
def test_a_table_that_was_given_back_is_read_again(
    places: list[str], read: Callable[[Any], Any]
) -> None:
    service = OpenTables().open(places[0])
    before = read(service)
    service.release()
    assert service.held_bytes == 0
    assert read(service) == before
