"""Plans of new tables and of written rows for people, and what came of them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.json_lines import print_document
from explorer.cli.printing.listings import Column, print_listing, print_note
from explorer.cli.printing.wording import printable, render_count, render_size
from explorer.storage.location import parse_location
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.pipeline.planned_writes.clone_plan import ClonePlan
    from explorer.pipeline.planned_writes.create_plan import CreatePlan
    from explorer.pipeline.planned_writes.write_plan import WritePlan
    from explorer.writing.statements.options import WriteResult

_SHOWN_DIGEST = 12
_LONGEST = 2000


def print_create_plan(plan: CreatePlan, words: Sequence[str]) -> None:
    """The table that would be created; `words` are those of the command that creates it."""
    console = build_console(sys.stdout)
    print_title(console, f"Creates {plan.uri} with {count(len(plan.columns), 'column')}.")
    console.print()
    rows = [
        {"name": name, "kind": kind, "comment": comment or ""}
        for name, kind, comment in plan.columns
    ]
    print_listing(console, _COLUMNS, rows)
    console.print()
    _print_layout(console, plan.partition_columns, plan.clustering_columns)
    for name, value in plan.properties.items():
        print_note_line(console, f"property {name} = {value}")
    protocol = plan.protocol
    print_note_line(
        console,
        f"reader version {protocol.min_reader_version}, "
        f"writer version {protocol.min_writer_version}",
    )
    print_note_line(console, f"features: {', '.join(plan.features)}")
    print_way_on(console, plan.digest, words)


def print_write_plan(plan: WritePlan, words: Sequence[str]) -> None:
    """What a write would do; `words` are those of the command that does it."""
    console = build_console(sys.stdout)
    print_title(console, _what_is_written(plan))
    if plan.nothing is not None:
        return
    console.print()
    rows = [
        {"path": item.path, "rows": item.num_rows, "size": item.size, "sha256": item.sha256}
        for item in plan.files
    ]
    print_listing(console, _FILES, rows)
    if plan.column_changes:
        console.print()
        print_listing(
            console,
            _CHANGES,
            [
                {"name": item.name, "before": item.before, "after": item.after}
                for item in plan.column_changes
            ],
        )
    console.print()
    if plan.partition_columns != (plan.partition_columns_before or ()):
        _print_layout(console, plan.partition_columns, ())
        if not plan.partition_columns:
            print_note_line(console, "no longer partitioned")
    _print_layout(console, (), plan.clustering_columns)
    if plan.enabled_features:
        print_note_line(console, f"enables {', '.join(plan.enabled_features)}")
    if plan.needs_spark is not None:
        print_note_line(console, f"! Spark is needed: {plan.needs_spark}")
    print_way_on(console, plan.digest, words)


def print_clone_plan(plan: ClonePlan, words: Sequence[str]) -> None:
    """The clone that would be made; `words` are those of the command that makes it."""
    console = build_console(sys.stdout)
    rows = "an unknown number of rows" if plan.num_rows is None else count(plan.num_rows, "row")
    files = f"{count(plan.num_files, 'file')} ({render_size(plan.num_bytes)})"
    print_title(
        console,
        f"Clones version {plan.version} of {plan.source} to {plan.uri}: {rows} in {files}.",
    )
    console.print()
    _print_layout(console, plan.partition_columns, ())
    for name, value in plan.properties.items():
        print_note_line(console, f"property {name} = {value}")
    print_note_line(console, f"features: {', '.join(plan.features) or 'none'}")
    print_note_line(
        console,
        f"! No file is copied. The clone reads those of {plan.source}, and cannot be read any "
        "more once a vacuum has deleted them there.",
    )
    print_way_on(console, plan.digest, words)


def print_result(result: WriteResult, uri: str, *, as_json: bool) -> None:
    """What came of it."""
    if as_json:
        print_document(
            {
                "format": 1,
                "uri": parse_location(uri).shown,
                "version": result.version,
                "operation": result.operation,
                "metrics": dict(result.metrics),
                "is_repeated": result.is_repeated,
                "problems": [item.as_dict() for item in result.problems],
            }
        )
        return
    console = build_console(sys.stdout)
    if result.version is None:
        why = (
            "The table has this transaction already."
            if result.is_repeated
            else ("There is a table already.")
        )
        print_title(console, f"Nothing was committed. {why}")
        return
    print_title(console, _what_came(result))
    for problem in result.problems:
        print_note_line(console, f"! {problem.problem} {problem.reason} {problem.remedy}")


def _what_came(result: WriteResult) -> str:
    figures = result.metrics
    said = f"{result.operation}: version {result.version}"
    if "numOutputRows" in figures:
        said += (
            f", {count(figures['numOutputRows'], 'row')} in {count(figures['numFiles'], 'file')} "
            f"({render_size(figures['numOutputBytes'])})"
        )
    if "sourceNumOfFiles" in figures:
        size = render_size(figures["sourceTableSize"])
        said += f", {count(figures['sourceNumOfFiles'], 'file')} of the source ({size})"
    for name, what in (("numDeletedRows", "deleted"), ("numUpdatedRows", "updated")):
        if name in figures:
            said += f", {count(figures[name], 'row')} {what}"
    if figures.get("numDeletionVectorsAdded"):
        said += f", {count(figures['numDeletionVectorsAdded'], 'deletion vector')} added"
    if figures.get("numAddedFiles"):
        size = render_size(figures["numAddedBytes"])
        said += f", {count(figures['numAddedFiles'], 'file')} added ({size})"
    if figures.get("numRemovedFiles"):
        size = render_size(figures["numRemovedBytes"])
        said += f", {count(figures['numRemovedFiles'], 'file')} removed ({size})"
    return said


def _what_is_written(plan: WritePlan) -> str:
    if plan.nothing is not None:
        return f"Nothing would be committed. {plan.nothing}"
    size = render_size(plan.num_bytes)
    rows = f"{count(plan.num_rows, 'row')} of {count(len(plan.files), 'file')} ({size})"
    if plan.version is None:
        return f"Creates {plan.uri} with {rows}."
    if plan.mode != "overwrite":
        return f"Appends {rows} to {plan.uri}, version {plan.version}."
    if plan.removed_files is None:
        return (
            f"Replaces the partitions of {plan.uri}, version {plan.version}, that rows are for, "
            f"by {rows}."
        )
    removed = f"{count(plan.removed_files, 'file')} ({render_size(plan.removed_bytes)})"
    return f"Replaces {removed} of {plan.uri}, version {plan.version}, by {rows}."


def _print_layout(
    console: Console, partition_columns: Sequence[str], clustering_columns: Sequence[str]
) -> None:
    if partition_columns:
        print_note_line(console, f"partitioned by {', '.join(partition_columns)}")
    if clustering_columns:
        print_note_line(console, f"clustered by {', '.join(clustering_columns)}")


def print_way_on(console: Console, digest: str, words: Sequence[str]) -> None:
    """The digest of a plan, and the command that applies it, whose words are `words`."""
    print_note_line(console, f"plan {digest}")
    end = words.index("--") if "--" in words else len(words)
    command = " ".join([*words[:end], "--apply", digest[:_SHOWN_DIGEST], *words[end:]])
    print_note(console, f"Nothing was changed. To apply this plan: delta-explorer {command}")


def command_words(
    verb: str, arguments: Sequence[str], options: Sequence[tuple[str, Any]]
) -> list[str]:
    """The words of a command for the shell; options that are None, False or empty are left out,
    those of several values are repeated."""
    words: list[str] = []
    for name, value in options:
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                words.append(name)
            elif each not in (None, False):
                words += [name, shlex.quote(str(each))]
    places = [shlex.quote(text) for text in arguments]
    if any(text.startswith("-") for text in arguments):
        # what begins like an option stands behind all of them
        return [verb, *words, "--", *places]
    return [verb, *places, *words]


def print_title(console: Console, text: str) -> None:
    """The first line of a plan or a result."""
    console.print(Text(printable(text, _LONGEST), style="bold"))


def print_note_line(console: Console, text: str) -> None:
    """A line about a plan or a result, whose text may come from the table."""
    print_note(console, printable(text, _LONGEST))


_COLUMNS = (
    Column(title="column", render=lambda row: row["name"], limit=120),
    Column(title="type", render=lambda row: row["kind"], shrinks=True),
    Column(title="comment", render=lambda row: row["comment"], shrinks=True),
)

_FILES = (
    Column(title="rows", render=lambda row: render_count(row["rows"]), align="right"),
    Column(title="size", render=lambda row: render_size(row["size"]), align="right"),
    Column(title="sha256", render=lambda row: row["sha256"][:_SHOWN_DIGEST], from_width=60),
    Column(title="file", render=lambda row: row["path"], shrinks=True),
)

_CHANGES = (
    Column(title="column", render=lambda row: row["name"], limit=120),
    Column(title="before", render=lambda row: row["before"] or "", shrinks=True),
    Column(title="after", render=lambda row: row["after"] or "(removed)", shrinks=True),
)
