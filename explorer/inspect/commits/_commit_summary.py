"""What one commit did, in figures, from its own lines (spec: Actions).

Unknown is None and never 0. The rules:

- A path that is removed and added in the same commit stays in the table: its
  deletion vector (or its tags, or its row ids) changed. It counts as neither a
  file added nor a file removed, and its bytes as neither.
- Rows are those that the writer recorded in `operationMetrics` for DELETE,
  UPDATE and MERGE, where files say less: they are rewritten with rows that did
  not change. An updated row counts as removed and as added.
- Otherwise rows are those of the statistics, less the rows that a deletion
  vector hides. Actions without `dataChange` rearrange rows; they add and remove
  none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple, NoReturn

from explorer.errors import CorruptLogError
from explorer.inspect.commits._predicate_words import read_condition, without_ids
from explorer.inspect.commits.commit_lines import split_lines
from explorer.log.commits.commit_file import parse_action
from explorer.log.single_count import read_count

_NOTHING: dict[str, Any] = {}
_LARGEST = 2**63 - 1

LONGEST_TEXT = 1_000
"""Characters of a condition or message: a timeline holds those of every commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSummary:
    """Figures of one commit; None where the commit does not say.

    `in_commit_timestamp` is in milliseconds since the epoch. `schema_fingerprint` is that
    of the schema in the commit's metadata: two that differ are two schemas. `problem` names
    the first line that could not be read, with its place.
    """

    operation: str | None = None
    user_name: str | None = None
    engine_info: str | None = None
    predicate: str | None = None
    message: str | None = None
    in_commit_timestamp: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    bytes_added: int | None = None
    bytes_removed: int | None = None
    rows_added: int | None = None
    rows_removed: int | None = None
    deletion_vectors_added: int | None = None
    has_protocol: bool = False
    has_metadata: bool = False
    schema_fingerprint: str | None = None
    has_cdc: bool = False
    problem: str | None = None


class _File(NamedTuple):
    """What is kept of an add or a remove until its commit has been read."""

    size: int | None
    vector: tuple[Any, Any, Any] | None
    hidden: int | None
    physical_rows: int | None
    changes_data: bool

    @property
    def rows(self) -> int | None:
        """Rows that the action adds or removes."""
        if not self.changes_data:
            return 0
        if self.physical_rows is None or self.hidden is None:
            return None
        return self.physical_rows - self.hidden


class _Tally:
    """What has been seen of a commit so far; lives for one commit only."""

    __slots__ = ("adds", "info", "kinds", "metadata", "removes")

    def __init__(self) -> None:
        self.adds: dict[str, _File] = {}
        self.removes: dict[str, _File] = {}
        self.info: dict[str, Any] = _NOTHING
        self.metadata: dict[str, Any] = _NOTHING
        self.kinds: set[str] = set()

    def take(self, action: Mapping[str, Any], place: str) -> None:
        """Count one line."""
        for kind, body in action.items():
            if body is None:
                continue
            if kind == "add":
                self._take_file(self.adds, kind, body, place)
            elif kind == "remove":
                self._take_file(self.removes, kind, body, place)
            elif kind == "commitInfo" and isinstance(body, dict):
                self.info = body
            elif kind == "metaData" and isinstance(body, dict):
                self.metadata = body
            self.kinds.add(kind)

    def _take_file(self, files: dict[str, _File], kind: str, body: Any, place: str) -> None:
        if not isinstance(body, dict) or not isinstance(path := body.get("path"), str):
            _refuse(f"`{kind}` has no path", place)
        size = body.get("size")
        if _whole(size) is None and (size is not None or kind == "add"):
            _refuse(f"`{kind}.size` is not a whole number", place)
        changes = body.get("dataChange") is not False
        vector, hidden = _vector(body.get("deletionVector"))
        rows = count_records(body.get("stats")) if changes else 0
        files[path] = _File(size, vector, hidden, rows, changes)


def parse_summary(data: bytes, name: str) -> CommitSummary:
    """The figures of a commit file's bytes; `name` is the file's, for its places.

    A line that cannot be read leaves the figures unknown and says so in `problem`.
    """
    tally = _Tally()
    try:
        _count(tally, data, name)
    except CorruptLogError as error:
        return CommitSummary(**_recorded(tally), problem=f"{error.problem} {error.reason}")
    return CommitSummary(**_recorded(tally), **_figures(tally))


