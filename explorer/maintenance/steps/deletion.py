"""The step that deletes the files of a plan, some at a time.

Before each of them is deleted it is looked at once more: one that is no longer what was
planned (another size, or a newer time) stays. Between two batches the log is asked for
newer commits, the journal is written, and a wish to cancel is heard.

Commits go one after the other, oldest first, whatever the store: where it ends half-way, the
commits that are left follow each other, and no later plan has to refuse a gap.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import ConflictError, DeltaError, NotFoundError
from explorer.files.listed import is_in_other_table
from explorer.files.unkept import REMOVED
from explorer.log.actions.columns import bool_column, string_column
from explorer.maintenance.log_files.broken_checkpoints import check_still_broken
from explorer.maintenance.plan.file_list import of_action
from explorer.maintenance.plan.newer_commits import stale
from explorer.maintenance.plan.step_types import DeleteFiles
from explorer.maintenance.steps.context import Run, Tally
from explorer.maintenance.steps.files_coming_back import announced_until
from explorer.maintenance.steps.journal import Noted, render_tally
from explorer.protocol.filenames import LOG_FOLDER, LogFileKind, parse_log_file_name
from explorer.protocol.paths import is_absolute
from explorer.storage.concurrent_reads import MOST_CONCURRENT, map_concurrently
from explorer.storage.tree import leads_through_link

_BATCH = 1000
_BATCH_OF_COMMITS = 100
"""So that a wish to cancel is heard soon where each of them takes two requests."""

_Row = tuple[str, int | None, int | None]
"""Path, planned size in bytes, planned modification time in milliseconds."""

_Outcome = int | str | DeltaError | None
"""Bytes that are gone, why a file was left, what went wrong; None where nothing was tried."""


def delete_files(run: Run, step: DeleteFiles, tally: Tally, noted: Noted) -> None:
    """Delete what the plan's file list has under `delete`, from where the journal ends."""
    files = of_action(run.plan.files, "delete")
    _check_needs(run, step)
    check_still_broken(run.store, step.broken)
    until_ms = _until(run, step)
    for name, value in noted.counts.items():
        setattr(tally, name, value)
    tally.planned = files.num_rows
    tally.take_up(noted.exceptions)
    size = _BATCH_OF_COMMITS if any(map(_is_commit, _log_paths(files))) else _BATCH
    for start in range(noted.next, files.num_rows, size):
        run.watch.step(start, files.num_rows, step.reason)
        run.log.check_ahead()
        _delete_batch(run, files.slice(start, size), tally, until_ms)
        line = {"event": "batch", "step": step.id, "next": start + size}
        run.note({**line, **render_tally(tally)})
    # what came while the last of them went: no commit may say that all is well
    run.log.check_ahead()
    tally.result = {"num_deleted": tally.done}
    run.watch.step(files.num_rows, files.num_rows, step.reason)


def _check_needs(run: Run, step: DeleteFiles) -> None:
    """Raise `ConflictError` where a file that makes the others needless is gone."""
    for need in step.needs:
        try:
            size = run.store.stat(need.path).size
        except NotFoundError:
            size = None
        if size != need.size:
            raise stale(f"{need.path}, which stands for what is deleted, is not as it was.")


def _until(run: Run, step: DeleteFiles) -> int | None:
    """Until when files may be deleted, in milliseconds: as long as the start of the vacuum, an
    earlier step, is heeded; None where there is no such step."""
    if step.announced_by is None:
        return None
    return announced_until(run.store, run.version_of(step.announced_by))


def _delete_batch(run: Run, files: pa.Table, tally: Tally, until_ms: int | None) -> None:
    files = _without_other_tables(run, files, tally)
    rows: Sequence[_Row] = list(
        zip(
            files.column("path").to_pylist(),
            files.column("bytes").to_pylist(),
            files.column("modified").cast(pa.int64()).to_pylist(),
            strict=True,
        )
    )
    _delete_at_once(run, [row for row in rows if not _is_commit(row[0])], tally, until_ms)
    _delete_in_order(run, [row for row in rows if _is_commit(row[0])], tally)


