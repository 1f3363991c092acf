"""Variant columns of data files, whole and shredded
(spec: Variant Data Type, Variant Shredding; Parquet: Variant Shredding).

The group of a variant holds `metadata`, `value`, and where it is shredded a
`typed_value`: a plain column for one type, a struct with a group for each field,
or a list of groups. What did not fit into `typed_value` stands in `value`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, repeat
from typing import Any, Final, Literal, TypeAlias, TypeVar, overload
from uuid import UUID

import pyarrow as pa

from explorer.errors import UnsupportedError
from explorer.log.actions.columns import string_column
from explorer.protocol.values.variant import (
    SPEC,
    Float32,
    Temporal,
    TemporalKind,
    Variant,
    check_depth,
    make_time,
    parse_field_names,
    parse_variant,
    refuse,
)
from explorer.protocol.values.variant_rendering import plain_variant, render_variant

_KEPT_NAMES = 100_000
"""Names of dictionaries that are kept: files repeat one dictionary row after row."""


class _Missing:
    """Not a variant at all, as against the variant null."""


_MISSING: Final = _Missing()
_Found: TypeAlias = "Variant | _Missing"
_Of = TypeVar("_Of")


@overload
def decode_variant_column(physical: pa.Array, *, as_json: Literal[True] = True) -> pa.Array: ...
@overload
def decode_variant_column(physical: pa.Array, *, as_json: Literal[False]) -> list[Any]: ...
def decode_variant_column(physical: pa.Array, *, as_json: bool = True) -> pa.Array | list[Any]:
    """The variants of a column as it stands in a data file, one for each row.

    As JSON text in an array of strings, or as a list of Python values. A row without a
    variant is null; the variant null is the text `null`, and None in the list.
    Raises `CorruptDataError` for what breaks the encoding, `UnsupportedError` for
    types that are not known and for values too deep or too long.
    """
    storage = _storage(physical)
    if not as_json:
        return [None if found is _MISSING else plain_variant(found) for found in _rows(storage)]
    texts = [None if found is _MISSING else render_variant(found) for found in _rows(storage)]
    try:
        return string_column(texts)
    except OverflowError as error:
        raise UnsupportedError(
            "The variants of these rows are too long for one column of text.",
            reason="A column of strings holds 2 GiB.",
            remedy="Read fewer rows at once.",
            kind="limit_exceeded",
            spec=SPEC,
        ) from error


def _rows(column: pa.Array) -> Iterator[Any]:
    dictionaries = _child(column, "metadata")
    if dictionaries is None:
        refuse("Its column is not a struct with metadata.")
    present = column.is_valid().to_pylist()
    owned = _binaries(dictionaries, "metadata")
    if any(here and metadata is None for here, metadata in zip(present, owned, strict=True)):
        refuse("A value has no metadata.")
    found = _Group(_Names()).read(column, [metadata or b"" for metadata in owned], present, 0)
    for here, variant in zip(present, found, strict=True):
        # a value that is required and says nothing is the variant null
        yield (None if variant is _MISSING else variant) if here else _MISSING


class _Names:
    """The dictionaries that were parsed last, by their bytes."""

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[str, ...]] = {}
        self._count = 0

    def of(self, metadata: bytes) -> tuple[str, ...]:
        """The names of one dictionary."""
        names = self._kept.get(metadata)
        if names is None:
            names = parse_field_names(metadata)
            if self._count + len(names) + 1 > _KEPT_NAMES:
                self._kept.clear()
                self._count = 0
            self._kept[metadata] = names
            self._count += len(names) + 1
        return names


class _Group:
    """Puts the variants of groups of `value` and `typed_value` together."""

    def __init__(self, names: _Names) -> None:
        self._names = names

    def read(
        self, group: pa.Array, metadata: Sequence[bytes], present: Sequence[bool], depth: int
    ) -> Iterator[_Found]:
        """One variant for each row, `_MISSING` where both are null or no row is `present`."""
        check_depth(depth)
        present = _both(present, group)
        value, typed = _child(group, "value"), _child(group, "typed_value")
        if value is None and typed is None:
            refuse("Its column has neither a value nor a typed_value.")
        values = repeat(None, len(group)) if value is None else _binaries(value, "value")
        if typed is None:
            shredded: Sequence[_Found] = [_MISSING] * len(group)
            fields = frozenset[str]()
        else:
            shredded = self._typed(_storage(typed), metadata, present, depth)
            fields = frozenset(_field_names(typed))
        for rest, found, owner, here in zip(values, shredded, metadata, present, strict=True):
            if not here:
                yield _MISSING
            elif rest is None:
                yield found
            else:
                whole = parse_variant(rest, self._names.of(owner), depth)
                yield whole if isinstance(found, _Missing) else _merge(whole, found, fields)

    def _typed(
        self, typed: pa.Array, metadata: Sequence[bytes], present: Sequence[bool], depth: int
    ) -> list[_Found]:
        """The values of a `typed_value`, `_MISSING` where it is null."""
        if pa.types.is_struct(typed.type):
            return self._objects(typed, metadata, _both(present, typed), depth)
        if pa.types.is_list(typed.type) or pa.types.is_large_list(typed.type):
            return self._arrays(typed, metadata, _both(present, typed), depth)
        decode = _leaf_decoder(typed.type)
        return [_MISSING if found is None else found for found in decode(typed)]

    def _objects(
        self, typed: pa.Array, metadata: Sequence[bytes], present: Sequence[bool], depth: int
    ) -> list[_Found]:
        # in the order in which objects have their fields
        names = sorted(_field_names(typed))
        columns = [
            self.read(_storage(typed.field(name)), metadata, present, depth + 1) for name in names
        ]
        found: list[_Found] = []
        for here, *values in zip(present, *columns, strict=True):
            fields = zip(names, values, strict=True)
            held = {name: value for name, value in fields if not isinstance(value, _Missing)}
            found.append(held if here else _MISSING)
        return found

    def _arrays(
        self, typed: pa.Array, metadata: Sequence[bytes], present: Sequence[bool], depth: int
    ) -> list[_Found]:
        offsets = typed.offsets.to_pylist()
        elements = _storage(typed.values.slice(offsets[0], offsets[-1] - offsets[0]))
        bounds = list(pairwise(offset - offsets[0] for offset in offsets))
        owners = _repeated(metadata, bounds)
        read = list(self.read(elements, owners, _repeated(present, bounds), depth + 1))
        # an array has no gaps: what is missing in it is the variant null
        values: list[Variant] = [None if isinstance(one, _Missing) else one for one in read]
        return [
            values[low:high] if here else _MISSING
            for here, (low, high) in zip(present, bounds, strict=True)
        ]


def _merge(whole: Variant, shredded: Variant, fields: frozenset[str]) -> Variant:
    """A partially shredded object: what `value` holds and what `typed_value` holds."""
    if not isinstance(shredded, dict):
        refuse("It has both a value and a typed_value, and is not an object.")
    if not isinstance(whole, dict):
        refuse("It is shredded as an object, and its value is none.")
    if not fields.isdisjoint(whole):
        refuse("A field of an object stands both in its value and in a column of its own.")
    return dict(sorted({**whole, **shredded}.items()))


def _both(present: Sequence[bool], array: pa.Array) -> Sequence[bool]:
    """Where both the row is there and `array` is not null: what lies below means nothing else."""
    if not array.null_count:
        return present
    valid = array.is_valid().to_pylist()
    return [here and whole for here, whole in zip(present, valid, strict=True)]


def _repeated(values: Sequence[_Of], bounds: Sequence[tuple[int, int]]) -> list[_Of]:
    """Each value as often as its list has elements."""
    return [
        value for value, (low, high) in zip(values, bounds, strict=True) for _ in range(high - low)
    ]


def _storage(array: pa.Array) -> pa.Array:
    """An array without the extension type that may name its meaning."""
    return array.storage if isinstance(array.type, pa.BaseExtensionType) else array


def _field_names(struct: pa.Array) -> list[str]:
    """The names of a struct's fields; an array of another type has none."""
    if not pa.types.is_struct(struct.type):
        return []
    names = [field.name for field in struct.type]
    if len(set(names)) != len(names):
        refuse("Its column has two fields of one name.")
    return names


