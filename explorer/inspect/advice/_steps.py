"""The steps that each fact asks for, as far as they are worth their cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.inspect.advice.ranking import FEWEST_FILES, Step
from explorer.inspect.files.folder_files import Folder
from explorer.inspect.files.row_deletions import deletion_vectors, vector_problems
from explorer.inspect.health.findings import Severity
from explorer.inspect.health.table_health import Health
from explorer.inspect.layout.sizes import SmallFiles, compacted_vectors
from explorer.inspect.reach.reachability import Reachability
from explorer.inspect.reach.wording import versions_in_words
from explorer.log.load import LoadedVersion
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.plan import physical_counts
from explorer.table.counts import count
from explorer.table.frames import sum_of
from explorer.table.row_counts import PARSED_NUM_RECORDS, live_counts
from explorer.table.snapshot import Snapshot

MANY_FILES: Final = 100
"""From so many files to save on, small files are what a reader waits for."""

LEAST_HIDDEN: Final = 0.05
"""Of all rows; below that a purge frees little."""

_FIRST_FILES: Final = 2**16

MUCH_HIDDEN: Final = 0.3

LEAST_DELETABLE: Final = 0.1
"""Of the bytes of the folder; below that a vacuum frees little."""

MUCH_DELETABLE: Final = 0.5

# what an operation costs, and what it is good for; by its verb
_REPAIRS: Final[Mapping[str, tuple[str, str]]] = {
    "checkpoint": (
        "Writes one checkpoint; no data file is touched.",
        "Readers no longer replay the commits before it.",
    ),
    "clean-log": (
        "Deletes log files; the versions that only they describe can no longer be read.",
        "The log gets smaller, and listing it faster.",
    ),
    "vacuum": (
        "Deletes files; the versions that need them can no longer be read.",
        "The folder gets smaller.",
    ),
    "repair hint": ("Writes one small file.", "Readers begin at the newest checkpoint."),
    "repair checkpoint": ("Writes one checkpoint.", "Readers meet no broken checkpoint."),
    "repair files": (
        "Commits that files are gone; their rows stay lost.",
        "Queries no longer fail on them.",
    ),
    "repair statistics": (
        "Reads the files that lack statistics and commits them.",
        "Queries can skip those files.",
    ),
}

_BENEFITS: Final[Mapping[str, str]] = {
    "gap in the commits": "The versions in and after the gap can be read again.",
    "no beginning": "The table can be read again.",
    "newer versions are gone": "Committed versions are not overwritten by the next commit.",
    "checkpoint without removals": "No vacuum deletes files that are still kept.",
    "log compaction that contradicts the commits": "All readers see the same rows.",
    "log files with a number of another length": "All engines see the same rows.",
    "checksum that disagrees": "Readers that compare the checksum accept the table.",
    "unreadable property": "Engines that need the property accept the table.",
    "ignored property": "The property has the effect that it is meant to have.",
    "metadata against the specification": "Engines that validate the metadata accept the table.",
    "schema that cannot be read": "The table can be read again.",
    "table that cannot be opened": "The table can be read again.",
    "refused table": "The table can be read.",
    "file without a column of the table": "Queries return no rows of nulls for it.",
    "time in the future": "Time travel by timestamp and retention count from true times.",
    "times go back": "Time travel by timestamp finds the version that is meant.",
    "in-commit timestamps go back": "Time travel by timestamp finds the version that is meant.",
    "no in-commit timestamp": "Engines that need the timestamp read the commit.",
    "null in a NOT NULL column": "OPTIMIZE and engines that check the rule no longer fail.",
}
"""What is gained where something that no operation mends is mended, by the kind of the finding."""

_SLOW: Final = frozenset({"late checkpoint", "ignored property"})
"""Warnings that cost time, or an effect that is missing; the others endanger something."""


def steps_of_health(found: Health) -> Iterator[Step]:
    """A step for each error and warning, and for each note that an operation mends."""
    for row in found.findings.to_pylist():
        if row["severity"] == "note" and row["repair"] is None:
            continue
        operation, arguments = _operation_of(row["repair"])
        cost, benefit = _worth_of(row["finding"], operation, arguments)
        yield Step(
            source="health",
            severity=row["severity"],
            problem=row["problem"],
            cost=cost,
            benefit=benefit,
            operation=operation,
            by_hand="" if operation else row["remedy"] or row["reason"],
            arguments=arguments,
            endangers=row["severity"] != "note" and row["finding"] not in _SLOW,
        )


def steps_of_layout(found: SmallFiles) -> Iterator[Step]:
    """A step where there are too many partitions, and one where a compaction leaves far fewer
    files."""
    if found.has_too_many_partitions:
        yield _partitions_step(found)
    saved = found.files_saved
    if saved < FEWEST_FILES:
        return
    share = saved / max(1, found.num_files)
    severity: Severity = "warning" if saved >= MANY_FILES and share >= 0.5 else "note"
    yield Step(
        source="layout",
        severity=severity,
        problem=f"{found.small_files:,} of {count(found.num_files, 'file')} are below the target "
        f"of {render_byte_size(found.target)}.",
        cost=f"Rewrites {render_byte_size(found.small_bytes)}.",
        benefit=f"{saved:,} fewer files to open.",
        operation="optimize",
        arguments={"what": "compact"},
        gain=share,
    )


def _partitions_step(found: SmallFiles) -> Step:
    """Columns by which a table is partitioned stay as they are: no operation changes them."""
    size, target = render_byte_size(found.size_in_bytes), render_byte_size(found.target)
    fewest = max(1, -(-found.size_in_bytes // found.target))
    thin, many = found.thin_partitions, found.num_partitions
    return Step(
        source="layout",
        severity="warning",
        problem=f"Too many partitions: {thin:,} of {many:,} hold less than one file of {target}.",
        cost=f"Writes all {size} again.",
        benefit=f"{count(fewest, 'file')} of up to {target} can hold what now takes "
        f"{found.num_files:,}.",
        by_hand="Overwrite the table, or write its rows into a new one, partitioned by fewer "
        "values or clustered instead.",
        gain=thin / many,
    )


def steps_of_vectors(snapshot: Snapshot, watch: Watch) -> Iterator[Step]:
    """One step where deletion vectors hide many rows."""
    pieces = reduce_live_files(
        snapshot, ["path", "size", "deletion_vector"], (), _with_vector, watch, "Reading the log"
    )
    files = pa.concat_tables(pieces) if pieces else None
    if files is None or not files.num_rows:
        return
    yield from _lost_vectors(files)
    if _hides_few(snapshot, files):
        return
    frame = deletion_vectors(snapshot, progress=watch.progress, cancel=watch.cancel)
    hidden, rows = snapshot.num_deleted_rows, snapshot.num_rows
    if not hidden or rows is None:
        return
    share = hidden / (hidden + rows)
    if share < LEAST_HIDDEN:
        return
    yield Step(
        source="vectors",
        severity="warning" if share >= MUCH_HIDDEN else "note",
        problem=f"{hidden:,} of {count(hidden + rows, 'row')} ({share:.0%}) "
        f"{'is' if hidden == 1 else 'are'} soft-deleted by deletion vectors, in "
        f"{count(files.num_rows, 'file')}.",
        cost=f"Rewrites {render_byte_size(sum_of(files.column('size')))}.",
        benefit=f"Readers skip no soft-deleted rows; {_freed(files, frame)}.",
        operation="optimize",
        arguments={"what": "purge"},
        gain=share,
    )


def with_shared_work(
    steps: list[Step], snapshot: Callable[[], Snapshot], watch: Watch
) -> list[Step]:
    """The same steps; where a compaction is one, a purge says for how many of its files that does
    its work, because it writes no hidden rows."""
    at = next((at for at, step in enumerate(steps) if step.arguments == {"what": "purge"}), None)
    if at is None or all(step.arguments != {"what": "compact"} for step in steps):
        return steps
    done, every = compacted_vectors(snapshot(), progress=watch.progress, cancel=watch.cancel)
    if not done:
        return steps
    some = "" if done == every else f" for {count(done, 'file')} of these"
    told = f"{steps[at].benefit} The compaction does this too{some}."
    return [*steps[:at], replace(steps[at], benefit=told), *steps[at + 1 :]]


def _lost_vectors(files: pa.Table) -> Iterator[Step]:
    """One step where the log does not say which rows are deleted."""
    problems = vector_problems(files)
    wrong = problems.drop_null()
    if not len(wrong):
        return
    first = files.column("path").filter(problems.is_valid())[0].as_py()
    yield Step(
        source="vectors",
        severity="error",
        problem=f"The deletion vector{'' if len(wrong) == 1 else 's'} of "
        f"{count(len(wrong), 'file')} cannot be used, such as of {first[:200]!r}: "
        f"{wrong[0].as_py()}",
        cost="The rows that are deleted since the earlier version come back.",
        benefit="Queries no longer fail on these files.",
        by_hand="Restore a version from before the vectors were committed, or the log from a "
        "backup.",
        endangers=True,
    )


def _with_vector(files: FileColumns) -> pa.Table:
    return files.table.filter(files.table.column("deletion_vector").is_valid())


def _hides_few(snapshot: Snapshot, files: pa.Table) -> bool:
    """Whether the rows of the first files alone are so many that the vectors of `files` hide too
    small a share; False says nothing. The statistics of all files take ten times as long."""
    cardinality = pc.struct_field(files.column("deletion_vector"), "cardinality")
    enough = sum_of(cardinality) * (1 / LEAST_HIDDEN - 1)

    def ask(loaded: LoadedVersion) -> bool:
        rows = looked = 0
        for some in loaded.state.stream("add", ["deletion_vector"], [PARSED_NUM_RECORDS]):
            rows += sum_of(live_counts(_counted(some)))
            looked += some.table.num_rows
            if rows > enough or looked > _FIRST_FILES:
                break
        return rows > enough

    return snapshot.consult(ask)


def _counted(files: FileColumns) -> pa.Table:
    return files.table.append_column("num_records", physical_counts(files, None))


_TOLD_BY_HEALTH: Final = frozenset(
    {"gap in the commits", "no beginning", "commits without a checkpoint"}
)


def steps_of_reach(found: Reachability, health: Health) -> Iterator[Step]:
    """Versions that are there and cannot be read, where its health does not say so, and what is
    odd about the retentions, which only properties mend."""
    if health.opens and not _TOLD_BY_HEALTH & set(health.findings.column("finding").to_pylist()):
        yield from _unreadable_versions(found)
    for note in found.notes:
        yield Step(
            source="reach",
            severity="note",
            problem=note,
            cost="Commits one change of properties.",
            benefit="Versions can be read for as long as is meant.",
            operation="set-properties",
        )


def _unreadable_versions(found: Reachability) -> Iterator[Step]:
    if unreadable := found.versions_that_are("log not readable"):
        which = versions_in_words(unreadable)
        yield Step(
            source="reach",
            severity="warning",
            problem=f"Files of the log cannot be read: {which} cannot be opened.",
            cost="No data file is touched.",
            benefit="These versions can be read again.",
            by_hand="Restore the files of the log from a backup.",
            endangers=True,
        )
    if refused := found.versions_that_are("refused"):
        yield Step(
            source="reach",
            severity="note",
            problem=f"This engine does not read {versions_in_words(refused)}: "
            f"{found.refusal or 'their protocol asks for more.'}",
            cost="No data file is touched.",
            benefit="These versions can be read.",
            by_hand="Read them with an engine that supports their protocol.",
            endangers=True,
        )


def steps_of_folder(found: Folder) -> Iterator[Step]:
    """One step where the next vacuum frees much of the folder."""
    total = sum_of(found.sizes.column("bytes"))
    number, size = found.deletable
    share = size / total if total else 0.0
    if found.unread is not None or share < LEAST_DELETABLE:
        return
    yield Step(
        source="reach",
        severity="warning" if share >= MUCH_DELETABLE else "note",
        problem=f"{render_byte_size(size)} of the folder's "
        f"{render_byte_size(total)} belong to no version within retention.",
        cost=f"Permanently deletes {count(number, 'file')}; versions that need them can no longer "
        "be read.",
        benefit=f"Frees {render_byte_size(size)}.",
        operation="vacuum",
        gain=share,
    )


def _freed(files: pa.Table, frame: pa.Table) -> str:
    sizes, parts = files.column("size").to_pylist(), frame.column("fraction_deleted").to_pylist()
    freed = sum(int(size * (part or 0.0)) for size, part in zip(sizes, parts, strict=True))
    return f"the next vacuum then frees about {render_byte_size(freed)}"


def _operation_of(repair: str | None) -> tuple[str | None, dict[str, str]]:
    """`repair hint` as the operation and what its form holds."""
    words = (repair or "").split()
    if not words:
        return None, {}
    if words[0] == "repair" and len(words) == 2:
        return "repair", {"what": words[1]}
    if words[:2] == ["restore", "--version"] and len(words) == 3:
        return "restore", {"version": words[2]}
    return words[0], {}


def _worth_of(finding: str, operation: str | None, arguments: dict[str, str]) -> tuple[str, str]:
    """Cost and benefit of what mends a finding."""
    gained = _BENEFITS.get(finding, "Engines no longer disagree about the table.")
    if operation is None:
        return "No operation mends it.", gained
    if operation == "restore":
        version = arguments["version"]
        return (
            f"Commits version {version} again; what was done since is undone.",
            "Rows that were committed twice are there once.",
        )
    return _REPAIRS.get(" ".join([operation, *arguments.values()]), ("See its plan.", gained))
