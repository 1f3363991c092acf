"""Statistics of the files that a commit brings (spec: Per-file Statistics, Column Mapping).

What a writer leaves out, or says in a way that bounds nothing (a null, NaN as text), is no
mistake: such a file is read. What contradicts itself is: files are skipped by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.log.actions.columns import int32_column, string_scalar
from explorer.log.plain_arrays import FALSE, ZERO
from explorer.log.statistics.single_text import Leaves
from explorer.log.statistics.statistics_text import ParsedTexts, parse_statistics_texts
from explorer.log.statistics.statistics_values import parse_times
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.column_mapping import physical_name, physical_path
from explorer.protocol.hooked_json import refuse_constant, without_duplicates
from explorer.protocol.schema import StructType
from explorer.protocol.schema_walk import leaf_fields
from explorer.protocol.table_properties.known_properties import MappingMode
from explorer.scan.statistics.column_statistics import StatisticsColumn
from explorer.table.counts import have
from explorer.transaction.rules.change import Change, Described, Problems, problem, shown

_SPEC: Final = "Per-file Statistics"
_LINE = string_scalar("\n")
_AT_ONCE: Final = 8192
_MANY_COLUMNS: Final = 100
_NAMES_AT_ONCE: Final = 200

_ROWS: Final = ("numRecords",)
_TIGHT: Final = ("tightBounds",)
_BOUNDS: Final = ("minValues", "maxValues")
_NULLS: Final = "nullCount"
_PARTS: Final = (*_BOUNDS, _NULLS)
_MOST_ROWS: Final = 2**63 - 1
# numbers that JSON has not; in quotes they are what the reference writes
_NO_JSON: Final = r"[:\[,]\s*-?(?:NaN|Infinity)"

_UNREADABLE: Final = "that are not a JSON object, or count what cannot be counted"
_CONTRADICTING: Final = "that contradict themselves"
_MISNAMED: Final = "that name columns otherwise than files do"


def validate_statistics(change: Change) -> Problems:
    """Statistics of a new file are one JSON object: whole numbers of rows and nulls, no more
    of these than of those, no least value above the greatest, columns by their names in files."""
    files = change.new_files.select(["path", "stats"])
    if files.column("stats").null_count == files.num_rows:
        return
    columns = _columns(change.after)
    misnamed = _Names.of(change.after)
    wrong: dict[str, list[str]] = {_UNREADABLE: [], _CONTRADICTING: [], _MISNAMED: []}
    for start in range(0, files.num_rows, _AT_ONCE):
        part = files.slice(start, _AT_ONCE)
        part = part.filter(part.column("stats").is_valid())
        texts, paths = (part.column(name).combine_chunks() for name in ("stats", "path"))
        told = _spoken_of(columns, texts)
        said = parse_statistics_texts(texts, _leaves(told))
        for what, places in (
            (_UNREADABLE, _unreadable(texts, said)),
            (_CONTRADICTING, _contradicting(said, told)),
            (_MISNAMED, misnamed.places(texts)),
        ):
            wrong[what] += [str(paths[at].as_py()) for at in places]
    for what, names in wrong.items():
        if names:
            yield _statistics(f"{have(len(names), 'file')} statistics {what}: {shown(names)}.")


def _columns(after: Described) -> list[StatisticsColumn]:
    partitions = set(after.metadata.partition_columns)
    return [
        StatisticsColumn(
            path=place.names,
            physical=physical_path(place, after.mode),
            data_type=place.field.data_type,
        )
        for place in leaf_fields(after.schema)
        if place.depth or place.field.name not in partitions
    ]


def _spoken_of(columns: list[StatisticsColumn], texts: pa.Array) -> list[StatisticsColumn]:
    """Those of many columns that some text may name: a table has thousands, its statistics
    speak of the first few, and to look for the others takes longer than all else."""
    if len(columns) <= _MANY_COLUMNS or not len(texts):
        return columns
    import pyarrow.json as pj  # noqa: PLC0415  # only where there are many columns

    lines = pc.binary_join(pa.ListArray.from_arrays(int32_column([0, len(texts)]), texts), _LINE)
    data = lines.buffers()[2]
    options = pj.ReadOptions(use_threads=False, block_size=data.size + 1)
    try:
        body = pj.read_json(pa.BufferReader(data), read_options=options).schema
    except pa.ArrowException:  # a text is none, or two are at odds
        return columns
    named = {way for field in body if field.name in _PARTS for way in _ways(field.type)}
    return [column for column in columns if column.physical in named]


def _ways(kind: pa.DataType) -> Iterator[FieldPath]:
    for field in kind if pa.types.is_struct(kind) else ():
        yield (field.name,)
        yield from ((field.name, *way) for way in _ways(field.type))


def _leaves(columns: Sequence[StatisticsColumn]) -> Leaves:
    leaves: dict[FieldPath, pa.DataType] = {_ROWS: pa.int64(), _TIGHT: pa.bool_()}
    for column in columns:
        leaves[_NULLS, *column.physical] = pa.int64()
        if (kind := column.bound_type) is not None:
            written = pa.string() if pa.types.is_temporal(kind) else kind
            leaves |= {(side, *column.physical): written for side in _BOUNDS}
    return leaves


def _unreadable(texts: pa.Array, said: ParsedTexts) -> list[int]:
    """Those that are not JSON, or whose counts are none; only what looks so is looked at. A
    bound of another type than the column's bounds nothing, for no reader."""
    odd = pc.indices_nonzero(pc.match_substring_regex(texts, _NO_JSON)).to_pylist()
    return [at for at in sorted({*said.bad, *odd}) if not _counts_well(texts[at].as_py())]


