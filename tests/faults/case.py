"""A case of bad input: how its place is built, and how opening it must end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explorer.errors import ErrorKind
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, Action, LogFolder, add, commit_name, metadata


@dataclass(frozen=True, kw_only=True)
class Refused:
    """One error: its kind, and words that its problem or reason must hold."""

    kind: ErrorKind
    words: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The right answer; `problem` is the kind of a problem that must be told."""

    files: int
    problem: ErrorKind | None = None
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """`build` makes the place and returns it."""

    name: str
    build: Callable[[Path], Path | str]
    ends: Refused | Answered
    at: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The id of the test."""
        return self.name


def three_versions(root: Path, protocol: Action = PROTOCOL) -> LogFolder:
    """A sound table: each of three versions adds one file."""
    log = LogFolder(root / "table")
    log.commit(0, [protocol, metadata(), add("a")])
    log.commit(1, [add("b")])
    log.commit(2, [add("c")])
    return log


def state_at_1(protocol: Action = PROTOCOL) -> list[Action]:
    """What a checkpoint of version 1 of `three_versions` holds."""
    return [protocol, metadata(), add("a"), add("b")]


def changed(change: Callable[[LogFolder], object]) -> Callable[[Path], Path]:
    """A table of three versions after `change`."""

    def build(root: Path) -> Path:
        log = three_versions(root, FEATURE_PROTOCOL)
        change(log)
        return log.root

    return build


def commit_2(data: bytes | str) -> Callable[[Path], Path]:
    return changed(lambda log: log.write(commit_name(2), data))


def drop(*versions: int) -> Callable[[Path], Path]:
    return changed(lambda log: [(log.log / commit_name(version)).unlink() for version in versions])
