"""The actions that are few: which of them is in force (spec: Action Reconciliation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from explorer.errors import CorruptLogError, ErrorKind, brief
from explorer.protocol.actions import (
    DomainMetadata,
    Metadata,
    Protocol,
    Transaction,
    parse_domain,
    parse_metadata,
    parse_protocol,
    parse_transaction,
)
from explorer.protocol.features.row_id_high_water_mark import (
    HIGH_WATER_MARK_ACTION,
    parse_high_water_mark_action,
)


class SmallKey(NamedTuple):
    """What an action reconciles by: its kind, and where there are several its name."""

    kind: str
    name: str | None = None

    @property
    def in_words(self) -> str:
        """For a message."""
        return self.kind if self.name is None else f"{self.kind} {brief(self.name)}"


def keys_of_small(action: Mapping[str, Any]) -> Sequence[SmallKey]:
    """The keys of what one line says, where `SmallActions.offer` took it."""
    if _NAMED_BY.keys().isdisjoint(action):  # nearly every line: it says what was done
        return ()
    return [
        SmallKey(kind, None if name is None else body[name])
        for kind, name in _NAMED_BY.items()
        if (body := action.get(kind)) is not None
    ]


_NAMED_BY = {"protocol": None, "metaData": None, "txn": "appId", "domainMetadata": "domain"}


@dataclass(slots=True)
class SmallActions:
    """What has been found so far, newest first: the first of a kind, or of a key, wins.

    `domains` holds removed domains too: they hide older ones. `row_id_high_water_mark`
    is that of an action which only an older revision has.
    """

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, Transaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    row_id_high_water_mark: int | None = None

    def offer(self, action: Mapping[str, Any], place: str) -> None:
        """Take what one older action adds to the picture."""
        if self.protocol is None and (body := action.get("protocol")) is not None:
            self.protocol = parse_protocol(body, place)
        if self.metadata is None and (body := action.get("metaData")) is not None:
            self.metadata = parse_metadata(body, place)
        if (body := action.get("txn")) is not None:
            found = parse_transaction(body, place)
            self.transactions.setdefault(found.app_id, found)
        if (body := action.get("domainMetadata")) is not None:
            domain = parse_domain(body, place)
            self.domains.setdefault(domain.domain, domain)
        if self.row_id_high_water_mark is None and HIGH_WATER_MARK_ACTION in action:
            mark = parse_high_water_mark_action(action[HIGH_WATER_MARK_ACTION])
            self.row_id_high_water_mark = mark

    def required(self, version: int | None) -> tuple[Protocol, Metadata]:
        """Both actions that every version has; raises `CorruptLogError` where one is missing."""
        if self.protocol is None:
            raise _missing("protocol", "protocol_missing", version)
        if self.metadata is None:
            raise _missing("metaData", "metadata_missing", version)
        return self.protocol, self.metadata

    def over(self, older: SmallActions) -> SmallActions:
        """These, completed by older ones; neither is changed."""
        return SmallActions(
            protocol=self.protocol or older.protocol,
            metadata=self.metadata or older.metadata,
            transactions={**older.transactions, **self.transactions},
            domains={**older.domains, **self.domains},
            row_id_high_water_mark=older.row_id_high_water_mark
            if self.row_id_high_water_mark is None
            else self.row_id_high_water_mark,
        )


def _missing(action: str, kind: ErrorKind, version: int | None) -> CorruptLogError:
    which = "The newest version" if version is None else f"Version {version}"
    return CorruptLogError(
        f"{which} cannot be read.",
        reason=f"Its log has a missing {action} action: no commit or checkpoint holds one.",
        remedy="Check that the log was copied completely, from its first commit on.",
        kind=kind,
        spec="Action Reconciliation",
    )
