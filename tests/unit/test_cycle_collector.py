"""Python looks for cycles less often while many small requests are under way."""

import gc
from collections.abc import Iterator

import pytest

from explorer.cycle_collector import suit_requests, with_fewer_searches


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_searches_are_further_apart_until_the_last_has_ended() -> None:
    gc.set_threshold(700, 9, 8)
    with with_fewer_searches():
        with with_fewer_searches():
            assert gc.get_threshold() == (20_000, 9, 8)
        assert gc.get_threshold() == (20_000, 9, 8)
    assert gc.get_threshold() == (700, 9, 8)


def test_they_end_in_any_order() -> None:
    gc.set_threshold(700, 9, 8)
    one, another = with_fewer_searches(), with_fewer_searches()
    one.__enter__()
    another.__enter__()
    one.__exit__(None, None, None)
    assert gc.get_threshold() == (20_000, 9, 8)
    another.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 9, 8)


@pytest.mark.parametrize("own", [0, 50_000], ids=["never", "less often"])
def test_what_a_process_wants_itself_stays(own: int) -> None:
    gc.set_threshold(own, 9, 8)
    with with_fewer_searches():
        assert gc.get_threshold() == (own, 9, 8)
    assert gc.get_threshold() == (own, 9, 8)


def test_what_a_process_sets_meanwhile_stays() -> None:
    gc.set_threshold(700, 9, 8)
    with with_fewer_searches():
        gc.set_threshold(5, 4, 3)
    assert gc.get_threshold() == (5, 4, 3)


@pytest.mark.parametrize(("before", "after"), [(100_000, 20_000), (700, 700), (0, 0)])
def test_a_server_looks_for_cycles_more_often_than_a_line(before: int, after: int) -> None:
    thresholds = gc.get_threshold()
    gc.set_threshold(before, *thresholds[1:])
    try:
        suit_requests()
        assert gc.get_threshold() == (after, *thresholds[1:])
    finally:
        gc.set_threshold(*thresholds)
