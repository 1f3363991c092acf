"""What others say of the corpus and of the demo table, against what we say of them.

Every disagreement is listed in `tests/interop/disagreements/`, and nothing is listed there that
is not one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.corpus import TABLES, table_name
from tests.interop.disagreements.__main__ import DOCUMENT
from tests.interop.disagreements.document import render_document
from tests.interop.disagreements.entries import (
    DELTA_SPARK,
    DELTALAKE,
    DISAGREEMENTS,
    disagreements_at,
)
from tests.interop.reading import DEMO, Case, Reading, differences, place_case
from tests.interop.reading_deltalake import read_with_deltalake
from tests.interop.reading_ours import read_ours
from tests.interop.reading_spark import read_with_spark

ALL: list[dict[str, Any]] = [*TABLES, {"name": DEMO, "expect": "ok", "num_rows_live": None}]
AT_ONCE = 2

Begun = dict[str, Future[tuple[Case, Reading]]]


def check_disagreements(peer: str, table: str, found: dict[str, str]) -> None:
    """That all of `found` is listed, and all that is listed was found."""
    listed = disagreements_at(peer, table)
    elsewhere = {e.fact: e for e in DISAGREEMENTS if e.peer == peer and e.elsewhere}
    known = elsewhere | listed
    assert {fact: text for fact, text in found.items() if fact not in known} == {}, "not listed"
    assert [fact for fact in listed if fact not in found] == [], "gone: take it off the list"
    for fact, text in found.items():
        assert re.match(known[fact].found, text, re.DOTALL), f"{fact}: {text}"


@pytest.fixture(scope="module")
def begun(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Begun]:
    """delta-spark reading the tables of the tests that were chosen, some at once: much of its
    time is spent on waiting."""

    def read(expected: dict[str, Any]) -> tuple[Case, Reading]:
        case = place_case(expected, tmp_path_factory.mktemp("peer"))
        return case, read_with_spark(spark, case)

    chosen: list[Any] = [
        item.callspec.params["expected"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and "begun" in item.fixturenames
    ]
    pool = ThreadPoolExecutor(AT_ONCE)
    yield {expected["name"]: pool.submit(read, expected) for expected in chosen}
    pool.shutdown(cancel_futures=True)


@pytest.mark.sampled(one_in=6)
@pytest.mark.rule("dv-rows-not-returned", "mapping-name-physical")
@pytest.mark.parametrize("expected", ALL, ids=table_name)
def test_deltalake_disagrees_only_where_it_is_listed(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    case = place_case(expected, tmp_path)
    found = differences(read_ours(case), read_with_deltalake(case))
    check_disagreements(DELTALAKE, expected["name"], found)


@pytest.mark.sampled(one_in=16)
@pytest.mark.parametrize("expected", ALL, ids=table_name)
def test_delta_spark_disagrees_only_where_it_is_listed(
    expected: dict[str, Any], begun: Begun
) -> None:
    case, theirs = begun[expected["name"]].result()
    check_disagreements(DELTA_SPARK, expected["name"], differences(read_ours(case), theirs))


def test_every_disagreement_is_about_a_table_that_is_there(corpus: Path) -> None:
    names = {table_name(expected) for expected in ALL}
    assert {name for entry in DISAGREEMENTS for name in entry.tables} <= names


def test_the_document_is_in_step(corpus: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == render_document(TABLES), "run `python -m tests.interop.disagreements`"
