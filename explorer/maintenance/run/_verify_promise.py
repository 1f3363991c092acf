"""The checks after a run: do the versions that the plan promised still open, and are their
files there? (spec: Metadata Cleanup)

The log may be cleaned up between plan and run, and by another writer during the run. A version
that such a cleanup removed is not a promise that the plan broke.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError
from explorer.files.listed import list_files
from explorer.files.store_paths import file_of_each
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import build_segment
from explorer.maintenance.documents.receipt import Check
from explorer.maintenance.plan.file_list import of_action
from explorer.maintenance.plan.plan import Plan
from explorer.maintenance.steps.context import Run
from explorer.maintenance.steps.gone_files import leading_nowhere
from explorer.maintenance.steps.journal import promised_in
from explorer.progress import Watch
from explorer.protocol.filenames import LOG_FOLDER
from explorer.table.table import Table, contiguous_run


def check_promise(run: Run) -> tuple[Check, ...]:
    """Open the promised versions and the newest one again, and where the plan says so look for
    each of their files. A version that left the log is replaced by the oldest one in it."""
    promise = run.plan.promise
    counts = {int(version): count for version, count in promise.versions.items()}
    try:
        # also after the wish to cancel: what was changed is looked at all the same
        watch = Watch(progress=run.watch.progress)
        present = list_files(run.store, watch).paths if promise.checks_files else None
    except DeltaError as error:
        return (Check(what="the table", holds=False, detail=f"{error.problem} {error.reason}"),)
    deleted = of_action(run.plan.files, "delete").column("path")
    before = promised_in(run.state.read_journal(run.plan.digest))
    table = Table(run.store)
    checks: dict[int, Check] = {}
    wanted = [*counts, *sorted(before or ())]
    for version in wanted:  # which grows
        if version in checks:
            continue
        try:
            checks[version] = _check(table, version, counts.get(version), present, deleted)
        except DeltaError as error:
            checks[version], instead = _explained(error, run.plan, table, version, before)
            wanted += instead
    try:
        newest = _check(table, None, None, present, deleted)
    except DeltaError as error:
        newest = _broken(None, error)
    return (*checks.values(), newest)


def _explained(
    error: DeltaError, plan: Plan, table: Table, version: int, before: frozenset[int] | None
) -> tuple[Check, list[int]]:
    """What it means that a promised version cannot be opened, and which one is then the oldest
    that must: a log cleanup that is no part of the plan breaks none of its promises."""
    try:
        listing = table.listing()
    except DeltaError:
        return _broken(version, error), []
    had_left = before is not None and version not in before
    if not _has_left(listing, version) or not (had_left or not _deletes_of_log(plan)):
        return _broken(version, error), []
    detail = f"Version {version} had left the log before."
    if not had_left:
        detail = f"Version {version} left the log by a cleanup that is not part of this plan."
    oldest = _oldest_behind(listing, version)
    return Check(what=_named(version), holds=True, detail=detail), [] if oldest is None else [
        oldest
    ]


def _broken(version: int | None, error: DeltaError) -> Check:
    return Check(what=_named(version), holds=False, detail=f"{error.problem} {error.reason}")


def _named(version: int | None) -> str:
    return "the newest version" if version is None else f"version {version}"


def _check(
    table: Table,
    version: int | None,
    count: int | None,
    present: pa.ChunkedArray | None,
    deleted: pa.ChunkedArray,
) -> Check:
    """Whether a version has its files; raises what `Table.snapshot` raises."""
    what = _named(version)
    snapshot = table.snapshot(version=version)
    found = snapshot.num_files
    if count is not None and found != count:
        detail = f"It has {found} files, and had {count} when the plan was made."
        return Check(what=what, holds=False, detail=detail)
    if present is None:
        return Check(what=what, holds=True, detail=f"It opens, with {found} files.")
    files = snapshot.physical_files("add", ["path", "deletion_vector"])
    missing = _missing(files, snapshot.uri, present)
    lost = missing.filter(pc.is_in(missing, value_set=deleted)) if len(deleted) else missing[:0]
    if len(lost):
        detail = f"{len(lost)} of its files are gone, among them {lost[0].as_py()[:200]!r}."
        return Check(what=what, holds=False, detail=detail)
    if len(missing := leading_nowhere(table.store, missing)):
        detail = f"It opens; {len(missing)} of its files were missing before."
        return Check(what=what, holds=True, detail=detail)
    return Check(what=what, holds=True, detail=f"It opens, and its {found} files exist.")


def _missing(files: pa.Table, root: str, present: pa.ChunkedArray) -> pa.ChunkedArray:
    names = [part.drop_null() for part in file_of_each(files, root) if part is not None]
    each = pa.chunked_array([chunk for part in names for chunk in part.chunks], pa.string())
    return pc.unique(each.filter(pc.invert(pc.is_in(each, value_set=present))))


def open_versions(plan: Plan, listing: LogListing) -> list[int]:
    """The promised versions that can be reconstructed, ascending. One that left the log is
    stood for by the oldest that can be, of those behind it: they are promised with it."""
    found: set[int] = set()
    for version in map(int, plan.promise.versions):
        if _is_there(listing, version):
            found.add(version)
        elif (oldest := _oldest_behind(listing, version)) is not None:
            found.add(oldest)
    return sorted(found)


def _oldest_behind(listing: LogListing, version: int) -> int | None:
    """The oldest version behind one that left the log: that of a checkpoint, for commits lead
    on from there; None where none is left."""
    behind = [found.version for found in listing.checkpoints if found.version > version]
    return behind[0] if behind else None


def _has_left(listing: LogListing, version: int) -> bool:
    """Whether a version is gone as a log cleanup takes it, with all that is older: later
    commits follow each other, and a later checkpoint is there. Anything else is damage."""
    commits = listing.commits
    is_cut = contiguous_run(commits) == commits and (not commits or commits[0] > 0)
    return (
        is_cut and not _is_there(listing, version) and _oldest_behind(listing, version) is not None
    )


def _deletes_of_log(plan: Plan) -> bool:
    """Whether a plan deletes files of the log itself, so that a version may go by it."""
    paths = of_action(plan.files, "delete").column("path")
    return bool(len(paths) and pc.any(pc.starts_with(paths, f"{LOG_FOLDER}/")).as_py())


def _is_there(listing: LogListing, version: int) -> bool:
    try:
        build_segment(listing, version)
    except DeltaError:
        return False
    return True
