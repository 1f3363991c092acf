"""Which engines can read and write a version of a table, kept as it was answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import explorer.inspect as look
from explorer.errors import Problem
from widgets.session.asking import attempt_fact
from widgets.session.tables import TableService


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAnswer:
    """The answer in a sentence, which may hold the table's own words, and a row for each
    release that matters, as `explorer.inspect.engines` gives them; the newest release of an
    engine comes before its older ones. `used` has a row for each engine that wrote one of the
    newest commits, as `explorer.inspect.engines_in_use` gives them."""

    sentence: str
    rows: tuple[dict[str, Any], ...]
    used: tuple[dict[str, Any], ...] = ()

    @property
    def newest(self) -> list[dict[str, Any]]:
        """One row for each engine, those that wrote the newest commits first."""
        rank = {row["engine"]: at for at, row in enumerate(self.used)}
        found = [row for row in self.rows if row["newest"]]
        return sorted(found, key=lambda row: rank.get(row["engine"], len(self.used)))

    def commits_of(self, engine: str) -> int:
        """How many of the newest commits an engine wrote."""
        return sum(row["num_commits"] for row in self.used if row["engine"] == engine)

    def last_version_of(self, engine: str) -> int | None:
        """The newest version that it wrote, of the newest commits."""
        found = (row["last_version"] for row in self.used if row["engine"] == engine)
        return next(found, None)

    def releases(self, engine: str) -> list[dict[str, Any]]:
        """The rows of one engine, the newest release first."""
        return [row for row in self.rows if row["engine"] == engine]


def read_engines(service: TableService, version: int) -> EngineAnswer:
    """The answer for a version; of a table that a snapshot refuses too. Raises `DeltaError`."""
    frame = look.engines(service.table, version)
    used = attempt_fact(lambda: look.engines_in_use(service.table))
    return EngineAnswer(
        sentence=look.engines_sentence(frame),
        rows=tuple(frame.to_pylist()),
        used=() if isinstance(used, Problem) else tuple(used.to_pylist()),
    )
