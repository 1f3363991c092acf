"""The first rows of a version: how `explorer.preview` is asked, and its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from explorer.inspect.answer import COLUMN_NAMES, LIMIT, MOMENT, Answer, Document, Parameter
from explorer.progress import ProgressCallback
from explorer.rows.read import PREVIEW_ROWS, Preview, preview
from explorer.rows.row_values import row_objects
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedRows:
    """The first rows of a snapshot."""

    snapshot: Snapshot
    found: Preview


def _ask(  # noqa: PLR0913  # the parameters of an answer
    table: Table,
    progress: ProgressCallback | None,
    *,
    version: int | None = None,
    timestamp: str | None = None,
    column: Sequence[str] | None = None,
    where: str | None = None,
    limit: int = PREVIEW_ROWS,
) -> PreviewedRows:
    snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
    found = preview(snapshot, column, where, limit, progress=progress)
    return PreviewedRows(snapshot=snapshot, found=found)


def _documents(previewed: PreviewedRows, _: int | None) -> Iterator[Document]:
    snapshot, rows = previewed.snapshot, previewed.found.rows
    yield {
        "version": snapshot.version,
        "columns": [{"name": item.name, "type": str(item.type)} for item in rows.schema],
        "is_cut": previewed.found.is_cut,
        "problems": [problem.as_dict() for problem in snapshot.problems],
        "rows": list(row_objects(rows)),
    }


PREVIEW: Final = Answer(
    name="preview",
    parameters=(*MOMENT, COLUMN_NAMES, Parameter(name="where", kind="text"), LIMIT),
    ask=_ask,
    documents=_documents,
    asks_limit=True,
    reads="files",
)
