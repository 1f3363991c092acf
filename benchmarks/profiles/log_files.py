"""Writes the log of a profile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.actions import START_MS, build_commit_info, build_uuid
from benchmarks.log_schemas import CLASSIC, V2
from benchmarks.logs import LogRequest
from benchmarks.profiles.file_actions import (
    build_adds,
    build_removes,
    columns_of,
    partition_columns,
)
from benchmarks.profiles.other_writers import write_checkpoint_by
from benchmarks.profiles.profile import Profile
from benchmarks.profiles.texts import Numbers, chance
from explorer.protocol.filenames import render_compaction_name

CHECKPOINT = 100
_PARTS = 10
_AT_ONCE = 50_000
_CELLS_AT_ONCE = 2_000_000
"""Statistics of so many columns and files are made at once: their texts go with it."""

_COMMITS_AT_ONCE = 1_000
_FIRST_NEW = 10**9
_TOMBSTONES = 5 * 10**8


def log_of(profile: Profile) -> LogRequest:
    """The request for its log; the name says what the log depends on."""
    sizes = (profile.files, profile.commits, profile.adds, profile.removes)
    name = "-".join(map(str, ("like", profile.name, *sizes)))
    return LogRequest(name=name, write=lambda log: write_log(log, profile))


def write_log(log: Path, profile: Profile) -> None:
    """Fills an empty log folder."""
    if profile.layout == "commits":
        _write_commits(log, profile, range(profile.commits), live=[])
        return
    _write_checkpoint(log, profile)
    # the commit of its version may be left, and says nothing new
    _write(log, CHECKPOINT, [_info(profile, CHECKPOINT)])
    first = CHECKPOINT + 1
    if profile.writer != "imitation":
        _write_commits(log, profile, range(first, first + 1), live=range(profile.files))
        write_checkpoint_by(profile.writer, log, CHECKPOINT)
        first += 1
    _write_commits(log, profile, range(first, first + profile.commits), live=range(profile.files))


def _head(profile: Profile) -> list[dict[str, Any]]:
    readers = ["deletionVectors"] if profile.vectors or profile.features else []
    readers += ["v2Checkpoint"] if profile.layout == "sidecars" else []
    writers = [*readers]
    found: list[dict[str, Any]] = []
    if profile.features:
        readers.append("columnMapping")
        writers += ["columnMapping", "rowTracking", "domainMetadata", "clustering"]
        writers += ["inCommitTimestamp", "invariants", "appendOnly"]
        for domain, body in (
            ("delta.rowTracking", {"rowIdHighWaterMark": 10**12}),
            ("delta.clustering", {"clusteringColumns": [[columns_of(profile)[0].physical]]}),
        ):
            text = json.dumps(body)
            entry = {"domain": domain, "configuration": text, "removed": False}
            found.append({"domainMetadata": entry})
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
    if readers or writers:
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
        protocol |= {"readerFeatures": readers, "writerFeatures": writers}
    txn = {"appId": "etl", "version": CHECKPOINT, "lastUpdated": START_MS}
    metadata = _metadata(profile)
    return [{"protocol": protocol}, {"metaData": metadata}, {"txn": txn}, *found]


def _metadata(profile: Profile) -> dict[str, Any]:
    fields = []
    kinds = [(column.name, column.physical, column.kind) for column in columns_of(profile)]
    kinds += [(name, name, {"day": "date"}.get(name, "string")) for name in _partitions(profile)]
    for at, (name, physical, kind) in enumerate(kinds):
        mapped = {"delta.columnMapping.id": at + 1, "delta.columnMapping.physicalName": physical}
        metadata = mapped if profile.features else {}
        fields.append({"name": name, "type": kind, "nullable": True, "metadata": metadata})
    configuration = {"delta.enableDeletionVectors": "true"} if profile.vectors else {}
    if profile.statistics in {"structs", "both"}:
        configuration["delta.checkpoint.writeStatsAsStruct"] = "true"
    if profile.features:
        configuration |= {
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": str(len(fields)),
            "delta.enableRowTracking": "true",
            "delta.enableInCommitTimestamps": "true",
            "delta.rowTracking.materializedRowIdColumnName": "_row-id-1",
            "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version-1",
        }
    return {
        "id": build_uuid(11),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": _partitions(profile),
        "configuration": configuration,
        "createdTime": START_MS,
    }


def _partitions(profile: Profile) -> list[str]:
    return partition_columns(profile)


def _write_checkpoint(log: Path, profile: Profile) -> None:
    head = _head(profile)
    stem = f"{CHECKPOINT:020d}.checkpoint"
    removed = range(_TOMBSTONES, _TOMBSTONES + int(profile.files * profile.tombstones))
    if profile.layout == "classic":
        _write_file(log / f"{stem}.parquet", profile, head, range(profile.files), removed)
    else:
        each, tombs = profile.files // _PARTS, len(removed) // _PARTS
        (log / "_sidecars").mkdir()
        for part in range(_PARTS):
            files = range(part * each, (part + 1) * each)
            gone = removed[part * tombs : (part + 1) * tombs]
            if profile.layout == "parts":
                place = log / f"{stem}.{part + 1:010d}.{_PARTS:010d}.parquet"
                _write_file(place, profile, [] if part else head, files, gone)
            else:
                place = log / "_sidecars" / f"{build_uuid(part + 2_000)}.parquet"
                _write_file(place, profile, [], files, gone)
                size = place.stat().st_size
                head.append(
                    {
                        "sidecar": {
                            "path": place.name,
                            "sizeInBytes": size,
                            "modificationTime": START_MS,
                        }
                    }
                )
        if profile.layout == "sidecars":
            head.append({"checkpointMetadata": {"version": CHECKPOINT}})
            top = pa.Table.from_pylist(head, V2)
            pq.write_table(top, log / f"{stem}.{build_uuid(2_999)}.parquet")
    rows = profile.files + len(removed)
    hint = {"version": CHECKPOINT, "size": rows + len(head)}
    if profile.layout == "parts":
        hint["parts"] = _PARTS
    (log / "_last_checkpoint").write_text(json.dumps(hint), encoding="utf-8")


def _write_file(
    place: Path, profile: Profile, head: list[dict[str, Any]], files: range, removed: range
) -> None:
    """One file: the few actions first, then live files and tombstones as they came."""
    schema = _schema(profile, few=profile.layout != "sidecars")
    encoding: dict[str, Any] = {"compression": profile.compression}
    if not profile.dictionary:
        encoding["use_dictionary"] = False
    with pq.ParquetWriter(place, schema, **encoding) as writer:
        waiting: list[pa.Table] = []
        for table in _rows(profile, schema, head, files, removed):
            waiting.append(table)
            while sum(map(len, waiting)) >= profile.row_group:
                held = pa.concat_tables(waiting)
                writer.write_table(held.slice(0, profile.row_group), profile.row_group)
                waiting = [held.slice(profile.row_group)]
        writer.write_table(pa.concat_tables(waiting), profile.row_group)


def _rows(
    profile: Profile, schema: pa.Schema, head: list[dict[str, Any]], files: range, removed: range
) -> Iterator[pa.Table]:
    if head:
        yield pa.Table.from_pylist(head, schema)
    at_once = max(1_000, min(_AT_ONCE, _CELLS_AT_ONCE // max(1, profile.columns)))
    for kind, numbers, build in (("add", files, build_adds), ("remove", removed, build_removes)):
        for start in range(numbers.start, numbers.stop, at_once):
            some = np.arange(start, min(start + at_once, numbers.stop), dtype=np.int64)
            bodies = build(profile, some)
            columns = {
                field.name: bodies if field.name == kind else pa.nulls(len(some), field.type)
                for field in schema
            }
            yield pa.table(columns, schema=schema)


def _schema(profile: Profile, *, few: bool) -> pa.Schema:
    one = np.arange(1)
    kinds = {"add": build_adds(profile, one).type, "remove": build_removes(profile, one).type}
    fields = [pa.field(*pair) for pair in kinds.items()]
    if not few:
        return pa.schema(fields)
    others = [field for field in CLASSIC if field.name not in kinds]
    if profile.features:
        kind = pa.struct(
            [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
        )
        others.append(pa.field("domainMetadata", kind))
    return pa.schema([others[0], *fields, *others[1:]])


def _write_commits(log: Path, profile: Profile, versions: range, live: Iterable[int]) -> None:
    """Each adds new files and removes such as are live: of the checkpoint some from all over
    it, and else what commits before it added. The first one removed comes back with a vector,
    as an update leaves it, where files have vectors."""
    held, removed = [*live][:: max(1, profile.files // 1_000)], 0
    lines: list[bytes] = []
    for start in range(0, len(versions), _COMMITS_AT_ONCE):
        some = versions[start : start + _COMMITS_AT_ONCE]
        first = _FIRST_NEW + some.start * profile.adds
        news = np.arange(first, first + len(some) * profile.adds, dtype=np.int64)
        gone: list[list[int]] = []
        for at in range(len(some)):
            gone.append(held[removed : removed + profile.removes])
            removed += len(gone[-1])
            held += [int(new) for new in news[at * profile.adds : (at + 1) * profile.adds]]
        added = _lines("add", build_adds(_in_commits(profile), news, fresh=True))
        taken = _removes(profile, np.array([one for those in gone for one in those], np.int64))
        for at, version in enumerate(some):
            head = _head(profile)[:2] if version == 0 else []
            info = _info(profile, version, profile.adds, len(gone[at]))
            actions = [_line(action) for action in (info, *head)]
            actions += added[at * profile.adds : (at + 1) * profile.adds]
            for one in gone[at]:
                actions += taken[one]
            (log / f"{version:020d}.json").write_bytes(b"".join(actions))
            lines += actions[1:]
            if profile.compacted and (version - versions.start + 1) % profile.compacted == 0:
                _write_compaction(log, version, profile.compacted, lines)
                lines = []


def _removes(profile: Profile, numbers: Numbers) -> dict[int, list[bytes]]:
    """For each file what its removal says."""
    found: dict[int, list[bytes]] = {}
    stored = numbers < _FIRST_NEW
    for some, kept in ((numbers[stored], profile), (numbers[~stored], _plain(profile))):
        if len(some):
            bodies = _lines("remove", build_removes(kept, some))
            found |= {int(one): [line] for one, line in zip(some, bodies, strict=True)}
    moved = numbers[stored & ~chance(numbers, 5, profile.vectors)][::3]
    if profile.vectors and len(moved):
        hidden = replace(_in_commits(profile), vectors=1.0)
        for one, line in zip(moved, _lines("add", build_adds(hidden, moved)), strict=True):
            found[int(one)].append(line)
    return found


def _plain(profile: Profile) -> Profile:
    return replace(profile, vectors=0.0)


def _in_commits(profile: Profile) -> Profile:
    """Statistics of commits are JSON."""
    if profile.statistics in {"structs", "both"}:
        return replace(profile, statistics="json")
    return profile


def _write_compaction(log: Path, last: int, count: int, lines: list[bytes]) -> None:
    """What the commits say, reconciled: the newest action of each file counts."""
    newest: dict[str, bytes] = {}
    for line in lines:
        ((kind, body),) = orjson.loads(line).items()
        vector = body.get("deletionVector") or {}
        newest[f"{body.get('path', kind)}|{vector.get('pathOrInlineDv')}"] = line
    name = render_compaction_name(last - count + 1, last)
    (log / name).write_bytes(b"".join(newest.values()))


def _info(profile: Profile, version: int, adds: int = 0, removes: int = 0) -> dict[str, Any]:
    info = build_commit_info(version, adds, removes)
    if profile.features:
        info = {"inCommitTimestamp": info["timestamp"] + 1, **info}
    return {"commitInfo": info}


def _write(log: Path, version: int, actions: list[dict[str, Any]]) -> None:
    (log / f"{version:020d}.json").write_bytes(b"".join(map(_line, actions)))


def _lines(kind: str, bodies: pa.StructArray) -> list[bytes]:
    return [_line({kind: body}) for body in bodies.to_pylist(maps_as_pydicts="strict")]


def _line(action: dict[str, Any]) -> bytes:
    ((kind, body),) = action.items()
    held = {name: value for name, value in body.items() if value is not None}
    if (vector := held.get("deletionVector")) is not None:
        held["deletionVector"] = {name: it for name, it in vector.items() if it is not None}
    return orjson.dumps({kind: held}, option=orjson.OPT_APPEND_NEWLINE)
