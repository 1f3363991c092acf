"""Writing checkpoints (spec: Checkpoints, V2 Spec, Last Checkpoint File).

File actions go from the log into the checkpoint as columns, a row group at a time.
Everything is read back before `_last_checkpoint` points to it; what does not read back
is deleted, and the table is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa

from explorer.errors import InvalidArgumentError, NotFoundError
from explorer.log.checkpoint_content.content import (
    CheckpointContent,
    FileActionRows,
    build_small_lines,
    build_small_rows,
)
from explorer.log.checkpoint_content.expiry import tombstones_expire_at, unexpired_transactions
from explorer.log.checkpoint_content.file_rows import build_content_rows, build_state_rows
from explorer.log.checkpoint_content.schema import build_top_schema
from explorer.log.checkpoint_writing._checked_output import (
    CheckedFile,
    deleting_unless_done,
    open_checked_output,
)
from explorer.log.checkpoint_writing._checkpoint_check import Expected, check_reads_back
from explorer.log.checkpoint_writing._checkpoint_files import (
    ROWS_PER_GROUP,
    Piece,
    WrittenRows,
    pieces_of,
    write_rows,
)
from explorer.log.checkpoint_writing._last_checkpoint_writer import (
    MOST_REPEATED,
    build_checkpoint_schema,
    write_hint,
)
from explorer.log.checkpoint_writing.checkpoint_form import (
    CLASSIC,
    CheckpointForm,
    check_form,
    choose_form,
    depends_on_size,
    no_commit,
)
from explorer.log.folder.listing import CheckpointFiles
from explorer.log.load import LoadedVersion
from explorer.progress import UNWATCHED, Cancel, Watch
from explorer.protocol.commit_json import ActionLine, render_lines
from explorer.protocol.filenames import (
    LOG_FOLDER,
    SIDECAR_FOLDER,
    render_classic_checkpoint_name,
    render_commit_path,
    render_v2_checkpoint_name,
)
from explorer.protocol.last_checkpoint import EmbeddedCheckpoint, LastCheckpoint
from explorer.storage.ports import WriteStore


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCheckpoint:
    """A checkpoint that reads back: its files, the top level last, and what a hint says of
    it. `is_hinted` is False where the hint already names a newer one, and stays."""

    last: LastCheckpoint
    files: tuple[CheckedFile, ...]
    is_hinted: bool


def write_checkpoint(
    store: WriteStore,
    loaded: LoadedVersion,
    *,
    now: datetime,
    form: CheckpointForm | None = None,
    new_uuid: Callable[[], UUID] = uuid4,
    watch: Watch = UNWATCHED,
) -> WrittenCheckpoint:
    """Write a checkpoint of a loaded version, and the hint to it.

    `form` is that of `choose_form` where it is None. Tombstones and transactions that are
    expired at `now` (aware) are left out. V2 checkpoints and sidecars are named by
    `new_uuid`.

    Raises `InvalidArgumentError` where the version is not committed, or is read from the
    very file that would be replaced, `UnsupportedError` where the table has what no
    checkpoint can hold, `CorruptLogError` where the store does not hold what was written.
    """
    content = build_content(loaded, now)
    if form is None:
        form = _choose_form(loaded, content)
    _check_not_its_own_source(loaded, form)
    return _write(store, content, build_state_rows(loaded, content), form, new_uuid, watch)


def write_classic_checkpoint(
    store: WriteStore, content: CheckpointContent, *, cancel: Cancel | None = None
) -> LastCheckpoint:
    """Write `N.checkpoint.parquet` of a content that names its files itself, and the hint
    to it; raises like `write_checkpoint`."""
    rows, watch = build_content_rows(content), Watch(cancel=cancel)
    return _write(store, content, rows, CLASSIC, uuid4, watch).last


def build_content(loaded: LoadedVersion, now: datetime) -> CheckpointContent:
    """What a checkpoint of a loaded version holds at `now`, but its files."""
    version = loaded.segment.version
    protocol, metadata = loaded.small.required(version)
    configuration = metadata.configuration
    transactions = unexpired_transactions(loaded.small.transactions, configuration, now)
    return CheckpointContent(
        version=version,
        protocol=protocol,
        metadata=metadata,
        transactions=tuple(transactions.values()),
        domains=tuple(loaded.small.domains.values()),
        row_id_high_water_mark=loaded.small.row_id_high_water_mark,
        tombstones_after=tombstones_expire_at(configuration, now),
    )


def _choose_form(loaded: LoadedVersion, content: CheckpointContent) -> CheckpointForm:
    if not depends_on_size(content.protocol, content.metadata):  # counting has its price
        return CLASSIC
    num_actions = loaded.count("add") + loaded.count("remove")
    return choose_form(content.protocol, content.metadata, num_actions)


def _check_not_its_own_source(loaded: LoadedVersion, form: CheckpointForm) -> None:
    """A classic checkpoint that is read may be all that is left of its version."""
    name = render_classic_checkpoint_name(loaded.segment.version)
    held = loaded.segment.checkpoint
    if form.kind == "classic" and held is not None and name in held.names:
        raise InvalidArgumentError(
            f"Version {loaded.segment.version} has a checkpoint already.",
            reason=f"{name} is readable, and rewriting it would risk what it holds.",
            remedy="Write a checkpoint of a later version.",
            spec="Checkpoints",
        )


def _write(
    store: WriteStore,
    content: CheckpointContent,
    rows: FileActionRows,
    form: CheckpointForm,
    new_uuid: Callable[[], UUID],
    watch: Watch,
) -> WrittenCheckpoint:
    check_form(form, content.protocol)
    try:
        store.stat(render_commit_path(content.version))
    except NotFoundError as error:
        raise no_commit(content.version) from error
    job = _Job(store=store, version=content.version, form=form, new_uuid=new_uuid, watch=watch)
    lines = build_small_lines(content)
    with deleting_unless_done(store) as deleting:
        parts = (
            _write_one_file(job, lines, rows, deleting)
            if form.actions_per_sidecar is None
            else _write_with_sidecars(job, lines, rows, form.actions_per_sidecar, deleting)
        )
        name = parts.top.file.path.rpartition("/")[2]
        files = CheckpointFiles(version=content.version, kind=form.kind, names=(name,))
        check_reads_back(store, files, parts.files, _expected(parts, rows.count_adds))
    last = _build_hint(job, parts)
    # from here on the checkpoint counts, with or without a hint
    return WrittenCheckpoint(last=last, files=parts.files, is_hinted=write_hint(store, last))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    store: WriteStore
    version: int
    form: CheckpointForm
    new_uuid: Callable[[], UUID]
    watch: Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What was written: the top level with its actions that are few, and sidecars, each
    with the body of the action that names it. `schema` is None for a top level of JSON."""

    lines: tuple[ActionLine, ...]
    top: WrittenRows
    schema: pa.Schema | None
    sidecars: tuple[tuple[WrittenRows, Mapping[str, Any]], ...] = ()

    @property
    def all(self) -> tuple[WrittenRows, ...]:
        return (self.top, *(rows for rows, _ in self.sidecars))

    @property
    def files(self) -> tuple[CheckedFile, ...]:
        return tuple(rows.file for rows in self.all)


