"""Errors of ours on their way through Spark, marked so that nothing else passes for one.

An error that is raised in a task, and what a row of Spark's own reader is stopped with, reach
the driver as text inside an exception of Spark's. Such text also holds plans and values of
rows, of which anybody can be the author; therefore what is ours carries a secret of this
process, and stands where Spark puts what was raised.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from explorer import errors
from explorer.errors import ERROR_KINDS, CorruptDataError, DeltaError
from explorer.pipeline.tasks.spark_faults import SparkFault
from explorer.writing.gate.refusals import Refusal, WrittenValue

if TYPE_CHECKING:
    from pyspark.sql import Column

_SECRET: Final = secrets.token_hex(16)
_CLASS: Final = "class"

GuardName = Literal["unknown", "count", "narrow"]
_GUARDS: Final[dict[str, str]] = {
    "unknown": "Spark read it, and the log does not know it: which of its rows are deleted "
    "cannot be told.",
    "count": "It has more rows than the log says.",
    "narrow": "It holds a whole number that is too large for the type of its column.",
}
_RAISED: Final = "USER_RAISED_EXCEPTION"


class TaskFailure(Exception):
    """What a task raises: the error's words for a person, and its fields for the driver."""


@dataclass(frozen=True, slots=True)
class ErrorMark:
    """The secret of the process that plans a job. Made there, it travels inside the tasks."""

    secret: str = field(default=_SECRET, repr=False)

    @contextlib.contextmanager
    def marked(self) -> Iterator[None]:
        """A `DeltaError` that is raised inside becomes a `TaskFailure` with the mark."""
        try:
            yield
        except DeltaError as error:
            told = error.as_dict() | {_CLASS: _public_class(error).__name__}
            fields = b64encode(orjson.dumps(told)).decode()
            raise TaskFailure(f"{error} {self._start()}{fields};") from None

    def sent(self, text: str) -> DeltaError | None:
        """The error of ours that an exception's text has, if a task with this mark sent it."""
        pattern = re.escape(self._start()) + r"([A-Za-z0-9+/]+=*);"
        # the last: what stands before it may quote names of the table
        for found in reversed(re.findall(pattern, text)):
            with contextlib.suppress(ValueError, KeyError):
                return _from_fields(orjson.loads(b64decode(found)))
        return None

    def _start(self) -> str:
        return f"delta-explorer-error:{self.secret}:"


def render_guard(what: GuardName, version: int, path: Column) -> Column:
    """The message with which a row of the file at `path` stops a job."""
    from pyspark.sql import functions as fn

    return fn.concat(fn.lit(f"{_guard_start()}{what}:{version}:"), path)


def guarded(fault: SparkFault) -> DeltaError | None:
    """The error of a guard, where exactly what `render_guard` made was raised: no plan
    that names it, and nothing that quotes it."""
    pattern = re.compile(re.escape(_guard_start()) + r"(\w+):(\d+):(.*)")
    found = next(filter(None, map(pattern.fullmatch, _raised(fault))), None)
    if found is None or found[1] not in _GUARDS:
        return None
    return CorruptDataError(
        f"The data file {found[3][-200:]} of version {found[2]} cannot be trusted.",
        reason=_GUARDS[found[1]],
        remedy="Read it again; if it stays so, restore the file from a backup.",
        spec="Data Files",
    )


def render_refusal(refusal: Refusal) -> Column:
    """What a row that breaks a rule stops a job with, but for the row itself (`render_row`)."""
    from pyspark.sql import functions as fn

    return fn.lit(message_of(refusal))


def message_of(refusal: Refusal) -> str:
    """The text of `render_refusal`: letters and digits, `+`, `/` and `=` alone."""
    return b64encode(orjson.dumps(asdict(refusal))).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """Some values of a row for a message: their names, and whether each is a text."""

    names: str
    values: Column


def render_row(columns: Sequence[tuple[str, bool]], texts: Column) -> ShownRow:
    """`texts` is an array of values as texts, `columns` their names, and whether each is a text
    itself."""
    from pyspark.sql import functions as fn

    names = b64encode(orjson.dumps([[name, is_text] for name, is_text in columns])).decode()
    return ShownRow(names=names, values=fn.base64(fn.encode(fn.to_json(texts), "UTF-8")))


def raise_refusal(refusal: Column, row: ShownRow) -> Column:
    """Stops a job where a row asks for its value; `refusal` is of `render_refusal`."""
    from pyspark.sql import functions as fn

    start = fn.lit(f"{_refusal_start()}{row.names}:")
    return fn.raise_error(fn.concat(start, refusal, fn.lit(":"), row.values))


def refused(fault: SparkFault) -> DeltaError | None:
    """The error of a refused row, where exactly what `raise_refusal` made was raised."""
    pattern = re.compile(re.escape(_refusal_start()) + r"([^:]+):([^:]+):(.*)", re.DOTALL)
    found = next(filter(None, map(pattern.fullmatch, _raised(fault))), None)
    if found is None:
        return None
    names, refusal, values = (orjson.loads(b64decode(part)) for part in found.groups())
    row = {
        name: value if is_text or value is None else WrittenValue(value)
        for (name, is_text), value in zip(names, values, strict=True)
    }
    return Refusal(**{**refusal, "about": tuple(refusal["about"])}).error(row)


def _refusal_start() -> str:
    return f"delta-explorer-refusal:{_SECRET}:"


def _raised(fault: SparkFault) -> Iterable[str]:
    """With what a query's `raise_error` may have been called."""
    if fault.condition == _RAISED:
        # a Connect server may be told to send no parameters
        shown = fault.said.removeprefix(f"[{_RAISED}] ").removesuffix(" SQLSTATE: P0001")
        return [fault.parameters.get("errorMessage", shown)]
    # sessions with spark.sql.legacy.raiseErrorWithoutErrorClass: it is a cause's whole message
    return () if fault.condition else fault.lines


def _guard_start() -> str:
    return f"delta-explorer-guard:{_SECRET}:"


def _from_fields(fields: dict[str, Any]) -> DeltaError:
    kind = fields["kind"] if fields.get("kind") in ERROR_KINDS else None
    # who catches the error does so by its class, as if it had been raised here
    home: type[DeltaError] = vars(errors)[fields[_CLASS]]
    return home(
        str(fields["problem"]),
        reason=str(fields["reason"]),
        remedy=str(fields["remedy"]),
        kind=kind,
        spec=fields["spec"],
    )


def _public_class(error: DeltaError) -> type[DeltaError]:
    """The nearest of its classes that whoever catches it can name."""
    return next(found for found in type(error).__mro__ if found.__module__ == errors.__name__)
