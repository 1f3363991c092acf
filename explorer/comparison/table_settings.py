"""What changed in a table's properties, protocol, domains and transactions
(spec: Change Metadata, Protocol Evolution, Domain Metadata, Transaction Identifiers)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from explorer.errors import CorruptLogError
from explorer.protocol.actions import Metadata
from explorer.protocol.features.registry import active_features, supported_features
from explorer.protocol.schema import StructType
from explorer.table.snapshot import Snapshot

SettingKind = Literal["table", "property", "domain", "transaction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One value that came (`before` is None), went (`after` is None) or is another.

    `kind` tells properties of the configuration from facts of the table itself (`id`,
    `name`, `description`, `format`, `created_time`), from metadata domains and from the
    versions of applications.
    """

    kind: SettingKind
    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolChange:
    """Versions before and after, and features by the names of the registry.

    A feature may be supported by a version's number alone; `activated` and `deactivated`
    are features that changed from supported to active use, or the other way.
    """

    reader_before: int
    reader_after: int
    writer_before: int
    writer_after: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    activated: tuple[str, ...]
    deactivated: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        same = self.reader_before == self.reader_after and self.writer_before == self.writer_after
        return same and not (self.added or self.removed or self.activated or self.deactivated)


def setting_changes(older: Snapshot, newer: Snapshot) -> tuple[SettingChange, ...]:
    """Facts of the table, properties, domains and transactions that differ, each kind by name."""
    was, now = older.metadata, newer.metadata
    return (
        *_changes("table", _facts(was), _facts(now)),
        *_changes("property", was.configuration, now.configuration),
        *_changes("domain", _domains(older), _domains(newer)),
        *_changes("transaction", _transactions(older), _transactions(newer)),
    )


def protocol_change(older: Snapshot, newer: Snapshot) -> ProtocolChange:
    """What readers and writers must support now, or no longer."""
    supported = [supported_features(snapshot.protocol) for snapshot in (older, newer)]
    active = [
        active_features(snapshot.protocol, snapshot.metadata, _schema(snapshot), _domains(snapshot))
        for snapshot in (older, newer)
    ]
    return ProtocolChange(
        reader_before=older.protocol.min_reader_version,
        reader_after=newer.protocol.min_reader_version,
        writer_before=older.protocol.min_writer_version,
        writer_after=newer.protocol.min_writer_version,
        added=_new(supported[0], supported[1]),
        removed=_new(supported[1], supported[0]),
        activated=_new(active[0], active[1]),
        deactivated=_new(active[1], active[0]),
    )


def _schema(snapshot: Snapshot) -> StructType | None:
    try:
        return snapshot.schema
    except CorruptLogError:
        return None  # what only columns could tell counts as absent


def _new(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in after if name not in before)


def _changes(
    kind: SettingKind, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[SettingChange]:
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was != now:
            yield SettingChange(kind=kind, name=name, before=was, after=now)


def _facts(metadata: Metadata) -> dict[str, str]:
    options = "".join(
        f", {name}={value}" for name, value in sorted(metadata.format_options.items())
    )
    created = metadata.created_time
    facts = {
        "id": metadata.id,
        "name": metadata.name,
        "description": metadata.description,
        "format": metadata.format_provider + options,
        "created_time": None if created is None else created.isoformat(),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _domains(snapshot: Snapshot) -> dict[str, str]:
    return {name: domain.configuration for name, domain in snapshot.domains.items()}


def _transactions(snapshot: Snapshot) -> dict[str, str]:
    return {app: str(found.version) for app, found in snapshot.transactions.items()}
