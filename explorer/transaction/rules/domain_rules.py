"""Metadata domains of a commit (spec: Writer Requirements for Domain Metadata)."""

from __future__ import annotations

from typing import Final

from explorer.errors import Problem
from explorer.protocol.actions import DomainMetadata
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN
from explorer.protocol.features.row_id_high_water_mark import ROW_TRACKING_DOMAIN
from explorer.transaction.rules.change import REPORT, Change, Problems, problem

_SYSTEM: Final = "delta."
_UNDERSTOOD: Final = frozenset({CLUSTERING_DOMAIN, ROW_TRACKING_DOMAIN})


def validate_domains(change: Change) -> Problems:
    """Domains need their feature; of those of the specification only the ones that are
    understood here may be written, by an operation that keeps them, and the mark of row ids
    is nobody's to set."""
    domains = change.staged.of(DomainMetadata)
    if not domains:
        return
    if not change.after.supports("domainMetadata"):
        yield _domain(
            "The commit writes a metadata domain, and the table does not support them.",
            "Add the feature domainMetadata to the protocol first.",
        )
    for domain in domains:
        name = domain.domain
        if name.lower().startswith(_SYSTEM) and name not in _UNDERSTOOD:
            yield _domain(f"The domain `{name[:120]}` belongs to a feature not known here.", REPORT)
        elif name == ROW_TRACKING_DOMAIN and not domain.removed:
            yield _domain("The commit sets the mark of row ids itself.", REPORT)
        elif name in _UNDERSTOOD and name not in change.staged.promises.kept_domains:
            yield _domain(
                f"The domain `{name}` belongs to a feature, and is not for users to change.",
                "Use the operation of its feature, which keeps to what the feature needs.",
            )
        known = change.staged.base.domains.get(name)
        if domain.removed and known and known.configuration != domain.configuration:
            yield _domain(
                f"The domain `{name[:120]}` is removed with another configuration than it has.",
                REPORT,
            )


def _domain(text: str, remedy: str) -> Problem:
    return problem(
        text,
        "Features keep in them what the table needs, and rely on it.",
        spec="Domain Metadata",
        remedy=remedy,
    )
