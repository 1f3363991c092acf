"""Staged commits and winners for tests, as short as can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import batch_of
from explorer.log.reconcile.key_columns import keys_of
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.commit_json import Action, ActionLine, render_action, render_lines
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor
from explorer.transaction.concurrent_commit import ConcurrentCommit, parse_concurrent_commit
from explorer.transaction.read_set import NOTHING, ReadSet, among
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.requirements import validate_commit
from explorer.transaction.staged import Promises, Provenance, StagedCommit

READ_AT = 4
SCHEMA = (
    '{"type":"struct","fields":['
    '{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"day","type":"date","nullable":true,"metadata":{}}]}'
)
METADATA = Metadata(id="t", schema_string=SCHEMA)
PLAIN = Protocol(min_reader_version=1, min_writer_version=2)
MAPPED = Protocol(min_reader_version=2, min_writer_version=5)
STATS = '{"numRecords":10,"minValues":{"id":1},"maxValues":{"id":9},"nullCount":{"id":0}}'


def features(*names: str, readers: Sequence[str] = ()) -> Protocol:
    """A protocol that lists features for writers, and some of them for readers too."""
    return Protocol(
        min_reader_version=3 if readers else 1,
        min_writer_version=7,
        reader_features=tuple(readers) if readers else None,
        writer_features=(*names, *readers),
    )


def metadata(configuration: Mapping[str, str] | None = None, **fields: Any) -> Metadata:
    """Metadata of the table with other properties or fields."""
    return replace(METADATA, configuration=configuration or {}, **fields)


def add(path: str = "a.parquet", **fields: Any) -> AddFile:
    """A file with ten rows, their ids from 1 to 9."""
    given = {"partition_values": {}, "size": 1, "modification_time": 1, "stats": STATS}
    return AddFile(path=path, **(given | fields))


def remove(path: str = "r.parquet", **fields: Any) -> RemoveFile:
    """Such a file as it goes."""
    given = {"partition_values": {}, "size": 1, "deletion_timestamp": 1}
    return RemoveFile(path=path, **(given | fields))


def vector(cardinality: int = 1, place: str = "ab^-aqEH.-t@S}K{vb[*k^") -> DeletionVectorDescriptor:
    """A deletion vector in a file of its own."""
    return DeletionVectorDescriptor(
        storage_type="u",
        path_or_inline_dv=place,
        offset=1,
        size_in_bytes=40,
        cardinality=cardinality,
    )


def base(protocol: Protocol = PLAIN, metadata: Metadata = METADATA, **fields: Any) -> ReadVersion:
    """The version that was read."""
    given = {"version": READ_AT, "timestamp": 1_000}
    return ReadVersion(protocol=protocol, metadata=metadata, **(given | fields))


def stage(
    *actions: Action,
    upon: ReadVersion | None = None,
    reads: ReadSet = NOTHING,
    promises: Promises | None = None,
    **provenance: Any,
) -> StagedCommit:
    """A commit of these actions."""
    given = {"operation": "WRITE", "transaction_id": "mine", "engine_info": "test"}
    return StagedCommit(
        base=upon or base(),
        reads=reads,
        provenance=Provenance(**(given | provenance)),
        actions=actions,
        promises=promises or Promises(),
    )


@dataclass(frozen=True)
class Held:
    """The live files of the version that was read, of a table at `root`."""

    files: pa.Table
    root: str | None = None

    def at_paths(self, paths: pa.ChunkedArray) -> pa.Table:
        return among(self.files, paths, self.root)

    def without(self, keys: pa.ChunkedArray) -> pa.Table:
        return self.files.filter(pc.invert(pc.is_in(keys_of(self.files), value_set=keys)))


def live(*files: AddFile) -> Held:
    """Live files, as a caller has them at hand."""
    return Held(pa.Table.from_batches([batch("add", *files)]))


def replacing(staged: StagedCommit, *old: AddFile) -> StagedCommit:
    """The same commit, which takes every live file away: those of `old`, or one."""
    files = old or (add("old.parquet"),)
    gone = (remove(file.path, deletion_vector=file.deletion_vector) for file in files)
    return replace(
        staged,
        actions=(*staged.actions, *gone),
        live=live(*files),
        promises=replace(staged.promises, removes_every_live_file=True),
    )


def winner(
    *actions: Action | ActionLine, version: int = READ_AT + 1, **info: Any
) -> ConcurrentCommit:
    """What another writer committed, who says `info` of himself."""
    lines = [item if isinstance(item, Mapping) else render_action(item) for item in actions]
    return parse_concurrent_commit(version, render_lines([{"commitInfo": info}, *lines]))


def batch(kind: str, *actions: Action) -> Any:
    """Adds or removes as columns."""
    return batch_of(kind, [render_action(item)[kind] for item in actions])  # type: ignore[arg-type]


def field(name: str, kind: object = "long", *, nullable: bool = True, **keys: object) -> dict:
    """A column of a schema as JSON, its metadata from `keys`."""
    return {"name": name, "type": kind, "nullable": nullable, "metadata": keys}


def schema(*fields: dict) -> str:
    """A schema of these columns."""
    return orjson.dumps({"type": "struct", "fields": list(fields)}).decode()


def mapped(name: str, number: int, physical: str | None = None, kind: object = "long") -> dict:
    """A column with an id and a name in files."""
    keys = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": physical or f"col-{number}",
    }
    return field(name, kind, **keys)


def numbered(mark: int | None, step: int = 1) -> str:
    """A schema of one identity column."""
    keys = {"delta.identity.start": 1, "delta.identity.step": step}
    if mark is not None:
        keys["delta.identity.highWaterMark"] = mark
    return schema(field("n", **keys))


def texts(staged: StagedCommit) -> list[str]:
    """What is wrong with a commit, in words."""
    return [found.problem for found in validate_commit(staged)]


def only(staged: StagedCommit) -> str:
    """The one thing that is wrong with it."""
    (found,) = texts(staged)
    return found
