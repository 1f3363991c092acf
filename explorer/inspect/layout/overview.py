"""How the files of a version lie, in one answer: their sizes, clustering, and what each OPTIMIZE
did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from explorer.inspect.answer import COLUMN_NAMES, LIMIT, MOMENT, Answer, Document, Parameter
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.layout._layout_files import read_layout_files
from explorer.inspect.layout.optimize_history import optimize_effects
from explorer.inspect.layout.overlap import columns_to_compare, depths_of_columns
from explorer.inspect.layout.sizes import Layout, check_target, layout_of
from explorer.progress import ProgressCallback, Watch
from explorer.scan.statistics.live_files import choose_columns
from explorer.table.table import Table
from explorer.table.target_size import parse_target


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overview:
    """The answers of `file_layout`, `clustering_depth` and `optimize_effects` of the table at
    `uri`."""

    uri: str
    sizes: Layout
    columns: pa.Table
    optimize: pa.Table


def _ask(  # the parameters of an answer
    table: Table,
    progress: ProgressCallback | None,
    *,
    target: int | None = None,
    column: Sequence[str] | None = None,
    version: int | None = None,
    timestamp: str | None = None,
) -> _Overview:
    snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
    check_target(target)
    names = columns_to_compare(snapshot, column or None)
    watch = Watch(progress=progress)
    files = read_layout_files(snapshot, watch, choose_columns(snapshot, names))
    return _Overview(
        uri=table.uri,
        sizes=layout_of(snapshot, files, target),
        columns=depths_of_columns(snapshot, files, names, watch),
        optimize=optimize_effects(table, progress=progress),
    )


def _documents(found: _Overview, limit: int | None) -> Iterator[Document]:
    sizes = found.sizes
    yield {
        "uri": found.uri,
        "version": sizes.version,
        "sentence": sizes.sentence,
        "num_files": sizes.num_files,
        "size_in_bytes": sizes.size_in_bytes,
        "target": sizes.target,
        "target_source": sizes.target_source,
        "median": sizes.median,
        "sizes": list(plain_rows(sizes.sizes)),
        "num_partitions": sizes.partitions.num_rows,
        "partition_verdict": sizes.partition_verdict or None,
        "partitions": list(plain_rows(sizes.partitions, limit)),
        "columns": list(plain_rows(found.columns)),
        "optimize": list(plain_rows(found.optimize)),
    }


def _parse_target(text: str) -> int:
    return parse_target(text, "Write it as 128mb or 1gb.")


LAYOUT: Final = Answer(
    name="layout",
    parameters=(
        *MOMENT,
        Parameter(name="target", kind="text", check=_parse_target),
        COLUMN_NAMES,
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
)
