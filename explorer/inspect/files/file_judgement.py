"""Why one file is in the folder, by what the log and the store say about it (spec: Add File and
Remove File, Data Files, Deletion Vector File Storage Format, Change Data Files).

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
    reference_begins,
)
from explorer.inspect.files._file_mentions import Mention, Wanted
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.reach.wording import versions_in_words
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import missing_versions
from explorer.protocol.filenames import is_temporary
from explorer.protocol.paths import is_absolute
from explorer.protocol.table_properties.known_properties import DELETED_FILE_RETENTION
from explorer.protocol.values.utc_times import render_minute
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


_NAMESAKES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReason:
    """Why one file is here.

    - `path` below the table's root; `is_there`, `size` in bytes and `modified` as the store
      says; all three None for a place where nobody looked
    - `kind` in a few words, `sentence` the whole answer
    - `versions`: those that need it, as far as the commits are there, as pairs
    - `deletable_from`: when vacuum (or log cleanup) here may delete it, in the past where it
      may now; None where it may not be deleted. `reference_from`: when Delta Spark's vacuum
      may, which has no floor of seven days and keeps what was modified within its retention
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
class FileFacts:
    """What was found of a file: the live rows and tombstones that name it (times as in the log,
    in milliseconds, which no calendar need have), and every line;
    `is_behind_link` says of one that nothing names whether a link leads to such a name, and
    `namesakes` are the paths of files in other folders that have the same name."""

    snapshot: Snapshot
    listing: LogListing
    wanted: Wanted
    info: ObjectInfo | None
    mentions: tuple[Mention, ...]
    live: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    now_ms: int
    is_behind_link: bool
    namesakes: tuple[str, ...] = ()

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
        """Why it is unknown when it may be deleted: the table's retention cannot be read."""
        return DELETED_FILE_RETENTION.unread_in(self.snapshot.metadata.configuration)

    @property
    def ages(self) -> Ages:
        """What decides by age about a file that nothing names."""
        if self.unread is not None:
            return NEVER_OLD
        return Ages(cutoff_ms=self.now_ms - self.floor_ms, retention_ms=self.floor_ms)

    @property
    def floor_ms(self) -> int:
        """The shortest time, in milliseconds, for which vacuum here keeps files."""
        return milliseconds(retention_floor(self.snapshot.metadata.configuration))

    @property
    def own_ms(self) -> int:
        """For how long the table asks to keep them."""
        return milliseconds(DELETED_FILE_RETENTION.value_of(self.snapshot.metadata.configuration))

    def reference_ms(self, removed_ms: int = 0) -> int:
        """From when on the reference's vacuum deletes the file, removed then."""
        modified_ms = 0 if self.info is None else self.info.modified_ms
        return int(reference_begins(modified_ms, removed_ms)) + self.own_ms


def judge_file(look: FileFacts) -> FileReason:
    """The answer."""
    if look.live:
        return _live(look)
    changes = [found for found in look.mentions if found.role == "change data"]
    if changes:
        return _change(look, changes[-1])
    if look.removed or look.mentions:
        return _removed(look)
    return _unknown(look)


def _live(look: FileFacts) -> FileReason:
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
    text = f"{what}, {since}; it is kept as long as a version needs it."
    if look.info is None and not look.is_outside:
        text = f"{text} But it is missing: every query that needs it fails."
    if (removal := _removal_of_live(look)) is not None:
        kind = f"{kind}, removed by a commit"
        told = f"version {removal.version} removed it" in since
        why = "no later commit is missing"
        if not told:
            why = f"{_place(removal)} removes it, and no later commit adds it again"
        text += f" But {why}: {_contradicting(look)}."
    return _reason(look, kind, text)


