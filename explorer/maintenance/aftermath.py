"""What is looked at after a run: whether the versions that a plan promised still open, and
whether their files are there."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError
from explorer.maintenance.file_list import of_action
from explorer.maintenance.gone_files import leading_nowhere
from explorer.maintenance.receipt import Check
from explorer.maintenance.run import Run
from explorer.progress import Watch
from explorer.table.listed_files import list_files
from explorer.table.store_paths import file_of_each
from explorer.table.table import Table


def check_promise(run: Run) -> tuple[Check, ...]:
    """Open the promised versions and the newest one anew; where the plan says so, look for
    each of their files."""
    promise = run.plan.promise
    wanted: list[tuple[int | None, int | None]] = [
        (int(version), count) for version, count in promise.versions.items()
    ]
    try:
        # also after the wish to cancel: what was changed is looked at all the same
        watch = Watch(progress=run.watch.progress)
        present = list_files(run.store, watch).paths if promise.checks_files else None
    except DeltaError as error:
        return (Check(what="the table", holds=False, detail=f"{error.problem} {error.reason}"),)
    deleted = of_action(run.plan.files, "delete").column("path")
    table = Table(run.store)
    return tuple(
        _check(table, version, count, present, deleted)
        for version, count in [*wanted, (None, None)]
    )


def _check(
    table: Table,
    version: int | None,
    count: int | None,
    present: pa.ChunkedArray | None,
    deleted: pa.ChunkedArray,
) -> Check:
    what = "the newest version" if version is None else f"version {version}"
    try:
        snapshot = table.snapshot(version=version)
        found = snapshot.num_files
        if count is not None and found != count:
            detail = f"It has {found} files, and had {count} when the plan was made."
            return Check(what=what, holds=False, detail=detail)
        if present is None:
            return Check(what=what, holds=True, detail=f"It opens, with {found} files.")
        files = snapshot.physical_files("add", ["path", "deletion_vector"])
        missing = _missing(files, snapshot.uri, present)
    except DeltaError as error:
        return Check(what=what, holds=False, detail=f"{error.problem} {error.reason}")
    lost = missing.filter(pc.is_in(missing, value_set=deleted)) if len(deleted) else missing[:0]
    if len(lost):
        detail = f"{len(lost)} of its files are gone, among them {lost[0].as_py()[:200]!r}."
        return Check(what=what, holds=False, detail=detail)
    if len(missing := leading_nowhere(table.store, missing)):
        detail = f"It opens; {len(missing)} of its files were missing before."
        return Check(what=what, holds=True, detail=detail)
    return Check(what=what, holds=True, detail=f"It opens, and its {found} files are there.")


def _missing(files: pa.Table, root: str, present: pa.ChunkedArray) -> pa.ChunkedArray:
    names = [part.drop_null() for part in file_of_each(files, root) if part is not None]
    each = pa.chunked_array([chunk for part in names for chunk in part.chunks], pa.string())
    return pc.unique(each.filter(pc.invert(pc.is_in(each, value_set=present))))
