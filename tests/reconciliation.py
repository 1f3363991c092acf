"""The row-wise reference of replay (spec: Action Reconciliation), newest first.

One Python object per action, one dictionary entry per key, no column in sight:
slow, short, and to be compared with the text of the specification line by line.

- of `metaData`, `protocol`, and per `appId` or `domain`, the latest counts;
- a logical file is a path and the unique id of its deletion vector; for each,
  the newest action decides whether it is in the table or a tombstone;
- domains whose latest action says `removed` are not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Action = Mapping[str, Any]
Key = tuple[str, str | None]


@dataclass(slots=True)
class RowwiseState:
    """What a version holds; `adds` and `removes` are bodies of actions by key."""

    protocol: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    adds: dict[Key, Mapping[str, Any]] = field(default_factory=dict)
    removes: dict[Key, Mapping[str, Any]] = field(default_factory=dict)
    transactions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    domains: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def live_domains(self) -> dict[str, Mapping[str, Any]]:
        """The domains that are not removed; one that does not say so is there."""
        return {name: body for name, body in self.domains.items() if not body.get("removed")}

    def checkpoint_actions(self) -> list[Action]:
        """What a checkpoint of this version holds."""
        return [
            {"protocol": self.protocol},
            {"metaData": self.metadata},
            *({"txn": body} for body in self.transactions.values()),
            *({"domainMetadata": body} for body in self.live_domains.values()),
            *({"add": {**body, "dataChange": False}} for body in self.adds.values()),
            *({"remove": {**body, "dataChange": False}} for body in self.removes.values()),
        ]

    def compaction_actions(self) -> list[Action]:
        """What a compaction of the commits that led here holds: tombstones of files and
        of domains too, for older ones to be hidden."""
        return [
            *({"protocol": self.protocol} for _ in range(self.protocol is not None)),
            *({"metaData": self.metadata} for _ in range(self.metadata is not None)),
            *({"txn": body} for body in self.transactions.values()),
            *({"domainMetadata": body} for body in self.domains.values()),
            *({"add": body} for body in self.adds.values()),
            *({"remove": body} for body in self.removes.values()),
        ]


def reconcile(commits: Sequence[Iterable[Action]]) -> RowwiseState:
    """The state after `commits`, which are given oldest first."""
    state = RowwiseState()
    for commit in reversed(commits):
        for action in reversed(list(commit)):
            _offer(state, action)
    return state


def _offer(state: RowwiseState, action: Action) -> None:
    ((kind, body),) = action.items()
    if kind == "protocol" and state.protocol is None:
        state.protocol = body
    elif kind == "metaData" and state.metadata is None:
        state.metadata = body
    elif kind == "txn":
        state.transactions.setdefault(body["appId"], body)
    elif kind == "domainMetadata":
        state.domains.setdefault(body["domain"], body)
    elif kind in {"add", "remove"}:
        key = logical_file(body)
        if key not in state.adds and key not in state.removes:
            (state.adds if kind == "add" else state.removes)[key] = body


def logical_file(body: Mapping[str, Any]) -> Key:
    """The key of an add or a remove."""
    return same_path(body["path"]), unique_id(body.get("deletionVector"))


def same_path(path: str) -> str:
    """One form for the paths of one local file: `/a`, `file:/a`, `file:///a`."""
    scheme, colon, rest = path.partition(":")
    if colon and scheme.lower() == "file":
        return "/" + rest.lstrip("/")
    return "/" + path.lstrip("/") if path.startswith("/") else path


def unique_id(vector: Mapping[str, Any] | None) -> str | None:
    """`storageType + pathOrInlineDv`, with `@offset` where there is one."""
    if vector is None:
        return None
    unique = f"{vector['storageType']}{vector['pathOrInlineDv']}"
    offset = vector.get("offset")
    return unique if offset is None else f"{unique}@{offset}"
