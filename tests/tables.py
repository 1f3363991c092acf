"""Tables built from axes: commits as lists of actions, checkpoints of every kind,
sidecars, the hint, stray files.

    table = LogFolder(tmp_path / "table")
    table.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    table.checkpoint(0, [...], kind="v2-json", sidecars=2)

Checkpoints are written by pyarrow from the same JSON objects as commits, so that
no code of the engine stands between a test and its bytes.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

Action = Mapping[str, Any]
CheckpointForm = Literal["classic", "multi-part", "v2-json", "v2-parquet", "v2-classic-name"]
CHECKPOINT_FORMS: tuple[CheckpointForm, ...] = (
    "classic",
    "multi-part",
    "v2-json",
    "v2-parquet",
    "v2-classic-name",
)

SCHEMA = (
    '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"part","type":"string","nullable":true,"metadata":{}}]}'
)
PROTOCOL: Action = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
FEATURES = ("deletionVectors", "domainMetadata", "v2Checkpoint")
FEATURE_PROTOCOL: Action = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors", "v2Checkpoint"],
        "writerFeatures": list(FEATURES),
    }
}

_TEXT_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_FILE = [
    ("path", pa.string()),
    ("partitionValues", _TEXT_MAP),
    ("size", pa.int64()),
    ("dataChange", pa.bool_()),
    ("tags", _TEXT_MAP),
    ("deletionVector", _VECTOR),
    ("baseRowId", pa.int64()),
    ("defaultRowCommitVersion", pa.int64()),
]
# every column that a checkpoint may have (spec: Checkpoint Schema)
COLUMNS: dict[str, pa.DataType] = {
    "txn": pa.struct(
        [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
    ),
    "add": pa.struct([*_FILE, ("modificationTime", pa.int64()), ("stats", pa.string())]),
    "remove": pa.struct(
        [*_FILE, ("deletionTimestamp", pa.int64()), ("extendedFileMetadata", pa.bool_())]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _TEXT_MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _TEXT_MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "domainMetadata": pa.struct(
        [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
    ),
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", _TEXT_MAP)]),
    "sidecar": pa.struct(
        [
            ("path", pa.string()),
            ("sizeInBytes", pa.int64()),
            ("modificationTime", pa.int64()),
            ("tags", _TEXT_MAP),
        ]
    ),
}
_MAPS = frozenset({"partitionValues", "tags", "options", "configuration"})


def metadata(**fields: Any) -> Action:
    """A `metaData` action of a table with the columns `id` and `part`."""
    body = {
        "id": "0b1f3a5e-0000-4000-8000-000000000000",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": SCHEMA,
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1_700_000_000_000,
    }
    return {"metaData": body | fields}


def add(path: str, **fields: Any) -> Action:
    """An `add` action."""
    body = {
        "path": path,
        "partitionValues": {},
        "size": 100,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
    }
    return {"add": body | fields}


def remove(path: str, **fields: Any) -> Action:
    """A `remove` action."""
    body = {"path": path, "deletionTimestamp": 1_700_000_000_000, "dataChange": True}
    return {"remove": body | fields}


def vector(place: str = "ab^-aqEH.-t@S}K{vb[*k^", **fields: Any) -> dict[str, Any]:
    """A deletion vector's descriptor, in a file unless `storageType` says otherwise."""
    body = {"storageType": "u", "pathOrInlineDv": place, "sizeInBytes": 36, "cardinality": 2}
    return body | fields


def commit_name(version: int) -> str:
    """The name of a commit file."""
    return f"{version:020}.json"