def _count(tally: _Tally, data: bytes, name: str) -> None:
    for number, line in split_lines(data):
        tally.take(parse_action(line, name, number), f"{name}:{number}")
    if not tally.kinds:
        _refuse("The commit has no action", name)


class UncountedFile(NamedTuple):
    """A removed file of which the commit does not say how many rows it had: its path as the log
    writes it, its deletion vector, and how many rows that hides."""

    path: str
    vector: tuple[Any, Any, Any] | None
    hidden: int


class UncountedRows(NamedTuple):
    """The rows that a commit says it removed, and the files whose rows it does not say."""

    rows: int
    files: tuple[UncountedFile, ...]


def find_uncounted(data: bytes, name: str) -> UncountedRows | None:
    """What is missing to tell how many rows a commit removed, where the adds of the files that it
    removed say it. None where nothing is missing, or more than that: a line is not readable, a
    vector does not say how many rows it hides, or rows were copied for a DELETE, UPDATE or MERGE
    whose writer did not count those that changed."""
    tally = _Tally()
    try:
        _count(tally, data, name)
    except CorruptLogError:
        return None
    is_copying = bool(tally.adds) and _text(tally.info.get("operation")) in _RECORDED
    if is_copying or _recorded_changes(tally.info):
        return None
    _, gone, stays = _sort_files(tally)
    changes = _changes_of_vectors(tally, stays)
    if changes is None:
        return None
    unknown = {path: file for path, file in gone.items() if file.rows is None}
    files = tuple(
        UncountedFile(path, file.vector, file.hidden)
        for path, file in unknown.items()
        if file.hidden is not None
    )
    rows = _sum([file.rows for path, file in gone.items() if path not in unknown], changes[1])
    if rows is None or not files or len(files) < len(unknown):
        return None
    return UncountedRows(rows, files)


def read_vector(body: Any) -> tuple[tuple[Any, Any, Any] | None, int | None]:
    """The identity of a deletion vector, as the log writes it, and how many rows it hides."""
    return _vector(body)


def _recorded(tally: _Tally) -> dict[str, Any]:
    info, kinds = tally.info, tally.kinds
    return {
        "operation": _text(info.get("operation")),
        "user_name": _text(info.get("userName")) or _text(info.get("userId")),
        "engine_info": _text(info.get("engineInfo")) or _text(info.get("clientVersion")),
        "predicate": read_predicate(_predicate(info.get("operationParameters"))),
        "message": (_text(info.get("userMetadata")) or "")[:LONGEST_TEXT] or None,
        "in_commit_timestamp": _whole(info.get("inCommitTimestamp")),
        "has_protocol": "protocol" in kinds,
        "has_metadata": "metaData" in kinds,
        "schema_fingerprint": _fingerprint(tally.metadata.get("schemaString")),
        "has_cdc": "cdc" in kinds,
    }


def _predicate(parameters: Any) -> str | None:
    return _text(parameters.get("predicate")) if isinstance(parameters, dict) else None


def read_predicate(text: str | None) -> str | None:
    """The condition that a writer recorded as `predicate`, cut; None where it is none."""
    # a condition beyond the limit is cut before it is read, so that a log of long ones is quick
    condition = read_condition(text)
    return None if condition is None else without_ids(condition[:LONGEST_TEXT])


