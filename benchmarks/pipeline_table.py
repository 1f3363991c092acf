"""The table of the benchmark of rows: generated, and the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    render_descriptor,
    render_relative_place,
    render_vector,
    render_vector_file,
)

FILES = 20
_NOTES = pa.array([f"note {number}" for number in range(1000)])
_VECTORS = UUID("6d1f6c0e-0000-4000-8000-000000000000")
CHANGED_TO = 3
"""The newest version of the table of changes."""
_COLUMNS = (("id", "long"), ("amount", "double"), ("region", "integer"), ("note", "string"))


def write_table(place: Path, rows: int, *, files: int = FILES, parts: int = 0) -> Path:
    """A table of `rows` physical rows in so many files, a tenth of them hidden; version 1
    leaves one file out and adds another. With `parts` it is partitioned by a column `part`,
    of so many values."""
    log = place / "_delta_log"
    log.mkdir(parents=True)
    count, random = rows // files, np.random.default_rng(7)
    written = [_write_file(place, at, count, random, parts) for at in range(files + 1)]
    hidden = _write_vectors(place, files, count, random)
    adds = [
        {"add": body | {"deletionVector": vector}}
        for body, vector in zip(written, hidden, strict=False)
    ]
    _commit(log, 0, [*_head(parts), *adds])
    _commit(log, 1, [_removed(adds[0]), {"add": written[files]}])
    return place


def write_changes(place: Path, rows: int) -> Path:
    """A table whose change feed has, from version 1 on, two files that went and two that
    came, a vector on a file that had none, and a file of changes; each of a twentieth."""
    log = place / "_delta_log"
    log.mkdir(parents=True)
    count, random = rows // FILES, np.random.default_rng(7)
    files = [_write_file(place, at, count, random, 0) for at in range(6)]
    (hidden,) = _write_vectors(place, 1, count, random)
    feed = {"delta.enableChangeDataFeed": "true"}
    _commit(log, 0, [*_head(0, feed), *({"add": body} for body in files[:4])])
    came = [{"add": body} for body in files[4:]]
    _commit(log, 1, [*(_removed({"add": body}) for body in files[:2]), *came])
    with_vector = files[2] | {"deletionVector": hidden}
    _commit(log, 2, [_removed({"add": files[2]}), {"add": with_vector}])
    told = _write_told(place, files[3], count)
    _commit(log, CHANGED_TO, [_removed({"add": files[3]}), {"cdc": told}])
    return place


def _removed(added: dict[str, Any]) -> dict[str, Any]:
    body = added["add"]
    kept = {
        name: body[name]
        for name in ("path", "size", "partitionValues", "deletionVector")
        if name in body
    }
    more = {"dataChange": True, "deletionTimestamp": 0, "extendedFileMetadata": True}
    return {"remove": kept | more}


def _write_told(place: Path, file: dict[str, Any], count: int) -> dict[str, Any]:
    """The rows of a file as deleted ones, in a file of changes."""
    rows = pq.read_table(place / file["path"])
    told = rows.append_column("_change_type", pa.array(["delete"] * count))
    path = "_change_data/cdc-00000.parquet"
    (place / path).parent.mkdir()
    pq.write_table(told, place / path)
    size = (place / path).stat().st_size
    return {"path": path, "partitionValues": {}, "size": size, "dataChange": False}


def _write_vectors(
    place: Path, files: int, count: int, random: np.random.Generator
) -> list[dict[str, Any]]:
    """The descriptors of vectors that hide a tenth of each file."""
    contents = [
        render_vector(np.sort(random.choice(count, count // 10, replace=False)).tolist())
        for _ in range(files)
    ]
    data, offsets = render_vector_file(contents)
    (place / f"deletion_vector_{_VECTORS}.bin").write_bytes(data)
    return [
        render_descriptor(
            DeletionVectorDescriptor(
                storage_type="u",
                path_or_inline_dv=render_relative_place(_VECTORS),
                offset=offset,
                size_in_bytes=len(content),
                cardinality=count // 10,
            )
        )
        for offset, content in zip(offsets, contents, strict=True)
    ]


def _write_file(
    place: Path, at: int, count: int, random: np.random.Generator, parts: int
) -> dict[str, Any]:
    ids = np.arange(at * count, (at + 1) * count)
    columns = {
        "id": ids,
        "amount": random.random(count),
        "region": random.integers(0, 100, count).astype(np.int32),
        "note": _NOTES.take(pa.array(np.arange(count) % len(_NOTES))),
    }
    path = f"part-{at:05}.parquet"
    pq.write_table(pa.table(columns), place / path, row_group_size=max(1, count // 4))
    stats = {
        "numRecords": count,
        "minValues": {"id": int(ids[0])},
        "maxValues": {"id": int(ids[-1])},
        "nullCount": {"id": 0},
    }
    size = (place / path).stat().st_size
    return {
        "path": path,
        "partitionValues": {"part": str(at % parts)} if parts else {},
        "size": size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": json.dumps(stats),
    }


def _head(parts: int, feed: dict[str, str] | None = None) -> list[dict[str, Any]]:
    more = (("part", "integer"),) if parts else ()
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (*_COLUMNS, *more)
    ]
    feature = ["deletionVectors"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": feature,
        "writerFeatures": [*feature, *(("changeDataFeed",) if feed else ())],
    }
    metadata = {
        "id": str(_VECTORS),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["part"] if parts else [],
        "configuration": {"delta.enableDeletionVectors": "true"} | (feed or {}),
    }
    return [{"protocol": protocol}, {"metaData": metadata}]


def _commit(log: Path, version: int, actions: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (log / f"{version:020}.json").write_text(text, encoding="utf-8")
