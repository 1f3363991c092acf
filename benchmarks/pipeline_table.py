"""The table of the benchmark of rows: generated, and the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.protocol.deletion_vectors import (
    DeletionVectorDescriptor,
    render_descriptor,
    render_relative_place,
    render_vector,
    render_vector_file,
)

FILES = 20
_VECTORS = UUID("6d1f6c0e-0000-4000-8000-000000000000")
_COLUMNS = (("id", "long"), ("amount", "double"), ("region", "integer"), ("note", "string"))


def write_table(place: Path, rows: int) -> Path:
    """A table of `rows` physical rows in `FILES` files, a tenth of them hidden; version 1
    leaves one file out and adds another."""
    log = place / "_delta_log"
    log.mkdir(parents=True)
    count = rows // FILES
    random = np.random.default_rng(7)
    files = [_write_file(place, at, count, random) for at in range(FILES + 1)]
    contents = [
        render_vector(np.sort(random.choice(count, count // 10, replace=False)).tolist())
        for _ in range(FILES)
    ]
    data, offsets = render_vector_file(contents)
    (place / f"deletion_vector_{_VECTORS}.bin").write_bytes(data)
    hidden = [
        DeletionVectorDescriptor(
            storage_type="u",
            path_or_inline_dv=render_relative_place(_VECTORS),
            offset=offset,
            size_in_bytes=len(content),
            cardinality=count // 10,
        )
        for offset, content in zip(offsets, contents, strict=True)
    ]
    adds = [
        {"add": body | {"deletionVector": render_descriptor(vector)}}
        for body, vector in zip(files, hidden, strict=False)
    ]
    removed = {
        "path": files[0]["path"],
        "dataChange": True,
        "deletionTimestamp": 0,
        "deletionVector": render_descriptor(hidden[0]),
    }
    _commit(log, 0, [*_head(), *adds])
    _commit(log, 1, [{"remove": removed}, {"add": files[FILES]}])
    return place


def _write_file(place: Path, at: int, count: int, random: np.random.Generator) -> dict[str, Any]:
    ids = np.arange(at * count, (at + 1) * count)
    columns = {
        "id": ids,
        "amount": random.random(count),
        "region": random.integers(0, 100, count).astype(np.int32),
        "note": pa.array([f"note {number % 1000}" for number in range(count)]),
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
        "partitionValues": {},
        "size": size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": json.dumps(stats),
    }


def _head() -> list[dict[str, Any]]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _COLUMNS
    ]
    feature = ["deletionVectors"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": feature,
        "writerFeatures": feature,
    }
    metadata = {
        "id": str(_VECTORS),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {"delta.enableDeletionVectors": "true"},
    }
    return [{"protocol": protocol}, {"metaData": metadata}]


def _commit(log: Path, version: int, actions: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (log / f"{version:020}.json").write_text(text, encoding="utf-8")
