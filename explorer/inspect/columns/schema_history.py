"""When the schema changed, field by field (spec: Change Metadata, Schema Serialization Format)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final

import pyarrow as pa

from explorer.comparison.schema_changes import SchemaChange, schema_changes
from explorer.errors import CorruptLogError, DeltaError
from explorer.inspect.answer import LIMIT, VERSION, Answer
from explorer.inspect.commits.commit_fold import CommitFold
from explorer.inspect.commits.commit_lines import find_bodies
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, bool_column, int64_column, string_column, time_column
from explorer.log.commits.commit_info import CommitInfo, parse_commit_info, text_in
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import missing_versions
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import Metadata, Protocol, parse_metadata, parse_protocol
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.features.column_rules import without_high_water_marks
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.schema import StructType, parse_schema
from explorer.table.counts import count
from explorer.table.table import Table
from explorer.table.times import counting

COLUMNS: dict[str, Column] = {
    "version": (int64_column, pa.int64()),
    "version_exact": (bool_column, pa.bool_()),
    "timestamp": (time_column, TIME),
    "operation": (string_column, pa.string()),
    "user_name": (string_column, pa.string()),
    "engine_info": (string_column, pa.string()),
    "kind": (string_column, pa.string()),
    "path": (string_column, pa.string()),
    "path_before": (string_column, pa.string()),
    "before": (string_column, pa.string()),
    "after": (string_column, pa.string()),
    "meaning": (string_column, pa.string()),
    "log_file": (string_column, pa.string()),
    "line": (int64_column, pa.int64()),
}

_NAMED_COLUMNS: Final = 20
_FIRST_KINDS: Final = ("created", "known")
_ONE_SIDED: Final = frozenset({"added", "dropped", "created", "known", "unreadable"})
_VERBS: Final = frozenset({"added", "dropped", "renamed", "moved", "widened"})
_GONE: Final = "The log before this version is gone; what changed in it is not known."
_UNREAD: Final = "No earlier version has a schema that can be read."


def schema_history(
    table: Table,
    version: int | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per change of a field, up to `version`, the newest version first; within a version
    in the order of its schema.

    - `version`, and its `timestamp`, `operation`, `user_name` and `engine_info`, null where the
      commit does not record them. Where `version_exact` is false, commits before that version
      are missing, and the field may have changed in one of them
    - `kind`: those of `explorer.SchemaChange`, such as added, dropped, renamed, widened, type,
      nullability, comment, default and metadata; `created` for the first schema of the table,
      `known` for the first one that is known where the log before it is gone, or none before it
      can be read, as `meaning` says, with its columns in `after`; `unreadable` for one that
      cannot be read, with the reason in `meaning`
    - `path` of the field, that before it was renamed in `path_before`; what differs, `before` and
      `after`; `meaning`: what it is to readers and writers
    - `log_file` and `line` that say so; null for what a checkpoint says

    The mark up to which the numbers of an identity column are given out is no change. A table
    whose snapshot is refused answers. Each commit is read once for an open table.
    """
    found = table.listed_times.list_log(table.store)
    last = found.listing.latest_version if version is None else version
    watch = Watch(progress=progress, cancel=cancel)
    in_commit_since = cache(table.in_commit_since)
    rows = []
    for entry in reversed(_entries(table, found.listing, last, watch)):
        time = found.file_times.get(entry.version)
        if entry.info is not None and (recorded := entry.info.in_commit_ms) is not None:
            (counted,) = counting([recorded], [entry.version], in_commit_since())
            time = time if counted is None else counted
        rows += list(_rows(entry, time))
    return build_frame(COLUMNS, rows)


def schema_history_sentence(frame: pa.Table) -> str:
    """The answer in a sentence: `The schema changed in 2 versions, last in version 9: 1 column
    added, 1 renamed.`"""
    rows: list[dict[str, Any]] = frame.select(["version", "kind", "meaning"]).to_pylist()
    changed = [row["version"] for row in rows if row["kind"] not in _FIRST_KINDS]
    first = next((row for row in reversed(rows) if row["kind"] in _FIRST_KINDS), None)
    if not changed:
        since = "" if first is None else f" since version {first['version']}"
        text = f"The schema has not changed{since}"
    else:
        versions = count(len(set(changed)), "version")
        kinds = [row["kind"] for row in rows if row["version"] == changed[0]]
        text = f"The schema changed in {versions}, last in version {changed[0]}: {_counted(kinds)}"
    if first is not None and first["kind"] == "known":
        why = "that log is gone" if first["meaning"] == _GONE else "no schema there can be read"
        text += f". What was before version {first['version']} is not known: {why}"
    return text + "."


