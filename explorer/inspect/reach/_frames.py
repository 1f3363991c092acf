"""The frames of reachability: states as words, and versions with the same one as ranges."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from explorer.files.reachable import FOREVER
from explorer.log.actions.columns import TIME, int64_column, string_column
from explorer.log.plain_arrays import Flags, Numbers, build_array

LOG_GONE: Final = "log gone"
LOG_UNREADABLE: Final = "log not readable"
DATA_GONE: Final = "data gone"
VECTOR_GONE: Final = "deletion vector gone"
REFUSED: Final = "refused"
NOT_ENABLED: Final = "not enabled"
NOT_READ: Final = "not read yet"
PROMISED: Final = "promised"
UNPROTECTED: Final = "unprotected"
READABLE: Final = "readable"
READABLE_UNPROTECTED: Final = "readable, unprotected"

STATES: Final = (
    LOG_GONE,
    LOG_UNREADABLE,
    DATA_GONE,
    VECTOR_GONE,
    REFUSED,
    NOT_ENABLED,
    NOT_READ,
    PROMISED,
    UNPROTECTED,
    READABLE,
    READABLE_UNPROTECTED,
)
"""What `travel` and `feed` may say. Promised and unprotected are words of the log alone: the
files of a version are live or within retention, or any vacuum may have deleted them; readable says
that they were seen. Refused is a version whose protocol this engine must not read. The log is
gone where a file of it that the version needs is not there, and not readable where one is there
and cannot be read."""

GONE: Final = (LOG_GONE, LOG_UNREADABLE, DATA_GONE, VECTOR_GONE)
"""What leaves nothing to be read of a version."""

_WORDS: Final = pa.dictionary(pa.int32(), pa.string())
VERSIONS: Final = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", TIME),
        ("travel", _WORDS),
        ("travel_until", TIME),
        ("feed", _WORDS),
        ("feed_until", TIME),
        ("spark_refuses", pa.bool_()),
    ]
)
RANGES: Final = pa.schema(
    [
        ("what", pa.string()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("state", pa.string()),
        ("first_until", TIME),
        ("last_until", TIME),
        ("spark_refuses", pa.bool_()),
    ]
)


def code_of(state: str) -> int:
    """The position of a state in `STATES`."""
    return STATES.index(state)


def is_gone(codes: Numbers) -> Flags:
    """Which states leave nothing to be read."""
    found: Flags = codes < code_of(NOT_READ)
    return found


def ends_never(until: Numbers) -> Flags:
    """Which times never come."""
    found: Flags = until == FOREVER
    return found


def state_words(codes: Numbers) -> pa.Array:
    """Positions in `STATES` as a column of words."""
    return pa.DictionaryArray.from_arrays(
        build_array(codes.astype(np.int32)), string_column(list(STATES))
    )


def time_or_null(values: Numbers, unknown: Flags) -> pa.Array:
    """Milliseconds as a column of times, null where unknown."""
    return build_array(np.where(unknown, 0, values), unknown).cast(TIME)


def state_runs(
    what: str, codes: Numbers, until: Numbers, now_ms: int, refused: Flags | None = None
) -> pa.Table:
    """Versions with the same state as one row each; those whose time has passed are others, and
    so are those that Delta Spark refuses, where that is known (`refused`)."""
    is_past = ~is_gone(codes) & (until <= now_ms)
    is_refused = np.zeros(len(codes), np.bool_) if refused is None else refused & ~is_gone(codes)
    edges = np.flatnonzero(np.diff(codes * 4 + is_past * 2 + is_refused)) + 1
    starts = np.concatenate([[0], edges]).astype(np.int64)
    ends = np.append(edges, len(codes)).astype(np.int64) - 1
    unknown = is_gone(codes[starts])
    return pa.Table.from_arrays(
        [
            string_column([what] * len(starts)),
            int64_column(starts.tolist()),
            int64_column(ends.tolist()),
            string_column([STATES[code] for code in codes[starts]]),
            time_or_null(until[starts], unknown | ends_never(until[starts])),
            time_or_null(until[ends], unknown | ends_never(until[ends])),
            build_array(is_refused[starts], unknown | (refused is None)),
        ],
        schema=RANGES,
    )
