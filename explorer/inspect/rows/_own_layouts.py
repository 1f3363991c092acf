"""How files of older versions are read as rows of the newest one: by the layout and schema of
their own version (spec: Change Metadata, Column Mapping).

A table may be replaced: what was a partition column is stored in the files then, or the other
way round, and columns of one name may be stored under others. A file is described by the
version that added it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from explorer.comparison.matched_fields import Described
from explorer.comparison.schema_changes import schema_changes
from explorer.errors import CorruptLogError, DeltaError
from explorer.inspect.commits.commit_lines import read_commits
from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.log.reconcile.small_actions import SmallActions
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.features.registry import is_supported
from explorer.protocol.features.type_widening import is_widening
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.schema import StructField, render_type
from explorer.rows.changes.change_range import TableState
from explorer.rows.layout import build_layout
from explorer.rows.older_columns import columns_as_in, matched_columns
from explorer.rows.request import RowRequest
from explorer.table.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class OwnLayout:
    """What files that were added while `state` was in force are read by: `seen` names their columns
    as the newest version does, and `request` reads them. Where that is not possible, both are
    None, and `reason` says why. `columns` are those that the newest version has too, by its names;
    None where they cannot be known."""

    state: TableState
    columns: frozenset[str] | None = None
    seen: TableState | None = None
    request: RowRequest | None = None
    reason: str = ""


class OwnLayouts:
    """The layouts of a range of versions, learned commit by commit, oldest first."""

    def __init__(self, end: Snapshot, request: RowRequest) -> None:
        """For rows of `end` that `request` asks for."""
        self._end = end
        self._request = request
        self._known: list[tuple[int, OwnLayout]] = []
        self._later: tuple[int, list[tuple[int, TableState]]] | None = None

    def begin_with(self, version: int, state: TableState) -> OwnLayout:
        """What was in force at the version with which the search begins."""
        self._known = [(version, self._layout(version, state))]
        return self._known[0][1]

    def take(self, commits: Sequence[tuple[int, bytes]]) -> None:
        """Learn what these commits change; one that cannot be parsed changes nothing that
        anybody could know."""
        for version, data in commits:
            before = self._known[-1][1].state if self._known else None
            if (state := _changed(before, version, data)) is not None:
                self._known.append((version, self._layout(version, state)))

    def at(self, version: int) -> OwnLayout:
        """What was in force at a version that was taken."""
        for start, layout in reversed(self._known):
            if start <= version:
                return layout
        if self._known:
            return self._known[0][1]
        # the log does not say: as the newest version
        end = TableState(protocol=self._end.protocol, metadata=self._end.metadata)
        return OwnLayout(state=end, seen=end, request=self._request)

    @property
    def columns(self) -> list[tuple[int, frozenset[str] | None]]:
        """Of the newest version's columns those that there were, by the version since when;
        None where that is not known."""
        return [(start, layout.columns) for start, layout in self._known]

    def _layout(self, version: int, state: TableState) -> OwnLayout:
        end = self._end
        if (state.protocol, state.metadata) == (end.protocol, end.metadata):
            every = frozenset(end.schema.names)
            return OwnLayout(state=state, columns=every, seen=state, request=self._request)
        names = None
        try:
            columns = self._columns(version, state)
            names = frozenset(columns)
            reason = next(_unreadable(state, end, columns), "")
            if reason:
                return OwnLayout(state=state, columns=names, reason=reason)
            protocol, metadata = columns_as_in(state, end, columns)
            seen = TableState(protocol=protocol, metadata=metadata)
            layout = build_layout(
                schema=seen.schema,
                protocol=seen.protocol,
                metadata=seen.metadata,
                uri=end.uri,
                version=end.version,
            )
        except DeltaError as error:
            reason = f"{error.problem} {error.reason}"
            return OwnLayout(state=state, columns=names, reason=reason)
        # a file of before row tracking has no ids, and is asked for them all the same
        layout = replace(layout, tracks_rows=self._request.layout.tracks_rows)
        request = replace(self._request, layout=layout)
        return OwnLayout(state=state, columns=names, seen=seen, request=request)

    def _columns(self, version: int, state: TableState) -> dict[str, StructField]:
        """The columns of a version by their names in the newest one.

        A table that is replaced gets new columns of the same names, and in its history they stand
        for the old ones; a column that was dropped and one that was added under its name later
        are two. Only the versions between tell which it was.
        """
        end = self._end
        matched = matched_columns(state, end)
        left = {item.name for item in state.schema.fields} - {own.name for own in matched.values()}
        is_ended = self._has_ended(version, state)
        if not is_ended and (not left or len(matched) == len(end.schema.fields)):
            return matched
        columns = {item.name: item for item in state.schema.fields}
        before: Described = state
        steps: list[Described] = [after for _, after in self._after(version, state)]
        for after in [*steps, end]:
            step = _kept_columns(before, after)
            columns = {new: columns[old] for new, old in step.items() if old in columns}
            before = after
        return columns if is_ended else columns | matched

    def _has_ended(self, version: int, state: TableState) -> bool:
        """Whether mapping was on at a version or after it and is no more: the name of a column may
        be that of another one in older files then."""
        if _maps_columns(self._end):
            return False
        if _maps_columns(state):
            return True
        return is_supported(self._end.protocol, "columnMapping") and any(
            _maps_columns(after) for _, after in self._after(version, state)
        )

    def _after(self, version: int, state: TableState) -> list[tuple[int, TableState]]:
        """What the commits after a version put in force; they are read at the first call."""
        if self._later is None or self._later[0] > version:
            found: list[tuple[int, TableState]] = []
            versions = range(version + 1, self._end.version + 1)
            before = state
            for at, data in zip(versions, read_commits(self._end.store, versions), strict=True):
                changed = None if isinstance(data, DeltaError) else _changed(before, at, data)
                if changed is not None:
                    found.append((at, changed))
                    before = changed
            self._later = version, found
        return [(at, one) for at, one in self._later[1] if at > version]


def _maps_columns(version: Described) -> bool:
    return column_mapping_mode(version.protocol, version.metadata.configuration) != "none"


def _changed(before: TableState | None, version: int, data: bytes) -> TableState | None:
    """What a commit puts in force; None where it changes nothing, or cannot be parsed."""
    if not may_name(data, "metaData", "protocol"):
        return None
    found, name = SmallActions(), render_commit_name(version)
    try:
        for number, line in lines_reversed(data):
            found.offer(parse_action(line, name, number), f"{name}:{number}")
    except CorruptLogError:
        return None
    protocol = found.protocol or (before.protocol if before else None)
    metadata = found.metadata or (before.metadata if before else None)
    if protocol is None or metadata is None:
        return None
    return TableState(protocol=protocol, metadata=metadata)


def _kept_columns(before: Described, after: Described) -> dict[str, str]:
    """The names of columns that a commit kept, or replaced under their name, by the new ones."""
    found = {new: own.name for new, own in matched_columns(before, after).items()}
    taken = set(found.values())
    free = {name.lower(): name for name in before.schema.names if name not in taken}
    for name in after.schema.names:
        if name not in found and name.lower() in free:
            found[name] = free[name.lower()]
    return found


def _unreadable(
    state: TableState, end: Snapshot, columns: Mapping[str, StructField]
) -> Iterator[str]:
    """Why rows of older files cannot be shown as rows of the newest version."""
    for change in schema_changes(state, end):
        if change.kind == "type":
            yield _other_type(change.path, change.before or "", change.after or "")
    matched = matched_columns(state, end)
    for new in end.schema.fields:
        own = columns.get(new.name)
        if own is not None and new.name not in matched:
            same = own.data_type == new.data_type or is_widening(own.data_type, new.data_type)
            if not same:
                yield _other_type(new.name, render_type(own.data_type), render_type(new.data_type))


def _other_type(path: str, before: str, after: str) -> str:
    return (
        f"In the schema of its version `{path[:100]}` is {before[:60]}, in that of the newest "
        f"version {after[:60]}."
    )
