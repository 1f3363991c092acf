"""What a table is at a version, its last commits, and what to do first."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.errors import DeltaError, Problem
from widgets.session.tables import Figures, Identity, Overview, TableService


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
