"""What goes wrong on Spark, as errors that a person may meet.

An error of ours that is raised in a task reaches the driver as a line of text inside
Spark's own exception; `translate` finds it there and raises it again as what it was.
"""

from __future__ import annotations

import contextlib
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from explorer.errors import (
    ERROR_KINDS,
    CancelledError,
    CorruptDataError,
    CorruptLogError,
    DeltaError,
    InvalidArgumentError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

_MARK: Final = "delta-explorer-error:"
_FOUND: Final = re.compile(re.escape(_MARK) + r"([A-Za-z0-9+/]+=*);")
_KINDS: Final[dict[str, type[DeltaError]]] = {
    "cancelled": CancelledError,
    "data_corrupt": CorruptDataError,
    "invalid_argument": InvalidArgumentError,
    **dict.fromkeys(
        ("data_missing", "table_not_found", "timestamp_out_of_range", "version_not_found"),
        NotFoundError,
    ),
    **dict.fromkeys(
        ("log_corrupt", "log_empty", "log_gap", "metadata_missing", "schema_invalid"),
        CorruptLogError,
    ),
    **dict.fromkeys(("storage_failed", "storage_refused"), StorageError),
}
_CANCELLED: Final = ("cancelled part of cancelled job group", "OPERATION_CANCELED", "was cancelled")
_STOPPED: Final = (
    "SparkContext has been shut down",
    "SparkContext was shut down",
    "stopped SparkContext",
    'SparkContext.dagScheduler()" is null',
    "INVALID_HANDLE.SESSION_CLOSED",
    "INVALID_HANDLE.SESSION_NOT_FOUND",
    "NO_ACTIVE_SESSION",
    "CONNECT_SESSION_CLOSED",
    "'NoneType' object has no attribute 'sc'",
)
_NO_CONNECTOR: Final = re.compile(
    r'No FileSystem for scheme "?([A-Za-z0-9+.-]+)|Class (org[\w.$]+FileSystem) not found'
)
_LOST: Final = ("ExecutorLostFailure", "Executor heartbeat timed out", "executor failures")
_GUARD: Final = "delta-explorer-guard:"
_GUARDED: Final = re.compile(re.escape(_GUARD) + r"(\w+):(\d+):([^;]*);")
GuardName = Literal["unknown", "count", "narrow"]
_GUARDS: Final[dict[str, str]] = {
    "unknown": "Spark read it, and the log does not know it: which of its rows are deleted "
    "cannot be told.",
    "count": "It has more rows than the log says.",
    "narrow": "It holds a whole number that is too large for the type of its column.",
}
_NO_FILE: Final = ("PATH_NOT_FOUND", "FILE_NOT_EXIST", "FileNotFoundException")
_BAD_FILE: Final = (
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE_FOOTER",
    "FAILED_TO_READ_FOOTER",
    "is not a Parquet file",
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
)
_READ_FILE: Final = re.compile(r"(file:/[^\s,\]]*[^\s,\].])")
_NO_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([A-Za-z0-9_.]+)'")


class TaskFailure(Exception):
    """What a task raises: the error's words for a person, and its fields for the driver."""

    def __init__(self, error: DeltaError) -> None:
        fields = b64encode(orjson.dumps(error.as_dict())).decode()
        super().__init__(f"{error} {_MARK}{fields};")


def render_guard(what: GuardName, version: int, path: Column) -> Column:
    """The message with which a row of the file at `path` stops a job."""
    from pyspark.sql import functions as fn

    return fn.concat(fn.lit(f"{_GUARD}{what}:{version}:"), path, fn.lit(";"))


def translate(error: BaseException, doing: str) -> DeltaError:
    """The error that an exception of Spark's stands for; `doing` is what was done, with
    table and version, for what is not one of ours."""
    if isinstance(error, DeltaError):
        return error
    text = _text_of(error)
    # the last: what stands before it may quote names of the table
    for found in reversed(_FOUND.findall(text)):
        with contextlib.suppress(ValueError, KeyError):
            return _from_fields(orjson.loads(b64decode(found)))
    if (guarded := _GUARDED.search(text)) is not None:
        return _from_guard(guarded[1], guarded[2], guarded[3])
    return _by_words(text, doing) or StorageError(
        f"{doing} failed on Spark.",
        reason=_first_line(text),
        remedy="The full text is in the exception that caused this one.",
    )


@contextlib.contextmanager
def clear_errors(doing: str) -> Iterator[None]:
    """Whatever Spark raises inside becomes a `DeltaError`.

    For use around actions on the DataFrames of this package::

        with pipeline.clear_errors("Counting the orders"):
            frame.count()
    """
    # an import of pyspark alone would bring the names of its exceptions, and py4j's are
    # others: what is caught is told by where it comes from
    try:
        yield
    except DeltaError:
        raise
    except Exception as error:
        if not _is_sparks(error):
            raise
        raise translate(error, doing) from error


def _is_sparks(error: Exception) -> bool:
    # of a session that was stopped py4j finds no gateway, and says so as of any None
    homes = ("pyspark", "py4j", "grpc")
    return type(error).__module__.partition(".")[0] in homes or (
        isinstance(error, AttributeError | ConnectionError) and "NoneType" in str(error)
    )


def _from_fields(fields: dict[str, Any]) -> DeltaError:
    kind = fields["kind"] if fields.get("kind") in ERROR_KINDS else None
    # who catches the error does so by its class, as if it had been raised here
    home = _KINDS.get(str(kind), UnsupportedError if kind else DeltaError)
    return home(
        str(fields["problem"]),
        reason=str(fields["reason"]),
        remedy=str(fields["remedy"]),
        kind=kind,
        spec=fields["spec"],
    )


def _from_guard(what: str, version: str, path: str) -> DeltaError:
    return CorruptDataError(
        f"The data file {path[-200:]} of version {version} cannot be believed.",
        reason=_GUARDS[what],
        remedy="Read it again; if it stays so, restore the file from a backup.",
        spec="Data Files",
    )


def _from_file(text: str, doing: str) -> DeltaError | None:
    """What Spark's own reader says of a file."""
    found = _READ_FILE.search(text)
    shown = found[1][-200:] if found else "A data file"
    if any(words in text for words in _NO_FILE):
        return NotFoundError(
            f"{doing} failed: {shown} is not there.",
            reason="The log names it, and there is no such file: a vacuum may have removed it.",
            remedy="Read a newer version, or restore the file from a backup.",
            kind="data_missing",
            spec="Data Files",
        )
    if any(words in text for words in _BAD_FILE):
        return CorruptDataError(
            f"{doing} failed: {shown} cannot be read.",
            reason=f"Spark says: {_first_line(text)}",
            remedy="Restore the file from a backup, or restore the table to a version without it.",
            spec="Data Files",
        )
    return None


def _by_words(text: str, doing: str) -> DeltaError | None:
    if (error := _from_file(text, doing)) is not None:
        return error
    if any(words in text for words in _CANCELLED):
        return CancelledError(
            f"{doing} was cancelled.",
            reason="Someone asked for it to stop.",
            remedy="Start it again if the answer is still wanted.",
        )
    if any(words in text for words in _STOPPED):
        return StorageError(
            f"{doing} was not finished.",
            reason="The Spark session was stopped in between.",
            remedy="Make a new session and start again.",
        )
    if any(words in text for words in _LOST):
        return StorageError(
            f"{doing} was not finished.",
            reason="Spark lost a process that worked on it, and gave up: it may have had too "
            "little memory.",
            remedy="Give executors more memory, or read fewer columns at once.",
        )
    if (unknown := _NO_CONNECTOR.search(text)) is not None:
        return UnsupportedError(
            f"{doing} failed: Spark does not reach the store.",
            reason=f"The session has nothing that reads {unknown[1] or unknown[2]}.",
            remedy="Give the session the connector, or leave the scheme out of "
            "spark.delta_explorer.schemes: then files are read through the table's own store.",
            kind="store_unsupported",
        )
    if (missing := _NO_MODULE.search(text)) is not None:
        return UnsupportedError(
            f"{doing} failed: the workers of Spark lack the package {missing[1]}.",
            reason="They run in another Python environment than this process.",
            remedy="Call pipeline.ship(spark) once, and install pyarrow, orjson and pyroaring "
            "where the workers run.",
            kind="missing_dependency",
        )
    return None


def _text_of(error: BaseException) -> str:
    """All that an exception says; those of py4j hold it in the JVM."""
    texts = [str(error)]
    java = getattr(error, "java_exception", None)
    if java is not None:
        with contextlib.suppress(Exception):
            texts.append(str(java.toString()))
    return "\n".join(texts)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # the first line of an exception from the JVM says that there was one
    told = [line for line in lines if not line.startswith("An error occurred while calling")]
    return (told or lines or ["It did not say why."])[0].lstrip(": ")[:300]
