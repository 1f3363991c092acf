"""Keys that have been decided, as texts or as columns."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from explorer.log.reconcile import replay
from explorer.log.reconcile.replay import DecidedKeys, Decider


@pytest.mark.parametrize("different", [2**61, 50, 1], ids=["hashes", "few hashes", "one hash"])
@pytest.mark.parametrize("seed", range(4))
def test_each_key_is_decided_by_the_first_that_spoke_of_it(
    seed: int, different: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # texts with one hash must not pass for each other
    monkeypatch.setattr(replay, "hash", lambda text: hash(text) % different, raising=False)
    dice = random.Random(seed)
    keys, expected = DecidedKeys(), dict[str, Decider]()
    for number in range(60):
        decider: Decider = (dice.choice(["add", "remove"]), f"{number}.json")
        if dice.random() < 0.3:
            key = f"path {dice.randrange(2_000)}"
            assert keys.get(key) == expected.get(key)
            if key not in expected:
                keys.add(key, decider)
                expected[key] = decider
            continue
        start = dice.choice([dice.randrange(2_000), 2_000 + 100 * number])
        some = [f"path {at}" for at in range(start, start + dice.randrange(1, 80))]
        news = keys.add_all(some, decider, pa.array(some) if dice.random() < 0.7 else None)
        told = [key not in expected for key in some]
        assert told == ([True] * len(some) if news is None else list(news))
        expected |= {key: decider for key, is_news in zip(some, told, strict=True) if is_news}
    assert {key: keys.get(key) for key in expected} == expected
    assert keys.get("of nobody") is None
