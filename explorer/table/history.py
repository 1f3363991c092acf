"""The commits of a table as a table (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import NoneType
from typing import Any

import orjson
import pyarrow as pa

from explorer.log.columns import (
    STRING_MAP,
    TIME,
    bool_column,
    int64_column,
    string_column,
    string_map_column,
    time_column,
)
from explorer.log.commit_info import (
    COMMITS_AT_A_TIME,
    in_commit_ms,
    monotonic,
    read_provenance,
)
from explorer.log.listing import LogListing
from explorer.storage.ports import ReadStore
from explorer.table.times import counting, modification_times

HISTORY_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", TIME),
        ("operation", pa.string()),
        ("operation_parameters", STRING_MAP),
        ("operation_metrics", STRING_MAP),
        ("user_name", pa.string()),
        ("engine_info", pa.string()),
        ("read_version", pa.int64()),
        ("is_blind_append", pa.bool_()),
        ("is_checkpoint", pa.bool_()),
    ]
)

_Bodies = Sequence[Mapping[str, Any]]


def read_history(
    store: ReadStore,
    listing: LogListing,
    limit: int | None,
    in_commit_since: Callable[[], int | None],
) -> pa.Table:
    """The newest `limit` commits (all where None), newest first, as `HISTORY_SCHEMA`.

    What a commit does not record, or records as another type, is null. A
    commit's time is its in-commit timestamp from the version on that `in_commit_since`
    names (none where it answers None; asked only where a commit records one), else its
    file's modification time.
    """
    versions = listing.commits[::-1] if limit is None else listing.commits[::-1][: max(limit, 0)]
    times: list[int | None] = []
    file_times: list[int | None] = []
    recorded: list[list[pa.Array]] = []
    provenance = read_provenance(store, versions)
    while batch := list(islice(provenance, COMMITS_AT_A_TIME)):
        bodies = [body for body, _ in batch]
        file_times += [modified_ms for _, modified_ms in batch]
        times += map(in_commit_ms, bodies)
        recorded.append(_recorded(bodies))
    if times.count(None) < len(times):
        times = counting(times, versions, in_commit_since())
    if None in times:
        known = _file_times(store, listing, versions, file_times)
        times = [at if time is None else time for time, at in zip(times, known, strict=True)]
    checkpoints = {found.version for found in listing.checkpoints}
    batches: list[pa.RecordBatch] = []
    for number, columns in enumerate(recorded):
        part = slice(number * COMMITS_AT_A_TIME, (number + 1) * COMMITS_AT_A_TIME)
        arrays = [
            int64_column(versions[part]),
            time_column(times[part]),
            *columns,
            bool_column([version in checkpoints for version in versions[part]]),
        ]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=HISTORY_SCHEMA))
    return pa.Table.from_batches(batches, HISTORY_SCHEMA)


def text_of(value: Any) -> str | None:
    """A recorded value as text: strings as they are, everything else as JSON; None
    for what is nested too deep to be written again."""
    if value is None or isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return None


def _file_times(
    store: ReadStore,
    listing: LogListing,
    newest_first: Sequence[int],
    read: Sequence[int | None],
) -> list[int]:
    """Modification times, made monotonic; `read` are those that reading told."""
    known = [at for at in reversed(read) if at is not None]
    if len(known) < len(newest_first):
        known = modification_times(store, listing, newest_first[::-1])
    return monotonic(known)[::-1]


def _recorded(bodies: _Bodies) -> list[pa.Array]:
    """The columns from `operation` to `is_blind_append`."""
    return [
        string_column(_typed(bodies, "operation", str)),
        _text_map_column(bodies, "operationParameters"),
        _text_map_column(bodies, "operationMetrics"),
        string_column(_typed(bodies, "userName", str)),
        string_column(_typed(bodies, "engineInfo", str)),
        _read_versions(bodies),
        bool_column(_typed(bodies, "isBlindAppend", bool)),
    ]


def _typed(bodies: _Bodies, key: str, kind: type) -> list[Any]:
    values = [body.get(key) for body in bodies]
    # by type, not by class: true and false are integers to Python
    if set(map(type, values)) <= {kind, NoneType}:
        return values
    return [value if type(value) is kind else None for value in values]


def _text_map_column(bodies: _Bodies, key: str) -> pa.Array:
    maps = _typed(bodies, key, dict)
    try:
        return string_map_column(maps)
    except TypeError:  # not all values are strings
        texts = [found and {name: text_of(item) for name, item in found.items()} for found in maps]
        return string_map_column(texts)


def _read_versions(bodies: _Bodies) -> pa.Array:
    claimed = _typed(bodies, "readVersion", int)
    try:
        return int64_column(claimed)
    except OverflowError:
        return int64_column([_bounded(value) for value in claimed])


def _bounded(value: int | None) -> int | None:
    return value if value is not None and -(2**63) <= value < 2**63 else None