def _top_path(job: _Job) -> str:
    if job.form.kind == "classic":
        return f"{LOG_FOLDER}/{render_classic_checkpoint_name(job.version)}"
    name = render_v2_checkpoint_name(job.version, job.new_uuid(), job.form.top_level)
    return f"{LOG_FOLDER}/{name}"


def _top_lines(job: _Job, lines: Sequence[ActionLine]) -> list[ActionLine]:
    if job.form.kind == "classic":
        return [*lines]
    return [{"checkpointMetadata": {"version": job.version}}, *lines]


def _write_one_file(
    job: _Job, small: Sequence[ActionLine], rows: FileActionRows, deleting: Callable[[str], None]
) -> _Parts:
    lines, path = _top_lines(job, small), _top_path(job)
    schema = build_top_schema(lines, {"add": rows.add_type, "remove": rows.remove_type})
    first = build_small_rows(lines, schema)
    top = write_rows(job.store, path, schema, first, pieces_of(rows), job.watch)
    # not before: what another writer put under the same name is not ours to delete
    deleting(path)
    return _Parts(lines=tuple(lines), top=top, schema=schema)


def _write_with_sidecars(
    job: _Job,
    small: Sequence[ActionLine],
    rows: FileActionRows,
    actions_per_sidecar: int,
    deleting: Callable[[str], None],
) -> _Parts:
    kinds = {"add": rows.add_type, "remove": rows.remove_type}
    schema, sidecars = pa.schema(kinds), []
    pieces = pieces_of(rows, min(ROWS_PER_GROUP, actions_per_sidecar))
    for some in _in_files(pieces, actions_per_sidecar):
        name = f"{job.new_uuid()}.parquet"
        path = f"{SIDECAR_FOLDER}/{name}"
        deleting(path)
        written = write_rows(job.store, path, schema, None, some, job.watch)
        modified = job.store.stat(path).modified_ms
        body = {"path": name, "sizeInBytes": written.file.size, "modificationTime": modified}
        sidecars.append((written, body))
    lines, path = _top_lines(job, small), _top_path(job)
    every = [*lines, *({"sidecar": body} for _, body in sidecars)]
    deleting(path)
    if job.form.top_level == "json":
        top_schema, top = None, _write_json(job.store, path, every)
    else:
        top_schema = build_top_schema(every, kinds)
        first = build_small_rows(every, top_schema)
        top = write_rows(job.store, path, top_schema, first, (), job.watch)
    return _Parts(lines=tuple(lines), top=top, schema=top_schema, sidecars=tuple(sidecars))


