"""What a source says of an engine and a feature: short texts as a closed set of verdicts.

The grammar is strict: a text that it does not have means unknown, never yes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Verdict: TypeAlias = Literal["yes", "no", "conditional", "unknown"]
"""`conditional`: yes, if something is done or borne that the text beside it says."""

Evidence: TypeAlias = Literal["proven", "documented", "reported", "unknown"]
"""What a verdict rests on: the source code or an experiment; the documentation of who makes
the engine; what people report, or a source of low confidence; nothing."""

EVIDENCE: Final[tuple[Evidence, ...]] = ("proven", "documented", "reported", "unknown")
"""The strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What an engine does with one feature.

    `text` is what it takes, or what the source adds; `since` the release that brought it,
    where the source gives one. With `in_use_only` the verdict counts for tables that use
    the feature, and the engine has nothing against one that merely supports it.
    """

    verdict: Verdict
    text: str | None = None
    since: str | None = None
    in_use_only: bool = False


YES: Final = Support(verdict="yes")
NO: Final = Support(verdict="no")
UNKNOWN: Final = Support(verdict="unknown")

_NUMBER: Final = r"\d+(?:\.\d+)*"
_CELL: Final = re.compile(r"(yes|no|none|opt-in|read only)(?:[:,] (.+)| \((.+)\))?")
_SINCE: Final = re.compile(rf"since ({_NUMBER})")
_RUNTIME: Final = rf"({_NUMBER}(?: LTS)?)"
_ONE_RUNTIME: Final = re.compile(rf"{_RUNTIME}(?: \((.+)\))?")
_TWO_RUNTIMES: Final = re.compile(
    rf"read {_RUNTIME}; (?:write )?recommended {_RUNTIME}(?:; .+)?", re.DOTALL
)
_IN_USE: Final[dict[str, Verdict]] = {
    "only while none is defined in the schema/metadata": "no",
    "only while delta.enableChangeDataFeed is not true": "no",
    "with restrictions validated at commit": "conditional",
    "only with delta.appendOnly while delta.enableChangeDataFeed is true": "conditional",
}
_EVIDENCE: Final[tuple[tuple[str, Evidence], ...]] = (
    ("source-code", "proven"),
    ("own experiment", "proven"),
    ("docs", "documented"),
    ("issue", "reported"),
    ("low", "reported"),
)


def parse_reading(text: str) -> Support:
    """A text about reading: `yes`, `no: refused`, `since 3.4`, `opt-in`, `read only`."""
    if found := _SINCE.fullmatch(text):
        return Support(verdict="yes", since=found[1])
    found = _CELL.fullmatch(text)
    if found is None:
        return Support(verdict="unknown", text=text)
    word, more = found[1], found[2] or found[3]
    if word in ("no", "none"):
        return Support(verdict="no", text=more)
    if word == "opt-in":
        return Support(verdict="conditional", text=more or "has to be switched on")
    return Support(verdict="conditional", text=more) if more else YES


def parse_writing(text: str) -> Support:
    """A text about writing; `read only` is a no."""
    found = _CELL.fullmatch(text)
    if found is not None and found[1] == "read only":
        return Support(verdict="no", text=text)
    return parse_reading(text)


def parse_writing_condition(text: str) -> Support:
    """A condition of writing, such as `only while none is defined in the schema/metadata`;
    one that the grammar does not have is left to the reader."""
    if text in _IN_USE:
        return Support(verdict=_IN_USE[text], text=text, in_use_only=True)
    return Support(verdict="conditional", text=text)


def parse_runtimes(text: str) -> tuple[Support, Support]:
    """From which release an engine reads and writes: `12.2 LTS`, or `read 12.2 LTS; write
    recommended 14.3 LTS`, of which the recommended one counts for writing."""
    if found := _ONE_RUNTIME.fullmatch(text):
        both = Support(verdict="yes", since=found[1], text=found[2])
        return both, both
    if found := _TWO_RUNTIMES.fullmatch(text):
        return Support(verdict="yes", since=found[1]), Support(verdict="yes", since=found[2])
    unknown = Support(verdict="unknown", text=text)
    return unknown, unknown


def parse_evidence(confidence: str | None) -> Evidence:
    """The level of a confidence, which its first word says: `docs (undated)`."""
    for word, level in _EVIDENCE:
        if confidence is not None and re.match(rf"{word}\b", confidence):
            return level
    return "unknown"


def weakest(levels: list[Evidence]) -> Evidence:
    """The weakest of some levels; unknown without any."""
    return max(levels, key=EVIDENCE.index, default="unknown")


def release_number(text: str) -> tuple[int, ...]:
    """The first number of a release's name, for its order: `branch v1.4-andium` is (1, 4, 0)."""
    found = re.search(_NUMBER, text)
    parts = [int(part) for part in found[0].split(".")] if found else []
    return (*parts, *[0] * (3 - len(parts)))
