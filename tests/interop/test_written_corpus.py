"""Every table of the corpus is written to on a copy, or refused by what it has that forbids it: its
rows afterwards are those before and the new ones, and its protocol is the same.

Which tables are refused follows from the protocol and the properties of each.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import DeltaError
from tests.corpus import READABLE, table_name
from tests.interop.corpus_writes import Written, files_of
from tests.interop.maintained import writable
from tests.interop.random_values import (
    told_rows,
)
from tests.interop.reading import place_case
from tests.interop.reading_spark import rows_of_frame
from tests.interop.written_files import WrittenFiles
from tests.sampling import EVERYTHING, SEED

_STATEMENTS = [(mode, count) for mode in ("append", "overwrite") for count in (20, 20_000)]
_READ_OTHERWISE = frozenset({"kernel-compacted-log-files-table"})
"""Tables that delta-spark reads otherwise before anything is written; interop.md says why."""


def _refuse(table: Written, **engine: Any) -> None:
    """That nothing is written, and the error names what forbids it."""
    files, why_not = files_of(table.place), table.why_not
    assert why_not is not None
    # rows that fit where only this statement is forbidden: a misfit is told first
    one = (
        table.table_of(table.rows())
        if why_not == "append-only"
        else pa.table({table.fields[0]["name"]: pa.nulls(1)})
    )
    with pytest.raises(DeltaError) as refused:
        pipeline.write(one, table.place, mode=table.mode, **engine)
    assert refused.value.kind == "unsupported_feature"
    assert why_not in str(refused.value)
    assert files_of(table.place) == files


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
    for number, (mode, count) in enumerate(_chosen(expected["name"])):
        table = _written(expected, tmp_path / str(number), mode, count, engine="spark", spark=spark)
        if table is not None and expected.get("data_files") != "absent":
            _check_by_delta_spark(table, expected["name"], spark)


def _check_by_delta_spark(table: Written, name: str, spark: SparkSession) -> None:
    reader = spark.read.format("delta")
    for snapshot in (table.before, explorer.open_table(table.place).snapshot()):
        frame = reader.option("versionAsOf", snapshot.version).load(str(table.place))
        same = told_rows(rows_of_frame(frame), table.given) == told_rows(
            explorer.read_rows(snapshot), table.given
        )
        # what was removed before an overwrite may come back to it or not
        if name not in _READ_OTHERWISE or snapshot is table.before:
            assert same == (name not in _READ_OTHERWISE), snapshot.version
