"""Conditions on partition values that only Spark can evaluate."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.pipeline.jobs.failures import translate
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.session import choose_watched
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.progress import UNWATCHED, Watch
from explorer.scan.predicate.predicate import SqlCondition

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_UTC: Final = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "+00:00"})
_OF_VALUES: Final = frozenset({"invalid_argument", "storage_failed"})
"""Kinds of errors that a value in a row may be the cause of."""
_TRUTH: Final = "delta_explorer_truth"


def evaluate_on_partitions(
    condition: SqlCondition, rows: pa.Table, watch: Watch = UNWATCHED, spark: Any = None
) -> list[bool | None]:
    """The truth of a condition for each of the `rows`, which have its columns, in their order.

    The condition has passed `check_expression`; Spark is given it as it was written. Raises
    `UnsupportedError` where there is no Spark, where the session's time zone is not UTC (in
    which all times are told here), and where the answer to a row is an error, and
    `InvalidArgumentError` for what is not a condition.
    """
    session = choose_watched(spark, watch)
    zone = str(session.conf.get("spark.sql.session.timeZone"))
    if zone not in _UTC:
        raise UnsupportedError(
            f"The time zone of the Spark session is {zone[:60]}.",
            reason="All times are told in UTC here.",
            remedy="Set spark.sql.session.timeZone to UTC.",
        )
    doing = f"Evaluating {condition.text[:80]}"
    with watched(session, watch, doing), _answers(condition, doing):
        frame = session.createDataFrame(rows, spark_schema(rows.schema))
        return _truths(frame, condition)


def _truths(frame: DataFrame, condition: SqlCondition) -> list[bool | None]:
    from pyspark.sql import functions as fn
    from pyspark.sql.types import BooleanType, NullType

    found = frame.select(fn.expr(condition.text).alias(_TRUTH))
    if not isinstance(found.schema.fields[0].dataType, BooleanType | NullType):
        raise _no_condition(condition, "its answer is neither true nor false")
    truths: list[bool | None] = found.toArrow().column(0).to_pylist()
    return truths


@contextlib.contextmanager
def _answers(condition: SqlCondition, doing: str) -> Iterator[None]:
    """What Spark says of the condition itself, as an error of ours."""
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise _no_condition(condition, _first_line(error)) from error
    except PySparkException as error:
        told = translate(error, doing)
        if told.kind not in _OF_VALUES:  # cancelled, or the session was stopped
            raise told from error
        raise UnsupportedError(
            "Spark could not evaluate it.",
            reason=f"{_first_line(error)}.",
            remedy="Write it so that it has an answer for every partition.",
        ) from error


def _no_condition(condition: SqlCondition, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{condition.text[:120]!r} is not a condition.",
        reason=f"Spark says: {why}.",
        remedy="Compare the answer of a function with a literal, as in \"upper(p) = 'A'\".",
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")
