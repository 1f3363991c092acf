"""Writes logs of known size; the same request gives the same log.

A log has no data files: nothing that is measured here opens one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.actions import (
    START_MS,
    build_add,
    build_commit_info,
    build_metadata,
    build_parsed_stats,
    build_protocol,
    build_remove,
    build_uuid,
    render_commit,
)
from benchmarks.compared import FIRST_CHECKPOINT, SECOND_CHECKPOINT, THIRD_CHECKPOINT
from benchmarks.growth import write_commit
from benchmarks.log_schemas import CLASSIC, FILE_ACTIONS, V2, WITH_STRUCTS
from explorer.protocol.vectors.deletion_vectors import (
    render_relative_place,
    render_vector,
    render_vector_file,
)

# Part of a table's folder name: raise it when what is generated changes.
GENERATION = 1

TAIL_COMMITS = 10
SIDECARS = 10
PARTS = 10
_ROWS_AT_ONCE = 250_000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """A log to be measured: its name, and what writes it into an empty log folder."""

    name: str
    write: Callable[[Path], None]


def small() -> LogRequest:
    """Five commits: the cost of starting."""
    return LogRequest(name="small", write=lambda log: _write_commits(log, 5))


def commits(count: int) -> LogRequest:
    """`count` small commits and no checkpoint."""
    return LogRequest(name=f"commits-{count}", write=lambda log: _write_commits(log, count))


def classic(files: int) -> LogRequest:
    """One classic checkpoint of `files` files and a tail of commits."""
    return LogRequest(name=f"classic-{files}", write=lambda log: _write_classic(log, files))


def multi_part(files: int) -> LogRequest:
    """One checkpoint in ten parts of together `files` files, and the same tail."""
    return LogRequest(name=f"parts-{files}", write=lambda log: _write_parts(log, files))


def large_commits(count: int, actions: int) -> LogRequest:
    """`count` commits of `actions` adds each and no checkpoint."""
    return LogRequest(
        name=f"large-{count}-{actions}", write=lambda log: _write_large(log, count, actions)
    )


def vectors(count: int, rows: int) -> LogRequest:
    """`count` files of `rows` rows each, every tenth row of them hidden by a deletion vector."""
    return LogRequest(
        name=f"vectors-{count}-{rows}", write=lambda log: _write_vectors(log, count, rows)
    )


def sidecars(files: int) -> LogRequest:
    """One V2 checkpoint with ten sidecars of together `files` files, and the same tail."""
    return LogRequest(name=f"sidecars-{files}", write=lambda log: _write_sidecars(log, files))


def with_structs(files: int) -> LogRequest:
    """The checkpoint of `classic` with `stats_parsed` beside the JSON, and the same tail."""
    return LogRequest(name=f"structs-{files}", write=lambda log: _write_structs(log, files))


def checkpoints(files: int) -> LogRequest:
    """Three classic checkpoints of about `files` files each. The commits after the first
    end after ten, so that versions on it can be compared with later ones only file by file;
    those from the second on are all there, ten of them after the third."""
    return LogRequest(name=f"checkpoints-{files}", write=lambda log: _write_checkpoints(log, files))


def write_table(folder: Path, request: LogRequest) -> Path:
    """The table that `request` describes, below `folder`; written only if it is not there."""
    table = folder / f"{request.name}-g{GENERATION}"
    if table.is_dir():
        return table
    # A name of its own until it is whole: an interrupted run leaves no half table.
    unfinished = folder / f"{request.name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    log = unfinished / "_delta_log"
    log.mkdir(parents=True)
    request.write(log)
    unfinished.rename(table)
    return table


def _write_commits(log: Path, count: int) -> None:
    first = [{"protocol": build_protocol()}, {"metaData": build_metadata()}]
    info = {"commitInfo": build_commit_info(0, 0, 0)}
    (log / f"{0:020d}.json").write_bytes(render_commit(info, *first))
    for version in range(1, count):
        # Every fifth commit is a rewrite of the file that the one before it added.
        removed = (version - 1,) if version % 5 == 0 else ()
        write_commit(log, version, version, removed)


def _write_tail(log: Path, files: int) -> None:
    """Commits after the checkpoint: each adds one file and removes two of the checkpoint's."""
    for step in range(1, TAIL_COMMITS + 1):
        removed = (step * 11 % files, files - step)
        write_commit(log, FIRST_CHECKPOINT + step, 2 * files + step, removed)


