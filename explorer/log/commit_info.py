"""Provenance and time of commits (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from explorer.errors import CorruptLogError
from explorer.log.commit_file import lines_backwards, parse_action
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.storage.ports import ReadStore

# with in-commit timestamps `commitInfo` is the first line, and nearly every
# writer puts it there anyway; few are longer than this
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """The `commitInfo` of one version, as its writer made it; `body` is empty where
    the commit has none. `line` is 1-based."""

    version: int
    body: Mapping[str, Any]
    line: int | None

    @property
    def in_commit_ms(self) -> int | None:
        """The in-commit timestamp, in milliseconds since the epoch."""
        value = self.body.get("inCommitTimestamp")
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**62:
            return None
        return value


def read_commit_info(store: ReadStore, version: int) -> CommitInfo:
    """Read one commit's provenance: its head, or all of it where that is not enough.

    Raises `CorruptLogError` for a commit that cannot be parsed that far.
    """
    head = store.read(render_commit_path(version), _HEAD_BYTES)
    if (found := parse_head(head, version)) is not None:
        return found
    if len(head) < _HEAD_BYTES:
        return parse_commit_info(head, version)
    return parse_commit_info(store.read(render_commit_path(version)), version)


def parse_head(head: bytes, version: int) -> CommitInfo | None:
    """The provenance if the first line is whole and holds it, else None."""
    first, newline, _ = head.partition(b"\n")
    if not newline and len(head) >= _HEAD_BYTES:
        return None
    if b'"commitInfo"' not in first:
        return None
    body = parse_action(first, render_commit_name(version), 1).get("commitInfo")
    return CommitInfo(version=version, body=body, line=1) if isinstance(body, Mapping) else None


def parse_commit_info(data: bytes, version: int) -> CommitInfo:
    """The provenance among all lines of a commit."""
    name = render_commit_name(version)
    for number, line in lines_backwards(data):
        # `find` works on bytes; a view is only made for lines of very large files
        if b'"commitInfo"' not in bytes(line[:_HEAD_BYTES]):
            continue
        body = parse_action(line, name, number).get("commitInfo")
        if isinstance(body, Mapping):
            return CommitInfo(version=version, body=body, line=number)
    return CommitInfo(version=version, body={}, line=None)


def read_commit_infos(store: ReadStore, versions: Sequence[int]) -> Iterator[CommitInfo]:
    """The provenance of many commits; one that cannot be parsed has an empty body."""
    heads = store.read_many((render_commit_path(version) for version in versions), _HEAD_BYTES)
    for version, head in zip(versions, heads, strict=True):
        try:
            yield parse_head(head, version) or read_commit_info(store, version)
        except CorruptLogError:
            yield CommitInfo(version=version, body={}, line=None)


def monotonic(times_ms: Sequence[int]) -> list[int]:
    """Modification times of successive commits, each later than the one before it.

    A file system's clock may go back; as in the reference, a commit then counts
    as one millisecond after its predecessor.
    """
    adjusted: list[int] = []
    previous: int | None = None
    for time in times_ms:
        previous = time if previous is None or time > previous else previous + 1
        adjusted.append(previous)
    return adjusted
