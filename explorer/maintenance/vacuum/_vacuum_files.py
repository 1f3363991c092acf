"""Which files vacuum may delete, and why each of the others stays: the rules of
`explorer.files.unkept` as lists of a plan.

A million listed names are looked up once among those that are kept. What they leave is nearly
always small, and whatever is asked of the listing afterwards is answered by it, so that the
listing need not be held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.events import FileEvents
from explorer.files.kept import KeptFiles, is_kept
from explorer.files.listed import ListedFiles, is_hidden
from explorer.files.name_index import NameIndex
from explorer.files.store_paths import Places, file_of_each
from explorer.files.unkept import (
    HIDDEN,
    KEPT_UNDECIDED,
    NEVER_OLD,
    ODD,
    OLD_CHANGES,
    REASONS,
    REFERENCE,
    STILL_KEPT,
    THEIR_DANGER,
    Ages,
    RecordedChanges,
    judge_unkept,
)
from explorer.log.actions.columns import TIME, int64_scalar, string_column
from explorer.log.plain_arrays import (
    Flags,
    Numbers,
    build_array,
    read_flags,
    read_numbers,
    read_values,
)
from explorer.maintenance.plan.file_list import build_files, words
from explorer.storage.ports import ReadStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """The lists of a vacuum plan, and the newest time among files that no version knows,
    in milliseconds; None without any. `gone` are the paths that were asked for and are not
    there, None where a listing tells what is."""

    delete: pa.Table
    leave: tuple[pa.Table, ...]
    youngest_ms: int | None
    gone: pa.ChunkedArray | None = None

    @property
    def reference_deletes(self) -> tuple[int, int]:
        """How many files, and bytes, the reference would delete beyond these."""
        more = [_with_reasons(part, (REFERENCE, THEIR_DANGER)) for part in self.leave]
        return (
            sum(part.num_rows for part in more),
            sum(pc.sum(part.column("bytes")).as_py() or 0 for part in more),
        )


def judge_listed(  # noqa: PLR0913, PLR0917  # what lies there, what is known of it, and the rules
    found: ComparedListing,
    store: ReadStore,
    further: Places,
    tombstones: KeptFiles,
    removals: Sequence[pa.Table],
    partition_columns: Sequence[str],
    ages: Ages,
    recorded: RecordedChanges | None = None,
) -> Verdicts:
    """The fate of every file that was listed and that no kept version references: that is
    not among the names that it was held against, nor kept by `further`.

    `removals` say what left the table and when: tables with path, deletion_vector and
    deletion_timestamp.
    """
    listed = found.rest
    unkept = listed.select(pc.invert(is_kept(listed.paths, further)), store)
    unkept = unkept.filter(unkept.column("bytes").is_valid())  # others went away meanwhile
    judged = judge_unkept(unkept, store.uri, removals, partition_columns, ages, listed.tables)
    judged = judged.aged_by(recorded)
    goes, since = judged.may_go, judged.since_ms
    return Verdicts(
        delete=_rows(unkept, goes, "delete", judged.reasons, since, np.zeros_like(goes)),
        leave=(
            _rows(unkept, ~goes, "leave", judged.reasons, since, judged.never),
            _still_kept(found.gone, tombstones, store.uri, ages),
            build_files(string_column(list(listed.others)), action="leave", reason=ODD),
        ),
        youngest_ms=judged.youngest_ms,
    )


def judge_removed(candidates: pa.Table, partition_columns: Sequence[str], ages: Ages) -> Verdicts:
    """The same of files that the log alone names: `candidates` (path, bytes, modified,
    removed_at, is_change) are no longer kept; one that is gone has null bytes."""
    is_there = candidates.column("bytes").is_valid()
    there = candidates.filter(is_there)
    hidden = read_flags(is_hidden(there.column("path"), partition_columns))
    changes = read_flags(there.column("is_change"))
    codes = [REASONS.index(reason) for reason in (HIDDEN, KEPT_UNDECIDED, OLD_CHANGES)]
    undecided = np.full_like(hidden, ages is NEVER_OLD)
    reasons = np.select([hidden, undecided, changes], codes, 0)
    since = read_numbers(there.column("removed_at")) + ages.retention_ms
    stays = hidden | undecided
    undated = stays | read_flags(there.column("removed_at").is_null())
    return Verdicts(
        delete=_rows(there, ~stays, "delete", reasons, since, undated),
        leave=(_rows(there, stays, "leave", reasons, since, undated),),
        youngest_ms=None,
        gone=candidates.filter(pc.invert(is_there)).column("path"),
    )


def _rows(  # the columns of a file list
    files: pa.Table,
    mask: Flags,
    action: str,
    reasons: Numbers,
    since: Numbers,
    never: Flags,
) -> pa.Table:
    found = files.filter(build_array(mask))
    times = build_array(since[mask], never[mask]).cast(TIME)
    return build_files(
        found.column("path"),
        action=action,
        reason=words(REASONS, build_array(reasons[mask].astype(np.int32))),
        bytes=found.column("bytes"),
        deletable_from=times,
        modified=found.column("modified").cast(TIME),
    )


def _still_kept(gone: pa.ChunkedArray, kept: KeptFiles, root: str, ages: Ages) -> pa.Table:
    """Files on their way out: removed, within retention, and not among those that are `gone`."""
    tombstones = kept.tombstones
    if ages is NEVER_OLD:  # a removal without a time keeps nothing, and nothing goes either
        tombstones = pa.concat_tables([tombstones, kept.expired])
    names = file_of_each(tombstones, root)[0]
    there = pc.invert(pc.is_in(names, value_set=_those_among(gone, names)))
    live = pc.is_in(names, value_set=_those_among(kept.live.inside, names))
    shown = pc.and_(pc.and_(names.is_valid(), there), pc.invert(live))
    rows = tombstones.append_column("name", names).filter(shown)
    if ages is NEVER_OLD:
        names, sizes = rows.column("name"), rows.column("size")
        return build_files(names, action="leave", reason=KEPT_UNDECIDED, bytes=sizes)
    since = pc.add(
        rows.column("deletion_timestamp").cast(pa.int64()), int64_scalar(ages.retention_ms)
    )
    return build_files(
        rows.column("name"),
        action="leave",
        reason=STILL_KEPT,
        bytes=rows.column("size"),
        deletable_from=since.cast(TIME),
    )


def _with_reasons(files: pa.Table, reasons: Sequence[str]) -> pa.Table:
    texts = pc.cast(files.column("reason"), pa.string())
    return files.filter(pc.is_in(texts, value_set=string_column(list(reasons))))


def _those_among(many: pa.ChunkedArray, names: pa.ChunkedArray) -> pa.Array:
    """Those of `many` that are among `names`: a table has far more files than tombstones, and
    a set is made of the few."""
    if not len(many) or not len(names):
        return string_column([])
    return pc.unique(many.filter(pc.is_in(many, value_set=names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedListing:
    """`rest` are the listed files that are not among the names `kept`, and `gone` those of
    these names that were not listed; `is_listed` says it by their positions."""

    kept: NameIndex
    rest: ListedFiles
    gone: pa.ChunkedArray
    is_listed: Flags

    def lacks(self, names: pa.ChunkedArray) -> Flags:
        """Which of these names, null for none, were not listed."""
        at = self.kept.positions_of(names)
        listed = _are_among(names, self.rest.paths)
        listed[at >= 0] = self.is_listed[at[at >= 0]]
        known: Flags = read_values(names.is_valid())
        return known & ~listed


def compare_listing(listed: ListedFiles, kept: NameIndex) -> ComparedListing:
    """Look up every listed file among the names of the kept files."""
    at = kept.positions_of(listed.paths)
    there = np.zeros(len(kept.names), np.bool_)
    there[at[at >= 0]] = True
    gone = kept.names.filter(build_array(~there))
    if not kept.is_distinct:
        # a name that stands there twice is always found at the same one of its places
        gone = gone.filter(build_array(~there[kept.positions_of(gone)]))
    return ComparedListing(kept=kept, rest=listed.filter(at < 0), gone=gone, is_listed=there)


def events_missing_files(
    events: FileEvents,
    kept_rows: Numbers,
    further: pa.ChunkedArray,
    found: ComparedListing,
) -> Flags:
    """For each event, whether one of its files was not listed; files outside the table's folder
    count as listed, because they are not checked.

    The names of `kept_rows` are among `further` or the kept names: it is enough to look up
    those of them that were not listed, nearly always none.
    """
    gone = further.filter(build_array(found.lacks(further)))
    gone = pa.chunked_array([*found.gone.chunks, *gone.chunks], pa.string())
    is_kept_row = np.zeros(events.table.num_rows, np.bool_)
    is_kept_row[kept_rows] = True
    # a set of many names takes longer to make than all names to be looked up
    many = len(gone) > len(kept_rows) // 8
    lacking = np.zeros(events.table.num_rows, np.bool_)
    for names in events.files:
        if names is not None:
            for rows in (is_kept_row, ~is_kept_row) if many else (~is_kept_row,):
                lacking[rows] |= found.lacks(names.filter(build_array(rows)))
            if not many:
                lacking |= _are_among(names, gone)
    return lacking


def _are_among(names: pa.ChunkedArray, few: pa.ChunkedArray) -> Flags:
    if not len(names) or not len(few):
        return np.zeros(len(names), np.bool_)
    found: Flags = read_values(pc.is_in(names, value_set=few))
    return found
