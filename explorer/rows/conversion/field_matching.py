"""Which column of a data file holds which field (spec: Column Mapping)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa

from explorer.errors import CorruptDataError
from explorer.protocol.arrow_types import PARQUET_ID
from explorer.protocol.features.column_mapping import field_id, physical_name
from explorer.protocol.schema import StructField
from explorer.protocol.table_properties.known_properties import MappingMode


def match_fields(
    found: Sequence[pa.Field],
    wanted: Sequence[StructField],
    mode: MappingMode,
    siblings: Sequence[StructField] = (),
) -> tuple[int | None, ...]:
    """The position in `found` of each field in `wanted`, None where the file lacks it.

    In name mode and without mapping, a name that differs only by case will do
    unless it is that of another field: of `wanted`, or of the `siblings` that
    the same struct of the table has. In id mode names never count.
    """
    if mode == "id":
        return _match_ids(found, wanted)
    names = [physical_name(item, mode) for item in wanted]
    claimed = {*names, *(physical_name(item, mode) for item in siblings)}
    exact: dict[str, list[int]] = defaultdict(list)
    folded: dict[str, list[int]] = defaultdict(list)
    for at, item in enumerate(found):
        exact[item.name].append(at)
        # the engine that wrote the file may have spelled the name in its own way
        if item.name not in claimed:
            folded[item.name.lower()].append(at)
    return tuple(_only(exact.get(name) or folded.get(name.lower()), name) for name in names)


def has_ids(found: Sequence[pa.Field]) -> bool:
    """Whether any of the columns has a field id, nested or not."""
    stack = list(found)
    while stack:
        item = stack.pop()
        if parquet_id(item) is not None:
            return True
        kind = item.type
        stack.extend(kind.field(at) for at in range(kind.num_fields))
    return False


def parquet_id(item: pa.Field) -> int | None:
    """The field id that a Parquet file gives a column."""
    text = (item.metadata or {}).get(PARQUET_ID)
    return int(text) if text is not None and text.lstrip(b"-").isdigit() else None


def _match_ids(found: Sequence[pa.Field], wanted: Sequence[StructField]) -> tuple[int | None, ...]:
    by_id: dict[int, list[int]] = defaultdict(list)
    for at, item in enumerate(found):
        number = parquet_id(item)
        if number is not None:
            by_id[number].append(at)
    numbers = [field_id(item) for item in wanted]
    return tuple(
        None if number is None else _only(by_id.get(number), f"id {number}") for number in numbers
    )


def _only(places: Sequence[int] | None, name: str) -> int | None:
    if not places:
        return None
    if len(places) > 1:
        raise CorruptDataError(
            f"A data file has {len(places)} columns for `{name[:120]}`.",
            reason="There is no rule that says which of them holds the values.",
            remedy="Rewrite the file with the engine that wrote it.",
            spec="Column Mapping",
        )
    return places[0]
