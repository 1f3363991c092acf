"""Whether a table's log is sound, what opening it costs, and what would mend it
(spec: Delta Log Entries, Checkpoints, Last Checkpoint File, Version Checksum File)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, DeltaError, Problem
from explorer.files.contradictions import (
    Contradiction,
    ForgottenRemovals,
    WrongCompaction,
    find_contradictions,
    find_wrong_compactions,
    forgotten_removals,
)
from explorer.files.listed import ListedFiles, list_files
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.files.log_folder import log_files
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.health._log_facts import LogFacts
from explorer.inspect.health._log_growth import log_growth
from explorer.inspect.health._log_rules import find_log_faults
from explorer.inspect.health._missing_files import THINGS, find_missing_files
from explorer.inspect.health._null_files import NullFiles, judge_nulls, null_files
from explorer.inspect.health._opening import (
    Opening,
    cost_in_words,
    known_by_listing,
    open_newest,
)
from explorer.inspect.health._unrelated_files import judge_unrelated, unrelated_frame
from explorer.inspect.health._vacuum_rules import vacuums_against_folder
from explorer.inspect.health.findings import (
    SEVERITIES,
    Finding,
    Severity,
    finding_of,
    findings_frame,
)
from explorer.inspect.health.version_checksum import (
    validate_against_commits,
    validate_checksum,
)
from explorer.inspect.table_features.table_rules import validate_table
from explorer.log.actions.columns import (
    TIME,
    int64_column,
    string_column,
    string_scalar,
    time_column,
)
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.commits.commit_info import read_provenance
from explorer.log.folder.last_checkpoint import read_hint, validate_hint
from explorer.log.folder.listing import one_moment
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.protocol.table_properties.known_properties import DELETED_FILE_RETENTION
from explorer.rows.unrelated_files import UnrelatedFiles, find_unrelated_of
from explorer.table.counts import count
from explorer.table.frames import sum_of
from explorer.table.opening_cost import OpeningCost, opening_cost
from explorer.table.readable import READ_WHOLE
from explorer.table.retention import milliseconds
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import InCommitTimes, in_commit_times, parse_now, utc_time

BYTES: Final[dict[str, Column]] = {
    "kind": (string_column, pa.string()),
    "num_files": (int64_column, pa.int64()),
    "bytes": (int64_column, pa.int64()),
    "oldest": (time_column, TIME),
    "newest": (time_column, TIME),
}

NEWEST_READ: Final = 1_000
"""Commits whose provenance is read, the newest ones."""

_MOST_CHECKSUMS: Final = 20


@dataclass(frozen=True, kw_only=True)
class Health:
    """What is wrong with a table's log, and what it costs.

    - `version`: the latest, None where the log is empty; `opens`: whether it can be read;
      `findings`: see `explorer.inspect.health.findings`, the gravest first
    - `cost` of opening the latest version, by what was read for it, not by names: how many
      `commits` are read one by one and how many log `compactions` in the place of others, their
      `commit_bytes` and `compaction_bytes`; `checkpoint_version`, `checkpoint_kind` and
      `checkpoint_time` of the checkpoint that was used, `checkpoint_bytes` of its top level, its
      `sidecars` and `sidecar_bytes`; None where the latest version cannot be reconstructed
    - `readable_version`: the newest version that can be read, where the latest cannot
    - `log_bytes`, a row per kind of log file: kind, num_files, bytes, oldest, newest;
      `log_growth`: their number and bytes by the time they were written, see `log_growth`
    - `is_checkpoint_read`: whether the checkpoint's content was read, which is left out where
      it is large
    - `missing`, a row per live file that is gone, or whose deletion vector is: `path` as in the
      log, `file` below the root that is not there, `what` it is, its `bytes`, and
      `num_rows`, the live rows of the data file; None where the files were not looked at
    - `nulls`: files with nulls in columns that may have none, see `NullFiles`; None likewise
    - `unrelated`: the `path` of each file with rows that has no column of the table, among the
      `footers_read`; both None likewise
    """

    uri: str
    version: int | None
    opens: bool
    findings: pa.Table
    cost: dict[str, Any] | None
    log_bytes: pa.Table
    log_growth: pa.Table
    is_checkpoint_read: bool
    readable_version: int | None = None
    missing: pa.Table | None = None
    nulls: NullFiles | None = None
    unrelated: pa.Table | None = None
    footers_read: int | None = None

    @property
    def has_listed(self) -> bool:
        """Whether the files were looked at."""
        return self.missing is not None

    @property
    def sentence(self) -> str:
        """The verdict."""
        return _sentence(self)

    def has_finding(self, severity: Severity) -> bool:
        """Whether a finding is as grave as that, or graver."""
        grave = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return any(found in grave for found in self.findings.column("severity").to_pylist())


def log_health(
    table: Table,
    *,
    now: datetime | str | None = None,
    tell: Callable[[str], None] | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Health:
    """What the log alone can say; a table that cannot be opened answers too. `tell` hears what
    opening costs by the listing, before it is opened."""
    watch = Watch(progress=progress, cancel=cancel)
    if tell is not None and (known := known_by_listing(table)):
        tell(known)
    return _build(_look(table, now, watch, READ_WHOLE))


def files_health(
    table: Table,
    *,
    now: datetime | str | None = None,
    listed: Callable[[], ListedFiles] | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Health:
    """The same with the whole checkpoint read, and with a listing of everything below the
    root, which `listed` gives where it is made already: references to files that are gone;
    files with nulls where none may be, and, by the footers of at most `MOST_FOOTERS`, those
    without any column of the table; checkpoints that contradict the commits, and checksums
    that were not made for theirs."""
    watch = Watch(progress=progress, cancel=cancel)
    look = _look(table, now, watch, None)
    if look.snapshot is None:
        return _build(look)
    store, facts = table.store, look.facts
    listing = facts.listing
    others = sorted({*listing.checksums} & {*listing.commits} - {look.snapshot.version})
    below = list_files(look.snapshot.store, watch) if listed is None else listed()
    files = _Files(
        missing=find_missing_files(look.snapshot, below, watch),
        nulls=null_files(look.snapshot, watch),
        unrelated=_unrelated(look.snapshot, watch),
        vacuums=tuple(vacuums_against_folder(facts, look.snapshot, below, watch)),
        contradictions=tuple(find_contradictions(store, listing, watch)),
        forgotten=_forgotten(look, look.snapshot, watch),
        compactions=tuple(find_wrong_compactions(store, listing, watch)),
        checksums=tuple(validate_against_commits(store, others, watch)),
    )
    return _build(look, files)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """What was found of the live files, and of the files of the log among each other."""

    missing: pa.Table
    nulls: NullFiles
    unrelated: UnrelatedFiles
    vacuums: tuple[Finding, ...]
    contradictions: tuple[Contradiction, ...]
    forgotten: ForgottenRemovals | None
    compactions: tuple[WrongCompaction, ...]
    checksums: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    table: Table
    facts: LogFacts
    files: pa.Table
    opening: Opening
    has_sidecars: bool

    @property
    def snapshot(self) -> Snapshot | None:
        return self.opening.snapshot


def _look(table: Table, now: datetime | str | None, watch: Watch, limit: int | None) -> _Look:
    with one_moment():
        return _look_now(table, parse_now(now), watch, limit)


def _look_now(table: Table, now_ms: int, watch: Watch, limit: int | None) -> _Look:
    watch.step(0, None, "Listing the log")
    listing = table.listing()
    store = table.store_at(listing)
    files = log_files(table)
    names = files.column("name").to_pylist()
    sizes = dict(zip(names, files.column("size").to_pylist(), strict=True))
    opening = open_newest(table, sizes, limit, watch)
    watch.step(0, None, "Adding up what opening costs")
    times = files.column("modified").cast(pa.int64()).to_pylist()
    active, configuration = _in_force(table)
    newest = listing.commits[-NEWEST_READ:]
    watch.step(0, None, "Reading who committed, and when")
    bodies = [body for body, _ in read_provenance(store, newest)]
    return _Look(
        table=table,
        facts=LogFacts(
            listing=listing,
            segment=None if opening.loaded is None else opening.loaded.segment,
            cost=None if opening.loaded is None else opening_cost(table.store, opening.loaded),
            configuration=configuration,
            active=active,
            sizes=sizes,
            modified=dict(zip(names, times, strict=True)),
            provenance=dict(zip(newest, bodies, strict=True)),
            hinted=read_hint(store).version,
            now_ms=now_ms,
        ),
        files=files,
        opening=opening,
        has_sidecars="sidecar" in files.column("kind").to_pylist(),
    )


def _in_force(table: Table) -> tuple[InCommitTimes | None, dict[str, str]]:
    try:
        protocol, metadata = table.protocol(), table.metadata()
        return in_commit_times(protocol, metadata), dict(metadata.configuration)
    except DeltaError:
        return None, {}


def _build(look: _Look, files: _Files | None = None) -> Health:
    facts, snapshot, is_read = look.facts, look.snapshot, look.opening.is_read
    store = look.table.store_at(facts.listing)
    findings = [*_unopened(look), *find_log_faults(facts)]
    findings += [
        finding_of(problem, "wrong hint", repair="repair hint")
        for problem in validate_hint(store, facts.listing)
    ]
    if snapshot is not None:
        findings += _of_snapshot(look, snapshot, is_read=is_read)
    if look.has_sidecars and is_read:
        findings += _sidecars(look)
    if snapshot is not None and files is not None:
        findings += _dangling(snapshot.version, files.missing)
        findings += judge_nulls(files.nulls)
        findings += judge_unrelated(snapshot.version, files.unrelated)
        findings += files.vacuums
        findings += map(_contradiction, files.contradictions)
        if files.forgotten is not None:
            findings.append(_forgetful(files.forgotten))
        findings += map(_wrong_compaction, files.compactions)
        findings += _checksums(files.checksums)
    if snapshot is None:  # every repair begins by opening the table
        findings = [replace(found, repair=None) for found in findings]
    latest = facts.listing.latest_version
    return Health(
        uri=look.table.uri,
        version=latest,
        opens=snapshot is not None,
        findings=findings_frame(findings),
        cost=_cost_document(facts),
        log_bytes=_bytes_by_kind(look.files),
        log_growth=log_growth(look.files),
        is_checkpoint_read=is_read,
        readable_version=look.opening.readable_version,
        missing=None if files is None else files.missing,
        nulls=None if files is None else files.nulls,
        unrelated=None if files is None else unrelated_frame(files.unrelated),
        footers_read=None if files is None else files.unrelated.num_read,
    )


def _unrelated(snapshot: Snapshot, watch: Watch) -> UnrelatedFiles:
    """None where the columns cannot be told apart or are no Parquet, which is told elsewhere."""
    try:
        return find_unrelated_of(snapshot, watch)
    except DeltaError as error:
        if error.kind == "cancelled":
            raise
        return UnrelatedFiles()


def _unopened(look: _Look) -> Iterator[Finding]:
    refusal = look.opening.refusal
    if refusal is None:
        return
    if refusal.kind in {"unsupported_feature", "catalog_managed"}:
        # a catalog's table is as it should be, and read by other means
        is_fine = refusal.kind == "catalog_managed"
        yield finding_of(refusal, "refused table", "note" if is_fine else "error")
        return
    finding = finding_of(refusal, "table that cannot be opened", "error")
    if (readable := look.opening.readable_version) is not None:
        reason = f"{refusal.reason} Version {readable} is the newest that can be read."
        finding = replace(finding, reason=reason)
    yield finding


def _of_snapshot(look: _Look, snapshot: Snapshot, *, is_read: bool) -> Iterator[Finding]:
    checksums: list[Problem] = []
    if is_read and snapshot.version in look.facts.listing.checksums:
        checksums = validate_checksum(look.table.store, snapshot)
    broken = {name for found in look.facts.listing.incomplete_checkpoints for name in found.names}
    for problem in snapshot.problems:
        if problem.place in broken:
            continue  # told by the listing
        if problem.kind == "checkpoint_unusable":
            yield finding_of(problem, "broken checkpoint", repair="repair checkpoint")
        else:
            yield finding_of(problem, "odd log")
    for problem in checksums:
        yield finding_of(problem, "checksum that disagrees", "error")
    unreadable: Problem | None = None
    try:
        _ = snapshot.schema
    except CorruptLogError as error:
        unreadable = Problem.of(error)
        yield finding_of(unreadable, "schema that cannot be read", "error")
    for problem in validate_table(snapshot.protocol, snapshot.metadata)[1]:
        if problem not in (*snapshot.problems, unreadable):
            yield finding_of(problem, "metadata against the specification")


def _sidecars(look: _Look) -> Iterator[Finding]:
    """Sidecars that no checkpoint names."""
    named: set[str] = set()
    for found in look.facts.listing.checkpoints:
        try:
            named |= read_checkpoint(look.table.store, found).sidecar_names
        except DeltaError:
            return  # what a broken checkpoint named is unknown
    files = look.files.select(["name", "kind", "size"])
    rows = [row for row in files.to_pylist() if row["kind"] == "sidecar"]
    free = [row for row in rows if row["name"].rpartition("/")[2] not in named]
    if free:
        size = render_byte_size(sum(row["size"] for row in free))
        yield Finding(
            severity="note",
            finding="sidecars without a checkpoint",
            problem=f"No checkpoint names {len(free):,} of the sidecars ({size}).",
            reason="Their checkpoint was removed, or is being written just now.",
            evidence=free[0]["name"],
            spec="Sidecar Files",
            remedy="A log cleanup removes them once they are a day old.",
            repair="clean-log",
        )


def _contradiction(found: Contradiction) -> Finding:
    return Finding(
        severity="error",
        finding="checkpoint that contradicts the commits",
        problem=found.problem,
        reason=found.reason,
        evidence=found.checkpoint.names[0],
        spec="Checkpoints",
        remedy="Readers that use it show other rows than the commits. Replace it "
        "before a vacuum or a log cleanup deletes what the commits need.",
        repair="repair checkpoint",
    )


def _forgotten(look: _Look, snapshot: Snapshot, watch: Watch) -> ForgottenRemovals | None:
    """Removals that the retention keeps, and the checkpoint that was used does not."""
    used, configuration = snapshot.segment.checkpoint, snapshot.metadata.configuration
    if used is None or DELETED_FILE_RETENTION.unread_in(configuration) is not None:
        return None
    after_ms = look.facts.now_ms - milliseconds(DELETED_FILE_RETENTION.value_of(configuration))
    return forgotten_removals(look.table.store, look.facts.listing, used, after_ms, watch)


def _forgetful(found: ForgottenRemovals) -> Finding:
    removals = count(found.number, "removal")
    return Finding(
        severity="warning",
        finding="checkpoint without removals",
        problem=f"The checkpoint of version {found.checkpoint.version} lacks {removals} within "
        "the retention.",
        reason=f"{found.evidence} A vacuum that uses the checkpoint deletes such a file too "
        "early; VACUUM here is blocked.",
        evidence=found.checkpoint.names[0],
        spec="Checkpoint Schema",
        remedy="Wait until the retention has passed, or let an engine that keeps removals "
        "rewrite the checkpoint from the commits.",
    )


def _wrong_compaction(found: WrongCompaction) -> Finding:
    first, last = found.compaction.first, found.compaction.last
    return Finding(
        severity="error",
        finding="log compaction that contradicts the commits",
        problem=f"The log compaction of versions {first} to {last} contradicts their commits.",
        reason=found.reason,
        evidence=found.compaction.name,
        spec="Log Compaction Files",
        remedy="Readers that use it show other rows than the commits. Delete it: readers then "
        "use the commits.",
    )


def _checksums(problems: Sequence[Problem]) -> Iterator[Finding]:
    for problem in problems[:_MOST_CHECKSUMS]:
        yield finding_of(problem, "checksum that disagrees", "error")
    if (more := len(problems) - _MOST_CHECKSUMS) > 0:
        last = problems[-1]
        yield finding_of(
            replace(last, problem=f"{last.problem}{_others(more - 1)}"),
            "checksum that disagrees",
            "error",
        )


def _others(number: int) -> str:
    if not number:
        return ""
    return f" {'1 other has' if number == 1 else f'{number:,} others have'} the same problem."


def _dangling(version: int, missing: pa.Table) -> Iterator[Finding]:
    for what in THINGS:
        rows = missing.filter(pc.equal(missing.column("what"), string_scalar(what)))
        if not rows.num_rows:
            continue
        counts = rows.column("num_rows")
        lost = "an unknown number of rows" if counts.null_count else count(sum_of(counts), "row")
        example = rows.column("file")[0].as_py()
        verb = "is" if rows.num_rows == 1 else "are"
        files = count(rows.num_rows, "live data file")
        if what == "deletion vector":
            files = f"The deletion vector{'' if rows.num_rows == 1 else 's'} of {files}"
        yield Finding(
            severity="error",
            finding=f"missing {what}",
            problem=f"{files} {verb} gone: {lost} cannot be read.",
            reason=f"Version {version} needs {example[:200]!r}, which does not exist.",
            evidence=example,
            spec="Add File and Remove File",
            remedy="Restore them from a backup, or restore the table to a version that does not "
            "need them. Otherwise remove the references; the rows are then lost.",
            repair="repair files",
        )


def _bytes_by_kind(files: pa.Table) -> pa.Table:
    """The log folder by kind, the heaviest first."""
    found: dict[str, tuple[int, int, int, int]] = {}
    times = files.column("modified").cast(pa.int64()).to_pylist()
    every = zip(
        files.column("kind").to_pylist(), files.column("size").to_pylist(), times, strict=True
    )
    for kind, size, at in every:
        count, total, oldest, newest = found.get(kind, (0, 0, at, at))
        found[kind] = (count + 1, total + size, min(oldest, at), max(newest, at))
    rows = sorted(((kind, *values) for kind, values in found.items()), key=lambda row: -row[2])
    return build_frame(BYTES, rows)


def _cost_document(facts: LogFacts) -> dict[str, Any] | None:
    if facts.cost is None or facts.segment is None:
        return None
    checkpoint = facts.segment.checkpoint
    made = None if checkpoint is None else facts.modified.get(checkpoint.names[0])
    return {
        **asdict(facts.cost),
        "checkpoint_version": None if checkpoint is None else checkpoint.version,
        "checkpoint_kind": None if checkpoint is None else checkpoint.kind,
        "checkpoint_time": None if made is None else utc_time(made),
    }


def _sentence(health: Health) -> str:
    counts = {
        word: health.findings.column("severity").to_pylist().count(word)
        for word in ("error", "warning", "note")
    }
    rows = health.findings.slice(0, 1).to_pylist()
    cost = ""
    if health.cost is not None and health.opens:
        spent = OpeningCost(**{item.name: health.cost[item.name] for item in fields(OpeningCost)})
        text = cost_in_words(health.version, health.cost["checkpoint_version"], spent)
        cost = f"{text[:1].upper()}{text[1:]}."
    if health.readable_version is not None:
        cost = f"Version {health.readable_version} is the newest that can be read."
    wrong = counts["error"] + counts["warning"]
    if wrong:
        more = f" {count(wrong - 1, 'more finding')} below." if wrong > 1 else ""
        return f"{rows[0]['problem']}{more} {cost}".strip()
    notes = "note" if counts["note"] == 1 else "notes"
    known = f"; {counts['note']} {notes}" if counts["note"] else ""
    whole = "" if health.is_checkpoint_read else ", as far as it was read"
    there = " and every file is there" if health.has_listed else ""
    return f"The log is sound{whole}{there}{known}. {cost}".strip()


def _ask(table: Table, progress: ProgressCallback | None, *, files: bool = False) -> Health:
    return (files_health if files else log_health)(table, progress=progress)


def _documents(found: Health, limit: int | None) -> Iterator[Document]:
    missing, nulls = found.missing, None if found.nulls is None else found.nulls.files
    unrelated = None if found.unrelated is None else found.unrelated.slice(0, limit)
    yield {
        "uri": found.uri,
        "version": found.version,
        "sentence": found.sentence,
        "opens": found.opens,
        "readable_version": found.readable_version,
        "cost": found.cost,
        "is_checkpoint_read": found.is_checkpoint_read,
        "findings": list(plain_rows(found.findings)),
        "log_bytes": list(plain_rows(found.log_bytes)),
        "log_growth": list(plain_rows(found.log_growth)),
        "num_missing": None if missing is None else missing.num_rows,
        "missing": None if missing is None else list(plain_rows(missing, limit)),
        "num_null_files": None if nulls is None else nulls.num_rows,
        "null_files": None if nulls is None else list(plain_rows(nulls, limit)),
        "num_unrelated": None if found.unrelated is None else found.unrelated.num_rows,
        "unrelated": None if unrelated is None else unrelated.column("path").to_pylist(),
        "footers_read": found.footers_read,
    }


HEALTH: Final = Answer(
    name="health",
    parameters=(Parameter(name="files", kind="flag", reads="files"), LIMIT),
    ask=_ask,
    documents=_documents,
)
