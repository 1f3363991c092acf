"""The rows that differ between two versions, of one table or of two, side by side.

Only files that differ are read, in this process; `explorer.pipeline.diff_rows` counts rows of any
number of files on Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison.file_changes import FileChanges
from explorer.comparison.matched_fields import MatchedType, match_schemas
from explorer.comparison.versions import diff
from explorer.errors import InvalidArgumentError
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.rows.row_condition import is_named_like_a_key, key_columns
from explorer.inspect.rows.row_search import in_both
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.features.type_widening import is_widening
from explorer.protocol.schema import (
    ArrayType,
    MapType,
    StructType,
    parse_schema,
    render_schema,
)
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.layout import layout_of
from explorer.rows.older_columns import columns_as_in
from explorer.rows.python_values import plain_values
from explorer.rows.read import RowScan
from explorer.rows.request import build_request
from explorer.rows.row_values import row_objects
from explorer.table.counts import count
from explorer.table.frames import sum_of, with_logical_names
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

MOST_BYTES: Final = 64 * 2**20
"""Bytes of files that are read unless the caller allows more."""
MOST_ROWS: Final = 200_000
"""Rows of both sides that are held at once."""
_NAMED: Final = 3
"""Columns of one version alone that are named; the others are counted."""
ROW_ID: Final = "_row_id"
"""The key of rows that are tracked."""


@dataclass(frozen=True, kw_only=True)
class RowDifferences:
    """Rows that one version has and the other has not; rows that were only rewritten are none.

    - `deleted` and `inserted`: rows of the older and of the newer version, with the columns of
      both, called as in the newer
    - `before` and `after`: two sides of the same rows, one below the other in the same order
    - `key`: by what rows are the same: row ids (`_row_id`), or columns; () where nothing tells
    - `num_repeated`: values of the key that a side has in more than one row that differs; such
      rows are told as deleted and inserted
    - `only_in_older` and `only_in_newer`: columns that the other version has not; they are not
      compared
    - `files_read`, `bytes_read`: what was read for it
    - `is_of_two_tables`: whether the sides are of two tables, of which neither is older
    - `reason`: why nothing was read, such as too many files; None where all that differs was
    """

    older: int
    newer: int
    inserted: pa.Table
    deleted: pa.Table
    before: pa.Table
    after: pa.Table
    key: tuple[str, ...]
    files_read: int
    bytes_read: int
    only_in_older: tuple[str, ...] = ()
    only_in_newer: tuple[str, ...] = ()
    num_repeated: int = 0
    is_of_two_tables: bool = False
    reason: str | None = None

    @property
    def counts_in_words(self) -> str:
        """`874 rows changed, 3 rows inserted`; empty where none differs."""
        kinds = zip(
            _KINDS[self.is_of_two_tables], (self.after, self.inserted, self.deleted), strict=True
        )
        told = [f"{count(rows.num_rows, 'row')} {kind}" for kind, rows in kinds if rows.num_rows]
        return ", ".join(told)

    @property
    def sentence(self) -> str:
        """How many rows differ, and by what the same row was told."""
        if self.reason is not None:
            return f"The rows are not shown: {self.reason}."
        told, sides = self.counts_in_words, _SIDES[self.is_of_two_tables]
        alone = zip(sides, (self.only_in_older, self.only_in_newer), strict=True)
        left = [f"{_named(names)}, only in the {side}" for side, names in alone if names]
        text = f"{told}." if told else "No row differs."
        if left:
            both = "tables" if self.is_of_two_tables else "versions"
            text = text if told else f"No row differs in the columns of both {both}."
            text += f" Not compared: {'; '.join(left)}."
        if self.after.num_rows:
            by = "row id" if self.key == (ROW_ID,) else ", ".join(self.key)
            text += f" Rows are the same by {by}."
        elif not self.key and self.inserted.num_rows and self.deleted.num_rows:
            text += " Nothing tells which of them are the same row: name a key."
        if self.num_repeated:
            occur = "occurs" if self.num_repeated == 1 else "occur"
            text += f" {count(self.num_repeated, 'value')} of the key {occur} more than once; "
            text += "these rows are not matched."
        size = render_byte_size(self.bytes_read)
        return f"{text} {count(self.files_read, 'file')} read ({size})."


_SIDES: Final = {
    False: ("older version", "newer version"),
    True: ("first table", "second table"),
}
_KINDS: Final = {
    False: ("changed", "inserted", "deleted"),
    True: ("with other values", "only in the second table", "only in the first table"),
}


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def row_differences(  # noqa: PLR0913 - what is known already, among what can be set
    older: Snapshot,
    newer: Snapshot,
    key: Sequence[str] | None = None,
    *,
    most_bytes: int = MOST_BYTES,
    files: FileChanges | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> RowDifferences:
    """The rows that differ, by reading the files that differ: `files`, where it is known already
    what `explorer.diff(older, newer).files` says.

    The same row is known again by its row id where one table tracks rows in both versions, else
    by the columns `key`, else by the first column that is named like a key and has no value twice
    in the files that are read. Raises `InvalidArgumentError` for a key that is not in both
    versions, and what reading rows raises.
    """
    watch = Watch(progress=progress, cancel=cancel)
    columns = _columns(older, newer)
    shared = columns.shared
    unknown = [name for name in key or () if name not in shared.values()]
    if unknown and shared:
        raise InvalidArgumentError(
            f"{unknown[0][:120]!r} is not a column of both versions.",
            reason="The same row is looked for by the values of its key.",
            remedy=f"Choose from {', '.join([*shared.values()][:12])}.",
        )
    if files is None:
        files = diff(older, newer, progress=progress, cancel=cancel).files
    sides = (_files_of(files, older, "removed"), _files_of(files, newer, "added"))
    size = sum(sum_of(some.column("size")) for some in sides)
    tracked = _are_tracked(older, newer)
    total = sum(some.num_rows for some in sides)
    nothing = partial(_nothing, older, newer, columns)
    if not shared and total:
        return nothing("no column is in both versions")
    if size > most_bytes:
        told = f"{count(total, 'file')} ({render_byte_size(size)}) would have to be read"
        return nothing(f"{told}, more than {render_byte_size(most_bytes)}")
    read = partial(_read, watch=watch, tracked=tracked)
    then, gone = _as_in_newer(older, newer, columns), with_logical_names(sides[0], shared)
    before = read(then, gone, list(shared.values()), MOST_ROWS)
    after = None
    if before is not None:
        after = read(newer, sides[1], list(shared.values()), MOST_ROWS - before.num_rows)
    if before is None or after is None:
        return nothing(f"there are more than {MOST_ROWS:,} of them")
    names = [*shared.values(), *([ROW_ID] if tracked else [])]
    before = _widened(before.rename_columns(names), after, columns.widened)
    after = _widened(after, before, columns.narrowed)
    found = _compare(before, after, key, tracked=tracked)
    return replace(found, is_of_two_tables=older.metadata.id != newer.metadata.id,
                   older=older.version, newer=newer.version, files_read=total,
                   bytes_read=size, only_in_older=columns.only_in_older,
                   only_in_newer=columns.only_in_newer)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """The columns of both versions, by their name in the older one, and those of one alone;
    of those of both the ones that are `widened` in the newer version, or `narrowed`, and those
    whose `inner` fields can be read as the newer version has them."""

    shared: dict[str, str]
    only_in_older: tuple[str, ...]
    only_in_newer: tuple[str, ...]
    widened: tuple[str, ...]
    narrowed: tuple[str, ...]
    inner: frozenset[str]


def _columns(older: Snapshot, newer: Snapshot) -> _Columns:
    shared, before, after = dict[str, str](), list[str](), list[str]()
    widened, narrowed = list[str](), list[str]()
    for match in match_schemas(older, newer):
        if isinstance(match, MatchedType):
            continue
        if len(match.path_after or match.path_before) != 1:
            continue
        if match.before is not None and match.after is not None:
            shared[match.before.name] = match.after.name
            kinds = match.before.data_type, match.after.data_type
            if is_widening(*kinds):
                widened.append(match.after.name)
            elif is_widening(*reversed(kinds)):
                narrowed.append(match.after.name)
        elif match.before is not None:
            before.append(match.before.name)
        elif match.after is not None:
            after.append(match.after.name)
    return _Columns(shared=shared, only_in_older=tuple(before), only_in_newer=tuple(after),
                    widened=tuple(widened), narrowed=tuple(narrowed),
                    inner=_inner(older, newer))  # fmt: skip


def _inner(older: Snapshot, newer: Snapshot) -> frozenset[str]:
    """Nested columns of the newer version in which no type is another one than it was, but for
    wider ones."""
    found, others = set[str](), set[str]()
    for match in match_schemas(older, newer):
        if not isinstance(match, MatchedType):
            continue
        is_nested = isinstance(match.after, StructType | ArrayType | MapType)
        if is_nested and len(match.path_after) == 1:
            found.add(match.path_after[0])
        if is_nested and type(match.before) is type(match.after):
            continue
        if match.before != match.after and not is_widening(match.before, match.after):
            others.add(match.path_after[0])
    return frozenset(found - others)


def _as_in_newer(older: Snapshot, newer: Snapshot, columns: _Columns) -> Snapshot:
    """The older version with its columns, and the fields inside them, called as in the newer one;
    each column has the type that it had."""
    protocol, metadata = columns_as_in(older, newer)
    own = {columns.shared[item.name]: item.data_type for item in older.schema.fields
           if item.name in columns.shared}  # fmt: skip
    fields = [
        item
        if item.name in columns.inner or item.name not in own
        else replace(item, data_type=own[item.name])
        for item in parse_schema(metadata.schema_string).fields
    ]
    schema = render_schema(StructType(fields=tuple(fields)))
    return older.described_by(protocol, replace(metadata, schema_string=schema))


def _widened(rows: pa.Table, other: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows with some columns as wide as the other side has them: 1 and 1.00 are the same."""
    for name in names:
        at = rows.schema.get_field_index(name)
        try:
            column = rows.column(at).cast(other.schema.field(name).type)
        except pa.ArrowException:
            continue  # a day of a year that no timestamp reaches
        rows = rows.set_column(at, pa.field(name, column.type), column)
    return rows


