"""Small commits, for building a log and for letting it grow while a table is open.

Free of pyarrow: this is loaded into the processes that are measured.
"""

from __future__ import annotations

import os

from benchmarks.actions import (
    START_MS,
    build_add,
    build_commit_info,
    build_remove,
    render_commit,
)


def write_commit(
    log: str | os.PathLike[str], version: int, first_file: int, removed: tuple[int, ...] = ()
) -> None:
    """One small commit that adds file number `first_file` and removes those named."""
    adds = [{"add": build_add(first_file)}]
    removes = [{"remove": build_remove(number, START_MS + version * 60_000)} for number in removed]
    info = {"commitInfo": build_commit_info(version, len(adds), len(removes))}
    with open(os.path.join(log, f"{version:020d}.json"), "xb") as file:
        file.write(render_commit(info, *adds, *removes))


def append_commits(table: str, latest: int, count: int) -> None:
    """Adds `count` small commits after version `latest`."""
    for version in range(latest + 1, latest + 1 + count):
        write_commit(os.path.join(table, "_delta_log"), version, 10_000_000 + version)
