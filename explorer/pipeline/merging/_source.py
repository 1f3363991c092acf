"""The rows of a source on Spark, read once: the statement's own data.

A local checkpoint of the session holds them while the statement runs. A task that needs a part
which is gone, because its executor was lost, fails; nobody asks the source a second time, whose
answer might be another one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.session import is_connect
from explorer.pipeline.writing.arrow_frame import arrow_frame
from explorer.pipeline.writing.given_data import ArrowRows, SparkRows
from explorer.progress import Watch
from explorer.protocol.schema import (
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
)
from explorer.storage.ports import WriteStore
from explorer.writing.gate.sent_rows import SentRows
from explorer.writing.merging.keys import MOST_VALUES, KeyFacts, KeyPair

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SOURCE_ROW: Final = "delta_explorer.source_row"
"""The number of a row of the source, each another one."""

_MOST_SENT: Final = 32 * 2**20
"""Bytes of a source that each executor may hold whole."""

_AT_ONCE: Final = False
"""Whether to wait until rows are dropped."""

_LABEL: Final = "Reading the source"
_ASKING: Final = "Looking at the keys of the source"


@dataclass(frozen=True, kw_only=True)
class SparkSource:
    """The rows of a source, with `SOURCE_ROW` as the last column of `frame`."""

    schema: StructType
    frame: DataFrame = field(repr=False)
    num_rows: int
    is_small: bool

    @property
    def session(self) -> SparkSession:
        """The session that holds them."""
        return self.frame.sparkSession

    def facts(
        self, pairs: Sequence[KeyPair], listed: frozenset[str], watch: Watch
    ) -> Mapping[KeyPair, KeyFacts]:
        """What the rows hold in the columns of pairs; `listed` are columns of the table of which
        single values are worth knowing, where they are few."""
        if not pairs or not self.num_rows:
            return {}
        from pyspark.sql import functions as fn

        asked: list[Column] = []
        for at, pair in enumerate(pairs):
            value = value_of(pair)
            asked += [fn.min(value).alias(f"{at}.least"), fn.max(value).alias(f"{at}.greatest")]
        with watched(self.session, watch, _ASKING):
            ends = self.frame.agg(*asked).toArrow()
            found = {}
            for at, pair in enumerate(pairs):
                values = self._values(pair) if pair.target.path[0] in listed else None
                with contextlib.suppress(ValueError, OverflowError):  # a day without a Python name
                    found[pair] = KeyFacts(
                        least=ends.column(2 * at)[0].as_py(),
                        greatest=ends.column(2 * at + 1)[0].as_py(),
                        values=None if values is None else tuple(values.to_pylist()),
                    )
        return found

    def _values(self, pair: KeyPair) -> pa.ChunkedArray | None:
        some = self.frame.select(value_of(pair).alias("value")).distinct().limit(MOST_VALUES + 1)
        values = some.toArrow().column(0).drop_null()
        return values if len(values) <= MOST_VALUES else None


def value_of(pair: KeyPair) -> Column:
    """What a row of the source has in the column of a pair."""
    from pyspark.sql import functions as fn

    first, *rest = pair.source.path
    value = fn.col(quoted(first))
    for name in rest:
        value = value.getField(name)
    return value


@contextlib.contextmanager
def read_once(
    session: SparkSession,
    store: WriteStore,
    name: str,
    rows: ArrowRows | SparkRows,
    watch: Watch,
) -> Iterator[SparkSource]:
    """The rows of a source, while inside; `name` is the statement's, for files that carry rows of
    Arrow to the tasks."""
    with contextlib.ExitStack() as stack:
        if isinstance(rows, SparkRows):
            frame = rows.frame
        else:
            sent = SentRows(given=rows.schema, sent=rows.schema)
            frame = stack.enter_context(arrow_frame(session, store, name, rows, sent, watch))
        from pyspark.sql import functions as fn

        with watched(session, watch, _LABEL):
            numbered = frame.select("*", fn.monotonically_increasing_id().alias(SOURCE_ROW))
            held = numbered.localCheckpoint(eager=True)
            stack.callback(_forget, held)
            count, size = _size(held, rows.schema)
        yield SparkSource(
            schema=rows.schema, frame=held, num_rows=count, is_small=size <= _MOST_SENT
        )


def _size(frame: DataFrame, schema: StructType) -> tuple[int, int]:
    """How many rows there are, and about how many bytes these take."""
    from pyspark.sql import functions as fn

    width = 24  # of a row without columns
    asked = [fn.count(fn.lit(1)).alias("rows")]
    for at, item in enumerate(schema.fields):
        if _is_plain(item.data_type):
            width += 16
        elif _is_text(item.data_type):
            asked.append(fn.sum(fn.octet_length(fn.col(quoted(item.name)))).alias(str(at)))
        else:
            text = fn.to_json(fn.struct(fn.col(quoted(item.name))))
            asked.append(fn.sum(fn.octet_length(text)).alias(str(at)))
    found = frame.agg(*asked).toArrow().to_pylist()[0]
    count = int(found.pop("rows"))
    return count, count * width + sum(int(value or 0) + 16 * count for value in found.values())


def _is_text(data_type: DataType) -> bool:
    return isinstance(data_type, PrimitiveType) and data_type.name in {"string", "binary"}


def _is_plain(data_type: DataType) -> bool:
    if isinstance(data_type, DecimalType):
        return True
    return isinstance(data_type, PrimitiveType) and data_type.name in _PLAIN


_PLAIN: Final = frozenset(
    {"byte", "short", "integer", "long", "float", "double", "boolean"}
    | {"date", "timestamp", "timestamp_ntz", "void"}
)


def _forget(frame: DataFrame) -> None:
    """Let the session drop the rows. A Connect server does when the client has no frame of it."""
    if is_connect(frame.sparkSession):
        return
    with contextlib.suppress(Exception):  # the session may have been stopped
        frame._jdf.queryExecution().analyzed().rdd().unpersist(_AT_ONCE)
