"""How files of older versions are read as rows of the newest one: by the layout and schema of
their own version (spec: Change Metadata, Column Mapping).

A table may be replaced: what was a partition column is stored in the files then, or the other
way round, and columns of one name may be stored under others. A file is described by the
version that added it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from explorer.comparison.matched_fields import MatchedField, match_schemas
from explorer.comparison.schema_changes import schema_changes
from explorer.errors import CorruptLogError, DeltaError
from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.log.reconcile.small_actions import SmallActions
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.features.type_widening import is_widening
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.schema import StructField, StructType, render_schema, render_type
from explorer.rows.changes.change_range import TableState
from explorer.rows.layout import build_layout
from explorer.rows.request import RowRequest
from explorer.table.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class OwnLayout:
    """What files that were added while `state` was in force are read by: `seen` names their columns
    as the newest version does, and `request` reads them. Where that is not possible, both are
    None, and `reason` says why."""

    state: TableState
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

    def begin_with(self, version: int, state: TableState) -> OwnLayout:
        """What was in force at the version with which the search begins."""
        self._known = [(version, self._layout(state))]
        return self._known[0][1]

    def take(self, commits: Sequence[tuple[int, bytes]]) -> None:
        """Learn what these commits change; one that cannot be parsed changes nothing that
        anybody could know."""
        for version, data in commits:
            if not may_name(data, "metaData", "protocol"):
                continue
            try:
                found = _small_actions(data, version)
            except CorruptLogError:
                continue
            before = self._known[-1][1].state if self._known else None
            protocol = found.protocol or (before.protocol if before else None)
            metadata = found.metadata or (before.metadata if before else None)
            if protocol is not None and metadata is not None:
                state = TableState(protocol=protocol, metadata=metadata)
                self._known.append((version, self._layout(state)))

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

    def _layout(self, state: TableState) -> OwnLayout:
        end = self._end
        if (state.protocol, state.metadata) == (end.protocol, end.metadata):
            return OwnLayout(state=state, seen=state, request=self._request)
        try:
            reason = next(_unreadable(state, end), "")
            if reason:
                return OwnLayout(state=state, reason=reason)
            seen = _seen_as(state, end)
            layout = build_layout(
                schema=seen.schema,
                protocol=seen.protocol,
                metadata=seen.metadata,
                uri=end.uri,
                version=end.version,
            )
        except DeltaError as error:
            return OwnLayout(state=state, reason=f"{error.problem} {error.reason}")
        # a file of before row tracking has no ids, and is asked for them all the same
        layout = replace(layout, tracks_rows=self._request.layout.tracks_rows)
        return OwnLayout(state=state, seen=seen, request=replace(self._request, layout=layout))


def _small_actions(data: bytes, version: int) -> SmallActions:
    found, name = SmallActions(), render_commit_name(version)
    for number, line in lines_reversed(data):
        found.offer(parse_action(line, name, number), f"{name}:{number}")
    return found


def _unreadable(state: TableState, end: Snapshot) -> Iterator[str]:
    """Why rows of older files cannot be shown as rows of the newest version."""
    for change in schema_changes(state, end):
        if change.kind == "type":
            yield _other_type(change.path, change.before or "", change.after or "")
    for own, new in _by_name(state, end):
        same = own.data_type == new.data_type or is_widening(own.data_type, new.data_type)
        if not same:
            yield _other_type(new.name, render_type(own.data_type), render_type(new.data_type))


def _other_type(path: str, before: str, after: str) -> str:
    return (
        f"In the schema of its version `{path[:100]}` is {before[:60]}, in that of the newest "
        f"version {after[:60]}."
    )


def _seen_as(state: TableState, end: Snapshot) -> TableState:
    """The state with the columns of the newest version, each stored as its own version has it."""
    own_of = dict(_matched(state, end))
    own_of |= {new.name: own for own, new in _by_name(state, end)}
    is_mapped = column_mapping_mode(state.protocol, state.metadata.configuration) != "none"
    fields = []
    for item in end.schema.fields:
        own = own_of.get(item.name)
        if own is not None and (is_mapped or own.name == item.name):
            item = replace(item, metadata=own.metadata)  # noqa: PLW2901  # stored as it was then
        fields.append(item)
    new_of = {own.name: name for name, own in own_of.items()}
    partitions = tuple(new_of[name] for name in state.metadata.partition_columns if name in new_of)
    schema = render_schema(StructType(fields=tuple(fields)))
    metadata = replace(state.metadata, schema_string=schema, partition_columns=partitions)
    return TableState(protocol=state.protocol, metadata=metadata)


def _matched(state: TableState, end: Snapshot) -> Iterator[tuple[str, StructField]]:
    """The columns of the newest version that the older one has, with its own fields."""
    for match in match_schemas(state, end):
        if not isinstance(match, MatchedField) or len(match.path_after) != 1:
            continue
        if match.before is not None and match.after is not None:
            yield match.after.name, match.before


def _by_name(state: TableState, end: Snapshot) -> Iterator[tuple[StructField, StructField]]:
    """Columns that are other ones by their ids, and have one name in both versions: a table
    that is replaced gets new ids."""
    matched = dict(_matched(state, end))
    taken = {own.name for own in matched.values()}
    free = {item.name.lower(): item for item in state.schema.fields if item.name not in taken}
    for item in end.schema.fields:
        if item.name not in matched and (own := free.get(item.name.lower())) is not None:
            yield own, item
