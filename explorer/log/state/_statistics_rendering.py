"""Statistics of a checkpoint's columns as JSON (spec: Per-file Statistics, Checkpoints).

A checkpoint may have them as columns alone (`stats_parsed`). The text that is made of
them says the same as a commit would: times in ISO 8601 with as many digits as they
need, decimals in their own digits, and nothing of what is null or empty. NaN and infinity,
which JSON has no number for, bound nothing and are left out.
"""

from __future__ import annotations

from typing import Final

import orjson
import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import string_column, string_scalar
from explorer.log.calendar_texts import render_calendar

# scalars by way of an array: plain values would make pyarrow import pandas
_OPEN, _CLOSE, _EMPTY, _QUOTE, _NOTHING, _ZONE = (
    string_column(["{", "}", "{}", '"', "", "Z"])[at] for at in range(6)
)
_TO_ESCAPE: Final = r'[\x00-\x1f"\\]'
_NO_NUMBER: Final = r"[a-z]{3}"
"""How Arrow writes NaN and infinity; the `e` of an exponent has no letter beside it."""


def render_statistics(structs: pa.StructArray) -> pa.Array:
    """One text for each value of `stats_parsed`, null where it is null."""
    return _render_struct(structs)


def _render_struct(structs: pa.StructArray) -> pa.Array:
    pairs = []
    for field, values in zip(structs.type, structs.flatten(), strict=True):
        if (text := _render(values)) is not None:
            name = string_scalar(f",{orjson.dumps(field.name).decode()}:")
            pair = pc.binary_join_element_wise(name, text, _NOTHING)
            pairs.append(pc.coalesce(pair, _NOTHING))
    inside = pc.binary_join_element_wise(*(pairs or [_NOTHING]), _NOTHING)
    # each pair brings its comma; the first one has nothing to stand behind
    inside = pc.replace_substring(inside, ",", "", max_replacements=1)
    valid = pc.if_else(structs.is_valid(), _OPEN, pa.nulls(1, pa.string())[0])
    return pc.binary_join_element_wise(valid, inside, _CLOSE, _NOTHING)


def _render(values: pa.Array) -> pa.Array | None:
    """The JSON of each value; None for a type that statistics never have."""
    kind, types = values.type, pa.types
    if types.is_struct(kind):
        text = _render_struct(values)
        return pc.if_else(pc.equal(text, _EMPTY), pa.nulls(len(text), pa.string()), text)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return _render_strings(values.cast(pa.string()))
    if types.is_timestamp(kind):
        return _quoted(_render_times(values))
    if types.is_date(kind):
        return _quoted(render_calendar(values))
    if types.is_floating(kind):
        # of a narrower float the digits of its own, as its writer had them
        text = pc.cast(values, pa.string())
        none = pc.match_substring_regex(text, _NO_NUMBER)
        return pc.if_else(none, pa.nulls(len(text), pa.string()), text)
    is_number = types.is_integer(kind) or types.is_decimal(kind)
    return pc.cast(values, pa.string()) if is_number or types.is_boolean(kind) else None


def _quoted(text: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(_QUOTE, text, _QUOTE, _NOTHING)


def _render_strings(values: pa.Array) -> pa.Array:
    odd = pc.match_substring_regex(values, _TO_ESCAPE)
    plain = _quoted(values)
    if not pc.any(odd).as_py():
        return plain
    escaped = [
        None if not is_odd else orjson.dumps(text).decode()
        for text, is_odd in zip(values.to_pylist(), odd.to_pylist(), strict=True)
    ]
    return pc.coalesce(string_column(escaped), plain)


def _render_times(values: pa.Array) -> pa.Array:
    kind = values.type
    text = render_calendar(pc.cast(values, pa.timestamp(kind.unit)))
    text = pc.replace_substring_regex(text, r"^([+0-9-]+) ", r"\1T")
    # as a commit has them, unless the digits say more than milliseconds
    text = pc.replace_substring_regex(text, r"(:[0-9]{2})$", r"\1.000")
    text = pc.replace_substring_regex(text, r"(\.[0-9]{3})0+$", r"\1")
    if kind.tz is None:
        return text
    return pc.binary_join_element_wise(text, _ZONE, _NOTHING)
