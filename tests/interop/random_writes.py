"""Tables and the statements that write to them, made from a seed: what columns there are, which
rules and features, which rows come in which of Arrow's layouts, and which there are afterwards."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from explorer import pipeline
from explorer.errors import InvalidArgumentError
from tests.interop.random_values import (
    PRIMITIVES,
    AnyValues,
    arrow_field_of,
    arrow_type_of,
    is_text,
    stored_value,
    tell_value,
)

Row = dict[str, Any]

_SIGNS_OF_FILES = " ,;{}()\n\t="
_SWITCHES = (
    "delta.enableDeletionVectors",
    "delta.enableChangeDataFeed",
    "delta.enableRowTracking",
    "delta.enableInCommitTimestamps",
    "delta.enableTypeWidening",
    "delta.randomizeFilePrefixes",
    "delta.enableMaterializePartitionColumnsFeature",
)
_CHOICES = {
    "delta.checkpointPolicy": ("v2", "classic"),
    "delta.checkpointInterval": ("1", "2"),
    "delta.checkpoint.writeStatsAsStruct": ("true", "false"),
    "delta.checkpoint.writeStatsAsJson": ("true", "false"),
    "delta.dataSkippingNumIndexedCols": ("0", "1", "3", "-1"),
    "delta.parquet.compression.codec": ("zstd", "gzip", "uncompressed"),
    "delta.isolationLevel": ("Serializable", "WriteSerializable"),
}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Rows that are given, the options of the write, and the rows of the table afterwards; `breaks`
    says that one of the given ones breaks a rule."""

    rows: pa.Table
    options: dict[str, Any]
    after: tuple[Row, ...]
    breaks: bool = False


