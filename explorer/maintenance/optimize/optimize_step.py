"""The step that writes files again and commits them, which is one commit (spec: Add File and
Remove File, Row Tracking, Clustered Table).

Files are written first, and nobody knows them. Only what was written whole, with as many
rows as were read, enters the commit. A run that ends before its commit takes its files with
it; where it is unknown whether the commit was made, they stay, and the receipt names them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CancelledError, ConflictError, UnsupportedError
from explorer.log.actions.columns import (
    ADD_COLUMNS,
    TIME,
    string_column,
    string_map_column,
)
from explorer.log.plain_arrays import FALSE
from explorer.log.reconcile.key_columns import keys_of
from explorer.maintenance.documents.leftovers import as_result
from explorer.maintenance.optimize._aim import mark_of, order_of
from explorer.maintenance.optimize._groups import MARK, PROVIDER, choose_groups, digest_groups
from explorer.maintenance.optimize._names import named_files
from explorer.maintenance.plan.newer_commits import find_own_commit, stale
from explorer.maintenance.plan.plan import Plan
from explorer.maintenance.plan.step_types import OPTIMIZE, Aim, CommitParameters, RewriteFiles
from explorer.maintenance.steps.context import Run, Tally
from explorer.maintenance.steps.journal import Noted
from explorer.pipeline.rewrite.rewrite import Rewrite, rewrite_files
from explorer.pipeline.rewrite.write_files import TARGET
from explorer.protocol.features.iceberg import holds_partition_columns, iceberg_tags
from explorer.protocol.paths import encode_path
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.commit import Committed, commit
from explorer.transaction.live_files import FilesOf
from explorer.transaction.read_set import read_set_of
from explorer.transaction.read_version import read_version_of
from explorer.transaction.staged import Promises, Provenance, StagedCommit
from explorer.writing.commits.provenance import engine_info, tags_of_kept_ids
from explorer.writing.files.leftovers import Leftovers, remove_leftovers
from explorer.writing.files.removes import removes_of

_SHARES = ((25, "p25FileSize"), (50, "p50FileSize"), (75, "p75FileSize"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The files of one commit, as the plan's version has them: `live` with every column of an
    add, in the order of `files`."""

    snapshot: Snapshot
    aim: Aim
    files: pa.Table
    live: pa.Table


def rewrite(run: Run, step: RewriteFiles, tally: Tally, noted: Noted) -> None:
    """Write the batch again and commit it, unless that was done before.

    Raises `ConflictError` where another commit touched a file of the batch, which then is left
    as it is.
    """
    tally.planned = step.num_files
    made = find_own_commit(run.store, run.plan.anchor.version, step.transaction_id)
    if made is not None:
        tally.result = {"version": made, "was_there": True}
        tally.done = step.num_files
        return
    batch = plan_batch_again(Table(run.store), run.plan, step)
    own = uuid4().hex
    run.note({"event": "batch", "step": step.id, "runs": [*noted.runs, own]})
    named = named_files(batch.snapshot, batch.files, batch.aim, step.seed, own)
    wanted = Rewrite(snapshot=batch.snapshot, files=named, order=order_of(batch.aim))
    with _leaving_nothing(run, named, tally):
        written = rewrite_files(run.store, wanted, run.spark, watch=run.watch)
    version = _commit(run, _Staged(step=step, batch=batch, named=named, written=written), tally)
    if pc.max(written.column("attempt")).as_py():  # a task was tried again
        remove_leftovers(run.store, _targets(named), keep=set(_paths(written)))
    # only now: before it, a commit of theirs could still have been under way
    for other in noted.runs:
        left = named_files(batch.snapshot, batch.files, batch.aim, step.seed, other)
        remove_leftovers(run.store, _targets(left))
    tally.done = step.num_files
    tally.num_bytes = sum_of(batch.files.column("size"))
    tally.result = {
        "version": version,
        "was_there": False,
        "num_added": written.num_rows - written.column("path").null_count,
        "bytes_added": sum_of(written.column("size")),
    }


def stage_batch(
    batch: Batch, step: RewriteFiles, written: pa.Table, now: int, by: str | None = None
) -> StagedCommit:
    """What a batch commits at `now`, in milliseconds, with the name of who approved it."""
    snapshot = batch.snapshot
    removes = removes_of(batch.live, now, data_change=False)
    tags = iceberg_tags(snapshot.protocol, snapshot.metadata)
    adds = adds_of(batch.aim, batch.files, written, tags)
    return StagedCommit(
        base=read_version_of(snapshot),
        reads=read_set_of(batch.live.column("path")),
        provenance=Provenance(
            operation=OPTIMIZE,
            transaction_id=step.transaction_id,
            engine_info=engine_info(),
            user_name=by,
            parameters=step.parameters,
            metrics=_metrics(batch.live, written),
            tags=tags_of_kept_ids(snapshot),
            # as the reference: no row changes, so that rows which come meanwhile do not matter
            isolation_level="SnapshotIsolation",
        ),
        adds=tuple(adds.to_batches()),
        removes=tuple(removes.to_batches()),
        promises=promises_of_files(snapshot),
        live=FilesOf(snapshot=snapshot),
    )


