"""A V2 checkpoint once more under the classic name, where clients that do not know V2 look.

They find the protocol in it and say that the table is too new for them, instead of taking a
log whose first commits are gone for a broken one (spec: Handling Backward compatibility while
moving to UUID-named v2 Checkpoints).
"""

from __future__ import annotations

import pyarrow as pa

from explorer.errors import UnsupportedError
from explorer.log.checkpoint.json_checkpoint import read_json_checkpoint
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.checkpoint_content.content import build_small_rows
from explorer.log.checkpoint_content.schema import (
    CHECKPOINT_ACTIONS,
    build_add_type,
    build_remove_type,
    build_top_schema,
)
from explorer.log.checkpoint_writing._checked_output import (
    CheckedFile,
    check_written,
    deleting_unless_done,
    open_checked_output,
)
from explorer.log.checkpoint_writing._checkpoint_check import Expected, check_reads_back
from explorer.log.checkpoint_writing._checkpoint_files import write_rows
from explorer.log.commits.commit_file import lines_reversed, parse_action
from explorer.log.folder.listing import CheckpointFiles
from explorer.log.reconcile.tail import EMPTY_TAIL
from explorer.log.state.key_cache import KeyCache
from explorer.log.state.reconciled_files import LogState
from explorer.progress import Watch
from explorer.protocol.commit_json import ActionLine
from explorer.protocol.filenames import LOG_FOLDER, render_classic_checkpoint_name
from explorer.storage.ports import ReadStore, WriteStore

_PIECE = 8 * 2**20


def write_classic_copy(store: WriteStore, files: CheckpointFiles, watch: Watch) -> CheckedFile:
    """Write `N.checkpoint.parquet` with the content of the V2 checkpoint `files`: a top level
    of Parquet byte by byte, the lines of one of JSON as rows. Sidecars are named by both.

    Raises `UnsupportedError` where a line fits into no columns, `CorruptLogError` where the
    store does not hold what was written, which is deleted again then.
    """
    path = f"{LOG_FOLDER}/{render_classic_checkpoint_name(files.version)}"
    source = f"{LOG_FOLDER}/{files.names[0]}"
    name = render_classic_checkpoint_name(files.version)
    copy = CheckpointFiles(version=files.version, kind="classic", names=(name,))
    with deleting_unless_done(store) as deleting:
        if source.endswith(".json"):
            lines = _read_lines(store, source)
            written = _write_lines(store, path, lines, watch)
            deleting(path)
            check_reads_back(store, copy, [written], _expected(store, files, lines))
        else:
            written = _copy_bytes(store, source, path)
            deleting(path)
            check_written(store, written)
            # what was read may have been torn as well
            read_checkpoint(store, copy)
    return written


def _copy_bytes(store: WriteStore, source: str, path: str) -> CheckedFile:
    with store.open_input(source) as file, open_checked_output(store, path) as sink:
        while piece := file.read(_PIECE):
            sink.write(piece)
        return sink.written(path)


def _read_lines(store: ReadStore, path: str) -> tuple[ActionLine, ...]:
    name = path.rpartition("/")[2]
    numbered = [*lines_reversed(read_json_checkpoint(store, path))]
    found = [parse_action(line, name, number) for number, line in reversed(numbered)]
    # what readers pass over has no column, and is kept where it stands
    return tuple(line for line in found if line.keys() <= CHECKPOINT_ACTIONS)


def _write_lines(
    store: WriteStore, path: str, lines: tuple[ActionLine, ...], watch: Watch
) -> CheckedFile:
    files = {"add": build_add_type((), with_stats=True), "remove": build_remove_type(())}
    schema = build_top_schema(lines, files)
    try:
        rows = build_small_rows(lines, schema)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise UnsupportedError(
            "The checkpoint cannot be written under the classic name.",
            reason=f"A value of its JSON fits into no column ({error}).",
            remedy="Write a new checkpoint, and report this to the writer of this one.",
            spec="Checkpoint Schema",
        ) from error
    return write_rows(store, path, schema, rows, (), watch).file


def _expected(store: ReadStore, files: CheckpointFiles, lines: tuple[ActionLine, ...]) -> Expected:
    state = LogState(store, read_checkpoint(store, files), EMPTY_TAIL, KeyCache(0))
    few = tuple(line for line in lines if not line.keys() & {"add", "remove"})
    return Expected(small=few, num_adds=state.count("add"), num_removes=state.count("remove"))