def _removal_of_live(look: FileFacts) -> Mention | None:
    """The commit that removes a file that is live all the same, where every commit after it is
    there."""
    row = look.live[0]
    vector = row["deletion_vector"]
    names = ("storage_type", "path_or_inline_dv", "offset")
    identity = None if vector is None else tuple(vector[name] for name in names)
    own = [
        found
        for found in look.mentions
        if found.role == row["role"] and found.vector == identity and found.action != "cdc"
    ]
    if not own or own[-1].action != "remove" or not _follow_all(look, own[-1]):
        return None
    return own[-1]


def _follow_all(look: FileFacts, found: Mention) -> bool:
    """Whether every commit after one is there, up to the latest version."""
    newest = look.snapshot.version
    return not missing_versions(look.listing.commits, found.version, newest)


def _is_whole(look: FileFacts) -> bool:
    """Whether the log still has every commit from the first one on."""
    commits = look.listing.commits
    return bool(commits) and not missing_versions(commits, 0, look.snapshot.version)


def _contradicting(look: FileFacts) -> str:
    checkpoint = look.snapshot.segment.checkpoint
    if checkpoint is None:
        return "the log contradicts itself"
    return (
        f"the checkpoint of version {checkpoint.version} contradicts the commits; "
        "repair checkpoint replaces it"
    )


def _place(found: Mention) -> str:
    return f"version {found.version} ({found.log_file}, line {found.line})"


def _since(look: FileFacts) -> str:
    spans = _spans(look)
    first = spans[-1][0]
    if look.mentions and look.mentions[-1].action == "remove" and look.mentions[-1].version < first:
        removed = look.mentions[-1]
        return (
            f"since version {first}, whose checkpoint has it: version {removed.version} removed "
            f"it ({removed.log_file}, line {removed.line}), and no remaining commit adds it "
            "again"
        )
    added = [found for found in look.mentions if found.action == "add"]
    if not added:
        if _is_whole(look):
            return f"although no commit adds it: {_contradicting(look)}"
        oldest = look.listing.commits[0] if look.listing.commits else look.snapshot.version
        return f"added before version {oldest}, the oldest in the log"
    place = next((found for found in added if found.version == first), added[-1])
    return f"since version {first} ({place.log_file}, line {place.line})"


def _removed(look: FileFacts) -> FileReason:
    """A file that no live row names, and that tombstones or commits do."""
    removals = [found for found in look.mentions if found.action == "remove"]
    if not (removals or look.removed):
        return _added_alone(look)
    stamps = [found.time_ms for found in removals]
    stamps += [row["deletion_timestamp"] for row in look.removed]
    removed_ms = max((stamp for stamp in stamps if stamp is not None), default=None)
    role = look.removed[0]["role"] if look.removed else look.mentions[-1].role
    thing = "data file" if role == "data" else "deletion vector"
    by = _remover(look, removals)
    # a tombstone without a time keeps nothing
    start = look.now_ms - look.floor_ms if removed_ms is None else removed_ms
    when = "" if removed_ms is None else f" on {moment_in_words(removed_ms)}"
    text = f"{_shown(look)} is a {thing} removed by {by}{when}"
    if (untouched := _untouched(look)) is not None:
        kind, why = untouched
        return _reason(look, f"removed {thing}{kind}", f"{text}; {why}.")
    if look.unread is not None:
        return _reason(look, f"removed {thing}, retention unknown", f"{text}{_undecided(look)}")
    if removed_ms is None:
        text += "; the time of its removal is not recorded, so the next vacuum deletes it."
        kind = f"removed {thing}, past retention"
        return _reason(look, kind, text, look.now_ms, look.now_ms)
    frees, theirs = start + look.floor_ms, look.reference_ms(start)
    if frees > look.now_ms:
        kind = f"removed {thing}, within retention"
        until = moment_in_words(frees)
        text += f"; versions within retention need it, and it may be deleted from {until}"
    else:
        kind = f"removed {thing}, past retention"
        text += f"; its retention ended on {moment_in_words(frees)}, and the next vacuum deletes it"
    return _reason(look, kind, f"{text}{_in_reference(look, frees, theirs)}.", frees, theirs)


