"""The numbers of identity columns (spec: Identity Columns).

A number is `start + k * step` for a whole k that is not negative, and lies beyond the high-water
mark in the direction of the step. Whoever gives numbers out moves the mark in the metadata of the
same commit; another writer that was there first has moved it too, so that its commit is a
conflict and the numbers are given out again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from explorer.errors import CorruptLogError, InvalidArgumentError
from explorer.protocol.features.column_rules import IDENTITY_KEYS, IdentityColumn
from explorer.protocol.schema import StructType

_MARK: Final = f"{IDENTITY_KEYS}highWaterMark"
_LEAST: Final = -(2**63)
_LAST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of `count` writers of a statement that know nothing of each other: writer `number` gets
    every `count`-th number, from its own on."""

    number: int = 0
    count: int = 1


WHOLE: Final = Part()
"""The only writer of a statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """The numbers `first`, `first + step` and so on; `room` is how many there are until the end of
    64 bits."""

    first: int
    step: int

    @property
    def room(self) -> int:
        """How many numbers there are."""
        end = _LAST if self.step > 0 else _LEAST
        return (end - self.first) // self.step + 1 if _LEAST <= self.first <= _LAST else 0

    def last_of(self, count: int) -> int:
        """The last of so many numbers."""
        return self.first + (count - 1) * self.step


def free_numbers(
    column: str, identity: IdentityColumn, given_out: int = 0, part: Part = WHOLE
) -> NumberRange:
    """The numbers that a column may get next from one writer of a statement, after `given_out`
    others of the same writer.

    Raises `CorruptLogError` where the schema says neither start nor step, or a step of 0.
    """
    start, step, mark = identity.start, identity.step, identity.high_water_mark
    if start is None or not step:
        raise CorruptLogError(
            f"The identity column `{column[:200]}` cannot be counted.",
            reason="Its metadata lacks a start, or a step other than 0.",
            remedy="Have the table's schema repaired by the engine that wrote it.",
            kind="schema_invalid",
            spec="Identity Columns",
        )
    # the smallest k whose number is beyond the mark
    k = 0 if mark is None else max(0, (mark - start) // step + 1)
    k += part.number + given_out * part.count
    return NumberRange(first=start + k * step, step=step * part.count)


def give_numbers(
    column: str, identity: IdentityColumn, count: int, given_out: int = 0, part: Part = WHOLE
) -> npt.NDArray[np.int64]:
    """The next `count` numbers of a column; raises `InvalidArgumentError` of kind
    `limit_exceeded` where 64 bits have no more."""
    free = free_numbers(column, identity, given_out, part)
    if count > free.room:
        raise overflows(column)
    if not count:
        return np.zeros(0, np.int64)
    # one after the other: a product can be larger than 64 bits where no number is
    steps = np.full(count, free.step if count > 1 else 0, np.int64)
    steps[0] = free.first
    return np.cumsum(steps)


def overflows(column: str) -> InvalidArgumentError:
    """The error for a column without numbers left."""
    return InvalidArgumentError(
        f"The identity column `{column[:200]}` has no more numbers.",
        reason="The next one is beyond 64 bits.",
        remedy="Write into a table whose identity column counts in smaller steps.",
        kind="limit_exceeded",
        spec="Identity Columns",
    )


def with_marks(schema: StructType, marks: dict[str, int]) -> StructType:
    """The schema with the last number given out for each column that got some: the largest where
    the step is positive, else the smallest."""
    fields = tuple(
        replace(item, metadata={**item.metadata, _MARK: marks[item.name]})
        if item.name in marks
        else item
        for item in schema.fields
    )
    return StructType(fields=fields)
