"""Strings put together from pieces."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from explorer.log.gathered_texts import gather_texts

_ROWS = 50_000


def _pieces(texts: Sequence[str | None], most: int) -> Iterator[pa.Array]:
    """The texts in pieces of odd lengths, each a part of something longer."""
    dice, start = random.Random(7), 0
    while start < len(texts):
        end = min(len(texts), start + dice.randrange(1, most))
        before = dice.randrange(3)
        around = [*(["in front"] * before), *texts[start:end], "behind"]
        yield pa.array(around, pa.string()).slice(before, end - start)
        start = end


@pytest.mark.parametrize("nulls", [0.0, 0.001, 0.5, 1.0])
@pytest.mark.parametrize("guess", [0, 1_000, _ROWS, 10**9])
def test_pieces_say_the_same_when_they_are_put_together(nulls: float, guess: int) -> None:
    dice = random.Random(3)
    texts = [
        None if dice.random() < nulls else dice.choice(["", "ä b", "x" * dice.randrange(300)])
        for _ in range(_ROWS)
    ]
    found = gather_texts(_pieces(texts, 5_000), guess)
    found.validate(full=True)
    assert found.type == pa.string()
    assert found.to_pylist() == texts
    assert found.null_count == texts.count(None)


def test_nothing_is_an_empty_column() -> None:
    assert gather_texts(iter([]), 10).equals(pa.chunked_array([], pa.string()))
    empty = pa.array([], pa.string())
    assert len(gather_texts(iter([empty, empty]), 0)) == 0


def test_texts_that_grow_longer_than_the_first_ones_are_all_kept() -> None:
    texts = ["a"] * 4_096 + ["b" * 2_000] * 20_000
    found = gather_texts((pa.array(texts[at : at + 4_096]) for at in range(0, 24_096, 4_096)), 100)
    found.validate(full=True)
    assert found.to_pylist() == texts


def test_a_single_text_may_be_larger_than_a_chunk() -> None:
    texts = ["small", "x" * (20 * 2**20), "small again"]
    found = gather_texts((pa.array([text]) for text in texts), 3)
    assert found.to_pylist() == texts


def test_a_chunk_is_kept_and_handed_on_without_the_bytes_of_others() -> None:
    texts = [f"{number:0100}" for number in range(200_000)]
    pieces = (pa.array(texts[at : at + 4_096]) for at in range(0, len(texts), 4_096))
    found = gather_texts(pieces, len(texts))
    assert found.num_chunks > 4
    largest = max(len(pickle.dumps(chunk, protocol=5)) for chunk in found.chunks)
    assert largest < 1.1 * found.nbytes / (found.num_chunks - 1)
