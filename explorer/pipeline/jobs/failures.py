"""What goes wrong on Spark, as errors that a person may meet.

In this order: an error of ours comes back as what it was, by the mark that it carries
(`explorer.pipeline.tasks.task_failures`). A file that Spark did not read is looked at again by our
own reader, which alone says that it is damaged. What Spark has against a query
is told as the mistake of whoever asked. All of it goes by what Spark says in fields; words are
looked for only in messages without any.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from explorer.errors import (
    CancelledError,
    DeltaError,
    InvalidArgumentError,
    StorageError,
    UnsupportedError,
)
from explorer.pipeline.native.recent_reads import diagnose_file, find_recent_read
from explorer.pipeline.tasks.spark_faults import SparkFault, fault_of, is_of_spark
from explorer.pipeline.tasks.task_failures import ErrorMark, guarded, refused

_UNREAD: Final = ("FAILED_READ_FILE", "CANNOT_READ_FILE_FOOTER", "PATH_NOT_FOUND")

# SQLSTATE: wrong number of values, data, or text of a query; functions and queries that
# raise; what Spark does not support
_MISTAKES: Final = ("21", "22", "42", "38", "39", "P0", "0A")
# Spark's classes for the same where an old message has no SQLSTATE
_MISTAKEN: Final = frozenset(
    {
        *("AnalysisException", "ParseException", "ArithmeticException", "NumberFormatException"),
        *("DateTimeException", "ArrayIndexOutOfBoundsException", "PythonException"),
        *("PySparkTypeError", "PySparkValueError", "PySparkAttributeError", "PySparkIndexError"),
    }
)

_CANCELLED: Final = ("SPARK_JOB_CANCELLED", "OPERATION_CANCELED")
_CANCELLED_WORDS: Final = ("cancelled part of cancelled job group", "was cancelled")
_STOPPED: Final = (
    "INVALID_HANDLE.SESSION_CHANGED",
    "INVALID_HANDLE.SESSION_CLOSED",
    "INVALID_HANDLE.SESSION_NOT_FOUND",
    "NO_ACTIVE_SESSION",
    "CONNECT_SESSION_CLOSED",
)
_STOPPED_WORDS: Final = (
    "SparkContext has been shut down",
    "SparkContext was shut down",
    "stopped SparkContext",
    'SparkContext.dagScheduler()" is null',
    "'NoneType' object has no attribute 'sc'",
)
_LOST_WORDS: Final = ("ExecutorLostFailure", "Executor heartbeat timed out", "executor failures")
# Spark gives the process of a stream ten seconds, which no setting changes
_SLOW_WORDS: Final = "Timed out while waiting for the Python worker to connect back"
_ENDED_BY: Final = " terminated with exception: "
_NO_CONNECTOR: Final = re.compile(
    r'No FileSystem for scheme "?([A-Za-z0-9+.-]+)|Class (org[\w.$]+FileSystem) not found'
)
_NO_MODULE: Final = re.compile(r"(?m)^ModuleNotFoundError: No module named '([A-Za-z0-9_.]+)'$")
_OUR_FRAME: Final = re.compile(r'(?m)^ *File "[^"\n]*[/\\]explorer[/\\](?:\w+[/\\])*\w+\.py", line')


def translate(error: BaseException, doing: str) -> DeltaError:
    """The error that an exception of Spark's stands for; `doing` is what was done, with
    table and version, for what is not one of ours."""
    if isinstance(error, DeltaError):
        return error
    fault = fault_of(error)
    return (
        ErrorMark().sent(fault.text)
        or guarded(fault)
        or refused(fault)
        or _of_file(fault, doing)
        or _of_session(fault, doing)
        or _of_workers(fault, doing)
        or _of_query(fault, doing)
        or StorageError(
            f"{doing} failed on Spark.",
            reason=fault.said,
            remedy="The full text is in the exception that caused this one.",
        )
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
        if not is_of_spark(error):
            raise
        raise translate(error, doing) from error


def _of_file(fault: SparkFault, doing: str) -> DeltaError | None:
    """Of a file that Spark did not read: what our own reader says of it, if it is one that
    we gave; else that Spark did not, and no more."""
    if not fault.condition.startswith(_UNREAD) or not (path := fault.parameters.get("path")):
        return None
    known = find_recent_read(path)
    if known is None and fault.state.startswith(_MISTAKES):
        return None  # a path that somebody else wrote down
    if known is not None and (found := diagnose_file(*known)) is not None:
        return found
    return StorageError(
        f"{doing} failed: Spark could not read {path[-200:]}.",
        reason=f"Spark says: {fault.said}",
        remedy="Read with the route 'files', which does without Spark's reader: it reads the "
        "file, or says what is wrong with it."
        if known
        else "Check that the file exists, and that the session may read it.",
    )


def _of_session(fault: SparkFault, doing: str) -> DeltaError | None:
    # a session that stops cancels its jobs, and says so in the reason that it gives for that
    told = fault.parameters.get("reason", "")
    if _says(fault, _STOPPED, _STOPPED_WORDS) or any(words in told for words in _STOPPED_WORDS):
        return StorageError(
            f"{doing} was not finished.",
            reason="The Spark session was stopped in between.",
            remedy="Start a new session and start again.",
        )
    if _says(fault, _CANCELLED, _CANCELLED_WORDS):
        return CancelledError(
            f"{doing} was cancelled.",
            reason="Someone asked for it to stop.",
            remedy="Start it again if you still need the answer.",
        )
    return None


def _of_workers(fault: SparkFault, doing: str) -> DeltaError | None:
    if _says(fault, (), _LOST_WORDS):
        return StorageError(
            f"{doing} was not finished.",
            reason="Spark lost a process that worked on it, and gave up: it may have had too "
            "little memory.",
            remedy="Give executors more memory, or read fewer columns at once.",
        )
    if _is_slow_start(fault):
        return StorageError(
            f"{doing} was not finished.",
            reason="Spark started a Python process, and it was not ready within ten seconds, after "
            "which Spark gives up: the machine has too much to do.",
            remedy="Start it again; a stream goes on with the same checkpoint location.",
        )
    unknown = None if fault.condition else _NO_CONNECTOR.search("\n".join(fault.lines))
    if unknown is not None:
        return UnsupportedError(
            f"{doing} failed: Spark does not reach the store.",
            reason=f"The session has nothing that reads {unknown[1] or unknown[2]}.",
            remedy="Give the session the connector, or leave the scheme out of "
            "spark.delta_explorer.schemes: then files are read through the table's own store.",
            kind="store_unsupported",
        )
    missing = _NO_MODULE.search(fault.text) if fault.is_from_python else None
    if missing is not None:
        return UnsupportedError(
            f"{doing} failed: the workers of Spark lack the package {missing[1]}.",
            reason="They run in another Python environment than this process.",
            remedy="Call pipeline.ship(spark) once, and install pyarrow, orjson and pyroaring "
            "where the workers run.",
            kind="missing_dependency",
        )
    return None


def _is_slow_start(fault: SparkFault) -> bool:
    """Whether a Python process took longer to start than Spark waits for it: a cause in the JVM,
    which a Connect server tells as the end of the query."""
    if "SocketTimeoutException" in fault.kinds and _SLOW_WORDS in fault.lines:
        return True
    return any(line.partition(_ENDED_BY)[2].startswith(_SLOW_WORDS) for line in fault.lines)


def _of_query(fault: SparkFault, doing: str) -> DeltaError | None:
    """What Spark has against the query, or a value that the query meets."""
    if fault.is_from_python:
        if _OUR_FRAME.search(fault.text):  # a fault of this package is nobody else's
            return None
        last = [line.strip() for line in fault.text.splitlines() if line.strip()][-1:]
        return _mistake(doing, f"A Python function raised: {''.join(last)[:300]}")
    if fault.state.startswith(_MISTAKES) or (not fault.state and fault.kinds & _MISTAKEN):
        return _mistake(doing, f"Spark says: {fault.said}")
    return None


def _mistake(doing: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{doing} failed: Spark refused the query, or a value that it met.",
        reason=reason,
        remedy="Correct the names, types and expressions of the query. This says nothing "
        "against the table's files.",
    )


def _says(fault: SparkFault, conditions: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether it is one of the conditions; by words where Spark gives none."""
    if fault.condition:
        return fault.condition in conditions
    return any(word in line for line in fault.lines for word in words)
