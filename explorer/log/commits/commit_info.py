"""Provenance and time of commits (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import orjson

from explorer.cycle_collector import without_collector
from explorer.errors import CorruptLogError
from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.protocol.filenames import (
    LOG_FOLDER,
    render_commit_name,
    render_commit_names,
    render_commit_path,
)
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import HeadStore, ReadStore, offers

# with in-commit timestamps `commitInfo` is the first line, and nearly every
# writer puts it there anyway; few are longer than this
HEAD_BYTES = 4096
"""Bytes of a commit that are read at first."""

COMMITS_AT_A_TIME = 512
"""To read some and then to parse them is faster than to do both by turns, as long as they
stay close to the processor."""


class CommitInfo(NamedTuple):
    """The `commitInfo` of one version, as its writer made it; `body` is empty where
    the commit has none. `line` is 1-based."""

    version: int
    body: Mapping[str, Any]
    line: int | None

    @property
    def in_commit_ms(self) -> int | None:
        """The in-commit timestamp, in milliseconds since the epoch."""
        return in_commit_ms(self.body)


def in_commit_ms(body: Mapping[str, Any]) -> int | None:
    """The in-commit timestamp in a `commitInfo`, in milliseconds since the epoch."""
    value = body.get("inCommitTimestamp")
    # `type is`: true and false are integers to Python
    return value if type(value) is int and abs(value) < 2**62 else None


def text_in(body: Mapping[str, Any], name: str) -> str | None:
    """What an action says under a name; None where there is none, or what is there is not text."""
    value = body.get(name)
    return value if isinstance(value, str) else None


def read_commit_info(store: ReadStore, version: int) -> CommitInfo:
    """Read one commit's provenance: its head, or all of it where that is not enough.

    Raises `CorruptLogError` for a commit that cannot be parsed that far.
    """
    head = _head(store, version)
    if (body := _body_in_head(head, version)) is not None:
        return CommitInfo(version, body, 1)
    return _info_below(store, head, version)


def read_provenance(
    store: ReadStore, versions: Sequence[int]
) -> Iterator[tuple[Mapping[str, Any], int | None]]:
    """The `commitInfo` of many commits, empty where a commit has none or cannot be
    parsed, and the modification time of each, None where reading does not tell it."""
    if not offers(store, HeadStore):
        # what is not in a head is asked for by the thread that read the head
        bodies = map_concurrently(
            store, lambda version: read_body(store, _head(store, version), version), versions
        )
        yield from zip(bodies, repeat(None), strict=False)
        return
    for start in range(0, len(versions), COMMITS_AT_A_TIME):
        some = versions[start : start + COMMITS_AT_A_TIME]
        heads, times = store.read_heads(LOG_FOLDER, render_commit_names(some), HEAD_BYTES)
        with without_collector():
            found = [read_body(store, *pair) for pair in zip(heads, some, strict=True)]
        yield from zip(found, times, strict=True)


def _head(store: ReadStore, version: int) -> bytes:
    return store.read(render_commit_path(version), HEAD_BYTES)


def read_body(store: ReadStore, head: bytes, version: int) -> Mapping[str, Any]:
    """The `commitInfo` of a commit whose first `HEAD_BYTES` are `head`, read on where it is
    not among them; empty where the commit has none or cannot be parsed."""
    try:
        body = _body_in_head(head, version)
        return _info_below(store, head, version).body if body is None else body
    except CorruptLogError:
        return {}


def _body_in_head(head: bytes, version: int) -> Mapping[str, Any] | None:
    """The provenance if the first line is whole and holds it, else None."""
    end = head.find(b"\n")
    if end < 0 and len(head) >= HEAD_BYTES:
        return None
    first = head[:end] if end >= 0 else head
    if not may_name(first, "commitInfo"):
        return None
    try:
        body = orjson.loads(first)["commitInfo"]
    except (orjson.JSONDecodeError, LookupError, TypeError):
        body = parse_action(first, render_commit_name(version), 1).get("commitInfo")
    return body if type(body) is dict else None


def _info_below(store: ReadStore, head: bytes, version: int) -> CommitInfo:
    """The provenance, as it is not in the commit's first line."""
    whole = len(head) < HEAD_BYTES
    return parse_commit_info(head if whole else store.read(render_commit_path(version)), version)


def parse_commit_info(data: bytes, version: int) -> CommitInfo:
    """The provenance among all lines of a commit."""
    name = render_commit_name(version)
    for number, line in lines_reversed(data):
        if not may_name(line, "commitInfo"):
            continue
        body = parse_action(line, name, number).get("commitInfo")
        if type(body) is dict:
            return CommitInfo(version, body, number)
    return CommitInfo(version, {}, None)


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
