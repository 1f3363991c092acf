"""What one commit did to rows: from its actions to the files that hold them
(spec: Add CDC File).

One `cdc` action silences the adds and removes of its commit. Without any, files that
were added with `dataChange` are inserts, and removed files are deletes; of one whose
deletion vector changed, only the rows between the two vectors are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from explorer.log.actions.action_rows import wrong_field
from explorer.log.actions.fields import FileAction, misfit
from explorer.log.commits.commit_file import lines_reversed, parse_action
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.paths import normalise_path
from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor, parse_descriptor
from explorer.rows.data_file.data_file import DataFile

ChangeType = Literal["insert", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChanges:
    """A file of changes, each row with its type."""

    file: DataFile


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFile:
    """A file that was added or removed with all its live rows."""

    change_type: ChangeType
    file: DataFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedVector:
    """A file that stays: its rows between the vector that it had and the one that it got
    were inserted or deleted."""

    file: DataFile
    before: DeletionVectorDescriptor | None
    after: DeletionVectorDescriptor | None


Change = RecordedChanges | WholeFile | ChangedVector

PartitionValues = Mapping[str, str | None]
FindPartitionValues = Callable[[str, DeletionVectorDescriptor | None], PartitionValues]
"""From a path and a vector, as a remove has them, to the partition values with which that
file was added."""


def parse_changes(data: bytes, version: int, find: FindPartitionValues) -> list[Change]:
    """The changes of one commit; partition values go by physical names, as in the log.

    A remove need not repeat the partition values of its file; `find` is asked for them.
    Raises `CorruptLogError` for an action that cannot be read.
    """
    parser = _CommitParser(render_commit_name(version))
    for number, line in reversed(list(lines_reversed(data))):
        parser.take(parse_action(line, parser.name, number), number)
    return parser.changes(find)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileBody:
    """The fields of an action that matter here."""

    path: str
    size: int | None
    partition_values: PartitionValues | None
    vector: DeletionVectorDescriptor | None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None

    def file(self, find: FindPartitionValues | None = None) -> DataFile:
        """The file, its partition values looked up where the action has none."""
        values = self.partition_values
        if values is None:
            values = {} if find is None else find(self.path, self.vector)
        return DataFile(
            path=self.path,
            size=self.size,
            partition_values=values,
            deletion_vector=self.vector,
            base_row_id=self.base_row_id,
            default_row_commit_version=self.default_row_commit_version,
        )


class _CommitParser:
    def __init__(self, name: str) -> None:
        self.name = name
        self._recorded: list[_FileBody] = []
        # by path: what went and what came
        self._moved: dict[str, tuple[list[_FileBody], list[_FileBody]]] = {}

    def take(self, action: Mapping[str, Any], number: int) -> None:
        """The action of one line."""
        if (body := action.get("cdc")) is not None:
            self._recorded.append(self._body("cdc", body, number))
        for at, kind in enumerate(_SIDES):
            if (body := action.get(kind)) is None:
                continue
            found = self._body(kind, body, number)
            if type(changes := body.get("dataChange")) is not bool:
                raise wrong_field(f"{kind}.dataChange", "true or false", changes, self.name, number)
            if changes:
                sides = self._moved.setdefault(normalise_path(found.path), ([], []))
                sides[at].append(found)

    def changes(self, find: FindPartitionValues) -> list[Change]:
        """What all lines together come to."""
        if self._recorded:
            return [RecordedChanges(file=body.file()) for body in self._recorded]
        changes: list[Change] = []
        for went, came in self._moved.values():
            if len(went) == len(came) == 1:
                file = replace(came[0].file(), deletion_vector=None)
                changed = ChangedVector(file=file, before=went[0].vector, after=came[0].vector)
                changes.append(changed)
                continue
            # more of one path is none of the cases that the specification has
            deleted = (WholeFile(change_type="delete", file=body.file(find)) for body in went)
            inserted = (WholeFile(change_type="insert", file=body.file()) for body in came)
            changes.extend((*deleted, *inserted))
        return changes

    def _body(self, kind: str, body: Any, number: int) -> _FileBody:
        if type(body) is not dict:
            raise wrong_field(kind, "an object", body, self.name, number)
        # the fields of a cdc action are among those of an add
        action: FileAction = "remove" if kind == "remove" else "add"
        if (found := misfit(action, body)) is not None:
            field, wanted = found[0].partition(".")[2], found[1]
            raise wrong_field(f"{kind}.{field}", wanted, body.get(field), self.name, number)
        if type(path := body.get("path")) is not str:
            raise wrong_field(f"{kind}.path", "a string", path, self.name, number)
        vector = body.get("deletionVector")
        return _FileBody(
            path=path,
            size=body.get("size"),
            partition_values=body.get("partitionValues"),
            vector=None if vector is None else parse_descriptor(vector, f"{self.name}:{number}"),
            base_row_id=body.get("baseRowId"),
            default_row_commit_version=body.get("defaultRowCommitVersion"),
        )


_SIDES: tuple[FileAction, FileAction] = ("remove", "add")
