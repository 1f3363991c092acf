"""Whether the log is sound, and what opening the table costs."""

from __future__ import annotations

from collections.abc import Callable

import explorer.inspect as look
from explorer.progress import Watch
from widgets.session.tables import TableService


def read_health(service: TableService, watch: Watch, tell: Callable[[str], None]) -> look.Health:
    """What the log alone can say; `tell` hears first what opening costs."""
    return look.log_health(service.table, tell=tell, progress=watch.progress, cancel=watch.cancel)


def read_health_of_files(service: TableService, watch: Watch) -> look.Health:
    """What the whole checkpoint and a listing of the folder say."""
    return look.files_health(service.table, progress=watch.progress, cancel=watch.cancel)