def _counts_well(text: str) -> bool:
    try:
        body = json.loads(
            text, object_pairs_hook=without_duplicates, parse_constant=refuse_constant
        )
    except (ValueError, RecursionError):
        return False
    if not isinstance(body, dict) or not isinstance(body.get(*_TIGHT), bool | None):
        return False
    rows = body.get(*_ROWS)
    if not _is_count(rows) or any(not isinstance(body.get(name), dict | None) for name in _PARTS):
        return False
    pending = [body.get(_NULLS)]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            pending += found.values()
        elif not _is_count(found, rows):
            return False
    return True


def _is_count(value: Any, most: int | None = None) -> bool:
    """Whether this may be a number of rows; what is not said may be anything."""
    if value is None:
        return True
    limit = _MOST_ROWS if most is None else most
    return type(value) is int and 0 <= value <= limit


def _contradicting(said: ParsedTexts, columns: Sequence[StatisticsColumn]) -> list[int]:
    """Those with fewer rows or nulls than none, more nulls than rows, or a least value that
    is greater than the greatest."""
    rows = said.columns[_ROWS]
    wrong = pc.less(rows, ZERO)
    for column in columns:
        nulls = said.columns[_NULLS, *column.physical]
        if nulls.null_count < len(nulls):
            beyond = pc.coalesce(pc.greater(nulls, rows), FALSE)
            wrong = pc.or_kleene(wrong, pc.or_(pc.less(nulls, ZERO), beyond))
        wrong = pc.or_kleene(wrong, _crossed(said, column, len(rows)))
    return [int(at) for at in pc.indices_nonzero(pc.coalesce(wrong, FALSE)).to_pylist()]


def _crossed(said: ParsedTexts, column: StatisticsColumn, size: int) -> pa.Array:
    nothing = pa.nulls(size, pa.bool_())
    if (kind := column.bound_type) is None:
        return nothing
    low, high = (said.columns[side, *column.physical] for side in _BOUNDS)
    if size in {low.null_count, high.null_count}:
        return nothing
    if pa.types.is_temporal(kind):
        try:
            low, high = (parse_times(side, kind)[0] for side in (low, high))
        except pa.ArrowInvalid:  # one of them is not a day at all
            return nothing
    return pc.greater(low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The names of a mapped struct's fields in files, with the structs among them, and those
    in the table that are not a field's name in files."""

    inner: Mapping[str, _Names | None]
    logical: frozenset[str]

    @classmethod
    def of(cls, after: Described) -> _Names:
        """Those of a table; without mapping there are none to mistake."""
        if after.mode == "none":
            return cls(inner={}, logical=frozenset())
        return cls._of(after.schema, after.mode, after.metadata.partition_columns)

    @classmethod
    def _of(cls, struct: StructType, mode: MappingMode, partitions: Sequence[str] = ()) -> _Names:
        inner = {
            physical_name(item, mode): cls._of(item.data_type, mode)
            if isinstance(item.data_type, StructType)
            else None
            for item in struct.fields
        }
        return cls(inner=inner, logical=frozenset(struct.names) - inner.keys() - set(partitions))

    def places(self, texts: pa.Array) -> list[int]:
        """The texts that name a column as the table does, and no file; where the names of
        two columns are those of each other, it is unknown."""
        found: set[int] = set()
        names = sorted(self._every_logical())
        for start in range(0, len(names), _NAMES_AT_ONCE):
            some = names[start : start + _NAMES_AT_ONCE]
            quoted = "|".join(re.escape(orjson.dumps(name).decode()[1:-1]) for name in some)
            # a letter may be spelled by its number
            pattern = rf'"(?:{quoted})"\s*:|\\u[0-9a-fA-F]{{4}}'
            named = pc.match_substring_regex(texts, pattern)
            found.update(pc.indices_nonzero(named).to_pylist())
        return [at for at in sorted(found) if self._misnames(texts[at].as_py())]

    def _misnames(self, text: str) -> bool:
        try:
            body = orjson.loads(text)
        except orjson.JSONDecodeError:
            return False  # told as unreadable
        parts = [body.get(name) for name in _PARTS] if isinstance(body, dict) else []
        return any(self._is_named_in(part) for part in parts)

    def _is_named_in(self, part: Any) -> bool:
        if not isinstance(part, dict):
            return False
        if not self.logical.isdisjoint(part):
            return True
        inner = ((self.inner.get(name), value) for name, value in part.items())
        return any(names is not None and names._is_named_in(value) for names, value in inner)

    def _every_logical(self) -> set[str]:
        inner = (names._every_logical() for names in self.inner.values() if names is not None)
        return set(self.logical).union(*inner)


def _statistics(text: str) -> Problem:
    return problem(
        text,
        "Readers skip a file by its statistics, and would miss rows where these are wrong.",
        spec=_SPEC,
        remedy="Compute the statistics of these files again, or leave them out.",
        kind="log_corrupt",
    )
