"""Short texts of the engine matrix: what the grammar has, and what it does not."""

from __future__ import annotations

import pytest

from explorer.inspect.engine_support._cells import (
    Evidence,
    Verdict,
    parse_evidence,
    parse_reading,
    parse_runtimes,
    parse_writing,
    parse_writing_condition,
    release_number,
    weakest,
)


@pytest.mark.parametrize(
    ("text", "verdict", "more", "since"),
    [
        ("yes", "yes", None, None),
        ("no", "no", None, None),
        ("no (2025)", "no", "2025", None),
        ("no: refused, always", "no", "refused, always", None),
        ("none: read only", "no", "read only", None),
        ("since 3.4", "yes", None, "3.4"),
        ("opt-in", "conditional", "has to be switched on", None),
        (
            "yes, bug open: silently drops rows",
            "conditional",
            "bug open: silently drops rows",
            None,
        ),
        ("read only", "yes", None, None),
        ("unknown (a re-posted answer says yes)", "unknown", ..., None),
        ("n/a", "unknown", ..., None),
        ("via kernel", "unknown", ..., None),
        ("same", "unknown", ..., None),
        ("yesterday", "unknown", ..., None),
        ("YES", "unknown", ..., None),
        ("not yes", "unknown", ..., None),
        ("since then", "unknown", ..., None),
        ("was disabled (PR 44902)", "unknown", ..., None),
        ("returns all NULLs silently", "unknown", ..., None),
        ("", "unknown", ..., None),
    ],
)
def test_a_text_about_reading_means_what_the_grammar_has_or_nothing(
    text: str, verdict: Verdict, more: str | None, since: str | None
) -> None:
    found = parse_reading(text)
    assert (found.verdict, found.since) == (verdict, since)
    assert found.text == (text if more is ... else more)


def test_read_only_is_a_no_to_writing() -> None:
    assert parse_writing("read only").verdict == "no"
    assert parse_writing("yes").verdict == "yes"


@pytest.mark.parametrize(
    ("text", "read", "write"),
    [
        ("9.1 LTS", "9.1 LTS", "9.1 LTS"),
        ("15.3", "15.3", "15.3"),
        ("18.0 (17.3 beta)", "18.0", "18.0"),
        ("read 12.2 LTS; write recommended 14.3 LTS; auto-enabled 14.1+", "12.2 LTS", "14.3 LTS"),
        ("read 15.2; recommended 15.4 LTS", "15.2", "15.4 LTS"),
        ("soon", None, None),
        ("read 12.2 LTS", None, None),
    ],
)
def test_runtimes_are_read_for_both_directions(
    text: str, read: str | None, write: str | None
) -> None:
    found = parse_runtimes(text)
    assert [item.since for item in found] == [read, write]
    assert {item.verdict for item in found} == {"unknown" if read is None else "yes"}


@pytest.mark.parametrize(
    ("text", "verdict", "in_use_only"),
    [
        ("only while none is defined in the schema/metadata", "no", True),
        ("only while delta.enableChangeDataFeed is not true", "no", True),
        ("with restrictions validated at commit", "conditional", True),
        ("only on Sundays", "conditional", False),
    ],
)
def test_a_condition_that_nobody_can_evaluate_stays_one(
    text: str, verdict: Verdict, in_use_only: bool
) -> None:
    found = parse_writing_condition(text)
    assert (found.verdict, found.in_use_only, found.text) == (verdict, in_use_only, text)


@pytest.mark.parametrize(
    ("confidence", "level"),
    [
        ("source-code (Python wheels: built with datafusion)", "proven"),
        ("own experiment: read", "proven"),
        ("docs (undated)", "documented"),
        ("issue", "reported"),
        ("low: by reasoning", "reported"),
        ("none", "unknown"),
        ("issues of docs", "unknown"),
        (None, "unknown"),
    ],
)
def test_confidence_is_read_by_its_first_word(confidence: str | None, level: Evidence) -> None:
    assert parse_evidence(confidence) == level


def test_a_chain_of_evidence_is_as_strong_as_its_weakest_link() -> None:
    assert weakest(["proven", "reported", "documented"]) == "reported"
    assert weakest([]) == "unknown"


def test_releases_are_ordered_by_their_first_number() -> None:
    names = ["7.9.0", "7.10.0", "branch v1.4-andium", "3.3.2-amzn-2", "python < 0.14.0", "main"]
    assert [release_number(name) for name in names] == [
        (7, 9, 0),
        (7, 10, 0),
        (1, 4, 0),
        (3, 3, 2),
        (0, 14, 0),
        (0, 0, 0),
    ]
