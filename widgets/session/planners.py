"""From what a person entered to a plan: one planner for each operation of the page.

Each raises `DeltaError`: for an answer that cannot be meant, and for what its planner in
`explorer.maintenance` raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast, get_args

from explorer import maintenance
from explorer.errors import InvalidArgumentError
from explorer.inspect.engine_support.lost_engines import losses_sentence
from explorer.maintenance.documents.state_folder import StateDir
from explorer.maintenance.plan.plan import Plan
from explorer.maintenance.repair.repair import What
from explorer.progress import Watch
from explorer.protocol.table_properties.intervals import parse_interval
from explorer.table.table import Table
from widgets.text import cut, split_names

Answers = Mapping[str, str]
"""What a person entered, by the names of the fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a planner is given. `watch` reports and stops the planning."""

    table: Table
    answers: Answers = field(default_factory=dict)
    watch: Watch = field(default_factory=Watch)
    state_dir: StateDir = None

    def text(self, name: str) -> str:
        """An answer without the blanks around it; empty where there is none."""
        return self.answers.get(name, "").strip()

    @property
    def watching(self) -> dict[str, Any]:
        """What every planner takes."""
        return {"progress": self.watch.progress, "cancel": self.watch.cancel}


def plan_checkpoint(request: Request) -> Plan:
    """A checkpoint of the newest version."""
    return maintenance.plan_checkpoint(request.table, **request.watching)


def plan_compact_log(request: Request) -> Plan:
    """One file in the place of a range of commits."""
    first, last = _version(request, "first"), _version(request, "last")
    return maintenance.plan_log_compaction(request.table, first, last, **request.watching)


def plan_vacuum(request: Request) -> Plan:
    """Files that no promised version needs."""
    return maintenance.plan_vacuum(
        request.table,
        _duration(request, "retention"),
        mode="lite" if request.text("mode") == "lite" else "full",
        state_dir=request.state_dir,
        **request.watching,
    )


def plan_clean_log(request: Request) -> Plan:
    """Commits and checkpoints past their retention."""
    retention = _duration(request, "retention")
    return maintenance.plan_log_cleanup(request.table, retention, **request.watching)


def plan_restore(request: Request) -> Plan:
    """An earlier version, made the newest again."""
    version = _version(request, "version")
    return maintenance.plan_restore(request.table, version, **request.watching)


def plan_set_properties(request: Request) -> Plan:
    """Properties set and unset."""
    wanted = dict(_pairs(request.text("set")))
    unset = [line.strip() for line in request.text("unset").splitlines() if line.strip()]
    return maintenance.plan_set_properties(request.table, wanted, unset, **request.watching)


def plan_repair(request: Request) -> Plan:
    """What is broken, mended."""
    what = request.text("what") or "hint"
    if what not in get_args(What):
        raise _unreadable("what is broken", what, "Choose one of those that are offered.")
    return maintenance.plan_repair(request.table, cast("What", what), **request.watching)


def plan_optimize(request: Request) -> Plan:
    """Files written again."""
    columns = split_names(request.text("zorder"))
    return maintenance.plan_optimize(
        request.table,
        where=request.text("where") or None,
        target_size=request.text("target_size") or None,
        zorder_by=columns,
        purge=request.text("what") == "purge",
        **request.watching,
    )


def plan_constraint(request: Request) -> Plan:
    """A CHECK constraint added or dropped."""
    name, expression = request.text("name"), request.text("expression")
    if request.text("action") == "drop":
        return maintenance.plan_drop_constraint(request.table, name, **request.watching)
    return maintenance.plan_add_constraint(request.table, name, expression, **request.watching)


def plan_column(request: Request) -> Plan:
    """Columns added, renamed, dropped or changed."""
    watched = {"losers": losses_sentence, **request.watching}
    what, text = request.text("action") or "add", request.text("columns")
    if what == "add":
        return maintenance.plan_add_columns(request.table, text, **watched)
    if what == "change":
        return _change_column(request, text)
    mapped = request.text("mapping") == "enable"
    if what == "rename":
        name = request.text("new_name")
        return maintenance.plan_rename_column(
            request.table, text, name, map_columns=mapped, **watched
        )
    names = split_names(text)
    return maintenance.plan_drop_columns(request.table, names, map_columns=mapped, **watched)


def _change_column(request: Request, column: str) -> Plan:
    default, after = request.text("default"), request.text("after")
    return maintenance.plan_change_column(
        request.table,
        column,
        data_type=request.text("data_type") or None,
        comment=request.text("comment") or None,
        nullable={"not null": False, "null": True}.get(request.text("nullable")),
        default="" if default.lower() == "none" else default or None,
        first=after.lower() == "first",
        after=None if after.lower() == "first" else after or None,
        losers=losses_sentence,
        **request.watching,
    )


def plan_cluster_by(request: Request) -> Plan:
    """The columns by which rows are kept together."""
    columns = split_names(request.text("columns"))
    return maintenance.plan_cluster_by(
        request.table, columns, losers=losses_sentence, **request.watching
    )


def plan_upgrade(request: Request) -> Plan:
    """Features enabled, with who can no longer use the table."""
    return maintenance.plan_upgrade(
        request.table,
        features=request.text("features").replace(",", " ").split(),
        losers=losses_sentence,
        **request.watching,
    )


def plan_drop_feature(request: Request) -> Plan:
    """A feature dropped, or the first of its two steps."""
    return maintenance.plan_drop_feature(
        request.table,
        request.text("feature"),
        truncate_history=request.text("history") == "truncate",
        **request.watching,
    )


def _version(request: Request, name: str) -> int | None:
    text = request.text(name).replace(",", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise _unreadable("version", text, "Write it as a number, such as 12.")
    return int(text)


def _duration(request: Request, name: str) -> timedelta | None:
    text = request.text(name)
    if not text:
        return None
    try:
        return parse_interval(text)
    except ValueError as error:
        raise _unreadable("duration", text, "Write it as 14 days or 36 hours.") from error


def _pairs(text: str) -> list[tuple[str, str]]:
    found = []
    for line in text.splitlines():
        if not line.strip():
            continue
        name, sign, value = line.partition("=")
        if not sign or not name.strip():
            raise _unreadable("property", line, "Write one a line, as name=value.")
        found.append((name.strip(), value.strip()))
    return found


def _unreadable(what: str, text: str, remedy: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The {what} {cut(text, 60)!r} is not readable.",
        reason=f"It is none that can be meant as a {what}.",
        remedy=remedy,
    )
