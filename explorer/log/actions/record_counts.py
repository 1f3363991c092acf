"""`numRecords` of statistics, without parsing the rest of them (spec: Per-file Statistics)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int64_column, int64_scalar
from explorer.log.plain_arrays import FALSE, ZERO
from explorer.log.single_count import COUNT_FIRST, parse_count

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
    heads = pc.extract_regex(stats, COUNT_FIRST)
    numbers = pc.cast(pc.struct_field(heads, "count"), pa.int64())
    plain = pc.coalesce(pc.and_(pc.is_valid(heads), pc.ends_with(stats, "}")), FALSE)
    others = pc.and_(stats.is_valid(), pc.invert(plain))
    if not pc.any(others).as_py():
        return numbers
    return pc.replace_with_mask(numbers, others, _read(stats.filter(others)))


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
