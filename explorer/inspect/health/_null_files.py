"""Live files with nulls in columns that may have none, by partition values, statistics and
footers (spec: Per-file Statistics; `nullable` in Schema Serialization Format).

Only what counts nulls is asked, no row is read. What they do not count is not seen: elements of
arrays, values of maps, structs that are null themselves, and a field of a struct that may be
null where no other field of it has fewer nulls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, DeltaError
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.health.findings import Finding
from explorer.log.actions.columns import bool_column, int64_column, string_column, string_scalar
from explorer.log.plain_arrays import EMPTY, FALSE, TRUE, ZERO
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Watch
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.column_mapping import (
    column_mapping_mode,
    physical_name,
    physical_path,
)
from explorer.protocol.schema import StructField, StructType
from explorer.protocol.schema_walk import FieldPlace, leaf_fields, render_path
from explorer.protocol.table_properties.known_properties import MappingMode
from explorer.rows.conversion.field_matching import match_fields
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.data_file.parquet_file import ParquetDataFile, open_data_file, reading
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.statistics.column_statistics import StatisticsColumn, parsed_leaves, read_facts
from explorer.scan.statistics.partitions import PartitionColumn, read_partition
from explorer.scan.statistics.required_columns import (
    RequiredColumn,
    counted_for,
    nulls_beyond,
    required_columns,
)
from explorer.storage.concurrent_reads import map_concurrently
from explorer.table.counts import count
from explorer.table.snapshot import Snapshot

MOST_FOOTERS: Final = 1_000
"""Footers that are read where statistics do not count the nulls."""

NULLS: Final[dict[str, Column]] = {
    "path": (string_column, pa.string()),
    "column": (string_column, pa.string()),
    "num_nulls": (int64_column, pa.int64()),
    "known_by": (string_column, pa.string()),
    "may_be_deleted": (bool_column, pa.bool_()),
}

_COLUMNS: Final = ("path", "size", "partition_values", "deletion_vector")
_COUNTING: Final = "Looking for nulls in columns that may have none"
_READING: Final = "Reading the footers of files whose nulls are not counted"


@dataclass(frozen=True, slots=True, kw_only=True)
class NullFiles:
    """Files with nulls where none may be.

    - `files`, a row per file and column: `path` as in the log, `column`, `num_nulls` at least
      (null where unknown), `known_by` (partition value, statistics or footer),
      `may_be_deleted`: a deletion vector hides at least as many rows, these may be among them
    - `num_unknown` files whose nulls neither statistics nor a footer that was read count
    """

    files: pa.Table
    num_unknown: int = 0


def null_files(snapshot: Snapshot, watch: Watch, most_footers: int = MOST_FOOTERS) -> NullFiles:
    """Every such file that can be told; footers are read only where statistics do not say. Where
    the schema cannot be read, none."""
    nothing = build_frame(NULLS, [])
    try:
        asked = _asked(snapshot)
    except CorruptLogError:
        return NullFiles(files=nothing)
    if not asked.required and not asked.partitions:
        return NullFiles(files=nothing)
    leaves, ask = parsed_leaves(asked.columns), partial(_by_log, asked=asked)
    pieces = reduce_live_files(snapshot, _COLUMNS, leaves, ask, watch, _COUNTING)
    found = pa.concat_tables([nothing, *(piece.found for piece in pieces)])
    if not any(piece.uncounted.num_rows for piece in pieces):
        return NullFiles(files=found)
    uncounted = pa.concat_tables([piece.uncounted for piece in pieces])
    read = uncounted.slice(0, most_footers).combine_chunks()
    more, num_unknown = _by_footers(snapshot, read, asked, watch)
    return NullFiles(
        files=pa.concat_tables([found, *more]),
        num_unknown=num_unknown + uncounted.num_rows - read.num_rows,
    )


def judge_nulls(found: NullFiles) -> Iterator[Finding]:
    """A finding for each column, and a note where files were left out."""
    files = found.files
    for column, may_be_deleted in dict.fromkeys(
        zip(files.column("column").to_pylist(), files.column("may_be_deleted").to_pylist(),
            strict=True)
    ):  # fmt: skip
        is_column = pc.equal(files.column("column"), string_scalar(column))
        is_sure = pc.equal(files.column("may_be_deleted"), bool_column([may_be_deleted])[0])
        yield _finding(files.filter(pc.and_(is_column, is_sure)))
    if found.num_unknown:
        yield Finding(
            severity="note",
            finding="nulls that nobody counted",
            problem=f"Whether {count(found.num_unknown, 'file')} hold nulls in NOT NULL columns is "
            "unknown.",
            reason="Their statistics do not count nulls, and their footers do not either, cannot "
            f"be read, or are not among the {MOST_FOOTERS:,} that were.",
            spec="Per-file Statistics",
            remedy="Compute the statistics again.",
            repair="repair statistics",
        )


def _finding(files: pa.Table) -> Finding:
    (first,) = files.slice(0, 1).to_pylist()
    many, column = count(files.num_rows, "live file"), first["column"][:200]
    have = "has" if files.num_rows == 1 else "have"
    number = first["num_nulls"]
    nulls = "nulls" if number is None else count(number, "null")
    reason = f"By its {first['known_by']}, {first['path'][:200]!r} has {nulls} there."
    if first["may_be_deleted"]:
        reason += " All of them may be in rows that a deletion vector hides."
    return Finding(
        severity="warning" if first["may_be_deleted"] else "error",
        finding="null in a NOT NULL column",
        problem=f"{many} {have} nulls in the NOT NULL column `{column}`.",
        reason=reason,
        evidence=first["path"],
        spec="Schema Serialization Format",
        remedy="Update or delete these rows with the engine that wrote them, or let the column be "
        "nullable. An OPTIMIZE stops at the first live one.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is asked of each file; `counted` are the places of `columns`, in their order."""

    partitions: tuple[PartitionColumn, ...]
    required: tuple[RequiredColumn, ...]
    columns: tuple[StatisticsColumn, ...]
    counted: tuple[FieldPlace, ...]
    mode: MappingMode


