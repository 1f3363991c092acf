"""What goes into a checkpoint (spec: Checkpoints)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, Final

import pyarrow as pa

from explorer.log.actions.columns import (
    STRING_MAP,
    ColumnRule,
    bool_column,
    int32_column,
    int64_column,
    string_column,
    string_map_column,
)
from explorer.log.plain_arrays import FALSE, in_one_piece
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.commit_json import ActionLine, render_action
from explorer.protocol.features.row_id_high_water_mark import HIGH_WATER_MARK_ACTION

_STRINGS: Final = pa.list_(pa.string())
_BUILDERS: Final[Mapping[pa.DataType, Callable[[Sequence[Any]], pa.Array]]] = {
    pa.string(): string_column,
    pa.int32(): int32_column,
    pa.int64(): int64_column,
    pa.bool_(): bool_column,
    STRING_MAP: string_map_column,
}

# every action of a checkpoint is a tombstone or already in the table


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointContent:
    """The reconciled state of one version.

    `adds` and `removes` are batches with columns named as in `ADD_COLUMNS` and
    `REMOVE_COLUMNS` of `explorer.log.actions.columns`, a missing one being null in
    every row; partition values go by physical names. Tombstones deleted at or
    before `tombstones_after` (milliseconds since the epoch) are left out.
    `row_id_high_water_mark` is that of the action which only an older revision has.
    """

    version: int
    protocol: Protocol
    metadata: Metadata
    transactions: tuple[Transaction, ...] = ()
    domains: tuple[DomainMetadata, ...] = ()
    row_id_high_water_mark: int | None = None
    adds: Iterable[pa.RecordBatch] = ()
    removes: Iterable[pa.RecordBatch] = ()
    tombstones_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileActionRows:
    """The file actions of a checkpoint: the types of the columns `add` and `remove`, and
    their rows, which can be gone through once. `count_adds` tells, after that, how many
    live files there must be, where that is known by another way."""

    add_type: pa.StructType
    remove_type: pa.StructType
    adds: Iterator[pa.StructArray]
    removes: Iterator[pa.StructArray]
    count_adds: Callable[[], int] | None = None


def build_small_lines(content: CheckpointContent) -> list[ActionLine]:
    """The actions that are few, as lines of a commit."""
    actions: list[Protocol | Metadata | Transaction | DomainMetadata] = [
        _with_features(content.protocol),
        content.metadata,
        *content.transactions,
        # a removed domain only hides older ones, of which a checkpoint has none
        *(domain for domain in content.domains if not domain.removed),
    ]
    lines = [render_action(action) for action in actions]
    if (mark := content.row_id_high_water_mark) is not None:
        lines.append({HIGH_WATER_MARK_ACTION: {"highWaterMark": mark}})
    return lines


def _with_features(protocol: Protocol) -> Protocol:
    """The protocol with feature lists exactly where its versions have them."""
    lists_readers, lists_writers = (
        protocol.min_reader_version == 3,
        protocol.min_writer_version == 7,
    )
    return replace(
        protocol,
        reader_features=(protocol.reader_features or ()) if lists_readers else None,
        writer_features=(protocol.writer_features or ()) if lists_writers else None,
    )


def build_small_rows(lines: Iterable[ActionLine], schema: pa.Schema) -> pa.RecordBatch:
    """Lines as rows of a checkpoint file."""
    rows = list(lines)
    return pa.RecordBatch.from_arrays(
        [_column([row.get(field.name) for row in rows], field.type) for field in schema],
        schema=schema,
    )


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Decoded JSON as a column, mappings as structs and maps; `pa.array` would load pandas,
    which takes as long as opening a table, and is left for fields that are not known here."""
    if (build := _BUILDERS.get(kind)) is not None:
        return build(values)
    absent = [value is None for value in values]
    if pa.types.is_struct(kind):
        bodies = [value or {} for value in values]
        children = [
            _column([body.get(field.name) for body in bodies], field.type) for field in kind
        ]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=bool_column(absent))
    if kind == _STRINGS:
        lists = [value or [] for value in values]
        ends = [*accumulate(map(len, lists), initial=0)]
        starts = [None if gone else end for gone, end in zip(absent, ends[:-1], strict=True)]
        texts = string_column([*chain.from_iterable(lists)])
        return pa.ListArray.from_arrays(int32_column([*starts, ends[-1]]), texts, type=kind)
    return pa.array(values, kind)


def build_structs(
    files: pa.Table | pa.RecordBatch,
    rules: Mapping[str, ColumnRule],
    kind: pa.StructType,
    further: Mapping[str, pa.Array],
) -> pa.StructArray:
    """The rows of a column `add` or `remove` of type `kind` from columns named as in
    `rules`; `further` holds those fields of `kind` that `rules` do not know."""
    public_names = {log_name: name for name, (log_name, _, _) in rules.items()}
    children = []
    for field in kind:
        name = public_names.get(field.name)
        if name == "data_change":
            children.append(pa.repeat(FALSE, files.num_rows))
        elif name is None:
            children.append(further[field.name])
        elif name not in files.schema.names:
            children.append(pa.nulls(files.num_rows, field.type))
        else:
            children.append(_as_stored(in_one_piece(files.column(name)), field.type))
    return pa.StructArray.from_arrays(children, fields=list(kind))


def _as_stored(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_struct(kind):  # a deletion vector: the same fields under other names
        return pa.StructArray.from_arrays(
            values.flatten(), fields=list(kind), mask=values.is_null()
        )
    return values.cast(kind)
