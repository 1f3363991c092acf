"""A commit that another writer made first, as the conflict check needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from explorer.errors import CorruptLogError, DeltaError, NotFoundError
from explorer.log.actions.action_rows import ActionCollector, ActionRows, wrong_field
from explorer.log.actions.fields import FileAction
from explorer.log.commits.commit_file import lines_reversed, parse_action
from explorer.log.commits.commit_info import in_commit_ms, text_in
from explorer.log.commits.prefetched_columns import LogFile, columns_of, with_columns
from explorer.log.folder.listing import build_listing
from explorer.progress import UNWATCHED, Watch, while_working
from explorer.protocol.actions import (
    DomainMetadata,
    Metadata,
    Protocol,
    parse_domain,
    parse_metadata,
    parse_protocol,
    parse_transaction,
)
from explorer.protocol.features.registry import is_supported
from explorer.protocol.features.row_id_high_water_mark import (
    ROW_TRACKING_DOMAIN,
    last_row_id,
    parse_domain_high_water_mark,
)
from explorer.protocol.filenames import (
    LOG_FOLDER,
    render_commit_name,
    render_commit_path,
)
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import RangeStore, ReadStore, offers
from explorer.transaction.read_version import ReadVersion

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.log.commits.line_columns import LineColumns

_FILE_ACTIONS: tuple[FileAction, ...] = ("add", "remove")

# versions whose names differ in the last two digits alone are listed at once
_GROUP = 100

SHOWN: Final = 20
"""Of an overlap, which may have a million paths."""

_LABEL = "Reading the commits since"

_TOLD_EVERY = 4 * 2**20
"""Bytes, where a commit is read line by line."""

_LONG_FILE = 16 * 2**20
"""Bytes; whoever looks on is not to wait until all of it has been read."""

# of row ids, where the action that holds it cannot be read at all: it is unknown
_UNREADABLE_MARK: Final = DomainMetadata(
    domain=ROW_TRACKING_DOMAIN, configuration="", removed=False
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitProvenance:
    """Who made a commit, as its `commitInfo` says; None for what it does not say.
    `timestamp` is in milliseconds."""

    operation: str | None = None
    user_name: str | None = None
    engine_info: str | None = None
    timestamp: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPaths:
    """The first `SHOWN` paths of some files, as in the log, and how many files there are."""

    paths: tuple[str, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrentCommit:
    """What another writer committed. `protocol` and `metadata` are None where it changed
    neither, or where what it wrote cannot be read: `changes_…` tells."""

    version: int
    summary: CommitProvenance
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
    def added_paths(self) -> FirstPaths:
        """The adds that may bring rows: an absent `dataChange` is taken for a change."""
        if (bodies := self.add_rows.bodies) is not None:  # a small commit is told without Arrow
            return _first_of([body for body in bodies if body.get("dataChange") is not False])
        from explorer.transaction._matched_files import new_rows  # noqa: PLC0415  # brings Arrow

        return _first_paths(new_rows(self.adds))

    @property
    def removed_paths(self) -> FirstPaths:
        """The removes."""
        bodies = self.remove_rows.bodies
        return _first_paths(self.removes) if bodies is None else _first_of(bodies)

    @property
    def highest_row_id(self) -> int | None:
        """Of the ids that the rows of the files that it added have; None where none has any."""
        if (bodies := self.add_rows.bodies) is not None:
            bases = ((body.get("baseRowId"), body.get("stats")) for body in bodies)
            known = ((base, stats) for base, stats in bases if base is not None and base >= 0)
            return max((last_row_id(*each) for each in known), default=None)
        from explorer.transaction.row_ids import highest_row_id  # noqa: PLC0415  # brings Arrow

        return highest_row_id(self.adds)

    @property
    def num_removes(self) -> int:
        """How many files it removed."""
        return self.remove_rows.num_rows

    @property
    def adds(self) -> pa.Table:
        """The files that it added, with the columns of `explorer.log.actions.columns`."""
        return self.add_rows.table

    @property
    def removes(self) -> pa.Table:
        """The files that it removed, likewise."""
        return self.remove_rows.table


def _first_paths(files: pa.Table) -> FirstPaths:
    paths = files.column("path").slice(0, SHOWN).to_pylist()
    return FirstPaths(paths=tuple(paths), total=files.num_rows)


def _first_of(bodies: Sequence[Mapping[str, Any]]) -> FirstPaths:
    return FirstPaths(paths=tuple(body["path"] for body in bodies[:SHOWN]), total=len(bodies))


class _Parts:
    """Takes the lines of one commit."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.files: dict[str, ActionCollector] = {
            action: ActionCollector(action) for action in _FILE_ACTIONS
        }
        self.bodies: dict[str, list[tuple[Mapping[str, Any], int]]] = {}

    def take(self, action: Mapping[str, Any], number: int, size: int) -> None:
        """The action of one line; the last line first. A file action has `size` bytes."""
        for kind, body in action.items():
            if not isinstance(body, Mapping):
                continue
            if (files := self.files.get(kind)) is not None:
                if type(path := body.get("path")) is not str:
                    raise wrong_field(f"{kind}.path", "a string", path, self.name, number)
                files.add(body, self.name, number, size)
            else:
                self.bodies.setdefault(kind, []).append((body, number))

    def take_lines(self, data: bytes, tell: Callable[[], None]) -> None:
        """All lines, one after the other."""
        untold = 0
        for number, line in lines_reversed(data):
            self.take(parse_action(line, self.name, number), number, len(line))
            untold += len(line)
            if untold >= _TOLD_EVERY:
                tell()
                untold = 0

    def take_columns(self, columns: LineColumns) -> bool:
        """Whether the columns tell all that the lines do; nothing has been taken where they
        do not."""
        others = columns.other_actions(self.name)
        if others is None:
            return False
        for action, parts in columns.files.items():
            for part in reversed(parts):
                self.files[action].add_rows(part.rows)
        for number, action in reversed(others):
            self.take(action, number, 0)
        return True

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