def _remover(look: FileFacts, removals: Sequence[Mention]) -> str:
    if removals:
        return _place(removals[-1])
    return "an unknown version" if _is_whole(look) else "a version that is no longer in the log"


def _added_alone(look: FileFacts) -> FileReason:
    """A file that commits add, that no line removes, and that the latest version does not have."""
    last = look.mentions[-1]
    thing = "data file" if last.role == "data" else "deletion vector"
    newest = look.snapshot.version
    text = (
        f"{_shown(look)} is a {thing} added by {_place(last)}; no commit removes it, "
        f"but version {newest}, the latest, does not have it: "
    )
    if _follow_all(look, last):
        return _reason(look, f"lost {thing}", f"{text}{_contradicting(look)}.")
    text += "a missing commit may have removed it, at an unknown time"
    kind = f"{thing} without a removal"
    if (untouched := _untouched(look)) is not None or look.info is None:
        return _reason(look, kind, text + (f"; {untouched[1]}." if untouched else "."))
    if look.unread is not None:
        return _reason(look, kind, f"{text}{_undecided(look)}")
    frees, theirs = look.info.modified_ms + look.floor_ms, look.reference_ms(look.info.modified_ms)
    does = f"it may be deleted from {moment_in_words(frees)}"
    if frees <= look.now_ms:
        does = "it is older than the retention, and the next vacuum deletes it"
    return _reason(look, kind, f"{text}; {does}.", frees, theirs)


def _untouched(look: FileFacts) -> tuple[str, str] | None:
    """What to add to the kind of a removed file that no vacuum will delete, and why."""
    if look.is_outside:
        return (
            " outside of the table",
            "it is outside the table's folder, where no vacuum deletes anything",
        )
    if look.info is None:
        return "", "it is gone, as after a vacuum"
    if leads_through_link(look.snapshot.store, look.wanted.name):
        return (
            ", behind a link",
            "it is behind a link, through which VACUUM deletes nothing here",
        )
    if look.is_hidden:
        return ", hidden", "its name, or that of its folder, hides it from every vacuum"
    return None


def _change(look: FileFacts, found: Mention) -> FileReason:
    active = in_commit_times(look.snapshot.protocol, look.snapshot.metadata)
    upto = [number for number in look.listing.commits if number <= found.version]
    made = commit_times(look.snapshot.store, look.listing, upto, active)[-1]
    text = (
        f"{_shown(look)} holds the rows that version {found.version} changed "
        f"({found.log_file}, line {found.line}), for the change feed"
    )
    if look.info is None:
        text += "; it is gone, and so is the change feed of that version."
        return _reason(look, "change data", text)
    if look.unread is not None:
        return _reason(look, "change data, retention unknown", f"{text}{_undecided(look)}")
    # the reference does not ask which commit it is of
    frees, theirs = max(made, look.info.modified_ms) + look.floor_ms, look.reference_ms()
    if frees > look.now_ms:
        kind = "change data, within retention"
        text += f"; it may be deleted from {moment_in_words(frees)}"
    else:
        kind = "change data, past retention"
        text += f"; its retention ended on {moment_in_words(frees)}, and the next vacuum deletes it"
    return _reason(look, kind, f"{text}{_in_reference(look, frees, theirs)}.", frees, theirs)