def _in_files(pieces: Iterator[Piece], most: int) -> Iterator[Iterator[Piece]]:
    """Runs of pieces with at most `most` rows each; a run is gone through before the next."""
    waiting = next(pieces, None)

    def run() -> Iterator[Piece]:
        nonlocal waiting
        count = 0
        while waiting is not None and count + len(waiting.rows) <= most:
            count += len(waiting.rows)
            yield waiting
            waiting = next(pieces, None)

    while waiting is not None:
        yield run()


def _write_json(store: WriteStore, path: str, lines: Sequence[ActionLine]) -> WrittenRows:
    with open_checked_output(store, path) as sink:
        sink.write(render_lines(lines))
        written = sink.written(path)
    return WrittenRows(file=written, num_rows=len(lines), num_adds=0)


def _expected(parts: _Parts, count_adds: Callable[[], int] | None) -> Expected:
    """What must be found; live files as many as there are by their keys."""
    few = len(parts.lines) + len(parts.sidecars)
    written_adds = sum(rows.num_adds for rows in parts.all)
    return Expected(
        small=parts.lines,
        num_adds=written_adds if count_adds is None else count_adds(),
        num_removes=sum(rows.num_rows for rows in parts.all) - few - written_adds,
    )


def _build_hint(job: _Job, parts: _Parts) -> LastCheckpoint:
    last = LastCheckpoint(
        version=job.version,
        size=sum(rows.num_rows for rows in parts.all),
        size_in_bytes=sum(file.size for file in parts.files),
        num_of_add_files=sum(rows.num_adds for rows in parts.all),
        checkpoint_schema=None if parts.schema is None else build_checkpoint_schema(parts.schema),
    )
    if job.form.kind == "classic":
        return last
    path, bodies = parts.top.file.path, tuple(body for _, body in parts.sidecars)
    embedded = EmbeddedCheckpoint(
        path=path.rpartition("/")[2],
        size_in_bytes=parts.top.file.size,
        modification_time=job.store.stat(path).modified_ms,
        non_file_actions=parts.lines if len(parts.lines) <= MOST_REPEATED else None,
        sidecar_files=bodies if len(bodies) <= MOST_REPEATED else None,
    )
    return replace(last, embedded=embedded)
