"""A delete, an update or a merge of a table of the corpus, drawn by a seed, and in plain Python the
rows that it has to leave and the changes that the feed has to tell.

Columns by which rows are chosen hold plain values. These are compared here as the specification
and Spark have it: NaN is the greatest number and equals itself, both zeros are one.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

import explorer
from explorer import pipeline
from tests.interop.corpus_writes import Written
from tests.interop.random_values import DAY_US, LONGS, as_numbers, is_text, tell_value

_SQL = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}
_OTHERS = {"float", "double", "string", "boolean", "date", "timestamp", "timestamp_ntz"}
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - 719_163, date.max.toordinal() - 719_163
_TENTH = 10
_RULES = ("delta.constraints", "xpression", "invariants")

Row = tuple[Any, ...]
"""The values of the columns that are given, as `told_rows` tells them."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A statement, and what it has to make of the rows: with the feed's entries by their type."""

    text: str
    run: Callable[..., Any]
    rows: Counter[Row]
    feed: Counter[tuple[str, Row]]
    changed: int


@dataclass(kw_only=True)
class Changes:
    """Statements about a table, whose rows are read when this is made."""

    table: Written
    seed: str
    names: list[str] = field(init=False)
    rows: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        snapshot = explorer.open_table(self.table.place).snapshot()
        read = explorer.read_rows(snapshot)
        self._any = random.Random(self.seed)
        self.names = [item["name"] for item in self.table.given]
        self._raw, told = {}, []
        for item in self.table.given:
            column = read.column(item["name"])
            values = column.cast(as_numbers(column.type)).to_pylist()
            self._raw[item["name"]] = values
            told.append([tell_value(value, item["type"]) for value in values])
        self.rows = list(zip(*told, strict=True)) if told else [()] * read.num_rows
        self._plain = [item for item in self.table.given if _is_plain(item)]

    def delete(self) -> Change:
        """Of about a tenth of the rows."""
        where, meets = self._tenth()
        gone = [row for row, is_met in zip(self.rows, meets, strict=True) if is_met]
        stay = [row for row, is_met in zip(self.rows, meets, strict=True) if not is_met]
        return Change(
            text=f"delete where {where}",
            run=lambda place, **more: pipeline.delete(place, where, **more),
            rows=Counter(stay),
            feed=Counter(("delete", row) for row in gone),
            changed=len(gone),
        )

    def update(self) -> Change | None:
        """Of a column in about a tenth of them; None where no column can be set."""
        settable = [item for item in self._plain if not self._is_read(item)]
        if not settable:
            return None
        where, meets = self._tenth()
        item = self._any.choice(settable)
        text, values = self._new_values(item)
        at = self.names.index(item["name"])
        rows, feed = [], []
        for row, is_met, value in zip(self.rows, meets, values, strict=True):
            new = (*row[:at], value, *row[at + 1 :]) if is_met else row
            rows.append(new)
            if is_met:
                feed += [("update_preimage", row), ("update_postimage", new)]
        values_by_name = {_quoted(item["name"]): text}
        return Change(
            text=f"update {values_by_name} where {where}",
            run=lambda place, **more: pipeline.update(place, values_by_name, where, **more),
            rows=Counter(rows),
            feed=Counter(feed),
            changed=sum(meets),
        )

    def merge(self, *, updates: bool) -> Change | None:
        """By one column, of rows that have partners, where it `updates`, and of new ones; None
        where there is no such column."""
        keys = [item for item in self._plain if item["type"] != "boolean"]
        if not keys:
            return None
        item = self._any.choice(keys)
        name = item["name"]
        before = [_alike(value) for value in self._raw[name]]
        source = self._source(item, before)
        partners: dict[Any, Row] = {}
        inserted: list[Row] = []
        known = {key for key in before if key is not None}
        for row in source:
            told = tuple(self.table.stored(row[each["name"]], each) for each in self.table.given)
            key = _alike(row[name])
            if key in known:
                partners[key] = told
            else:
                inserted.append(told)
        rows = list(inserted)
        feed = [("insert", row) for row in inserted]
        changed = len(inserted)
        for before_it, key in zip(self.rows, before, strict=True):
            new = partners.get(key, before_it) if updates else before_it
            if updates and key in partners:
                feed += [("update_preimage", before_it), ("update_postimage", new)]
                changed += 1
            rows.append(new)
        given = self._table_of(source)

        def run(place: Any, **more: Any) -> Any:
            merging = pipeline.merge(
                place, given, f"target.{_quoted(name)} = source.{_quoted(name)}", **more
            )
            merging = merging.when_matched_update_all() if updates else merging
            return merging.when_not_matched_insert_all().execute()

        return Change(
            text=f"merge {len(source)} rows by {name!r}",
            run=run,
            rows=Counter(rows),
            feed=Counter(feed),
            changed=changed,
        )

    def _source(self, item: Any, before: list[Any]) -> list[dict[str, Any]]:
        """Rows for about a tenth of the keys, each once, and rows without a partner, again and
        again."""
        name, wanted = item["name"], max(1, len({*before}) // _TENTH)
        firsts = {key: at for at, key in reversed([*enumerate(before)]) if key is not None}
        chosen = self._any.sample([*firsts], min(wanted, len(firsts)))
        if self.table.has_rules:
            # of its own rows alone it is known that they keep them
            return [{each: self._raw[each][firsts[key]] for each in self.names} for key in chosen]
        found = [self.table.row() | {name: self._raw[name][firsts[key]]} for key in chosen]
        drawn = [self.table.row() for _ in range(20)]
        new = [row for row in drawn if _alike(row[name]) not in firsts]
        return found + [new[number % len(new)] for number in range(self.table.count if new else 0)]

    def _table_of(self, rows: list[dict[str, Any]]) -> pa.Table:
        empty = self.table.table_of([])
        columns = [pa.array([row[item.name] for row in rows], item.type) for item in empty.schema]
        return pa.Table.from_arrays(columns, schema=empty.schema)

    def _is_read(self, item: Any) -> bool:
        """Whether rules or generated columns may speak of the column."""
        told = [str(each["metadata"]) for each in self.table.fields]
        told += [f"{name}={text}" for name, text in self.table.metadata.configuration.items()]
        rules = [text for text in told if any(word in text for word in _RULES)]
        return any(item["name"].lower() in text.lower() for text in rules)

    def _new_values(self, item: Any) -> tuple[str, list[Any]]:
        """What a column is set to, as SQL, and what each row then has."""
        name, kind = item["name"], item["type"]
        same = [each["name"] for each in self._plain if each["type"] == kind]
        held = [value for value in self._raw[name] if _literal(value, kind) is not None]
        way = self._any.choice(("column", "value", "value", "null"))
        if way == "null" and item["nullable"]:
            return "NULL", [None] * len(self.rows)
        if way == "value" and held:
            value = self._any.choice(held)
            text = _literal(value, kind)
            assert text is not None
            return text, [self.table.stored(value, item)] * len(self.rows)
        other = self._any.choice(same)
        if not item["nullable"] and None in self._raw[other]:
            other = name
        values = [self.table.stored(value, item) for value in self._raw[other]]
        return _quoted(other), values

    def _tenth(self) -> tuple[str | None, list[bool]]:
        """A condition that is true for about a tenth of the rows, and for which."""
        choices = list(self._conditions())
        if not choices:
            return None, [True] * len(self.rows)
        (one, meets), (other, also) = (self._any.choice(choices) for _ in range(2))
        way = self._any.random()
        if way < 0.15:
            return f"{one} OR {other}", [a or b for a, b in zip(meets, also, strict=True)]
        if way < 0.3:
            return f"({one}) AND {other}", [a and b for a, b in zip(meets, also, strict=True)]
        return one, meets

    def _conditions(self) -> Iterator[tuple[str, list[bool]]]:
        wanted = max(1, len(self.rows) // _TENTH)
        for item in self._plain:
            name, kind = item["name"], item["type"]
            values = [_alike(value) for value in self._raw[name]]
            texts = {_alike(value): _literal(value, kind) for value in self._raw[name]}
            known = sorted(value for value in values if value is not None)
            if None in values:
                yield f"{_quoted(name)} IS NULL", [value is None for value in values]
            for sign, at in (("<=", wanted), (">=", len(known) - wanted)):
                edge = known[min(max(at, 0), len(known) - 1)] if known else None
                if edge is not None and texts[edge] is not None:
                    is_less = sign == "<="
                    yield (
                        f"{_quoted(name)} {sign} {texts[edge]}",
                        [v is not None and (v <= edge if is_less else v >= edge) for v in values],
                    )
            some = [value for value in {*known} if texts[value] is not None]
            if some:
                count = min(len(some), self._any.randint(1, 3))
                chosen = set(self._any.sample(sorted(some), count))
                told = ", ".join(str(texts[value]) for value in chosen)
                yield f"{_quoted(name)} IN ({told})", [value in chosen for value in values]


def _is_plain(item: Any) -> bool:
    kind = item["type"]
    if not is_text(kind) or "__CHAR_VARCHAR_TYPE_STRING" in item["metadata"]:
        return False
    return kind in _OTHERS or kind in LONGS or kind.startswith("decimal")


def _alike(value: Any) -> Any:
    """As it is compared: floating point numbers as pairs, as NaN is above all."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(value: Any, kind: str) -> str | None:
    """As SQL; None where that cannot say it in every year."""
    if value is None:
        return None
    if kind == "string":
        inner = value.replace("\\", "\\\\").replace("'", "''")
        return f"'{inner}'"
    if kind == "boolean":
        return str(value).upper()
    if kind == "date" or kind.startswith("timestamp"):
        return _time(value, kind)
    if kind in {"float", "double"}:
        value = repr(value).replace("nan", "NaN").replace("inf", "Infinity")
    elif kind.startswith("decimal"):
        value = f"{Decimal(value):f}"
    return f"CAST('{value}' AS {_SQL.get(kind, kind.upper())})"


def _time(value: int, kind: str) -> str | None:
    day, rest = (value, 0) if kind == "date" else divmod(value, DAY_US)
    if not _FIRST_DAY <= day <= _LAST_DAY:
        return None
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day, microseconds=rest)
    if kind == "date":
        return f"DATE'{time.date().isoformat()}'"
    text = time.replace(tzinfo=None).isoformat(" ")
    return f"TIMESTAMP_NTZ'{text}'" if kind == "timestamp_ntz" else f"TIMESTAMP'{text}Z'"
