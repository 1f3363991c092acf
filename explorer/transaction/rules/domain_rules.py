"""Metadata domains and times (spec: Domain Metadata, In-Commit Timestamps)."""

from __future__ import annotations

from typing import Final

from explorer.errors import Problem
from explorer.protocol.actions import DomainMetadata, Transaction
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN
from explorer.protocol.features.row_id_high_water_mark import ROW_TRACKING_DOMAIN
from explorer.protocol.known_properties import TRANSACTION_RETENTION
from explorer.table.times import has_in_commit_timestamps
from explorer.transaction.rules.change import REPORT, Change, Problems, problem

_LATEST: Final = 2**63 - 1
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


def validate_times(change: Change) -> Problems:
    """A commit with its own time must be later than the one before, whose time is known;
    progress of an application can only expire where it says when it was made."""
    after, base = change.after, change.staged.base
    if has_in_commit_timestamps(after.protocol, after.metadata):
        if base.timestamp is None:
            yield _time(
                f"It is unknown when version {base.version} was committed.",
                "Restore the newest commit file of the log from a backup.",
            )
        elif base.timestamp >= _LATEST:
            yield _time(
                f"Version {base.version} says that it is of the latest time that there is.",
                "Restore an earlier version of the log from a backup, or rewrite the table.",
            )
    if TRANSACTION_RETENTION.value_of(after.metadata.configuration) is None:
        return
    for item in change.staged.of(Transaction):
        if item.last_updated is None:
            yield problem(
                f"The progress of `{item.app_id[:120]}` does not say when it was made.",
                f"`{TRANSACTION_RETENTION.name}` lets it expire, and it never would.",
                spec="Transaction Identifiers",
                remedy="Set `lastUpdated` of the txn action.",
            )


def _time(text: str, remedy: str) -> Problem:
    return problem(
        text,
        "Each commit of this table must be later than the one before it.",
        spec="In-Commit Timestamps",
        remedy=remedy,
    )


def _domain(text: str, remedy: str) -> Problem:
    return problem(
        text,
        "Features keep in them what the table needs, and rely on it.",
        spec="Domain Metadata",
        remedy=remedy,
    )
