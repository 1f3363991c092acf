"""What a profile says of a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, isfinite
from typing import Any, Final, Literal

Measure = Literal["rows", "nulls", "distinct", "extremes", "quantiles", "histogram", "top"]
ALL_MEASURES: Final[tuple[Measure, ...]] = (
    "rows",
    "nulls",
    "distinct",
    "extremes",
    "quantiles",
    "histogram",
    "top",
)

_FIELDS: Final[Mapping[Measure, tuple[str, ...]]] = {
    measure: (measure,) for measure in ALL_MEASURES if measure != "extremes"
} | {"extremes": ("minimum", "maximum")}

QUANTILES: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Rows whose values lie from `low` on and below `high`; the last bin holds both.

    Bounds are numbers: of a date days, of a time microseconds since 1970.
    """

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """The figures of one column, of one partition where `partition` says which.

    All are exact, deleted rows left out. None stands for what was not asked for, or
    what values of the type do not have: nested ones have no order here, and only
    numbers, dates and times have a histogram. A quantile is the least value that so
    large a part of the rows does not exceed. `source` says whether rows were read.
    """

    column: str
    partition: Mapping[str, Any] | None = None
    rows: int | None = None
    nulls: int | None = None
    distinct: int | None = None
    minimum: Any = None
    maximum: Any = None
    quantiles: tuple[tuple[float, Any], ...] | None = None
    histogram: tuple[Bin, ...] | None = None
    top: tuple[tuple[Any, int], ...] | None = None
    source: Literal["log", "rows"] = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest:
    """Which figures are wanted, how many bins, and how many of the most frequent values."""

    measures: frozenset[Measure] = frozenset(ALL_MEASURES)
    bins: int = 20
    top: int = 10

    def wants(self, *measures: Measure) -> bool:
        """Whether any of these is wanted."""
        return not self.measures.isdisjoint(measures)


def ranks_of(count: int) -> dict[int, list[float]]:
    """The quantiles of so many rows by the rank of their row, counted from 1."""
    found: dict[int, list[float]] = {}
    for part in QUANTILES:
        found.setdefault(max(1, ceil(part * count)), []).append(part)
    return found


def bins_of(counts: Mapping[int, int], low: float, high: float, bins: int) -> tuple[Bin, ...]:
    """Bins of one width from counts by their number; one bin where there is no such width."""
    if low == high or not isfinite(high - low):
        return (Bin(low=low, high=high, count=sum(counts.values())),)
    width = (high - low) / bins
    return tuple(
        Bin(
            low=low + at * width,
            high=high if at == bins - 1 else low + (at + 1) * width,
            count=counts.get(at, 0),
        )
        for at in range(bins)
    )


def most_frequent(counts: Iterable[tuple[Any, int]], top: int) -> tuple[tuple[Any, int], ...]:
    """The values with the highest counts, equal ones in their order among `counts`."""
    return tuple(sorted(counts, key=lambda pair: -pair[1])[:top])


def only_wanted(found: ColumnProfile, request: ProfileRequest) -> ColumnProfile:
    """The figures that were asked for; the others are None."""
    wanted = {name for measure in request.measures for name in _FIELDS[measure]}
    every = {name for names in _FIELDS.values() for name in names}
    nothing: dict[str, Any] = dict.fromkeys(every - wanted)
    return replace(found, **nothing)
