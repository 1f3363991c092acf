"""A table of the corpus that is written to: what of it forbids that, rows that its rules let in,
and what has to be there afterwards."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import explorer
from tests.interop.random_values import (
    AnyValues,
    arrow_type_of,
    as_numbers,
    stored_value,
    tell_value,
)

_DIFFERENT = 20
"""Rows; more are these again and again."""

_REFUSED_FEATURES = frozenset({"collations", "geospatial", "liquid"})
"""Features of tables of the corpus whose rules for writers no revision of the specification has:
proposals, and a name from before `clustering`. A writer must not write without them."""

FILLED = ("delta.generationExpression", "delta.identity.")
RULES = ("delta.generationExpression", "delta.invariants")


@dataclass(kw_only=True)
class Written:
    """A table of the corpus, and what is asked of it."""

    place: Path
    mode: str
    count: int
    seed: str
    fields: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.before = explorer.open_table(self.place).snapshot()
        self.metadata = self.before.metadata
        self.fields = json.loads(self.metadata.schema_string or "")["fields"]
        self._values = AnyValues(random.Random(self.seed))

    @property
    def why_not(self) -> str | None:
        """What of the table forbids the statement, in words that the error has."""
        listed = self.before.protocol.writer_features or ()
        for name in listed:
            if name in _REFUSED_FEATURES:
                return str(name)
        is_append_only = self.metadata.configuration.get("delta.appendOnly") == "true"
        return "append-only" if is_append_only and self.mode == "overwrite" else None

    @property
    def given(self) -> list[Any]:
        """The columns that do not fill themselves."""
        return [item for item in self.fields if not says(item, FILLED)]

    def rows(self) -> list[dict[str, Any]]:
        """Rows that keep the rules of the table: drawn by chance, or its own where it has rules."""
        if self.has_rules:
            own = explorer.read_rows(self.before, columns=[item["name"] for item in self.given])
            plain = own.cast(pa.schema([(item.name, as_numbers(item.type)) for item in own.schema]))
            found: list[dict[str, Any]] = plain.slice(0, _DIFFERENT).to_pylist()
            return found
        return [self.row() for _ in range(_DIFFERENT)]

    @property
    def has_rules(self) -> bool:
        """Whether it has rules that a row which is drawn could break."""
        names = self.metadata.configuration
        has_checks = any(name.startswith("delta.constraints") for name in names)
        return has_checks or any(says(item, RULES) for item in self.fields)

    def row(self) -> dict[str, Any]:
        """One that is drawn."""
        return {item["name"]: self._value(item) for item in self.given}

    def _value(self, item: Any) -> Any:
        if item["name"] in self.metadata.partition_columns:
            return self._values.of_partition(item)
        return self._values.of_field(item)

    def table_of(self, rows: list[dict[str, Any]]) -> pa.Table:
        """So many of them, in an order of their own."""
        columns = {
            item["name"]: pa.array([row[item["name"]] for row in rows], arrow_type_of(item["type"]))
            for item in self.given
        }
        return pa.table(columns).take(np.arange(self.count if rows else 0) % max(len(rows), 1))

    def wanted(self, rows: list[dict[str, Any]]) -> Counter[Any]:
        """How often each row has to be there, of the columns that are given."""
        found: Counter[Any] = Counter()
        for number, row in enumerate(rows):
            told = tuple(self.stored(row[item["name"]], item) for item in self.given)
            found[told] += len(range(number, self.count, len(rows)))
        return found

    def stored(self, value: Any, item: Any) -> Any:
        """What the table has of a value that its column is given, as `told_rows` tells it."""
        is_partition = item["name"] in self.metadata.partition_columns
        return tell_value(stored_value(value, item, is_partition=is_partition), item["type"])

    def adds(self) -> list[Any]:
        """What the newest version added."""
        version = explorer.open_table(self.place).latest_version()
        text = (self.place / "_delta_log" / f"{version:020}.json").read_text()
        return [json.loads(line)["add"] for line in text.split("\n") if '{"add":' in line[:8]]


def says(item: Any, keys: tuple[str, ...]) -> bool:
    """Whether a field's metadata has a key that begins with one of these."""
    return any(key.startswith(keys) for key in item["metadata"])


def files_of(place: Path) -> set[str]:
    """All that lies below it."""
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