class LogFolder:
    """A table's folder and the log that a test writes into it."""

    def __init__(self, root: Path, *, exists: bool = False) -> None:
        self.root = root
        self.log = root / "_delta_log"
        self.log.mkdir(parents=True, exist_ok=exists)

    def commit(self, version: int, actions: Iterable[Action]) -> Path:
        """Write one commit, an action a line."""
        lines = [json.dumps(action, ensure_ascii=False) for action in actions]
        return self.write(commit_name(version), "".join(f"{line}\n" for line in lines))

    def write(self, name: str, data: bytes | str) -> Path:
        """Write any file of the log folder."""
        place = self.log / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)
        return place

    def time(self, version: int, time_ms: int) -> None:
        """Set the modification time of one commit file."""
        os.utime(self.log / commit_name(version), ns=(time_ms * 10**6, time_ms * 10**6))

    def hint(self, version: int, **fields: Any) -> Path:
        """Write `_last_checkpoint`."""
        return self.write("_last_checkpoint", json.dumps({"version": version, "size": 1} | fields))

    def checkpoint(
        self,
        version: int,
        actions: Sequence[Action],
        *,
        form: CheckpointForm = "classic",
        parts: int = 2,
        sidecars: int = 0,
        rows_per_group: int = 100_000,
    ) -> list[Path]:
        """Write a checkpoint that holds `actions`; the files of its top level.

        `parts` counts for multi-part ones, `sidecars` for V2 ones: 0 keeps the
        file actions in the top level.
        """
        if form == "classic":
            name = f"{version:020}.checkpoint.parquet"
            return [self._parquet(name, actions, rows_per_group)]
        if form == "multi-part":
            return [
                self._parquet(
                    f"{version:020}.checkpoint.{part + 1:010}.{parts:010}.parquet",
                    actions[part::parts],
                    rows_per_group,
                )
                for part in range(parts)
            ]
        top: list[Action] = [{"checkpointMetadata": {"version": version}}, *actions]
        if sidecars:
            files = [action for action in actions if "add" in action or "remove" in action]
            top = [action for action in top if "add" not in action and "remove" not in action]
            top += [self._sidecar(files[at::sidecars], rows_per_group) for at in range(sidecars)]
        if form == "v2-classic-name":
            name = f"{version:020}.checkpoint.parquet"
            return [self._parquet(name, top, rows_per_group)]
        if form == "v2-parquet":
            name = f"{version:020}.checkpoint.{uuid.uuid4()}.parquet"
            return [self._parquet(name, top, rows_per_group)]
        text = "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in top)
        return [self.write(f"{version:020}.checkpoint.{uuid.uuid4()}.json", text)]

    def _parquet(self, name: str, actions: Sequence[Action], rows_per_group: int) -> Path:
        place = self.log / name
        place.parent.mkdir(parents=True, exist_ok=True)
        write_parquet(place, actions, rows_per_group=rows_per_group)
        return place

    def _sidecar(self, files: Sequence[Action], rows_per_group: int) -> Action:
        name = f"{uuid.uuid4()}.parquet"
        place = self._parquet(f"_sidecars/{name}", files, rows_per_group)
        found = place.stat()
        return {
            "sidecar": {
                "path": name,
                "sizeInBytes": found.st_size,
                "modificationTime": int(found.st_mtime * 1000),
            }
        }


def write_parquet(
    place: Path,
    actions: Sequence[Action],
    *,
    rows_per_group: int = 100_000,
    columns: Mapping[str, pa.DataType] | None = None,
) -> None:
    """Actions as the rows of a Parquet file, each kind a column of its own."""
    kinds = COLUMNS if columns is None else columns
    schema = pa.schema(list(kinds.items()))
    rows = [{name: _with_pairs(action.get(name)) for name in kinds} for action in actions]
    table = pa.Table.from_pylist(rows, schema=schema)
    pq.write_table(table, place, row_group_size=rows_per_group, write_page_checksum=True)


def _with_pairs(body: Any) -> Any:
    """Maps as the lists of pairs that Arrow takes."""
    if not isinstance(body, Mapping):
        return body
    return {
        key: list(value.items())
        if key in _MAPS and isinstance(value, Mapping)
        else _with_pairs(value)
        for key, value in body.items()
    }
