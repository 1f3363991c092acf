"""Reading ahead in a thread: the order stays, errors arrive, and nothing runs on unasked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.storage.concurrent_reads import prefetch


def test_items_come_in_their_order_and_not_many_are_read_ahead() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    found = prefetch(items())
    assert next(found) == 0
    assert next(found) == 1
    found.close()  # type: ignore[attr-defined]  # a generator
    count = len(made)
    assert made == [*range(count)]
    assert 2 <= count <= 12
    assert list(prefetch(items())) == [*range(100)]
    assert list(prefetch(iter([]))) == []


def test_error_of_an_item_reaches_who_asks_for_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    found = prefetch(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="broken"):
        next(found)
