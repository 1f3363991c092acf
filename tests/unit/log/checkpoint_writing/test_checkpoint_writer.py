"""Checkpoints that we write hold the state they were given, as the specification wants it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import explorer
from explorer.errors import CancelledError, InvalidArgumentError
from explorer.log.actions.columns import ADD_COLUMNS, TIME, batch_of, string_map_column
from explorer.log.checkpoint_content.content import CheckpointContent
from explorer.log.checkpoint_writing._checkpoint_files import ROWS_PER_GROUP
from explorer.log.checkpoint_writing.checkpoint_writer import write_classic_checkpoint
from explorer.progress import Cancel
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.commit_json import render_action, render_lines
from explorer.protocol.last_checkpoint import (
    LastCheckpoint,
    parse_last_checkpoint,
    render_last_checkpoint,
)
from explorer.storage.open import open_write_store
from explorer.storage.ports import WriteStore

CHECKPOINT = "_delta_log/00000000000000000000.checkpoint.parquet"
HINT = "_delta_log/_last_checkpoint"
SCHEMA = (
    '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"c","type":"string","nullable":true,"metadata":{}}]}'
)
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA",
    "offset": 1,
    "sizeInBytes": 36,
    "cardinality": 2,
}


def add(number: int, **more: object) -> dict:
    return {
        "path": f"c=ä%20b/{number}.parquet",
        "partitionValues": {"c": None if number % 2 else "ä b"},
        "size": 100 + number,
        "modificationTime": 1_700_000_000_000 + number,
        "dataChange": True,
        "stats": f'{{"numRecords":{number}}}',
        "tags": {"k": "v"} if number == 1 else None,
        **more,
    }


def remove(number: int, **more: object) -> dict:
    return {
        "path": f"gone-{number}.parquet",
        "deletionTimestamp": 1_700_000_000_000 + number,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {"c": "x"},
        "size": 5,
        "stats": '{"numRecords":1}',
        "tags": {"k": "v"},
        **more,
    }


ADDS = [add(1), add(2, deletionVector=VECTOR, baseRowId=40, defaultRowCommitVersion=3)]
REMOVES = [remove(1), remove(2, deletionVector=VECTOR)]
CONTENT = CheckpointContent(
    version=0,
    protocol=Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("deletionVectors",),
        writer_features=("deletionVectors", "domainMetadata"),
    ),
    metadata=Metadata(
        id="af23c9d7-fff1-4a5a-a2c8-55c59bd782aa",
        schema_string=SCHEMA,
        partition_columns=("c",),
        configuration={"k": "v", "x": "y"},
    ),
    transactions=(Transaction(app_id="a", version=1), Transaction(app_id="b", version=2)),
    domains=(
        DomainMetadata(domain="kept", configuration="{}", removed=False),
        DomainMetadata(domain="gone", configuration="{}", removed=True),
    ),
    adds=[batch_of("add", ADDS[:1]), batch_of("add", ADDS[1:])],
    removes=[batch_of("remove", REMOVES)],
    tombstones_after=0,
)


@pytest.fixture
def store(tmp_path: Path) -> WriteStore:
    """A table whose version 0 is committed with the metadata of `CONTENT`."""
    found = open_write_store(tmp_path)
    lines = [{"commitInfo": {}}, *map(render_action, (CONTENT.protocol, CONTENT.metadata))]
    found.write("_delta_log/00000000000000000000.json", render_lines(lines))
    return found


def rows(store: WriteStore, column: str) -> list[dict]:
    table = pq.ParquetFile(f"{store.uri}/{CHECKPOINT}").read()
    return [value for value in table[column].to_pylist() if value is not None]


@pytest.mark.rule("checkpoint-complete-replay", "checkpoint-required-actions")
@pytest.mark.rule("checkpoint-stats-json", "older-001-checkpoint-domains")
@pytest.mark.rule("older-001-checkpoint-files", "older-001-checkpoint-metadata")
@pytest.mark.rule("older-001-checkpoint-protocol", "older-001-checkpoint-txn")
@pytest.mark.rule("older-003-checkpoint-all-valid-actions", "row-write-recommit-base")
@pytest.mark.rule("row-write-recommit-commit-version")
def test_explorer_reads_back_the_state_that_was_written(store: WriteStore, tmp_path: Path) -> None:
    write_classic_checkpoint(store, CONTENT)
    snapshot = explorer.open_table(tmp_path).snapshot()
    assert snapshot.segment.checkpoint.version == 0
    assert snapshot.problems == ()
    names = [name for name in ADD_COLUMNS if name != "data_change"]
    given = pa.Table.from_batches(CONTENT.adds).select(names)
    assert snapshot.files(columns=names).to_pylist() == given.to_pylist()
    assert snapshot.num_tombstones == 2
    assert snapshot.protocol == CONTENT.protocol
    assert snapshot.metadata == CONTENT.metadata
    assert {txn.version for txn in snapshot.transactions.values()} == {1, 2}
    assert set(snapshot.domains) == {"kept"}


@pytest.mark.rule("checkpoint-complete-replay", "checkpoint-struct-columns")
def test_deltalake_reads_the_files_that_were_written(store: WriteStore, tmp_path: Path) -> None:
    write_classic_checkpoint(store, CONTENT)
    (tmp_path / "_delta_log/00000000000000000000.json").unlink()
    peer = DeltaTable(tmp_path)
    assert sorted(pa.table(peer.get_add_actions())["size_bytes"].to_pylist()) == [101, 102]
    assert peer.metadata().configuration == {"k": "v", "x": "y"}


@pytest.mark.slow
@pytest.mark.rule("checkpoint-row-per-action", "older-004-checkpoint-parquet")
def test_row_groups_after_the_first_have_rows_of_their_own(
    store: WriteStore, tmp_path: Path
) -> None:
    numbers = np.arange(ROWS_PER_GROUP * 2 + 5)
    batch = pa.record_batch(
        {
            "path": pc.binary_join_element_wise(pa.array(numbers).cast("string"), ".parquet", ""),
            "partition_values": string_map_column([{"c": "x"}] * len(numbers)),
            "size": pa.array(numbers),
            "modification_time": pa.array(numbers, TIME),
            # the same in no two row groups, and without a value in all of the second
            "base_row_id": pa.array(numbers, mask=numbers // ROWS_PER_GROUP == 1),
        }
    )
    write_classic_checkpoint(store, replace(CONTENT, adds=[batch]))
    (tmp_path / "_delta_log/00000000000000000000.json").unlink()
    footer = pq.read_metadata(f"{store.uri}/{CHECKPOINT}")
    counts = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
    assert counts[1:-1] == [ROWS_PER_GROUP, ROWS_PER_GROUP, 5]
    names = ["path", "size", "base_row_id", "tags"]
    found = explorer.open_table(tmp_path).snapshot().files(columns=names)
    assert found.select(names[:3]).equals(pa.Table.from_batches([batch.select(names[:3])]))
    assert found.column("tags").null_count == len(numbers)
    theirs = DeltaTable(tmp_path).get_add_actions()
    assert sorted(theirs["size_bytes"].to_pylist()) == [*range(len(numbers))]


@pytest.mark.slow
def test_writing_a_checkpoint_does_without_pandas(store: WriteStore) -> None:
    """It takes longer to import than a small checkpoint to write."""
    program = """
