"""What a version checksum claims of its version (spec: Version Checksum File).

One JSON object in `N.crc`, written after commit N and never again. The list of all files
that it may hold is neither read nor written here: the log has it at first hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, pairwise
from typing import Any, NoReturn, TypeVar

import orjson

from explorer.errors import CorruptLogError, brief
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
from explorer.records import record

Action = TypeVar("Action")

DELETED_RECORDS_FROM = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2**31 - 1)
"""Where the bins of the histogram of deleted rows begin; the first one is for none."""

_HISTOGRAM = "deletedRecordCountsHistogramOpt"
_SIZES = "fileSizeHistogram"


@record
class FileSizes:
    """Files and their bytes by size, in bins that begin at `starts` (bytes, ascending, the
    first one at 0) and end where the next one begins."""

    starts: tuple[int, ...]
    counts: tuple[int, ...]
    total_bytes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not (len(self.starts) == len(self.counts) == len(self.total_bytes) > 0):
            raise AssertionError("a bin without its count or bytes")


@record
class VersionChecksum:
    """The claims of one file; None for what it leaves out.

    Files written before the specification named them lack `protocol` and `metadata`.
    `transactions` and `domains` are those in force; a domain that is removed is none.
    `deleted_record_counts` are files by the rows that their vectors hide, in the bins that
    `DELETED_RECORDS_FROM` parts. `in_commit_timestamp` is in milliseconds since the epoch.
    """

    num_files: int
    table_size_bytes: int
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: tuple[Transaction, ...] | None = None
    domains: tuple[DomainMetadata, ...] | None = None
    num_deleted_records: int | None = None
    num_deletion_vectors: int | None = None
    deleted_record_counts: tuple[int, ...] | None = None
    in_commit_timestamp: int | None = None
    txn_id: str | None = None
    file_sizes: FileSizes | None = None


def parse_version_checksum(data: bytes, place: str) -> VersionChecksum:
    """The claims of the file at `place`; fields that are not known are ignored.

    Raises `CorruptLogError` where it is not a JSON object, lacks the number of files or
    of bytes, or holds a value of a wrong type.
    """
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        _refuse(place, "It is not JSON.", error)
    if not isinstance(body, dict):
        _refuse(place, "It is not an object.")
    num_files, table_size = _count(body, "numFiles", place), _count(body, "tableSizeBytes", place)
    if num_files is None or table_size is None:
        _refuse(place, "`numFiles` and `tableSizeBytes` are required.")
    for name in ("numProtocol", "numMetadata"):
        if (number := _count(body, name, place)) not in {None, 1}:
            _refuse(place, f"`{name}` must be 1, but is {number}.")
    domains = _list(body, "domainMetadata", parse_domain, place)
    return VersionChecksum(
        num_files=num_files,
        table_size_bytes=table_size,
        protocol=_optional(body, "protocol", parse_protocol, place),
        metadata=_optional(body, "metadata", parse_metadata, place),
        transactions=_list(body, "setTransactions", parse_transaction, place),
        domains=None
        if domains is None
        else tuple(domain for domain in domains if not domain.removed),
        num_deleted_records=_count(body, "numDeletedRecordsOpt", place),
        num_deletion_vectors=_count(body, "numDeletionVectorsOpt", place),
        deleted_record_counts=_deleted_record_counts(body, place),
        in_commit_timestamp=_count(body, "inCommitTimestampOpt", place),
        txn_id=found if isinstance(found := body.get("txnId"), str) else None,
        file_sizes=_file_sizes(body.get(_SIZES)),
    )


def render_version_checksum(checksum: VersionChecksum) -> bytes:
    """The bytes of the file. `protocol` and `metadata` must be there: the specification
    requires both."""
    if checksum.protocol is None or checksum.metadata is None:
        raise AssertionError("a checksum that is written names protocol and metadata")
    transactions, domains = checksum.transactions, checksum.domains
    body = {
        "txnId": checksum.txn_id,
        "tableSizeBytes": checksum.table_size_bytes,
        "numFiles": checksum.num_files,
        "numDeletedRecordsOpt": checksum.num_deleted_records,
        "numDeletionVectorsOpt": checksum.num_deletion_vectors,
        "numMetadata": 1,
        "numProtocol": 1,
        "inCommitTimestampOpt": checksum.in_commit_timestamp,
        "setTransactions": None if transactions is None else [*map(_body, transactions)],
        "domainMetadata": None if domains is None else [*map(_body, domains)],
        "metadata": _body(checksum.metadata),
        "protocol": _body(checksum.protocol),
        _SIZES: _render_sizes(checksum.file_sizes),
        _HISTOGRAM: _render_counts(checksum.deleted_record_counts),
    }
    return orjson.dumps({name: value for name, value in body.items() if value is not None})


def _body(action: Protocol | Metadata | Transaction | DomainMetadata) -> Any:
    # it brings deletion vectors and their bitmaps, and most checksums are read
    from explorer.protocol.commit_json import render_action  # noqa: PLC0415  # see above

    ((_, body),) = render_action(action).items()
    return body


def _render_sizes(sizes: FileSizes | None) -> Mapping[str, Any] | None:
    if sizes is None:
        return None
    return {
        "sortedBinBoundaries": sizes.starts,
        "fileCounts": sizes.counts,
        "totalBytes": sizes.total_bytes,
    }


def _render_counts(counts: tuple[int, ...] | None) -> Mapping[str, Any] | None:
    return None if counts is None else {"deletedRecordCounts": counts}


def _file_sizes(value: Any) -> FileSizes | None:
    """The histogram of file sizes; one that is none says nothing, and nothing depends on it."""
    if not isinstance(value, Mapping):
        return None
    names = ("sortedBinBoundaries", "fileCounts", "totalBytes")
    found = [tuple(item) for name in names if isinstance(item := value.get(name), list)]
    if len(found) < len(names) or not all(map(_is_count, chain.from_iterable(found))):
        return None
    starts, counts, total_bytes = found
    ascends = all(older < newer for older, newer in pairwise(starts))
    if not (len(starts) == len(counts) == len(total_bytes) > 0 and ascends and starts[0] == 0):
        return None
    return FileSizes(starts=starts, counts=counts, total_bytes=total_bytes)


def _optional(
    body: Mapping[str, Any], key: str, parse: Callable[[Any, str], Action], place: str
) -> Action | None:
    return None if body.get(key) is None else parse(body[key], place)


def _list(
    body: Mapping[str, Any], key: str, parse: Callable[[Any, str], Action], place: str
) -> tuple[Action, ...] | None:
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        _refuse(place, f"`{key}` must be an array, but is {brief(value)}.")
    return tuple(parse(item, place) for item in value)


def _deleted_record_counts(body: Mapping[str, Any], place: str) -> tuple[int, ...] | None:
    value = body.get(_HISTOGRAM)
    if value is None:
        return None
    counts = value.get("deletedRecordCounts") if isinstance(value, dict) else None
    bins = len(DELETED_RECORDS_FROM) + 1
    if not isinstance(counts, list) or len(counts) != bins or not all(map(_is_count, counts)):
        _refuse(place, f"`{_HISTOGRAM}` must have {bins} whole numbers, but is {brief(value)}.")
    return tuple(counts)


def _count(body: Mapping[str, Any], key: str, place: str) -> int | None:
    value = body.get(key)
    if value is None:
        return None
    if not _is_count(value):
        _refuse(place, f"`{key}` must be a whole number, but is {brief(value)}.")
    return int(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _refuse(place: str, reason: str, cause: Exception | None = None) -> NoReturn:
    raise CorruptLogError(
        f"The checksum {place} cannot be read.",
        reason=reason,
        remedy="Nothing depends on it; report this to the writer of the version.",
        spec="Version Checksum File",
    ) from cause
