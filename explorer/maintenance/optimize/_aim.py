"""What an optimize is to reach: sizes, and the order of rows (spec: Clustered Table)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from explorer.errors import InvalidArgumentError
from explorer.log.state.statistics_columns import indexed_places
from explorer.maintenance.plan.step_types import Aim
from explorer.pipeline.rewrite.curve import RowOrder
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN, clustering_columns
from explorer.protocol.features.column_mapping import (
    column_mapping_mode,
    logical_path,
    physical_path,
)
from explorer.protocol.schema import DecimalType, PrimitiveType
from explorer.protocol.schema_walk import FieldPlace, leaf_fields
from explorer.table.snapshot import Snapshot
from explorer.table.target_size import check_target_file_size, parse_target

_ORDERED: Final = frozenset(
    {
        "byte",
        "short",
        "integer",
        "long",
        "float",
        "double",
        "string",
        "date",
        "timestamp",
        "timestamp_ntz",
    }
)
"""The types that statistics have bounds for."""


def order_of(aim: Aim) -> RowOrder | None:
    """How rows are to be ordered, or None."""
    return RowOrder(columns=aim.columns) if aim.columns else None


def mark_of(aim: Aim) -> str:
    """What new files say of their order, so that a later run knows it."""
    curve = "hilbert" if len(aim.columns) > 1 else "values"
    body = {"columns": [list(path) for path in aim.columns], "curve": curve}
    return orjson.dumps(body).decode()


def build_aim(
    snapshot: Snapshot,
    *,
    where: str | None,
    target_size: int | str | None,
    zorder_by: Sequence[str],
    purge: bool,
    batch_size: int,
) -> Aim:
    """The aim for a table.

    Raises `InvalidArgumentError` for sizes that are none, columns that cannot be ordered by,
    and wishes that do not go together.
    """
    if target_size is None:
        size = check_target_file_size(snapshot.metadata.configuration)
    else:
        size = parse_target(str(target_size), "Write it as 128mb or 1gb.")
    clustered = () if purge else _clustering(snapshot)
    if zorder_by and purge:
        raise _conflicting("A purge keeps the order of rows.", "Do one after the other.")
    if zorder_by and _clustering(snapshot):
        raise _conflicting(
            "The table names the columns that its rows are clustered by.",
            "Leave the columns out: those of the table are taken.",
        )
    places = [_place(snapshot, name) for name in zorder_by]
    if len({place.names for place in places}) < len(places):
        raise _wrong_column(zorder_by[0], "A column is named twice.")
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    columns = tuple(physical_path(place, mode) for place in places) or clustered
    names = [logical_path(path, snapshot.schema, mode) or ".".join(path) for path in columns]
    return Aim(
        where=where,
        target_size=size,
        purge=purge,
        columns=columns,
        names=tuple(names),
        is_clustering=bool(clustered),
        batch_size=batch_size,
    )


def why_order(aim: Aim) -> str:
    """How rows are ordered and why so, in words."""
    if len(aim.columns) == 1:
        return "by a single column, so that each file has a range of its values"
    return (
        "along a Hilbert curve, which unlike a Z-order curve never jumps, so that files have "
        "tight bounds in all of these columns"
    )


def without_bounds(snapshot: Snapshot, aim: Aim) -> list[str]:
    """The columns of the order that files keep no bounds for."""
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    known = {
        physical_path(place, mode)
        for place in indexed_places(snapshot.metadata)
        if _has_order(place)
    }
    named = zip(aim.columns, aim.names, strict=True)
    return [name for path, name in named if path not in known]


def _clustering(snapshot: Snapshot) -> tuple[FieldPath, ...]:
    domain = snapshot.domains.get(CLUSTERING_DOMAIN)
    return () if domain is None else clustering_columns(domain.configuration) or ()


def _place(snapshot: Snapshot, name: str) -> FieldPlace:
    """The column that a person names, by its path as text; case counts where names differ by
    it alone."""
    every = list(leaf_fields(snapshot.schema))
    spelled = [place for place in every if name in {place.path, ".".join(place.names)}]
    found = spelled or [
        place
        for place in every
        if name.lower() in {place.path.lower(), ".".join(place.names).lower()}
    ]
    if not found:
        raise _wrong_column(name, "The table has no such column, or it is nested.")
    place = found[0]
    if len(found) > 1:
        raise _wrong_column(name, "Several columns have this name.")
    if not place.depth and place.field.name in snapshot.metadata.partition_columns:
        raise _wrong_column(
            name, "It partitions the table: the rows of one value are together already."
        )
    if not _has_order(place):
        raise _wrong_column(name, "Statistics have no bounds for its type.")
    if place.names not in {known.names for known in indexed_places(snapshot.metadata)}:
        raise _wrong_column(
            name,
            "It has no statistics, so no file could be skipped by it "
            "(delta.dataSkippingNumIndexedCols, delta.dataSkippingStatsColumns).",
        )
    return place


def _has_order(place: FieldPlace) -> bool:
    kind = place.field.data_type
    if isinstance(kind, PrimitiveType):
        return kind.name in _ORDERED
    return isinstance(kind, DecimalType)


def _wrong_column(name: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"Rows cannot be ordered by {name[:120]!r}.",
        reason=reason,
        remedy="Name other columns, as the schema has them.",
    )


def _conflicting(reason: str, remedy: str) -> InvalidArgumentError:
    return InvalidArgumentError("The rows cannot be ordered so.", reason=reason, remedy=remedy)
