r"""The same JSON with letters written as escapes: `{"\u0061dd": ...}` is `{"add": ...}`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_LETTER = re.compile(rb"\\u[0-9a-fA-F]{4}|\\.|[!-~]")


def with_escapes(text: bytes, strings: int, pick: Callable[[], bool] = lambda: True) -> bytes:
    """The same JSON; in its first `strings` strings, all for 0, each printable letter of ASCII
    for which `pick` says so is an escape. On a line of a log the first one names the action."""

    def escape(found: re.Match[bytes]) -> bytes:
        letter = found[0]
        return b"\\u%04x" % letter[0] if len(letter) == 1 and pick() else letter

    return _STRING.sub(lambda found: b'"%b"' % _LETTER.sub(escape, found[1]), text, count=strings)


def escape_commits(log: Path, strings: int) -> None:
    """Write each line of each commit of a log folder with escapes; its time stays."""
    for place in log.glob("0*.json"):
        time = place.stat().st_mtime_ns
        lines = place.read_bytes().splitlines(keepends=True)
        place.write_bytes(b"".join(with_escapes(line, strings) for line in lines))
        os.utime(place, ns=(time, time))
