"""A commit that is ready but not yet part of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from explorer.protocol.commit_json import Action, render_action, render_lines
from explorer.protocol.file_actions import RemoveFile

NEW_TABLE = -1
"""`read_version` of a commit that creates its table."""

ReadSet = Literal["nothing", "everything"]
"""What a commit's actions depend on: "nothing" for appends, changes of metadata
and rewrites of the very files that it removes; "everything" where any other
row that came or went could have changed the outcome."""

IsolationLevel = Literal["Serializable", "WriteSerializable", "SnapshotIsolation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who does what (spec: Commit Provenance Information).

    `transaction_id` is unique to the commit: by it a writer recognises its own
    commit after an unknown outcome. Metrics are strings, as the reference has them.
    """

    operation: str
    transaction_id: str
    engine_info: str
    user_name: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    isolation_level: IsolationLevel = "Serializable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedCommit:
    """Actions on top of the version that was read, `NEW_TABLE` if there was none.

    `last_timestamp` is the in-commit timestamp of that version in milliseconds,
    0 for a new table, and None where in-commit timestamps are not active.
    """

    read_version: int
    reads: ReadSet
    provenance: Provenance
    actions: tuple[Action, ...]
    last_timestamp: int | None

    @property
    def is_blind_append(self) -> bool:
        """Whether it depends on no row and takes none away."""
        return self.reads == "nothing" and not any(
            isinstance(action, RemoveFile) for action in self.actions
        )


def render_staged(staged: StagedCommit, timestamp: int) -> bytes:
    """The commit file for a commit at `timestamp`; `commitInfo` comes first, as
    in-commit timestamps demand."""
    lines = [{"commitInfo": _render_provenance(staged, timestamp)}]
    return render_lines([*lines, *map(render_action, staged.actions)])


def _render_provenance(staged: StagedCommit, timestamp: int) -> dict[str, Any]:
    who = staged.provenance
    body: dict[str, Any] = {}
    if staged.last_timestamp is not None:
        body["inCommitTimestamp"] = timestamp
    body["timestamp"] = timestamp
    if who.user_name is not None:
        body["userName"] = who.user_name
    body |= {"operation": who.operation, "operationParameters": dict(who.parameters)}
    if staged.read_version != NEW_TABLE:
        body["readVersion"] = staged.read_version
    return body | {
        "isolationLevel": who.isolation_level,
        "isBlindAppend": staged.is_blind_append,
        "operationMetrics": dict(who.metrics),
        "engineInfo": who.engine_info,
        "txnId": who.transaction_id,
    }