def sides_in_words(row: Mapping[str, Any]) -> list[str]:
    """What differs in a row of `schema_history`, before and after. A field that was added or
    dropped, and a schema, have one side; of all else the one that was not there is `(none)`, so
    that a comment that was taken away does not look like one that was given."""
    before, after = row["before"], row["after"]
    if row["kind"] in _ONE_SIDED or (before is None and after is None):
        return [str(side) for side in (before, after) if side is not None]
    return ["(none)" if side is None else str(side) for side in (before, after)]


def _counted(kinds: Sequence[str]) -> str:
    """`2 columns added, 1 renamed, type of 1 changed`: the noun stands once."""
    told: list[str] = []
    is_named = False
    for kind, number in Counter(kinds).items():
        if kind in {"unreadable", "partitioning"}:
            told.append("schema unreadable" if kind == "unreadable" else "partitioning changed")
            continue
        what = f"{number:,}" if is_named else count(number, "column")
        told.append(f"{what} {kind}" if kind in _VERBS else f"{kind} of {what} changed")
        is_named = True
    return ", ".join(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Described:
    """What says how the columns of a version are called."""

    protocol: Protocol
    metadata: Metadata

    @property
    def schema(self) -> StructType:
        """The schema, identity columns without their marks."""
        text = self.metadata.schema_string
        return _parsed(None if text is None else without_high_water_marks(text))

    def differs(self, other: _Described) -> bool:
        """Whether one of the facts is another that `schema_changes` looks at."""
        return self._looked_at() != other._looked_at()

    def _looked_at(self) -> tuple[Any, ...]:
        text = self.metadata.schema_string
        mode = column_mapping_mode(self.protocol, self.metadata.configuration)
        marked = None if text is None else without_high_water_marks(text)
        return (marked, self.metadata.partition_columns, mode)


@lru_cache(maxsize=4)
def _parsed(schema_string: str | None) -> StructType:
    return parse_schema(schema_string)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What a version changed, or the first schema that is known; `schema` is the one after it,
    `line` is None where no commit says so."""

    version: int
    schema: _Described
    changes: tuple[SchemaChange, ...] = ()
    is_first: bool = False
    is_exact: bool = True
    is_late: bool = False
    """Whether it is the first schema that is left, and the log before it is gone."""
    problem: str | None = None
    line: int | None = None
    info: CommitInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What is in force; None for what is not known."""

    protocol: Protocol | None = None
    schema: _Described | None = None


def _after(data: bytes, version: int, before: _State) -> tuple[_State, _Entry | None]:
    """What is in force after a commit, and what it changed of the schema."""
    name = render_commit_name(version)
    protocol, metadata, line = before.protocol, None, 0
    for number, kind, body in find_bodies(data, name, ("protocol", "metaData")):
        try:
            if kind == "protocol":
                protocol = parse_protocol(body, f"{name}:{number}")
            else:
                metadata, line = parse_metadata(body, f"{name}:{number}"), number
        except CorruptLogError:
            continue  # the timeline tells of broken commits
    state = replace(before, protocol=protocol)
    if metadata is None or protocol is None:
        return state, None
    schema = _Described(protocol=protocol, metadata=metadata)
    entry = _compare(before.schema, schema, version)
    if entry is None:
        return replace(state, schema=schema), None
    kept = before.schema if entry.problem is not None else schema
    told = replace(entry, line=line, info=_info(data, version))
    return replace(state, schema=kept), told


_FOLD: Final = CommitFold("Reading schemas", _after)


def _info(data: bytes, version: int) -> CommitInfo | None:
    try:
        found = parse_commit_info(data, version)
    except CorruptLogError:
        return None
    named = ("operation", "userName", "engineInfo", "inCommitTimestamp")
    return found._replace(body={key: found.body.get(key) for key in named})


def _compare(before: _Described | None, after: _Described, version: int) -> _Entry | None:
    """What differs, None where nothing does."""
    if before is not None and not before.differs(after):
        return None
    try:
        _ = after.schema
        changes = () if before is None else schema_changes(before, after)
    except CorruptLogError as error:
        text = f"{error.problem} {error.reason}"
        return _Entry(version=version, schema=after, problem=text)
    if before is None:
        return _Entry(version=version, schema=after, is_first=True)
    return _Entry(version=version, schema=after, changes=changes) if changes else None


def _entries(table: Table, listing: LogListing, last: int | None, watch: Watch) -> Sequence[_Entry]:
    """What each version up to `last` changed, oldest first."""
    versions = tuple(number for number in listing.commits if last is None or number <= last)
    base = None if versions and versions[0] == 0 else _oldest_checkpoint(table, listing, last)
    found: list[_Entry] = []
    if versions:
        # commits may have been cleaned up since they were read
        start = _State(protocol=None if base is None else base.schema.protocol)
        present = set(versions)
        read = _FOLD.upto(table, versions, start, watch)
        found = [entry for entry in read if entry.version in present]
    return _judge_gaps(_joined(table, base, found, versions, last), listing.commits)


def _joined(
    table: Table,
    base: _Entry | None,
    found: Sequence[_Entry],
    versions: tuple[int, ...],
    last: int | None,
) -> list[_Entry]:
    """The entries of commits behind what the oldest checkpoint says, which holds since the
    commits before it did not say otherwise."""
    entries = list(found)
    if base is not None and (not entries or entries[0].version > base.version):
        since = min([base.version, *versions[:1]])
        first = replace(base, version=since)
        if entries:
            compared = _compare(base.schema, entries[0].schema, entries[0].version)
            told = replace(entries[0], is_first=False)
            entries[:1] = (
                [] if compared is None
                else [replace(told, changes=compared.changes, problem=compared.problem)]
            )  # fmt: skip
        entries.insert(0, first)
    readable = [entry for entry in entries if entry.problem is None]
    if readable and versions and missing_versions(versions, versions[0], versions[-1]):
        entries += _changed_in_gap(table, readable[-1], versions, last)
    return entries


def _changed_in_gap(
    table: Table, newest: _Entry, versions: tuple[int, ...], last: int | None
) -> Iterator[_Entry]:
    """What differs from the schema in force though no commit says so: a missing one did."""
    later = (number for number in versions if number > newest.version)
    after_gap = [
        number for number in later if missing_versions(versions, newest.version + 1, number)
    ]
    if not after_gap:
        return
    try:
        now = _Described(protocol=table.protocol(last), metadata=table.metadata(last))
        entry = _compare(newest.schema, now, after_gap[0])
    except DeltaError:
        return  # the version cannot be built, which its snapshot says
    if entry is not None:
        yield entry


def _oldest_checkpoint(table: Table, listing: LogListing, last: int | None) -> _Entry | None:
    for checkpoint in listing.checkpoints:
        if last is not None and checkpoint.version > last:
            break
        try:
            schema = _Described(
                protocol=table.protocol(checkpoint.version),
                metadata=table.metadata(checkpoint.version),
            )
        except DeltaError:
            continue  # a broken checkpoint; a later one says something, if less
        return _compare(None, schema, checkpoint.version)
    return None


def _judge_gaps(entries: Sequence[_Entry], commits: tuple[int, ...]) -> Sequence[_Entry]:
    judged, known_until = list[_Entry](), None
    for entry in entries:
        gap = known_until is not None and missing_versions(commits, known_until + 1, entry.version)
        is_late = entry.is_first and bool(missing_versions(commits, 0, entry.version - 1))
        judged.append(replace(entry, is_exact=not gap and not is_late, is_late=is_late))
        known_until = entry.version
    return judged


def _rows(entry: _Entry, time: int | None) -> Iterator[tuple[Any, ...]]:
    info: Mapping[str, Any] = {} if entry.info is None else entry.info.body
    when = (entry.version, entry.is_exact, time)
    by = tuple(text_in(info, key) for key in ("operation", "userName", "engineInfo"))
    place = (None if entry.line is None else render_commit_name(entry.version), entry.line)
    for change in _told(entry):
        yield (*when, *by, *change, *place)


def _told(entry: _Entry) -> Iterator[tuple[str | None, ...]]:
    if entry.problem is not None:
        yield ("unreadable", "", None, None, None, entry.problem)
    elif entry.is_first:
        kind = "known" if entry.version else "created"
        meaning = _GONE if entry.is_late else _UNREAD if entry.version else ""
        yield (kind, "", None, None, _columns_in_words(entry.schema.schema), meaning)
    for change in entry.changes:
        yield (
            change.kind,
            change.path,
            change.path_before,
            change.before,
            change.after,
            change.meaning,
        )


def _columns_in_words(schema: StructType) -> str:
    names = [field.name for field in schema.fields]
    shown = ", ".join(names[:_NAMED_COLUMNS])
    more = f" and {len(names) - _NAMED_COLUMNS} more" if len(names) > _NAMED_COLUMNS else ""
    return f"{count(len(names), 'column')}: {shown}{more}" if names else "no columns"


SCHEMA_HISTORY: Final = Answer(
    name="schema_history",
    parameters=(VERSION, LIMIT),
    ask=lambda table, progress, version=None: schema_history(table, version, progress=progress),
    documents=plain_rows,
    is_list=True,
)
