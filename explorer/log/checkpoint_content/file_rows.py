"""The rows of the columns `add` and `remove` of a checkpoint (spec: Checkpoints)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from explorer.log.actions.columns import ADD_COLUMNS, COLUMNS
from explorer.log.actions.fields import FileAction
from explorer.log.checkpoint_content._parsed_partitions import PARSED as PARSED_PARTITIONS
from explorer.log.checkpoint_content._parsed_partitions import PartitionStruct
from explorer.log.checkpoint_content._unknown_fields import find_unknown_fields
from explorer.log.checkpoint_content.content import CheckpointContent, FileActionRows, build_structs
from explorer.log.checkpoint_content.expiry import is_unexpired
from explorer.log.checkpoint_content.schema import (
    ADD_NAMES,
    REMOVE_NAMES,
    build_add_type,
    build_remove_type,
)
from explorer.log.load import LoadedVersion
from explorer.log.state.file_columns import FileColumns
from explorer.log.state.statistics_columns import PARSED as PARSED_STATISTICS
from explorer.log.state.statistics_columns import (
    StatisticsStruct,
    all_statistics,
    complete_statistics,
    indexed_statistics,
)
from explorer.protocol.actions import FieldPath
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_STATS_AS_JSON,
    CHECKPOINT_STATS_AS_STRUCT,
)
from explorer.storage.concurrent_reads import prefetch


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherField:
    """A field of `add` or `remove` beside those of `explorer.log.actions.columns`: what must be
    read for it (columns by public names, leaves as in `LogState.reduce_files`), and how
    it is made of that. It is made in threads that read."""

    field: pa.Field
    columns: tuple[str, ...] = ()
    leaves: tuple[FieldPath, ...] = ()
    build: Callable[[FileColumns], pa.Array]


def build_content_rows(content: CheckpointContent) -> FileActionRows:
    """The rows of a content that names its files itself."""
    further = _further_adds(content)
    add_type, remove_type = _types(content, further, ())
    adds = (_as_columns(batch) for batch in content.adds)
    removes = (
        FileColumns(table=pa.Table.from_batches([batch]), leaves={}) for batch in content.removes
    )
    expired = content.tombstones_after
    return FileActionRows(
        add_type=add_type,
        remove_type=remove_type,
        adds=(_shape(files, "add", add_type, further) for files in adds),
        removes=(_shape_tombstones(files, remove_type, (), expired) for files in removes),
    )


def build_state_rows(loaded: LoadedVersion, content: CheckpointContent) -> FileActionRows:
    """The rows of a loaded version, read piece by piece while they are written; `content`
    says everything but its files."""
    further = (*_further_adds(content), *_unknown(loaded, "add"))
    lost = _unknown(loaded, "remove")
    add_type, remove_type = _types(content, further, lost)
    state, expired = loaded.state, content.tombstones_after
    complete = _completer(loaded, content, add_type)

    def adds() -> Iterator[pa.StructArray]:
        # which rows count is found out first, in all threads at once: of the rest the reading
        # is done by one, while the others encode
        state.count("add"), state.count("remove")
        columns, leaves = _needed("add", add_type, further), _leaves(further, complete)
        for files in state.stream("add", columns, leaves):
            whole = files if complete is None else complete_statistics(files, complete)
            yield _shape(whole, "add", add_type, further)

    def removes() -> Iterator[pa.StructArray]:
        columns, leaves = _needed("remove", remove_type, lost), _leaves(lost, None)
        for files in state.stream("remove", columns, leaves):
            yield _shape_tombstones(files, remove_type, lost, expired)

    return FileActionRows(
        add_type=add_type,
        remove_type=remove_type,
        adds=prefetch(adds()),
        removes=prefetch(removes()),
        count_adds=lambda: state.count("add"),
    )


def _leaves(further: Iterable[FurtherField], complete: StatisticsStruct | None) -> list[FieldPath]:
    found = [leaf for item in further for leaf in item.leaves]
    return [*dict.fromkeys([*found, *(() if complete is None else complete.leaves)])]


def _unknown(loaded: LoadedVersion, action: FileAction) -> tuple[FurtherField, ...]:
    return tuple(
        FurtherField(
            field=found.field,
            columns=("path", "deletion_vector"),
            leaves=((found.field.name,),),
            build=found.build,
        )
        for found in find_unknown_fields(loaded, action)
    )


def _completer(
    loaded: LoadedVersion, content: CheckpointContent, add_type: pa.StructType
) -> StatisticsStruct | None:
    """What an older checkpoint may have of statistics as columns alone, where they are to
    be written as JSON."""
    if loaded.checkpoint is None or add_type.get_field_index("stats") < 0:
        return None
    return all_statistics(content.protocol, content.metadata)


def _further_adds(content: CheckpointContent) -> tuple[FurtherField, ...]:
    if not wants_structs(content.metadata.configuration):
        return ()
    partitions = PartitionStruct(content.protocol, content.metadata)
    statistics = indexed_statistics(content.protocol, content.metadata)
    parsed = FurtherField(
        field=pa.field(PARSED_STATISTICS, statistics.type),
        columns=("stats",),
        leaves=statistics.leaves,
        build=statistics.build,
    )
    if not content.metadata.partition_columns:
        return (parsed,)
    values = FurtherField(
        field=pa.field(PARSED_PARTITIONS, partitions.type),
        columns=("partition_values",),
        build=partitions.build,
    )
    return (values, parsed)


def wants_structs(configuration: Mapping[str, str]) -> bool:
    """Whether a checkpoint has statistics and partition values as columns.

    Without the property it means no to the specification and yes to the reference; it is
    yes where the statistics would have no other place.
    """
    if CHECKPOINT_STATS_AS_STRUCT.name in configuration:
        return CHECKPOINT_STATS_AS_STRUCT.value_of(configuration)
    return not CHECKPOINT_STATS_AS_JSON.value_of(configuration)


def _types(
    content: CheckpointContent,
    further_adds: Iterable[FurtherField],
    further_removes: Iterable[FurtherField],
) -> tuple[pa.StructType, pa.StructType]:
    with_stats = CHECKPOINT_STATS_AS_JSON.value_of(content.metadata.configuration)
    return (
        build_add_type([item.field for item in further_adds], with_stats=with_stats),
        build_remove_type([item.field for item in further_removes]),
    )


def _needed(action: FileAction, kind: pa.StructType, further: Iterable[FurtherField]) -> list[str]:
    """The columns to read, by public names: those that `kind` stores, but the one that
    says the same of every row, and what the further fields are made of."""
    names = ADD_NAMES if action == "add" else REMOVE_NAMES
    stored = {field.name for field in kind}
    found = [
        name
        for name in (*names, "stats")
        if name != "data_change" and COLUMNS[action][name][0] in stored
    ]
    return [*dict.fromkeys([*found, *(name for item in further for name in item.columns)])]


def _as_columns(batch: pa.RecordBatch) -> FileColumns:
    """A batch with every column of an add, null where it lacks one."""
    columns = {
        name: batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows, kind)
        for name, (_, _, kind) in ADD_COLUMNS.items()
    }
    return FileColumns(table=pa.table(columns), leaves={})


def _shape(
    files: FileColumns, action: FileAction, kind: pa.StructType, further: Sequence[FurtherField]
) -> pa.StructArray:
    made = {item.field.name: item.build(files) for item in further}
    return build_structs(files.table, COLUMNS[action], kind, made)


def _shape_tombstones(
    files: FileColumns, kind: pa.StructType, further: Sequence[FurtherField], expired: int
) -> pa.StructArray:
    rows = _shape(files, "remove", kind, further)
    deleted = files.table.column("deletion_timestamp").combine_chunks()
    return rows.filter(is_unexpired(deleted, expired))
