"""Which engines can read and write a table, and what stops the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import accumulate, chain
from typing import Any, Final

import pyarrow as pa

from explorer.inspect.answer import VERSION, Answer
from explorer.inspect.engine_support._data import collected_engines
from explorer.inspect.engine_support._judgement import (
    Judgement,
    Since,
    find_since,
    first_of_last_run,
    judge_release,
)
from explorer.inspect.engine_support._needs import Needs, build_needs
from explorer.inspect.engine_support._releases import Engine, Release
from explorer.inspect.engine_support._this_engine import build_this_engine
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import bool_column, int32_column, string_column
from explorer.table.table import Table

_SHOWN_CHARACTERS: Final = 120


def _texts_column(values: Sequence[Sequence[str]]) -> pa.Array:
    ends = int32_column([0, *accumulate(map(len, values))])
    return pa.ListArray.from_arrays(ends, string_column(list(chain.from_iterable(values))))


_TEXT: Final[Column] = (string_column, pa.string())
_TEXTS: Final[Column] = (_texts_column, pa.list_(pa.string()))
_FLAG: Final[Column] = (bool_column, pa.bool_())

COLUMNS: Final[dict[str, Column]] = {
    "engine": _TEXT,
    "name": _TEXT,
    "kind": _TEXT,
    "release": _TEXT,
    "released": _TEXT,
    "newest": _FLAG,
    "can_read": _TEXT,
    "read_blockers": _TEXTS,
    "read_unknowns": _TEXTS,
    "read_needs": _TEXTS,
    "readable_since": _TEXT,
    "readable_since_exact": _FLAG,
    "read_evidence": _TEXT,
    "can_write": _TEXT,
    "write_blockers": _TEXTS,
    "write_unknowns": _TEXTS,
    "write_needs": _TEXTS,
    "writable_since": _TEXT,
    "writable_since_exact": _FLAG,
    "write_evidence": _TEXT,
    "source": _TEXT,
    "as_of": _TEXT,
    "notes": _TEXTS,
}

_Row = tuple[Any, ...]


def engines(table: Table, version: int | None = None) -> pa.Table:
    """One row per engine for its newest release, ours first; behind it the oldest
    releases that can read and write without a break since, where they differ.

    - `engine` (short), `name`, `kind`: engine, library, service or protocol; `release`, null
      where the sources tell of no release, `released` as they tell it; `newest` for the
      first row of an engine
    - `can_read`, `can_write`: yes, no, conditional or unknown
    - `*_blockers`: features and versions that stop it (`writer version 7`); `*_unknowns`:
      those of which nothing is known; `*_needs`: what a conditional verdict takes
    - `readable_since`, `writable_since`: the oldest release that can, as can all later ones;
      where `*_since_exact` is false it may be older
    - `*_evidence`: proven (source code, experiment), documented, reported, or unknown;
      `source` its address, `as_of` the day for which it speaks, `notes` what else is known

    Verdicts follow the protocol, the properties and the schema: that an engine has no
    reason to refuse, not that it makes no mistake. A writer has to read, too. A table
    whose snapshot is refused answers.
    """
    reader, writer = build_needs(table.protocol(version), table.metadata(version))
    listed = (build_this_engine(), *collected_engines())
    rows = chain.from_iterable(_rows(engine, reader, writer) for engine in listed)
    return build_frame(COLUMNS, list(rows))


def engines_sentence(frame: pa.Table) -> str:
    """The answer in a sentence: `19 of 36 engines can read this table, 7 of them proven;
    deletionVectors stops 7.`

    The features named in it are the table's own text.
    """
    newest = [row for row in _plain(frame) if row["newest"]]
    proven, every = _readers(newest, {"proven"}), _readers(newest)
    told = f"{every} of {len(newest)} engines can read this table, {proven} of them proven"
    stopped = Counter(name for row in newest for name in row["read_blockers"])
    if not stopped:
        return f"{told}; no reader is known to be stopped."
    # a feature says more than the version that lists it
    name, count = max(stopped.items(), key=lambda item: (item[1], " version " not in item[0]))
    return f"{told}; {_cut(name)} stops {count}."


def _readers(rows: Sequence[dict[str, Any]], levels: Set[str] | None = None) -> int:
    readers = [row["read_evidence"] for row in rows if row["can_read"] == "yes"]
    return sum(levels is None or evidence in levels for evidence in readers)


def _plain(frame: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.to_pylist()
    return rows


def _cut(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARACTERS else f"{name[: _SHOWN_CHARACTERS - 3]}..."


def _rows(engine: Engine, reader: Needs, writer: Needs) -> Iterator[_Row]:
    judged = [judge_release(release, reader, writer) for release in engine.releases]
    reading, writing = [read for read, _ in judged], [write for _, write in judged]
    since = (find_since(engine, reading), find_since(engine, writing))
    newest = len(judged) - 1
    oldest = {first_of_last_run(reading), first_of_last_run(writing)} - {None, newest}
    for at in (newest, *sorted(item for item in oldest if item is not None)):
        release = engine.releases[at]
        yield (
            engine.id,
            engine.name,
            engine.kind,
            release.version,
            release.released,
            at == newest,
            *_verdict(reading[at], since[0]),
            *_verdict(writing[at], since[1]),
            release.source,
            release.as_of,
            _notes(release, reading[at], writing[at]),
        )


def _verdict(judged: Judgement, since: Since | None) -> _Row:
    return (
        judged.verdict,
        judged.blockers,
        judged.unknowns,
        judged.conditions,
        None if since is None else since.version,
        None if since is None else since.exact,
        judged.evidence,
    )


def _notes(release: Release, read: Judgement, write: Judgement) -> tuple[str, ...]:
    """What the sources add to these verdicts, then what they say of the release."""
    return (
        *(f"reading: {text}" for text in read.remarks),
        *(f"writing: {text}" for text in write.remarks),
        *release.notes,
    )


ENGINES: Final = Answer(
    name="engines",
    parameters=(VERSION,),
    ask=lambda table, _, version=None: engines(table, version),
    documents=plain_rows,
    is_list=True,
)
