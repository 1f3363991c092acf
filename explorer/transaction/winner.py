"""The commit that was there first, as a conflict check wants to know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from explorer.errors import DeltaError, NotFoundError
from explorer.log.action_fields import FileAction
from explorer.log.action_rows import ActionCollector, ActionRows
from explorer.log.commit_file import lines_backwards, parse_action
from explorer.log.commit_info import in_commit_ms
from explorer.protocol.actions import (
    DomainMetadata,
    Metadata,
    Protocol,
    parse_domain,
    parse_metadata,
    parse_protocol,
)
from explorer.protocol.features.row_id_high_water_mark import (
    ROW_TRACKING_DOMAIN,
    parse_domain_high_water_mark,
)
from explorer.protocol.filenames import (
    LOG_FOLDER,
    parse_commit_version,
    render_commit_name,
    render_commit_path,
)
from explorer.storage.at_once import each
from explorer.storage.ports import RangeStore, ReadStore
from explorer.transaction.read_version import ReadVersion

if TYPE_CHECKING:
    import pyarrow as pa

_FILE_ACTIONS: tuple[FileAction, ...] = ("add", "remove")

# versions whose names differ in the last two digits alone are listed at once
_GROUP = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSummary:
    """Who made a commit, as its `commitInfo` says; None for what it does not say.
    `timestamp` is in milliseconds."""

    operation: str | None = None
    user_name: str | None = None
    engine_info: str | None = None
    timestamp: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WinningCommit:
    """What another writer committed. `protocol` and `metadata` are None where it changed
    neither, or where what it wrote cannot be read: `changes_…` tells."""

    version: int
    summary: CommitSummary
    in_commit_timestamp: int | None
    is_blind_append: bool
    changes_protocol: bool
    changes_metadata: bool
    protocol: Protocol | None
    metadata: Metadata | None
    application_ids: frozenset[str]
    domains: frozenset[str]
    known_domains: Mapping[str, DomainMetadata] = field(compare=False)
    add_rows: ActionRows = field(compare=False)
    remove_rows: ActionRows = field(compare=False)

    @property
    def num_removes(self) -> int:
        """How many files it removed."""
        return self.remove_rows.num_rows

    @property
    def adds(self) -> pa.Table:
        """The files that it added, with the columns of `explorer.log.columns`."""
        return self.add_rows.table

    @property
    def removes(self) -> pa.Table:
        """The files that it removed, likewise."""
        return self.remove_rows.table


class _Parts:
    """Takes the lines of one commit."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.files: dict[str, ActionCollector] = {
            action: ActionCollector(action) for action in _FILE_ACTIONS
        }
        self.bodies: dict[str, list[tuple[Mapping[str, Any], int]]] = {}

    def take(self, number: int, line: bytes | memoryview) -> None:
        for kind, body in parse_action(line, self.name, number).items():
            if not isinstance(body, Mapping):
                continue
            if (files := self.files.get(kind)) is not None:
                files.add(body, self.name, number, len(line))
            else:
                self.bodies.setdefault(kind, []).append((body, number))

    def named(self, kind: str, key: str) -> frozenset[str]:
        """What the actions of one kind are about."""
        found = (body.get(key) for body, _ in self.bodies.get(kind, ()))
        return frozenset(value for value in found if isinstance(value, str))

    def parsed(self, kind: str, parse: Any) -> Any:
        """The action of a kind that a commit has once, None where it cannot be read."""
        for body, number in self.bodies.get(kind, ()):
            try:
                return parse(body, f"{self.name}:{number}")
            except DeltaError:
                return None
        return None