def _fingerprint(schema: Any) -> str | None:
    if not isinstance(schema, str):
        return None
    return blake2b(schema.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _figures(tally: _Tally) -> dict[str, Any]:
    adds, removes = tally.adds, tally.removes
    new, gone, stays = _sort_files(tally)
    rows_added, rows_removed = _recorded_changes(tally.info) or _counted_changes(
        tally, new, gone, stays
    )
    return {
        "files_added": len(new),
        "files_removed": len(gone),
        "bytes_added": _sum([file.size for file in new.values()]),
        "bytes_removed": _sum([file.size for file in gone.values()]),
        "rows_added": rows_added,
        "rows_removed": rows_removed,
        "deletion_vectors_added": sum(
            file.vector is not None and (path not in stays or file.vector != removes[path].vector)
            for path, file in adds.items()
        ),
    }


def _sort_files(tally: _Tally) -> tuple[Mapping[str, _File], Mapping[str, _File], Set[str]]:
    """The files that are new, those that are gone, and the paths of those that stay."""
    adds, removes = tally.adds, tally.removes
    stays = adds.keys() & removes.keys()
    if not stays:
        return adds, removes, stays
    new = {path: file for path, file in adds.items() if path not in stays}
    return new, {path: file for path, file in removes.items() if path not in stays}, stays


def _counted_changes(
    tally: _Tally, new: Mapping[str, _File], gone: Mapping[str, _File], stays: Set[str]
) -> tuple[int | None, int | None]:
    """Rows added and removed by the statistics of the files."""
    changes = _changes_of_vectors(tally, stays)
    if changes is None:
        return None, None
    added = _sum([file.rows for file in new.values()], changes[0])
    if added is None and not stays:
        added = _metric(tally.info, "numOutputRows", "num_added_rows")
    return added, _sum([file.rows for file in gone.values()], changes[1])


def _changes_of_vectors(tally: _Tally, stays: Set[str]) -> tuple[int, int] | None:
    """How many rows the vectors of files that stay show again, and how many they newly hide; None
    where one of them does not say."""
    shown = hidden = 0
    for path in stays:
        change = _change_of_vector(tally.adds[path], tally.removes[path])
        if change is None:
            return None
        shown, hidden = shown + max(change, 0), hidden + max(-change, 0)
    return shown, hidden


def _change_of_vector(now: _File, before: _File) -> int | None:
    """How many more rows of one and the same file are visible than before."""
    if not now.changes_data:
        return 0
    if now.hidden is None or before.hidden is None:
        return None
    return before.hidden - now.hidden


_DELETED = ("numDeletedRows", "num_deleted_rows")
_UPDATED = ("numUpdatedRows", "num_updated_rows")
_MERGE_INSERTED = ("numTargetRowsInserted", "num_target_rows_inserted")
_MERGE_UPDATED = ("numTargetRowsUpdated", "num_target_rows_updated")
_MERGE_DELETED = ("numTargetRowsDeleted", "num_target_rows_deleted")

_RECORDED: Mapping[str | None, tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str]]]] = {
    "DELETE": ((), (_DELETED,)),
    "UPDATE": ((_UPDATED,), (_UPDATED,)),
    "MERGE": ((_MERGE_INSERTED, _MERGE_UPDATED), (_MERGE_DELETED, _MERGE_UPDATED)),
}
"""The operations that rewrite rows which stay as they were, with the metrics that together are
the rows that they added, and those that they removed."""


def _recorded_changes(info: dict[str, Any]) -> tuple[int, int] | None:
    """Rows added and removed as the writer counted them, for the operations in `_RECORDED`; None
    where it did not count all of them."""
    sides = _RECORDED.get(_text(info.get("operation")))
    if sides is None:
        return None
    added, removed = (_sum([_metric(info, *names) for names in side]) for side in sides)
    return None if added is None or removed is None else (added, removed)


def _metric(info: dict[str, Any], *names: str) -> int | None:
    """The first of `names` among the metrics; Spark writes numbers as strings."""
    metrics = info.get("operationMetrics")
    if not isinstance(metrics, dict):
        return None
    for name in names:
        value = metrics.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
            return int(value)
        if _whole(value) is not None:
            return _whole(value)
    return None


def count_records(stats: Any) -> int | None:
    """`numRecords` of a file's statistics (spec: Per-file Statistics)."""
    return read_count(stats) if isinstance(stats, str) else None


def _vector(body: Any) -> tuple[tuple[Any, Any, Any] | None, int | None]:
    """The identity of a deletion vector and how many rows it hides."""
    if body is None:
        return None, 0
    if not isinstance(body, dict):
        return ("", "", None), None
    identity = (body.get("storageType"), body.get("pathOrInlineDv"), body.get("offset"))
    return identity, _whole(body.get("cardinality"))


def _sum(values: Sequence[int | None], more: int = 0) -> int | None:
    known = [value for value in values if value is not None]
    total = sum(known, more)
    return total if len(known) == len(values) and total <= _LARGEST else None


def _whole(value: Any) -> int | None:
    """A count: a 64-bit integer that is not negative."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return value
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _refuse(reason: str, place: str) -> NoReturn:
    raise CorruptLogError(
        f"The log is not readable at {place}.",
        reason=f"{reason}.",
        remedy="Restore this log file from a backup, or ask the writer that made it for a fix.",
        spec="Actions",
    )
