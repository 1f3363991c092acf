"""The history of a table (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import pyarrow as pa

from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.commits.told_commits import row_sentence
from explorer.inspect.frame_rows import plain_rows
from explorer.progress import ProgressCallback
from explorer.table.table import Table


def history(
    table: Table,
    limit: int | None = None,
    *,
    operation: str | Sequence[str] | None = None,
    user: str | None = None,
    since: str | datetime | None = None,
) -> pa.Table:
    """`Table.history`: what each commit says about itself, newest first."""
    return table.history(limit, operation=operation, user=user, since=since)


def _ask(  # the parameters of an answer
    table: Table,
    _: ProgressCallback | None,
    *,
    operation: Sequence[str] | None = None,
    user: str | None = None,
    since: str | None = None,
    limit: int | None = None,
) -> pa.Table:
    if not table.listing().commits:
        table.latest_version()  # says that the log is empty, unless a checkpoint is left
    return history(table, limit, operation=operation, user=user, since=since)


def _documents(found: pa.Table, limit: int | None) -> Iterator[Document]:
    """Each row of the history, with the sentence that tells what the commit did."""
    for row in plain_rows(found, limit):
        yield {**row, "sentence": row_sentence(row).text}


HISTORY: Final = Answer(
    name="history",
    parameters=(
        Parameter(name="operation", kind="text", repeats=True),
        Parameter(name="user", kind="text"),
        Parameter(name="since", kind="text"),
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
    is_list=True,
    asks_limit=True,
)
