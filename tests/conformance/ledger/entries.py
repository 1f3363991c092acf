"""The ledger's entries: one for each rule of the specification, in a file per area.

- id: dv-z85
  revision: '000'          # 000 is the newest; 001, 004, 003; newer: beyond the four
  section: Deletion Vector Descriptor Schema
  line: 699                # in that revision's file
  rule: >-                 # in our own words
    The base85 variant used is Z85.
  binds: both              # reader, writer or both
  tests:                   # written by the command, from the tests' marks
  - tests/unit/protocol/test_deletion_vectors.py::test_name
  open: writing            # why no test holds it, or not all of it
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parent
REVISIONS = ("000", "001", "004", "003", "newer")
BINDS = ("reader", "writer", "both")

# Why a rule is open, as the overview says it.
OPEN = {
    "writing": "no test on a written table yet",
    "not-built": "not built yet",
    "untested": "no test yet",
    "no-duty": "allows or explains; nothing can break it",
}

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One rule."""

    id: str
    revision: str
    section: str
    line: int
    rule: str
    binds: str
    tests: tuple[str, ...] = ()
    open: str | None = None

    @property
    def binds_readers(self) -> bool:
        """Whether a reader has to keep it."""
        return self.binds != "writer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One file of the ledger, whose ids begin with `prefix`."""

    name: str
    prefix: str
    title: str
    rules: tuple[Entry, ...]


@cache
def read_ledger(folder: Path = FOLDER) -> list[Area]:
    """The areas in the order in which the overview shows them."""
    found = [
        _parse(path.stem, yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER))
        for path in sorted(folder.glob("*.yaml"))
    ]
    return [area for _, area in sorted(found, key=lambda pair: pair[0])]


def rules_of(areas: list[Area]) -> Iterator[Entry]:
    """All entries of all areas."""
    for area in areas:
        yield from area.rules


def with_marks(area: Area, marks: Mapping[str, list[str]]) -> Area:
    """The area with the tests that the marks name.

    What a test holds is no longer untested or unbuilt; what none holds and
    nobody gave a reason for is untested. `writing` stays: the reader's half of
    a rule may be held while the writer's is open.
    """
    return replace(area, rules=tuple(_marked(entry, marks) for entry in area.rules))


def render_area(order: int, area: Area) -> str:
    """The area's file."""
    lines = [f"order: {order}", f"prefix: {area.prefix}", f"title: {_quoted(area.title)}", "rules:"]
    for entry in area.rules:
        lines += _render(entry)
    return "\n".join(lines) + "\n"


def _marked(entry: Entry, marks: Mapping[str, list[str]]) -> Entry:
    tests = tuple(sorted(marks.get(entry.id, ())))
    reason = entry.open
    if tests and reason != "writing":
        reason = None
    elif not tests and reason is None:
        reason = "untested"
    return replace(entry, tests=tests, open=reason)


def _parse(name: str, document: dict[str, Any]) -> tuple[int, Area]:
    rules = tuple(
        Entry(**{**rule, "tests": tuple(rule.get("tests") or ())}) for rule in document["rules"]
    )
    area = Area(name=name, prefix=document["prefix"], title=document["title"], rules=rules)
    return document["order"], area


def _render(entry: Entry) -> list[str]:
    lines = [
        f"- id: {entry.id}",
        f"  revision: '{entry.revision}'",
        f"  section: {_quoted(entry.section)}",
        f"  line: {entry.line}",
        "  rule: >-",
        *_folded(entry.rule),
        f"  binds: {entry.binds}",
    ]
    if entry.tests:
        lines += ["  tests:", *(f"  - {test}" for test in entry.tests)]
    if entry.open:
        lines.append(f"  open: {entry.open}")
    return lines


def _folded(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        width=_WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
