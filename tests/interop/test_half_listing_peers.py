"""Protocols that list column mapping in one of their two lists alone, as delta-spark and we
read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from tests.data_tables import DataTable, mapped, struct

pytestmark = pytest.mark.spark

_NAMES = ("col-0a5b7f6e-0d5c-4b6e-8a54-6d8f7f3f1a01", "col-5ed0c2f4-93f1-4a4b-9a70-2f2e1b0c7d02")
_ROWS = [(number, f"n{number}") for number in range(5)]


def _table(root: Path, protocol: dict[str, Any]) -> Path:
    schema = struct(mapped("id", "long", _NAMES[0], 1), mapped("name", "string", _NAMES[1], 2))
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    table = DataTable(root, schema, protocol=protocol, configuration=configuration)
    numbers, texts = zip(*_ROWS, strict=True)
    fields = [
        pa.field(name, kind, metadata={"PARQUET:field_id": str(at)})
        for at, (name, kind) in enumerate(zip(_NAMES, (pa.int64(), pa.string()), strict=True), 1)
    ]
    stored = pa.Table.from_arrays([pa.array(numbers), pa.array(texts)], schema=pa.schema(fields))
    place = root / "a.parquet"
    table.add("a.parquet", stored, stats=json.dumps({"numRecords": 5}))
    root = table.write()
    log = root / "_delta_log" / f"{0:020}.json"
    # delta-spark opens a file by the size that the log says
    log.write_text(log.read_text().replace('"size": 100', f'"size": {place.stat().st_size}'))
    return root


@pytest.mark.parametrize(
    "protocol",
    [
        {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": [],
            "writerFeatures": ["columnMapping", "icebergCompatV1"],
        },
        {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["columnMapping"]},
    ],
    ids=["3-7", "1-7"],
)
def test_mapping_listed_for_writers_alone_is_read_as_the_reference_reads_it(
    spark: SparkSession, tmp_path: Path, protocol: dict[str, Any]
) -> None:
    place = _table(tmp_path / "t", protocol)
    reference = spark.read.format("delta").load(str(place))
    assert sorted(map(tuple, reference.collect())) == _ROWS
    snapshot = explorer.open_table(place).snapshot()
    here = explorer.read_rows(snapshot).to_pylist()
    assert [tuple(row.values()) for row in here] == _ROWS
    for route in ("parquet", "files"):
        frame = pipeline.read(snapshot, spark, route=route)
        assert sorted(map(tuple, frame.collect())) == _ROWS, route


def test_mapping_listed_for_readers_alone_is_read_here_and_refused_by_the_reference(
    spark: SparkSession, tmp_path: Path
) -> None:
    body = {"minReaderVersion": 3, "minWriterVersion": 7, "writerFeatures": []}
    place = _table(tmp_path / "t", {**body, "readerFeatures": ["columnMapping"]})
    with pytest.raises(Exception, match="DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH"):
        spark.read.format("delta").load(str(place)).collect()
    snapshot = explorer.open_table(place).snapshot()
    assert [tuple(row.values()) for row in explorer.read_rows(snapshot).to_pylist()] == _ROWS
