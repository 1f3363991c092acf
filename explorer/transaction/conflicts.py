"""Whether a commit that lost the race may still follow the winner.

The rules are values, each with its reason, and err on the side of refusing:
what cannot be told from the two commits alone counts as a conflict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.errors import ConflictError
from explorer.log.commit_file import lines_backwards, parse_action
from explorer.protocol.actions import DomainMetadata, Transaction
from explorer.protocol.file_actions import RemoveFile
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.paths import normalise_path
from explorer.transaction.staged import StagedCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Why a staged commit cannot follow the commit of `version`."""

    version: int
    rule: str
    reason: str

    def as_error(self) -> ConflictError:
        """The conflict for a caller who cannot go on."""
        return ConflictError(
            f"Version {self.version} was committed by another writer first.",
            reason=self.reason,
            remedy="Read the table again and repeat the operation on its newest version.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WinningCommit:
    """What a conflict check wants to know of the commit that was there first."""

    version: int
    timestamp: int | None
    changes_protocol: bool
    changes_metadata: bool
    application_ids: frozenset[str]
    domains: frozenset[str]
    has_new_rows: bool
    removed_paths: frozenset[str]


def parse_winner(version: int, data: bytes) -> WinningCommit:
    """The winning commit from the bytes of its file; raises `CorruptLogError`."""
    name = render_commit_name(version)
    bodies: dict[str, list[Mapping[str, Any]]] = {}
    for number, line in lines_backwards(data):
        for kind, body in parse_action(line, name, number).items():
            if isinstance(body, Mapping):
                bodies.setdefault(kind, []).append(body)
    info = bodies.get("commitInfo", [{}])[-1]
    timestamp = info.get("inCommitTimestamp")
    return WinningCommit(
        version=version,
        timestamp=timestamp if isinstance(timestamp, int) else None,
        changes_protocol="protocol" in bodies,
        changes_metadata="metaData" in bodies,
        application_ids=_texts(bodies.get("txn", []), "appId"),
        domains=_texts(bodies.get("domainMetadata", []), "domain"),
        # an absent dataChange is taken for a change
        has_new_rows=any(body.get("dataChange") is not False for body in bodies.get("add", [])),
        removed_paths=frozenset(map(normalise_path, _texts(bodies.get("remove", []), "path"))),
    )


def find_conflict(staged: StagedCommit, winner: WinningCommit) -> Conflict | None:
    """The first rule that forbids `staged` to follow `winner`, or None."""
    removed = {
        normalise_path(action.path) for action in staged.actions if isinstance(action, RemoveFile)
    }
    reads_all = staged.reads == "everything"
    rules = (
        ("protocol changed", winner.changes_protocol, "It changed the protocol."),
        ("metadata changed", winner.changes_metadata, "It changed the schema or the properties."),
        (
            "same application",
            bool(_applications(staged) & winner.application_ids),
            "It recorded progress of the same application.",
        ),
        (
            "same domain",
            bool(_domains(staged) & winner.domains),
            "It changed the same metadata domain.",
        ),
        (
            "removed twice",
            bool(removed & winner.removed_paths),
            "It removed or changed a file that this commit removes, too.",
        ),
        (
            "rows came",
            reads_all and winner.has_new_rows,
            "It added rows that this operation did not see.",
        ),
        (
            "rows went",
            reads_all and bool(winner.removed_paths),
            "It removed files that this operation read.",
        ),
    )
    for rule, applies, reason in rules:
        if applies:
            return Conflict(version=winner.version, rule=rule, reason=reason)
    return None


def _applications(staged: StagedCommit) -> set[str]:
    return {action.app_id for action in staged.actions if isinstance(action, Transaction)}


def _domains(staged: StagedCommit) -> set[str]:
    return {action.domain for action in staged.actions if isinstance(action, DomainMetadata)}


def _texts(bodies: list[Mapping[str, Any]], key: str) -> frozenset[str]:
    return frozenset(value for body in bodies if isinstance(value := body.get(key), str))
