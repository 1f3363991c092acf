"""What a vacuum must keep and what it may delete, worked out once more: JSON commits, sets
and dicts, by the specification alone and with nothing of the engine.

Slow, and only for tables whose commits are all there.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

DAY_MS = 86_400_000
_COMMIT = re.compile(r"\d{20}\.json")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_UNFINISHED = re.compile(r"\.tmp-(trial-)?[0-9a-f]{32}")
_STAGED = re.compile(r"rows-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.+")
_LIKE_A_VECTOR = re.compile(r"deletion_vector_.*\.bin", re.DOTALL)

Action = Mapping[str, Any]


@dataclass(kw_only=True)
class Named:
    """Files by how surely the log names them: below the root, as they are on disk; `perhaps`
    in a spelling that another writer may have meant; `elsewhere` by their last part alone."""

    inside: set[str] = field(default_factory=set)
    perhaps: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)

    def may_mean(self, path: str) -> bool:
        """Whether `path` could be one of them."""
        known = path in self.inside or path in self.perhaps
        return known or path.rpartition("/")[2] in self.elsewhere


@dataclass(frozen=True, kw_only=True)
class Fate:
    """`keep` are files that are there and may not go, `delete` those that may; of these the
    log names the `unclear` ones in such a way that they may be left as well."""

    keep: set[str]
    delete: set[str]
    unclear: set[str]

    def allows(self, deleted: set[str]) -> bool:
        """Whether just these files may go."""
        return self.delete - self.unclear <= deleted <= self.delete


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The log up to one version: the last action on each logical file, as (kind, body), and
    the change files with the time of their commit."""

    last: Mapping[tuple[str, str], tuple[str, Action]]
    changes: Mapping[str, int]
    metadata: Action

    @property
    def live(self) -> list[Action]:
        """The files of the version."""
        return [body for kind, body in self.last.values() if kind == "add"]

    @property
    def removed(self) -> list[Action]:
        """The tombstones."""
        return [body for kind, body in self.last.values() if kind == "remove"]


def decide(root: Path, now_ms: int, retention_ms: int, *, lite: bool = False) -> Fate:
    """Every file below `root` but the log's that must stay, or may go, at `now_ms`."""
    state = replay(root)
    cutoff = now_ms - retention_ms
    young = [body for body in state.removed if (body.get("deletionTimestamp") or 0) > cutoff]
    old = [body for body in state.removed if (body.get("deletionTimestamp") or 0) <= cutoff]
    kept = files_of(root, [*state.live, *young])
    name_all(root, (path for path, time in state.changes.items() if time > cutoff), kept)
    gone = files_of(root, old).inside
    absolute = [body for body in old if "%" in body["path"] and _is_absolute(body["path"])]
    unclear = files_of(root, absolute).inside
    past_changes = Named()
    name_all(root, (path for path, time in state.changes.items() if time <= cutoff), past_changes)
    columns = _partition_columns(state.metadata)
    delete: set[str] = set()
    there = dict(list_files(root))
    for path, modified in _by_job(there).items():
        if kept.may_mean(path) or is_hidden(path, columns) or _SCHEME.match(path):
            continue
        if lite:
            may_go = path in gone or path in past_changes.inside
        else:
            may_go = path in gone or (is_like_ours(path) and 0 < modified <= cutoff)
        if may_go:
            delete.add(path)
    keep = {path for path in there if path in kept.inside}
    return Fate(keep=keep, delete=delete, unclear=unclear)


def _by_job(there: Mapping[str, int]) -> dict[str, int]:
    """Times of files; what Spark made for one writer is as old as the newest of it."""
    newest: dict[str, int] = {}
    staged = [path for path in there if _STAGED.fullmatch(path)]
    for path in staged:
        job = path.partition("/")[0]
        newest[job] = max(newest.get(job, 0), there[path])
    return {**there, **{path: newest[path.partition("/")[0]] for path in staged}}


def replay(root: Path, version: int | None = None) -> Replayed:
    """The commits from the first on, one after the other."""
    last: dict[tuple[str, str], tuple[str, Action]] = {}
    changes: dict[str, int] = {}
    metadata: Action = {}
    for number, time, actions in commits_of(root):
        if version is not None and number > version:
            break
        for kind, body in (pair for action in actions for pair in action.items()):
            if kind in {"add", "remove"}:
                last[same_file(root, body["path"]), _vector_id(body)] = (kind, body)
            elif kind == "cdc":
                changes[body["path"]] = time
            elif kind == "metaData":
                metadata = body
    return Replayed(last=last, changes=changes, metadata=metadata)


