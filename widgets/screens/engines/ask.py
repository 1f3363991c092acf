"""Which engines can read and write a version of a table, kept as it was answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import explorer.inspect as look
from widgets.session.tables import TableService


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAnswer:
    """The answer in a sentence, which may hold the table's own words, and a row for each
    release that matters, as `explorer.inspect.engines` gives them; the newest release of an
    engine comes before its older ones."""

    sentence: str
    rows: tuple[dict[str, Any], ...]

    @property
    def newest(self) -> list[dict[str, Any]]:
        """One row for each engine."""
        return [row for row in self.rows if row["newest"]]

    def releases(self, engine: str) -> list[dict[str, Any]]:
        """The rows of one engine, the newest release first."""
        return [row for row in self.rows if row["engine"] == engine]


def read_engines(service: TableService, version: int) -> EngineAnswer:
    """The answer for a version; of a table that a snapshot refuses too. Raises `DeltaError`."""
    frame = look.engines(service.table, version)
    return EngineAnswer(sentence=look.engines_sentence(frame), rows=tuple(frame.to_pylist()))
