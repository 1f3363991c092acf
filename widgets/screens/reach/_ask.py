"""How far versions reach back, why a file is still here, and what lies in the folder."""

from __future__ import annotations

import explorer.inspect as look
from explorer.progress import Watch
from widgets.session.tables import TableService


def read_reach(service: TableService, watch: Watch) -> look.Reachability:
    """What the log alone can say."""
    return look.reach_by_log(service.table, progress=watch.progress, cancel=watch.cancel)


def read_reach_of_files(service: TableService, watch: Watch) -> look.Reachability:
    """What every commit and a listing of the folder say."""
    return look.reach_by_files(service.table, progress=watch.progress, cancel=watch.cancel)


def read_file_reason(service: TableService, file: str, watch: Watch) -> look.FileReason:
    """Why one file is here; raises `InvalidArgumentError` for what can be no file."""
    return look.why_here(service.table, file, progress=watch.progress, cancel=watch.cancel)


def read_folder(service: TableService, watch: Watch) -> look.Folder:
    """Where the bytes of the folder go, and what no version knows."""
    return look.foreign_files(service.table, progress=watch.progress, cancel=watch.cancel)
