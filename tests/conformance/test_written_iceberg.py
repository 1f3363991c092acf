"""Tables that are kept convertible to Iceberg, as statements and an optimize have written them:
the log as JSON, and the schemas of data files as Parquet has them."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer import pipeline
from tests.conformance.written import Table, refused, schema_in, stats_of
from tests.conformance.written_tables import NOON, rows


def _nested_ids(schema: dict[str, Any]) -> dict[tuple[str, ...], int]:
    """The ids that the schema gives to elements, keys and values, by the way in files."""
    found: dict[tuple[str, ...], int] = {}

    def fields(struct: dict[str, Any], above: tuple[str, ...]) -> None:
        for field in struct["fields"]:
            name = field["metadata"]["delta.columnMapping.physicalName"]
            found[(*above, name)] = field["metadata"]["delta.columnMapping.id"]
            nested = field["metadata"].get("parquet.field.nested.ids", {})
            assert nested == field["metadata"].get("delta.columnMapping.nested.ids", {})
            inside(field["type"], (*above, name), name, nested)

    def inside(kind: Any, path: tuple[str, ...], key: str, ids: dict[str, int]) -> None:
        if isinstance(kind, str):
            return
        if kind["type"] == "struct":
            fields(kind, path)
            return
        parts = {"elementType": "element", "keyType": "key", "valueType": "value"}
        for name, way in parts.items():
            if name in kind:
                found[(*path, way)] = ids[f"{key}.{way}"]
                inside(kind[name], (*path, way), f"{key}.{way}", ids)

    fields(schema, ())
    return found


_SHOWN = re.compile(r"^(\s*)\w+ \w+(?:\(\d+\))? field_id=(-?\d+) (\S+?)[ ;{(]")


def _ids_in_file(file: pq.ParquetFile) -> dict[tuple[str, ...], int]:
    """The ids of the file's own schema, without the groups that Parquet puts between."""
    found: dict[tuple[str, ...], int] = {}
    path: list[tuple[int, str]] = []
    for line in str(file.schema).splitlines()[2:]:
        if (match := _SHOWN.match(f"{line} ")) is None:
            continue
        depth, number, name = len(match[1]), int(match[2]), match[3].rstrip(";")
        while path and path[-1][0] >= depth:
            path.pop()
        path.append((depth, name))
        if " repeated group" not in f" {line.strip()}":
            steps = tuple(step for _, step in path if step not in {"list", "key_value"})
            found[steps] = number
    return found


@pytest.mark.rule("iceberg-v1-materialize-partitions", "iceberg-v2-materialize-partitions")
@pytest.mark.rule("iceberg-v2-nested-ids-in-parquet", "iceberg-v2-timestamp-int64")
@pytest.mark.rule("iceberg-v2-nested-ids", "iceberg-v2-nested-ids-storage")
@pytest.mark.rule("iceberg-v2-nested-ids-keys")
@pytest.mark.parametrize("version", [1, 2])
def test_files_for_iceberg_hold_partition_columns_and_all_ids(table: Table, version: int) -> None:
    written = table(f"iceberg_{version}")
    partitions = [written.stored_name(name) for name in ("p", "q")]
    ids: dict[tuple[str, ...], int] = {}
    how: set[bool] = set()
    for version_of_log in range(len(written.commits)):
        for metadata in written.actions("metaData", version_of_log):
            ids = _nested_ids(schema_in(metadata))
            assert len(set(ids.values())) == len(ids)
            highest = metadata["configuration"]["delta.columnMapping.maxColumnId"]
            assert max(ids.values()) == int(highest)
        for add in written.actions("add", version_of_log):
            file = written.parquet(add)
            assert _ids_in_file(file) == ids
            assert file.schema_arrow.names[-2:] == partitions
            times = [leaf for leaf in file.schema if "Timestamp" in str(leaf.logical_type)]
            assert {leaf.physical_type for leaf in times} == {"INT64"}
            assert len(times) == 2
            (values,) = file.read(columns=partitions).group_by(partitions).aggregate([]).to_pylist()
            assert values == {
                partitions[0]: NOON,
                partitions[1]: add["partitionValues"][partitions[1]],
            }
            how.add(add["dataChange"])
    assert how == {True, False}  # files of an optimize among them
    assert any(path[-2:] == ("value", "element") for path in ids) == (version == 2)


@pytest.mark.rule("iceberg-v1-numrecords", "iceberg-v2-numrecords", "iceberg-v1-mapping-mode")
@pytest.mark.rule("iceberg-v1-no-dv", "iceberg-v2-no-active-dv", "iceberg-v2-mapping-mode")
@pytest.mark.rule("iceberg-v1-writer-7", "iceberg-v2-writer-7", "iceberg-v2-not-v1")
@pytest.mark.rule("iceberg-v1-needs-mapping", "iceberg-v2-needs-mapping")
@pytest.mark.parametrize("version", [1, 2])
def test_a_table_for_iceberg_is_mapped_counted_and_without_vectors(
    table: Table, version: int
) -> None:
    written = table(f"iceberg_{version}")
    assert (written.protocol["minReaderVersion"], written.protocol["minWriterVersion"]) == (2, 7)
    features = set(written.protocol["writerFeatures"])
    assert {"columnMapping", f"icebergCompatV{version}"} <= features
    assert not features & {"deletionVectors", f"icebergCompatV{3 - version}"}
    assert written.configuration["delta.columnMapping.mode"] == "name"
    for add in written.actions("add"):
        assert stats_of(add)["numRecords"] == written.parquet(add).metadata.num_rows > 0
        assert add["tags"]["ICEBERG_COMPAT_VERSION"] == str(version)
        assert "deletionVector" not in add


@pytest.mark.rule("iceberg-v1-block-types", "iceberg-v2-type-allowlist")
@pytest.mark.rule("iceberg-v1-block-partition-rename", "iceberg-v2-block-partition-rename")
@pytest.mark.parametrize("version", [1, 2])
def test_what_iceberg_could_not_take_is_not_written(table: Table, version: int) -> None:
    root = table(f"iceberg_{version}").root
    wrong = pa.array([[1]], pa.list_(pa.int32())) if version == 1 else pa.nulls(1)
    refused(
        lambda: pipeline.write(rows(id=[1], wrong=wrong), root, merge_schema=True), root, "Iceberg"
    )
    others = {"overwrite_schema": True, "partition_by": ("id",)}
    refused(
        lambda: pipeline.write(rows(id=[1]), root, mode="overwrite", **others), root, "partition"
    )
    for property_ in ("delta.enableDeletionVectors", f"delta.enableIcebergCompatV{3 - version}"):
        both = {f"delta.enableIcebergCompatV{version}": "true", property_: "true"}
        refused(
            lambda both=both: pipeline.create(root.parent / "not", "id INT", properties=both),
            root.parent,
            "ector" if "Vectors" in property_ else "Both",
        )
