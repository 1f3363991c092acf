"""Phrases that do not come back, because readers had to decode them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("explorer", "widgets", "docs", "notebooks", "README.md")
READ = {".py", ".md", ".ipynb", ".yaml", ".html", ".js"}
MADE = {"docs/protocol.md"}
"""Made from the ledger of the specification, whose tests have names of their own."""

# What is looked for, and what to write instead.
PHRASES = {
    "written again": (r"[Ww]riting [^\"\n]{1,60} again makes", "rewriting … turns 23 files into 1"),
    "could be saved": (r"could be saved", "132 fewer files"),
    "came and went": (
        r"\bcame(,| and| or) went\b|\bfiles?( that)? (came|went)\b",
        "added, removed; inserted, deleted",
    ),
    "moved on": (r"transactions? moved on", "1 application transaction advanced"),
    "vectors grew": (r"vectors? that grew", "rows newly soft-deleted"),
    "anew": (r"\banew\b", "again; rewritten, reopened; Refresh"),
    "version is there": (r"[Vv]ersion [^\"\n]{1,20} is there\.", "Version 75 is available."),
    "nothing is called": (r"Nothing is called", "No matches."),
    "let it pass": (r"\blets? it pass", "6 checks passed"),
    "refused by a guard": (
        r"Refused by a guard|Planned was|guard refuses this plan",
        "Blocked: …, then the plan",
    ),
    "do nothing": (r"[\">]Do nothing[\"<]", "Cancel"),
    "between changes": (r"between two changes", "after this step"),
    "headings": (
        r"\"(Became|Holds|Looked at afterwards|What it rests on|Kept of this table)\"",
        "Result, OK, Checked afterwards, Based on, Receipts and plans",
    ),
    "our vacuum": (
        r"[Oo]ur vacuum|the reference's (\d|\{)|The reference would",
        "VACUUM would …, here and in Delta Spark",
    ),
    "its folder": (r"The table has [^\n]{1,60} its folder", "The table is …; its folder takes …"),
    "knows no": (r"\bknows no (OPTIMIZE|\{)", "no OPTIMIZE in the remaining log"),
    "all 1 commit": (r"All (1|\{[^}\n]*\}) commits? of the log", "The log has 1 commit."),
    "is whole": (
        r"\b(log|table|delta-explorer|\{\w+\}) is whole\b",
        "complete; all requirements are met",
    ),
    "is no": (
        r"(?<!here )\b(is|was) no (time|version|name|limit|text|condition|number|JSON|UTF|URI)",
        "is not a valid time; is not text",
    ),
    "checkpoint stands": (
        r"checkpoint stands(?! for)|stands at this version",
        "this version has a checkpoint",
    ),
    "for ever": (r"\bfor ever\b", "permanently"),
    "worth nothing": (r"worth nothing", "invalid"),
    "the same as": (r"The same as a command", "Copy as: CLI · Python · SQL"),
    "least and greatest": (r"\"(least|greatest|Least|Greatest)\"", "min, max"),
    "nobody can tell": (
        r"[Nn]obody can tell|[Nn]othing rests on",
        "is unknown; nothing depends on it",
    ),
    "way back": (r"To do it:|The way back\b", "To apply this plan; Undo"),
    "put together": (
        r"\b(can|cannot|was|were|be) put together",
        "version 3 cannot be reconstructed; was read from 7 commits",
    ),
    "becomes impossible": (r"[Nn]othing becomes impossible", "nothing is lost"),
    "to be done": (r"[Nn]othing is to be done", "there is nothing to do"),
    "carried on": (r"carr(y|ies) the table on", "versions from 4 on can be read"),
    "newest again": (r"Makes version [^\"\n]{1,20} the newest one", "Restores version 12"),
    "again as": (r"Writes [^\"\n]{1,80} again as", "Rewrites 6 files as about 2 files"),
    "two ways": (r"independent ways", "independent computations of the kept files"),
    "broken off": (r"\bbroken off\b", "interrupted"),
    "must know": (r"([Rr]eaders|[Ww]riters) (must|have to) know\b", "readers must support"),
    "that is left names": (r"that is left (names|adds)", "nothing in the remaining log names it"),
    "numbers": (
        r":,\} (\w+ )?(files|rows|commits|versions|columns|actions) (have|are|do|were|name)\b",
        "have(n, 'file'), are(n, 'file') of explorer.table.counts: 1 file has, 2 files have",
    ),
    "docstrings": (
        r"\"\"\"The same (for|as|of|in|with) [^\"\n]{1,60}\.\"\"\"",
        "what it is, in the specification's words",
    ),
}


def _texts() -> dict[str, str]:
    paths = [path for top in TOPS for path in (ROOT / top, *(ROOT / top).rglob("*"))]
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if path.suffix in READ and path.is_file()
    }
    return {name: text for name, text in found.items() if name not in MADE}


TEXTS = _texts()


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_that_had_to_be_decoded_does_not_come_back(phrase: str) -> None:
    pattern, better = PHRASES[phrase]
    places = [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
        for name, text in TEXTS.items()
        for found in re.finditer(pattern, text)
    ]
    assert not places, f"write `{better}`:\n" + "\n".join(places)
