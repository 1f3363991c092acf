"""What a commit says of a merge: parameters and metrics under the names of the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from explorer.protocol.actions import Metadata, Protocol
from explorer.writing.changes.row_changes import RowChanges, needs_change_data
from explorer.writing.merging.clauses import ClauseAction, ClauseKind, MergeClause, MergeRequest

MERGE: Final = "MERGE"
"""The operation, as the reference calls it."""


def merge_parameters(request: MergeRequest) -> dict[str, str]:
    """`operationParameters`; conditions as they were written."""
    return {
        "predicate": _json([request.on]),
        "matchedPredicates": _predicates(request.of("matched")),
        "notMatchedPredicates": _predicates(request.of("not matched")),
        "notMatchedBySourcePredicates": _predicates(request.of("not matched by source")),
    }


def merge_metrics(
    request: MergeRequest,
    changes: RowChanges,
    *,
    source_rows: int,
    by_clause: Mapping[int, int],
) -> dict[str, int]:
    """`operationMetrics`; `by_clause` are rows by the number of the clause that they met."""

    def met(action: ClauseAction, kind: ClauseKind | None = None) -> int:
        return sum(
            by_clause.get(number, 0)
            for number, clause in enumerate(request.clauses)
            if clause.action == action and kind in {None, clause.kind}
        )

    files = changes.file_metrics()
    inserted, updated = met("insert"), met("update")
    copied = files["numCopiedRows"]
    return {
        "numSourceRows": source_rows,
        "numTargetRowsInserted": inserted,
        "numTargetRowsUpdated": updated,
        "numTargetRowsMatchedUpdated": met("update", "matched"),
        "numTargetRowsNotMatchedBySourceUpdated": met("update", "not matched by source"),
        "numTargetRowsDeleted": met("delete"),
        "numTargetRowsMatchedDeleted": met("delete", "matched"),
        "numTargetRowsNotMatchedBySourceDeleted": met("delete", "not matched by source"),
        "numTargetRowsCopied": copied,
        "numOutputRows": inserted + updated + copied,
        "numTargetFilesAdded": files["numAddedFiles"],
        "numTargetFilesRemoved": files["numRemovedFiles"],
        "numTargetBytesAdded": files["numAddedBytes"],
        "numTargetBytesRemoved": files["numRemovedBytes"],
        "numTargetChangeFilesAdded": files["numAddedChangeFiles"],
        "numTargetDeletionVectorsAdded": files["numDeletionVectorsAdded"],
        "numTargetDeletionVectorsRemoved": files["numDeletionVectorsRemoved"],
        "numTargetDeletionVectorsUpdated": files["numDeletionVectorsUpdated"],
    }


def merge_needs_change_data(
    protocol: Protocol,
    metadata: Metadata,
    request: MergeRequest,
    *,
    taken: Mapping[int, int],
    inserts: bool,
    copies: bool,
) -> bool:
    """Whether a merge writes change data; `taken` are rows of the table by the number of the clause
    that they met, `inserts` whether rows are added, `copies` whether rows that stay are copied.

    Of rows that go and others that come the actions would tell, but an engine may take these for
    copies: such a merge writes them (spec: Add CDC File).
    """
    kinds = {request.clauses[number].action for number, rows in taken.items() if rows}
    replaces = "delete" in kinds and inserts
    updates = "update" in kinds or replaces
    return needs_change_data(protocol, metadata, updates=updates, copies=copies)


def _predicates(clauses: Sequence[MergeClause]) -> str:
    return _json(
        [
            {"actionType": clause.action}
            if clause.where is None
            else {"predicate": clause.where, "actionType": clause.action}
            for clause in clauses
        ]
    )


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
