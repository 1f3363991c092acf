"""What a table is at a version, its last commits, and what to do first."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import explorer.inspect as look
from explorer.errors import DeltaError, Problem
from explorer.inspect.commits.told_commits import counts_of_row, sentence_of_info
from explorer.progress import Watch
from widgets.session.tables import Figures, Identity, Overview, TableService
from widgets.ui.records import read_records

COMMITS_TOLD = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """What the log folder says now, and what a version is. `figures` are None for one that must
    not or cannot be read; `failure` says why the files of it cannot be, where nothing else
    does."""

    listed: Overview
    identity: Identity
    figures: Figures | None
    failure: Problem | None = None

    @property
    def is_readable(self) -> bool:
        """Whether what is missing may still come."""
        return self.figures is not None


def read_facts(service: TableService, version: int) -> TableFacts:
    """All that is known without statistics. A table that is refused or broken has facts, too."""
    listed, identity = service.read_overview(), service.read_identity(version)
    if identity.refusal is not None or identity.failure is not None:
        return TableFacts(listed=listed, identity=identity, figures=None)
    try:
        figures = service.read_figures(version)
    except DeltaError as error:
        failure = Problem.of(error)
        return TableFacts(listed=listed, identity=identity, figures=None, failure=failure)
    return TableFacts(listed=listed, identity=identity, figures=figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldCommit:
    """One commit in a sentence; `text` is a table's. `problem` where it cannot be read."""

    version: int
    timestamp: datetime | None
    operation: str | None
    text: str
    problem: str = ""


def read_last_commits(service: TableService, version: int, watch: Watch) -> list[ToldCommit]:
    """Those up to `version`, the newest first, as far as the log has them."""
    first = max(0, version - COMMITS_TOLD + 1)
    frame = service.read_timeline(first, version, watch.progress, watch.cancel)
    return [_tell(service, row) for row in read_records(frame)]


def _tell(service: TableService, row: Mapping[str, Any]) -> ToldCommit:
    problem, text = row["problem"] or "", ""
    if not problem:
        try:
            info = service.read_commit(row["version"])
            text = sentence_of_info(info, counts_of_row(row)).text
        except DeltaError as error:
            problem = Problem.of(error).problem
    return ToldCommit(
        version=row["version"],
        timestamp=row["timestamp"],
        operation=row["operation"],
        text=text,
        problem=problem,
    )


def read_advice(service: TableService, watch: Watch, *, has_files: bool) -> look.Advice:
    """What to do first: by the log, or by the files too.

    The figures come first, and of the log that is read for them nothing is read again."""
    with suppress(DeltaError):  # the advice says so
        service.read_figures(service.read_overview().latest, watch)
    ask = look.advice_by_files if has_files else look.advice_by_log
    return ask(service.table, progress=watch.progress, cancel=watch.cancel)