def _write_classic(log: Path, files: int) -> None:
    head = _head(build_protocol())
    removes = range(files, files + files // 100)
    rows = _chain(head, _adds(range(files)), _removes(removes))
    _write_checkpoint(log, FIRST_CHECKPOINT, rows, CLASSIC)
    write_commit(log, FIRST_CHECKPOINT, 0)
    _write_hint(log, len(head) + files + len(removes))
    _write_tail(log, files)


def _write_structs(log: Path, files: int) -> None:
    head = _head(build_protocol())
    adds = (
        {"add": {**build_add(number), "stats_parsed": build_parsed_stats(number)}}
        for number in range(files)
    )
    _write_checkpoint(log, FIRST_CHECKPOINT, _chain(head, adds), WITH_STRUCTS)
    write_commit(log, FIRST_CHECKPOINT, 0)
    _write_hint(log, len(head) + files)
    _write_tail(log, files)


def _write_checkpoints(log: Path, files: int) -> None:
    """Of the commits after the first checkpoint only the tail is left, as after a cleanup that
    was cut short; between the other two all are there."""
    head = _head(build_protocol())
    _write_checkpoint(log, FIRST_CHECKPOINT, _chain(head, _adds(range(files))), CLASSIC)
    write_commit(log, FIRST_CHECKPOINT, 0)
    _write_tail(log, files)

    live = dict.fromkeys(range(files // 100, files + files // 50))
    _write_checkpoint(log, SECOND_CHECKPOINT, _chain(head, _adds(live)), CLASSIC)
    write_commit(log, SECOND_CHECKPOINT, files // 100)
    tombstones: list[int] = []
    for step in range(1, 2 * TAIL_COMMITS + 1):
        added, removed = 3 * files + step, (files // 2 + step, files // 2 - step)
        write_commit(log, SECOND_CHECKPOINT + step, added, removed)
        live[added] = None
        for number in removed:
            del live[number]
        tombstones += removed
        if SECOND_CHECKPOINT + step == THIRD_CHECKPOINT:
            rows = _chain(head, _adds(live), _removes(tombstones))
            _write_checkpoint(log, THIRD_CHECKPOINT, rows, CLASSIC)
            _write_hint(log, len(head) + len(live) + len(tombstones), THIRD_CHECKPOINT)


def _write_checkpoint(log: Path, version: int, rows: Iterator[Row], schema: pa.Schema) -> None:
    name = f"{version:020d}.checkpoint.parquet"
    with pq.ParquetWriter(log / name, schema, compression="snappy") as writer:
        for group in _in_groups(rows):
            writer.write_table(pa.Table.from_pylist(group, schema))


def _write_sidecars(log: Path, files: int) -> None:
    (log / "_sidecars").mkdir()
    each = files // SIDECARS
    top = _head(build_protocol("v2Checkpoint"))
    top.append({"checkpointMetadata": {"version": FIRST_CHECKPOINT}})
    for number in range(SIDECARS):
        name = f"{build_uuid(number + 1_000)}.parquet"
        path = log / "_sidecars" / name
        adds = _adds(range(number * each, (number + 1) * each))
        with pq.ParquetWriter(path, FILE_ACTIONS, compression="snappy") as writer:
            for rows in _in_groups(adds):
                writer.write_table(pa.Table.from_pylist(rows, FILE_ACTIONS))
        size = path.stat().st_size
        sidecar = {"path": name, "sizeInBytes": size, "modificationTime": START_MS}
        top.append({"sidecar": sidecar})
    name = f"{FIRST_CHECKPOINT:020d}.checkpoint.{build_uuid(999)}.parquet"
    pq.write_table(pa.Table.from_pylist(top, V2), log / name, compression="snappy")
    write_commit(log, FIRST_CHECKPOINT, 0)
    _write_tail(log, files)


def _write_parts(log: Path, files: int) -> None:
    each = files // PARTS
    stem = f"{FIRST_CHECKPOINT:020d}.checkpoint"
    for number in range(PARTS):
        head = _head(build_protocol()) if number == 0 else []
        adds = _adds(range(number * each, (number + 1) * each))
        path = log / f"{stem}.{number + 1:010d}.{PARTS:010d}.parquet"
        with pq.ParquetWriter(path, CLASSIC, compression="snappy") as writer:
            for rows in _in_groups(_chain(head, adds)):
                writer.write_table(pa.Table.from_pylist(rows, CLASSIC))
    write_commit(log, FIRST_CHECKPOINT, 0)
    _write_tail(log, files)


def _write_large(log: Path, count: int, actions: int) -> None:
    _write_commits(log, 1)
    for version in range(1, count):
        first = version * actions
        adds = [{"add": build_add(number)} for number in range(first, first + actions)]
        info = {"commitInfo": build_commit_info(version, actions, 0)}
        (log / f"{version:020d}.json").write_bytes(render_commit(info, *adds))


def _write_vectors(log: Path, count: int, rows: int) -> None:
    head = [{"protocol": build_protocol("deletionVectors")}, {"metaData": build_metadata()}]
    hidden = [render_vector(_hidden_rows(number, rows)) for number in range(count)]
    unique = UUID(build_uuid(7_000))
    content, offsets = render_vector_file(hidden)
    (log.parent / f"deletion_vector_{unique}.bin").write_bytes(content)
    adds: list[dict[str, Any]] = []
    for number in range(count):
        vector = {
            "storageType": "u",
            "pathOrInlineDv": render_relative_place(unique),
            "offset": offsets[number],
            "sizeInBytes": len(hidden[number]),
            "cardinality": len(_hidden_rows(number, rows)),
        }
        stats = json.dumps({"numRecords": rows, "tightBounds": False})
        adds.append({"add": {**build_add(number), "stats": stats, "deletionVector": vector}})
    (log / f"{0:020d}.json").write_bytes(render_commit(*head, *adds))


def _hidden_rows(number: int, rows: int) -> range:
    """Evenly spread, and the last row too: a mask of all rows must reach that far."""
    return range(rows - 1, -1, -(7 + number % 7))


def _write_hint(log: Path, size: int, version: int = FIRST_CHECKPOINT) -> None:
    hint = {"version": version, "size": size}
    (log / "_last_checkpoint").write_text(json.dumps(hint), encoding="utf-8")


def _head(protocol: dict[str, Any]) -> list[Row]:
    txn = {"appId": "etl", "version": FIRST_CHECKPOINT, "lastUpdated": START_MS}
    return [{"protocol": protocol}, {"metaData": build_metadata()}, {"txn": txn}]


def _adds(numbers: Iterable[int]) -> Iterator[Row]:
    return ({"add": build_add(number)} for number in numbers)


def _removes(numbers: Iterable[int]) -> Iterator[Row]:
    return ({"remove": build_remove(number, START_MS)} for number in numbers)


def _chain(*parts: Iterator[Row] | list[Row]) -> Iterator[Row]:
    for part in parts:
        yield from part


def _in_groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Lists of the length of a row group."""
    group: list[Row] = []
    for row in rows:
        group.append(row)
        if len(group) == _ROWS_AT_ONCE:
            yield group
            group = []
    if group:
        yield group
