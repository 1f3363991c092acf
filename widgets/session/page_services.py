"""Opening tables for one page: who may, with which options, and what was open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakSet, ref

import explorer
from explorer.storage.location import parse_location
from explorer.table.table import Table
from widgets.session.access import Access
from widgets.session.maintenance import Maintenance
from widgets.session.recents import Recents
from widgets.session.table_summaries import TableSummaries
from widgets.session.tables import TableService
from widgets.session.work import Runner

TABLES_KEPT = 32
"""Tables that nobody looks at any more; what all of them hold is bounded in bytes besides."""

MOST_BYTES = 512 * 2**20
"""What is kept of all tables that are open: with a million files each, two of them."""


class OpenTables:
    """Tables that this process has open, shared by its pages.

    The key is the whole place with its credentials, never the shown one: a page
    that does not bring the same credentials gets a table of its own. `options_of` says
    what else a place is opened with. `within` are the places where logs may lead, besides
    below their own tables; None lets them lead anywhere.

    What is kept of them takes at most `most_bytes`, however many pages look at them: the
    tables that were asked longest ago give theirs back, and read again what is asked next.
    One table alone may take more.
    """

    def __init__(
        self,
        storage_options: Mapping[str, Any] | None = None,
        *,
        options_of: Callable[[str], Mapping[str, Any]] = lambda _: {},
        within: Callable[[], Sequence[str] | None] = lambda: None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._options = dict(storage_options or {})
        self._options_of = options_of
        self._within = within
        self._most_bytes = most_bytes
        self._services: OrderedDict[str, TableService] = OrderedDict()
        # those that a page looks at stay alive all the same, and count
        self._alive: WeakSet[TableService] = WeakSet()
        self._turns: dict[int, int] = {}
        self._turn = 0
        self._lock = threading.Lock()
        self._trimming = threading.Lock()

    def open(self, target: str) -> TableService:
        """The table at a place; raises `DeltaError` where none can be opened."""
        with self._lock:
            known = self._services.get(target)
            if known is not None:
                self._services.move_to_end(target)
                return known
        options = {**self._options, **self._options_of(target)}
        service = self._open(target, options)
        with self._lock:
            self._services[target] = service
            self._alive.add(service)
            while len(self._services) > TABLES_KEPT:
                self._services.popitem(last=False)
        return service

    @property
    def held_bytes(self) -> int:
        """What is kept of all tables that are open."""
        with self._lock:
            alive = list(self._alive)
        return sum(service.held_bytes for service in alive)

    @property
    def num_tables(self) -> int:
        """How many tables are open."""
        with self._lock:
            return len(self._alive)

    def _open(self, target: str, options: Mapping[str, Any]) -> TableService:
        within = self._within()
        known: dict[str, Any] = {} if within is None else {"within": within}
        table = explorer.open_table(target, storage_options=options or None, **known)
        service = TableService(
            table, storage_options=options, grown=lambda: self._trim(service_of())
        )
        service_of = ref(service)
        return service

    def _trim(self, asked: TableService | None) -> None:
        """Keep within the bound; the table that was just asked is the last to give."""
        if not self._trimming.acquire(blocking=False):
            return  # another thread is at it
        try:
            self._turn += 1
            with self._lock:
                alive = list(self._alive)
            self._turns = {id(one): self._turns.get(id(one), 0) for one in alive}
            self._turns[id(asked)] = self._turn
            sizes = [(service, service.held_bytes) for service in alive]
            total = sum(size for _, size in sizes)
            for service, size in sorted(sizes, key=lambda one: self._turns[id(one[0])]):
                if total <= self._most_bytes or service is asked:
                    break
                service.release()
                total -= size
        finally:
            self._trimming.release()


class PageServices:
    """What one page works with.

    `summaries` are those of the list of tables, None on a page that has no list; `looked_at` are
    those that whoever asks for JSON is told, of the only table too.
    """

    def __init__(  # noqa: PLR0913 - one of each
        self,
        *,
        runner: Runner,
        tables: OpenTables,
        access: Access,
        recents: Recents,
        offered: tuple[str, ...] = (),
        maintenance: Maintenance | None = None,
        summaries: TableSummaries | None = None,
        looked_at: TableSummaries | None = None,
    ) -> None:
        self.runner = runner
        self.recents = recents
        self.maintenance = maintenance or Maintenance()
        self.summaries = summaries
        self.looked_at = summaries if looked_at is None else looked_at
        self._tables = tables
        self._access = access
        self._targets: dict[str, str] = {}
        self._adopted: dict[str, TableService] = {}
        self.offered = tuple(self._remember(uri) for uri in offered)

    def open(self, uri: str) -> TableService:
        """The table that a person typed, chose or linked to.

        Raises `DeltaError`. A place that was typed with credentials is found again
        by its shown form, on this page only.
        """
        if uri in self._adopted:
            return self._adopted[uri]
        target = self._known_target(uri)
        self._access.check(target)
        service = self._tables.open(target)
        self._remember(target)
        return service

    def remember(self, place: str) -> str:
        """The form in which a place may be shown, by which `open` finds it on this page with what
        it was typed with. Nothing is opened; raises `DeltaError` for what names no place."""
        if place in self._adopted:
            return place
        # one that is known by its shown form keeps the credentials that it came with
        return self._remember(self._known_target(place))

    def adopt(self, table: Table) -> TableService:
        """A table that someone has opened already, with all that they opened it with: what is
        asked for by its place is this one from then on."""
        service = self._adopted[table.uri] = TableService(table)
        return service

    def choices(self) -> tuple[str, ...]:
        """The tables to choose from: those served, then those opened lately."""
        found = () if self.summaries is None else self.summaries.places()
        return tuple(dict.fromkeys((*self.offered, *found, *self.recents.list())))

    def _known_target(self, place: str) -> str:
        return self._targets.get(place) or self._catalogued(place) or place

    def _catalogued(self, shown: str) -> str | None:
        """The whole place of a table of the catalog, with what may not be shown."""
        return None if self.summaries is None else self.summaries.target_of(shown)

    def _remember(self, target: str) -> str:
        shown = parse_location(target).shown
        self._targets[shown] = target
        return shown