def _asked(snapshot: Snapshot) -> _Asked:
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    partitions = set(snapshot.metadata.partition_columns)
    places = [
        place
        for place in leaf_fields(snapshot.schema)
        if place.depth or place.field.name not in partitions
    ]
    required = tuple(required_columns(places))
    counted = tuple(counted_for(required, places))
    return _Asked(
        partitions=tuple(
            PartitionColumn(
                path=(item.name,), physical=physical_name(item, mode), data_type=item.data_type
            )
            for item in snapshot.schema.fields
            if item.name in partitions and not item.nullable
        ),
        required=required,
        columns=tuple(
            StatisticsColumn(
                path=place.names,
                physical=physical_path(place, mode),
                data_type=place.field.data_type,
            )
            for place in counted
        ),
        counted=counted,
        mode=mode,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Of some files: those with nulls, and those of which statistics do not count all, with a
    column of truth values for each required column that says whether it is one of these."""

    found: pa.Table
    uncounted: pa.Table


def _by_log(files: FileColumns, asked: _Asked) -> _Piece:
    table, facts = files.table, read_facts(files, asked.columns)
    paths, hidden = table.column("path").combine_chunks(), _hidden(table)
    live = pc.subtract(facts.num_records, hidden)
    found = []
    for partition in asked.partitions:
        values = table.column("partition_values").combine_chunks()
        texts = read_partition(values, partition).texts
        is_null = pc.or_(pc.is_null(texts), pc.coalesce(pc.equal(texts, EMPTY), FALSE))
        is_empty = pc.coalesce(pc.equal(live, ZERO), FALSE)
        wrong = pc.and_(is_null, pc.invert(is_empty))
        surely = pa.repeat(FALSE, len(paths))
        found.append(_rows(paths, partition.path, wrong, live, surely, "partition value"))
    counts = {path: column.null_count for path, column in facts.columns.items()}
    # tight bounds count the nulls of live rows alone
    hidden = pc.if_else(facts.is_wide, hidden, ZERO)
    found += _beyond(paths, counts, hidden, asked, "statistics")
    lacking = [counts[rule.path].is_null() for rule in asked.required]
    uncounted = pa.table(
        {"path": paths, "size": table.column("size"), "hidden": _hidden(table)}
        | {str(at): flags for at, flags in enumerate(lacking)}
    )
    some = pa.repeat(FALSE, len(paths))
    for flags in lacking:
        some = pc.or_(some, flags)
    return _Piece(
        found=pa.concat_tables([build_frame(NULLS, []), *found]), uncounted=uncounted.filter(some)
    )


def _hidden(files: pa.Table) -> pa.Array:
    """How many rows each file's vector hides; null where it does not say."""
    vectors = files.column("deletion_vector").combine_chunks()
    return pc.if_else(vectors.is_null(), ZERO, pc.struct_field(vectors, "cardinality"))


def _beyond(
    paths: pa.Array,
    counts: Mapping[FieldPath, pa.Array],
    hidden: pa.Array,
    asked: _Asked,
    known_by: str,
) -> list[pa.Table]:
    found = []
    for rule in asked.required:
        nulls = nulls_beyond(rule, counts)
        wrong = pc.coalesce(pc.greater(nulls, ZERO), FALSE)
        if wrong.true_count:
            may = pc.coalesce(pc.less_equal(nulls, hidden), TRUE)
            found.append(_rows(paths, rule.path, wrong, nulls, may, known_by))
    return found


def _rows(
    paths: pa.Array,
    column: FieldPath,
    wrong: pa.Array,
    nulls: pa.Array,
    may: pa.Array,
    known_by: str,
) -> pa.Table:
    kept = paths.filter(wrong)
    return pa.Table.from_arrays(
        [
            kept,
            pa.repeat(string_scalar(render_path(column)), len(kept)),
            nulls.filter(wrong),
            pa.repeat(string_scalar(known_by), len(kept)),
            may.filter(wrong),
        ],
        names=list(NULLS),
    )


def _by_footers(
    snapshot: Snapshot, files: pa.Table, asked: _Asked, watch: Watch
) -> tuple[list[pa.Table], int]:
    """The same of files that statistics leave open, and of how many the footers do too."""

    def read(row: dict[str, Any]) -> dict[FieldPath, int | None]:
        file = DataFile(path=row["path"], size=row["size"])
        try:
            with (
                open_data_file(snapshot.store, file, snapshot.version) as opened,
                reading(file, snapshot.version),
            ):
                return _counts(opened, snapshot.schema, asked)
        except DeltaError as error:
            if error.kind == "cancelled":
                raise
            return {}  # it counts as unknown

    rows: list[dict[FieldPath, int | None]] = []
    for row in map_concurrently(snapshot.store, read, files.select(["path", "size"]).to_pylist()):
        watch.step(len(rows), files.num_rows, _READING)
        rows.append(row)
    counts = {
        place.names: int64_column([row.get(place.names) for row in rows]) for place in asked.counted
    }
    unknown = pa.repeat(FALSE, len(rows))
    for at, rule in enumerate(asked.required):
        lacking = files.column(str(at)).combine_chunks()
        unknown = pc.or_(unknown, pc.and_(lacking, counts[rule.path].is_null()))
        # what statistics count was told by them
        counts[rule.path] = pc.if_else(lacking, counts[rule.path], pa.nulls(len(rows), pa.int64()))
    paths, hidden = files.column("path").combine_chunks(), files.column("hidden").combine_chunks()
    return _beyond(paths, counts, hidden, asked, "footer"), unknown.true_count


def _counts(
    opened: ParquetDataFile, schema: StructType, asked: _Asked
) -> dict[FieldPath, int | None]:
    """How many nulls a footer counts in each column; all rows where the file lacks it."""
    leaves = opened.reader.metadata.schema
    places: dict[str, int | None] = {}
    for at in range(len(leaves)):
        # a name with a dot may stand for two of them
        places[leaves.column(at).path] = None if leaves.column(at).path in places else at
    found: dict[FieldPath, int | None] = {}
    for place in asked.counted:
        fields = tuple(step for step in place.parents if isinstance(step, StructField))
        stored = _stored_path(list(opened.schema), schema, (*fields, place.field), asked.mode)
        if stored is None:
            found[place.names] = opened.num_rows
        elif (leaf := places.get(".".join(stored))) is not None:
            found[place.names] = _nulls_of(opened, leaf)
    return found


def _stored_path(
    found: Sequence[pa.Field],
    schema: StructType,
    fields: Sequence[StructField],
    mode: MappingMode,
) -> FieldPath | None:
    """The names by which a file has a field; None where it lacks it, or a struct around it."""
    names, around = [], schema
    for item in fields:
        (at,) = match_fields(found, [item], mode, around.fields)
        if at is None:
            return None
        names.append(found[at].name)
        kind = found[at].type
        found = [kind.field(n) for n in range(kind.num_fields)] if pa.types.is_struct(kind) else []
        around = item.data_type if isinstance(item.data_type, StructType) else StructType(fields=())
    return tuple(names)


def _nulls_of(opened: ParquetDataFile, leaf: int) -> int | None:
    if opened.reader.metadata.schema.column(leaf).max_definition_level == 0:
        return 0  # the file itself has no room for a null
    total = 0
    for group in opened.source.stored.claims(opened.source.file):
        if leaf >= len(group) or not 0 <= group[leaf].num_nulls <= group[leaf].num_values:
            return None
        total += group[leaf].num_nulls
    return total
