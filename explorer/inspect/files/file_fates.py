"""The fate of one file, from what the log and the store say of it (spec: Add File and Remove
File, Data Files, Deletion Vector File Storage Format, Change Data Files).

No I/O but the times of commits: rows and lines that name the file in, the answer out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from explorer.files.listed import CHANGE_FOLDER, is_hidden, is_in_other_table
from explorer.files.unkept import (
    NEVER_OLD,
    OTHER_TABLE,
    REASONS,
    Ages,
    judge_unkept,
    partition_names,
)
from explorer.inspect.files._file_mentions import Mention, Wanted
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.reach.wording import versions_in_words
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.log.folder.listing import LogListing
from explorer.protocol.filenames import is_temporary
from explorer.protocol.known_properties import DELETED_FILE_RETENTION
from explorer.protocol.paths import is_absolute
from explorer.storage.ports import ObjectInfo
from explorer.storage.tree import leads_through_link
from explorer.table.retention import milliseconds, retention_floor
from explorer.table.snapshot import Snapshot
from explorer.table.times import commit_times, in_commit_times, utc_time

COLUMNS: dict[str, Column] = {
    "version": (int64_column, pa.int64()),
    "action": (string_column, pa.string()),
    "role": (string_column, pa.string()),
    "data_file": (string_column, pa.string()),
    "time": (time_column, TIME),
    "log_file": (string_column, pa.string()),
    "line": (int64_column, pa.int64()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReason:
    """Why one file is here.

    - `path` below the table's root; `is_there`, `size` in bytes and `modified` as the store
      says; all three None for a place where nobody looked
    - `kind` in a few words, `sentence` the whole answer
    - `versions`: those that need it, as far as the commits are there, as pairs
    - `deletable_from`: when our vacuum (or log cleanup) may delete it, in the past where it
      may now; None while nothing lets it go. `reference_from` the same of the reference,
      which has no floor of seven days
    - `evidence`: one row per line of a commit that names it: version, action, role (data,
      deletion vector, change data), data_file (as in the log), time (an add's modification, a
      remove's deletion), log_file, line
    """

    path: str
    is_there: bool | None
    size: int | None
    modified: datetime | None
    kind: str
    sentence: str
    versions: tuple[tuple[int, int], ...]
    deletable_from: datetime | None
    reference_from: datetime | None
    evidence: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLook:
    """What was found of a file: the live rows and tombstones that name it (times as in the log,
    in milliseconds, which no calendar need have), and every line;
    `is_behind_link` says of one that nothing names whether a link leads to such a name."""

    snapshot: Snapshot
    listing: LogListing
    wanted: Wanted
    info: ObjectInfo | None
    mentions: tuple[Mention, ...]
    live: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    now_ms: int
    is_behind_link: bool

    @property
    def is_outside(self) -> bool:
        """Whether it lies beyond the table's root."""
        return is_absolute(self.wanted.name)

    @property
    def is_hidden(self) -> bool:
        """Whether vacuum passes it over by its name."""
        paths = pa.chunked_array([string_column([self.wanted.name])])
        return bool(is_hidden(paths, partition_names(self.snapshot))[0].as_py())

    @property
    def unread(self) -> str | None:
        """Why nobody can tell when it may go, where the table's retention cannot be read."""
        return DELETED_FILE_RETENTION.unread_in(self.snapshot.metadata.configuration)

    @property
    def ages(self) -> Ages:
        """What decides by age about a file that nothing names."""
        if self.unread is not None:
            return NEVER_OLD
        return Ages(cutoff_ms=self.now_ms - self.floor_ms, retention_ms=self.floor_ms)

    @property
    def floor_ms(self) -> int:
        """For how long our vacuum keeps files at least."""
        return milliseconds(retention_floor(self.snapshot.metadata.configuration))

    @property
    def own_ms(self) -> int:
        """For how long the table asks to keep them."""
        return milliseconds(DELETED_FILE_RETENTION.value_of(self.snapshot.metadata.configuration))


def judge_file(look: FileLook) -> FileReason:
    """The answer."""
    if look.live:
        return _live(look)
    changes = [found for found in look.mentions if found.role == "change data"]
    if changes:
        return _change(look, changes[-1])
    if look.removed or look.mentions:
        return _removed(look)
    return _unknown(look)


def _live(look: FileLook) -> FileReason:
    row = look.live[0]
    since = _since(look)
    newest = look.snapshot.version
    if row["role"] == "data":
        kind = "live data file"
        what = f"{_shown(look)} is a data file of version {newest}, the latest"
    else:
        kind = "live deletion vector"
        others = f" and {len(look.live) - 1} more" if len(look.live) > 1 else ""
        what = (
            f"{_shown(look)} holds the deletion vector of {row['path']}{others} in version "
            f"{newest}, the latest"
        )
    text = f"{what}, {since}; it stays as long as a version needs it."
    if look.info is None and not look.is_outside:
        text = f"{text} But it is not there: every query that needs it fails."
    return _reason(look, kind, text)


def _since(look: FileLook) -> str:
    added = [found for found in look.mentions if found.action == "add"]
    if not added:
        oldest = look.listing.commits[0] if look.listing.commits else look.snapshot.version
        return f"added before version {oldest}, whose log is gone"
    spans = _spans(look)
    first = spans[-1][0] if spans else added[-1].version
    place = next((found for found in added if found.version == first), added[-1])
    return f"since version {first} ({place.log_file}, line {place.line})"


def _removed(look: FileLook) -> FileReason:
    """A file that no live row names, and that tombstones or commits do."""
    removals = [found for found in look.mentions if found.action == "remove"]
    stamps = [found.time_ms for found in removals]
    stamps += [row["deletion_timestamp"] for row in look.removed]
    removed_ms = max((stamp for stamp in stamps if stamp is not None), default=None)
    role = look.removed[0]["role"] if look.removed else look.mentions[-1].role
    thing = "data file" if role == "data" else "deletion vector"
    by = "a version whose log is gone"
    if removals:
        last = removals[-1]
        by = f"version {last.version} ({last.log_file}, line {last.line})"
    start = removed_ms or 0  # a tombstone without a time keeps nothing
    frees, theirs = start + look.floor_ms, start + look.own_ms
    when = "" if removed_ms is None else f" on {moment_in_words(removed_ms)}"
    text = f"{_shown(look)} is a {thing} that {by} removed{when}"
    if (untouched := _untouched(look)) is not None:
        kind, why = untouched
        return _reason(look, f"removed {thing}{kind}", f"{text}; {why}.")
    if look.unread is not None:
        return _reason(look, f"removed {thing}, retention unknown", f"{text}{_undecided(look)}")
    if frees > look.now_ms:
        kind = f"removed {thing}, within retention"
        until = moment_in_words(frees)
        text += f"; versions that are promised need it, and it may be deleted from {until}"
    else:
        kind = f"removed {thing}, past retention"
        text += f"; its retention ended on {moment_in_words(frees)}, and the next vacuum deletes it"
    if theirs < frees:
        text += f" (by the reference from {moment_in_words(theirs)})"
    return _reason(look, kind, f"{text}.", frees, theirs)


def _untouched(look: FileLook) -> tuple[str, str] | None:
    """What to add to the kind of a removed file that no vacuum will delete, and why."""
    if look.is_outside:
        return (
            " outside of the table",
            "it lies outside of the table's folder, where no vacuum deletes anything",
        )
    if look.info is None:
        return "", "it is gone, as vacuum leaves it"
    if leads_through_link(look.snapshot.store, look.wanted.name):
        return (
            ", behind a link",
            "it lies behind a link, through which no vacuum of ours deletes anything",
        )
    if look.is_hidden:
        return ", hidden", "it lies below a folder, or has a name, that hides it from every vacuum"
    return None


def _change(look: FileLook, found: Mention) -> FileReason:
    active = in_commit_times(look.snapshot.protocol, look.snapshot.metadata)
    upto = [number for number in look.listing.commits if number <= found.version]
    made = commit_times(look.snapshot.store, look.listing, upto, active)[-1]
    written = made if look.info is None else max(made, look.info.modified_ms)
    frees, theirs = written + look.floor_ms, written + look.own_ms
    text = (
        f"{_shown(look)} holds the rows that version {found.version} changed "
        f"({found.log_file}, line {found.line}), for the change feed"
    )
    if look.info is None:
        text += "; it is gone, and so is the change feed of that version."
        return _reason(look, "change data", text)
    if look.unread is not None:
        return _reason(look, "change data, retention unknown", f"{text}{_undecided(look)}")
    if frees > look.now_ms:
        text += f"; it may be deleted from {moment_in_words(frees)}."
        return _reason(look, "change data, within retention", text, frees, theirs)
    text += f"; its retention ended on {moment_in_words(frees)}, and the next vacuum deletes it."
    return _reason(look, "change data, past retention", text, frees, theirs)


def _unknown(look: FileLook) -> FileReason:
    """A file that nothing in the log names."""
    name = _shown(look)
    if look.is_outside:
        text = f"No line of the log that is left names {name}, and it lies outside of the table."
        return _reason(look, "outside of the table", text)
    if look.info is None:
        text = f"There is no file {name}, and no line of the log that is left names one."
        return _reason(look, "unknown", text)
    files = pa.table(
        {
            "path": pa.chunked_array([string_column([look.wanted.name])]),
            "bytes": pa.chunked_array([int64_column([look.info.size])]),
            "modified": pa.chunked_array([int64_column([look.info.modified_ms])]),
        }
    )
    names = partition_names(look.snapshot)
    judged = judge_unkept(files, look.snapshot.uri, (), names, look.ages)
    is_other = is_in_other_table(look.snapshot.store, look.wanted.name)
    reason = OTHER_TABLE if is_other else REASONS[int(judged.reasons[0])]
    is_safe = judged.is_hidden[0] or look.unread is not None
    theirs = None if is_safe else look.info.modified_ms + look.own_ms
    if reason.startswith("foreign"):
        return _reason(look, "foreign", _foreign(look, reason, theirs), None, theirs)
    if look.is_behind_link:
        text = (
            f"No line of the log that is left names {name}, but a file that is kept lies behind a "
            "link, and has this name there: our vacuum never touches it."
        )
        return _reason(look, "behind a link", text, None, theirs)
    is_change = look.wanted.name.startswith(f"{CHANGE_FOLDER}/")
    kind = "orphaned change data" if is_change else "orphaned file"
    text = f"{name} looks like a file of a table, and no line of the log that is left names it"
    if is_temporary(name.rpartition("/")[2]):
        kind = "unfinished file"
        text = f"{name} was begun by a writer that never finished it"
    if look.unread is not None:
        return _reason(look, kind, f"{text}{_undecided(look)}")
    frees = int(judged.since_ms[0])
    if judged.may_go[0]:
        text += "; it is older than the retention, and the next vacuum deletes it."
    else:
        text += (
            "; it may belong to a writer that has not committed yet, and may be deleted from "
            f"{moment_in_words(frees)}."
        )
    return _reason(look, kind, text, frees, theirs)


def _undecided(look: FileLook) -> str:
    """How a sentence ends where the retention cannot be read."""
    return f"; from when it may be deleted nobody can tell: {look.unread}."


def _foreign(look: FileLook, reason: str, theirs: int | None) -> str:
    why = reason.partition(": ")[2]
    text = f"{_shown(look)} is not Delta's ({why}): our vacuum never touches it"
    if theirs is None and look.unread is not None and not look.is_hidden:
        return f"{text}; from when the reference's may nobody can tell: {look.unread}."
    if theirs is None:
        return f"{text}, nor does the reference's."
    if theirs > look.now_ms:
        return f"{text}; the reference's deletes it from {moment_in_words(theirs)}."
    return f"{text}; the reference's deletes it."


def _spans(look: FileLook) -> list[tuple[int, int]]:
    """The versions in which the file was in use, as far as commits tell; what is live stays
    to the latest version."""
    spans: list[tuple[int, int]] = []
    open_since: dict[tuple[Any, ...], int] = {}
    first = look.listing.commits[0] if look.listing.commits else 0
    for found in look.mentions:
        key = (found.of, found.vector, found.role)
        if found.action == "add":
            open_since.setdefault(key, found.version)
        elif found.action == "remove":
            start = open_since.pop(key, min(found.version, first))
            if start < found.version:
                spans.append((start, found.version - 1))
    newest = look.snapshot.version
    if look.live:
        known = min(open_since.values(), default=first)
        spans.append((known, newest))
    return _merged(spans)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _reason(
    look: FileLook, kind: str, text: str, frees: int | None = None, theirs: int | None = None
) -> FileReason:
    spans = _spans(look)
    if spans and not look.live:
        text = f"{text} {versions_in_words(spans).capitalize()} needed it."
    return FileReason(
        path=look.wanted.name,
        is_there=None if look.is_outside else look.info is not None,
        size=None if look.info is None else look.info.size,
        modified=None if look.info is None else utc_time(look.info.modified_ms),
        kind=kind,
        sentence=text,
        versions=tuple(spans),
        deletable_from=None if frees is None else utc_time(frees),
        reference_from=None if theirs is None else utc_time(theirs),
        evidence=build_frame(
            COLUMNS,
            [
                (
                    found.version,
                    found.action,
                    found.role,
                    found.of,
                    found.time_ms,
                    found.log_file,
                    found.line,
                )
                for found in look.mentions
            ],
        ),
    )


def _shown(look: FileLook) -> str:
    return look.wanted.name if len(look.wanted.name) <= 200 else look.wanted.name[:197] + "..."


def moment_in_words(milliseconds_: int) -> str:
    """`2026-11-01 10:22 UTC`."""
    return f"{utc_time(milliseconds_):%Y-%m-%d %H:%M} UTC"
