"""The operations that a page offers: for each its name, what it does, what it asks a person
for, and the planner that answers. Listed by hand; the page is made from the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from explorer.maintenance.plan.plan import Plan
from explorer.maintenance.plan.step_types import StepKind
from widgets.session.planners import (
    Request,
    plan_checkpoint,
    plan_clean_log,
    plan_cluster_by,
    plan_column,
    plan_compact_log,
    plan_constraint,
    plan_drop_feature,
    plan_optimize,
    plan_repair,
    plan_restore,
    plan_set_properties,
    plan_upgrade,
    plan_vacuum,
)
from widgets.state import LONGEST_TEXT
from widgets.text import format_count, format_many

Group = Literal["Files", "Log", "Table"]

GROUPS: Mapping[Group, str] = {
    "Files": "Data files and the room they take",
    "Log": "What opening the table costs",
    "Table": "What the table is",
}
"""The groups of operations, in their order, each with what they are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a form asks for; every text of it is ours.

    A `choice` has `choices`: values with their labels, of which the first is taken unless
    said. `lines` takes several lines. `sql` is a condition or a list of columns, whose names are
    completed; `{column}` in its placeholder stands for one of them. `only` are values of the form's
    field `action` for which this one counts; with others it is not shown. Without any it always
    counts.
    """

    name: str
    label: str
    kind: Literal["text", "choice", "lines", "sql"] = "text"
    hint: str = ""
    placeholder: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    is_required: bool = False
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation. `button` says what approving the plan does; where files are deleted
    the button says their number instead."""

    name: str
    title: str
    does: str
    group: Group
    plan: Callable[[Request], Plan]
    button: Callable[[Plan], str]
    fields: tuple[Field, ...] = ()


_ADDING = "Hold every row against it, and add it"

_COLUMN_BUTTONS: Mapping[str, str] = {
    "add": "Add the columns",
    "rename": "Rename the column",
    "drop": "Drop the columns",
    "change": "Change the column",
}

_REPAIRS: Mapping[str, str] = {
    "hint": "Write the hint",
    "files": "Remove the references",
    "statistics": "Write the statistics",
}

