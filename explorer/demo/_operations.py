"""What engines do to whole files: append, stream, compact, vacuum."""

from __future__ import annotations

import pyarrow as pa

from explorer.demo._data_files import write_rows
from explorer.demo._shop_table import LiveFile, Outcome, ShopTable, Work, country_of
from explorer.protocol.actions import Transaction
from explorer.protocol.file_actions import RemoveFile
from explorer.protocol.filenames import LOG_FOLDER
from explorer.protocol.paths import decode_path

_ROWS_PER_FILE = 2_000
_COMPACTED_ROWS_PER_FILE = 1_000_000
_WEEK_MS = 7 * 24 * 3600 * 1000


def append(shop: ShopTable, work: Work, generated: pa.Table) -> Outcome:
    """New orders, as a batch job writes them."""
    added = write_rows(shop, work, shop.take_new_rows(generated), _ROWS_PER_FILE)
    return Outcome(
        operation="WRITE",
        parameters={"mode": "Append", "partitionBy": "[]"},
        metrics={"numFiles": len(added)} | _output_metrics(added),
        added=tuple(added),
    )


def stream(shop: ShopTable, work: Work, generated: pa.Table, application: str) -> Outcome:
    """New orders, as a streaming job writes them: with its progress."""
    added = write_rows(shop, work, shop.take_new_rows(generated), _ROWS_PER_FILE)
    last = shop.transactions.get(application)
    epoch = 0 if last is None else last.version + 1
    progress = Transaction(app_id=application, version=epoch, last_updated=work.at)
    return Outcome(
        operation="STREAMING UPDATE",
        parameters={"outputMode": "Append", "queryId": application, "epochId": str(epoch)},
        metrics={"numRemovedFiles": 0, "numAddedFiles": len(added)} | _output_metrics(added),
        actions=(progress,),
        added=tuple(added),
    )


def optimize(shop: ShopTable, work: Work) -> Outcome:
    """Compact every partition into as few files as its rows need."""
    removed: list[LiveFile] = []
    added: list[LiveFile] = []
    for country in sorted({country_of(file) for file in shop.live.values()}, key=str):
        files = [file for file in shop.live.values() if country_of(file) == country]
        if len(files) > 1 or files[0].hidden:
            rows = shop.align(file.live_rows() for file in files)
            added += write_rows(shop, work, rows, _COMPACTED_ROWS_PER_FILE, data_change=False)
            removed += files
    sizes = sorted(file.add.size for file in added)
    return Outcome(
        operation="OPTIMIZE",
        parameters={"predicate": "[]", "zOrderBy": "[]", "clusterBy": "[]", "auto": False},
        metrics={
            "numRemovedFiles": len(removed),
            "numRemovedBytes": sum(file.add.size for file in removed),
            "numDeletionVectorsRemoved": sum(1 for file in removed if file.hidden),
            "numAddedFiles": len(added),
            "numAddedBytes": sum(sizes),
            "minFileSize": sizes[0],
            "p25FileSize": sizes[len(sizes) // 4],
            "p50FileSize": sizes[len(sizes) // 2],
            "p75FileSize": sizes[len(sizes) * 3 // 4],
            "maxFileSize": sizes[-1],
        },
        added=tuple(added),
        removed=tuple(removed),
    )


def start_vacuum(shop: ShopTable, work: Work) -> Outcome:
    """Announce which files are about to go, as the reference does."""
    expired = _expired(shop, work)
    return Outcome(
        operation="VACUUM START",
        parameters={"retentionCheckEnabled": True, "defaultRetentionMillis": _WEEK_MS},
        metrics={
            "numFilesToDelete": len(expired),
            "sizeOfDataToDelete": sum(tombstone.size for tombstone in expired),
        },
    )


def end_vacuum(shop: ShopTable, work: Work) -> Outcome:
    """Delete the files that expired a week ago, and say so."""
    expired = _expired(shop, work)
    for tombstone in expired:
        shop.delete(decode_path(tombstone.path))
    folders = {path.rpartition("/")[0] for path in shop.written} - {LOG_FOLDER}
    return Outcome(
        operation="VACUUM END",
        parameters={"status": "COMPLETED"},
        metrics={
            "numDeletedFiles": len(expired),
            "numVacuumedDirectories": len(folders),
        },
    )


def _expired(shop: ShopTable, work: Work) -> list[RemoveFile]:
    """The tombstones of files that no version of the last week needs."""
    return [
        tombstone
        for tombstone in shop.tombstones
        if tombstone.deletion_timestamp < work.at - _WEEK_MS
        and tombstone.path not in shop.live
        and decode_path(tombstone.path) in shop.written
    ]


def _output_metrics(added: list[LiveFile]) -> dict[str, int]:
    return {
        "numOutputRows": sum(file.rows.num_rows for file in added),
        "numOutputBytes": sum(file.add.size for file in added),
    }