def _are_tracked(older: Snapshot, newer: Snapshot) -> bool:
    names = {*older.schema.names, *newer.schema.names}
    is_one = older.metadata.id == newer.metadata.id
    both = layout_of(older).tracks_rows and layout_of(newer).tracks_rows
    return is_one and both and ROW_ID not in names


def _files_of(files: FileChanges, snapshot: Snapshot, kind: str) -> pa.Table:
    """The files of one side that the other has not, or has otherwise."""
    own = (files.removed if kind == "removed" else files.added).select(FILE_COLUMNS)
    if not files.num_changed:
        return own
    every = snapshot.files(FILE_COLUMNS)
    changed = every.filter(pc.is_in(every.column("path"), files.changed.column("path")))
    return pa.concat_tables([own, changed.select(FILE_COLUMNS)])


def _read(
    snapshot: Snapshot,
    files: pa.Table,
    names: Sequence[str],
    most: int,
    *,
    watch: Watch,
    tracked: bool,
) -> pa.Table | None:
    """The rows of some files; None where there are more than `most`."""
    extra = [ROW_ID] if tracked else []
    request = build_request(layout_of(snapshot), names, extra)
    scan = RowScan(snapshot=snapshot, request=request, files=files)
    batches, held = [], 0
    for batch in scan.batches(watch=watch):
        held += batch.num_rows
        if held > most:
            return None
        batches.append(batch)
    return pa.Table.from_batches(batches, scan.schema)


