"""Rows that break a condition of their table (spec: CHECK Constraints)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from explorer.errors import InvalidArgumentError
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.reading.reading import read
from explorer.pipeline.session import choose_watched
from explorer.progress import UNWATCHED, Watch
from explorer.scan.sql.expressions import check_expression
from explorer.table.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE_ROWS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """How many rows break a condition, and a few of them with the columns that it speaks of."""

    count: int
    sample: pa.Table


def find_violations(
    snapshot: Snapshot, expression: str, spark: Any = None, *, watch: Watch = UNWATCHED
) -> Violations:
    """Hold every row of `snapshot` against a SQL condition.

    A row keeps to it where it is true; where it is false or null the row breaks it, as the
    reference has it. The expression passes `check_expression` before Spark is given it.
    Raises `InvalidArgumentError` for one that does not, or that is not a condition.
    """
    checked = check_expression(expression, snapshot.schema)
    session = choose_watched(spark, watch)
    from pyspark.sql import functions as fn
    from pyspark.sql.types import BooleanType, NullType

    doing = f"Looking for rows that break {expression[:80]!r}"
    with watched(session, watch, doing):
        frame = read(snapshot, session, columns=checked.columns)
        kind = frame.select(fn.expr(expression)).schema.fields[0].dataType
        if not isinstance(kind, BooleanType | NullType):
            raise InvalidArgumentError(
                f"The expression {expression[:120]!r} is not a condition.",
                reason=f"Its answer is a {kind.simpleString()[:60]}, and neither true nor false.",
                remedy="Compare it with something.",
                spec="CHECK Constraints",
            )
        holds = fn.coalesce(fn.expr(expression).cast("boolean"), fn.lit(False))  # noqa: FBT003  # a value
        broken = frame.filter(~holds)
        count = broken.count()
        return Violations(count=count, sample=broken.limit(SAMPLE_ROWS if count else 0).toArrow())
