"""Chosen leaves of statistics in JSON, many files at a time (spec: Per-file Statistics).

Texts that are alike but for their values come first (see `uniform_texts`). pyarrow's
reader takes what is left of a whole batch, and refuses all of it for one bad value.
Then those that look bad are read one by one, and the others at once again: a file with
a bad value loses its statistics, and no other file does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import (
    bool_column,
    float64_column,
    int32_column,
    int64_column,
    string_column,
    string_scalar,
)
from explorer.log.plain_arrays import build_array
from explorer.log.statistics._uniform_texts import read_uniform
from explorer.log.statistics.single_text import (
    TINY_NUMBER,
    Leaves,
    holds_decimals,
    read_one,
    repeats_names,
    sort_out,
)
from explorer.protocol.actions import FieldPath
from explorer.records import record

# small enough to stay in a processor's cache, where it is twice as fast
_AT_ONCE = 8192
_BYTES_AT_ONCE = 32 * 2**20

_FEW = 4
_BUILDERS = {
    pa.int64(): int64_column,
    pa.float64(): float64_column,
    pa.bool_(): bool_column,
    pa.string(): string_column,
}
"""Without `pyarrow.array`, which would import pandas."""

# a scalar by way of an array: a plain value would make pyarrow import pandas
_LINE_END = string_scalar("\n")
# what Spark writes where JSON has no number; a bound of this kind bounds nothing
_NO_NUMBER = r':\s*"(NaN|-?Infinity)"'


@record
class ParsedTexts:
    """A column of values for each leaf, null where a text does not say; `bad` are the
    positions of texts that cannot be read, all of whose values are null."""

    columns: Mapping[FieldPath, pa.Array]
    bad: tuple[int, ...]


def parse_statistics_texts(texts: pa.Array, leaves: Leaves) -> ParsedTexts:
    """The leaves of statistics as stored in `stats`, null where there are none.

    The types may be int64, float, double, bool, string and decimal128; text that
    means NaN or infinity where a number belongs is null.
    """
    if texts.null_count == len(texts):
        return ParsedTexts(
            columns={path: _nothing(len(texts), kind) for path, kind in leaves.items()}, bad=()
        )
    present = texts.drop_null() if texts.null_count else texts
    step = _step(present)
    pieces = [
        _read(present.slice(start, step), start, leaves) for start in range(0, len(present), step)
    ]
    columns = {
        path: _joined([piece.columns[path] for piece in pieces], kind)
        for path, kind in leaves.items()
    }
    bad = tuple(at for piece in pieces for at in piece.bad)
    if len(present) == len(texts):
        return ParsedTexts(columns=columns, bad=bad)
    mask = texts.is_valid()
    spread = {path: _spread(mask, column, column.type) for path, column in columns.items()}
    places = pc.indices_nonzero(mask).take(int32_column(bad)).to_pylist() if bad else ()
    return ParsedTexts(columns=spread, bad=tuple(places))


def _nothing(size: int, kind: pa.DataType) -> pa.Array:
    return _kept_nothing(size, kind) if size <= _AT_ONCE else pa.nulls(size, kind)


@lru_cache(maxsize=32)
def _kept_nothing(size: int, kind: pa.DataType) -> pa.Array:
    """Nulls; where a checkpoint has all statistics as structs, each of its pieces asks for the
    same ones, and making them takes longer than looking at them."""
    return pa.nulls(size, kind)


def _joined(pieces: list[pa.Array], kind: pa.DataType) -> pa.Array:
    if len(pieces) == 1:
        return pieces[0]
    return pa.concat_arrays(pieces) if pieces else pa.nulls(0, kind)


def _step(texts: pa.Array) -> int:
    size = max(int(texts.nbytes), 1)
    return max(1, min(_AT_ONCE, _BYTES_AT_ONCE * len(texts) // size))


def _read(texts: pa.Array, start: int, leaves: Leaves) -> ParsedTexts:
    if len(texts) <= _FEW and all(kind in _BUILDERS for kind in leaves.values()):
        # what reads many needs longer to begin than a handful takes one by one
        return _read_few(texts.to_pylist(), start, leaves)
    parts = read_uniform(texts, leaves)
    known = sum(len(part.rows) for part in parts)
    if len(parts) == 1 and known == len(texts):
        return ParsedTexts(columns=parts[0].columns, bad=())
    if not parts:
        return _read_any(texts, start, leaves)
    is_left = np.ones(len(texts), np.bool_)
    for part in parts:
        is_left[part.rows] = False
    left = np.flatnonzero(is_left)
    pieces = [part.columns for part in parts]
    bad: tuple[int, ...] = ()
    if len(left):
        others = _read_any(texts.take(build_array(left)), 0, leaves)
        pieces.append(others.columns)
        bad = tuple(start + int(left[at]) for at in others.bad)
    order = build_array(np.argsort(np.concatenate([*(part.rows for part in parts), left])))
    columns = {
        path: pa.concat_arrays([piece[path] for piece in pieces]).take(order) for path in leaves
    }
    return ParsedTexts(columns=columns, bad=bad)


def _read_few(texts: Sequence[str], start: int, leaves: Leaves) -> ParsedTexts:
    rows, bad = _rows_of(texts, leaves)
    columns = {
        path: _BUILDERS[kind]([row.get(path) for row in rows]) for path, kind in leaves.items()
    }
    return ParsedTexts(columns=columns, bad=tuple(start + at for at in bad))


def _read_any(texts: pa.Array, start: int, leaves: Leaves) -> ParsedTexts:
    try:
        return ParsedTexts(columns=_read_at_once(texts, leaves), bad=())
    except (pa.ArrowException, ValueError):
        pass
    if pc.any(pc.match_substring_regex(texts, _NO_NUMBER)).as_py():
        # also where it is the text of a string column: that one has no bound then
        plain = pc.replace_substring_regex(texts, _NO_NUMBER, ":null")
        if not pc.any(pc.match_substring_regex(plain, _NO_NUMBER)).as_py():
            return _read_any(plain, start, leaves)
    return _read_sorted_out(texts, start, leaves)


def _read_sorted_out(texts: pa.Array, start: int, leaves: Leaves) -> ParsedTexts:
    """The texts that look well at once, and the odd ones one by one."""
    strings = texts.to_pylist()
    looks = sort_out(strings, leaves)
    bad = [at for at, look in enumerate(looks) if look == "bad"]
    well = [look == "well" for look in looks]
    odd = [look == "odd" for look in looks]
    for _ in range(2):
        try:
            found = _read_at_once(texts.filter(bool_column(well)), leaves) if any(well) else {}
            break
        except (pa.ArrowException, ValueError):
            repeated = repeats_names(strings, leaves)
            odd = [
                look != "bad" and (repeats or is_odd)
                for look, repeats, is_odd in zip(looks, repeated, odd, strict=True)
            ]
            well = [is_well and not is_odd for is_well, is_odd in zip(well, odd, strict=True)]
    else:  # something that only pyarrow minds
        found, odd, well = {}, [look != "bad" for look in looks], [False] * len(looks)
    places = [at for at, is_odd in enumerate(odd) if is_odd]
    singles, refused = _read_one_by_one([strings[at] for at in places], leaves)
    masks = bool_column(well), bool_column(odd)
    columns = {
        path: pc.replace_with_mask(
            _spread(masks[0], found.get(path), kind), masks[1], singles[path]
        )
        for path, kind in leaves.items()
    }
    every = sorted([*bad, *(places[at] for at in refused)])
    return ParsedTexts(columns=columns, bad=tuple(start + at for at in every))


def _spread(mask: pa.Array, values: pa.Array | None, kind: pa.DataType) -> pa.Array:
    nothing = pa.nulls(len(mask), kind)
    return nothing if values is None else pc.replace_with_mask(nothing, mask, values)


def _read_at_once(texts: pa.Array, leaves: Leaves) -> dict[FieldPath, pa.Array]:
    import pyarrow.json as pj  # noqa: PLC0415  # only where statistics are asked for

    # Each text must be one object, or values would move to other files: it looks
    # like one, a line end is refused inside of strings, and nothing but a new
    # object may follow a closing brace and a line end.
    whole = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
    if not pc.all(whole).as_py():
        raise ValueError("not all statistics are one object")
    if holds_decimals(leaves) and pc.any(pc.match_substring_regex(texts, TINY_NUMBER)).as_py():
        raise ValueError("pyarrow ends the process at decimals with such exponents")
    lines = pa.ListArray.from_arrays(int32_column([0, len(texts)]), texts)
    joined = pc.binary_join(lines, _LINE_END)
    data = joined.buffers()[2]
    table = pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=data.size + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=_schema_of(leaves), unexpected_field_behavior="ignore"
        ),
    )
    if table.num_rows != len(texts):
        raise ValueError("statistics ran into each other")
    rows = table.combine_chunks().to_batches()
    return _leaves_of(rows[0], leaves)


def _leaves_of(rows: pa.RecordBatch, leaves: Leaves) -> dict[FieldPath, pa.Array]:
    """The columns of leaves; each struct is opened once, for it may have thousands."""
    opened: dict[FieldPath, dict[str, pa.Array]] = {
        (): dict(zip(rows.schema.names, rows.columns, strict=True))
    }

    def fields(parents: FieldPath) -> dict[str, pa.Array]:
        if parents not in opened:
            struct = fields(parents[:-1])[parents[-1]]
            names = [item.name for item in struct.type]
            opened[parents] = dict(zip(names, struct.flatten(), strict=True))
        return opened[parents]

    return {path: fields(path[:-1])[path[-1]] for path in leaves}


def _schema_of(leaves: Leaves) -> pa.Schema:
    tree: dict[str, Any] = {}
    for path, kind in leaves.items():
        inner = tree
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = kind
    return pa.schema(_fields(tree))


def _fields(tree: Mapping[str, Any]) -> list[pa.Field]:
    return [
        pa.field(name, pa.struct(_fields(kind)) if isinstance(kind, dict) else kind)
        for name, kind in tree.items()
    ]


def _read_one_by_one(
    texts: Sequence[str], leaves: Leaves
) -> tuple[dict[FieldPath, pa.Array], list[int]]:
    """The leaves of each text, and the positions of those that cannot be read."""
    rows, bad = _rows_of(texts, leaves)
    columns = {
        path: pa.array([row.get(path) for row in rows], kind) for path, kind in leaves.items()
    }
    return columns, bad


def _rows_of(texts: Sequence[str], leaves: Leaves) -> tuple[list[dict[FieldPath, Any]], list[int]]:
    rows: list[dict[FieldPath, Any]] = []
    bad: list[int] = []
    for at, text in enumerate(texts):
        try:
            rows.append(read_one(text, leaves))
        except (ValueError, RecursionError, ArithmeticError):
            rows.append({})
            bad.append(at)
    return rows, bad
