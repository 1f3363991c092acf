"""Row ids, metadata domains, clustering and times (spec: Row Tracking, Domain Metadata,
Clustered Table, In-Commit Timestamps)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.log.columns import bool_column, int64_column
from explorer.log.state import FileColumns
from explorer.protocol.actions import DomainMetadata, Transaction
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN, clustering_columns
from explorer.protocol.features.column_mapping import physical_path
from explorer.protocol.features.row_id_high_water_mark import ROW_TRACKING_DOMAIN
from explorer.protocol.known_properties import ROW_TRACKING_SUSPENDED, TRANSACTION_RETENTION
from explorer.protocol.schema_walk import leaf_fields
from explorer.scan.column_statistics import ColumnFacts, StatisticsColumn, read_facts
from explorer.transaction.read_version import has_in_commit_timestamps
from explorer.transaction.rules.change import REPORT, Change, Problems, problem, shown
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
    understood here may be written, and the mark of row ids is nobody's to set."""
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
        if name == ROW_TRACKING_DOMAIN and not domain.removed:
            yield _domain("The commit sets the mark of row ids itself.", REPORT)
        known = change.staged.base.domains.get(name)
        if domain.removed and known and known.configuration != domain.configuration:
            yield _domain(
                f"The domain `{name[:120]}` is removed with another configuration than it has.",
                REPORT,
            )


def validate_clustering(change: Change) -> Problems:
    """Clustering columns exist, do not partition the table, and have statistics."""
    after, staged = change.after, change.staged
    written = next((d for d in staged.of(DomainMetadata) if d.domain == CLUSTERING_DOMAIN), None)
    domain = written or staged.base.domains.get(CLUSTERING_DOMAIN)
    if written is not None and not after.supports("clustering"):
        yield _clustering("The commit names clustering columns in a table without the feature.")
    told = pc.any(change.adds.column("clustering_provider").is_valid()).as_py()
    if told and not after.supports("clustering"):
        yield _clustering("A file says who clustered it, in a table without the feature.")
    if domain is None or domain.removed or not after.supports("clustering"):
        return
    paths = clustering_columns(domain.configuration)
    if paths is None:
        if written is not None:
            yield _clustering("The clustering columns that the commit names cannot be read.")
        return
    if paths and after.metadata.partition_columns:
        yield _clustering("A table cannot be clustered and partitioned at the same time.")
    columns = {physical_path(place, after.mode): place for place in leaf_fields(after.schema)}
    missing = [".".join(path) for path in paths if path not in columns]
    if written is not None and missing:
        yield _clustering(f"Clustering columns are not in the schema: {shown(missing)}.")
    known = [
        StatisticsColumn(
            path=columns[path].names, physical=path, data_type=columns[path].field.data_type
        )
        for path in paths
        if path in columns
    ]
    yield from _clustering_statistics(change, known)


def _clustering_statistics(change: Change, columns: list[StatisticsColumn]) -> Problems:
    if not change.adds.num_rows or not columns:
        return
    facts = read_facts(FileColumns(table=change.adds.combine_chunks(), leaves={}), columns)
    for column in columns:
        lacking = pc.invert(_says(column, facts.columns[column.path], facts.num_records))
        if count := pc.sum(lacking).as_py():
            name = ".".join(column.path)[:120]
            yield _clustering(f"{count:,} files have no statistics of `{name}`.")


def _says(column: StatisticsColumn, facts: ColumnFacts, num_records: pa.Array) -> pa.Array:
    counted = facts.null_count.is_valid()
    kind = column.bound_type
    # a file with NaN has no bounds: JSON has no number for it
    if kind is None or pa.types.is_boolean(kind) or pa.types.is_floating(kind):
        return counted
    bounded = pc.and_(facts.minimum.is_valid(), facts.maximum.is_valid())
    empty = pc.coalesce(pc.equal(facts.null_count, num_records), _FALSE)
    return pc.and_(counted, pc.or_(bounded, empty))


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


def _clustering(text: str) -> Problem:
    return problem(
        text,
        "Files of a clustered table are found by the statistics of its clustering columns.",
        spec="Writer Requirements for Clustered Table",
        remedy="Name leaf columns of the schema, and write files with their statistics.",
    )
