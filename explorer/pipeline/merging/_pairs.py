"""Rows of the table, their partners in the source, and the clause that takes each (spec: Row
Tracking, Deletion Vectors)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from explorer.errors import InvalidArgumentError
from explorer.pipeline.merging._source import SOURCE_ROW, SparkSource
from explorer.pipeline.native.pushdown import quoted
from explorer.writing.merging.resolving import ResolvedClause, ResolvedMerge

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PATH: Final = "delta_explorer.path"
INDEX: Final = "delta_explorer.index"
CLAUSE: Final = "delta_explorer.clause"
"""The number of the clause that takes a row; null where none does."""


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Rows of the table with the source rows that they match, under the aliases of both, and
    `PATH`, `INDEX`, `SOURCE_ROW` and `CLAUSE`. Rows of the table without a partner are there too
    where a clause is about them."""

    merge: ResolvedMerge
    frame: DataFrame = field(repr=False)

    def taken_by(self, clauses: Iterable[int]) -> DataFrame:
        """The rows that these clauses take."""
        from pyspark.sql import functions as fn

        return self.frame.filter(fn.col(quoted(CLAUSE)).isin(list(clauses)))


def pair_rows(merge: ResolvedMerge, target: DataFrame, source: SparkSource) -> Pairs:
    """Join the rows of a table, which have `PATH` and `INDEX`, with those of a source."""
    from pyspark.sql import functions as fn

    names, request = merge.names, merge.request
    rows = source.frame.alias(names.source_alias)
    if source.is_small:
        rows = fn.broadcast(rows)
    by_source = request.of("not matched by source")
    how = "left" if by_source else "inner"
    joined = target.alias(names.target_alias).join(rows, fn.expr(merge.on), how)
    is_pair = fn.col(quoted(SOURCE_ROW)).isNotNull()
    numbers: Column | None = None
    for number, item in enumerate(merge.clauses):
        match item.clause.kind:
            case "matched":
                asked = is_pair if by_source else None
            case "not matched by source":
                asked = ~is_pair
            case _:
                continue
        taken = _both(asked, item)
        if numbers is None:
            numbers = fn.when(taken, fn.lit(number))
        else:
            numbers = numbers.when(taken, fn.lit(number))
    clause = fn.lit(None).cast("int") if numbers is None else numbers
    found = joined.select("*", clause.alias(CLAUSE))
    is_taken = fn.col(quoted(CLAUSE)).isNotNull()
    if request.of("not matched"):
        # a partner that no clause takes keeps its source row from being inserted
        is_taken = is_taken | is_pair
    return Pairs(merge=merge, frame=found.filter(is_taken))


def number_unpaired(merge: ResolvedMerge, pairs: Pairs, source: SparkSource) -> DataFrame:
    """The source rows without a partner that a clause takes, with its number as `CLAUSE`."""
    from pyspark.sql import functions as fn

    names = merge.names
    rows = source.frame.alias(names.source_alias)
    paired = pairs.frame.select(fn.col(quoted(SOURCE_ROW)).alias(_PAIRED))
    paired = paired.filter(fn.col(quoted(_PAIRED)).isNotNull())
    own = fn.col(quoted(SOURCE_ROW))
    alone = rows.join(paired, own == fn.col(quoted(_PAIRED)), "left_anti")
    numbers: Column | None = None
    for number, item in enumerate(merge.clauses):
        if item.clause.kind != "not matched":
            continue
        taken = _both(None, item)
        if numbers is None:
            numbers = fn.when(taken, fn.lit(number))
        else:
            numbers = numbers.when(taken, fn.lit(number))
    assert numbers is not None
    found = alone.select("*", numbers.alias(CLAUSE))
    return found.filter(fn.col(quoted(CLAUSE)).isNotNull())


_PAIRED: Final = "delta_explorer.paired"


def _both(asked: Column | None, item: ResolvedClause) -> Column:
    from pyspark.sql import functions as fn

    where = fn.lit(True) if item.where is None else fn.expr(item.where)  # noqa: FBT003  # a value
    return where if asked is None else asked & where


def matched_twice(pairs: Pairs) -> InvalidArgumentError:
    """The error for a row of the table that several rows of the source would change."""
    from pyspark.sql import functions as fn

    clauses = enumerate(pairs.merge.clauses)
    matched = [number for number, item in clauses if item.clause.kind == "matched"]
    rows = pairs.taken_by(matched)
    keys = [fn.col(quoted(name)) for name in (PATH, INDEX)]
    found = rows.groupBy(*keys).count().filter("count > 1").limit(1).toArrow().to_pylist()
    assert found, "there were more pairs than rows"
    return several_partners(found[0]["count"], found[0][PATH], found[0][INDEX])


def several_partners(count: int, path: str, index: int) -> InvalidArgumentError:
    """The error for a row of the table, the one at `index` of a file, that so many rows of the
    source would change."""
    return InvalidArgumentError(
        f"A row of the table has {count:,} partners in the source that would change it.",
        reason="Which of them counts nobody said. It is the row at position "
        f"{index:,}, from 0, of {path[-160:]}.",
        remedy="Keep one row of the source for each row of the table, or say by the conditions of "
        "the clauses which of them counts.",
        kind="rows_refused",
    )
