"""Every table of the corpus is written to on a copy, or refused by what it has that forbids it: its
rows afterwards are those before and the new ones, and its protocol is the same.

Which tables are refused follows from the protocol and the properties of each.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import DeltaError
from tests.corpus import READABLE, table_name
from tests.interop.maintained import writable
from tests.interop.random_values import (
    AnyValues,
    arrow_type_of,
    as_numbers,
    stored_value,
    tell_value,
    told_rows,
)
from tests.interop.reading import place_case
from tests.interop.reading_spark import rows_of_frame
from tests.interop.written_files import WrittenFiles
from tests.sampling import EVERYTHING, SEED

_STATEMENTS = [(mode, count) for mode in ("append", "overwrite") for count in (20, 20_000)]
_DIFFERENT = 20
"""Rows; more are these again and again."""

_REFUSED_FEATURES = frozenset({"collations", "geospatial", "liquid"})
"""Features of tables of the corpus whose rules for writers no revision of the specification has:
proposals, and a name from before `clustering`. A writer must not write without them."""

_READ_OTHERWISE = frozenset({"kernel-compacted-log-files-table"})
"""Tables that delta-spark reads otherwise before anything is written; interop.md says why."""

_FILLED = ("delta.generationExpression", "delta.identity.")
_RULES = ("delta.generationExpression", "delta.invariants")


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
        return [item for item in self.fields if not _says(item, _FILLED)]

    def rows(self) -> list[dict[str, Any]]:
        """Rows that keep the rules of the table: drawn by chance, or its own where it has rules."""
        has_checks = any(name.startswith("delta.constraints") for name in self._configured)
        if has_checks or any(_says(item, _RULES) for item in self.fields):
            own = explorer.read_rows(self.before, columns=[item["name"] for item in self.given])
            plain = own.cast(pa.schema([(item.name, as_numbers(item.type)) for item in own.schema]))
            found: list[dict[str, Any]] = plain.slice(0, _DIFFERENT).to_pylist()
            return found
        return [{item["name"]: self._value(item) for item in self.given} for _ in range(_DIFFERENT)]

    @property
    def _configured(self) -> Any:
        return self.metadata.configuration

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
        partitions = self.metadata.partition_columns
        found: Counter[Any] = Counter()
        for number, row in enumerate(rows):
            told = tuple(
                tell_value(
                    stored_value(row[item["name"]], item, is_partition=item["name"] in partitions),
                    item["type"],
                )
                for item in self.given
            )
            found[told] += len(range(number, self.count, len(rows)))
        return found

    def adds(self) -> list[Any]:
        """What the newest version added."""
        version = explorer.open_table(self.place).latest_version()
        text = (self.place / "_delta_log" / f"{version:020}.json").read_text()
        return [json.loads(line)["add"] for line in text.split("\n") if '{"add":' in line[:8]]


def _says(item: Any, keys: tuple[str, ...]) -> bool:
    return any(key.startswith(keys) for key in item["metadata"])


def _files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def _refuse(table: Written, **engine: Any) -> None:
    """That nothing is written, and the error names what forbids it."""
    files, why_not = _files(table.place), table.why_not
    one = pa.table({table.fields[0]["name"]: pa.nulls(1)})
    with pytest.raises(DeltaError) as refused:
        pipeline.write(one, table.place, mode=table.mode, **engine)
    assert refused.value.kind == "unsupported_feature"
    assert why_not is not None
    assert why_not in str(refused.value)
    assert _files(table.place) == files


def _written(
    expected: dict[str, Any], scratch: Path, mode: str, count: int, **engine: Any
) -> Written | None:
    """The table after the statement; None where it was refused as it has to be."""
    case = place_case(expected, scratch)
    writable(case.place)
    table = Written(place=case.place, mode=mode, count=count, seed=f"{SEED} {table_name(expected)}")
    if table.why_not is not None:
        _refuse(table, **engine)
        return None
    rows = table.rows()
    has_files = expected.get("data_files") != "absent"
    old = explorer.read_rows(table.before) if has_files and mode == "append" else None
    result = pipeline.write(table.table_of(rows), case.place, mode=mode, **engine)
    assert result.version == table.before.version + 1
    assert result.problems == ()
    after = explorer.open_table(case.place).snapshot()
    assert after.protocol == table.before.protocol
    assert {**after.metadata.configuration} == {**table.metadata.configuration}
    if old is None and mode == "append":
        new = sum(json.loads(add["stats"])["numRecords"] for add in table.adds())
        assert new == (count if rows else 0)
        assert after.num_files == table.before.num_files + len(table.adds())
    else:
        found = told_rows(explorer.read_rows(after), table.given)
        if old is not None:
            found.subtract(told_rows(old, table.given))
        assert +found == table.wanted(rows)
        assert not -found
    metadata = {
        "partitionColumns": list(after.metadata.partition_columns),
        "schemaString": after.metadata.schema_string,
        "configuration": dict(after.metadata.configuration),
    }
    WrittenFiles(case.place, metadata, table.adds()).check_statistics()
    return table


def _chosen(name: str) -> list[tuple[str, int]]:
    """One statement of each table, another each day; all of them where everything is asked for."""
    if EVERYTHING:
        return _STATEMENTS
    return [random.Random(f"{SEED} {name}").choice([*_STATEMENTS[::2], *_STATEMENTS])]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_a_table_takes_rows_or_says_what_forbids_it(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    for number, (mode, count) in enumerate(_chosen(expected["name"])):
        _written(expected, tmp_path / str(number), mode, count, engine="local")


@pytest.mark.sampled(one_in=24)
@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_spark_writes_them_too_and_delta_spark_reads_the_same(
    expected: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    mode, count = _chosen(expected["name"])[0]
    table = _written(expected, tmp_path, mode, count, engine="spark", spark=spark)
    if table is None or expected.get("data_files") == "absent":
        return
    reader, name = spark.read.format("delta"), expected["name"]
    for snapshot in (table.before, explorer.open_table(table.place).snapshot()):
        frame = reader.option("versionAsOf", snapshot.version).load(str(table.place))
        same = told_rows(rows_of_frame(frame), table.given) == told_rows(
            explorer.read_rows(snapshot), table.given
        )
        # what was removed before an overwrite may come back to it or not
        if name not in _READ_OTHERWISE or snapshot is table.before:
            assert same == (name not in _READ_OTHERWISE), snapshot.version
