"""The data files of a table as other engines read them, and what the log says of them against the
rows that they hold: by the specification alone, with nothing of the engine that wrote them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.interop.random_values import DAY_US, LONGS, as_numbers, is_text, told_rows
from tests.interop.vacuum_by_hand import replay

_PHYSICAL = "delta.columnMapping.physicalName"
_TIME = re.compile(
    r"([+-]?\d{4,9})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?)?"
)
_BOUNDED = {*LONGS, "float", "double", "string", "date", "timestamp", "timestamp_ntz"}
_PREFIX = 32


class WrittenFiles:
    """Files of the table at `place`, with the metadata and the adds of the log."""

    def __init__(self, place: Path, metadata: Any, adds: Sequence[Any]) -> None:
        self.place, self.metadata, self.adds = place, metadata, adds
        names = set(self.metadata["partitionColumns"])
        every = json.loads(self.metadata["schemaString"])["fields"]
        self.fields = [
            item for item in every if item["name"] not in names and item["type"] != "void"
        ]
        is_mapped = self.metadata["configuration"].get("delta.columnMapping.mode", "none") != "none"
        self.stored = [_physical(item) if is_mapped else item for item in self.fields]

    @staticmethod
    def of_newest(place: Path) -> WrittenFiles:
        """Those that are live; every commit of the table has to be there."""
        version = max(int(path.stem) for path in (place / "_delta_log").glob("*[0-9].json"))
        state = replay(place, version)
        return WrittenFiles(place, state.metadata, state.live)

    def paths(self) -> list[Path]:
        """Where they lie."""
        return [self.place / unquote(body["path"]) for body in self.adds]

    def rows_by(self, engine: str, names: Sequence[str]) -> Counter[Any]:
        """How often each row occurs, of these columns, which are in the files."""
        read = {"duckdb": _by_duckdb, "polars": _by_polars}[engine]
        stored = {item["name"]: own for item, own in zip(self.fields, self.stored, strict=True)}
        wanted = [stored[name] for name in names]
        found: Counter[Any] = Counter()
        for path in self.paths():
            found += told_rows(read(path), wanted)
        return found

    def check_statistics(self) -> None:
        """That what the log says of each file is true of its rows, and all that it ought to say."""
        configuration = self.metadata["configuration"]
        limit = int(configuration.get("delta.dataSkippingNumIndexedCols", "32"))
        if "delta.dataSkippingStatsColumns" in configuration:
            limit = 0
        for body, path in zip(self.adds, self.paths(), strict=True):
            rows = pq.read_table(path, partitioning=None)
            assert path.stat().st_size == body["size"]
            stats = json.loads(body["stats"], parse_float=Decimal)
            assert stats["numRecords"] == rows.num_rows
            assert stats.get("tightBounds", True)
            leaves = dict(_leaves(rows, self.stored))
            indexed = list(leaves)[:limit] if limit >= 0 else list(leaves)
            told = {
                what: dict(_flat(stats.get(what, {})))
                for what in ("minValues", "maxValues", "nullCount")
            }
            assert told["minValues"].keys() == told["maxValues"].keys()
            assert set(indexed) <= told["nullCount"].keys() <= leaves.keys()
            for way, (values, kind) in leaves.items():
                held = [value for value in values if value is not None]
                if way in told["nullCount"]:
                    assert told["nullCount"][way] == len(values) - len(held), way
                ends = [told[what].get(way) for what in ("minValues", "maxValues")]
                check_bounds(held, kind, ends, must=way in indexed)

    def bounds(self) -> dict[str, Any]:
        """Of each column by its logical name, of all files together: how many nulls are told, and
        the least and the greatest bound as numbers and texts."""
        names = {
            way: text
            for own, item in zip(self.stored, self.fields, strict=True)
            for way, text in _logical(own, item, (), "")
        }
        found: dict[str, Any] = {}
        for body in self.adds:
            stats = json.loads(body["stats"], parse_float=Decimal)
            for what, merge in (("nullCount", _total), ("minValues", min), ("maxValues", max)):
                for way, value in _flat(stats.get(what, {})):
                    key = f"{names[way][0]}: {what}"
                    number = value if what == "nullCount" else _parsed(value, names[way][1])
                    found[key] = merge(found[key], number) if key in found else number
        return found


def _total(one: int, other: int) -> int:
    return one + other


def _logical(own: Any, item: Any, way: tuple[str, ...], above: str) -> Iterator[Any]:
    """The ways to values by physical names, with the logical name and the type of each."""
    way, text, kind = (*way, own["name"]), f"{above}{item['name']}", item["type"]
    if not is_text(kind) and kind["type"] == "struct":
        for inner, field in zip(own["type"]["fields"], kind["fields"], strict=True):
            yield from _logical(inner, field, way, f"{text}.")
    else:
        yield way, (text, kind if is_text(kind) else kind["type"])


def check_bounds(held: Sequence[Any], kind: str, ends: list[Any], *, must: bool) -> None:
    """That no value is outside of the bounds, that they are as tight as may be, and that they are
    there where they must be."""
    if ends == [None, None]:
        has_none = kind not in _BOUNDED and not kind.startswith("decimal")
        # JSON has no NaN and no infinity
        odd = kind in {"float", "double"} and not all(map(math.isfinite, held))
        assert not must or has_none or odd or not held, (kind, held[:3])
        return
    assert held, (kind, ends)
    low, high = (_parsed(end, kind) for end in ends)
    least, most = min(held), max(held)
    if kind == "string":
        assert low <= least, (low, least)
        assert most <= high, (most, high)
        assert least.startswith(low)
        assert low == least or len(low) == _PREFIX
        assert high == most or (high[:-1] == most[: len(high) - 1] and len(most) > _PREFIX)
    elif kind.startswith("timestamp"):
        assert low <= least < low + 1000, (low, least)
        assert high <= most < high + 1000, (high, most)
    else:
        assert (low, high) == (least, most), (kind, low, least, high, most)


def _parsed(end: Any, kind: str) -> Any:
    if kind in {"float", "double"}:
        return float(end)
    if kind == "date":
        return _microseconds(end) // DAY_US
    return _microseconds(end) if kind.startswith("timestamp") else end


def _microseconds(text: str) -> int:
    """Since 1970, of a time in any year."""
    found = _TIME.fullmatch(text)
    assert found is not None, text
    year, month, day, *clock = (int(part or 0) for part in found.groups()[:6])
    after = year - (month <= 2)
    days = 365 * after + after // 4 - after // 100 + after // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - 719_468
    hours, minutes, seconds = clock
    part = int((found[7] or "").ljust(6, "0")[:6])
    return days * DAY_US + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + part


def _physical(item: Any) -> Any:
    name = item["metadata"][_PHYSICAL]
    return {**item, "name": name, "type": _physical_type(item["type"])}


def _physical_type(kind: Any) -> Any:
    if is_text(kind):
        return kind
    if kind["type"] == "struct":
        return {**kind, "fields": [*map(_physical, kind["fields"])]}
    inner = {key: _physical_type(kind[key]) for key in kind if key.endswith("Type")}
    return {**kind, **inner}


def _leaves(rows: pa.Table, fields: list[Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of each column that statistics may speak of, those in structs on their own."""
    for item in fields:
        column = rows.column(item["name"])
        values = column.cast(as_numbers(column.type)).to_pylist()
        yield from _inside((item["name"],), values, item["type"])


def _inside(way: tuple[str, ...], values: list[Any], kind: Any) -> Iterator[Any]:
    if not is_text(kind) and kind["type"] == "struct":
        for item in kind["fields"]:
            inner = [None if value is None else value[item["name"]] for value in values]
            yield from _inside((*way, item["name"]), inner, item["type"])
    else:
        yield way, (values, kind if is_text(kind) else kind["type"])


def _flat(body: Any, way: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in body.items():
        if isinstance(value, dict):
            yield from _flat(value, (*way, name))
        else:
            yield (*way, name), value


def _by_duckdb(path: Path) -> pa.Table:
    # not a pattern, whatever its signs are
    literal = re.sub(r"([*?\[\]])", r"[\1]", str(path))
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.read_parquet(literal, hive_partitioning=False).to_arrow_table()


def _by_polars(path: Path) -> pa.Table:
    return pl.read_parquet(path, hive_partitioning=False, glob=False).to_arrow()
