"""We and delta-spark change one table at once, each way round: whoever is second follows, begins
again or refuses as the reference's table of conflicts has it, and the rows are those of one
statement after the other."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from explorer.transaction.conflicts import Conflict
from explorer.writing.statements import change_statement, row_statement
from tests.interop.contenders import (
    CHANGES,
    LEVELS,
    WINNERS,
    Rows,
    after,
    commit_of,
    make,
    ours,
    rows_before,
    rows_of,
    rule_between,
    theirs,
)
from tests.interop.twins import REFUSED

_MINE, _OTHER = 50, 7
"""Who wrote a row, by its value."""


class Pair(NamedTuple):
    """Who begins, and who commits first; `part` is that of the one who commits first, where the
    other is about `a`."""

    begun: str
    winner: str
    part: str
    level: str

    def rule(self, *, by_statistics: bool) -> str | None:
        """What is in the way; see `rule_between`."""
        return rule_between(
            self.begun,
            self.winner,
            meets=self.part == "a",
            level=self.level,
            by_statistics=by_statistics,
        )

    def outcomes(self, begun_by: int, won_by: int) -> list[Rows]:
        """The rows by the order of the commits; with blind appends, which may change places, by
        the other one too."""
        rows = rows_before()
        first = after(self.winner, self.part, rows, won_by)
        found = [after(self.begun, "a", first, begun_by)]
        if self.level == "WriteSerializable" and "append" in {self.begun, self.winner}:
            own = after(self.begun, "a", rows, begun_by)
            found.append(after(self.winner, self.part, own, won_by))
        return found


_PAIRS = [
    Pair(first, second, part, level)
    for first in CHANGES
    for second in WINNERS
    for part in ("a", "b")
    for level in LEVELS
    # of what is about the whole table the partition says nothing
    if part == "a" or second not in {"metadata", "protocol"}
]
_WAIT_S = 120

Base = Callable[[str], Path]
Won = Callable[[str, str, str], Path]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """A table of each isolation level, to be copied."""
    folder = tmp_path_factory.mktemp("contended")

    def find(level: str) -> Path:
        place = folder / level
        if not place.exists():
            make(place, level)
        return place

    return find


@pytest.fixture(scope="module")
def won(base: Base, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Won:
    """What a statement of delta-spark brings to such a table, made once when it is asked for."""
    folder = tmp_path_factory.mktemp("won")

    def find(name: str, part: str, level: str) -> Path:
        place = folder / f"{name}-{part}-{level}"
        if not place.exists():
            changed = Path(shutil.copytree(base(level), folder / f"{place.name}-whole"))
            theirs(name, part, changed, _OTHER, spark)
            commit_of(base(level), changed, place)
        return place

    return find


@pytest.mark.sampled(one_in=48)
@pytest.mark.parametrize("pair", _PAIRS, ids="-".join)
def test_what_we_began_follows_delta_spark_or_begins_again(
    pair: Pair, base: Base, won: Won, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path(shutil.copytree(base(pair.level), tmp_path / "t"))
    commit = won(pair.winner, pair.part, pair.level)
    rules = _interrupted(monkeypatch, lambda: _bring(commit, place))
    ours(pair.begun, "a", place, _MINE, tmp_path)
    assert rows_of(place) in pair.outcomes(_MINE, _OTHER)
    rule = pair.rule(by_statistics=True)
    assert rules == ([] if rule is None else [rule])


def _bring(commit: Path, place: Path) -> None:
    shutil.copytree(commit, place, dirs_exist_ok=True)


def _interrupted(monkeypatch: pytest.MonkeyPatch, come_between: Callable[[], None]) -> list[str]:
    """Another commits before the first commit of ours; the rules that were in the way since."""
    left, rules = [come_between], list[str]()
    for module in (change_statement, row_statement):
        commit = module.commit_rows

        def late(
            *args: Any, again: Any, commit: Callable[..., Any] = commit, **options: Any
        ) -> Any:
            if left:
                left.pop()()

            def told(conflict: Conflict) -> Any:
                rules.append(conflict.rule)
                return again(conflict)

            return commit(*args, again=told, **options)

        monkeypatch.setattr(module, "commit_rows", late)
    return rules


_WORDS = (
    "DELTA_PROTOCOL_CHANGED",
    "DELTA_METADATA_CHANGED",
    "DELTA_CONCURRENT_APPEND",
    "DELTA_CONCURRENT_DELETE_READ",
)


@pytest.mark.sampled(one_in=96)
@pytest.mark.parametrize("pair", _PAIRS, ids="-".join)
def test_what_delta_spark_began_follows_us_or_is_refused(
    pair: Pair, base: Base, spark: SparkSession, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(base(pair.level), tmp_path / "t"))
    begun, go_on = tmp_path / "begun", tmp_path / "go on"
    spark.udf.register("held_open", _barrier(str(begun), str(go_on)))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(theirs, pair.begun, "a", place, _OTHER, spark, "held_open(id)")
        try:
            _await(lambda: begun.exists() or running.done())
            ours(pair.winner, pair.part, place, _MINE, tmp_path)
        finally:
            go_on.touch()
        refused = _refusal(running.result)
    rule = pair.rule(by_statistics=False)
    if refused:
        assert rule is not None, refused
        assert any(name in refused for name in _WORDS), refused
        assert rows_of(place) == after(pair.winner, pair.part, rows_before(), _MINE)
    else:
        # the reference follows a protocol whose new feature asks nothing of what is under way
        assert rule in {None, "protocol changed"}
        assert rows_of(place) in pair.outcomes(_OTHER, _MINE)


def _barrier(begun: str, go_on: str) -> Any:
    def held_open(key: int) -> bool:
        Path(begun).touch()
        _await(Path(go_on).exists)
        return True

    return udf(held_open, "boolean")


def _await(is_there: Callable[[], bool]) -> None:
    end = time.monotonic() + _WAIT_S
    while not is_there():
        assert time.monotonic() < end, "the other writer never came"
        time.sleep(0.02)


def _refusal(result: Callable[[], object]) -> str:
    """The message of what delta-spark refused; nothing where it committed."""
    try:
        result()
    except REFUSED as error:
        return str(error)
    return ""
