"""Row ids are never given out twice (spec: Writer Requirements for Row Tracking)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.log.actions.columns import int64_scalar
from explorer.log.actions.record_counts import record_counts
from explorer.log.plain_arrays import FALSE, ZERO
from explorer.protocol.features.row_id_high_water_mark import (
    MAX_ROW_ID,
    ROW_TRACKING_DOMAIN,
    parse_domain_high_water_mark,
)
from explorer.table.counts import are, have
from explorer.transaction.attempt import gives_row_ids
from explorer.transaction.row_ids import (
    ID_COLUMNS,
    ids_of_removes,
    last_row_ids,
    mark_below,
    with_known_ids,
)
from explorer.transaction.rules.change import REPORT, Change, Problems, problem
from explorer.transaction.rules.files.file_rules import counts_of

_SPEC: Final = "Writer Requirements for Row Tracking"
_ONE = int64_scalar(1)
_NO_MARK: Final = -1

# of 38 digits: the sum of as many counts as there may be is no larger
_EXACT: Final = pa.decimal128(38, 0)


def validate_row_tracking(change: Change) -> Problems:
    """Files get ids above the mark; one that has ids already keeps them. While row tracking is
    suspended none has any in the log, whatever it comes with."""
    if not change.adds.num_rows or not gives_row_ids(change.staged):
        return
    adds = with_known_ids(change.adds, change.removes)
    fresh = adds.filter(adds.column("base_row_id").is_null())
    if fresh.num_rows:
        yield from _fresh_ids(change, adds, fresh)
    if _is_mark_unreadable(change):
        if fresh.num_rows or _new_files_with_ids(change).num_rows:
            yield _unreadable()
    else:
        yield from _ids_given_out(change)
    yield from _other_ids(change)
    held, versions = (change.adds.column(name) for name in ID_COLUMNS)
    late = pc.greater(versions, int64_scalar(change.staged.base.version + 1))
    half = pc.and_(held.is_valid(), adds.column("default_row_commit_version").is_null())
    if pc.any(pc.or_(half, pc.coalesce(late, FALSE))).as_py():
        yield _row_ids("A file comes with row ids but not with the version that it is from.")


def _fresh_ids(change: Change, adds: pa.Table, fresh: pa.Table) -> Problems:
    """What giving ids to `fresh` of the adds needs."""
    counts = _usable_counts(fresh)
    if counts.null_count:
        yield _row_ids(f"{have(counts.null_count, 'new file')} no numRecords, which row ids need.")
    if not change.after.supports("domainMetadata"):
        yield problem(
            "Rows get ids, and the table does not support the domain that keeps their mark.",
            "Features keep in them what the table needs, and rely on it.",
            spec="Domain Metadata",
            remedy="Add the feature domainMetadata to the protocol first.",
        )
    # a file without rows takes none, and has a base row id all the same
    needed = pc.max_element_wise(counts, _ONE)
    number = int(pc.sum(needed.cast(_EXACT)).as_py() or 0)
    if mark_below(adds, _mark(change)) + number > MAX_ROW_ID:
        yield problem(
            "The row ids of the commit would go beyond the highest that there is.",
            "A row id has 64 bits, and no row may have that of another.",
            spec=_SPEC,
            remedy="See that the files say their true `numRecords`.",
        )


def _usable_counts(fresh: pa.Table) -> pa.Array:
    """The rows of each file, null where its statistics do not say them to every reader: they
    are not JSON, or say two numbers, or one below zero."""
    counts = record_counts(fresh.column("stats"), None).combine_chunks()
    agreed = pc.coalesce(pc.equal(counts, counts_of(fresh)), FALSE)
    return pc.if_else(agreed, counts, pa.nulls(1, pa.int64())[0])


def _ids_given_out(change: Change) -> Problems:
    """Ids that a file comes with were given out already, those of new rows up to the last;
    what the remove of the same path says is older than this commit."""
    said = change.adds.filter(change.adds.column("base_row_id").is_valid())
    told = ids_of_removes(said, change.removes)
    if told is not None:
        same = pc.equal(said.column("base_row_id"), told[0])
        said = said.filter(pc.invert(pc.coalesce(same, FALSE)))
    if not said.num_rows:
        return
    mark = int64_scalar(_mark(change))
    bases = said.column("base_row_id")
    # a file without rows has the id that the next one is given
    empty = pc.coalesce(pc.equal(record_counts(said.column("stats"), None), ZERO), FALSE)
    first = pc.if_else(empty, pc.subtract(bases, _ONE), bases)
    if pc.any(pc.or_(pc.greater(first, mark), pc.less(bases, ZERO))).as_py():
        yield _row_ids("A file comes with row ids that were never given out.")
        return
    new = _new_files_with_ids(change)
    if new.num_rows and pc.any(pc.greater(last_row_ids(new), mark)).as_py():
        yield _row_ids("The last rows of a file come with row ids that were never given out.")


def _other_ids(change: Change) -> Problems:
    """A data file that is removed and added again, with another vector or other statistics,
    keeps its ids; a restore takes them from the version that it goes back to."""
    if change.staged.promises.recommits:
        return
    told = ids_of_removes(change.adds, change.removes)
    if told is None:
        return
    pairs = zip((change.adds.column(name) for name in ID_COLUMNS), told, strict=True)
    differ = [pc.coalesce(pc.not_equal(mine, theirs), FALSE) for mine, theirs in pairs]
    if count := pc.sum(pc.or_(*differ)).as_py():
        yield problem(
            f"{are(count, 'file')} added again with other row ids or versions than before.",
            "The rows of a data file keep their ids, for these tell which rows they are.",
            spec=_SPEC,
            remedy=REPORT,
        )


def _new_files_with_ids(change: Change) -> pa.Table:
    new = change.files_of_new_rows
    return new.filter(new.column("base_row_id").is_valid())


def _is_mark_unreadable(change: Change) -> bool:
    domain = change.staged.base.domains.get(ROW_TRACKING_DOMAIN)
    return domain is not None and parse_domain_high_water_mark(domain.configuration) is None


def _mark(change: Change) -> int:
    mark = change.staged.base.row_id_high_water_mark
    return _NO_MARK if mark is None else mark


def _unreadable() -> Problem:
    return problem(
        f"The domain `{ROW_TRACKING_DOMAIN}` does not say up to which number row ids were given "
        "out.",
        "Without it rows would get the ids of others.",
        spec=_SPEC,
        remedy="Drop the feature rowTracking and add it again: every row gets another id.",
        kind="log_corrupt",
    )


def _row_ids(text: str) -> Problem:
    return problem(
        text,
        "Every row has an id of its own, which never belonged to another row.",
        spec=_SPEC,
        remedy="Add files with statistics, and leave ids to the commit.",
    )
