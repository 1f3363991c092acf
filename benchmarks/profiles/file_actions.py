"""The file actions of a profile, as columns: the same number is always the same file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.actions import START_MS
from benchmarks.profiles.profile import Profile
from benchmarks.profiles.texts import (
    Numbers,
    chance,
    join,
    mix,
    pick,
    uuids,
    z85_uuids,
)
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
)

STRINGS = pa.map_(pa.string(), pa.string())
_VECTOR_KINDS = ("i", "u", "u")
_SHARE_VECTORS = 1_000

# value, and as it stands in a path: escaped for the folder, and then for the URI
_REGIONS: tuple[tuple[str | None, str], ...] = (
    ("emea", "emea"),
    ("north america", "north%20america"),
    ("a:b/c", "a%253Ab%252Fc"),
    ("50%", "50%2525"),
    ("Zürich", "Z%C3%BCrich"),
    (None, "__HIVE_DEFAULT_PARTITION__"),
    ("apac", "apac"),
    ("latam", "latam"),
)
_DAYS = [str(day) for day in np.datetime64("2025-01-01") + np.arange(360)]


class Column(NamedTuple):
    """A column of the table: its name there and in files, its type, and its values of a file."""

    name: str
    physical: str
    kind: str
    values: Callable[[Numbers, int], tuple[Any, pa.Array]]


def columns_of(profile: Profile) -> list[Column]:
    """The columns with statistics."""
    found = []
    for at in range(profile.columns):
        kind, values = _KINDS[at % len(_KINDS)]
        name = f"c{at}_{kind}"
        physical = f"col-{uuids(np.array([at]), 90)[0]}" if profile.features else name
        found.append(Column(name, physical, kind, _bind(values, at)))
    return found


def partition_columns(profile: Profile) -> list[str]:
    """Their names, which are those in files too."""
    return ["region", "day"][: profile.partitions]


def build_adds(profile: Profile, numbers: Numbers, *, fresh: bool = False) -> pa.StructArray:
    """The bodies of `add` actions of these files, which have no vector where they are `fresh`."""
    fields: dict[str, pa.Array] = _shared(profile, numbers)
    fields["modificationTime"] = pa.array(START_MS + numbers)
    fields["dataChange"] = _all(numbers, value=fresh)
    fields["tags"] = _tags(profile, numbers)
    fields["deletionVector"] = _vectors(profile, numbers, fresh=fresh)
    if profile.features:
        fields["baseRowId"] = pa.array(numbers * 1_000)
        fields["defaultRowCommitVersion"] = pa.array(numbers % 100)
        fields["clusteringProvider"] = pick(["liquid"], numbers * 0)
    if profile.statistics in {"json", "both"}:
        fields["stats"] = _statistics_texts(profile, numbers)
    if profile.statistics in {"structs", "both"}:
        fields["stats_parsed"] = _statistics_structs(profile, numbers)
    return pa.StructArray.from_arrays([*fields.values()], [*fields])


def build_removes(profile: Profile, numbers: Numbers) -> pa.StructArray:
    """The bodies of their `remove` actions."""
    fields = _shared(profile, numbers)
    fields["deletionTimestamp"] = pa.array(START_MS + numbers)
    fields["dataChange"] = fields["extendedFileMetadata"] = _all(numbers, value=True)
    fields["deletionVector"] = _vectors(profile, numbers)
    return pa.StructArray.from_arrays([*fields.values()], [*fields])


def _shared(profile: Profile, numbers: Numbers) -> dict[str, pa.Array]:
    region, day = mix(numbers, 1) % len(_REGIONS), numbers // 200 % len(_DAYS)
    folders: list[Any] = []
    values: list[pa.Array] = []
    if profile.partitions:
        folders += ["region=", pick([path for _, path in _REGIONS], region), "/"]
        values.append(pick([value for value, _ in _REGIONS], region))
    if profile.partitions > 1:
        folders += ["day=", pick(_DAYS, day), "/"]
        values.append(pick(_DAYS, day))
    task = pick([f"part-{at:05d}-" for at in range(200)], numbers % 200)
    path = join(*folders, task, uuids(numbers, 2), f".c000.{profile.compression}.parquet")
    return {
        "path": path,
        "partitionValues": _maps(partition_columns(profile), values, len(numbers)),
        "size": pa.array((4096 + mix(numbers, 4) % 64_000_000).astype(np.int64)),
    }


def _all(numbers: Numbers, value: object) -> pa.Array:
    return pa.array(np.full(len(numbers), value))


def _maps(names: list[str], values: list[pa.Array], rows: int) -> pa.Array:
    """Maps of the same keys."""
    count = len(names)
    keys = pa.array(names * rows, pa.string())
    mixed = pa.nulls(0, pa.string())
    if values:
        order = np.arange(rows * count).reshape(count, rows).T.ravel()
        mixed = pa.concat_arrays(values).take(pa.array(order))
    offsets = pa.array(np.arange(0, rows * count + 1, count or 1, dtype=np.int32)[: rows + 1])
    if not count:
        offsets = pa.array(np.zeros(rows + 1, np.int32))
    return pa.MapArray.from_arrays(offsets, keys, mixed)


def _tags(profile: Profile, numbers: Numbers) -> pa.Array:
    if not profile.features:
        return pa.nulls(len(numbers), STRINGS)
    names = ["INSERTION_TIME", "MIN_INSERTION_TIME", "OPTIMIZE_TARGET_SIZE"]
    time = join(pa.array(START_MS + numbers), "000")
    return _maps(names, [time, time, pick(["268435456"], numbers * 0)], len(numbers))


def _vectors(profile: Profile, numbers: Numbers, *, fresh: bool = False) -> pa.StructArray:
    rows = len(numbers)
    has = chance(numbers, 5, 0.0 if fresh else profile.vectors)
    forms = {"inline": [0], "relative": [1], "shared": [2], "mixed": [0, 1, 2]}[profile.vector_form]
    form = np.array(forms)[mix(numbers, 6) % len(forms)]
    inline = _inline_vectors()
    which = mix(numbers, 7) % len(inline)
    shared = pa.array(form == 2)
    owner = np.where(form == 2, numbers // _SHARE_VECTORS, numbers + 10**12)
    place = pc.if_else(
        pa.array(form == 0),
        pick([one.path_or_inline_dv for one in inline], which),
        join("", z85_uuids(owner, 8)),
    )
    sizes = np.array([one.size_in_bytes for one in inline], np.int32)[which]
    offset = pa.array((1 + numbers % _SHARE_VECTORS * 42).astype(np.int32))
    offset = pc.if_else(shared, offset, pc.if_else(pa.array(form == 1), 1, None).cast(pa.int32()))
    fields = {
        "storageType": pick(_VECTOR_KINDS, form),
        "pathOrInlineDv": place,
        "offset": offset,
        "sizeInBytes": pa.array(sizes),
        "cardinality": pa.array(np.array([one.cardinality for one in inline], np.int64)[which]),
    }
    masked = {
        name: pc.if_else(pa.array(has), values, pa.nulls(rows, values.type))
        for name, values in fields.items()
    }
    return pa.StructArray.from_arrays([*masked.values()], [*masked], mask=pa.array(~has))


@cache
def _inline_vectors() -> list[DeletionVectorDescriptor]:
    return [build_inline_descriptor(range(0, 200, 3 + at)) for at in range(32)]


def _records(numbers: Numbers) -> npt.NDArray[np.int64]:
    return (1_000 + mix(numbers, 9) % 250_000).astype(np.int64)


def _statistics_texts(profile: Profile, numbers: Numbers) -> pa.Array:
    parts: list[Any] = ['{"numRecords":', _records(numbers)]
    columns = columns_of(profile)
    for side, upper in (("minValues", 0), ("maxValues", 1)):
        parts.append(f',"{side}":{{')
        for at, column in enumerate(columns):
            quoted = column.kind in {"string", "timestamp", "date"}
            parts += [f'{"," if at else ""}"{column.physical}":', '"' if quoted else ""]
            parts += [column.values(numbers, upper)[0], '"' if quoted else ""]
        parts.append("}")
    parts.append(',"nullCount":{')
    for at, column in enumerate(columns):
        parts += [f'{"," if at else ""}"{column.physical}":', _nulls(numbers, at)]
    parts.append('},"tightBounds":false}' if profile.vectors else "}}")
    return join(*_merged(parts))


def _merged(parts: list[Any]) -> list[Any]:
    """Literals beside each other as one."""
    found: list[Any] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


def _statistics_structs(profile: Profile, numbers: Numbers) -> pa.StructArray:
    columns = columns_of(profile)
    names = [column.physical for column in columns]
    sides = [
        pa.StructArray.from_arrays([one.values(numbers, upper)[1] for one in columns], names)
        for upper in (0, 1)
    ]
    nulls = [pa.array(_nulls(numbers, at)) for at in range(len(columns))]
    return pa.StructArray.from_arrays(
        [pa.array(_records(numbers)), *sides, pa.StructArray.from_arrays(nulls, names)],
        ["numRecords", "minValues", "maxValues", "nullCount"],
    )


def _nulls(numbers: Numbers, at: int) -> npt.NDArray[np.int64]:
    # half of the columns are never null
    return numbers * 0 if at % 2 == 0 else (mix(numbers, 10 + at) % 50).astype(np.int64)


def _bind(values: Callable[[Numbers, int, int], Any], at: int) -> Callable[[Numbers, int], Any]:
    return lambda numbers, upper: values(numbers, upper, at)


def _longs(numbers: Numbers, upper: int, at: int) -> tuple[Any, pa.Array]:
    found = numbers * 1_000 + at + 999 * upper
    return found, pa.array(found)


def _strings(numbers: Numbers, upper: int, at: int) -> tuple[Any, pa.Array]:
    found = join("note of " if upper else "a-", (mix(numbers, 20 + at) % 10**8).astype(np.int64))
    return found, found


def _doubles(numbers: Numbers, upper: int, at: int) -> tuple[Any, pa.Array]:
    found = (mix(numbers, 30 + at) % 10**6).astype(np.int64) + 10**6 * upper
    return join(found, ".25"), pa.array(found + 0.25)


def _timestamps(numbers: Numbers, upper: int, _: int) -> tuple[Any, pa.Array]:
    day, second = numbers // 200 % len(_DAYS), numbers % 60
    seconds = [f"T{'23:59' if upper else '00:00'}:{at:02d}.{at:03d}Z" for at in range(60)]
    start = np.datetime64("2025-01-01", "us") + day * np.timedelta64(86_400_000_000, "us")
    within = (86_340 if upper else 0) * 10**6 + second * 1_001_000
    moment = start + within.astype("timedelta64[us]")
    return join(pick(_DAYS, day), pick(seconds, second)), pa.array(moment).cast(
        pa.timestamp("us", "UTC")
    )


def _dates(numbers: Numbers, upper: int, at: int) -> tuple[Any, pa.Array]:
    day = (numbers // 200 + at) % (len(_DAYS) - 30) + 29 * upper
    found = pick(_DAYS, day)
    return found, pc.cast(found, pa.date32())


_KINDS: tuple[tuple[str, Callable[[Numbers, int, int], Any]], ...] = (
    ("long", _longs),
    ("string", _strings),
    ("double", _doubles),
    ("timestamp", _timestamps),
    ("string", _strings),
    ("date", _dates),
)