def _child(group: pa.Array, name: str) -> pa.Array | None:
    return group.field(name) if name in _field_names(group) else None


def _binaries(column: pa.Array, name: str) -> list[bytes | None]:
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        refuse(f"Its {name} is {str(column.type)[:60]}, not binary.")
    found: list[bytes | None] = column.to_pylist()
    return found


_Decoder = Callable[[pa.Array], list[Any]]


def _leaf_decoder(found: pa.DataType) -> _Decoder:
    """How a plain `typed_value` becomes variants (Parquet: Shredded Value Types)."""
    types = pa.types
    if found in _AS_THEY_ARE or types.is_decimal128(found):
        return _plain
    if found == pa.float32():
        return lambda column: [None if one is None else Float32(one) for one in column.to_pylist()]
    if found == pa.binary(16):
        return lambda column: [
            None if one is None else UUID(bytes=one) for one in column.to_pylist()
        ]
    if found == pa.time64("us"):
        return lambda column: _numbers(column, make_time)
    kind = _temporal_kind(found)
    if kind is not None:
        return lambda column: _numbers(column, lambda number: Temporal(kind, number))
    raise UnsupportedError(
        "A variant is shredded in an unknown way.",
        reason=f"A typed_value is {str(found)[:60]}, which stands for no type of variants.",
        remedy="Read this column with the engine that wrote it.",
        spec=SPEC,
    )


_AS_THEY_ARE = frozenset(
    {
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float64()),
        *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
    }
)


def _plain(column: pa.Array) -> list[Any]:
    try:
        found: list[Any] = column.to_pylist()
    except UnicodeDecodeError as error:
        refuse("A string in its typed_value is not UTF-8.", error)
    return found


def _temporal_kind(found: pa.DataType) -> TemporalKind | None:
    if found == pa.date32():
        return "date"
    if not pa.types.is_timestamp(found):
        return None
    local = found.tz is None
    if found.unit == "us":
        return "timestamp_ntz" if local else "timestamp"
    if found.unit == "ns":
        return "timestamp_ntz_nanos" if local else "timestamp_nanos"
    return None


def _numbers(column: pa.Array, build: Callable[[int], Temporal]) -> list[Temporal | None]:
    # as numbers: Python's own dates and times are narrower
    whole = pa.int32() if column.type == pa.date32() else pa.int64()
    return [None if one is None else build(one) for one in column.view(whole).to_pylist()]
