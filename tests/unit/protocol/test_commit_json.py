"""Actions as lines of a commit, compared with what the reader makes of them."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson
import pytest

from explorer.protocol.actions import (
    DomainMetadata,
    Metadata,
    Protocol,
    Transaction,
    parse_domain,
    parse_metadata,
    parse_protocol,
    parse_transaction,
)
from explorer.protocol.commit_json import (
    Action,
    render_action,
    render_lines,
    render_milliseconds,
)
from explorer.protocol.file_actions import AddCDCFile, AddFile, RemoveFile
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor

FULL_METADATA = Metadata(
    id="af23c9d7",
    name="orders",
    description='with "quotes" and <b>',
    schema_string='{"type":"struct","fields":[]}',
    partition_columns=("c",),
    configuration={"delta.appendOnly": "true"},
    created_time=datetime(2024, 1, 1, tzinfo=UTC),
)


@pytest.mark.rule("action-domain-field-configuration", "action-domain-field-domain")
@pytest.mark.rule("action-domain-field-removed", "action-protocol-minreaderversion")
@pytest.mark.rule("action-protocol-minwriterversion", "action-protocol-readerfeatures")
@pytest.mark.rule("action-protocol-writerfeatures", "action-txn-appid", "action-txn-lastupdated")
@pytest.mark.rule("action-txn-no-monotonicity", "action-txn-version", "metadata-action-wrapper")
@pytest.mark.rule("metadata-configuration", "metadata-createdtime", "metadata-description")
@pytest.mark.rule("metadata-id", "metadata-name", "metadata-partitioncolumns")
@pytest.mark.rule("metadata-schemastring", "older-003-txn-no-lastupdated")
@pytest.mark.rule("older-004-metadata-createdtime", "older-004-txn-lastupdated")
@pytest.mark.parametrize(
    ("action", "kind", "parse"),
    [
        (Protocol(min_reader_version=1, min_writer_version=2), "protocol", parse_protocol),
        (
            Protocol(
                min_reader_version=3,
                min_writer_version=7,
                reader_features=(),
                writer_features=("a", "b"),
            ),
            "protocol",
            parse_protocol,
        ),
        (FULL_METADATA, "metaData", parse_metadata),
        (Metadata(id="x", schema_string="{}"), "metaData", parse_metadata),
        (Transaction(app_id="loader-ä", version=-3, last_updated=5), "txn", parse_transaction),
        (Transaction(app_id="a", version=1), "txn", parse_transaction),
        (
            DomainMetadata(domain="d", configuration='{"a":1}', removed=True),
            "domainMetadata",
            parse_domain,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_small_action_comes_back_from_its_line(action: Action, kind: str, parse) -> None:
    line = orjson.loads(render_lines([render_action(action)]))
    assert list(line) == [kind]
    assert parse(line[kind], "here") == action


@pytest.mark.rule("action-protocol-readerfeatures", "action-protocol-writerfeatures")
@pytest.mark.rule("metadata-createdtime", "metadata-description", "metadata-name")
@pytest.mark.rule("metadata-required-fields")
def test_optional_fields_without_a_value_are_left_out() -> None:
    protocol = render_action(Protocol(min_reader_version=1, min_writer_version=2))
    assert set(protocol["protocol"]) == {"minReaderVersion", "minWriterVersion"}
    assert set(render_action(Metadata(id="x"))["metaData"]) == {
        "id",
        "format",
        "schemaString",
        "partitionColumns",
        "configuration",
    }


@pytest.mark.rule("dv-offset-none-inline", "dv-optional-on-actions", "file-add-datachange")
@pytest.mark.rule("file-add-deletionvector", "file-add-modificationtime")
@pytest.mark.rule("file-add-partitionvalues", "file-add-path", "file-add-size", "file-add-stats")
@pytest.mark.rule("file-add-stats-json-string")
def test_add_names_its_vector_and_keeps_a_null_partition() -> None:
    vector = build_inline_descriptor([1, 2])
    add = AddFile(
        path="c=1/a%2520b.parquet",
        partition_values={"c": None},
        size=7,
        modification_time=9,
        data_change=False,
        stats='{"numRecords":3}',
        deletion_vector=vector,
    )
    assert render_action(add) == {
        "add": {
            "path": "c=1/a%2520b.parquet",
            "partitionValues": {"c": None},
            "size": 7,
            "modificationTime": 9,
            "dataChange": False,
            "stats": '{"numRecords":3}',
            "deletionVector": {
                "storageType": "i",
                "pathOrInlineDv": vector.path_or_inline_dv,
                "sizeInBytes": vector.size_in_bytes,
                "cardinality": 2,
            },
        }
    }


@pytest.mark.rule("file-remove-datachange", "file-remove-deletiontimestamp")
@pytest.mark.rule("file-remove-extendedfilemetadata", "file-remove-partitionvalues")
@pytest.mark.rule("file-remove-path", "file-remove-size", "file-remove-timestamp")
@pytest.mark.rule("older-004-remove-extended")
def test_remove_says_that_its_file_metadata_is_extended() -> None:
    remove = RemoveFile(path="a", deletion_timestamp=5, partition_values={}, size=1)
    assert render_action(remove) == {
        "remove": {
            "path": "a",
            "deletionTimestamp": 5,
            "dataChange": True,
            "extendedFileMetadata": True,
            "partitionValues": {},
            "size": 1,
        }
    }


@pytest.mark.rule("cdf-datachange-false")
def test_change_file_never_changes_data() -> None:
    cdc = render_action(AddCDCFile(path="_change_data/a", partition_values={}, size=1))
    assert cdc["cdc"]["dataChange"] is False


@pytest.mark.rule("log-newline-delimited-json")
def test_lines_are_parted_and_ended_by_a_newline() -> None:
    text = FULL_METADATA
    data = render_lines([render_action(text), {"x": {"y": "a\nb"}}])
    assert data.endswith(b"\n")
    assert len(data.splitlines()) == 2


def test_milliseconds_are_exact_before_and_after_the_epoch() -> None:
    assert render_milliseconds(datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)) == -1
    assert render_milliseconds(datetime(2026, 11, 1, 0, 0, 0, 1000, tzinfo=UTC)) % 1000 == 1
