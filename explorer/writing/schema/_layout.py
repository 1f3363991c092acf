"""By which columns the rows of a table are divided and kept together (spec: Partition Value
Serialization, Clustered Table)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.log.state.statistics_columns import indexed_places
from explorer.protocol.actions import DomainMetadata, FieldPath, Metadata, Protocol
from explorer.protocol.features.clustering import clustering_domain
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_path
from explorer.protocol.schema import (
    DecimalType,
    PrimitiveType,
    StructType,
    parse_schema,
    render_type,
)
from explorer.protocol.schema_walk import FieldPlace, leaf_fields, parse_path

_MOST_CLUSTERING_COLUMNS: Final = 4
_BOUNDED: Final = frozenset(
    {"byte", "short", "integer", "long", "float", "double", "string", "date", "timestamp"}
    | {"timestamp_ntz"}
)
"""Types by which files can be skipped, decimals apart, as the reference has it."""

_SHOWN: Final = 120


def partition_names(partition_by: Sequence[str], schema: StructType) -> tuple[str, ...]:
    """The partition columns as the schema spells them; raises `InvalidArgumentError` where
    there is none of that name, or the same one twice."""
    found: list[str] = []
    for name in partition_by:
        known = [item for item in schema.names if item.lower() == name.lower()]
        if not known:
            raise _missing("partition", name, schema.names, "Partition Value Serialization")
        if known[0] in found:
            raise _refused(
                f"The table would be partitioned by {name[:_SHOWN]} twice.",
                "A file has one value of each partition column.",
                "Name each column once.",
                "Partition Value Serialization",
            )
        found.append(known[0])
    return tuple(found)


def clustering_of(
    cluster_by: Sequence[str], protocol: Protocol, metadata: Metadata
) -> DomainMetadata:
    """The domain that names the clustering columns, given by name or, inside structs, by field
    path as `place.city`.

    Raises `InvalidArgumentError` where a column is missing, named twice, of a type without
    bounds, without statistics, or one too many, or where the table is partitioned.
    """
    if cluster_by and metadata.partition_columns:
        raise _clustering(
            "A table cannot be clustered and partitioned at the same time.",
            "Both say where its rows are to lie.",
            "Leave out one of them.",
        )
    if len(cluster_by) > _MOST_CLUSTERING_COLUMNS:
        raise _clustering(
            f"The table would be clustered by {len(cluster_by)} columns.",
            f"{_MOST_CLUSTERING_COLUMNS} are the most that the reference takes; with each more "
            "of them files say less of any.",
            "Name the columns that most queries ask for.",
        )
    schema = parse_schema(metadata.schema_string)
    mode = column_mapping_mode(protocol, metadata.configuration)
    indexed = {place.names for place in indexed_places(metadata)}
    paths: list[FieldPath] = []
    for name in cluster_by:
        place = _place(name, schema)
        _check_statistics(place, indexed)
        path = physical_path(place, mode)
        if path in paths:
            raise _clustering(
                f"The table would be clustered by {name[:_SHOWN]} twice.",
                "The second time says nothing new.",
                "Name each column once.",
            )
        paths.append(path)
    return clustering_domain(paths)


def _place(name: str, schema: StructType) -> FieldPlace:
    """The column of that name, dots and all, before the one that the path leads to; as it is
    spelled, before any with other capital letters."""
    places = list(leaf_fields(schema))
    ways = [(name,), parse_path(name)]
    for way in [*ways, *(tuple(step.lower() for step in way) for way in ways)]:
        for place in places:
            if way in (place.names, tuple(step.lower() for step in place.names)):
                return place
    raise _missing("clustering", name, [place.path for place in places], "Clustered Table")


def _check_statistics(place: FieldPlace, indexed: set[FieldPath]) -> None:
    kind = place.field.data_type
    bounded = isinstance(kind, DecimalType) or (
        isinstance(kind, PrimitiveType) and kind.name in _BOUNDED
    )
    if not bounded:
        raise _clustering(
            f"No table can be clustered by {place.path[:_SHOWN]}, which is "
            f"{render_type(kind)[:_SHOWN]}.",
            "Files of a clustered table are found by the least and greatest value of each "
            "clustering column, and this type has none.",
            "Name a column of numbers, text, dates or times.",
        )
    if place.names not in indexed:
        raise _clustering(
            f"No statistics are kept of {place.path[:_SHOWN]}.",
            "Files of a clustered table are found by the statistics of its clustering columns.",
            "Name it in delta.dataSkippingStatsColumns, or raise delta.dataSkippingNumIndexedCols.",
        )


def _missing(what: str, name: str, known: Sequence[str], spec: str) -> InvalidArgumentError:
    near = difflib.get_close_matches(name[:_SHOWN], [each[:_SHOWN] for each in known[:500]], n=1)
    shown = ", ".join(each[:60] for each in known[:12]) or "no columns"
    return _refused(
        f"The {what} column {name[:_SHOWN]} is not in the schema.",
        f"There are {shown}{', ...' if len(known) > 12 else ''}.",
        f"Did you mean {near[0]}?" if near else "Name a column of the schema.",
        spec,
    )


def _clustering(problem: str, reason: str, remedy: str) -> InvalidArgumentError:
    return _refused(problem, reason, remedy, "Clustered Table")


def _refused(problem: str, reason: str, remedy: str, spec: str) -> InvalidArgumentError:
    return InvalidArgumentError(problem, reason=reason, remedy=remedy, spec=spec)
