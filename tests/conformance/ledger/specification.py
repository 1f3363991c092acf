"""The headings of the specification's copies: where each revision's rules stand."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.conformance.ledger.marks import ROOT

SPECIFICATION = Path(
    os.environ.get("DELTA_EXPLORER_SPECIFICATION", ROOT.parent / "shared" / "spec")
)

# The copy of 001 has lost its headings.
REVISIONS_WITH_HEADINGS = ("000", "004", "003")

# Headings below which nothing binds anyone.
WITHOUT_RULES = {
    "Actions": "introduces the actions",
    "Appendix": "a title",
    "Checkpoint Naming Scheme": "names the three sections below it",
    "Checkpoint Specs": "names the two sections below it",
    "Delta Transaction Log Protocol": "the title",
    "Example": "a schema as an example; the rules stand above it",
    "Modifying a Delta Table": "a draft in a comment; its sentences stand below it",
    "Required Table Options": "empty, in a comment",
    "Requirements for Readers": "names the section below it",
    "Requirements for Writers": "names the sections below it",
    "THIS IS AN IN-PROGRESS DRAFT": "a remark",
}

# Further headings whose rules are entered under the heading above them.
ENTERED_ABOVE = {
    "Example of storing identifiers for nested fields in ArrayType and MapType",
    "JSON Example 1 — On Disk with Relative Path (with Random Prefix)",
    "JSON Example 2 — On Disk with Absolute Path",
    "JSON Example 3 — Inline",
}

# A heading without the empty line before it.
_UNSEPARATED = "Note for non-change data readers"

# What the web page around the text leaves in the copies.
_AROUND = {
    "File metadata and controls",
    "Footnotes",
    "History",
    "Latest commit",
    "PROTOCOL.md",
    "Skip to content",
}
_TITLE = re.compile(r"[A-Z][^\n]{0,88}[^\n.:,;]")
_NOT_A_TITLE = re.compile(r"\d+ lines|.*\(= |Example-\d|To support this|See |Delta supports ")


def read_revision(revision: str) -> str:
    """The text of a revision's copy."""
    return next(SPECIFICATION.glob(f"{revision}_*.txt")).read_text(encoding="utf-8")


def headings_of(text: str) -> list[tuple[int, str]]:
    """The headings with their lines, counted from 1.

    Where Markdown's signs are lost, a heading is a short line without a stop
    at its end between two empty ones.
    """
    lines = text.splitlines()
    marked = [
        (number, line.lstrip("#").strip())
        for number, line in enumerate(lines, start=1)
        if line.startswith("#")
    ]
    return marked or [
        (number, line)
        for number, (before, line, after) in enumerate(
            zip(lines, lines[1:], lines[2:], strict=False), start=2
        )
        if line == _UNSEPARATED or (not before.strip() and not after.strip() and _is_title(line))
    ]


def section_at(headings: list[tuple[int, str]], line: int) -> str | None:
    """The heading below which a line stands."""
    above = [title for number, title in headings if number <= line and title not in ENTERED_ABOVE]
    return above[-1] if above else None


def _is_title(line: str) -> bool:
    return (
        line not in _AROUND
        and _TITLE.fullmatch(line) is not None
        and _NOT_A_TITLE.match(line) is None
    )
