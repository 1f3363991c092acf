"""What a clustered table asks of its writers (spec: Writer Requirements for Clustered Table)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.log.plain_arrays import FALSE
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.actions import DomainMetadata
from explorer.protocol.features.clustering import (
    CLUSTERING_DOMAIN,
    clustering_columns,
    clustering_in,
)
from explorer.protocol.features.column_mapping import physical_path
from explorer.protocol.schema import VARIANT
from explorer.protocol.schema_walk import leaf_fields
from explorer.scan.statistics.column_statistics import ColumnFacts, StatisticsColumn, read_facts
from explorer.table.counts import have
from explorer.transaction.rules.change import Change, Described, Problems, problem, shown
from explorer.transaction.staged import ValidatedRule

_AT_ONCE = 65_536

Paths = Sequence[tuple[str, ...]]
"""Physical paths of columns, as the domain names them."""


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
    known = known_columns(after, paths)
    if written is not None:
        yield from _named(paths, known)
        yield from _joined(change, written, known)
    # what comes back was judged when it was written, by who knew what its writer can say
    came = change.adds.slice(0, 0) if staged.promises.recommits else change.adds
    for name, count in without_statistics(came, known).items():
        yield _clustering(f"{have(count, 'file')} no statistics of `{name[:120]}`.")


def statistics_found(domain: DomainMetadata) -> ValidatedRule:
    """What is promised by whoever found statistics of the columns that `domain` names in
    every file of the table."""
    return ValidatedRule(key=CLUSTERING_DOMAIN, expression=domain.configuration)


def known_columns(described: Described, paths: Paths) -> list[StatisticsColumn]:
    """Those of the clustering columns that the schema has, as statistics know them."""
    places = {
        physical_path(place, described.mode): place for place in leaf_fields(described.schema)
    }
    return [
        StatisticsColumn(
            path=places[path].names, physical=path, data_type=places[path].field.data_type
        )
        for path in paths
        if path in places
    ]


def without_statistics(files: pa.Table, columns: Sequence[StatisticsColumn]) -> dict[str, int]:
    """How many of the files (`stats`, as text) lack statistics of a column, by its name; only
    of columns that one lacks."""
    found: dict[str, int] = {}
    for start in range(0, files.num_rows if columns else 0, _AT_ONCE):
        part = files.slice(start, _AT_ONCE).combine_chunks()
        facts = read_facts(FileColumns(table=part, leaves={}), columns)
        for column in columns:
            says = _says(column, facts.columns[column.path], facts.num_records)
            if count := pc.sum(pc.invert(says)).as_py():
                name = ".".join(column.path)
                found[name] = found.get(name, 0) + count
    return found


def _named(paths: Paths, known: Sequence[StatisticsColumn]) -> Problems:
    """Columns that a commit names, whether they can be clustered by at all."""
    missing = [".".join(path) for path in paths if path not in {item.physical for item in known}]
    if missing:
        yield _clustering(f"Clustering columns are not in the schema: {shown(missing)}.")
    if variants := [".".join(item.path) for item in known if item.data_type == VARIANT]:
        yield _clustering(f"No table can be clustered by variants: {shown(variants)}.")


def _joined(
    change: Change, written: DomainMetadata, columns: Sequence[StatisticsColumn]
) -> Problems:
    """Columns that were none to cluster by need statistics in the files that are there, too."""
    before = clustering_in(change.staged.base.domains)
    names = [".".join(item.path) for item in columns if item.physical not in before]
    found = statistics_found(written) in change.staged.promises.validated
    known = (
        change.creates or change.removes_every_live_file or (found and change.has_read_every_row)
    )
    if names and not known:
        yield problem(
            f"{shown(names)} would join the clustering columns, and not every file of the table "
            "is known to have statistics of them.",
            "Files of a clustered table are found by the statistics of its clustering columns, "
            "those too that were written before.",
            spec="Writer Requirements for Clustered Table",
            remedy="Complete the statistics of every file first, or leave these columns out.",
        )


def _says(column: StatisticsColumn, facts: ColumnFacts, num_records: pa.Array) -> pa.Array:
    counted = facts.null_count.is_valid()
    kind = column.bound_type
    # a file with NaN has no bounds, for JSON has no number for it; nor has one with a text of
    # the greatest letters, which no short one is above, or with a time beyond the year 9999
    if kind is None or pa.types.is_boolean(kind) or _may_lack_bounds(kind):
        return counted
    bounded = pc.and_(facts.minimum.is_valid(), facts.maximum.is_valid())
    empty = pc.coalesce(pc.equal(facts.null_count, num_records), FALSE)
    return pc.and_(counted, pc.or_(bounded, empty))


def _may_lack_bounds(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_floating(kind) or pa.types.is_string(kind) or pa.types.is_temporal(kind)
    )


def _clustering(text: str) -> Problem:
    return problem(
        text,
        "Files of a clustered table are found by the statistics of its clustering columns.",
        spec="Writer Requirements for Clustered Table",
        remedy="Name leaf columns of the schema, and write files with their statistics.",
    )
