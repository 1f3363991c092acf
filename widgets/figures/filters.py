"""Which commits are shown: by operation, engine and user, by what they did to rows, and by a
text in any of the first three, in the condition on rows or in the message.

A filter is a value for each of some `FIELDS`, one of `EFFECTS`, and a `TEXT`; an empty value of a
field stands for what is not recorded.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import FALSE, Flags, read_flags
from widgets.figures.commits import Commits

FIELDS = {"operation": "operation", "engine": "engine_info", "user": "user_name"}
"""What is chosen from a list, with its column."""

EFFECT = "effect"
EFFECTS = {"removed": "Removed or changed rows", "added": "Added or changed rows"}
"""What commits are chosen by that deleted rows, whatever the operation is called: a MERGE does,
too. A change counts as both."""

TEXT = "text"

SEARCHED = (*FIELDS.values(), "predicate", "message")
"""The columns in which a text is looked for."""

CHOICES = 40
"""Values to choose from, the most frequent first; the text finds the others."""


def build_shown(commits: Commits, wanted: Mapping[str, str], version: int | None = None) -> Flags:
    """Whether each commit meets all that is asked for; `version` is what the text names."""
    shown: Flags = np.ones(len(commits.version), dtype=np.bool_)
    for name, column in FIELDS.items():
        if name in wanted:
            values = pc.fill_null(commits.frame[column], "")
            shown &= read_flags(pc.equal(values, wanted[name]))
    if (effect := wanted.get(EFFECT, "")) in EFFECTS:
        shown &= _had_effect(commits, effect)
    text = wanted.get(TEXT, "").strip()
    return shown & _holds(commits, text, version) if text else shown


def list_values(commits: Commits, name: str) -> list[tuple[str, int]]:
    """The most frequent values of a field and how many commits have each."""
    counted = pc.value_counts(pc.fill_null(commits.frame[FIELDS[name]], ""))
    pairs = [(entry["values"], entry["counts"]) for entry in counted.to_pylist()]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:CHOICES]


def list_effects(commits: Commits) -> list[tuple[str, int]]:
    """The effects on rows and how many commits have each."""
    return [(name, int(np.count_nonzero(_had_effect(commits, name)))) for name in EFFECTS]


def _had_effect(commits: Commits, name: str) -> Flags:
    """Commits that removed rows, or added some; of those that do not say how many, those that
    removed or added files, or hid rows."""

    def some(column: str) -> pa.ChunkedArray:
        return pc.greater(commits.frame[column], 0)

    may_have = pc.fill_null(some(f"files_{name}"), FALSE)
    if name == "removed":
        may_have = pc.or_(may_have, pc.fill_null(some("deletion_vectors_added"), FALSE))
    return read_flags(pc.coalesce(some(f"rows_{name}"), may_have))


def _holds(commits: Commits, text: str, version: int | None) -> Flags:
    matches: Flags = np.zeros(len(commits.version), dtype=np.bool_)
    for column in SEARCHED:
        hit = pc.match_substring(commits.frame[column], text, ignore_case=True)
        matches |= read_flags(hit)
    return matches if version is None else matches | (commits.version == version)
