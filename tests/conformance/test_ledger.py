"""The ledger of the specification: every rule has its tests or a reason why it has none,
and the tests and the ledger name each other."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.ledger.__main__ import render_all
from tests.conformance.ledger.entries import (
    BINDS,
    OPEN,
    REVISIONS,
    Area,
    Entry,
    read_ledger,
    render_area,
    rules_of,
    with_marks,
)
from tests.conformance.ledger.marks import ROOT, read_marks
from tests.conformance.ledger.specification import (
    ENTERED_ABOVE,
    REVISIONS_WITH_HEADINGS,
    SPECIFICATION,
    WITHOUT_RULES,
    headings_of,
    read_revision,
    section_at,
)

AREAS = read_ledger()
RULES = list(rules_of(AREAS))
BY_ID = {rule.id: rule for rule in RULES}
MARKS, TESTS = read_marks()


@pytest.fixture
def specification() -> Path:
    """The folder of the specification's copies."""
    if not SPECIFICATION.is_dir():
        pytest.skip(f"no specification at {SPECIFICATION}: set DELTA_EXPLORER_SPECIFICATION")
    return SPECIFICATION


beside_the_specification = pytest.mark.may_skip(reason="the specification's copies are not ours")


def test_ids_are_unique_and_begin_with_their_area() -> None:
    assert [rule for rule, times in Counter(rule.id for rule in RULES).items() if times > 1] == []
    for area in AREAS:
        for rule in area.rules:
            assert re.fullmatch(rf"{area.prefix}(-[a-z0-9]+)+", rule.id), rule.id


def test_words_of_the_ledger_are_those_that_it_knows() -> None:
    for rule in RULES:
        assert rule.revision in REVISIONS, rule.id
        assert rule.binds in BINDS, rule.id
        assert rule.open is None or rule.open in OPEN, rule.id
        assert rule.rule.endswith("."), rule.id


def test_every_mark_names_a_rule() -> None:
    assert {rule: tests for rule, tests in MARKS.items() if rule not in BY_ID} == {}


def test_every_test_that_the_ledger_names_exists_and_carries_the_rule() -> None:
    for rule in RULES:
        assert set(rule.tests) <= TESTS, rule.id
        assert set(rule.tests) == set(MARKS.get(rule.id, ())), rule.id


def test_every_rule_is_held_or_says_why_it_is_open() -> None:
    for rule in RULES:
        assert rule.tests or rule.open, rule.id
        assert not rule.tests or rule.open in {None, "writing"}, rule.id


def test_what_binds_a_reader_does_not_wait_for_the_writing() -> None:
    for rule in RULES:
        if rule.open == "writing":
            assert rule.binds == "writer" or (rule.binds == "both" and rule.tests), rule.id


def test_ledger_and_overview_are_as_the_command_writes_them() -> None:
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in render_all().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run python -m tests.conformance.ledger"


@beside_the_specification
@pytest.mark.parametrize("revision", REVISIONS_WITH_HEADINGS)
def test_every_heading_has_a_rule(specification: Path, revision: str) -> None:
    covered = {rule.section for rule in RULES if rule.revision in {"000", revision}}
    headings = {title for _, title in headings_of(read_revision(revision))}
    assert len(headings) > 20
    assert headings - covered - ENTERED_ABOVE - WITHOUT_RULES.keys() == set()


@beside_the_specification
def test_every_heading_without_rules_has_none(specification: Path) -> None:
    headings = {
        title
        for revision in REVISIONS_WITH_HEADINGS
        for _, title in headings_of(read_revision(revision))
    }
    assert WITHOUT_RULES.keys() | ENTERED_ABOVE <= headings
    assert WITHOUT_RULES.keys().isdisjoint(rule.section for rule in RULES)


@beside_the_specification
@pytest.mark.parametrize("revision", REVISIONS_WITH_HEADINGS)
def test_every_rule_stands_below_its_heading(specification: Path, revision: str) -> None:
    headings = headings_of(read_revision(revision))
    for rule in RULES:
        if rule.revision == revision:
            assert section_at(headings, rule.line) == rule.section, rule.id


@beside_the_specification
def test_every_paragraph_beyond_the_revisions_has_a_rule(specification: Path) -> None:
    text = (specification / "newer-features.md").read_text(encoding="utf-8")
    paragraphs = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    entered = {
        rule.line for rule in RULES if rule.revision == "newer" and rule.section != "traps.md"
    }
    assert paragraphs - entered == {1}


def test_marks_are_found_on_functions_classes_and_parameters(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    (folder / "test_some.py").write_text(
        "import pytest\n"
        "@pytest.mark.rule('a', 'b')\n"
        "def test_one(): ...\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.rule('c'))])\n"
        "def test_two(x): ...\n"
        "@pytest.mark.rule('d')\n"
        "class TestAll:\n"
        "    @pytest.mark.rule('e')\n"
        "    def test_three(self): ...\n"
        "def helper(): ...\n"
    )
    marks, tests = read_marks(tmp_path)
    some = "tests/unit/test_some.py::"
    assert marks == {
        "a": [f"{some}test_one"],
        "b": [f"{some}test_one"],
        "c": [f"{some}test_two"],
        "d": [f"{some}TestAll::test_three"],
        "e": [f"{some}TestAll::test_three"],
    }
    assert tests == {f"{some}test_one", f"{some}test_two", f"{some}TestAll::test_three"}


def test_area_is_read_as_it_was_written(tmp_path: Path) -> None:
    for order, area in enumerate(AREAS, start=1):
        (tmp_path / f"{area.name}.yaml").write_text(render_area(order, area), encoding="utf-8")
    assert read_ledger(tmp_path) == AREAS


@pytest.mark.parametrize(
    ("reason", "tests", "then"),
    [
        (None, [], "untested"),
        ("not-built", [], "not-built"),
        ("not-built", ["t"], None),
        ("untested", ["t"], None),
        ("writing", ["t"], "writing"),
    ],
)
def test_reason_of_an_open_rule_goes_when_a_test_holds_it(
    reason: str | None, tests: list[str], then: str | None
) -> None:
    rule = Entry(
        id="x-a", revision="000", section="S", line=1, rule="R.", binds="both", open=reason
    )
    area = with_marks(Area(name="x", prefix="x", title="X", rules=(rule,)), {"x-a": tests})
    assert area.rules[0].open == then
    assert area.rules[0].tests == tuple(tests)
