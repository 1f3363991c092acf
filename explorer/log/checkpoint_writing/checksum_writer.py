"""Writing version checksums (spec: Version Checksum File).

The totals are added up over all files of the version. An earlier checksum would save
that, but what another writer claimed may be wrong, and would be claimed on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

import explorer.compute_functions as pc
from explorer.errors import CorruptLogError, InvalidArgumentError, NotFoundError, StorageError
from explorer.log.commits.commit_info import read_commit_info
from explorer.log.load import LoadedVersion
from explorer.log.plain_arrays import Numbers, read_numbers
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.filenames import LOG_FOLDER, render_checksum_name, render_commit_path
from explorer.protocol.table_properties.known_properties import TRANSACTION_RETENTION
from explorer.protocol.version_checksum import (
    DELETED_RECORDS_FROM,
    FileSizes,
    VersionChecksum,
    render_version_checksum,
)
from explorer.storage.ports import PutOutcome, WriteStore

_SPEC = "Version Checksum File"
_KB, _MB, _GB = 2**10, 2**20, 2**30

SIZES_FROM: Final = (
    0,
    *(8 * _KB << step for step in range(10)),  # doubling to 4 MB
    *range(8 * _MB, 40 * _MB, 4 * _MB),
    *range(40 * _MB, 120 * _MB, 8 * _MB),
    *range(120 * _MB, 144 * _MB, 4 * _MB),
    *range(144 * _MB, 576 * _MB, 16 * _MB),
    *range(576 * _MB, 1408 * _MB, 64 * _MB),
    *range(1408 * _MB, 2 * _GB, 128 * _MB),
    *range(2 * _GB, 4 * _GB, 256 * _MB),
    *(4 * _GB << step for step in range(7)),  # doubling to 256 GB
)
"""Where the bins of the histogram of file sizes begin, in bytes: those of the reference."""

_COLUMNS = ("size", "deletion_vector")


def write_checksum(store: WriteStore, version: int, checksum: VersionChecksum) -> bool:
    """Write `N.crc`, and say whether: one that is there stays as it is.

    Raises `InvalidArgumentError` where the version is not committed, and `StorageError`
    where the store does not hold what was written.
    """
    try:
        store.stat(render_commit_path(version))
    except NotFoundError as error:
        raise InvalidArgumentError(
            f"Version {version} cannot have a checksum.",
            reason="It is written after its commit, and there is no such commit.",
            remedy="Choose a version whose commit is in the log.",
            spec=_SPEC,
        ) from error
    path, data = f"{LOG_FOLDER}/{render_checksum_name(version)}", render_version_checksum(checksum)
    outcome = store.put_if_absent(path, data)
    # what is already there may be ours: a client may have asked twice
    is_ours = store.read(path, len(data) + 1) == data
    if not is_ours and outcome is PutOutcome.ALREADY_THERE:
        return False
    if not is_ours:
        raise StorageError(
            f"The checksum of version {version} could not be written.",
            reason="It does not read back as it was written.",
            remedy="Nothing depends on it. Check the store, then delete the file.",
            spec=_SPEC,
        )
    return True


def build_checksum(loaded: LoadedVersion) -> VersionChecksum:
    """The checksum of a loaded version, added up over all its files."""
    totals = _Totals()
    parts = loaded.state.reduce_files(_COLUMNS, (), _totals_of)
    for part in parts:
        totals.add(part)
    return _build(loaded, totals)


@dataclass(slots=True, kw_only=True)
class _Totals:
    """Numbers and bytes of files; `sizes` and `size_bytes` by `SIZES_FROM`, `hidden` by the
    rows that deletion vectors hide."""

    num_files: int = 0
    num_bytes: int = 0
    num_vectors: int = 0
    num_hidden: int = 0
    sizes: list[int] = field(default_factory=lambda: [0] * len(SIZES_FROM))
    size_bytes: list[int] = field(default_factory=lambda: [0] * len(SIZES_FROM))
    hidden: list[int] = field(default_factory=lambda: [0] * (len(DELETED_RECORDS_FROM) + 1))

    def add(self, other: _Totals) -> None:
        """Add those of further files."""
        self.num_files += other.num_files
        self.num_bytes += other.num_bytes
        self.num_vectors += other.num_vectors
        self.num_hidden += other.num_hidden
        for mine, its in (
            (self.sizes, other.sizes),
            (self.size_bytes, other.size_bytes),
            (self.hidden, other.hidden),
        ):
            mine[:] = [number + more for number, more in zip(mine, its, strict=True)]


def _totals_of(files: FileColumns) -> _Totals:
    sizes = read_numbers(files.table.column("size"))
    vectors = files.table.column("deletion_vector")
    cardinalities = read_numbers(pc.struct_field(vectors, "cardinality"))
    bins = np.searchsorted(np.asarray(SIZES_FROM, np.int64), sizes, "right") - 1
    bins = np.maximum(bins, 0)
    # halves, because their sums stay far below 64 bits
    low, high = _bytes_by_bin(bins, sizes & 0xFFFFFFFF), _bytes_by_bin(bins, sizes >> 32)
    size_bytes = [int(small) + (int(large) << 32) for small, large in zip(low, high, strict=True)]
    starts = np.asarray(DELETED_RECORDS_FROM, np.int64)
    hidden = np.bincount(np.searchsorted(starts, cardinalities, "right"), minlength=10)
    return _Totals(
        num_files=len(sizes),
        num_bytes=sum(size_bytes),
        num_vectors=len(vectors) - vectors.null_count,
        num_hidden=int(cardinalities.sum()),
        sizes=np.bincount(bins, minlength=len(SIZES_FROM)).tolist(),
        size_bytes=size_bytes,
        hidden=hidden.tolist(),
    )


def _bytes_by_bin(
    bins: Numbers,
    numbers: Numbers,
) -> Numbers:
    found = np.zeros(len(SIZES_FROM), np.int64)
    np.add.at(found, bins, numbers)
    return found


def _build(loaded: LoadedVersion, totals: _Totals) -> VersionChecksum:
    version = loaded.segment.version
    if not 0 <= totals.num_bytes < 2**63:
        raise CorruptLogError(
            f"Version {version} cannot have a checksum.",
            reason=f"The sizes of its files add up to {totals.num_bytes} bytes.",
            remedy="Find the commit that states such a size; nothing else depends on checksums.",
            spec="Add File and Remove File",
        )
    protocol, metadata = loaded.small.required(version)
    info = read_commit_info(loaded.store, version)
    # which of them are expired depends on when one asks, and the checkpoint of the version, or
    # whoever holds this against the log, asks at another time: as the reference, say nothing
    expire = TRANSACTION_RETENTION.value_of(metadata.configuration) is not None
    transactions = None if expire else tuple(loaded.small.transactions.values())
    txn_id = info.body.get("txnId")
    return VersionChecksum(
        num_files=totals.num_files,
        table_size_bytes=totals.num_bytes,
        protocol=protocol,
        metadata=metadata,
        transactions=transactions,
        domains=tuple(found for found in loaded.small.domains.values() if not found.removed),
        num_deleted_records=totals.num_hidden,
        num_deletion_vectors=totals.num_vectors,
        deleted_record_counts=tuple(totals.hidden),
        in_commit_timestamp=info.in_commit_ms,
        txn_id=txn_id if isinstance(txn_id, str) else None,
        file_sizes=FileSizes(
            starts=SIZES_FROM,
            counts=tuple(totals.sizes),
            total_bytes=tuple(totals.size_bytes),
        ),
    )
