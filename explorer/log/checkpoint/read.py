"""Reading a checkpoint of any kind (spec: Checkpoints, V2 Checkpoint)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from explorer.errors import (
    CorruptLogError,
    DeltaError,
    Problem,
    StorageError,
    UnusableCheckpointError,
)
from explorer.log.checkpoint._unusable_file import store_failed, too_many_sidecars, unusable
from explorer.log.checkpoint.json_checkpoint import read_json_checkpoint
from explorer.log.checkpoint.parquet_part import ParquetPart, open_part
from explorer.log.folder.listing import CheckpointFiles
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.reconcile.tail import EMPTY_TAIL, Tail, replay_json_checkpoint
from explorer.log.small_file import MOST_SIDECARS
from explorer.protocol.filenames import LAST_CHECKPOINT, LOG_FOLDER, SIDECAR_FOLDER
from explorer.protocol.last_checkpoint import EmbeddedCheckpoint
from explorer.protocol.paths import decode_path, is_absolute
from explorer.records import record
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import ObjectInfo, RangeStore, ReadStore, offers

_MAX_DEPTH = 100


@record
class Sidecar:
    """A file of actions that a checkpoint names; `size` in bytes, where it says so; `written`
    is the path as it stands there."""

    path: str
    size: int | None
    written: str


@record
class Checkpoint:
    """A checkpoint whose few actions are read and whose files are not yet.

    `inline` holds the file actions of a JSON top level; `parts` are the Parquet
    files that hold the others, `sidecars` the further ones. `from_hint` says that the
    top level was not read, but what `_last_checkpoint` repeats of it.
    """

    files: CheckpointFiles
    small: SmallActions
    inline: Tail
    parts: tuple[ParquetPart, ...]
    sidecars: tuple[Sidecar, ...]
    from_hint: bool = False

    @property
    def sidecar_names(self) -> set[str]:
        """The names of its sidecars without folders, also as they would be if they were not
        encoded. Whoever looks for those that nobody names compares these alone: a path may lead
        to its place in many ways, and another place may be the same one."""
        paths = (path for one in self.sidecars for path in (one.path, one.written))
        return {path.rpartition("/")[2] for path in paths}


@record
class _TopLevel:
    """What the files named after the checkpoint hold; the two last as found."""

    small: SmallActions
    inline: Tail
    parts: tuple[ParquetPart, ...]
    sidecars: tuple[tuple[Any, Any], ...]
    described_versions: tuple[Any, ...]


def read_checkpoint(
    store: ReadStore,
    files: CheckpointFiles,
    stored: Mapping[str, ObjectInfo] = MappingProxyType({}),
    *,
    table_only: bool = False,
) -> Checkpoint:
    """Read footers and the actions that are few; `stored` is what a listing says of files.
    With `table_only` a classic checkpoint is read no further than to its protocol and
    metadata, and other actions may be missing from the answer.

    Raises `UnusableCheckpointError`: a file is missing or broken, or a V2 checkpoint
    lacks what each has. A classic one without protocol or metadata is whole as far
    as anyone can tell, and the version is refused for it. A file under the
    classic name may hold V2 content, so sidecars are looked for in every kind.
    """
    if files.names[0].endswith(".json"):
        found = _read_json(store, f"{LOG_FOLDER}/{files.names[0]}")
    else:
        sizes = {name: info.size for name, info in stored.items() if name in files.names}
        until_both = table_only and files.kind != "v2"
        found = _read_parquet(store, files.names, sizes, until_both=until_both)
    return _build(found, files)


def build_embedded(embedded: EmbeddedCheckpoint, files: CheckpointFiles) -> Checkpoint:
    """The checkpoint `files` as a hint repeats it; `embedded` must have all of it but
    the files' actions, which are in sidecars.

    Raises `UnusableCheckpointError` like `read_checkpoint`.
    """
    small = SmallActions()
    versions: list[Any] = []
    for action in embedded.non_file_actions or ():
        if isinstance(described := action.get("checkpointMetadata"), Mapping):
            versions.append(described.get("version"))
        try:
            small.offer(action, LAST_CHECKPOINT)
        except CorruptLogError as error:
            raise unusable(LAST_CHECKPOINT, error.reason.rstrip(".")) from error
    found = _TopLevel(
        small=small,
        inline=EMPTY_TAIL,
        parts=(),
        sidecars=tuple(_named(body) for body in embedded.sidecar_files or ()),
        described_versions=tuple(versions),
    )
    return replace(_build(found, files), from_hint=True)


def _build(found: _TopLevel, files: CheckpointFiles) -> Checkpoint:
    path = f"{LOG_FOLDER}/{files.names[0]}"
    _check(found, files, path)
    try:
        sidecars = tuple(_sidecar(*named) for named in dict.fromkeys(found.sidecars))
    except UnicodeDecodeError as error:
        raise unusable(path, "the path of a sidecar is not encoded as a URI") from error
    return Checkpoint(
        files=files, small=found.small, inline=found.inline, parts=found.parts, sidecars=sidecars
    )


def _read_json(store: ReadStore, path: str) -> _TopLevel:
    try:
        inline = replay_json_checkpoint(read_json_checkpoint(store, path), path.rpartition("/")[2])
    except UnusableCheckpointError:
        raise
    except CorruptLogError as error:
        raise unusable(path, error.reason.rstrip(".")) from error
    except StorageError as error:
        raise store_failed(error) from error
    except DeltaError as error:
        raise unusable(path, error.problem.rstrip(".")) from error
    if inline.decides_files and inline.sidecars:
        inline = replace(inline, problems=(*inline.problems, _mixed(path)))
    return _TopLevel(
        small=inline.small,
        inline=inline,
        parts=(),
        sidecars=tuple(_named(body) for body in inline.sidecars),
        described_versions=inline.checkpoint_versions,
    )


def _read_parquet(
    store: ReadStore, names: Sequence[str], sizes: Mapping[str, int], *, until_both: bool
) -> _TopLevel:
    def read(name: str) -> tuple[ParquetPart, Iterable[dict[str, Any]]]:
        part = open_part(store, f"{LOG_FOLDER}/{name}", listed=sizes.get(name))
        if offers(store, RangeStore):
            return part, list(part.read_small())
        first = part.read_first(("protocol", "metaData")) if until_both else []
        return part, chain(first, part.read_small())

    small = SmallActions()
    parts: list[ParquetPart] = []
    sidecars: list[tuple[Any, Any]] = []
    versions: list[Any] = []
    for part, actions in map_concurrently(store, read, names):
        parts.append(part)
        for action in actions:
            if (sidecar := action.get("sidecar")) is not None:
                sidecars.append(_named(sidecar))
            elif (described := action.get("checkpointMetadata")) is not None:
                versions.append(described.get("version"))
            else:
                _offer(small, action, part)
            if until_both and None not in (small.protocol, small.metadata):
                break
        if until_both and None not in (small.protocol, small.metadata):
            break
    return _TopLevel(
        small=small,
        inline=EMPTY_TAIL,
        parts=tuple(parts),
        sidecars=tuple(sidecars),
        described_versions=tuple(versions),
    )


def _offer(small: SmallActions, action: dict[str, Any], part: ParquetPart) -> None:
    try:
        small.offer(_as_json(_without_empty_lists(action)), part.path.rpartition("/")[2])
    except CorruptLogError as error:
        raise unusable(part.path, error.reason.rstrip(".")) from error


def _check(found: _TopLevel, files: CheckpointFiles, path: str) -> None:
    if len(found.sidecars) > MOST_SIDECARS:
        raise too_many_sidecars(path)
    if not all(isinstance(name, str) and name for name, _ in found.sidecars):
        raise unusable(path, "it names a sidecar without a path")
    for name in ("protocol", "metaData"):
        # each version has both, so that every writer of checkpoints writes the columns
        if found.parts and not any(part.has(name) for part in found.parts):
            raise unusable(path, f"it has no column {name}")
    if files.kind != "v2":
        return
    # a text file may be cut off between two lines; what every one holds must be there
    if found.described_versions != (files.version,):
        raise unusable(path, "it has no checkpointMetadata of its version")
    if found.small.protocol is None or found.small.metadata is None:
        raise unusable(path, "it has no protocol or no metadata")


def _mixed(path: str) -> Problem:
    name = path.rpartition("/")[2]
    return Problem(
        kind="log_corrupt",
        problem=f"The checkpoint {name} has files both in itself and in sidecars.",
        reason="A V2 checkpoint has all of them in one of the two places; here all were taken.",
        remedy="Write a new checkpoint, and report this to the writer of this one.",
        place=name,
        spec="V2 Spec",
    )


def _named(body: Any) -> tuple[Any, Any]:
    if not isinstance(body, Mapping):
        return None, None
    size = body.get("sizeInBytes")
    return body.get("path"), size if isinstance(size, int) else None


def _sidecar(path: str, size: int | None) -> Sidecar:
    decoded = decode_path(path)
    place = decoded if is_absolute(path) else f"{SIDECAR_FOLDER}/{decoded}"
    return Sidecar(path=place, size=size, written=path)


def _as_json(value: Any, depth: int = 0) -> Any:
    """A value of Parquet as it stood in the commit: a map comes as pairs, and a struct
    has all fields of its column. What no action nests is left out."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        if value and all(isinstance(pair, tuple) for pair in value):
            value = dict(value)
        else:
            return [_as_json(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {key: _as_json(item, depth + 1) for key, item in value.items() if item is not None}
    return value


def _without_empty_lists(action: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Below reader 3 and writer 7 the feature lists are absent; some writers of
    checkpoints store them as empty."""
    body = action.get("protocol")
    if body is None:
        return action
    kept = dict(body)
    for names, number, least in (
        ("readerFeatures", "minReaderVersion", 3),
        ("writerFeatures", "minWriterVersion", 7),
    ):
        version = kept.get(number)
        if kept.get(names) == [] and isinstance(version, int) and version < least:
            kept[names] = None
    return {"protocol": kept}