@dataclass(kw_only=True)
class RandomTable:
    """A table made from `seed`. `fields` are its columns in the form of the log; `created` says
    that a statement of its own makes it, before rows come. `numbered` is the identity column,
    of whose values nothing is said but that they are `start + n * step`."""

    seed: int
    fields: list[Any] = field(default_factory=list)
    partition_by: list[str] = field(default_factory=list)
    cluster_by: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    created: bool = True
    numbered: str | None = None
    start: int = 1
    step: int = 1
    statements: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._any = random.Random(self.seed)
        self.created = self._any.random() < 0.8
        # Arrow has no variants: rows that begin a table bring structs
        self._values = AnyValues(self._any, has_variants=self.created)
        self._rules: dict[str, str] = {}
        self._defaults: Row = {}
        self._generated: str | None = None
        self._checked: str | None = None
        mapping = self._any.choice((None, None, "name", "id"))
        if mapping:
            self.properties["delta.columnMapping.mode"] = mapping
        self._make_columns(is_free=mapping is not None)
        self._make_properties()
        self._make_layout()
        self._make_statements()

    @property
    def schema_text(self) -> str:
        """The columns as the log has them."""
        return json.dumps({"type": "struct", "fields": self.fields})

    @property
    def compared(self) -> list[Any]:
        """The columns whose values are known beforehand."""
        return [item for item in self.fields if item["name"] != self.numbered]

    def write(self, place: Path, **engine: Any) -> None:
        """Create the table and write to it; a row that breaks a rule has to be refused."""
        layout: dict[str, Any] = {
            "partition_by": self.partition_by,
            "cluster_by": self.cluster_by,
            "properties": self.properties,
        }
        if self.created:
            pipeline.create(place, self.schema_text, **layout)
        for number, statement in enumerate(self.statements):
            options = dict(statement.options)
            if not (number or self.created):
                options |= layout
            if not statement.breaks:
                pipeline.write(statement.rows, place, **options, **engine)
                continue
            with pytest.raises(InvalidArgumentError) as refused:
                pipeline.write(statement.rows, place, **options, **engine)
            assert refused.value.kind == "rows_refused", refused.value

    def rows_after(self, fields: list[Any]) -> Counter[Any]:
        """How often each row has to be there at the end, of these columns."""
        return Counter(
            tuple(tell_value(row[item["name"]], item["type"]) for item in fields)
            for row in map(self._stored, self.statements[-1].after)
        )

    # columns -------------------------------------------------------------------------------------

    def _make_columns(self, *, is_free: bool) -> None:
        make, chance = self._values.field, self._any.random
        count = self._any.choice((1, 2, 4, 8, 40))
        for number in range(count):
            name = self._values.name(number, is_free=is_free)
            if chance() < 0.1:
                length = self._any.choice((0, 3, 255)) or 40
                kind = self._any.choice(("char", "varchar"))
                told = {"__CHAR_VARCHAR_TYPE_STRING": f"{kind}({length})"} if self.created else {}
                self.fields.append(make(name, "string", **told))
                continue
            kind = self._values.data_type(is_free=is_free)
            nullable = not self.created or chance() < 0.8
            self.fields.append(make(name, kind, nullable=nullable))
        if self._any.random() < 0.1 and count > 1:
            self.fields.append(make("nothing", "void"))
        if self.created:
            self._make_rules(is_free=is_free)
        self._any.shuffle(self.fields)

    def _make_rules(self, *, is_free: bool) -> None:
        """A CHECK, and columns that fill themselves."""
        make, chance = self._values.field, self._any.random
        key = self._values.name(100, is_free=is_free)
        if chance() < 0.5:
            self.fields.append(make(key, "long"))
            self._checked = key
            self.properties["delta.constraints.at least"] = f"{_quoted(key)} >= 0"
            if chance() < 0.5:
                self._generated = self._values.name(101, is_free=is_free)
                told = {"delta.generationExpression": f"{_quoted(key)} + 1"}
                self.fields.append(make(self._generated, "long", **told))
        if chance() < 0.3:
            name = self._values.name(102, is_free=is_free)
            value, text = self._any.choice(((7, "7"), (-1, "-1"), (None, "NULL")))
            self.fields.append(make(name, "integer", CURRENT_DEFAULT=text))
            self._defaults[name] = value
            self.properties["delta.feature.allowColumnDefaults"] = "supported"
        if chance() < 0.2:
            self.numbered = self._values.name(103, is_free=is_free)
            self.start, self.step = self._any.choice(((1, 1), (-5, -3), (10, 7)))
            told = {
                "delta.identity.start": self.start,
                "delta.identity.step": self.step,
                "delta.identity.allowExplicitInsert": False,
            }
            self.fields.append(make(self.numbered, "long", nullable=False, **told))

    def _make_properties(self) -> None:
        for name in _SWITCHES:
            if self._any.random() < 0.25:
                self.properties[name] = "true"
        for name, values in _CHOICES.items():
            if self._any.random() < 0.2:
                self.properties[name] = self._any.choice(values)

    def _make_layout(self) -> None:
        plain = [
            item["name"]
            for item in self.fields
            if is_text(item["type"])
            and item["type"] in PRIMITIVES
            and item["name"] not in {self.numbered, self._checked, self._generated}
        ]
        how = self._any.random()
        if how < 0.4 and plain and len(self.fields) > 3:
            self.partition_by = self._any.sample(plain, min(len(plain), self._any.choice((1, 2))))
        elif how < 0.6:
            indexed = int(self.properties.get("delta.dataSkippingNumIndexedCols", "32"))
            first = self.fields if indexed < 0 else self.fields[: min(indexed, 4)]
            if any(not is_text(item["type"]) for item in first):
                return  # a struct counts as all that is in it
            can = [item["name"] for item in first if item["type"] in _ORDERED]
            if can:
                self.cluster_by = self._any.sample(can, 1)

    # rows ----------------------------------------------------------------------------------------

    def _make_statements(self) -> None:
        live: list[Row] = []
        pools = {name: self._pool(name) for name in self.partition_by}
        for number in range(self._any.choice((1, 2, 3))):
            rows = [self._row(pools) for _ in range(self._any.choice((0, 1, 3, 20)))]
            options, live = self._option(number, live, rows, pools)
            left_out = self._left_out(rows)
            given = self._arranged(rows, left_out)
            after = tuple(live)
            self.statements.append(Statement(rows=given, options=options, after=after))
        if (broken := self._broken(pools)) is not None:
            rows = [self._row(pools), broken, self._row(pools)]
            given = self._arranged(rows, set())
            statement = Statement(rows=given, options={}, after=tuple(live), breaks=True)
            self.statements.append(statement)

    def _broken(self, pools: dict[str, list[Any]]) -> Row | None:
        """A row that breaks a rule, where there is one."""
        row = self._row(pools)
        empty = {"string": "", "binary": b""}
        kinds = {item["name"]: item for item in self.fields if not item["nullable"]}
        for name in self.partition_by:
            if name in kinds and kinds[name]["type"] in empty:
                return {**row, name: empty[kinds[name]["type"]]}  # a null to the log
        if self._checked is None or self._any.random() < 0.5:
            return None
        row[self._checked] = self._any.choice((-1, None))
        if self._generated:
            row[self._generated] = 0 if row[self._checked] == -1 else None
        return row

    def _pool(self, name: str) -> list[Any]:
        (found,) = (item for item in self.fields if item["name"] == name)
        return [self._values.of_partition(found) for _ in range(3)]

    def _row(self, pools: dict[str, list[Any]]) -> Row:
        row: Row = {}
        for item in self.fields:
            name = item["name"]
            if name == self.numbered:
                continue
            row[name] = (
                self._any.choice(pools[name]) if name in pools else self._values.of_field(item)
            )
        if self._checked:
            row[self._checked] = self._any.choice((0, 1, 2**40))
            if self._generated:
                row[self._generated] = row[self._checked] + 1
        return row

    def _option(
        self, number: int, live: list[Row], rows: list[Row], pools: dict[str, list[Any]]
    ) -> tuple[dict[str, Any], list[Row]]:
        """How the rows are written, and which there are then."""
        how = self._any.random()
        if number == 0 or how < 0.4:
            return {}, live + rows
        if how < 0.6 or not pools:
            return {"mode": "overwrite"}, rows
        if how < 0.8:
            keys = {self._key(row) for row in rows}
            left = [row for row in live if self._key(row) not in keys]
            return {"mode": "overwrite", "partition_overwrite": "dynamic"}, left + rows
        name = self.partition_by[0]
        item = next(item for item in self.fields if item["name"] == name)
        given = self._any.choice(pools[name])
        value = stored_value(given, item, is_partition=True)
        if value is not None and not isinstance(value, int | str):
            return {"mode": "overwrite"}, rows
        if item["type"] not in {"string", "long", "integer", "short", "byte"}:
            return {"mode": "overwrite"}, rows
        if isinstance(value, str) and not {"'", "\\"}.isdisjoint(value):
            return {"mode": "overwrite"}, rows  # parsers disagree, so that it needs Spark
        for row in rows:
            row[name] = given
        where = f"{_quoted(name)} IS NULL" if value is None else f"{_quoted(name)} = {_sql(value)}"
        left = [row for row in live if row[name] != value]
        return {"mode": "overwrite", "replace_where": where}, left + rows

    def _key(self, row: Row) -> tuple[Any, ...]:
        stored = self._stored(row)
        return tuple(repr(stored[name]) for name in self.partition_by)

    def _stored(self, row: Row) -> Row:
        return {
            item["name"]: stored_value(
                row[item["name"]], item, is_partition=item["name"] in self.partition_by
            )
            for item in self.compared
        }

    def _left_out(self, rows: list[Row]) -> set[str]:
        """Columns that are not given, which are null then, or fill themselves."""
        found = set()
        for item in self.fields:
            name = item["name"]
            if name == self.numbered or self._any.random() > 0.15:
                continue
            if name == self._generated:
                found.add(name)
            elif name in self._defaults and name not in self.partition_by:
                found.add(name)
                for row in rows:
                    row[name] = self._defaults[name]
            elif self._may_be_left_out(item):
                found.add(name)
                for row in rows:
                    row[name] = None
        if len(found) == len(self.compared):
            # Arrow does not count the rows of no columns
            found.pop()
        return found

    def _may_be_left_out(self, item: Any) -> bool:
        filled = {self._checked, *self._defaults, *self.partition_by}
        return self.created and item["name"] not in filled and not _is_never_null(item)

    def _arranged(self, rows: list[Row], left_out: set[str]) -> pa.Table:
        """The rows as Arrow's, in one of the many layouts of the same values."""
        given = [item for item in self.fields if item["name"] not in {self.numbered, *left_out}]
        if self.created:
            self._any.shuffle(given)
        before = [self._values.of_field(item) for item in given]
        columns, names = [], []
        for item, filler in zip(given, before, strict=True):
            values = pa.array(
                [filler, *(row[item["name"]] for row in rows)], arrow_type_of(item["type"])
            )
            columns.append(self._laid_out(values, item) if self.created else values)
            names.append(item["name"])
        if not self.created:
            schema = pa.schema([arrow_field_of(item) for item in given])
            return pa.Table.from_arrays(columns, schema=schema).slice(1)
        # a slice: every buffer begins with what is no row
        table = pa.Table.from_arrays(columns, names).slice(1)
        if table.num_rows > 2 and self._any.random() < 0.5:
            table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
        for row in rows:
            row.update(self._stored(row))
        return table

    def _laid_out(self, values: pa.Array, item: Any) -> pa.Array:
        options = _layouts(values, item["type"])
        if not options or self._any.random() < 0.5:
            return values
        wanted = self._any.choice(options)
        if pa.types.is_dictionary(wanted):
            return values.dictionary_encode()
        if pa.types.is_run_end_encoded(wanted):
            return pc.run_end_encode(values)
        return values.cast(wanted)