def commits_of(root: Path) -> Iterator[tuple[int, int, list[Action]]]:
    """Version, time in milliseconds (later than the one before) and actions of each commit."""
    places = sorted(p for p in (root / "_delta_log").iterdir() if _COMMIT.fullmatch(p.name))
    assert [int(place.stem) for place in places] == list(range(len(places))), "not from the first"
    before, timed = -1, False
    for place in places:
        actions = [json.loads(line) for line in place.read_text().split("\n") if line.strip()]
        for action in actions:
            if settings := action.get("metaData", {}).get("configuration"):
                timed = settings.get("delta.enableInCommitTimestamps") == "true"
        recorded = next((a["commitInfo"] for a in actions if "commitInfo" in a), {})
        time = recorded.get("inCommitTimestamp") if timed else None
        before = max(time or place.stat().st_mtime_ns // 1_000_000, before + 1)
        yield int(place.stem), before, actions


def files_of(root: Path, bodies: Iterable[Action]) -> Named:
    """The data files of adds or removes, and the files of their deletion vectors."""
    found = Named()
    for body in bodies:
        name_all(root, [body["path"]], found)
        vector = body.get("deletionVector")
        if vector and vector["storageType"] == "u":
            place = vector["pathOrInlineDv"]
            name = f"deletion_vector_{_decode_uuid(place[-20:])}.bin"
            found.inside.add(f"{place[:-20]}/{name}" if place[:-20] else name)
        elif vector and vector["storageType"] == "p":
            name_all(root, [vector["pathOrInlineDv"]], found)
    return found


def name_all(root: Path, paths: Iterable[str], found: Named) -> None:
    """Add the files of the log's paths."""
    for path in paths:
        place = _below(root, path)
        if place is None:
            found.elsewhere |= {unquote(path).rpartition("/")[2], path.rpartition("/")[2]}
        else:
            found.inside.add(os.path.normpath(unquote(place)))
            found.perhaps |= {place, unquote(place)}


def same_file(root: Path, path: str) -> str:
    """One spelling for the paths of one file."""
    below = _below(root, path)
    return path if below is None else below


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or _SCHEME.match(path) is not None


def _below(root: Path, path: str) -> str | None:
    """The path below the root, still encoded; None where it leads elsewhere."""
    if not _is_absolute(path):
        return path
    if path.startswith("file:"):
        path = "/" + path[len("file:") :].lstrip("/")
    for start in (f"{root}/", str(root).replace(" ", "%20") + "/"):
        if path.startswith(start):
            return path[len(start) :]
    if unquote(path).startswith(f"{root}/"):
        return unquote(path)[len(f"{root}/") :].replace("%", "%25")
    return None


def list_files(root: Path) -> Iterator[tuple[str, int]]:
    """Plain files below the root without the log, with their times in milliseconds."""
    for folder, folders, names in os.walk(root):
        if Path(folder) == root:
            folders[:] = [name for name in folders if name != "_delta_log"]
        for name in names:
            place = Path(folder, name)
            if place.is_file() and not place.is_symlink():
                yield (
                    place.relative_to(root).as_posix(),
                    place.stat().st_mtime_ns // 1_000_000,
                )


def is_hidden(path: str, columns: Iterable[str]) -> bool:
    """Below a folder, or with a name, that begins with `_` or `.`; what our writers call a file
    before it is finished hides it from others alone, and so does what Spark calls it."""
    if _STAGED.fullmatch(path):
        return False
    parts = path.split("/")
    if parts[0] == "_change_data" and len(parts) > 1:
        parts = parts[1:]
    *folders, name = parts
    starts = tuple(f"{column}=" for column in columns)
    by_name = name[:1] in "_." and _UNFINISHED.fullmatch(name) is None
    return by_name or any(
        folder[:1] in {"_", "."} and not folder.startswith(starts) for folder in folders
    )


def is_like_ours(path: str) -> bool:
    """Whether a file that no version knows looks like one of a table."""
    name = path.rpartition("/")[2]
    return (
        name.endswith(".parquet")
        or _LIKE_A_VECTOR.fullmatch(name) is not None
        or _UNFINISHED.fullmatch(name) is not None
        or _STAGED.fullmatch(path) is not None
        or path.startswith("_change_data/")
    )


def _partition_columns(metadata: Action) -> list[str]:
    columns = json.loads(metadata["schemaString"])["fields"]
    physical = {
        column["name"]: column["metadata"].get("delta.columnMapping.physicalName", column["name"])
        for column in columns
    }
    logical = list(metadata["partitionColumns"])
    return [*logical, *(physical[name] for name in logical if name in physical)]


def _vector_id(body: Action) -> str:
    vector = body.get("deletionVector")
    if not vector:
        return ""
    return f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}"


def _decode_uuid(text: str) -> uuid.UUID:
    data = b""
    for at in range(0, len(text), 5):
        number = 0
        for letter in text[at : at + 5]:
            number = number * 85 + _Z85.index(letter)
        data += number.to_bytes(4, "big")
    return uuid.UUID(bytes=data)


def encode_uuid(value: uuid.UUID) -> str:
    """The way back: the twenty characters of a deletion vector's place."""
    text = ""
    for at in range(0, 16, 4):
        number = int.from_bytes(value.bytes[at : at + 4], "big")
        text += "".join(_Z85[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text