def _nothing(older: Snapshot, newer: Snapshot, columns: _Columns, reason: str) -> RowDifferences:
    request = build_request(layout_of(newer), list(columns.shared.values()))
    empty = request.schema.empty_table()
    return RowDifferences(
        is_of_two_tables=older.metadata.id != newer.metadata.id,
        older=older.version, newer=newer.version, inserted=empty, deleted=empty, before=empty,
        after=empty, key=(), files_read=0, bytes_read=0, only_in_older=columns.only_in_older,
        only_in_newer=columns.only_in_newer, reason=reason,
    )  # fmt: skip


def _compare(
    before: pa.Table, after: pa.Table, key: Sequence[str] | None, *, tracked: bool
) -> RowDifferences:
    names = [name for name in after.column_names if not (tracked and name == ROW_ID)]
    images = [_keys(rows, names) for rows in (before, after)]
    kinds = [("delete", text) for text in images[0]] + [("insert", text) for text in images[1]]
    same = in_both(kinds)
    gone = before.take(_places(same[: len(images[0])]))
    new = after.take(_places(same[len(images[0]) :]))
    chosen = (ROW_ID,) if tracked else tuple(key or _find_key(before, after, names))
    pairs, repeated = _pairs(gone, new, chosen) if chosen else ([], 0)
    left, right = {old for old, _ in pairs}, {at for _, at in pairs}
    rest = [
        rows.take(pa.array([at for at in range(rows.num_rows) if at not in paired], pa.int64()))
        for rows, paired in ((gone, left), (new, right))
    ]
    return RowDifferences(
        older=0,
        newer=0,
        deleted=rest[0].select(names),
        inserted=rest[1].select(names),
        before=gone.take(pa.array([old for old, _ in pairs], pa.int64())).select(names),
        after=new.take(pa.array([at for _, at in pairs], pa.int64())).select(names),
        key=chosen,
        num_repeated=repeated,
        files_read=0,
        bytes_read=0,
    )