def _layouts(values: pa.Array, type_name: Any) -> list[Any]:
    """Other types of Arrow's that hold the same values."""
    kind, types = values.type, pa.types
    if types.is_string(kind):
        return [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), kind)]
    if types.is_binary(kind):
        return [pa.large_binary(), pa.binary_view()]
    if type_name in ("integer", "long"):
        narrow = {"integer": pa.int16(), "long": pa.int32()}[type_name]
        options = [pa.dictionary(pa.int32(), kind), pa.run_end_encoded(pa.int32(), kind)]
        return [*options, narrow] if _fits(values, narrow) else options
    if types.is_list(kind) and not types.is_nested(kind.value_type):
        return [pa.large_list(kind.value_type)]
    return [pa.timestamp("us", "Asia/Kathmandu")] if types.is_timestamp(kind) and kind.tz else []


_ORDERED = frozenset({"byte", "short", "integer", "long", "double", "string", "date", "timestamp"})


def _is_never_null(item: Any) -> bool:
    kind = item["type"]
    inner = kind["fields"] if not is_text(kind) and kind["type"] == "struct" else ()
    return not item["nullable"] or any(map(_is_never_null, inner))


def _fits(values: pa.Array, kind: pa.DataType) -> bool:
    try:
        values.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _sql(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    return f"'{value}'"
