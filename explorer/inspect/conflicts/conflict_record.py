"""How conflicts are asked for by name: those of a transaction that read a version, or, where no
version is said, those of each kind of transaction with the newest commits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.conflicts.conflict_check import (
    OPERATIONS,
    ConflictCheck,
    Operation,
    check_conflicts,
)
from explorer.inspect.conflicts.recent_commits import Outlook, RecentConflicts, recent_conflicts
from explorer.progress import ProgressCallback
from explorer.table.table import Table
from explorer.table.times import utc_time
from explorer.transaction.conflicts import Conflict


def _ask(  # the parameters of an answer
    table: Table,
    progress: ProgressCallback | None,
    *,
    read_version: int | None = None,
    operation: Operation | None = None,
    where: str | None = None,
    isolation_level: str | None = None,
) -> ConflictCheck | RecentConflicts:
    if read_version is None:
        if operation or where or isolation_level:
            raise InvalidArgumentError(
                "The version that the transaction read is missing.",
                reason="Without one, each kind of transaction is held against the newest commits.",
                remedy="Say which version it read too, or leave the others out.",
            )
        return recent_conflicts(table, progress=progress)
    return check_conflicts(
        table,
        read_version,
        operation=operation or "change",
        where=where,
        isolation_level=isolation_level,
        progress=progress,
    )


def _check_operation(text: str) -> str:
    if text not in OPERATIONS:
        raise InvalidArgumentError(
            f"{text[:60]!r} is not an operation that can be judged.",
            reason=f"It can be {' or '.join(OPERATIONS)}.",
            remedy="Leave it out for an operation that changes rows.",
        )
    return text


def _documents(found: ConflictCheck | RecentConflicts, limit: int | None) -> Iterator[Document]:
    if isinstance(found, RecentConflicts):
        yield {
            "newest_version": found.newest_version,
            "num_commits": found.num_commits,
            "isolation_level": found.isolation_level,
            "sentence": found.sentence,
            "transactions": [_document_of_outlook(one) for one in found.outlooks[:limit]],
        }
        return
    yield {
        "read_version": found.read_version,
        "newest_version": found.newest_version,
        "operation": found.operation,
        "where": found.where,
        "isolation_level": found.isolation_level,
        "sentence": found.sentence,
        "num_conflicts": found.num_conflicts,
        "conflicts": [_document_of(conflict) for conflict in found.found[:limit]],
    }


def _document_of_outlook(one: Outlook) -> Document:
    return {
        "transaction": one.transaction,
        "where": one.where,
        "safe_from": one.safe_from,
        "num_conflicting": one.num_conflicting,
        "conflict": None if one.conflict is None else _document_of(one.conflict),
    }


def _document_of(conflict: Conflict) -> Document:
    body = asdict(conflict)
    stamp = conflict.commit.timestamp
    body["commit"]["timestamp"] = None if stamp is None else utc_time(stamp)
    return body


CONFLICTS: Final = Answer(
    name="conflicts",
    parameters=(
        Parameter(name="read_version", kind="whole"),
        Parameter(name="operation", kind="text", check=_check_operation),
        Parameter(name="where", kind="text"),
        Parameter(name="isolation_level", kind="text"),
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
)
