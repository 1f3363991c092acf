"""What engines do to single rows: delete, update, merge.

Where the table allows deletion vectors, rows leave their file by a vector and
come back, changed, in a new one; otherwise the files are rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.demo._data_files import (
    CHANGE_TYPE,
    hide_rows,
    hide_rows_inline,
    write_changes,
    write_rows,
)
from explorer.demo._shop_table import LiveFile, Outcome, ShopTable, Work
from explorer.protocol.file_actions import AddCDCFile
from explorer.transaction.read_set import WHOLE_TABLE

_ROWS_PER_FILE = 20_000

Matches = dict[str, list[int]]
"""Positions of live rows by the path of their file; no file without a position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """A condition as the log shows it, and which rows fulfil it (null counts as no).

    `mask` sees the rows under physical names.
    """

    text: str
    mask: Callable[[pa.Table], pa.ChunkedArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replacement:
    """Files before and after, change data, and how many rows were only copied."""

    removed: list[LiveFile]
    added: list[LiveFile]
    changes: list[AddCDCFile]
    num_copied: int


def delete(shop: ShopTable, work: Work, predicate: RowFilter) -> Outcome:
    """Delete rows: whole files by tombstones, single rows by deletion vectors."""
    matched = _find(shop, predicate)
    return _deletion(shop, predicate, matched, hide_rows(shop, work, matched))


def delete_inline(shop: ShopTable, predicate: RowFilter) -> Outcome:
    """Delete a few rows, with the deletion vectors in the log itself."""
    matched = _find(shop, predicate)
    return _deletion(shop, predicate, matched, hide_rows_inline(shop, matched))


def update_status(shop: ShopTable, work: Work, predicate: RowFilter, status: str) -> Outcome:
    """Set the status of the orders that fulfil the predicate."""
    matched = _find(shop, predicate)
    before = _rows_at(shop, matched)
    after = _with_status(before, status)
    changes = [_labelled(before, "update_preimage"), _labelled(after, "update_postimage")]
    done = _replace(shop, work, matched, after, changes)
    vectors = _vector_counts(done)
    return Outcome(
        operation="UPDATE",
        parameters={"predicate": orjson.dumps([predicate.text]).decode()},
        metrics={
            "numRemovedFiles": len(done.removed) - vectors["Added"],
            "numRemovedBytes": sum(file.add.size for file in done.removed),
            "numCopiedRows": done.num_copied,
            **{f"numDeletionVectors{name}": count for name, count in vectors.items()},
            "numAddedFiles": len(done.added) - vectors["Added"],
            "numAddedBytes": sum(file.add.size for file in done.added if not file.hidden),
            "numUpdatedRows": before.num_rows,
            "numAddedChangeFiles": len(done.changes),
            "executionTimeMs": shop.new_milliseconds(1200, 5200),
            "scanTimeMs": shop.new_milliseconds(300, 900),
            "rewriteTimeMs": shop.new_milliseconds(200, 900),
        },
        actions=tuple(done.changes),
        added=tuple(done.added),
        removed=tuple(done.removed),
        reads=WHOLE_TABLE,
    )


def merge(
    shop: ShopTable, work: Work, shipped: RowFilter, refused: RowFilter, generated: pa.Table
) -> Outcome:
    """Take over a carrier's report: ship some orders, drop some, insert late ones."""
    dropped, updated = _find(shop, refused), _find(shop, shipped)
    before, gone = _rows_at(shop, updated), _rows_at(shop, dropped)
    after, late = _with_status(before, "shipped"), shop.take_new_rows(generated)
    matched = {
        path: sorted([*updated.get(path, ()), *dropped.get(path, ())])
        for path in shop.live
        if path in updated or path in dropped
    }
    changes = [
        _labelled(before, "update_preimage"),
        _labelled(after, "update_postimage"),
        _labelled(gone, "delete"),
        _labelled(late, "insert"),
    ]
    done = _replace(shop, work, matched, pa.concat_tables([after, late]), changes)
    return Outcome(
        operation="MERGE",
        parameters=_merge_parameters(shipped, refused),
        metrics=_merge_metrics(shop, done, (before.num_rows, gone.num_rows, late.num_rows)),
        actions=tuple(done.changes),
        added=tuple(done.added),
        removed=tuple(done.removed),
        reads=WHOLE_TABLE,
    )


def _find(shop: ShopTable, predicate: RowFilter) -> Matches:
    found: Matches = {}
    for path, file in shop.live.items():
        mask = predicate.mask(shop.align([file.rows])).combine_chunks()
        positions = pc.indices_nonzero(pc.fill_null(mask, pa.scalar(False))).to_pylist()  # noqa: FBT003
        if live := [at for at in positions if at not in file.hidden]:
            found[path] = live
    return found


def _rows_at(shop: ShopTable, matched: Matches) -> pa.Table:
    pieces = [shop.live[path].rows.take(pa.array(at, pa.int64())) for path, at in matched.items()]
    return shop.align(pieces)


def _with_status(rows: pa.Table, status: str) -> pa.Table:
    at = rows.column_names.index("status")
    return rows.set_column(at, "status", pa.repeat(status, rows.num_rows))


def _labelled(rows: pa.Table, change_type: str) -> pa.Table:
    return rows.append_column(CHANGE_TYPE, pa.repeat(change_type, rows.num_rows))


def _replace(
    shop: ShopTable, work: Work, matched: Matches, new_rows: pa.Table, changes: list[pa.Table]
) -> _Replacement:
    """Take the matched rows away and put `new_rows` into the table."""
    removed = [shop.live[path] for path in matched]
    cdc: list[AddCDCFile] = []
    if shop.is_set("delta.enableChangeDataFeed"):
        cdc = write_changes(shop, work, pa.concat_tables(changes))
    if shop.is_set("delta.enableDeletionVectors"):
        hidden = hide_rows(shop, work, matched)
        written = write_rows(shop, work, new_rows, _ROWS_PER_FILE)
        return _Replacement(removed=removed, added=[*hidden, *written], changes=cdc, num_copied=0)
    survivors = []
    for file in removed:
        gone = {*matched[file.add.path], *file.hidden}
        kept = [at for at in range(file.rows.num_rows) if at not in gone]
        survivors.append(file.rows.take(pa.array(kept, pa.int64())))
    copied = shop.align(survivors)
    written = write_rows(shop, work, pa.concat_tables([copied, new_rows]), _ROWS_PER_FILE)
    return _Replacement(removed=removed, added=written, changes=cdc, num_copied=copied.num_rows)


def _vector_counts(done: _Replacement) -> dict[str, int]:
    """How many vectors were added, how many of them in place of another, how many removed."""
    new = {file.add.path for file in done.added if file.hidden}
    old = {file.add.path for file in done.removed if file.hidden}
    return {"Added": len(new), "Updated": len(new & old), "Removed": len(old)}


def _deletion(
    shop: ShopTable, predicate: RowFilter, matched: Matches, hidden: list[LiveFile]
) -> Outcome:
    removed = [shop.live[path] for path in matched]
    done = _Replacement(removed=removed, added=hidden, changes=[], num_copied=0)
    vectors = _vector_counts(done)
    kept = {file.add.path for file in hidden}
    return Outcome(
        operation="DELETE",
        parameters={"predicate": orjson.dumps([predicate.text]).decode()},
        metrics={
            "numRemovedFiles": len(removed) - len(hidden),
            "numRemovedBytes": sum(f.add.size for f in removed if f.add.path not in kept),
            "numCopiedRows": 0,
            **{f"numDeletionVectors{name}": count for name, count in vectors.items()},
            "numAddedFiles": 0,
            "numAddedBytes": 0,
            "numAddedChangeFiles": 0,
            "numDeletedRows": sum(map(len, matched.values())),
            "executionTimeMs": shop.new_milliseconds(700, 2600),
        },
        added=tuple(hidden),
        removed=tuple(removed),
        reads=WHOLE_TABLE,
    )


def _merge_parameters(shipped: RowFilter, refused: RowFilter) -> dict[str, str]:
    matched = [
        {"predicate": refused.text, "actionType": "delete"},
        {"predicate": shipped.text, "actionType": "update"},
    ]
    return {
        "predicate": '["(s.order_id = t.order_id)"]',
        "matchedPredicates": orjson.dumps(matched).decode(),
        "notMatchedPredicates": '[{"actionType":"insert"}]',
        "notMatchedBySourcePredicates": "[]",
    }


def _merge_metrics(
    shop: ShopTable, done: _Replacement, counts: tuple[int, int, int]
) -> dict[str, int]:
    updated, deleted, inserted = counts
    vectors = _vector_counts(done)
    new_files = [file for file in done.added if not file.hidden]
    return {
        "numSourceRows": updated + deleted + inserted,
        "numTargetRowsInserted": inserted,
        "numTargetRowsUpdated": updated,
        "numTargetRowsDeleted": deleted,
        "numTargetRowsMatchedUpdated": updated,
        "numTargetRowsMatchedDeleted": deleted,
        "numTargetRowsNotMatchedBySourceUpdated": 0,
        "numTargetRowsNotMatchedBySourceDeleted": 0,
        "numTargetRowsCopied": done.num_copied,
        "numOutputRows": updated + inserted + done.num_copied,
        "numTargetFilesAdded": len(new_files),
        "numTargetBytesAdded": sum(file.add.size for file in new_files),
        "numTargetFilesRemoved": len(done.removed) - vectors["Added"],
        "numTargetChangeFilesAdded": len(done.changes),
        **{f"numTargetDeletionVectors{name}": count for name, count in vectors.items()},
        "executionTimeMs": shop.new_milliseconds(1900, 7200),
        "scanTimeMs": shop.new_milliseconds(500, 1500),
        "rewriteTimeMs": shop.new_milliseconds(400, 1500),
    }
