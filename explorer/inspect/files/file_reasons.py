"""Why a file is still here, and from when on it may be deleted (spec: Add File and Remove
File, Data Files, Deletion Vector File Storage Format, Change Data Files)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Set
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.files.kept import is_kept, kept_files, names_through_links
from explorer.files.listed import list_files
from explorer.files.store_paths import NOWHERE, data_places
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.files._file_mentions import Wanted, find_mentions
from explorer.inspect.files._log_file_reasons import reason_of_log_file
from explorer.inspect.files.file_judgement import (
    COLUMNS,
    FileFacts,
    FileReason,
    judge_file,
    moment_in_words,
)
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import build_frame
from explorer.log.actions.columns import string_column
from explorer.log.folder.listing import LogListing
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import LOG_FOLDER
from explorer.protocol.paths import decode_path, encode_path, is_absolute
from explorer.storage.ports import ObjectInfo, ReadStore, offers
from explorer.storage.tree import LinkStore
from explorer.table.retention import milliseconds, retention_floor
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import parse_now, utc_time


def why_here(
    table: Table,
    file: str,
    *,
    now: datetime | str | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> FileReason:
    """Why `file` is here: a path below the table's root, as it lies there or as the log has
    it, an absolute path, or the name alone of one file in any folder.

    All commits that are left are searched. Raises what `Table.snapshot` raises.
    """
    watch = Watch(progress=progress, cancel=cancel)
    now_ms = parse_now(now)
    name, info = _find(table, file)
    listing = table.listing()
    if name == LOG_FOLDER or name.startswith(f"{LOG_FOLDER}/"):
        return _in_log(table, name, info, listing, watch)
    snapshot = table.snapshot(progress=progress, cancel=cancel)
    wanted = Wanted(name=name, root=table.uri)
    if not wanted.tokens[0]:
        raise InvalidArgumentError(
            f"{file[:200]!r} is not a file name.",
            reason="There is nothing in it to search for.",
            remedy="Give a path below the table's folder, as `files` or `foreign` shows it.",
        )
    mentions = tuple(find_mentions(table.store, listing.commits, wanted, watch))
    live = _matching(snapshot.physical_files("add", ["path", "deletion_vector"]), wanted)
    every = snapshot.physical_files("remove", ["path", "deletion_vector", "deletion_timestamp"])
    as_numbers = every.column("deletion_timestamp").cast(pa.int64())
    removed = _matching(every.set_column(2, "deletion_timestamp", as_numbers), wanted)
    is_named = bool(live or removed or mentions)
    namesakes = () if is_named or info is not None else _namesakes(snapshot, every, {name, file})
    if len(namesakes) == 1:
        return why_here(table, namesakes[0], now=now, progress=progress, cancel=cancel)
    is_unknown = info is not None and not is_named
    look = FileFacts(
        snapshot=snapshot,
        listing=listing,
        wanted=wanted,
        info=info,
        mentions=mentions,
        live=live,
        removed=removed,
        is_behind_link=is_unknown and _is_behind_link(snapshot, name, now_ms, watch),
        now_ms=now_ms,
        namesakes=namesakes,
    )
    return judge_file(look)


def _namesakes(snapshot: Snapshot, removed: pa.Table, names: Set[str]) -> tuple[str, ...]:
    """The paths, as the log has them, of the files in other folders that have a bare name, as it
    lies there or as the log has it."""
    if any("/" in name for name in names):
        return ()
    forms = names | {encode_path(name) for name in names}
    found: set[str] = set()
    for files in (snapshot.physical_files("add", ["path"]), removed):
        paths = files.column("path")
        for form in forms:
            found.update(paths.filter(pc.ends_with(paths, f"/{form}")).to_pylist())
    return tuple(sorted(found))


def _is_behind_link(snapshot: Snapshot, name: str, now_ms: int, watch: Watch) -> bool:
    """Whether a link may lead to this file by the path of one that vacuum keeps."""
    if is_absolute(name) or not offers(snapshot.store, LinkStore):
        return False
    links = list_files(snapshot.store, watch).others
    cutoff_ms = now_ms - milliseconds(retention_floor(snapshot.metadata.configuration))
    names = kept_files(snapshot, cutoff_ms).places.names if links else NOWHERE.names
    led_to = names_through_links(snapshot.store, links, names)
    return bool(is_kept(pa.chunked_array([[name]], pa.string()), led_to)[0].as_py())


def _find(table: Table, file: str) -> tuple[str, ObjectInfo | None]:
    """The name below the root, and what the store says of it; an absolute path elsewhere
    stays as it is, and nobody looks there."""
    if is_absolute(file):
        places = data_places(string_column([file]), table.uri)
        inside = places.inside.to_pylist()
        names = list(dict.fromkeys(name for name in inside if name is not None))
        if not names:
            return file, None
    else:
        names = [file.removeprefix("./")]
        with contextlib.suppress(UnicodeDecodeError):
            names.append(decode_path(names[0]))
    if any(".." in name.split("/") for name in names):
        raise InvalidArgumentError(
            f"{file[:200]!r} leaves the table's folder.",
            reason="A part of it is `..`.",
            remedy="Give a path below the table's folder.",
        )
    for name in names:
        info = _stat(table.store, name)
        if info is not None:
            return name, info
    return names[-1], None


def _stat(store: ReadStore, name: str) -> ObjectInfo | None:
    try:
        return store.stat(name)
    except DeltaError:
        return None


def _matching(files: pa.Table, wanted: Wanted) -> list[dict[str, Any]]:
    """The rows that name the file, each with its role."""
    found = []
    for row in wanted.among(files).to_pylist():
        vector = row["deletion_vector"]
        stored = vector and {
            "storageType": vector["storage_type"],
            "pathOrInlineDv": vector["path_or_inline_dv"],
        }
        if wanted.is_data(row["path"]):
            found.append({**row, "role": "data"})
        elif wanted.is_vector(stored):
            found.append({**row, "role": "deletion vector"})
    return found


def _in_log(
    table: Table, name: str, info: ObjectInfo | None, listing: LogListing, watch: Watch
) -> FileReason:
    if info is None:
        kind, text, frees = "unknown", f"There is no file {name} in the log folder.", None
    else:
        found = reason_of_log_file(
            table.store, name, listing, table.metadata().configuration, watch
        )
        kind, frees = found.kind, found.deletable_from_ms
        text = f"{name} is a {kind}: {found.why}"
        text += f", from {moment_in_words(frees)}." if frees is not None else "."
    return FileReason(
        path=name,
        is_there=info is not None,
        size=None if info is None else info.size,
        modified=None if info is None else utc_time(info.modified_ms),
        kind=kind,
        sentence=text,
        versions=(),
        deletable_from=None if frees is None else utc_time(frees),
        reference_from=None if frees is None else utc_time(frees),
        evidence=build_frame(COLUMNS, []),
    )


def _ask(table: Table, progress: ProgressCallback | None, *, file: str) -> FileReason:
    return why_here(table, file, progress=progress)


def _documents(found: FileReason, limit: int | None) -> Iterator[Document]:
    yield {
        "path": found.path,
        "is_there": found.is_there,
        "size": found.size,
        "modified": found.modified,
        "kind": found.kind,
        "sentence": found.sentence,
        "versions": [list(pair) for pair in found.versions],
        "deletable_from": found.deletable_from,
        "reference_from": found.reference_from,
        "num_evidence": found.evidence.num_rows,
        "evidence": list(plain_rows(found.evidence, limit)),
    }


WHY: Final = Answer(
    name="why",
    parameters=(Parameter(name="file", kind="text", is_required=True), LIMIT),
    ask=_ask,
    documents=_documents,
    reads="files",
)
