"""`numRecords` of statistics, without parsing the rest of them (spec: Per-file Statistics)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import int64_column, int64_scalar
from explorer.log.plain_arrays import ZERO, Flags, Numbers, build_array, read_flags
from explorer.log.single_count import parse_count
from explorer.log.text_bytes import offsets_of

_HEAD: Final = b'{"numRecords":'
_DIGITS: Final = 18
"""A number of so few fits into 63 bits."""
_ZERO: Final = np.uint8(ord("0"))
_COMMA, _CLOSE = b",}"  # their numbers

# scalars by way of arrays: plain values would make pyarrow import pandas
_NONE = int64_scalar(None)

# below this, reading one by one is cheaper than halving once more
_ONE_BY_ONE = 64


def record_counts(stats: pa.ChunkedArray, parsed: pa.ChunkedArray | None) -> pa.ChunkedArray:
    """Physical rows per file: `parsed` where it speaks, else from the JSON in `stats`.

    Null where neither says, and where the number is none.
    """
    if parsed is not None and not pa.types.is_integer(parsed.type):
        parsed = None  # a column of another type says nothing
    if parsed is not None:
        counts = pc.cast(parsed, pa.int64(), safe=False)  # beyond 63 bits: less than none
        parsed = pc.if_else(pc.less(counts, ZERO), _NONE, counts)  # fewer than none is not a count
        if parsed.null_count == 0:
            return parsed
    chunks = [_counts(chunk) for chunk in stats.chunks]
    found = pa.chunked_array(chunks, pa.int64())
    return found if parsed is None else pc.coalesce(parsed, found)


def _counts(stats: pa.Array) -> pa.Array:
    """Nearly every writer puts the number first, and there it is taken as it stands,
    without parsing the rest: many times faster. (Of two keys of that name in one object
    the first counts then; such statistics have no right answer.)"""
    numbers, plain = _read_first(stats)
    counts = build_array(numbers, None if plain.all() else ~plain)
    if plain.all():
        return counts
    others = build_array(~plain)
    if stats.null_count:
        others = pc.and_(pc.is_valid(stats), others)
    if not pc.any(others).as_py():
        return counts
    return pc.replace_with_mask(counts, others, _read(pc.filter(stats, others)))


def _read_first(stats: pa.Array) -> tuple[Numbers, Flags]:
    """The numbers of texts that begin as `COUNT_FIRST` and end as an object, and which do; a
    digit of all texts at a time, which takes a third of what a regular expression does."""
    numbers = np.zeros(len(stats), np.int64)
    if not len(stats) or stats.null_count == len(stats) or stats.buffers()[2] is None:
        return numbers, np.zeros(len(stats), np.bool_)
    offsets = offsets_of(stats).astype(np.int64)
    data = np.frombuffer(stats.buffers()[2], np.uint8)
    starts, last = offsets[:-1], offsets[1:] - 1
    shortest = len(_HEAD) + len("0}")
    plain: Flags = (last - starts + 1) >= shortest
    if stats.null_count:
        plain &= read_flags(pc.is_valid(stats))
    if not plain.any():
        return numbers, plain
    words: npt.NDArray[np.uint64] = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))
    for at in (0, len(_HEAD) - 8):  # they overlap
        found = words[np.minimum(starts + at, len(words) - 1)]
        plain &= found == int.from_bytes(_HEAD[at : at + 8], "little")
    plain &= data[np.maximum(last, 0)] == _CLOSE
    digits = np.zeros(len(stats), np.int64)
    reads = plain.copy()
    for at in range(_DIGITS + 1):
        letters = data[np.minimum(starts + (len(_HEAD) + at), last)]
        values = letters - _ZERO
        reads &= values <= 9  # below "0" the difference is great as well
        if not reads.any():
            break
        if at == _DIGITS:
            plain &= ~reads
            break
        np.copyto(numbers, numbers * 10 + values, where=reads)
        digits += reads
    ends = data[np.minimum(starts + len(_HEAD) + digits, last)]
    plain &= (digits > 0) & ((ends == _COMMA) | (ends == _CLOSE))
    # no number but zero itself begins with a zero
    plain &= (digits == 1) | (data[np.minimum(starts + len(_HEAD), last)] != _ZERO)
    return numbers, plain


def _read(stats: pa.Array) -> pa.Array:
    """Counts of strings without nulls, by pyarrow's reader; halved where it refuses."""
    try:
        return _read_at_once(stats)
    except (pa.ArrowException, ValueError):
        if len(stats) <= _ONE_BY_ONE:
            return int64_column([parse_count(text) for text in stats.to_pylist()])
        middle = len(stats) // 2
        halves = [_read(stats.slice(0, middle)), _read(stats.slice(middle))]
        return pa.concat_arrays(halves)


def _read_at_once(stats: pa.Array) -> pa.Array:
    import pyarrow.json as pj  # noqa: PLC0415  # only where counts are asked for

    # Objects follow each other without a separator, so each string must be one: it
    # looks like one, and no border between two objects is inside of any. Then n
    # objects have n - 1 borders, the places where the strings meet.
    whole = pc.and_(pc.starts_with(stats, "{"), pc.ends_with(stats, "}"))
    border = pc.match_substring_regex(stats, r"\}\s*\{")
    if not pc.all(whole).as_py() or pc.any(border).as_py():
        raise ValueError("not all statistics are one object")
    offsets = memoryview(stats.buffers()[1]).cast("i")
    start, end = offsets[stats.offset], offsets[stats.offset + len(stats)]
    data = stats.buffers()[2].slice(start, end - start)
    table = pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=end - start + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema([("numRecords", pa.int64())]),
            unexpected_field_behavior="ignore",
        ),
    )
    if table.num_rows != len(stats):
        raise ValueError("statistics ran into each other")
    counts = table.column("numRecords").combine_chunks()
    if (least := pc.min(counts).as_py()) is not None and least < 0:
        raise ValueError("a count below zero")
    return counts
