"""Opening tables for one page: who may, with which options, and what was open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import explorer
from explorer.storage.location import parse_location
from explorer.table.table import Table
from widgets.services.access import Access
from widgets.services.maintenance import Maintenance
from widgets.services.recents import Recents
from widgets.services.tables import TableService
from widgets.services.work import Runner

TABLES_KEPT = 3
"""Of a million files each they would fill a small machine; more are opened anew."""


class Shelf:
    """Tables that this process has open, shared by its pages.

    The key is the whole place with its credentials, never the shown one: a page
    that does not bring the same credentials gets a table of its own.
    """

    def __init__(self, storage_options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(storage_options or {})
        self._services: OrderedDict[str, TableService] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, target: str) -> TableService:
        """The table at a place; raises `DeltaError` where none can be opened."""
        with self._lock:
            known = self._services.get(target)
            if known is not None:
                self._services.move_to_end(target)
                return known
        table = explorer.open_table(target, storage_options=self._options or None)
        service = TableService(table)
        with self._lock:
            self._services[target] = service
            while len(self._services) > TABLES_KEPT:
                self._services.popitem(last=False)
        return service


class Desk:
    """What one page works with."""

    def __init__(
        self,
        *,
        runner: Runner,
        shelf: Shelf,
        access: Access,
        recents: Recents,
        offered: tuple[str, ...] = (),
        maintenance: Maintenance | None = None,
    ) -> None:
        self.runner = runner
        self.recents = recents
        self.maintenance = maintenance or Maintenance()
        self._shelf = shelf
        self._access = access
        self._targets: dict[str, str] = {}
        self.offered = tuple(self._remember(uri) for uri in offered)

    def open(self, uri: str) -> TableService:
        """The table that a person typed, chose or linked to.

        Raises `DeltaError`. A place that was typed with credentials is found again
        by its shown form, on this page only.
        """
        target = self._targets.get(uri, uri)
        self._access.check(target)
        service = self._shelf.open(target)
        self._remember(target)
        return service

    def choices(self) -> tuple[str, ...]:
        """The tables to choose from: those served, then those opened lately."""
        return tuple(dict.fromkeys((*self.offered, *self.recents.list())))

    def _remember(self, target: str) -> str:
        shown = parse_location(target).shown
        self._targets[shown] = target
        return shown


def adopt(table: Table) -> TableService:
    """A table that someone has opened already."""
    return TableService(table)
