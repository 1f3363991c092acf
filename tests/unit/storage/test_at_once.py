"""Work in threads: the order stays, errors arrive, and nothing runs on unasked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.storage.at_once import ahead


def test_items_come_in_their_order_one_ahead() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(5):
            made.append(number)
            yield number

    found = ahead(items())
    assert next(found) == 0
    assert next(found) == 1
    found.close()
    # the one after the last that was asked for is worked out, and none beyond
    assert made[:2] == [0, 1]
    assert len(made) <= 3
    assert list(ahead(items())) == [0, 1, 2, 3, 4]
    assert list(ahead([])) == []


def test_error_of_an_item_reaches_who_asks_for_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="broken"):
        next(found)
