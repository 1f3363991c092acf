"""The tables of the corpus, their manifest, and where each lies for a test."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from tests.conftest import CORPUS

_MANIFEST = CORPUS / "manifest.json"
TABLES: list[dict[str, Any]] = json.loads(_MANIFEST.read_text()) if _MANIFEST.is_file() else []
READABLE = [table for table in TABLES if table["expect"] == "ok"]
REFUSED = [table for table in TABLES if table["expect"] == "error"]


def table_name(table: dict[str, Any]) -> str:
    """The id of a table's test."""
    return str(table["name"])


def shared_table(table: dict[str, Any], scratch: Path) -> Path:
    """As `place_table`, for who changes nothing: an archive is unpacked once."""
    return _unpacked(table["archive"]) if "archive" in table else place_table(table, scratch)


@cache
def _unpacked(archive: str) -> Path:
    scratch = tempfile.mkdtemp(prefix="corpus-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return place_table({"archive": archive}, Path(scratch))


def place_table(table: dict[str, Any], scratch: Path) -> Path:
    """Where the table lies; a copy where the manifest asks for one."""
    if "archive" in table:
        with (
            pa.CompressedInputStream(pa.OSFile(str(CORPUS / table["archive"])), "zstd") as stream,
            tarfile.open(fileobj=stream, mode="r|") as archive,
        ):
            archive.extractall(scratch, filter="data")
        return next(scratch.rglob("_delta_log")).parent
    place: Path = CORPUS / "tables" / table["name"]
    if "template" not in table and "commit_timestamps_ms" not in table:
        return place
    copy = Path(shutil.copytree(place, scratch / table["name"]))
    if "template" in table:
        file = copy / table["template"]["file"]
        folder = quote(str(copy / "folder&with%special char"))
        file.write_text(file.read_text().replace(table["template"]["placeholder"], folder))
    for version, time_ms in table.get("commit_timestamps_ms", {}).items():
        os.utime(copy / f"_delta_log/{int(version):020}.json", (time_ms / 1000, time_ms / 1000))
    return copy
