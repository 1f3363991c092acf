"""The verbs of the command line: in which group, what the list of verbs says, and where they are.

A verb's module is imported when it is run, or asked for its own help: one verb needs few of them,
and the list of all verbs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Final

import typer

from explorer.cli.help_pages import Group, VerbList, add_verb
from explorer.cli.printing.terminal import ignore_closed_pipe
from explorer.cli.version_option import about

_Home = tuple[str, str, str]
"""The module below this package, the name there of the verb, or of a mapping that has it by its own
name, and the first line of its help."""

_VERBS: Final[Mapping[Group, Mapping[str, _Home]]] = {
    "Look at a table": {
        "inspect": (
            "looking.inspect_verb",
            "inspect",
            "Version, protocol, features, files, rows and problems.",
        ),
        "preview": ("looking.preview_verb", "preview", "The first rows of a version."),
        "schema": (
            "looking.schema_verb",
            "schema",
            "Columns with their types, rules and names in data files.",
        ),
        "features": (
            "looking.table_verbs",
            "features",
            "Table features: supported, active, and since which commit.",
        ),
        "engines": (
            "looking.engines_verb",
            "engines",
            "Which engines can read and write the table.",
        ),
        "health": (
            "looking.health_verb",
            "health",
            "What is wrong with the log, and what repairs it.",
        ),
        "advice": ("looking.advice_verb", "advice", "What to do first, with cost and benefit."),
        "log": ("looking.table_verbs", "log", "Files of the log folder, newest first."),
    },
    "Versions and changes": {
        "history": (
            "looking.table_verbs",
            "history",
            "Commits, newest first: who changed what, and when.",
        ),
        "actions": (
            "versions.actions_verb",
            "actions",
            "The actions of one commit, line by line, as the log has them.",
        ),
        "diff": (
            "versions.diff_verb",
            "diff",
            "What differs between two versions or tables, layer by layer.",
        ),
        "changes": (
            "versions.changes_verb",
            "changes",
            "The change data feed: rows inserted, updated and deleted.",
        ),
        "rows": ("versions.rows_verb", "rows", "When rows were written, changed or deleted."),
        "reach": (
            "versions.reach_verb",
            "reach",
            "How far back time travel and the change data feed go.",
        ),
        "conflicts": (
            "versions.conflicts_verb",
            "conflicts",
            "Which commits a transaction would conflict with.",
        ),
    },
    "Files and queries": {
        "files": (
            "looking.table_verbs",
            "files",
            "Data files with size, rows, partition and deletion vector.",
        ),
        "layout": (
            "files.layout_verb",
            "layout",
            "File sizes, small files by partition, and clustering.",
        ),
        "skip": (
            "files.skip_verb",
            "skip",
            "Which files a query must read, and why it skips the others.",
        ),
        "stats": (
            "files.statistics_verb",
            "stats",
            "Statistics by column: min, max, null count and coverage.",
        ),
        "dv": (
            "files.vector_verb",
            "dv",
            "Deletion vectors: which files have one, and what it deletes.",
        ),
        "why": ("files.why_verb", "why", "Why a file is still in the folder."),
        "foreign": (
            "files.foreign_verb",
            "foreign",
            "Files in the table's folder that Delta does not manage.",
        ),
    },
    "Change a table": {
        "create": ("changing.create_verb", "create", "Create a table without rows."),
        "write": ("changing.write_verb", "write", "Write the rows of Parquet and Arrow files."),
        "delete": ("changing.change_verbs", "delete", "Delete rows of a table."),
        "update": ("changing.change_verbs", "update", "Give rows of a table new values."),
        "clone": ("changing.clone_verb", "clone", "Make a shallow clone of a table."),
        "optimize": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Compact small files, sort rows, or purge soft-deleted rows.",
        ),
        "vacuum": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Delete files that no version within the retention needs.",
        ),
        "checkpoint": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Write a checkpoint of the newest version.",
        ),
        "compact-log": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Write a log compaction: one file for a range of commits.",
        ),
        "clean-log": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Delete commits and checkpoints beyond the log retention.",
        ),
        "restore": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Restore an earlier version as the newest one.",
        ),
        "repair": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Repair the hint, a checkpoint, missing files or statistics.",
        ),
        "set": ("changing.maintenance_verbs", "CHANGING_VERBS", "Set and unset table properties."),
        "column": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Add, rename, drop or change columns.",
        ),
        "cluster-by": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Choose the columns by which rows are kept together.",
        ),
        "constraint": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Add or drop a CHECK constraint.",
        ),
        "upgrade": (
            "changing.maintenance_verbs",
            "CHANGING_VERBS",
            "Enable table features, or raise the protocol versions.",
        ),
        "drop-feature": ("changing.maintenance_verbs", "CHANGING_VERBS", "Drop a table feature."),
    },
    "Plans and receipts": {
        "plans": (
            "changing.maintenance_verbs",
            "plans",
            "List plans, newest first, or show one with its files.",
        ),
        "receipts": (
            "changing.maintenance_verbs",
            "receipts",
            "List receipts, newest first, or show one.",
        ),
    },
    "Page and installation": {
        "demo": ("demo", "demo", "Write a demo table and open the page on it."),
        "doctor": (
            "doctor_verb",
            "doctor",
            "What is installed, what is missing and how to get it.",
        ),
    },
}
"""By group and name, in the order of the help."""

VERB_NAMES: Final = frozenset(name for verbs in _VERBS.values() for name in verbs)
"""The verbs of this package."""


def build_app(names: Iterable[str] = VERB_NAMES) -> typer.Typer:
    """The command line with these verbs of this package, each with all that it takes."""
    asked = frozenset(names)
    app = _build_empty_app()
    for group, name, home in _homes():
        if name in asked:
            add_verb(app, name, group, ignore_closed_pipe()(_load_verb(name, home)))
    return app


def build_list_app() -> typer.Typer:
    """The command line for its list of verbs alone: they have their first lines, take nothing and
    do nothing."""
    app = _build_empty_app()
    for group, name, (_, _, line) in _homes():
        add_verb(app, name, group, _listed(line))
    return app


def _build_empty_app() -> typer.Typer:
    app = typer.Typer(
        name="delta-explorer",
        cls=VerbList,
        help="git log, git diff and EXPLAIN for a Delta Lake table.",
        epilog="delta-explorer VERB --help shows what a verb takes, with an example.",
        options_metavar="",
        subcommand_metavar="VERB [ARGUMENTS] [OPTIONS]",
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(about)
    return app


def _homes() -> Iterable[tuple[Group, str, _Home]]:
    return ((group, name, home) for group, verbs in _VERBS.items() for name, home in verbs.items())


def _load_verb(name: str, home: _Home) -> Callable[..., None]:
    module, attribute, _ = home
    found: Any = getattr(import_module(f"explorer.cli.{module}"), attribute)
    verb: Callable[..., None] = found[name] if isinstance(found, Mapping) else found
    return verb


def _listed(line: str) -> Callable[..., None]:
    def verb() -> None: ...

    verb.__doc__ = line
    return verb