def parse_concurrent_commit(
    version: int,
    data: bytes,
    columns: LineColumns | None = None,
    tell: Callable[[], None] = lambda: None,
) -> ConcurrentCommit:
    """The commit from the bytes of its file, and from its `columns` where it was read into
    some; raises `CorruptLogError`, with the place, for lines that are not actions and files
    that are not readable. `tell` is called now and then, and may raise to stop."""
    parts = _Parts(render_commit_name(version))
    if not data.strip():
        raise _empty(parts.name)
    if columns is None or not parts.take_columns(columns):
        parts.take_lines(data, tell)
    for body, number in parts.bodies.get("txn", ()):
        parse_transaction(body, f"{parts.name}:{number}")  # a version that readers refuse
    infos = parts.bodies.get("commitInfo", ())
    info: Mapping[str, Any] = infos[-1][0] if infos else {}
    domains = [
        domain
        for body, number in parts.bodies.get("domainMetadata", ())
        if (domain := _domain(body, f"{parts.name}:{number}")) is not None
    ]
    return ConcurrentCommit(
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


def _empty(name: str) -> CorruptLogError:
    return CorruptLogError(
        f"The commit {name} is empty.",
        reason="Its writer may still be writing it: what it removes or changes is unknown.",
        remedy="Try again; if it stays empty, restore this log file from a backup.",
        spec="Delta Log Entries",
    )


def summarise_commit(info: Mapping[str, Any]) -> CommitProvenance:
    """Who made a commit, from its `commitInfo`."""
    time = in_commit_ms(info)
    stamp = info.get("timestamp") if time is None else time
    return CommitProvenance(
        operation=text_in(info, "operation"),
        user_name=text_in(info, "userName"),
        engine_info=text_in(info, "engineInfo"),
        timestamp=stamp if type(stamp) is int else None,
    )


def read_concurrent_commits(
    store: ReadStore, first: int, watch: Watch = UNWATCHED
) -> Iterator[ConcurrentCommit | int]:
    """The commits from version `first` on, in order, read side by side where requests take
    long. A version that is gone, for a cleanup took it, is given as its number, and is the
    last one. `watch` hears of each, and meanwhile where one is long."""
    found = _versions_from(store, first)
    steps = _Steps(watch=watch, total=len(found))
    for data, columns in _files(store, found, steps):
        steps.tell()
        yield parse_concurrent_commit(found[steps.done], data, columns, steps.tell)
        steps.done += 1
    if steps.done < len(found):
        yield found[steps.done]


@dataclass(slots=True, kw_only=True)
class _Steps:
    """How many of the commits have been looked at, for who looks on."""

    watch: Watch
    total: int
    done: int = 0

    def tell(self) -> None:
        """Say so, and stop where that is asked for."""
        self.watch.step(self.done, self.total, _LABEL)

    def columns_of(self, data: bytes) -> LineColumns | None:
        """What a long file says, which takes a while."""
        return while_working(lambda: columns_of(data), self.watch, _LABEL, self.done, self.total)


def _files(store: ReadStore, versions: Sequence[int], steps: _Steps) -> Iterator[LogFile]:
    """The commits up to the first that is gone."""
    read = map_concurrently(store, lambda version: _read(store, version), versions)
    for is_long, files in groupby(_until_gone(read), key=lambda data: len(data) >= _LONG_FILE):
        if is_long:
            yield from (LogFile(data, steps.columns_of(data)) for data in files)
        else:
            yield from with_columns(files)


def _until_gone(files: Iterable[bytes | None]) -> Iterator[bytes]:
    for data in files:
        if data is None:
            return
        yield data


def version_after(
    base: ReadVersion, concurrent: ConcurrentCommit, timestamp: int | None
) -> ReadVersion:
    """The version that a commit builds upon once it follows `concurrent`, made at `timestamp`."""
    domains = {**base.domains, **concurrent.known_domains}
    if ROW_TRACKING_DOMAIN in concurrent.domains - concurrent.known_domains.keys():
        domains[ROW_TRACKING_DOMAIN] = _UNREADABLE_MARK
    protocol = concurrent.protocol or base.protocol
    return replace(
        base,
        version=concurrent.version,
        protocol=protocol,
        metadata=concurrent.metadata or base.metadata,
        timestamp=timestamp,
        row_id_high_water_mark=_mark_after(base.row_id_high_water_mark, concurrent, protocol),
        domains={name: domain for name, domain in domains.items() if not domain.removed},
    )


def _mark_after(
    mark: int | None, concurrent: ConcurrentCommit, protocol: Protocol | None
) -> int | None:
    """The highest row id given out: no lower one than before, and none below the ids of the
    added files, for their writer need not have written the mark that goes with them."""
    marks = [] if mark is None else [mark]
    if (domain := concurrent.known_domains.get(ROW_TRACKING_DOMAIN)) is not None:
        said = parse_domain_high_water_mark(domain.configuration)
        marks += [] if said is None else [said]
    if protocol is not None and is_supported(protocol, "rowTracking"):
        highest = concurrent.highest_row_id
        marks += [] if highest is None else [highest]
    return max(marks, default=None)


def newest_version(store: ReadStore) -> int | None:
    """The newest version in the log folder, as readers find it: that of a commit, or
    of a checkpoint whose commit is gone; None where there is neither."""
    try:
        names = store.list_names(LOG_FOLDER)
    except NotFoundError:
        return None
    return build_listing(names).latest_version


def _versions_from(store: ReadStore, first: int) -> Sequence[int]:
    """Every version from `first` to the newest; at least `first`, which is known to exist."""
    names: list[str] = []
    listed = None
    if offers(store, RangeStore):
        group = first // _GROUP
        while listed := store.list_prefix(LOG_FOLDER, f"{group:018}"):
            names += [info.name for info in listed]
            group += 1
    if listed is None:
        names = store.list_names(LOG_FOLDER)
    newest = build_listing(names).latest_version  # up to a checkpoint, none of them may be gone
    return range(first, max(first, first if newest is None else newest) + 1)


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
