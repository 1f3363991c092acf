"""Which step comes first: what breaks before what costs, what endangers data or readability
before what is slow, and what gains most among equals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from explorer.inspect.health.findings import SEVERITIES, Severity

MOST_STEPS: Final = 3

FEWEST_FILES: Final = 8
"""Fewer files to save are not worth rewriting any."""

Source = Literal["health", "layout", "vectors", "reach"]
SOURCES: Final[tuple[Source, ...]] = ("health", "layout", "vectors", "reach")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do.

    - `source`: which fact it comes from; `severity` as that of a finding
    - `problem`, `cost` and `benefit`: a sentence each; `cost` and `benefit` are of what mends it
    - `operation` and `arguments`: what mends it, as the forms of Maintenance name it; None where
      no operation does, and `by_hand` says then what to do instead
    - `endangers`: whether rows may be lost or wrong, or versions unreadable, and not only slow or
      large
    - `gain`: which part of the table it betters, from 0 to 1
    - `others`: how many further findings the same operation mends
    """

    source: Source
    severity: Severity
    problem: str
    cost: str
    benefit: str
    operation: str | None = None
    by_hand: str = ""
    endangers: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict)
    gain: float = 0.0
    others: int = 0


def rank_steps(found: Iterable[Step]) -> list[Step]:
    """All steps, the best first; one operation stands once, for the gravest thing it mends.

    Errors come before warnings and these before notes; then what endangers data or readability,
    then what gains most, then the order of `SOURCES`. Steps that no operation carries out are never
    the same.
    """
    ranked = sorted(found, key=_order)
    kept: dict[object, Step] = {}
    for number, step in enumerate(ranked):
        key = _operation_of(step) or number
        known = kept.get(key)
        kept[key] = step if known is None else replace(known, others=known.others + 1)
    return list(kept.values())


def _order(step: Step) -> tuple[int, bool, float, int]:
    severity = SEVERITIES.index(step.severity)
    return severity, not step.endangers, -step.gain, SOURCES.index(step.source)


def _operation_of(step: Step) -> tuple[object, ...] | None:
    return None if step.operation is None else (step.operation, *sorted(step.arguments.items()))
