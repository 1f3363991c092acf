"""Unknown fields of file actions, which are kept when the actions are written again
(spec: Protocol Evolution, Checkpoints).

Columns have no place for them. A checkpoint holds them as columns of its own; what commits
hold is read again where opening the log has met any, which is hardly ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import string_column
from explorer.log.actions.fields import KNOWN_NAMES, FileAction
from explorer.log.actions.keys import file_key
from explorer.log.checkpoint.json_checkpoint import read_json_checkpoint
from explorer.log.checkpoint.parquet_part import ParquetPart, open_part
from explorer.log.checkpoint_content.schema import no_column, type_of_values
from explorer.log.load import LoadedVersion
from explorer.log.reconcile.key_columns import keys_of
from explorer.log.reconcile.replay import Replay
from explorer.log.reconcile.tail import Tail
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.filenames import LOG_FOLDER, render_commit_name, render_commit_path


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownField:
    """One field: its type, and its values by the key of the file (see `key_columns`) where
    commits have it. The action's leaf of its name has those of checkpoints."""

    field: pa.Field
    action: FileAction
    keys: pa.Array
    values: pa.Array

    def build(self, files: FileColumns) -> pa.Array:
        """The values for `files`, which were read with `path`, `deletion_vector` and the
        leaf of the field's name."""
        found = files.leaves.get((self.field.name,))
        if found is None:
            keys = keys_of(files.table).combine_chunks()
            return self.values.take(pc.index_in(keys, value_set=self.keys))
        values = found.combine_chunks()
        if values.type == self.field.type:
            return values
        try:
            return values.cast(self.field.type)
        except pa.ArrowException as error:
            raise no_column(self.action, self.field.name) from error


def find_unknown_fields(loaded: LoadedVersion, action: FileAction) -> list[UnknownField]:
    """Those of all adds, or all removes, of a loaded version.

    Raises `UnsupportedError` where a field fits into no column.
    """
    stored = _stored_types(loaded, action)
    told = _told_by_commits(loaded, action)
    return [
        _field(action, name, stored.get(name, []), told.get(name, {}))
        for name in dict.fromkeys([*stored, *told])
    ]


def _field(
    action: FileAction, name: str, types: Sequence[pa.DataType], told: Mapping[str, Any]
) -> UnknownField:
    fields = [pa.field(name, kind) for kind in types]
    if told:
        fields.append(pa.field(name, type_of_values([*told.values()], action, name)))
    try:
        schemas = [pa.schema([item]) for item in fields]
        kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        values = pa.array([*told.values()], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise no_column(action, name) from error
    return UnknownField(
        field=pa.field(name, kind), action=action, keys=string_column([*told]), values=values
    )


def _stored_types(loaded: LoadedVersion, action: FileAction) -> dict[str, list[pa.DataType]]:
    """The types under which the files of the checkpoint have a field that is filled."""
    checkpoint, found = loaded.checkpoint, dict[str, list[pa.DataType]]()
    if checkpoint is None:
        return found
    sidecars = (open_part(loaded.store, one.path, one.size) for one in checkpoint.sidecars)
    for part in (*checkpoint.parts, *sidecars):
        for item in part.schema.field(action).type if part.has(action) else ():
            if item.name not in KNOWN_NAMES[action] and _is_filled(part, action, item.name):
                found.setdefault(item.name, []).append(item.type)
    return found


def _is_filled(part: ParquetPart, action: FileAction, name: str) -> bool:
    """Whether any value is there: writers give columns to all that they know of."""
    for group in range(part.num_groups):
        _, leaves = part.read_group(group, action, [], [(name,)])
        values = leaves[(name,)]
        if values.null_count < len(values):
            return True
    return False


@dataclass(slots=True)
class _Taker:
    """Takes the unknown fields of the actions that count, by name and key of the file."""

    action: FileAction
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, body: Mapping[str, Any], file: str, line: int, size: int) -> None:
        """Take what the columns have no place for."""
        del file, line, size
        for name, value in body.items():
            if value is not None and name not in KNOWN_NAMES[self.action]:
                key = file_key(body["path"], body.get("deletionVector"))
                self.found.setdefault(name, {})[key] = value

    def settle(self) -> None:
        """All values were found to fit before."""


def _told_by_commits(loaded: LoadedVersion, action: FileAction) -> dict[str, dict[str, Any]]:
    """Their values by name and key; those of a checkpoint of JSON lines too."""
    tails = [loaded.tail] if loaded.checkpoint is None else [loaded.tail, loaded.checkpoint.inline]
    if not any(_holds_unknown(tail, action) for tail in tails):
        return {}
    takers: dict[FileAction, _Taker] = {"add": _Taker("add"), "remove": _Taker("remove")}
    replay = Replay(takers["add"], takers["remove"])
    newest_first = loaded.segment.commits[::-1]
    files = loaded.store.read_many(map(render_commit_path, newest_first))
    for version, data in zip(newest_first, files, strict=True):
        replay.read(data, render_commit_name(version))
    if loaded.checkpoint is not None and _holds_unknown(loaded.checkpoint.inline, action):
        name = loaded.checkpoint.files.names[0]
        replay.read(read_json_checkpoint(loaded.store, f"{LOG_FOLDER}/{name}"), name)
    return takers[action].found


def _holds_unknown(tail: Tail, action: FileAction) -> bool:
    rows = tail.add_rows if action == "add" else tail.remove_rows
    return rows.holds_unknown
