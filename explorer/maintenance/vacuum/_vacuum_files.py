"""Which files vacuum may delete, and why each of the others stays: the rules of
`explorer.files.unkept` as lists of a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.kept import KeptFiles, is_kept
from explorer.files.listed import is_hidden
from explorer.files.store_paths import Places, file_of_each
from explorer.files.unkept import (
    HIDDEN,
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
from explorer.log.plain_arrays import Flags, Numbers, build_array, read_flags, read_numbers
from explorer.maintenance.plan.file_list import build_files, words
from explorer.maintenance.vacuum._compared_listing import ComparedListing
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
    reasons = np.select([hidden, changes], [REASONS.index(HIDDEN), REASONS.index(OLD_CHANGES)], 0)
    since = read_numbers(there.column("removed_at")) + ages.retention_ms
    undated = hidden | read_flags(there.column("removed_at").is_null())
    return Verdicts(
        delete=_rows(there, ~hidden, "delete", reasons, since, undated),
        leave=(_rows(there, hidden, "leave", reasons, since, undated),),
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
    names = file_of_each(tombstones, root)[0]
    there = pc.invert(pc.is_in(names, value_set=_among(gone, names)))
    live = pc.is_in(names, value_set=_among(kept.live.inside, names))
    shown = pc.and_(pc.and_(names.is_valid(), there), pc.invert(live))
    rows = tombstones.append_column("name", names).filter(shown)
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


def _among(many: pa.ChunkedArray, names: pa.ChunkedArray) -> pa.Array:
    """Those of `many` that are among `names`: a table has far more files than tombstones, and
    a set is made of the few."""
    if not len(many) or not len(names):
        return string_column([])
    return pc.unique(many.filter(pc.is_in(many, value_set=names)))