def _without_other_tables(run: Run, files: pa.Table, tally: Tally) -> pa.Table:
    """Without those below a folder that became a table of its own after planning, unless this
    table's log says that it removed them."""
    known = pc.is_in(files.column("reason").cast(pa.string()), value_set=string_column([REMOVED]))
    paths = pc.if_else(known, "", files.column("path")).combine_chunks()
    folders = pc.dictionary_encode(pc.replace_substring_regex(paths, r"[^/]*$", ""))
    theirs = list(
        map_concurrently(
            run.store,
            lambda folder: not _leads_out(folder) and is_in_other_table(run.store, folder),
            folders.dictionary.to_pylist(),
        )
    )
    if not any(theirs):
        return files
    mask = bool_column(theirs).take(folders.indices)
    for path in files.column("path").filter(mask).to_pylist():
        _count(tally, path, "It lies below a folder that became a table of its own.")
    return files.filter(pc.invert(mask))


def _delete_at_once(run: Run, rows: Sequence[_Row], tally: Tally, until_ms: int | None) -> None:
    stopping = threading.Event()

    def delete(row: _Row) -> _Outcome:
        return None if stopping.is_set() else _delete(run, row, until_ms)

    first: DeltaError | None = None
    # to the end: what others were at when one failed is done, and counts
    for row, outcome in zip(rows, map_concurrently(run.store, delete, rows), strict=True):
        if isinstance(outcome, DeltaError):
            stopping.set()
            first = first or outcome
        _count(tally, row[0], outcome)
    if first is not None:
        raise first


def _delete_in_order(run: Run, rows: Sequence[_Row], tally: Tally) -> None:
    """One after the other, and none behind one that stays; raises what the store does, and
    `ConflictError` for a commit that is no longer what was planned."""
    left = iter(rows)
    while some := list(islice(left, MOST_CONCURRENT)):
        # to look is what may be done at once
        looks = list(map_concurrently(run.store, lambda row: _look(run, row), some))
        for (path, *_), found in zip(some, looks, strict=True):
            outcome = _remove(run, path, found) if isinstance(found, int) else found
            _count(tally, path, outcome)
            if isinstance(outcome, DeltaError):
                raise outcome
            if isinstance(outcome, str) and outcome != _GONE:
                raise stale(f"{path} is a commit that is no longer what was planned. {outcome}")


def _log_paths(files: pa.Table) -> Iterator[str]:
    paths = files.column("path")
    return iter(paths.filter(pc.starts_with(paths, f"{LOG_FOLDER}/")).to_pylist())


def _is_commit(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    parsed = parse_log_file_name(name) if folder == LOG_FOLDER else None
    return parsed is not None and parsed.kind is LogFileKind.COMMIT


def _count(tally: Tally, path: str, outcome: _Outcome) -> None:
    if isinstance(outcome, int):
        tally.done += 1
        tally.num_bytes += outcome
    elif isinstance(outcome, str):
        tally.note(path, "already gone" if outcome == _GONE else "refused", outcome)
    elif outcome is not None and not isinstance(outcome, ConflictError):
        tally.note(path, "failed", outcome.reason)


_GONE = "It was not there any more."


def _delete(run: Run, row: _Row, until_ms: int | None) -> int | str | DeltaError:
    """Delete one file: its size in bytes, why it was left, or what went wrong; a
    `ConflictError` where none may be deleted any more."""
    if until_ms is not None and run.clock() > until_ms:
        return stale("It began so long ago that a restore no longer waits for its end.")
    found = _look(run, row)
    return _remove(run, row[0], found) if isinstance(found, int) else found


def _look(run: Run, row: _Row) -> int | str | DeltaError:
    """The size of a file that may go, in bytes; else why it stays, or what went wrong."""
    path, size, modified = row
    if _leads_out(path) or leads_through_link(run.store, path):
        return "Its path leads out of the table."
    try:
        found = run.store.stat(path)
    except NotFoundError:
        return _GONE
    except DeltaError as error:
        return error
    if size is not None and found.size != size:
        return f"It has {found.size} bytes, and had {size} when the plan was made."
    # a listing may tell the time less finely
    if modified is not None and found.modified_ms // 1000 > modified // 1000 + 1:
        return "It was written again after the plan was made."
    return found.size


def _leads_out(path: str) -> bool:
    return is_absolute(path) or ".." in path.split("/")


def _remove(run: Run, path: str, size: int) -> int | str | DeltaError:
    try:
        run.store.delete(path)
    except NotFoundError:
        return _GONE
    except DeltaError as error:
        return error
    return size
