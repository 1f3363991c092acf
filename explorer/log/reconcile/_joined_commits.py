"""Several commits that were read into columns as one: what the newest of them says of each file
(spec: Action Reconciliation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from explorer.log.actions.fields import FileAction

if TYPE_CHECKING:
    from explorer.log.actions.action_structs import FileActions
    from explorer.log.commits.line_columns import JoinedColumns

_FILE_KINDS: Final = frozenset({"add", "remove", "cdc"})
_PROVENANCE: Final = frozenset({"commitInfo"})


def newest_actions(columns: JoinedColumns) -> Mapping[FileAction, FileActions] | None:
    """The actions of which no newer one has the key, whose keys differ; None where one commit
    may say a thing twice, which is a problem that names lines."""
    files = columns.files
    if not files or _has_paths_twice(columns):
        return None if files else files
    keys = [key for part in files.values() for key in part.keys]
    if len(set(keys)) == len(keys):
        return files
    lines = np.concatenate([columns.lines[action] for action in files])
    newest_first = np.argsort(lines)[::-1].tolist()
    commits = columns.files_of(lines).tolist()
    decided: dict[str, int] = {}
    wanted = [False] * len(keys)
    for at in newest_first:
        by = decided.setdefault(keys[at], at)
        if by == at:
            wanted[at] = True
        elif commits[by] == commits[at]:
            return None
    found: dict[FileAction, FileActions] = {}
    start = 0
    for action, part in files.items():
        found[action] = part.only(wanted[start : start + len(part.keys)])
        start += len(part.keys)
    return found


def small_actions(columns: JoinedColumns) -> Sequence[tuple[int, int, Mapping[str, Any]]] | None:
    """The actions on the other lines, save those that only say how a commit was made: the
    number of the commit and of the line in it (1-based), and the action. None where one speaks
    of a file, or is for the reader of lines to tell of."""
    numbers = np.array([number for number, _ in columns.others], np.int64)
    commits = columns.files_of(numbers)
    places = numbers - columns.first_lines[commits] + 1
    found: list[tuple[int, int, Mapping[str, Any]]] = []
    for at, (_, line) in enumerate(columns.others):
        try:
            action = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        if type(action) is not dict or not action.keys().isdisjoint(_FILE_KINDS):
            return None
        if action.keys() != _PROVENANCE:
            found.append((int(commits[at]), int(places[at]), action))
    return found


def _has_paths_twice(columns: JoinedColumns) -> bool:
    """Whether a commit may have a path in several actions of one kind, as only vectors let it."""
    for action, part in columns.files.items():
        if part.has_vectors:
            paths = [key.partition("\0")[0] for key in part.keys]
            commits = columns.files_of(columns.lines[action]).tolist()
            if len(set(zip(commits, paths, strict=True))) < len(paths):
                return True
    return False
