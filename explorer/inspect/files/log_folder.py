"""What lies in the log folder, file by file (spec: File Types)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from explorer.errors import NotFoundError
from explorer.inspect.answer import LIMIT, Answer
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.log.folder.last_checkpoint import read_hint
from explorer.log.folder.listing import build_listing
from explorer.protocol.filenames import (
    LAST_CHECKPOINT,
    LOG_FOLDER,
    SIDECAR_FOLDER,
    STAGED_COMMIT_FOLDER,
    LogFileKind,
    LogFileName,
    meant_name,
    parse_log_file_name,
)
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import ObjectInfo, RangeStore, ReadStore, offers
from explorer.table.table import Table

SIDECAR = "sidecar"
STAGED_COMMIT = "staged commit"
FOREIGN = "foreign"

COLUMNS: dict[str, Column] = {
    "name": (string_column, pa.string()),
    "kind": (string_column, pa.string()),
    "version": (int64_column, pa.int64()),
    "size": (int64_column, pa.int64()),
    "modified": (time_column, TIME),
    "note": (string_column, pa.string()),
}

_Row = tuple[str, str, int | None, int, int, str | None]


def log_files(table: Table) -> pa.Table:
    """One row per file of the log folder and its two known subfolders, by name.

    - `name` below the log folder
    - `kind`: commit, checkpoint, checkpoint part, v2 checkpoint, sidecar,
      compaction, checksum, last_checkpoint, staged commit, or foreign: a file
      that is not part of the log and is ignored
    - `version`: the only, or for a compaction the first, version; else null
    - `size` in bytes, `modified` as the store says
    - `note`: what else the name or `_last_checkpoint` says, or null
    """
    store = table.store
    if offers(store, RangeStore):  # the listing of the log tells as much
        listing = table.listing()
        store = table.store_at(listing)
        found = sorted(listing.stored.values(), key=lambda info: info.name)
    else:
        found = store.list_folder(LOG_FOLDER)
    parts = map_concurrently(
        store,
        list,
        (
            _main_rows(store, found),
            _folder_rows(store, SIDECAR_FOLDER, SIDECAR),
            _folder_rows(store, STAGED_COMMIT_FOLDER, STAGED_COMMIT),
        ),
    )
    return build_frame(COLUMNS, [row for part in parts for row in part])


def _main_rows(store: ReadStore, found: Sequence[ObjectInfo]) -> Iterator[_Row]:
    incomplete = {
        name
        for checkpoint in build_listing(info.name for info in found).incomplete_checkpoints
        for name in checkpoint.names
    }
    for info in found:
        parsed = parse_log_file_name(info.name)
        note = _foreign_note(info.name) if parsed is None else _note(parsed)
        if info.name in incomplete:
            note = f"{note}; other parts are missing"
        if info.name == LAST_CHECKPOINT:
            note = _hint_note(store)
        kind = FOREIGN if parsed is None else parsed.kind.value
        yield _row(info.name, kind, None if parsed is None else parsed.version, info, note)


def _foreign_note(name: str) -> str:
    meant = meant_name(name)
    if meant is None:
        return "not part of the log"
    return (
        f"not part of the log without twenty digits; to delta-spark a {meant.kind.value} of "
        f"version {meant.version}"
    )


def _note(parsed: LogFileName) -> str | None:
    if parsed.kind is LogFileKind.CHECKPOINT_PART:
        return f"part {parsed.part} of {parsed.num_parts}"
    if parsed.kind is LogFileKind.COMPACTION:
        return f"versions {parsed.version} to {parsed.last_version}"
    return None


def _hint_note(store: ReadStore) -> str:
    version = read_hint(store).version
    return "not readable, and ignored" if version is None else f"points to version {version}"


def _folder_rows(store: ReadStore, folder: str, kind: str) -> Iterator[_Row]:
    try:
        found = store.list_folder(folder)
    except NotFoundError:
        return
    short = folder.removeprefix(f"{LOG_FOLDER}/")
    for info in found:
        yield _row(f"{short}/{info.name}", kind, _staged_version(kind, info.name), info, None)


def _staged_version(kind: str, name: str) -> int | None:
    digits = name[:20]
    if kind == STAGED_COMMIT and len(digits) == 20 and digits.isascii() and digits.isdigit():
        return int(digits) if int(digits) < 2**63 else None
    return None


def _row(name: str, kind: str, version: int | None, info: ObjectInfo, note: str | None) -> _Row:
    # a file name need not be UTF-8; Arrow's strings are
    shown = name.encode(errors="backslashreplace").decode()
    return (shown, kind, version, info.size, info.modified_ms, note)


_NEWEST_FIRST: Final = [("version", "descending"), ("name", "descending")]

LOG: Final = Answer(
    name="log",
    parameters=(LIMIT,),
    ask=lambda table, _: log_files(table).sort_by(_NEWEST_FIRST),
    documents=plain_rows,
    is_list=True,
)
