"""The guards of an optimize: whether the rows of this table may be written again here, and
what every new file would have to hold (spec: Iceberg Compatibility, Materialize Partition
Columns, Variant Shredding, Row Tracking, Clustered Table)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.errors import DeltaError
from explorer.log.actions.columns import int32_column, int64_column, string_column
from explorer.maintenance.optimize._aim import without_bounds
from explorer.maintenance.optimize.optimize_step import adds_of, promises_of_files
from explorer.maintenance.plan.guards import judge_rules
from explorer.maintenance.plan.plan import Verdict
from explorer.maintenance.plan.step_types import Aim
from explorer.protocol.features.registry import is_supported
from explorer.protocol.schema import VARIANT
from explorer.protocol.schema_walk import walk_types
from explorer.protocol.table_properties.known_properties import (
    COMPRESSION,
    ICEBERG_COMPAT_V3,
    ICEBERG_WRITER_COMPAT_V1,
    ICEBERG_WRITER_COMPAT_V3,
)
from explorer.rows.data_file.data_file import data_files
from explorer.rows.data_file.read_file import rule_broken
from explorer.rows.row_checks import find_broken_partition
from explorer.rows.stored_rows import keeps_row_ids, stored_request, written_schema
from explorer.table.snapshot import Snapshot
from explorer.transaction.read_set import read_set_of
from explorer.transaction.read_version import read_version_of
from explorer.transaction.requirements import validate_commit
from explorer.transaction.staged import Provenance, StagedCommit

_ICEBERG: Final = (
    ICEBERG_COMPAT_V3,
    ICEBERG_WRITER_COMPAT_V1,
    ICEBERG_WRITER_COMPAT_V3,
)
_SHREDDING: Final = ("variantShredding", "variantShredding-preview")
_CODECS: Final = frozenset(
    {"uncompressed", "none", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "brotli"}
)
_LOOKED_AT: Final = 1000


def judge_rewrite(snapshot: Snapshot) -> Verdict:
    """Whether data files of this table can be written here as it asks for."""
    reasons = list(_obstacles(snapshot))
    if not reasons:
        return Verdict(
            guard="data files",
            outcome="allow",
            message="Data files of this table can be written here.",
        )
    return Verdict(
        guard="data files",
        outcome="refuse",
        message=" ".join(reasons),
        remedy="Let the engine that writes the table optimize it.",
    )


def judge_order(snapshot: Snapshot, aim: Aim) -> Verdict:
    """Whether the order helps: files are skipped by the bounds of its columns."""
    if lacking := without_bounds(snapshot, aim):
        return Verdict(
            guard="order",
            outcome="refuse",
            message="No bounds are kept for "
            f"{', '.join(f'`{name[:120]}`' for name in lacking[:5])}, so that no file could be "
            "skipped by it.",
            remedy="Let the statistics speak of it (delta.dataSkippingStatsColumns), or cluster "
            "by other columns.",
        )
    text = "Files can be skipped by the columns of the order." if aim.columns else "No order."
    return Verdict(guard="order", outcome="allow", message=text)


def judge_first_files(snapshot: Snapshot, aim: Aim, files: pa.Table) -> Verdict:
    """Whether the features allow a commit of such files, every rule asked before anything is
    written (spec: Writer Version Requirements). The first files stand for all."""
    firsts = np.unique(files.column("group").to_numpy(), return_index=True)[1][:_LOOKED_AT]
    some = files.take(pa.array(firsts))
    adds = adds_of(_without_order(aim), some, _as_if_written(some))
    staged = StagedCommit(
        base=read_version_of(snapshot),
        reads=read_set_of(some.column("path")),
        provenance=Provenance(
            operation="OPTIMIZE",
            transaction_id="",
            engine_info="",
            isolation_level="SnapshotIsolation",
        ),
        # statistics of clustering columns are those of rows, which nobody has read yet
        promises=promises_of_files(snapshot),
        adds=() if aim.is_clustering else tuple(adds.to_batches()),
    )
    if (broken := _broken_partition(snapshot, some)) is not None:
        return broken
    return judge_rules(
        validate_commit(staged),
        _without_row_ids(snapshot, files),
        "Let the engine that enabled row tracking give ids to its files.",
    )


def _obstacles(snapshot: Snapshot) -> list[str]:
    configuration = snapshot.metadata.configuration
    found = [
        f"`{item.name}` is active: its files follow rules of Iceberg that are not kept here."
        for item in _ICEBERG
        if item.value_of(configuration)
    ]
    shreds = any(is_supported(snapshot.protocol, name) for name in _SHREDDING)
    has_variants = VARIANT in set(walk_types(snapshot.schema))
    if shreds and has_variants:
        found.append("`variantShredding` is supported: shredded variants are not written here.")
    codec = COMPRESSION.value_of(configuration)
    if codec not in _CODECS:
        found.append(f"`{COMPRESSION.name}` asks for {codec}, which is not written here.")
    try:
        stored_request(snapshot)
        written_schema(snapshot.protocol, snapshot.metadata)
    except DeltaError as error:
        found.append(f"{error.problem} {error.reason}")
    return found


def _without_row_ids(snapshot: Snapshot, files: pa.Table) -> list[str]:
    if not keeps_row_ids(snapshot.protocol, snapshot.metadata):
        return []
    lacking = max(
        files.column(name).null_count for name in ("base_row_id", "default_row_commit_version")
    )
    return [f"{lacking:,} of the files do not say which ids their rows have."] if lacking else []


def _broken_partition(snapshot: Snapshot, files: pa.Table) -> Verdict | None:
    """A refusal that names the first file whose partition values break the schema."""
    request = stored_request(snapshot)
    if request.checks is None or not request.checks.partitions:
        return None
    for file in data_files(files):
        for found in find_broken_partition(file.partition_values, request.checks, 1):
            error = rule_broken(file, found, 0)
            return Verdict(
                guard="commit",
                outcome="refuse",
                message=f"{error.problem} {error.reason}",
                remedy=error.remedy,
            )
    return None


def _as_if_written(files: pa.Table) -> pa.Table:
    count = files.num_rows
    return pa.table(
        {
            "group": files.column("group").cast(pa.int32()),
            "path": string_column([f"part-{at}.parquet" for at in range(count)]),
            "size": int64_column([0] * count),
            "modified": int64_column([0] * count),
            "stats": string_column(['{"numRecords":0}'] * count),
            "attempt": int32_column([0] * count),
        }
    )


def _without_order(aim: Aim) -> Aim:
    return replace(aim, columns=(), names=(), is_clustering=False)
