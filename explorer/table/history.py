"""The commits of a table as a table (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from explorer.log.commit_info import CommitInfo, monotonic, read_commit_infos
from explorer.log.listing import LogListing
from explorer.storage.ports import ReadStore
from explorer.table.times import modification_times

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

_BATCH = 4096


def read_history(store: ReadStore, listing: LogListing, limit: int | None) -> pa.Table:
    """The newest `limit` commits (all where None), newest first, as `HISTORY_SCHEMA`.

    What a commit does not record, or records as another type, is null. A
    commit's time is its in-commit timestamp, else its file's modification time.
    """
    versions = listing.commits[::-1] if limit is None else listing.commits[::-1][: max(limit, 0)]
    checkpoints = {found.version for found in listing.checkpoints}
    batches: list[pa.RecordBatch] = []
    file_times: dict[int, int] | None = None
    waiting: list[CommitInfo] = []
    for info in read_commit_infos(store, versions):
        if info.in_commit_ms is None and file_times is None:
            file_times = _file_times(store, versions)
        waiting.append(info)
        if len(waiting) == _BATCH:
            batches.append(_batch(waiting, file_times or {}, checkpoints))
            waiting = []
    if waiting:
        batches.append(_batch(waiting, file_times or {}, checkpoints))
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


def _file_times(store: ReadStore, newest_first: Sequence[int]) -> dict[int, int]:
    ascending = newest_first[::-1]
    return dict(zip(ascending, monotonic(modification_times(store, ascending)), strict=True))


def _batch(
    infos: Sequence[CommitInfo], file_times: Mapping[int, int], checkpoints: set[int]
) -> pa.RecordBatch:
    bodies = [info.body for info in infos]

    def typed(key: str, kind: type) -> list[Any]:
        # `type is`: true and false are integers to Python
        return [value if type(value := body.get(key)) is kind else None for body in bodies]

    def texts(key: str) -> list[dict[str, str | None] | None]:
        return [_texts(body.get(key)) for body in bodies]

    times = [
        info.in_commit_ms if info.in_commit_ms is not None else file_times.get(info.version)
        for info in infos
    ]
    columns: list[tuple[Callable[[Sequence[Any]], pa.Array], Sequence[Any]]] = [
        (int64_column, [info.version for info in infos]),
        (time_column, times),
        (string_column, typed("operation", str)),
        (string_map_column, texts("operationParameters")),
        (string_map_column, texts("operationMetrics")),
        (string_column, typed("userName", str)),
        (string_column, typed("engineInfo", str)),
        (int64_column, [_bounded(value) for value in typed("readVersion", int)]),
        (bool_column, typed("isBlindAppend", bool)),
        (bool_column, [info.version in checkpoints for info in infos]),
    ]
    return pa.RecordBatch.from_arrays(
        [build(values) for build, values in columns], schema=HISTORY_SCHEMA
    )


def _texts(value: Any) -> dict[str, str | None] | None:
    if not isinstance(value, Mapping):
        return None
    return {key: item if type(item) is str else text_of(item) for key, item in value.items()}


def _bounded(value: int | None) -> int | None:
    return value if value is not None and -(2**63) <= value < 2**63 else None
