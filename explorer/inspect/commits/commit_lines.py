"""The lines of a commit file from first to last (spec: Delta Log Entries)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from explorer.errors import CorruptLogError, DeltaError, NotFoundError
from explorer.log.commits.commit_file import holds_escapes, parse_action
from explorer.log.folder.listing import LogListing
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.storage.ports import ReadStore
from explorer.table.table import Table


def split_lines(data: bytes) -> Iterator[tuple[int, memoryview]]:
    """Number (1-based) and content of each line that holds something.

    The lines are views, so that a commit of 200 MB is not copied to be cut up.
    """
    view, size = memoryview(data), len(data)
    start, number = 0, 1
    while start < size:
        end = data.find(b"\n", start)
        if end < 0:
            end = size
        # the first bytes tell, unless a line begins with much white space
        if data[start : min(end, start + 64)].strip() or data[start:end].strip():
            yield number, view[start:end]
        start, number = end + 1, number + 1


def find_lines(data: bytes, word: bytes) -> Iterator[tuple[int, memoryview]]:
    """The lines that may hold `word`, which is printable ASCII, without cutting up the others:
    those that contain it, and those that write such characters as escapes."""
    if holds_escapes(data):
        for number, line in split_lines(data):
            if word in bytes(line) or holds_escapes(line):
                yield number, line
        return
    view, number, counted = memoryview(data), 1, 0
    found = data.find(word)
    while found >= 0:
        start = data.rfind(b"\n", 0, found) + 1
        end = data.find(b"\n", found)
        end = len(data) if end < 0 else end
        number += data.count(b"\n", counted, start)
        counted = start
        yield number, view[start:end]
        found = data.find(word, end)


def find_bodies(data: bytes, name: str, kinds: Sequence[str]) -> Iterator[tuple[int, str, Any]]:
    """The line, kind and body of every action of these kinds in a commit file called `name`, in
    their order; a line that is no action is left out."""
    lines: dict[int, memoryview] = {}
    for kind in kinds:
        lines |= dict(find_lines(data, f'"{kind}"'.encode()))
    for number in sorted(lines):
        try:
            action = parse_action(lines[number], name, number)
        except CorruptLogError:
            continue
        for kind in kinds:
            # the word may stand elsewhere, in a column's name perhaps
            if (body := action.get(kind)) is not None:
                yield number, kind, body


def read_commit(table: Table, version: int) -> tuple[str, bytes]:
    """Name and bytes of a commit file; `NotFoundError` (version_not_found) without it, which says
    what the log has in its place."""
    name = render_commit_name(version)
    try:
        return name, table.store.read(render_commit_path(version))
    except NotFoundError as error:
        reason, remedy = _why_gone(table.listing(), version, name)
        raise NotFoundError(
            f"The commit of version {version} is not in the log.",
            reason=reason,
            remedy=remedy,
            kind="version_not_found",
            spec="Delta Log Entries",
        ) from error


def _why_gone(listing: LogListing, version: int, name: str) -> tuple[str, str]:
    """Why a commit cannot be shown, and what can."""
    commits = listing.commits
    newest = max(commits[-1:] + tuple(one.version for one in listing.checkpoints), default=-1)
    if version > newest:
        return (
            f"There is no file {name}: the newest version of the log is {max(newest, 0)}.",
            f"Ask for a version up to {max(newest, 0)}.",
        )
    if any(one.version == version for one in listing.checkpoints):
        return (
            (
                f"Of version {version} only a checkpoint is left. It holds the state of the table, "
                "and not which of it this commit made: its actions are gone."
            ),
            f"Look at the state of version {version}, or at a commit that is still in the log.",
        )
    if any(one.first <= version <= one.last for one in listing.compactions):
        return (
            (
                f"Version {version} is part of a log compaction, which holds what a run of "
                "versions did together; the commit itself is gone."
            ),
            "Ask for a version that the list of log files shows as a commit.",
        )
    return (
        f"There is no file {name}: the log was cleaned up, or the file was lost.",
        f"The oldest commit that is left is version {commits[0]}."
        if commits
        else "Look at a version with a checkpoint.",
    )


def read_commits(store: ReadStore, versions: Iterable[int]) -> Iterator[bytes | DeltaError]:
    """The bytes of several commits, in order; where one cannot be read, why."""
    wanted = list(versions)
    while wanted:
        done = 0
        try:
            for data in store.read_many(render_commit_path(version) for version in wanted):
                done += 1
                yield data
            return
        except DeltaError as error:
            # the store stops at the first failure; the others may still be there
            yield error
            wanted = wanted[done + 1 :]