_RETENTION = Field(
    name="retention",
    label="Keep files for",
    placeholder="as the table says, and seven days at least",
    hint="Such as 14 days or 36 hours. Less than a week needs the table's name and a reason.",
)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="vacuum",
        title="Vacuum",
        does="Deletes files that no version within its retention needs any more.",
        group="Files",
        plan=plan_vacuum,
        button=lambda _: "Vacuum",
        fields=(
            _RETENTION,
            Field(
                name="mode",
                label="Look at",
                kind="choice",
                choices=(
                    ("full", "everything in the table's folder (full)"),
                    ("lite", "only what the log names (lite)"),
                ),
            ),
        ),
    ),
    Operation(
        name="optimize",
        title="Optimize",
        does="Puts small files together (compaction), or writes files again without their deleted "
        "rows (purge); here, or on Spark where they are many.",
        group="Files",
        plan=plan_optimize,
        button=lambda plan: _writing(_count(plan, "rewrite_files")),
        fields=(
            Field(
                name="what",
                label="Write again",
                kind="choice",
                choices=(
                    ("compact", "small files, as few large ones"),
                    ("purge", "every file with a deletion vector, without its soft-deleted rows"),
                ),
            ),
            Field(
                name="where",
                label="Only where",
                kind="sql",
                placeholder="every file",
                hint="A condition as SQL, as behind WHERE.",
            ),
            Field(
                name="zorder",
                label="In the order of",
                kind="sql",
                placeholder="as rows come",
                hint="Columns with commas between. Several go along a Hilbert curve.",
            ),
            Field(
                name="target_size",
                label="Size of a file",
                placeholder="as the table says, else 1gb",
                hint="Such as 128mb.",
            ),
        ),
    ),
    Operation(
        name="checkpoint",
        title="Checkpoint",
        does="Writes the state of the newest version, so that opening reads no commits.",
        group="Log",
        plan=plan_checkpoint,
        button=lambda _: "Write the checkpoint",
    ),
    Operation(
        name="compact-log",
        title="Log compaction",
        does="Writes one file in the place of many commits; the commits stay.",
        group="Log",
        plan=plan_compact_log,
        button=lambda _: "Write the log compaction",
        fields=(
            Field(
                name="first",
                label="First version",
                placeholder="the first after the checkpoint",
            ),
            Field(name="last", label="Last version", placeholder="the newest"),
        ),
    ),
    Operation(
        name="clean-log",
        title="Log cleanup",
        does="Deletes commits and checkpoints that are past their retention.",
        group="Log",
        plan=plan_clean_log,
        button=lambda _: "Clean the log",
        fields=(
            Field(
                name="retention",
                label="Keep the log for",
                placeholder="as the table says",
                hint="Such as 30 days. Versions before the cut can no longer be read.",
            ),
        ),
    ),
    Operation(
        name="repair",
        title="Repair",
        does="Mends _last_checkpoint, a broken checkpoint, references to lost files, or "
        "statistics.",
        group="Log",
        plan=plan_repair,
        button=lambda plan: _REPAIRS.get(str(plan.parameters.get("what")), "Repair"),
        fields=(
            Field(
                name="what",
                label="What is broken",
                kind="choice",
                choices=(
                    ("hint", "the hint to the newest checkpoint"),
                    ("checkpoint", "a checkpoint that cannot be read"),
                    ("files", "references to files that are gone"),
                    ("statistics", "statistics that files lack"),
                ),
            ),
        ),
    ),
    Operation(
        name="restore",
        title="Restore",
        does="Restores an earlier version, as a new commit.",
        group="Table",
        plan=plan_restore,
        button=lambda plan: f"Restore version {format_count(plan.parameters.get('version'))}",
        fields=(
            Field(
                name="version",
                label="Version to restore",
                placeholder="such as 12",
                is_required=True,
            ),
        ),
    ),
    Operation(
        name="set-properties",
        title="Properties",
        does="Sets and unsets properties of the table in one commit.",
        group="Table",
        plan=plan_set_properties,
        button=lambda plan: _changing(len(plan.effect.get("changed", ()))),
        fields=(
            Field(
                name="set",
                label="Set",
                kind="lines",
                placeholder="delta.checkpointInterval=20",
                hint="One property a line, as name=value.",
            ),
            Field(
                name="unset",
                label="Unset",
                kind="lines",
                placeholder="owner",
                hint="One name a line.",
            ),
        ),
    ),
    Operation(
        name="column",
        title="Columns",
        does="Adds, renames, drops or changes columns; no file is rewritten.",
        group="Table",
        plan=plan_column,
        button=lambda plan: _COLUMN_BUTTONS.get(str(plan.parameters.get("action")), "Change"),
        fields=(
            Field(
                name="action",
                label="What to do",
                kind="choice",
                choices=(
                    ("add", "add columns"),
                    ("rename", "rename a column"),
                    ("drop", "drop columns"),
                    ("change", "change a column"),
                ),
            ),
            Field(
                name="columns",
                label="Columns",
                placeholder="note STRING COMMENT 'why' AFTER id",
                hint="To add: columns as in SQL. Else names or paths, such as place.city; several "
                "to drop have commas between.",
                is_required=True,
            ),
            Field(name="new_name", label="New name", only=("rename",)),
            Field(
                name="data_type",
                label="Wider type",
                placeholder="as it is",
                hint="Such as BIGINT, DECIMAL(12,2) or VARCHAR(50).",
                only=("change",),
            ),
            Field(name="comment", label="Comment", placeholder="as it is", only=("change",)),
            Field(
                name="nullable",
                label="Nulls",
                kind="choice",
                choices=(
                    ("", "as it is"),
                    ("not null", "not allowed: every row is checked first, on Spark"),
                    ("null", "allowed"),
                ),
                only=("change",),
            ),
            Field(
                name="default",
                label="Default",
                placeholder="as it is",
                hint="A value as SQL, or none to take it away.",
                only=("change",),
            ),
            Field(
                name="after",
                label="Place",
                placeholder="where it is",
                hint="Either first, or the name of the column before it.",
                only=("change",),
            ),
            Field(
                name="mapping",
                label="Column mapping",
                kind="choice",
                choices=(
                    ("", "as it is"),
                    ("enable", "enable it, which renaming and dropping need"),
                ),
                only=("rename", "drop"),
            ),
        ),
    ),
    Operation(
        name="cluster-by",
        title="Clustering",
        does="Chooses the columns by which optimize keeps rows together.",
        group="Table",
        plan=plan_cluster_by,
        button=lambda plan: (
            "Cluster the table" if plan.parameters.get("columns") else "Cluster by none"
        ),
        fields=(
            Field(
                name="columns",
                label="Columns",
                kind="sql",
                placeholder="by none",
                hint="Up to four, with commas between; the most important one first.",
            ),
        ),
    ),
    Operation(
        name="constraint",
        title="Constraints",
        does="Adds a CHECK constraint after Spark has tested every row, or drops one.",
        group="Table",
        plan=plan_constraint,
        button=lambda plan: (
            "Drop the constraint" if plan.parameters.get("action") == "drop" else _ADDING
        ),
        fields=(
            Field(
                name="action",
                label="What to do",
                kind="choice",
                choices=(("add", "add a constraint"), ("drop", "drop a constraint")),
            ),
            Field(name="name", label="Name", placeholder="name_of_the_rule", is_required=True),
            Field(
                name="expression",
                label="Condition",
                kind="sql",
                placeholder="{column} IS NOT NULL",
                hint="As SQL; nothing where one is dropped.",
            ),
        ),
    ),
    Operation(
        name="upgrade",
        title="Upgrade",
        does="Enables features; says first which engines can no longer use the table.",
        group="Table",
        plan=plan_upgrade,
        button=lambda _: "Upgrade the table",
        fields=(
            Field(
                name="features",
                label="Features",
                hint="Names with blanks between.",
                is_required=True,
            ),
        ),
    ),
    Operation(
        name="drop-feature",
        title="Drop a feature",
        does="Takes a feature out of the table, so that more engines can use it.",
        group="Table",
        plan=plan_drop_feature,
        button=lambda plan: (
            "Drop the feature" if plan.effect.get("drops") else "Take the first step"
        ),
        fields=(
            Field(name="feature", label="Feature", is_required=True),
            Field(
                name="history",
                label="Old versions",
                kind="choice",
                choices=(
                    ("protect", "stay, protected from readers that would need it"),
                    ("truncate", "go first: it is dropped once no log file speaks of it"),
                ),
            ),
        ),
    ),
)
"""Every operation that the page offers."""

