"""What the commits say about each version: whether the change feed was enabled, whether its
protocol is supported here, and which commits cannot be read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.errors import CorruptLogError, DeltaError
from explorer.inspect.commits.commit_lines import find_lines, read_commits, split_lines
from explorer.log.commits.commit_file import parse_action
from explorer.log.folder.listing import LogListing
from explorer.log.plain_arrays import Flags
from explorer.progress import Watch
from explorer.protocol.actions import Protocol, parse_protocol
from explorer.protocol.features.registry import obstacles_in_words, validate_reader
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.table_properties.known_properties import CHANGE_DATA_FEED
from explorer.table.feed_versions import feed_set_in
from explorer.table.table import Table

READ_AT_ONCE: Final = 1_000
"""More commits than these are only read on request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """What the commits say, one flag for each version: `feeds`, whether the change feed was
    enabled; `silent`, where they do not say; `refused`, whether this engine must refuse the
    protocol, with the reason for the newest such version in `refusal`. All are None where the
    commits were not read. `unreadable` are the versions of commits that cannot be read."""

    feeds: Flags | None
    silent: Flags | None = None
    refused: Flags | None = None
    refusal: str | None = None
    unreadable: tuple[int, ...] = ()


NO_COMMIT_FACTS: Final = CommitFacts(feeds=None)


def read_commit_facts(table: Table, listing: LogListing, opens: Flags, watch: Watch) -> CommitFacts:
    """Read each commit once; in a log of at most `READ_AT_ONCE` commits every line, so that
    malformed commits are found. `opens` says for each version whether it can be
    reconstructed."""
    commits = listing.commits
    checkpoints = {found.version for found in listing.checkpoints}
    feeds, silent, refused = (np.zeros(len(opens), np.bool_) for _ in range(3))
    refusal = None
    unreadable = []
    is_whole = len(commits) <= READ_AT_ONCE
    now = _InForce(is_on=False, why=None)
    if not commits or commits[0] > 0:
        now = _in_force_at(table, commits[0] if commits else None)
    for done, (version, data) in enumerate(
        zip(commits, read_commits(table.store, commits), strict=True)
    ):
        watch.step(done, len(commits), "Reading when the change feed was enabled")
        if isinstance(data, DeltaError):
            now.is_on = None
        else:
            try:
                _follow(now, data, version, is_whole=is_whole)
            except CorruptLogError:  # the log is shown with its malformed commit elsewhere
                unreadable.append(version)
                now.is_on = None
            else:
                if now.is_on is None and version in checkpoints:
                    now.is_on = _in_force_at(table, version).is_on
        feeds[version], refused[version] = bool(now.is_on), now.why is not None
        silent[version] = now.is_on is None
        refusal = now.why or refusal
    for version in (at for at in sorted(checkpoints.difference(commits)) if opens[at]):
        with suppress(DeltaError):  # its checkpoint alone is there, and may be broken
            why = why_refused(table.protocol(version))
            refused[version] = why is not None
            refusal = refusal or why
    return CommitFacts(
        feeds=feeds,
        silent=silent,
        refused=refused,
        refusal=refusal,
        unreadable=tuple(unreadable),
    )


@dataclass(slots=True, kw_only=True)
class _InForce:
    """Whether the change feed is enabled, None where that is unknown, and why this engine must not
    read the version."""

    is_on: bool | None
    why: str | None


def _in_force_at(table: Table, version: int | None) -> _InForce:
    """What holds at a version of which the commits before do not tell."""
    try:
        is_on = CHANGE_DATA_FEED.value_of(table.metadata(version).configuration)
        return _InForce(is_on=is_on, why=why_refused(table.protocol(version)))
    except DeltaError:
        return _InForce(is_on=None, why=None)


def _follow(now: _InForce, data: bytes, version: int, *, is_whole: bool) -> None:
    """Take in what a commit changes; raises `CorruptLogError` for one that cannot be read, which
    is only sure where every line is looked at (`is_whole`)."""
    name = render_commit_name(version)
    if is_whole:
        for number, line in split_lines(data):
            parse_action(line, name, number)
    for number, line in find_lines(data, b'"protocol"'):
        body = parse_action(line, name, number).get("protocol")
        if body is not None:
            now.why = why_refused(parse_protocol(body, f"{name}:{number}"))
    told = feed_set_in(name, data)
    now.is_on = now.is_on if told is None else told


def why_refused(protocol: Protocol | None) -> str | None:
    """Why this engine must not read a version with that protocol; None where it may."""
    problems = [] if protocol is None else validate_reader(protocol)
    if not problems:
        return None
    return f"What is refused needs what cannot be read here: {obstacles_in_words(problems)}."