def parse_winner(version: int, data: bytes) -> WinningCommit:
    """The commit from the bytes of its file; raises `CorruptLogError`, with the place, for
    lines that are no actions and files that are not readable."""
    parts = _Parts(render_commit_name(version))
    for number, line in lines_backwards(data):
        parts.take(number, line)
    infos = parts.bodies.get("commitInfo", ())
    info: Mapping[str, Any] = infos[-1][0] if infos else {}
    domains = [
        domain
        for body, number in parts.bodies.get("domainMetadata", ())
        if (domain := _domain(body, f"{parts.name}:{number}")) is not None
    ]
    return WinningCommit(
        version=version,
        summary=summarise_commit(info),
        in_commit_timestamp=in_commit_ms(info),
        is_blind_append=info.get("isBlindAppend") is True,
        changes_protocol="protocol" in parts.bodies,
        changes_metadata="metaData" in parts.bodies,
        protocol=parts.parsed("protocol", parse_protocol),
        metadata=parts.parsed("metaData", parse_metadata),
        application_ids=parts.named("txn", "appId"),
        domains=parts.named("domainMetadata", "domain"),
        known_domains={domain.domain: domain for domain in domains},
        add_rows=parts.files["add"].rows(),
        remove_rows=parts.files["remove"].rows(),
    )


def summarise_commit(info: Mapping[str, Any]) -> CommitSummary:
    """Who made a commit, from its `commitInfo`."""
    time = in_commit_ms(info)
    stamp = info.get("timestamp") if time is None else time
    return CommitSummary(
        operation=_string(info.get("operation")),
        user_name=_string(info.get("userName")),
        engine_info=_string(info.get("engineInfo")),
        timestamp=stamp if type(stamp) is int else None,
    )


def read_winners(store: ReadStore, first: int) -> Iterator[WinningCommit | int]:
    """The commits from version `first` on, in order, read side by side where requests take
    long. A version that is gone, for a cleanup took it, is given as its number, and is the
    last one."""
    found = _versions_from(store, first)
    for number, data in enumerate(each(store, lambda version: _read(store, version), found)):
        if data is None:
            yield found[number]
            return
        yield parse_winner(found[number], data)


def follow(base: ReadVersion, winner: WinningCommit, timestamp: int | None) -> ReadVersion:
    """What a commit that may follow `winner`, made at `timestamp`, builds upon."""
    mark = base.row_id_high_water_mark
    if (domain := winner.known_domains.get(ROW_TRACKING_DOMAIN)) is not None:
        said = parse_domain_high_water_mark(domain.configuration)
        mark = mark if said is None else max(said, -1 if mark is None else mark)
    return replace(
        base,
        version=winner.version,
        protocol=winner.protocol or base.protocol,
        metadata=winner.metadata or base.metadata,
        timestamp=timestamp,
        row_id_high_water_mark=mark,
        domains={
            name: domain
            for name, domain in {**base.domains, **winner.known_domains}.items()
            if not domain.removed
        },
    )


def newest_version(store: ReadStore) -> int | None:
    """The newest commit in the log folder, None where there is none."""
    try:
        names = store.list_names(LOG_FOLDER)
    except NotFoundError:
        return None
    versions = (parse_commit_version(name) for name in names)
    return max((version for version in versions if version is not None), default=None)


def _versions_from(store: ReadStore, first: int) -> Sequence[int]:
    """Every version from `first` to the newest; at least `first`, which is known to exist."""
    names: list[str] = []
    listed = None
    if isinstance(store, RangeStore):
        group = first // _GROUP
        while listed := store.list_prefix(LOG_FOLDER, f"{group:018}"):
            names += [info.name for info in listed]
            group += 1
    if listed is None:
        names = store.list_names(LOG_FOLDER)
    versions = (parse_commit_version(name) for name in names)
    newest = max((version for version in versions if version is not None), default=first)
    return range(first, max(first, newest) + 1)


def _read(store: ReadStore, version: int) -> bytes | None:
    try:
        return store.read(render_commit_path(version))
    except NotFoundError:
        return None


def _domain(body: Mapping[str, Any], place: str) -> DomainMetadata | None:
    try:
        return parse_domain(body, place)
    except DeltaError:
        return None


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