def promises_of_files(snapshot: Snapshot) -> Promises:
    """What is so of files that are written by `explorer.pipeline.rewrite`."""
    holds = holds_partition_columns(snapshot.protocol, snapshot.metadata)
    return Promises(holds_partition_columns=holds)


def adds_of(
    aim: Aim, files: pa.Table, written: pa.Table, tags: Mapping[str, str] | None = None
) -> pa.Table:
    """The adds of what was written, with these `tags`: partition values as those of its group's
    files, and no row ids, which the commit gives. Files in an order say so."""
    written = written.filter(written.column("path").is_valid())
    count = written.num_rows
    first = pc.index_in(
        written.column("group").cast(pa.int64()), value_set=files.column("group").combine_chunks()
    )
    paths = string_column([encode_path(path) for path in written.column("path").to_pylist()])
    marks = {**(tags or {}), **({MARK: mark_of(aim)} if aim.columns else {})}
    arrays: dict[str, Any] = {
        "path": paths,
        "partition_values": files.column("partition_values")
        .combine_chunks()
        .take(first.combine_chunks()),
        "size": written.column("size").combine_chunks(),
        "modification_time": written.column("modified").cast(TIME).combine_chunks(),
        "data_change": pa.repeat(FALSE, count),
        "stats": written.column("stats").combine_chunks(),
        "tags": string_map_column([marks or None] * count),
    }
    if aim.is_clustering:
        arrays["clustering_provider"] = string_column([PROVIDER] * count)
    return pa.table(arrays)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Staged:
    """A batch that was written and is not committed yet."""

    step: RewriteFiles
    batch: Batch
    named: pa.Table
    written: pa.Table


@contextlib.contextmanager
def _leaving_nothing(run: Run, named: pa.Table, tally: Tally) -> Iterator[None]:
    """What was written under these names goes where the block raises; the tally tells."""
    try:
        yield
    except BaseException:
        tally.result = as_result(remove_leftovers(run.store, _targets(named)))
        raise


def _commit(run: Run, what: _Staged, tally: Tally) -> int:
    paths = _paths(what.written)
    try:
        staged = stage_batch(what.batch, what.step, what.written, run.clock(), run.by)
        found = commit(run.store, staged, clock=run.clock, cancel=run.watch.cancel)
        if not isinstance(found, Committed):
            raise found.as_error()
    # each is raised before an attempt, or after one that is known to have failed
    except (CancelledError, ConflictError, UnsupportedError):
        tally.result = as_result(remove_leftovers(run.store, _targets(what.named)))
        raise
    except BaseException:  # the commit may be there, or still appear
        tally.result = as_result(Leftovers(left=tuple(paths)))
        raise
    return found.version


def _targets(named: pa.Table) -> set[str]:
    found: set[str] = set(named.column(TARGET).to_pylist())
    return found


def _paths(written: pa.Table) -> list[str]:
    found: list[str] = written.column("path").drop_null().to_pylist()
    return found


def plan_batch_again(table: Table, plan: Plan, step: RewriteFiles) -> Batch:
    """The files of a step, worked out again from the plan's version; raises `ConflictError`
    where they are not those of the plan."""
    snapshot = table.snapshot(version=plan.anchor.version)
    files = choose_groups(snapshot, step.aim).of_batch(step.batch)
    if digest_groups(files) != step.groups_sha256:
        raise stale("The version that it names no longer leads to the files that it lists.")
    live = snapshot.physical_files("add", list(ADD_COLUMNS))
    at = pc.index_in(keys_of(files), value_set=keys_of(live).combine_chunks())
    return Batch(snapshot=snapshot, aim=step.aim, files=files, live=live.take(at.combine_chunks()))


def _metrics(live: pa.Table, written: pa.Table) -> dict[str, str]:
    """As the reference counts them."""
    sizes = np.sort(written.column("size").drop_null().to_numpy())
    vectors = live.column("deletion_vector")
    metrics = {
        "numRemovedFiles": live.num_rows,
        "numRemovedBytes": sum_of(live.column("size")),
        "numAddedFiles": len(sizes),
        "numAddedBytes": int(sizes.sum()),
        "numDeletionVectorsRemoved": len(vectors) - vectors.null_count,
    }
    if len(sizes):
        metrics |= {"minFileSize": int(sizes[0]), "maxFileSize": int(sizes[-1])}
        for share, name in _SHARES:
            metrics[name] = int(sizes[len(sizes) * share // 100])
    return {name: str(value) for name, value in metrics.items()}


def commit_parameters(aim: Aim) -> CommitParameters:
    """`operationParameters` as the reference has them."""
    names = orjson.dumps(list(aim.names)).decode()
    parameters: dict[str, str | bool] = {
        "predicate": orjson.dumps([] if aim.where is None else [aim.where]).decode(),
        "zOrderBy": "[]" if aim.is_clustering else names,
        "clusterBy": names if aim.is_clustering else "[]",
        "auto": False,
    }
    return parameters | ({"isFull": False} if aim.is_clustering else {})
