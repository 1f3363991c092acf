"""The change data feed, row by row: how `explorer.read_changes` is asked, and its document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from explorer.errors import Problem
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.progress import ProgressCallback
from explorer.rows.changes.feed import label_problems, read_changes
from explorer.rows.row_values import row_objects
from explorer.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRows:
    """The changes of the versions that were asked for, of the table at `uri`; `is_cut` says that
    there are more, and `problems` what is wrong with those that are here."""

    uri: str
    from_version: int
    to_version: int | None
    rows: pa.Table
    is_cut: bool
    problems: tuple[Problem, ...]


def _ask(
    table: Table,
    progress: ProgressCallback | None,
    *,
    from_version: int,
    to_version: int | None = None,
    limit: int | None = None,
) -> ChangedRows:
    one_more = None if limit is None else limit + 1
    told: list[Problem] = []
    found = read_changes(
        table, from_version, to_version, one_more, tell=told.append, progress=progress
    )
    shown = found if limit is None else found.slice(0, limit)
    return ChangedRows(
        uri=table.uri,
        from_version=from_version,
        to_version=to_version,
        rows=shown,
        is_cut=found.num_rows > shown.num_rows,
        problems=(*label_problems(shown.column("_change_type").to_pylist()), *told),
    )


def _documents(found: ChangedRows, _: int | None) -> Iterator[Document]:
    yield {
        "uri": found.uri,
        "from_version": found.from_version,
        "to_version": found.to_version,
        "columns": [{"name": item.name, "type": str(item.type)} for item in found.rows.schema],
        "is_cut": found.is_cut,
        "problems": [problem.as_dict() for problem in found.problems],
        "rows": list(row_objects(found.rows)),
    }


CHANGES: Final = Answer(
    name="changes",
    parameters=(
        Parameter(name="from_version", kind="whole", is_required=True),
        Parameter(name="to_version", kind="whole"),
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
    asks_limit=True,
    reads="files",
)
