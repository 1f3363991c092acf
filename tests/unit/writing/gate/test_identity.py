"""Numbers of identity columns, as the specification asks for them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import CorruptLogError, InvalidArgumentError
from explorer.protocol.features.column_rules import IdentityColumn, identity_column
from explorer.protocol.schema import StructType
from explorer.writing.gate.identity import free_numbers, give_numbers, with_marks
from tests.gate_tables import column

LONGS = st.integers(-(2**63), 2**63 - 1)


def identity(start: Any, step: Any, mark: Any = None) -> IdentityColumn:
    return IdentityColumn(start=start, step=step, high_water_mark=mark, allow_explicit_insert=None)


@given(start=LONGS, step=LONGS.filter(bool), mark=st.none() | LONGS)
def test_the_first_free_number_is_the_smallest_of_the_row_beyond_the_mark(
    start: int, step: int, mark: int | None
) -> None:
    first = free_numbers("c", identity(start, step, mark)).first
    k, rest = divmod(first - start, step)
    assert rest == 0
    assert k >= 0
    if mark is None:
        assert k == 0
        return
    towards = 1 if step > 0 else -1
    assert (first - mark) * towards > 0
    assert k == 0 or (first - step - mark) * towards <= 0


@given(start=LONGS, step=LONGS.filter(bool), mark=st.none() | LONGS, count=st.integers(0, 5))
def test_numbers_are_longs_or_there_is_an_error(
    start: int, step: int, mark: int | None, count: int
) -> None:
    free = free_numbers("c", identity(start, step, mark))
    wanted = [free.first + n * step for n in range(count)]
    if all(-(2**63) <= number < 2**63 for number in wanted):
        found = give_numbers("c", identity(start, step, mark), count)
        assert found.tolist() == wanted
        assert not count or free.last_of(count) == wanted[-1]
        return
    with pytest.raises(InvalidArgumentError) as caught:
        give_numbers("c", identity(start, step, mark), count)
    assert caught.value.kind == "limit_exceeded"


@pytest.mark.parametrize(("start", "step"), [(None, 1), (1, None), (1, 0)])
def test_a_column_that_cannot_count_is_an_error(start: Any, step: Any) -> None:
    with pytest.raises(CorruptLogError):
        free_numbers("c", identity(start, step))


def test_the_mark_moves_in_the_schema_and_nothing_else_does() -> None:
    before = StructType(
        fields=(column("id", "long", start=1, step=1, mark=4, explicit=True), column("x", "long"))
    )
    after = with_marks(before, {"id": 9})
    assert identity_column(after.fields[0]) == IdentityColumn(
        start=1, step=1, high_water_mark=9, allow_explicit_insert=True
    )
    assert after.fields[1] == before.fields[1]
    assert with_marks(after, {"id": 4}).fields[0].metadata == before.fields[0].metadata
