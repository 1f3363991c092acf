"""Whether a version's checksum file agrees with its log (spec: Version Checksum File)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from explorer.errors import CorruptLogError, NotFoundError, Problem, StorageError, brief
from explorer.log.commits.commit_file import lines_reversed, parse_action
from explorer.log.commits.commit_info import CommitInfo, parse_commit_info, read_commit_info
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.small_file import LARGEST_CHECKSUM, read_small_file
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.filenames import (
    LOG_FOLDER,
    render_checksum_name,
    render_commit_name,
    render_commit_path,
)
from explorer.protocol.schema import is_same_schema
from explorer.protocol.table_properties.known_properties import TRANSACTION_RETENTION
from explorer.protocol.version_checksum import (
    DELETED_RECORDS_FROM,
    VersionChecksum,
    parse_version_checksum,
)
from explorer.records import record
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import ReadStore
from explorer.table.counts import count
from explorer.table.snapshot import Snapshot

_SPEC = "Version Checksum File"

# claim -> (figure of the snapshot, in words, with an s for more than one)
_FIGURES = {
    "num_files": ("num_files", "file{s}"),
    "table_size_bytes": ("size_in_bytes", "byte{s}"),
    "num_deleted_records": ("num_deleted_rows", "row{s} soft-deleted by deletion vectors"),
    "num_deletion_vectors": ("num_deletion_vectors", "deletion vector{s}"),
}


def validate_checksum(store: ReadStore, snapshot: Snapshot) -> list[Problem]:
    """What the checksum of the snapshot's version says otherwise than its log.

    A version without one is fine; so is a figure that it leaves out. One that cannot
    be read is a problem.
    """
    name = render_checksum_name(snapshot.version)
    claims = _read_claims(store, snapshot.version)
    if isinstance(claims, Problem):
        return [claims]
    if claims is None:
        return []
    return [
        _problem(
            name, f"The checksum of version {snapshot.version} disagrees with the log.", reason
        )
        for reason in _differences(claims, snapshot, store)
    ]


def validate_against_commits(
    store: ReadStore, versions: Sequence[int], watch: Watch = UNWATCHED
) -> list[Problem]:
    """The checksums of these versions, ascending, whose commits are there, each held against its
    commit: by transaction id first, then by what the commit itself says. What the table holds at
    each version is not worked out; a checksum may agree with its commit and yet be wrong. One
    that was not made for its commit says nothing of the ones after it."""
    found: list[Problem] = []
    known: _NumFiles | None = None
    every = map_concurrently(store, lambda version: _read_both(store, version), versions)
    for done, (version, (claims, data)) in enumerate(zip(versions, every, strict=True)):
        watch.step(done, len(versions), "Comparing checksums with their commits")
        if isinstance(claims, Problem):
            found.append(claims)
        commit = None if data is None else _parse_commit(version, data)
        if known is None or known.version != version - 1:
            known = _NumFiles(version=-1, num_files=0, is_sure=True) if version == 0 else None
        if known is not None:
            known = None if commit is None else known.after(version, commit.counts)
        if not isinstance(claims, VersionChecksum):
            continue
        reason = None if commit is None else next(_from_commit(claims, commit), None)
        problem = f"The checksum of version {version} does not belong to its commit."
        if reason is None and known is not None and not known.allows(claims.num_files):
            reason = known.against(claims.num_files)
            if not known.is_sure:
                problem = known.contradiction
                # which of the two is wrong is unknown
                known = _NumFiles.at(version, claims.num_files, is_sure=False)
        elif reason is None:
            known = _NumFiles.at(version, claims.num_files, is_sure=known is not None)
        if reason is not None:
            found.append(_problem(render_checksum_name(version), problem, reason))
    return found


@record
class _NumFiles:
    """How many files a version may have: `num_files` at the version `base`, which its checksum
    says or, before the first version, is 0, and what the commits since add and remove at most.
    It `is_sure` where the checksum was held against those before it."""

    version: int
    num_files: int
    is_sure: bool
    base: int = -1
    adds: int = 0
    removes: int = 0

    @classmethod
    def at(cls, version: int, num_files: int, *, is_sure: bool) -> _NumFiles:
        """As the checksum of a version says."""
        return cls(version=version, num_files=num_files, is_sure=is_sure, base=version)

    def after(self, version: int, counts: Mapping[str, int]) -> _NumFiles:
        """The same one commit later."""
        adds, removes = self.adds + counts["add"], self.removes + counts["remove"]
        return replace(self, version=version, adds=adds, removes=removes)

    def allows(self, claimed: int) -> bool:
        """Whether the version can have so many files: an add may take the place of the same
        file, and a remove name one that was not there."""
        return self.num_files - self.removes <= claimed <= self.num_files + self.adds

    @property
    def contradiction(self) -> str:
        """What is wrong where it is unknown which of the two checksums is wrong."""
        first = self.base + 1
        commits = f"commit of version {first}"
        if first < self.version:
            commits = f"commits of versions {first} to {self.version}"
        return f"The checksums of versions {self.base} and {self.version} contradict the {commits}."

    def against(self, claimed: int) -> str:
        """Why it cannot."""
        number = self.version - self.base
        since = "the commit adds" if number == 1 else f"the {number:,} commits since add"
        takes = "removes" if number == 1 else "remove"
        before = "the version before"
        if self.base < 0:
            before = "the empty table before"
        elif number > 1:
            before = f"version {self.base}"
        return (
            f"It claims {count(claimed, 'file')}, that of {before} {self.num_files:,}; "
            f"{since} {self.adds:,} and {takes} {self.removes:,}."
        )


def _read_claims(store: ReadStore, version: int) -> VersionChecksum | Problem | None:
    name = render_checksum_name(version)
    try:
        data = read_small_file(store, f"{LOG_FOLDER}/{name}", LARGEST_CHECKSUM)
        return parse_version_checksum(data, name)
    except NotFoundError:
        return None
    except StorageError as error:
        return _unreadable(name, error.problem)
    except CorruptLogError as error:
        return _unreadable(name, error.reason)


def _read_both(
    store: ReadStore, version: int
) -> tuple[VersionChecksum | Problem | None, bytes | None]:
    claims = _read_claims(store, version)
    if not isinstance(claims, VersionChecksum):
        return claims, None
    try:
        return claims, store.read(render_commit_path(version))
    except (NotFoundError, StorageError):
        return claims, None


@record
class _Commit:
    info: CommitInfo
    small: SmallActions
    counts: Counter[str]


def _parse_commit(version: int, data: bytes) -> _Commit | None:
    """What a checksum can be held against; None where the commit cannot be read, which is told by
    whoever reads it."""
    name = render_commit_name(version)
    small, counts = SmallActions(), Counter[str]()
    try:
        info = parse_commit_info(data, version)
        for number, line in lines_reversed(data):
            action = parse_action(line, name, number)
            small.offer(action, f"{name}:{number}")
            counts.update(kind for kind in ("add", "remove") if action.get(kind) is not None)
    except CorruptLogError:
        return None
    return _Commit(info=info, small=small, counts=counts)


def _from_commit(claims: VersionChecksum, commit: _Commit) -> Iterator[str]:
    """What a checksum says otherwise than the lines of its commit."""
    small = commit.small
    yield from _other_info(claims, commit.info)
    if small.protocol is not None:
        yield from _other_fields("protocol", _sorted(claims.protocol), _sorted(small.protocol))
    if small.metadata is not None:
        yield from _other_metadata(claims.metadata, small.metadata)


def _differences(claims: VersionChecksum, snapshot: Snapshot, store: ReadStore) -> Iterator[str]:
    yield from _other_commit(claims, snapshot.version, store)
    for claim, (figure, words) in _FIGURES.items():
        claimed, counted = getattr(claims, claim), getattr(snapshot, figure)
        if claimed is not None and counted is not None and claimed != counted:
            things = words.format(s="" if claimed == 1 else "s")
            yield f"It claims {claimed} {things}; the log holds {counted}."
    yield from _other_histogram(claims.deleted_record_counts, snapshot)
    yield from _other_fields("protocol", _sorted(claims.protocol), _sorted(snapshot.protocol))
    yield from _other_metadata(claims.metadata, snapshot.metadata)
    if claims.transactions is not None:
        yield from _other_transactions(claims.transactions, snapshot)
    if claims.domains is not None:
        yield from _other_domains(claims.domains, snapshot.domains)


def _other_histogram(claimed: tuple[int, ...] | None, snapshot: Snapshot) -> Iterator[str]:
    if claimed is None:
        return
    from explorer.table.frames import count_by_size  # noqa: PLC0415  # brings Arrow

    vectors = snapshot.files(["deletion_vector"]).column("deletion_vector")
    counted = count_by_size(vectors, DELETED_RECORDS_FROM)
    starts, ends = (0, *DELETED_RECORDS_FROM), (*DELETED_RECORDS_FROM, None)
    for claim, held, first, end in zip(claimed, counted, starts, ends, strict=True):
        if claim != held:
            rows = _class(first, end)
            yield f"It claims {claim} files with {rows} soft-deleted rows; the log holds {held}."


def _class(first: int, end: int | None) -> str:
    if end is None:
        return f"{first} or more"
    return "no" if end == 1 else f"{first} to {end - 1}"


def _sorted(protocol: Protocol | None) -> Protocol | None:
    """The order of features says nothing, and writers change it."""
    if protocol is None:
        return None
    lists = (protocol.reader_features, protocol.writer_features)
    readers, writers = (None if names is None else tuple(sorted(names)) for names in lists)
    return replace(protocol, reader_features=readers, writer_features=writers)


def _other_metadata(claimed: Metadata | None, held: Metadata) -> Iterator[str]:
    if claimed is not None and is_same_schema(claimed.schema_string, held.schema_string):
        claimed = replace(claimed, schema_string=held.schema_string)
    yield from _other_fields("metadata", claimed, held)


def _other_fields(what: str, claimed: Any, held: Any) -> Iterator[str]:
    if claimed is None:
        return
    for field in fields(claimed):
        claim, value = getattr(claimed, field.name), getattr(held, field.name)
        if claim != value:
            claims, holds = _shown(claim), _shown(value)
            yield f"Its {what} differs in {field.name}: {claims}; in the log {holds}."


def _other_transactions(claimed: Iterable[Transaction], snapshot: Snapshot) -> Iterator[str]:
    claims = {found.app_id: found for found in claimed}
    held = snapshot.transactions
    # writers leave out those that are expired, and when they looked is not known
    expires = TRANSACTION_RETENTION.value_of(snapshot.metadata.configuration) is not None
    for app_id in sorted(claims.keys() | held.keys()):
        claim, value = claims.get(app_id), held.get(app_id)
        if claim is None and expires and value is not None and value.last_updated is not None:
            continue
        if claim is None or value is None or claim.version != value.version:
            yield (
                f"Its transaction of {brief(app_id)} is at "
                f"{_version(claim)}; in the log at {_version(value)}."
            )


def _version(found: Transaction | None) -> str:
    return "no version" if found is None else f"version {found.version}"


def _other_domains(
    claimed: Iterable[DomainMetadata], held: Mapping[str, DomainMetadata]
) -> Iterator[str]:
    claims = {found.domain: found for found in claimed}
    for name in sorted(claims.keys() | held.keys()):
        claim, value = claims.get(name), held.get(name)
        if claim is None or value is None or claim.configuration != value.configuration:
            yield (
                f"Its domain {brief(name)} is {_configuration(claim)}; "
                f"in the log {_configuration(value)}."
            )


def _configuration(found: DomainMetadata | None) -> str:
    return "absent" if found is None else brief(found.configuration)


def _other_commit(claims: VersionChecksum, version: int, store: ReadStore) -> Iterator[str]:
    """Whether it was made for this commit, as far as both say."""
    if claims.txn_id is None and claims.in_commit_timestamp is None:
        return
    try:
        info = read_commit_info(store, version)
    except (NotFoundError, StorageError, CorruptLogError):
        return  # the commit is gone from below its checkpoint, or cannot be had now
    yield from _other_info(claims, info)


def _other_info(claims: VersionChecksum, info: CommitInfo) -> Iterator[str]:
    """What it says otherwise than a commit's provenance, the transaction id first."""
    txn_id, moment = info.body.get("txnId"), info.in_commit_ms
    if claims.txn_id is not None and info.body and claims.txn_id != txn_id:
        its = f", not {_shown(txn_id)}" if txn_id is not None else "; its commit names none"
        yield f"It was made for transaction {_shown(claims.txn_id)}{its}."
    if None not in (claims.in_commit_timestamp, moment) and claims.in_commit_timestamp != moment:
        yield f"It claims the in-commit timestamp {claims.in_commit_timestamp}, not {moment}."


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


def _unreadable(name: str, reason: str) -> Problem:
    return _problem(name, f"The checksum {name} cannot be read.", reason)


def _problem(name: str, problem: str, reason: str) -> Problem:
    return Problem(
        kind="log_corrupt",
        problem=problem,
        reason=reason,
        remedy="The log decides, and is what is shown here; report this to the writer of the "
        "version, and check that no commit was lost.",
        place=name,
        spec=_SPEC,
    )