import sys
from datetime import UTC, datetime
import explorer
from explorer.log.checkpoint_writing.checkpoint_writer import write_checkpoint
from explorer.storage.open import open_write_store
snapshot, store = explorer.open_table(sys.argv[1]).snapshot(), open_write_store(sys.argv[1])
snapshot.consult(lambda loaded: write_checkpoint(store, loaded, now=datetime.now(UTC)))
assert "pyarrow.parquet" in sys.modules
assert "pandas" not in sys.modules
"""
    command = [sys.executable, "-c", program, store.uri]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "af23c9d7" in rows(store, "metaData")[0]["id"]


def test_each_row_holds_one_action(store: WriteStore) -> None:
    write_classic_checkpoint(store, CONTENT)
    table = pq.ParquetFile(f"{store.uri}/{CHECKPOINT}").read()
    filled = [sum(value is not None for value in row.values()) for row in table.to_pylist()]
    assert set(filled) == {1}


@pytest.mark.rule("pointer-numofaddfiles", "pointer-size", "pointer-sizeinbytes", "pointer-version")
def test_hint_counts_what_was_written(store: WriteStore) -> None:
    last = write_classic_checkpoint(store, CONTENT)
    hint = parse_last_checkpoint(store.read(HINT))
    assert replace(hint, checksum=None) == last
    assert last.num_of_add_files == 2
    assert last.size == pq.read_metadata(f"{store.uri}/{CHECKPOINT}").num_rows == 9
    assert last.size_in_bytes == store.stat(CHECKPOINT).size


@pytest.mark.rule("checkpoint-contains-unexpired-tombstones", "file-tombstone-kept")
def test_expired_tombstones_are_left_out(store: WriteStore) -> None:
    cut = REMOVES[0]["deletionTimestamp"]
    timeless = batch_of("remove", [remove(3, deletionTimestamp=None)])
    content = replace(CONTENT, removes=[*CONTENT.removes, timeless], tombstones_after=cut)
    write_classic_checkpoint(store, content)
    assert [body["path"] for body in rows(store, "remove")] == ["gone-2.parquet"]


@pytest.mark.rule("checkpoint-remove-no-stats-tags", "checkpoint-schema-remove-vectors")
def test_tombstones_carry_no_statistics_and_no_tags(store: WriteStore) -> None:
    write_classic_checkpoint(store, CONTENT)
    assert {"stats", "tags"}.isdisjoint(rows(store, "remove")[0])
    assert rows(store, "remove")[1]["deletionVector"] == VECTOR


def test_no_action_of_a_checkpoint_changes_data(store: WriteStore) -> None:
    write_classic_checkpoint(store, CONTENT)
    bodies = rows(store, "add") + rows(store, "remove")
    assert {body["dataChange"] for body in bodies} == {False}


@pytest.mark.rule("checkpoint-schema-features-null", "checkpoint-schema-readerfeatures-notnull")
@pytest.mark.rule("checkpoint-schema-writerfeatures-notnull")
@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [(1, 2, (None, None)), (2, 7, (None, ["x"])), (3, 7, ([], ["x"]))],
    ids=["1-2", "2-7", "3-7"],
)
def test_feature_lists_are_null_below_the_versions_that_have_them(
    store: WriteStore, reader: int, writer: int, expected: tuple
) -> None:
    protocol = Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        writer_features=("x",) if writer == 7 else None,
    )
    write_classic_checkpoint(store, replace(CONTENT, protocol=protocol))
    (body,) = rows(store, "protocol")
    assert (body["readerFeatures"], body["writerFeatures"]) == expected


@pytest.mark.rule("checkpoint-stats-json-false")
def test_statistics_are_left_out_where_the_table_says_so(store: WriteStore) -> None:
    off = {"delta.checkpoint.writeStatsAsJson": "false"}
    content = replace(CONTENT, metadata=replace(CONTENT.metadata, configuration=off))
    write_classic_checkpoint(store, content)
    assert "stats" not in rows(store, "add")[0]


@pytest.mark.rule("checkpoint-stats-parsed", "checkpoint-partitionvalues-parsed")
def test_table_that_wants_statistics_as_structs_gets_them(store: WriteStore) -> None:
    wanted = {"delta.checkpoint.writeStatsAsStruct": "true"}
    content = replace(CONTENT, metadata=replace(CONTENT.metadata, configuration=wanted))
    write_classic_checkpoint(store, content)
    bodies = rows(store, "add")
    assert [body["stats_parsed"]["numRecords"] for body in bodies] == [1, 2]
    assert [body["partitionValues_parsed"] for body in bodies] == [{"c": None}, {"c": "ä b"}]


@pytest.mark.rule("checkpoint-after-delta-file")
def test_version_without_a_commit_is_not_checkpointed(store: WriteStore) -> None:
    with pytest.raises(InvalidArgumentError, match="Version 1"):
        write_classic_checkpoint(store, replace(CONTENT, version=1))
    assert store.list_names("_delta_log") == ["00000000000000000000.json"]


def test_hint_to_a_newer_checkpoint_stays(store: WriteStore) -> None:
    newer = render_last_checkpoint(LastCheckpoint(version=9, size=1))
    store.write(HINT, newer)
    write_classic_checkpoint(store, CONTENT)
    assert store.read(HINT) == newer


def test_broken_hint_is_written_anew(store: WriteStore) -> None:
    store.write(HINT, b"{broken")
    write_classic_checkpoint(store, CONTENT)
    assert parse_last_checkpoint(store.read(HINT)).version == 0


def test_cancelled_checkpoint_leaves_nothing(store: WriteStore) -> None:
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        write_classic_checkpoint(store, CONTENT, cancel=cancel)
    assert store.list_names("_delta_log") == ["00000000000000000000.json"]
