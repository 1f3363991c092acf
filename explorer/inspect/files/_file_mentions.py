"""Where the commits mention one file (spec: Add File and Remove File, Add CDC File,
Deletion Vector Descriptor Schema).

Commits are searched as bytes for a part of the file's name that hardly any spelling of it
changes, and only the lines that hold it, or such a spelling, are parsed: a hundred thousand
commits take seconds.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, DeltaError
from explorer.files.store_paths import data_places
from explorer.inspect.commits.commit_lines import find_lines, read_commits, split_lines
from explorer.log.actions.columns import string_column
from explorer.log.commits.commit_file import parse_action
from explorer.log.plain_arrays import EMPTY
from explorer.progress import Watch
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.vectors.deletion_vectors import parse_relative_place, render_relative_place
from explorer.storage.ports import ReadStore

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_VECTOR = re.compile(r"deletion_vector_([0-9a-fA-F-]{36})\.bin")
_KINDS = ("add", "remove", "cdc")

# of a character that is `_PLAIN`: no writer needs it, and each may have it
_NEEDLESS_ESCAPE: Final = "%(?:2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF])"
_NEEDLESS: Final = re.compile(_NEEDLESS_ESCAPE.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A line of a commit that names the file: as the data file, the vector or the change
    file (`role`) of an add, a remove or a cdc. `of` is the data file's path in the log,
    `vector` the identity of its deletion vector, if any; `time_ms` as the action has it."""

    version: int
    line: int
    action: str
    role: str
    of: str
    vector: tuple[Any, Any, Any] | None
    time_ms: int | None

    @property
    def log_file(self) -> str:
        """The commit's file."""
        return render_commit_name(self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A file by its name below the root, or by an absolute path outside of it."""

    name: str
    root: str

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """Parts of the name, one of which stands in every line which speaks of the file and has
        no escape that it could do without."""
        last = self.name.rpartition("/")[2]
        found = _VECTOR.fullmatch(last)
        texts = [last]
        if found is not None:
            with contextlib.suppress(ValueError):
                texts.append(render_relative_place(UUID(found[1])))
        return tuple(_longest(text).encode() for text in texts)

    def is_data(self, path: Any) -> bool:
        """Whether a path of the log means this file."""
        if not isinstance(path, str):
            return False
        places = data_places(string_column([path]), self.root)
        return self.name in places.inside.to_pylist() or path == self.name

    def is_vector(self, vector: Any) -> bool:
        """Whether a descriptor (by the names of the log) means a vector in this file."""
        if not isinstance(vector, Mapping):
            return False
        kind, place = vector.get("storageType"), vector.get("pathOrInlineDv")
        if kind == "p":
            return self.is_data(place)
        if kind != "u" or not isinstance(place, str):
            return False
        try:
            return parse_relative_place(place) == self.name
        except (CorruptLogError, ValueError):
            return False

    def among(self, files: pa.Table) -> pa.Table:
        """The rows (path, deletion_vector and others) that may name it: few, and all that do."""
        vectors = files.column("deletion_vector")
        texts = [files.column("path")]
        if vectors.null_count < len(vectors):
            texts.append(pc.coalesce(pc.struct_field(vectors, "path_or_inline_dv"), EMPTY))
        masks = [pc.match_substring_regex(column, _NEEDLESS_ESCAPE) for column in texts]
        for token in self.tokens:
            masks += [pc.match_substring(column, token.decode()) for column in texts]
        found = masks[0]
        for mask in masks[1:]:
            found = pc.or_(found, mask)
        return files.filter(found)


def find_mentions(
    store: ReadStore, versions: Sequence[int], wanted: Wanted, watch: Watch
) -> Iterator[Mention]:
    """Every line of these commits that names the file, oldest first; a commit that cannot be
    read is passed over."""
    every = zip(versions, read_commits(store, versions), strict=True)
    for done, (version, data) in enumerate(every):
        watch.step(done, len(versions), "Searching the commits")
        if not isinstance(data, DeltaError):
            yield from _in_commit(data, version, wanted)


def _in_commit(data: bytes, version: int, wanted: Wanted) -> Iterator[Mention]:
    lines: dict[int, memoryview] = {}
    for token in wanted.tokens:
        lines |= dict(find_lines(data, token))
    if _NEEDLESS.search(data) is not None:
        lines |= {number: line for number, line in split_lines(data) if _NEEDLESS.search(line)}
    name = render_commit_name(version)
    for number in sorted(lines):
        try:
            action = parse_action(lines[number], name, number)
        except CorruptLogError:
            continue
        for kind in _KINDS:
            body = action.get(kind)
            if isinstance(body, Mapping) and isinstance(body.get("path"), str):
                yield from _in_action(kind, body, version, number, wanted)


def _in_action(
    kind: str, body: Mapping[str, Any], version: int, line: int, wanted: Wanted
) -> Iterator[Mention]:
    vector = body.get("deletionVector")
    time = body.get("deletionTimestamp" if kind == "remove" else "modificationTime")
    roles = {
        "change data" if kind == "cdc" else "data": wanted.is_data(body["path"]),
        "deletion vector": wanted.is_vector(vector),
    }
    for role, fits in roles.items():
        if fits:
            yield Mention(
                version=version,
                line=line,
                action=kind,
                role=role,
                of=body["path"],
                vector=_identity(vector),
                time_ms=time if type(time) is int and abs(time) < 2**62 else None,
            )


def _identity(vector: Any) -> tuple[Any, Any, Any] | None:
    if not isinstance(vector, Mapping):
        return None
    return vector.get("storageType"), vector.get("pathOrInlineDv"), vector.get("offset")


def _longest(text: str) -> str:
    """The longest part without a character that JSON, or an escape of a path, may change."""
    return max(_PLAIN.findall(text), key=len, default="")
