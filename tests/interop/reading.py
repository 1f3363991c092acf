"""What a reader says of a table, in a form that two readers can be compared by."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.corpus import place_table
from tests.demo_story import write_default
from tests.row_values import column_figures, counted_rows

DEMO = "demo"
"""The name of the demo table among those of the corpus."""

ROW_TRACKING = "delta.enableRowTracking"
"""The property of tables whose rows have ids that stay."""

LARGE = 100_000
"""Of tables with so many rows the columns are compared by their figures."""

Reading = Mapping[str, Any]
"""Fact -> what the reader says of it, or `Refused`. The facts:

- `opening`: the latest version. A reader that refuses says nothing else.
- `files`: how many, and their bytes; `rows`: how often each occurs
- `schema`: the columns' names and types, in the form of the log
- `protocol`: the two versions and the lists of features, as in the log; `features`: the
  two versions and the names of all that is supported
- `metadata`: id, name, description, partition columns and properties
- `clustering`: the columns' paths
- `history`: the operation of each version that is left; `commit times`, in milliseconds
- `transactions`: the version of each application
- `row ids`: how often each row occurs with its id and commit version, where these are tracked
- `older files`, how many, and `older rows`, by version; a sample where reading is slow
- `changes`: of the change data feed over the versions of the manifest, how often each row
  occurs with its type and version; `change times`, in milliseconds
"""

SAMPLED = ("older files", "older rows", "transactions")
"""Facts of which a reader need not tell every part."""

_INNER = {"array": ["elementType"], "map": ["keyType", "valueType"]}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGER = 4
_ABSENT = "absent"
_FIRST_COMMIT_S = 1_767_225_600
_BETWEEN_COMMITS_S = 60
_SHOWN = 2
_SHOWN_LENGTH = 600


@dataclass(frozen=True, slots=True)
class Refused:
    """The message of an error instead of an answer."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table to be read: where, and what the manifest says of it."""

    place: Path
    expected: Mapping[str, Any]

    @property
    def large(self) -> bool:
        """Whether rows are compared by the figures of their columns."""
        return (self.expected["num_rows_live"] or 0) >= LARGE

    @property
    def older(self) -> list[int]:
        """The versions before the latest that the manifest has."""
        versions = [entry["version"] for entry in self.expected.get("history") or ()]
        return versions[:-1]

    @property
    def has_rows(self) -> bool:
        """Whether the data files are there; else the log alone is compared."""
        return self.expected.get("data_files") != "absent"

    @property
    def older_with_rows(self) -> list[int]:
        """Those of them whose rows can be asked for."""
        return self.older if self.has_rows else []

    @property
    def sample(self) -> list[int]:
        """The middle one of a longer history, for a reader that takes its time."""
        versions = self.older_with_rows
        return versions[len(versions) // 2 :][:1] if len(versions) >= _LONGER else []

    @property
    def applications(self) -> list[str]:
        """Who left transactions in the table."""
        return list(self.expected.get("app_transactions") or ())

    @property
    def change_range(self) -> tuple[int, int] | None:
        """The versions between which the change data feed can be read."""
        feed = self.expected.get("change_feed")
        return (feed["from_version"], feed["to_version"]) if feed else None


def place_case(expected: Mapping[str, Any], scratch: Path) -> Case:
    """A copy of the table that may be written to. Its commits are a minute apart, and
    every third is older than the one before it: a copy does not keep times."""
    place = scratch / expected["name"]
    if expected["name"] == DEMO:
        return Case(place=write_default(place), expected=expected)
    placed = place_table(dict(expected), scratch)
    if not placed.is_relative_to(scratch):
        placed = Path(shutil.copytree(placed, place))
    if "commit_timestamps_ms" not in expected:
        for commit in (placed / "_delta_log").glob("*.json"):
            if commit.stem.isdigit():
                step = int(commit.stem) - 2 * (int(commit.stem) % 3 == 2)
                time = _FIRST_COMMIT_S + step * _BETWEEN_COMMITS_S
                os.utime(commit, (time, time))
    return Case(place=placed, expected=expected)


def told_rows(case: Case, rows: pa.Table) -> Any:
    """The rows in the form that is compared: by their values, whatever their order."""
    if not case.large:
        return counted_rows(rows, sorted(rows.column_names))
    return rows.num_rows, {name: column_figures(rows.column(name)) for name in rows.column_names}


def told_latest(case: Case, read: Callable[[], Any]) -> Reading:
    """The latest rows, if they can be asked for."""
    return {"rows": ask(case, read)} if case.has_rows else {}


def told_changes(case: Case, read: Callable[[int, int], pa.Table]) -> Reading:
    """What the manifest's range of the change data feed holds, if it names one."""
    if case.change_range is None:
        return {}
    first, last = case.change_range
    rows = ask(case, lambda: read(first, last))
    if isinstance(rows, Refused):
        return {"changes": rows}
    times = rows.column("_commit_timestamp").to_pylist()
    return {
        "changes": counted_rows(rows, sorted({*rows.column_names} - {"_commit_timestamp"})),
        "change times": {
            version: milliseconds(time if time.tzinfo else time.replace(tzinfo=UTC))
            for version, time in zip(rows.column("_commit_version").to_pylist(), times, strict=True)
        },
    }


def milliseconds(time: datetime) -> int:
    """A moment as the log writes it."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def ask(case: Case, question: Callable[[], Any]) -> Any:
    """The answer, or the refusal without the place of the table."""
    try:
        return question()
    except Exception as error:  # noqa: BLE001  # errors of the peers have no common base
        return Refused(f"{type(error).__name__}: {error}".replace(str(case.place), "<table>"))


def plain_type(data_type: Any) -> Any:
    """A type in the JSON of the log without nullability and metadata, which not every
    reader passes on."""
    if isinstance(data_type, str):
        return data_type
    kind = data_type["type"]
    if kind == "struct":
        return tuple((field["name"], plain_type(field["type"])) for field in data_type["fields"])
    inner = [plain_type(data_type[key]) for key in _INNER[kind]]
    return (kind, *inner)


def differences(ours: Reading, theirs: Reading) -> dict[str, str]:
    """Where the other reader says something else, and what, by fact. Two refusals are no
    disagreement, whatever their words."""
    told = {fact: _told(ours.get(fact), answer, fact) for fact, answer in theirs.items()}
    return {fact: text for fact, text in told.items() if text is not None}


def _told(ours: Any, theirs: Any, fact: str = "") -> str | None:
    """What they say that we do not; None where that is nothing."""
    match ours, theirs:
        case Refused(), Refused():
            return None
        case _, Refused(message):
            return f"refuses: {message}"
        case Refused(message), _:
            return f"answers {_short(theirs)}, where we refuse: {_short(message)}"
        case _ if ours == theirs:
            return None
        case Counter(), Counter():
            extra, lacking = theirs - ours, ours - theirs
            return (
                f"{extra.total()} rows that we have not: {_short(list(extra)[:_SHOWN])}; "
                f"lacks {lacking.total()} rows: {_short(list(lacking)[:_SHOWN])}"
            )
        case dict(), dict():
            keys = theirs if fact in SAMPLED else {**ours, **theirs}
            told = {key: _told(ours.get(key, _ABSENT), theirs.get(key, _ABSENT)) for key in keys}
            parts = [f"{key}: {text}" for key, text in told.items() if text is not None]
            return "; ".join(parts) or None
        case _:
            return f"{_short(theirs)}, not {_short(ours)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "..."