_BY_NAME = {operation.name: operation for operation in OPERATIONS}


def find_operation(name: str) -> Operation | None:
    """The operation of that name, None where the page offers none."""
    return _BY_NAME.get(name)


def parse_answers_of(operation: Operation, text: str) -> dict[str, str]:
    """What an address fills a form in with, `retention=8+days&mode=lite`. Names that are no field
    of the operation and values that are no choice of theirs are left out."""
    pairs = parse_qsl(text, errors="replace")
    fields = {field.name: field for field in operation.fields}
    return {
        name: value
        for name, value in pairs
        if name in fields and _can_be(fields[name], value) and not _is_usual(fields[name], value)
    }


def render_answers(operation: Operation, answers: Mapping[str, str]) -> str:
    """The answers to a form as they stand in an address, without what is usual; empty where they
    are longer than an address may hold."""
    pairs = [(field.name, answers.get(field.name, "")) for field in operation.fields]
    fields = zip(pairs, operation.fields, strict=True)
    text = urlencode([pair for pair, field in fields if not _is_usual(field, pair[1])])
    return text if len(text) <= LONGEST_TEXT else ""


def _can_be(field: Field, value: str) -> bool:
    return not field.choices or any(value == choice for choice, _ in field.choices)


def _is_usual(field: Field, value: str) -> bool:
    """Whether a form that nobody has filled in says it."""
    return not value.strip() or bool(field.choices and value == field.choices[0][0])


def count_deleted(plan: Plan) -> int:
    """How many files a plan deletes for good."""
    return _count(plan, "delete_files")


def destroys(plan: Plan) -> bool:
    """Whether something is lost that no later plan brings back."""
    loses_rows = plan.operation == "repair" and plan.parameters.get("what") == "files"
    return bool(count_deleted(plan)) or loses_rows


def needs_name(plan: Plan) -> bool:
    """Whether a person types the table's name first: where something is lost for good, where
    a guard asks for it, and where others may lose the table."""
    keeps_out = plan.operation == "upgrade" or bool(plan.effect.get("maps_columns"))
    return destroys(plan) or plan.asks_for_name or keeps_out


def name_button(plan: Plan) -> str:
    """What approving a plan does, with the number of files that it deletes."""
    if deleted := count_deleted(plan):
        return f"Delete {format_many(deleted, 'file')}"
    operation = find_operation(plan.operation)
    return "Carry it out" if operation is None else operation.button(plan)


def _count(plan: Plan, kind: StepKind) -> int:
    return sum(step.num_files for step in plan.steps if step.kind == kind)


def _writing(number: int) -> str:
    return f"Write {format_many(number, 'file')} again"


def _changing(number: int) -> str:
    return "Change 1 property" if number == 1 else f"Change {format_count(number)} properties"
