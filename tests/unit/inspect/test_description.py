"""The document of `inspect --json`, the schema's fields, transactions and domains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CorruptLogError, NotFoundError
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, LogFolder, add, metadata, remove, vector

REQUIRED = {
    "uri",
    "version",
    "timestamp",
    "protocol",
    "metadata",
    "num_files",
    "size_in_bytes",
    "num_tombstones",
    "num_rows",
    "num_deleted_rows",
    "num_deletion_vectors",
    "checkpoint",
    "commits_since_checkpoint",
    "features",
    "problems",
}
FIGURES = ["num_files", "size_in_bytes", "num_tombstones", "num_rows", "num_deleted_rows"]


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "table")


def describe(folder: LogFolder, **when: Any) -> dict[str, Any]:
    return look.describe(explorer.open_table(folder.root), **when)


def test_the_document_has_every_field_of_the_contract_and_is_plain_data(folder: LogFolder) -> None:
    hidden = add("a", size=7, stats='{"numRecords":5}', deletionVector=vector(cardinality=2))
    folder.commit(0, [FEATURE_PROTOCOL, metadata(name="orders"), hidden])
    folder.checkpoint(0, [FEATURE_PROTOCOL, metadata(name="orders"), hidden])
    folder.commit(1, [add("b", size=9, stats='{"numRecords":1}'), remove("c")])
    found = describe(folder)
    assert set(found) >= REQUIRED
    assert json.loads(json.dumps(found)) == found
    assert [found[name] for name in FIGURES] == [2, 16, 1, 4, 2]
    assert found["num_deletion_vectors"] == 1
    assert found["checkpoint"] == {"version": 0, "kind": "classic"}
    assert found["commits_since_checkpoint"] == 1
    assert found["protocol"]["reader_features"] == ["deletionVectors", "v2Checkpoint"]
    assert found["metadata"]["name"] == "orders"
    unused, absent = (
        {"supported": is_supported, "active": False, "note": None} for is_supported in (True, False)
    )
    assert found["features"]["deletionVectors"] == unused
    assert found["features"]["columnMapping"] == absent
    assert found["file_sizes"] == {"smallest": 7, "median": 7, "largest": 9}
    assert found["problems"] == []


def test_rows_without_statistics_are_null(folder: LogFolder) -> None:
    folder.commit(0, [PROTOCOL, metadata(), add("a")])
    assert describe(folder)["num_rows"] is None


def test_the_document_of_an_older_version(folder: LogFolder) -> None:
    folder.commit(0, [PROTOCOL, metadata()])
    folder.commit(1, [add("a")])
    found = describe(folder, version=0)
    assert (found["version"], found["num_files"], found["checkpoint"]) == (0, 0, None)
    assert found["commits_since_checkpoint"] == 1


@pytest.mark.rule("newer-catalog-published-shown")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("javakernel-basic_catalog_managed", "catalog_managed"),
        ("golden-deltalog-invalid-protocol-version", "unsupported_feature"),
    ],
)
def test_a_refused_table_is_described_with_its_refusal(corpus: Path, name: str, kind: str) -> None:
    table = explorer.open_table(corpus / "tables" / name)
    found = look.describe(table)
    assert set(found) >= REQUIRED
    assert [found[name] for name in FIGURES] == [None] * len(FIGURES)
    assert found["version"] == table.latest_version()
    assert found["timestamp"] is not None
    assert kind in [problem["kind"] for problem in found["problems"]]


def test_what_a_table_says_against_the_specification_is_a_problem(folder: LogFolder) -> None:
    twice = (
        '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}},'
        '{"name":"A","type":"long","nullable":true,"metadata":{}}]}'
    )
    folder.commit(0, [PROTOCOL, metadata(schemaString=twice)])
    assert [problem["kind"] for problem in describe(folder)["problems"]] == ["schema_invalid"]


def test_a_schema_that_cannot_be_read_is_a_problem_of_the_document(folder: LogFolder) -> None:
    folder.commit(0, [PROTOCOL, metadata(schemaString="{")])
    assert describe(folder)["problems"][0]["kind"] == "schema_invalid"
    with pytest.raises(CorruptLogError):
        look.schema(explorer.open_table(folder.root))


def test_a_version_out_of_range_is_an_error(folder: LogFolder) -> None:
    folder.commit(0, [PROTOCOL, metadata()])
    with pytest.raises(NotFoundError):
        describe(folder, version=7)


def test_schema_lists_fields_with_those_inside_them(folder: LogFolder) -> None:
    mapped = {"delta.columnMapping.physicalName": "col-1", "delta.columnMapping.id": 4}
    inner = {"name": "z.ip", "type": "long", "nullable": False, "metadata": {"comment": "code"}}
    fields = [
        {"name": "part", "type": "string", "nullable": True, "metadata": mapped},
        {
            "name": "address",
            "type": {
                "type": "array",
                "elementType": {"type": "struct", "fields": [inner]},
                "containsNull": True,
            },
            "nullable": True,
            "metadata": {},
        },
    ]
    text = json.dumps({"type": "struct", "fields": fields})
    folder.commit(0, [PROTOCOL, metadata(schemaString=text, partitionColumns=["part"])])
    first, second, third = look.schema(explorer.open_table(folder.root)).to_pylist()
    assert (first["path"], first["is_partition"], first["depth"]) == ("part", True, 0)
    assert (first["physical_name"], first["field_id"]) == ("col-1", 4)
    assert json.loads(first["metadata"]) == mapped
    assert second["type"] == "array<struct<z.ip: long>>"
    assert (third["path"], third["name"], third["depth"]) == ("address.element.`z.ip`", "z.ip", 1)
    assert (third["nullable"], third["comment"], third["physical_name"]) == (False, "code", None)


@pytest.mark.rule("recon-domain-tombstone")
def test_transactions_and_domains_are_frames(folder: LogFolder) -> None:
    domain = {"domain": "d", "configuration": "{}", "removed": False}
    folder.commit(
        0,
        [
            FEATURE_PROTOCOL,
            metadata(),
            {"txn": {"appId": "b", "version": 4, "lastUpdated": 1_700_000_000_000}},
            {"txn": {"appId": "a", "version": 1}},
            {"domainMetadata": domain},
            {"domainMetadata": domain | {"domain": "gone", "removed": True}},
        ],
    )
    snapshot = explorer.open_table(folder.root).snapshot()
    transactions = look.transactions(snapshot)
    assert transactions.column("app_id").to_pylist() == ["a", "b"]
    assert transactions.column("last_updated").cast("int64").to_pylist() == [
        None,
        1_700_000_000_000,
    ]
    assert look.domains(snapshot).to_pylist() == [{"domain": "d", "configuration": "{}"}]


@pytest.mark.parametrize(
    ("checksum", "says"),
    [
        ('{"numFiles":1,"tableSizeBytes":100,"numDeletedRecordsOpt":0}', []),
        ('{"numFiles":null}', ["`numFiles` and `tableSizeBytes` are required."]),
        ('{"numFiles":2,"tableSizeBytes":100}', ["It claims 2 files; the log holds 1."]),
        ('{"numFiles":"1"}', ["`numFiles` must be a whole number, but is '1'."]),
        ("{", ["It is not JSON."]),
        ("[]", ["It is not an object."]),
    ],
)
def test_a_version_checksum_that_disagrees_is_a_problem(
    folder: LogFolder, checksum: str, says: list[str]
) -> None:
    folder.commit(0, [PROTOCOL, metadata(), add("a", size=100)])
    folder.write("00000000000000000000.crc", checksum)
    assert [problem["reason"] for problem in describe(folder)["problems"]] == says


def test_the_checksums_of_real_tables_disagree_where_the_manifest_says_so(corpus: Path) -> None:
    entries = json.loads((corpus / "manifest.json").read_text())
    tables = entries if isinstance(entries, list) else entries["tables"]
    checked = [entry for entry in tables if entry.get("version_checksum_agrees") is not None]
    assert len(checked) > 10
    for entry in checked:
        found = look.describe(explorer.open_table(corpus / "tables" / entry["name"]))
        disagrees = any("checksum" in problem["problem"] for problem in found["problems"])
        assert disagrees is not entry["version_checksum_agrees"], entry["name"]


@pytest.mark.parametrize("info", [None, {}, {"inCommitTimestamp": "x"}], ids=str)
def test_commit_without_its_time_leaves_the_time_unknown_and_the_rest_known(
    folder: LogFolder, info: dict[str, Any] | None
) -> None:
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7}
    features = {"writerFeatures": ["inCommitTimestamp"]}
    enabled = metadata(configuration={"delta.enableInCommitTimestamps": "true"})
    first = {"commitInfo": {"inCommitTimestamp": 1_700_000_000_000}}
    folder.commit(0, [first, {"protocol": protocol | features}, enabled, add("a", size=7)])
    folder.commit(1, [*([] if info is None else [{"commitInfo": info}]), add("b", size=9)])
    found = describe(folder)
    assert (found["version"], found["num_files"], found["size_in_bytes"]) == (1, 2, 16)
    assert found["timestamp"] is None
    (problem,) = found["problems"]
    assert problem["kind"] == "log_corrupt"
    assert describe(folder, version=0)["timestamp"] == "2023-11-14T22:13:20.000Z"
    assert describe(folder, version=0)["problems"] == []


def test_a_table_without_a_schema_is_read_one_way_everywhere_and_told(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    folder.commit(0, [PROTOCOL, metadata(schemaString=None)])
    table = explorer.open_table(folder.root)
    assert table.snapshot().schema.fields == ()
    assert look.schema(table).num_rows == 0
    assert look.writer_rules(table).num_rows == 0
    told = [problem["problem"] for problem in look.describe(table)["problems"]]
    assert told == ["The table has no schema."]
