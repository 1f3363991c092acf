"""A table that verbs change, and how a test runs one on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove

DAY = 86_400

Answer = tuple[int, str, str]
Command = Callable[..., Answer]


def write_orders(place: Path, strays: Iterable[str]) -> LogFolder:
    """Three versions; `gone` was removed nine days ago, and strays of twenty days never belonged
    to it."""
    found = LogFolder(place)
    now = int(time.time())
    for name in ("live", "gone", *strays):
        (found.root / name).write_bytes(b"x" * 100)
        os.utime(found.root / name, (now - 20 * DAY, now - 20 * DAY))
    old = {"modificationTime": (now - 20 * DAY) * 1000}
    found.commit(0, [FEATURE_PROTOCOL, metadata(), add("live", **old), add("gone", **old)])
    removed = remove("gone", size=100, deletionTimestamp=(now - 9 * DAY) * 1000)
    found.commit(1, [removed])
    found.commit(2, [{"txn": {"appId": "a", "version": 1}}])
    for version, days in enumerate((20, 9, 8)):
        found.time(version, (now - days * DAY) * 1000)
    return found


def command_on(folder: LogFolder, state: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a verb on the table; exit code, standard output and standard error."""

    def call(verb: str, *arguments: str) -> Answer:
        uri = [] if verb in {"plans", "receipts"} else [str(folder.root)]
        code = run([verb, *uri, *arguments, "--state-dir", str(state)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