def _keys(rows: pa.Table, names: Sequence[str]) -> list[str]:
    """What a row holds in some columns, so that the same values are the same text."""
    columns = [plain_values(rows.column(name)) for name in names]
    return [repr(row) for row in zip(*columns, strict=True)] if names else [""] * rows.num_rows


def _places(same: Sequence[bool]) -> pa.Array:
    return pa.array([at for at, is_same in enumerate(same) if not is_same], pa.int64())


def _find_key(before: pa.Table, after: pa.Table, names: Sequence[str]) -> tuple[str, ...]:
    """The first column named like a key that has no value twice on either side, among all rows
    that were read: rows that differ are few, and many a column tells so few apart. Unrelated
    rows would stand as one changed row by `status`, or by the key of something else."""
    named = [name for name in names if is_named_like_a_key(name)]
    other = set(key_columns(after.select(named)))
    return next(((name,) for name in key_columns(before.select(named)) if name in other), ())


def pair_by_key(before: pa.Table, after: pa.Table, names: Sequence[str]) -> list[int] | None:
    """For each row before a change the place of the same row after it, by a column of `names` that
    is named like a key; None where no such column tells all of them apart."""
    key = _find_key(before, after, names)
    pairs = _pairs(before, after, key)[0] if key else []
    return [place for _, place in pairs] if len(pairs) == before.num_rows else None


def _pairs(gone: pa.Table, new: pa.Table, key: Sequence[str]) -> tuple[list[tuple[int, int]], int]:
    """Places of the same row on both sides, by keys that each side has once; and how many keys
    a side has more than once."""
    values = [_keys(rows, key) for rows in (gone, new)]
    counts = [Counter(texts) for texts in values]
    places = {text: at for at, text in enumerate(values[1])}
    pairs = [
        (at, places[text])
        for at, text in enumerate(values[0])
        if counts[0][text] == counts[1][text] == 1
    ]
    repeated = {text for texts in counts for text, number in texts.items() if number > 1}
    return pairs, len(repeated)


def _ask(  # the parameters of an answer
    table: Table,
    progress: ProgressCallback | None,
    *,
    older: int,
    newer: int,
    against: Table | None = None,
    key: Sequence[str] | None = None,
) -> RowDifferences:
    start = table.snapshot(version=older, progress=progress)
    end = (against or table).snapshot(version=newer, progress=progress)
    return row_differences(start, end, key, progress=progress)


def _documents(found: RowDifferences, limit: int | None) -> Iterator[Document]:
    def some(rows: pa.Table) -> list[dict[str, Any]]:
        return list(row_objects(rows if limit is None else rows.slice(0, limit)))

    changed = zip(some(found.before), some(found.after), strict=True)
    yield {
        "older": found.older,
        "newer": found.newer,
        "sentence": found.sentence,
        "num_inserted": found.inserted.num_rows,
        "num_deleted": found.deleted.num_rows,
        "num_changed": found.after.num_rows,
        "key": list(found.key),
        "num_repeated": found.num_repeated,
        "inserted": some(found.inserted),
        "deleted": some(found.deleted),
        "changed": [{"before": old, "after": new} for old, new in changed],
        "files_read": found.files_read,
        "bytes_read": found.bytes_read,
        "only_in_older": list(found.only_in_older),
        "only_in_newer": list(found.only_in_newer),
        "reason": found.reason,
    }


ROW_DIFFERENCES: Final = Answer(
    name="row_differences",
    parameters=(
        Parameter(name="older", kind="whole", is_required=True),
        Parameter(name="newer", kind="whole", is_required=True),
        Parameter(name="against", kind="text"),
        Parameter(name="key", kind="text", repeats=True),
        LIMIT,
    ),
    ask=_ask,
    documents=_documents,
    reads="files",
)
