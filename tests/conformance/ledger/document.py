"""`docs/protocol.md`: what of the specification is held, by which test, and what is open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from tests.conformance.ledger.entries import OPEN, Area, Entry, rules_of

_HEAD = """\
# The protocol, rule by rule

Made from `tests/conformance/ledger/` by `python -m tests.conformance.ledger`; do not edit.

One line for each rule of the newest of the four revisions of the Delta transaction log protocol \
(`000`), for what the older three say otherwise (`001`, `004`, `003`), and for what tables carry \
beyond them (`newer`), in our own words. *Reader*, *writer* and *both* say whom a rule binds. A \
test in the last column fails when the rule is broken. What is open has its reason:
"""


def render_document(areas: list[Area]) -> str:
    """The whole document."""
    return "\n".join([_HEAD, *_reasons(), "", *_totals(areas), *_areas(areas)]) + "\n"


def _reasons() -> Iterator[str]:
    for name, meaning in OPEN.items():
        yield f"- **{name}**: {meaning}."


def _totals(areas: list[Area]) -> Iterator[str]:
    yield "| Area | Rules | Bind readers | of these held | Bind writers only | of these held |"
    yield "|---|--:|--:|--:|--:|--:|"
    for area in areas:
        yield _total(f"[{_plain(area.title)}](#{_anchor(area.title)})", area.rules)
    yield _total("**All**", list(rules_of(areas)))


def _total(title: str, rules: Iterable[Entry]) -> str:
    rules = list(rules)
    readers = [rule for rule in rules if rule.binds_readers]
    writers = [rule for rule in rules if not rule.binds_readers]
    counts = [len(rules), len(readers), _held(readers), len(writers), _held(writers)]
    return f"| {title} | " + " | ".join(map(str, counts)) + " |"


def _held(rules: Iterable[Entry]) -> int:
    """How many have a test."""
    return sum(bool(rule.tests) for rule in rules)


def _areas(areas: list[Area]) -> Iterator[str]:
    for area in areas:
        yield f"\n## {_plain(area.title)}"
        for (revision, section), rules in groupby(
            area.rules, key=lambda rule: (rule.revision, rule.section)
        ):
            yield f"\n### {_plain(section)} ({revision})\n"
            yield "| Rule | | Binds | Covered by | Open |"
            yield "|---|---|---|---|---|"
            for rule in rules:
                yield _row(rule)


def _row(rule: Entry) -> str:
    tests = "<br>".join(f"`{_short(test)}`" for test in rule.tests)
    return f"| `{rule.id}` | {_plain(rule.rule)} | {rule.binds} | {tests} | {rule.open or ''} |"


def _short(test: str) -> str:
    return test.removeprefix("tests/")


def _plain(text: str) -> str:
    """The text so that Markdown changes nothing in it."""
    for sign in "\\`*_[]|~$":
        text = text.replace(sign, "\\" + sign)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _anchor(title: str) -> str:
    kept = "".join(sign for sign in title.lower() if sign.isalnum() or sign in " -")
    return kept.replace(" ", "-")
