"""Which commits a transaction would have met, had it read a version."""

from __future__ import annotations

from dataclasses import dataclass

import explorer.inspect as look
from explorer.progress import Watch
from widgets.services.tables import TableService


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictAnswers:
    """What an operation would meet that changes the rows it read, and one that only adds."""

    change: look.ConflictCheck
    append: look.ConflictCheck


def read_conflicts(
    service: TableService, version: int, where: str, watch: Watch
) -> ConflictAnswers:
    """Hold every commit after `version` against both. Raises `InvalidArgumentError` for a
    condition that cannot be understood."""
    change, append = (
        look.check_conflicts(
            service.table,
            version,
            operation=operation,
            where=where or None,
            progress=watch.progress,
            cancel=watch.cancel,
        )
        for operation in ("change", "append")
    )
    return ConflictAnswers(change=change, append=append)