def _unknown(look: FileFacts) -> FileReason:
    """A file that nothing in the log names."""
    name = _shown(look)
    if look.is_outside:
        text = f"Nothing in the remaining log names {name}, and it is outside the table."
        return _reason(look, "outside of the table", text)
    if look.info is None:
        return _reason(look, "unknown", _not_there(look))
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
    theirs = None if is_safe else look.reference_ms()
    if reason.startswith("foreign"):
        return _reason(look, "foreign", _foreign(look, reason, theirs), None, theirs)
    if look.is_behind_link:
        text = (
            f"Nothing in the remaining log names {name}, but a file that is kept has this name "
            "behind a link: VACUUM never touches it here."
        )
        return _reason(look, "behind a link", text, None, theirs)
    is_change = look.wanted.name.startswith(f"{CHANGE_FOLDER}/")
    kind = "orphaned change data" if is_change else "orphaned file"
    text = f"{name} looks like a file of a table, but nothing in the remaining log names it"
    if is_temporary(name.rpartition("/")[2]):
        kind = "unfinished file"
        text = f"{name} is a file that its writer never finished"
    if look.unread is not None:
        return _reason(look, kind, f"{text}{_undecided(look)}")
    frees = int(judged.since_ms[0])
    if judged.may_go[0]:
        text += "; it is older than the retention, and the next vacuum deletes it"
    else:
        text += (
            "; it may belong to a writer that has not committed yet, and may be deleted from "
            f"{moment_in_words(frees)}"
        )
    if theirs is not None:
        text += _in_reference(look, frees, theirs)
    return _reason(look, kind, f"{text}.", frees, theirs)


def _not_there(look: FileFacts) -> str:
    name, found = _shown(look), look.namesakes
    if not found:
        return f"There is no file {name}, and nothing in the remaining log names one."
    some = ", ".join(path[:200] for path in found[:_NAMESAKES])
    left = len(found) - _NAMESAKES
    return (
        f"There is no file {name} outside of folders; {len(found)} in folders have this name: "
        f"{some}{f' and {left} more' if left > 0 else ''}. Give the path of one."
    )


def _in_reference(look: FileFacts, frees: int, theirs: int) -> str:
    """When the reference's vacuum deletes a file that ours does from `frees` on, where that is
    another time, and why."""
    if look.info is None or theirs == frees:
        return ""
    if theirs > frees:
        return (
            f"; Delta Spark deletes it from {moment_in_words(theirs)}, because it also checks the "
            f"modification time, {moment_in_words(look.info.modified_ms)}, which a copy renews"
        )
    return f" (in Delta Spark from {moment_in_words(theirs)})"


def _undecided(look: FileFacts) -> str:
    """How a sentence ends where the retention cannot be read."""
    return f"; when it may be deleted is unknown: {look.unread}."


def _foreign(look: FileFacts, reason: str, theirs: int | None) -> str:
    why = reason.partition(": ")[2]
    text = f"{_shown(look)} is not Delta's ({why}): VACUUM never touches it here"
    if theirs is None and look.unread is not None and not look.is_hidden:
        return f"{text}; when Delta Spark may delete it is unknown: {look.unread}."
    if theirs is None:
        return f"{text}, nor in Delta Spark."
    if theirs > look.now_ms:
        return f"{text}; in Delta Spark it is deletable from {moment_in_words(theirs)}."
    return f"{text}; in Delta Spark it is deletable now."


def _spans(look: FileFacts) -> list[tuple[int, int]]:
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
        known = min(open_since.values(), default=_revived(look, first))
        spans.append((known, newest))
    return _merged(spans)


def _revived(look: FileFacts, first: int) -> int:
    """Since when a file is live that no remaining commit adds without another removing it:
    the version of the checkpoint that has it, and `first` where none removes it."""
    last = max((found.version for found in look.mentions), default=first)
    checkpoint = look.snapshot.segment.checkpoint
    if not look.mentions or checkpoint is None or checkpoint.version <= last:
        return first
    return checkpoint.version


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _reason(
    look: FileFacts, kind: str, text: str, frees: int | None = None, theirs: int | None = None
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


def _shown(look: FileFacts) -> str:
    return look.wanted.name if len(look.wanted.name) <= 200 else look.wanted.name[:197] + "..."


def moment_in_words(milliseconds_: int) -> str:
    """`2026-11-01 10:22 UTC`."""
    return render_minute(utc_time(milliseconds_))
