"""A table that vacuum has something to do in, by the clock of this machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import explorer
from tests.tables import PROTOCOL, Action, LogFolder, add, metadata, remove
from widgets.session.tables import TableService

DAY_MS = 86_400_000


def days_ago(days: float) -> int:
    return int(time.time() * 1000 - days * DAY_MS)


class Orders:
    """A table called orders with files that vacuum may delete."""

    def __init__(self, scratch: Path, name: str = "orders", gone: int = 30) -> None:
        self.log = LogFolder(scratch / name)
        self.root = self.log.root
        self.gone = [f"gone-{number:04}.parquet" for number in range(gone)]
        files = [self._file(path) for path in ("live.parquet", *self.gone)]
        self.commit(0, [PROTOCOL, metadata(name=name), *files], days=40)
        removed = [remove(path, deletionTimestamp=days_ago(9), size=100) for path in self.gone]
        self.commit(1, removed, days=9)

    def _file(self, path: str) -> Action:
        place = self.root / path
        place.write_bytes(b"x" * 100)
        moment = days_ago(40) / 1000
        os.utime(place, (moment, moment))
        return add(path, modificationTime=days_ago(40))

    def commit(self, version: int, actions: list[Action], days: float) -> None:
        self.log.commit(version, actions)
        self.log.time(version, days_ago(days))

    @property
    def left(self) -> int:
        """How many of the files that may go are there."""
        return sum((self.root / path).exists() for path in self.gone)

    @property
    def service(self) -> TableService:
        return TableService(explorer.open_table(self.root))
