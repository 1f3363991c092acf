"""The rows of a source on Spark, read once: the statement's own data.

A local checkpoint of the session holds them while the statement runs. A task that needs a part
which is gone, because its executor was lost, fails; nobody asks the source a second time, whose
answer might be another one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.session import is_connect
from explorer.pipeline.writing.arrow_frame import arrow_frame
from explorer.pipeline.writing.given_data import ArrowRows, SparkRows
from explorer.progress import Watch
from explorer.protocol.schema import (
    VOID,
    DataType,
    DecimalType,
    PrimitiveType,
    StructField,
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
    ends: Mapping[KeyPair, tuple[Any, Any]] = field(default_factory=dict, repr=False)
    """The least and the greatest value in the columns of some pairs."""

    @property
    def session(self) -> SparkSession:
        """The session that holds them."""
        return self.frame.sparkSession

    @property
    def is_collectable(self) -> bool:
        """Whether all rows may come into this process: they are few, and Arrow's values of their
        columns are those of a table."""
        return self.is_small and all(_is_arrows(item) for item in self.schema.fields)

    def collect(self, watch: Watch) -> ArrowRows:
        """All rows, in this process."""
        with watched(self.session, watch, _LABEL):
            table = self.frame.drop(SOURCE_ROW).toArrow()
        return ArrowRows(
            schema=self.schema,
            arrow_schema=table.schema,
            batches=lambda: iter(table.to_batches()),
            is_rereadable=True,
            num_rows=table.num_rows,
        )

    def facts(
        self, pairs: Sequence[KeyPair], listed: frozenset[str], watch: Watch
    ) -> Mapping[KeyPair, KeyFacts]:
        """What the rows hold in the columns of pairs; `listed` are columns of the table of which
        single values are worth knowing, where they are few."""
        if not pairs or not self.num_rows:
            return {}
        ends = dict(self.ends)
        if new := [pair for pair in pairs if pair not in ends]:
            with watched(self.session, watch, _ASKING):
                ends |= _read_ends(self.frame.agg(*_ask_ends(new)).toArrow(), new)
        found = {}
        for pair in pairs:
            if pair not in ends:
                continue
            least, greatest = ends[pair]
            values: tuple[Any, ...] | None = None
            if least is None:
                values = ()
            elif least == greatest:
                values = (least,)
            elif pair.target.path[0] in listed:
                with watched(self.session, watch, _ASKING):
                    values = self._values(pair)
            found[pair] = KeyFacts(least=least, greatest=greatest, values=values)
        return found

    def _values(self, pair: KeyPair) -> tuple[Any, ...] | None:
        some = self.frame.select(value_of(pair).alias("value")).distinct().limit(MOST_VALUES + 1)
        values = some.toArrow().column(0).drop_null()
        if len(values) > MOST_VALUES:
            return None
        with contextlib.suppress(*_NAMELESS):
            return tuple(values.to_pylist())
        return None


_NAMELESS: Final = (ValueError, OverflowError)
"""What Python raises for days that it has no name for."""


def _ask_ends(pairs: Sequence[KeyPair]) -> list[Column]:
    from pyspark.sql import functions as fn

    asked: list[Column] = []
    for at, pair in enumerate(pairs):
        value = value_of(pair)
        asked += [fn.min(value).alias(f"{at}.least"), fn.max(value).alias(f"{at}.greatest")]
    return asked


def _read_ends(told: pa.Table, pairs: Sequence[KeyPair]) -> dict[KeyPair, tuple[Any, Any]]:
    """What `_ask_ends` asked for, where Python has a name for it; its columns come first."""
    found = {}
    for at, pair in enumerate(pairs):
        with contextlib.suppress(*_NAMELESS):
            least, greatest = (told.column(2 * at + more)[0].as_py() for more in (0, 1))
            found[pair] = (least, greatest)
    return found


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
    pairs: Sequence[KeyPair],
    watch: Watch,
) -> Iterator[SparkSource]:
    """The rows of a source, while inside; `name` is the statement's, for files that carry rows of
    Arrow to the tasks. Of `pairs` the ends are asked with what else has to be known at once."""
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
            count, size, ends = _look(held, rows.schema, pairs)
        yield SparkSource(
            schema=rows.schema, frame=held, num_rows=count, is_small=size <= _MOST_SENT, ends=ends
        )


def _look(
    frame: DataFrame, schema: StructType, pairs: Sequence[KeyPair]
) -> tuple[int, int, dict[KeyPair, tuple[Any, Any]]]:
    """How many rows there are, about how many bytes these take, and the ends of pairs."""
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
    told = frame.agg(*_ask_ends(pairs), *asked).toArrow()
    sizes = told.select(range(2 * len(pairs), told.num_columns)).to_pylist()[0]
    count = int(sizes.pop("rows"))
    size = count * width + sum(int(value or 0) + 16 * count for value in sizes.values())
    return count, size, _read_ends(told, pairs)


def _is_text(data_type: DataType) -> bool:
    return isinstance(data_type, PrimitiveType) and data_type.name in {"string", "binary"}


def _is_arrows(column: StructField) -> bool:
    """Whether Arrow's values of a column are all there is to it: Spark keeps collations and lengths
    of texts in its metadata."""
    kind = column.data_type
    is_whole = not any(key.startswith("__") for key in column.metadata)
    return is_whole and kind != VOID and (_is_plain(kind) or _is_text(kind))


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
