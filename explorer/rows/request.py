"""A request for rows: columns, predicate, limit."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import pyarrow as pa

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.protocol.arrow_types import arrow_schema, row_schema
from explorer.protocol.features.type_widening import check_type_changes
from explorer.protocol.schema import StructField, StructType
from explorer.rows.layout import RowLayout
from explorer.rows.row_checks import RowChecks
from explorer.scan.predicate.predicate import Predicate

METADATA_COLUMNS: Final = {
    "_row_id": pa.int64(),
    "_row_commit_version": pa.int64(),
    "_file_path": pa.string(),
    "_row_index": pa.int64(),
}
"""What is known of a row beside its columns: its stable id and the version that last
changed it (spec: Row Tracking), the path of its file as in the log, and its
position in that file, from 0, hidden rows counted."""

ROW_TRACKING_COLUMNS: Final = frozenset({"_row_id", "_row_commit_version"})


@dataclass(frozen=True, kw_only=True)
class RowRequest:
    """A layout, the columns wanted of it in their order, and the condition.

    Made by `build_request`, which checks all of it, or for writing rows again by
    `explorer.rows.stored_rows`: then variants stay as they are stored, and a row that breaks
    one of the `checks` stops the reading.
    """

    layout: RowLayout
    columns: tuple[str, ...]
    metadata_columns: tuple[str, ...] = ()
    predicate: Predicate | None = None
    variants: Literal["text", "stored"] = "text"
    checks: RowChecks | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the answer: columns, then metadata columns."""
        own = self._arrow(self._fields(self.columns))
        extra = [pa.field(name, METADATA_COLUMNS[name]) for name in self.metadata_columns]
        return pa.schema([*own, *extra])

    @cached_property
    def needed(self) -> StructType:
        """The columns that must be read: those wanted, and those of the condition."""
        looked_at = () if self.predicate is None else self.predicate.columns
        return self._fields(tuple(dict.fromkeys((*self.columns, *looked_at))))

    @cached_property
    def needed_schema(self) -> pa.Schema:
        """The Arrow schema of `needed`."""
        return self._arrow(self.needed)

    def _arrow(self, fields: StructType) -> pa.Schema:
        return row_schema(fields) if self.variants == "text" else arrow_schema(fields)

    def _fields(self, names: tuple[str, ...]) -> StructType:
        by_name: dict[str, StructField] = {item.name: item for item in self.layout.schema.fields}
        return StructType(fields=tuple(by_name[name] for name in names))


def build_request(
    layout: RowLayout,
    columns: Sequence[str] | None = None,
    metadata_columns: Sequence[str] = (),
    predicate: Predicate | None = None,
) -> RowRequest:
    """What to read; None means all columns of the table.

    Raises `InvalidArgumentError` for names that are not there, `UnsupportedError`
    for columns whose type, or change of type, has no rule (spec: Type Widening).
    """
    names = layout.schema.names
    for given in (columns, metadata_columns):
        if isinstance(given, str):
            raise InvalidArgumentError(
                f"{given[:120]!r} is one name, not a list of names.",
                reason="Each of its letters would be taken for a column.",
                remedy=f"Write [{given[:120]!r}].",
            )
    wanted = tuple(names if columns is None else columns)
    _check_names(wanted, names, "column of the table")
    _check_names(tuple(metadata_columns), tuple(METADATA_COLUMNS), "metadata column")
    for name in metadata_columns:
        if name in wanted:
            raise InvalidArgumentError(
                f"The answer would have two columns called {name!r}.",
                reason="The table has a column of that name, and so has what is known of its rows.",
                remedy="Leave one of them out.",
            )
        if name in ROW_TRACKING_COLUMNS and not layout.tracks_rows:
            raise UnsupportedError(
                f"The table at {layout.uri} has no {name}.",
                reason="Its protocol does not list the feature rowTracking, "
                "so that its rows have neither ids nor versions.",
                remedy="Ask for _file_path and _row_index instead.",
                spec="Row Tracking",
            )
    request = RowRequest(
        layout=layout,
        columns=wanted,
        metadata_columns=tuple(metadata_columns),
        predicate=predicate,
    )
    check_type_changes(request.needed, layout.uri)
    row_schema(request.needed)  # refuses unknown types by name and place
    return request


def first_rows(batches: Iterable[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """The first `limit` rows, all where it is None, in batches that hold some; nothing more is
    read once they are there."""
    left = limit
    if left == 0:
        return
    for batch in batches:
        found = batch if left is None else batch.slice(0, min(left, batch.num_rows))
        if found.num_rows:
            yield found
        if left is not None and (left := left - found.num_rows) == 0:
            return


def _check_names(wanted: tuple[str, ...], every: tuple[str, ...], what: str) -> None:
    known = frozenset(every)
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            near = difflib.get_close_matches(str(name)[:120], [item[:120] for item in every[:500]])
            raise InvalidArgumentError(
                f"There is no {what} {str(name)[:120]!r}.",
                reason="Names are case-sensitive, and nested fields are not columns of their own.",
                remedy=f"Did you mean {near[0]!r}?" if near else "See the schema for the names.",
            )
    if len(set(wanted)) != len(wanted):
        raise InvalidArgumentError(
            "A column is named twice.",
            reason="Each column of the answer needs its own name.",
            remedy="Name every column once.",
        )
