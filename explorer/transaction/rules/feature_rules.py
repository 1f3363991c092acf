"""Row ids, metadata domains and times (spec: Row Tracking, Domain Metadata, In-Commit
Timestamps)."""

from __future__ import annotations

from typing import Final

import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.log.columns import bool_column, int64_column
from explorer.protocol.actions import DomainMetadata, Transaction
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN
from explorer.protocol.features.row_id_high_water_mark import ROW_TRACKING_DOMAIN
from explorer.protocol.known_properties import ROW_TRACKING_SUSPENDED, TRANSACTION_RETENTION
from explorer.transaction.read_version import has_in_commit_timestamps
from explorer.transaction.rules.change import REPORT, Change, Problems, problem
from explorer.transaction.rules.file_rules import counts_of

_FALSE = bool_column([False])[0]
_SYSTEM: Final = "delta."
_UNDERSTOOD: Final = frozenset({CLUSTERING_DOMAIN, ROW_TRACKING_DOMAIN})


def validate_row_tracking(change: Change) -> Problems:
    """Files get ids above the mark; one that has ids already keeps them."""
    adds = change.adds
    if not adds.num_rows or not change.after.supports("rowTracking"):
        return
    held = adds.column("base_row_id").combine_chunks()
    versions = adds.column("default_row_commit_version").combine_chunks()
    if ROW_TRACKING_SUSPENDED.value_of(change.after.metadata.configuration):
        if held.null_count < len(held):
            yield _row_ids("A file comes with row ids, and row tracking is suspended.")
        return
    fresh = held.is_null()
    unknown = pc.and_(fresh, counts_of(adds).is_null())
    if count := pc.sum(unknown).as_py():
        yield _row_ids(f"{count:,} files that need row ids do not say their numRecords.")
    if pc.any(fresh).as_py() and not change.after.supports("domainMetadata"):
        yield _domain(
            "Rows get ids, and the table does not support the domain that keeps their mark.",
            "Add the feature domainMetadata to the protocol first.",
        )
    before = change.staged.base.row_id_high_water_mark
    mark = int64_column([-1 if before is None else before])[0]
    above = pc.or_(pc.greater(held, mark), pc.less(held, int64_column([0])[0]))
    if pc.any(pc.coalesce(above, _FALSE)).as_py():
        yield _row_ids("A file comes with row ids that were never given out.")
    late = pc.greater(versions, int64_column([change.staged.base.version + 1])[0])
    half = pc.and_(held.is_valid(), versions.is_null())
    if pc.any(pc.or_(half, pc.coalesce(late, _FALSE))).as_py():
        yield _row_ids("A file comes with row ids but not with the version that it is from.")


def validate_domains(change: Change) -> Problems:
    """Domains need their feature; of those of the specification only the ones that are
    understood here may be written, by an operation that keeps them, and the mark of row ids
    is nobody's to set."""
    domains = change.staged.of(DomainMetadata)
    if not domains:
        return
    if not change.after.supports("domainMetadata"):
        yield _domain(
            "The commit writes a metadata domain, and the table does not support them.",
            "Add the feature domainMetadata to the protocol first.",
        )
    for domain in domains:
        name = domain.domain
        if name.lower().startswith(_SYSTEM) and name not in _UNDERSTOOD:
            yield _domain(f"The domain `{name[:120]}` belongs to a feature not known here.", REPORT)
        elif name == ROW_TRACKING_DOMAIN and not domain.removed:
            yield _domain("The commit sets the mark of row ids itself.", REPORT)
        elif name in _UNDERSTOOD and name not in change.staged.promises.kept_domains:
            yield _domain(
                f"The domain `{name}` belongs to a feature, and is no user's to change.",
                "Use the operation of its feature, which keeps to what the feature needs.",
            )
        known = change.staged.base.domains.get(name)
        if domain.removed and known and known.configuration != domain.configuration:
            yield _domain(
                f"The domain `{name[:120]}` is removed with another configuration than it has.",
                REPORT,
            )


def validate_times(change: Change) -> Problems:
    """A commit with its own time must be later than the one before, whose time is known;
    progress of an application can only expire where it says when it was made."""
    after, base = change.after, change.staged.base
    if has_in_commit_timestamps(after.protocol, after.metadata) and base.timestamp is None:
        yield problem(
            f"Nobody knows when version {base.version} was committed.",
            "Each commit of this table must be later than the one before it.",
            spec="In-Commit Timestamps",
            remedy="Restore the newest commit file of the log from a backup.",
        )
    if TRANSACTION_RETENTION.value_of(after.metadata.configuration) is None:
        return
    for item in change.staged.of(Transaction):
        if item.last_updated is None:
            yield problem(
                f"The progress of `{item.app_id[:120]}` does not say when it was made.",
                f"`{TRANSACTION_RETENTION.name}` lets it expire, and it never would.",
                spec="Transaction Identifiers",
                remedy="Set `lastUpdated` of the txn action.",
            )


def _row_ids(text: str) -> Problem:
    return problem(
        text,
        "Every row has an id of its own, which never belonged to another row.",
        spec="Writer Requirements for Row Tracking",
        remedy="Add files with statistics, and leave ids to the commit.",
    )


def _domain(text: str, remedy: str) -> Problem:
    return problem(
        text,
        "Features keep in them what the table needs, and rely on it.",
        spec="Domain Metadata",
        remedy=remedy,
    )
