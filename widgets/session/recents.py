"""The tables that were opened lately, as they may be shown."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from explorer.storage.local_file import read_local_text

KEPT = 12


def state_file() -> Path:
    """Where a single user's recent tables are kept, by the platform's custom."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state"))
    return base / "delta-explorer" / "recent.json"


class Recents:
    """Newest first, each once. With a `file` they outlive the process."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._kept: list[str] = [] if file is None else _read(file)

    def list(self) -> tuple[str, ...]:
        """The tables, newest first."""
        return tuple(self._kept)

    def add(self, shown: str) -> None:
        """Remember a table; `shown` holds no secret."""
        earlier = self._kept if self._file is None else _read(self._file)
        self._kept = [shown, *(known for known in earlier if known != shown)][:KEPT]
        if self._file is not None:
            _write(self._file, self._kept)


def _read(file: Path) -> list[str]:
    try:
        kept = json.loads(read_local_text(file))
    except (OSError, ValueError):
        return []  # a list of conveniences: without it the page works just as well
    if not isinstance(kept, list):
        return []
    return [known for known in kept if isinstance(known, str)][:KEPT]


def _write(file: Path, kept: list[str]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".json")
        with os.fdopen(handle, "w", encoding="utf-8") as new:
            json.dump(kept, new)
        os.replace(name, file)
    except OSError:
        return  # a home that cannot be written keeps them for this process only
